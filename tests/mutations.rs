//! A short, repeatable run of what the fuzz targets do at length: dumps that were damaged in every way never make the
//! program panic, take more memory than allowed, or answer what cannot be.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

#[path = "common/export.rs"]
mod export;

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
use serde_json::{Value, json};
use std::sync::Arc;

/// A small generator of numbers, the same on every machine (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// A cluster whose pods touch every filter.
fn items() -> Vec<Value> {
    let node = |name: &str, zone: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": zone}},
            "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "example.com/gpu": "2"}}})
    };
    let pod = |name: &str, node: Option<&str>, priority: i64| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"},
            "creationTimestamp": "2024-01-01T00:00:00Z", "uid": name, "resourceVersion": "7"},
            "spec": {"nodeName": node, "priority": priority, "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
                    "ports": [{"hostPort": 80, "containerPort": 80}]}],
                "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}]}},
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}}],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]},
            "status": {"phase": if node.is_some() { "Running" } else { "Pending" }, "startTime": "2024-01-01T00:00:00Z"}})
    };
    vec![
        node("a", "z1"),
        node("b", "z2"),
        pod("low", Some("a"), 1),
        pod("mid", Some("b"), 5),
        pod("high", None, 100),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}}, "status": {"disruptionsAllowed": 0}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"volumeName": "v1", "accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v1"}, "spec": {"capacity": {"storage": "1Gi"}}}),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}),
    ]
}

/// Texts that have hurt readers of such files before.
const SPLINTERS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"\\",
    b"\0",
    b"\n",
    b"\n---\n",
    b"&a ",
    b"*a",
    b"<<: *a",
    b"|",
    b">-",
    b"!!binary ",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc3",
    b"-9223372036854775809",
    b"1e400",
    b"0x",
    b"99999999999999999999Ei",
    b"null",
    b"true",
    b"\"items\":[",
    b"\"kind\":\"List\"",
    b"\"metadata\":null",
    b"==== START logs for container c of pod a/b ====\n",
    b"{\"type\":\"DELETED\",\"object\":",
    b"9999-99-99T99:99:99Z",
    b"\"\\ud800\"",
    b"{\"a\":{\"a\":{\"a\":{\"a\":",
];

fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let to = (at + dice.below(40)).min(bytes.len());
        match dice.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.truncate(at),
            3 => {
                let copy = bytes[at..to].to_vec();
                let into = dice.below(bytes.len() + 1);
                bytes.splice(into..into, copy);
            }
            4 => drop(bytes.splice(at..to, dice.of(SPLINTERS).iter().copied())),
            5 => drop(bytes.splice(at..at, dice.of(SPLINTERS).repeat(1 + dice.below(200)))),
            _ => {
                let other = dice.below(bytes.len() + 1);
                bytes.rotate_left(at.min(other));
            }
        }
    }
}

fn answer(bytes: Vec<u8>, dice: &mut Dice) {
    let limits = Limits { depth: 3, members: 100, bytes: 4 << 20, ratio: 100, always: 1 << 20 };
    let (files, _) = FileTable::from_memory(vec![("input".to_owned(), bytes)], limits);
    let kept: usize = files.files.iter().map(|file| file.bytes.len()).sum();
    assert!(kept <= 64 << 20, "{kept} bytes were kept");
    let loaded = load::load(&files);
    let plainly = load::load_plainly(&files);
    assert!(loaded == plainly, "{:?}\n{:?}", loaded.problems, plainly.problems);
    let quickly = load::load_quickly(&files);
    assert!(quickly == plainly, "in small batches: {:?}\n{:?}", quickly.problems, plainly.problems);
    let cluster = loaded.cluster;
    let release = Release::new(18 + u16::try_from(dice.below(20)).unwrap(), 0);
    let gates = Gates::defaults(release);
    let snapshot = Snapshot::new(Arc::new(cluster), Arc::new(Behavior::of(release, &gates)));
    let profile = Profile::default_for(release, &gates);
    for pod in snapshot.cluster.pod_range().take(8) {
        let outcome = cycle::schedule(&PodCycle { snapshot: &snapshot, pod, profile: &profile, changed: None });
        assert_eq!(outcome.pod, pod);
    }
}

fn run(seeds: &[Vec<u8>], rounds: usize, seed: u64) {
    // More rounds by hand: PREEMPT_AUDIT_ROUNDS=100000 cargo test --test mutations
    let times = std::env::var("PREEMPT_AUDIT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(rounds);
    let mut dice = Dice(seed);
    for round in 0..times {
        let mut bytes = dice.of(seeds).clone();
        damage(&mut bytes, &mut dice);
        let copy = bytes.clone();
        let mut dice_of_round = Dice(round as u64);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| answer(bytes, &mut dice_of_round)));
        assert!(outcome.is_ok(), "round {round} of seed {seed}: {:?}", String::from_utf8_lossy(&copy));
    }
}

#[test]
fn damaged_texts_are_read_or_refused() {
    let seeds: Vec<Vec<u8>> = export::layouts(&items())
        .into_iter()
        .filter(|(_, files)| files.len() == 1)
        .map(|(_, mut files)| files.remove(0).1)
        .collect();
    assert!(seeds.len() > 10);
    run(&seeds, 1500, 1);
}

#[test]
fn damaged_encodings_are_read_or_refused() {
    let text = serde_json::to_vec(&json!({"kind": "List", "apiVersion": "v1", "items": items()})).unwrap();
    let seeds: Vec<Vec<u8>> = export::encodings(&text).into_iter().map(|(_, bytes)| bytes).collect();
    run(&seeds, 300, 2);
}

#[test]
fn damaged_archives_are_read_or_refused() {
    let files: Vec<export::File> =
        items().iter().enumerate().map(|(at, item)| (format!("{at}.json"), item.to_string().into_bytes())).collect();
    let mut seeds: Vec<Vec<u8>> = export::containers(&files).into_iter().map(|(_, bytes)| bytes).collect();
    seeds.extend([export::gzip(&files[0].1), export::zstd(&files[0].1), export::xz(&files[0].1)]);
    run(&seeds, 500, 3);
}
