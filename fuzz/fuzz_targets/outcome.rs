//! Any bytes to an answer for every pending pod.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::engine::cycle;
use preempt_audit::engine::framework::PodCycle;
use preempt_audit::engine::snapshot::Snapshot;
use preempt_audit::kube::behavior::Behavior;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::profile::Profile;
use preempt_audit::kube::release::Release;
use preempt_audit::load;
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;
use std::sync::Arc;

fuzz_target!(|input: (u16, &[u8])| {
    let (minor, bytes) = input;
    let release = Release::new(18 + minor % 20, 0);
    let limits = Limits { depth: 2, members: 100, bytes: 4 << 20, ratio: 100, always: 1 << 20 };
    let (files, _) = FileTable::from_memory(vec![("input".to_owned(), bytes.to_vec())], limits);
    let cluster = load::load(&files).cluster;
    let gates = Gates::defaults(release);
    let snapshot = Snapshot::new(Arc::new(cluster), Arc::new(Behavior::of(release, &gates)));
    let profile = Profile::default_for(release, &gates);
    for pod in snapshot.cluster.pod_range().take(20) {
        let _ = cycle::schedule(&PodCycle { snapshot: &snapshot, pod, profile: &profile, changed: None });
    }
});
