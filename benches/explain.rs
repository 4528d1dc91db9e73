//! What each further pending pod costs, beside the first; half of the nodes beside all; one thread beside two, in one run:
//! `cargo bench --bench explain -- cluster.json`.
//!
//! The ratios are what counts: seconds are the machine's. Without a file a small cluster is made up.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod common;

use common::{ms, ratio};
use preempt_audit::engine::cycle;
use preempt_audit::engine::framework::PodCycle;
use preempt_audit::engine::snapshot::Snapshot;
use preempt_audit::kube::behavior::Behavior;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::profile::Profile;
use preempt_audit::kube::release::Release;
use preempt_audit::load;
use preempt_audit::model::cluster::Cluster;
use preempt_audit::model::id::PodId;
use preempt_audit::report::pretty;
use preempt_audit::report::view::View;
use preempt_audit::report::written::Written;
use preempt_audit::source::files::FileTable;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = std::env::args_os().skip(1).filter(|it| !it.to_string_lossy().starts_with("--"));
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let files = if paths.is_empty() { made_up(400) } else { FileTable::open(&paths).0 };
    let cluster = Arc::new(load::load(&files).cluster);
    let pending: Vec<PodId> = cluster.pod_range().filter(|pod| cluster.pod(*pod).node_name.is_none()).collect();
    println!("{} nodes, {} pods, {} of them pending", cluster.nodes.len(), cluster.pods.len(), pending.len());
    let Some((first, others)) = pending.split_first().filter(|(_, others)| !others.is_empty()) else {
        println!("two pending pods are needed");
        return;
    };
    for (form, answer) in [("outcome", outcome as fn(&Desk, PodId)), ("outcome and JSON", report)] {
        let (one, more) = with_threads(1, || {
            let desk = Desk::new(&cluster);
            let one = time(|| answer(&desk, *first));
            (one, time(|| others.iter().for_each(|pod| answer(&desk, *pod))))
        });
        let each = more / u32::try_from(others.len()).unwrap_or(u32::MAX);
        println!("{form}: first pod {}, each further {}, ratio {:.2}", ms(one), ms(each), ratio(each, one));
    }
    if paths.is_empty() {
        let half = load::load(&made_up(200)).cluster;
        let half_pending: Vec<PodId> = half.pod_range().filter(|pod| half.pod(*pod).node_name.is_none()).collect();
        let few = best(|| with_threads(1, || all(&Arc::new(half.clone()), &half_pending)));
        let many = best(|| with_threads(1, || all(&cluster, &pending)));
        println!("half the nodes {}, all {}, ratio {:.2}", ms(few), ms(many), ratio(many, few));
    }
    let one = best(|| with_threads(1, || all(&cluster, &pending)));
    let two = best(|| with_threads(2, || all(&cluster, &pending)));
    println!("one thread {}, two {}, ratio {:.2}", ms(one), ms(two), ratio(two, one));
}

/// A scheduler in front of a cluster.
struct Desk {
    snapshot: Snapshot,
    profile: Profile,
    written: Written,
}

impl Desk {
    fn new(cluster: &Arc<Cluster>) -> Self {
        let release = Release::newest();
        let gates = Gates::defaults(release);
        let snapshot = Snapshot::new(Arc::clone(cluster), Arc::new(Behavior::of(release, &gates)));
        Desk { snapshot, profile: Profile::default_for(release, &gates), written: Written::new(cluster) }
    }

    fn cycle(&self, pod: PodId) -> PodCycle<'_> {
        PodCycle { snapshot: &self.snapshot, pod, profile: &self.profile, changed: None }
    }
}

fn outcome(desk: &Desk, pod: PodId) {
    std::hint::black_box(cycle::schedule(&desk.cycle(pod)));
}

fn report(desk: &Desk, pod: PodId) {
    let cycle = desk.cycle(pod);
    let outcome = cycle::schedule(&cycle);
    let written = pretty::write(&View { cycle, outcome: &outcome }.report_with(&desk.written), &mut std::io::sink());
    std::hint::black_box(written.is_ok());
}

fn all(cluster: &Arc<Cluster>, pods: &[PodId]) -> Duration {
    let desk = Desk::new(cluster);
    time(|| pods.par_iter().for_each(|pod| outcome(&desk, *pod)))
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

fn best(run: impl Fn() -> Duration) -> Duration {
    (0..3).map(|_| run()).min().unwrap_or_default()
}

fn time(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

/// A full cluster of so many nodes, 30 pods each, and 20 pods that wait.
fn made_up(nodes: usize) -> FileTable {
    let mut text = String::from(r#"{"apiVersion":"v1","kind":"List","items":["#);
    for node in 0..nodes {
        let room = r#"{"cpu":"31","memory":"120Gi","pods":"110"}"#;
        let _ = write!(
            text,
            r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{node:05}"}},"status":{{"allocatable":{room}}}}},"#
        );
        for pod in 0..30 {
            let number = (node * 30 + pod) * 7_919 % 10_007;
            let priority = [0, 0, 10, 100, 1_000, 100_000][number % 6];
            let start = format!("2026-06-{:02}T{:02}:{:02}:00Z", 1 + number % 28, number % 24, number % 60);
            let name = format!("app-{:03}-{node:05}{pod:03}", number % 400);
            let placed = format!(r#""nodeName":"node-{node:05}","#);
            item(&mut text, &name, number % 400, &placed, priority, 1_000 + number % 60, &start);
        }
    }
    for pod in 0..20 {
        let asked = 1_500 + pod * 331;
        let priority = [50, 500, 5_000, 200_000][pod % 4];
        item(&mut text, &format!("pending-{pod:03}"), pod, "", priority, asked, "2026-07-01T00:00:00Z");
    }
    text.pop();
    text.push_str("]}");
    FileTable::from_bytes(vec![("made-up.json".to_owned(), text.into_bytes())])
}

fn item(text: &mut String, name: &str, app: usize, placed: &str, priority: i32, milli_cpu: usize, start: &str) {
    let _ = write!(
        text,
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"team-{:02}","labels":{{"app":"{app}"}}}},
        "spec":{{{placed}"priority":{priority},"containers":[{{"name":"m","resources":{{"requests":{{"cpu":"{milli_cpu}m"}}}}}}]}},
        "status":{{"startTime":"{start}"}}}},"#,
        app % 40
    );
}
