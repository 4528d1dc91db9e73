//! What a dump's own objects say it lacks is said, and leaves answers undetermined; what is whole raises no alarm.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, run, unpack};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn object(kind: &str, namespace: &str, name: &str) -> Value {
    let api = if matches!(kind, "ReplicaSet" | "DaemonSet") { "apps/v1" } else { "v1" };
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "uid": format!("{kind}-{name}"),
        "resourceVersion": "9", "creationTimestamp": "2026-03-01T08:00:00Z"}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn node(name: &str) -> Value {
    let mut node = object("Node", "", name);
    node["status"] = json!({"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-03-01T10:00:00Z"}]});
    node
}

fn pod(namespace: &str, name: &str, node: Option<&str>, started: &str) -> Value {
    let mut pod = object("Pod", namespace, name);
    pod["spec"] = json!({"priority": if node.is_some() { 0 } else { 100 },
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]});
    pod["status"] = json!({"phase": "Pending"});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running", "startTime": started});
    }
    pod
}

const BEFORE: &str = "2026-03-01T09:00:00Z";

/// One node, one pod on it, one that waits, and no budget: the answer is certain.
fn cluster() -> Vec<Value> {
    let empty = |kind: &str, api: &str| json!({"kind": kind, "apiVersion": api, "items": []});
    vec![
        node("a"),
        pod("shop", "runs", Some("a"), BEFORE),
        pod("shop", "waits", None, BEFORE),
        empty("PodDisruptionBudgetList", "policy/v1"),
        empty("PriorityClassList", "scheduling.k8s.io/v1"),
    ]
}

/// The certainty of the pod that waits, and all warnings and errors by code, with their texts.
fn asked(name: &str, files: &[(&str, String)]) -> (Value, Vec<(String, String)>) {
    let scratch = Scratch::new(&format!("doubts-{name}"));
    for (path, text) in files {
        let path = scratch.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    answer(&scratch.0)
}

fn answer(path: &Path) -> (Value, Vec<(String, String)>) {
    let output = run(&["explain", "-o", "json", path.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap().iter().filter(|it| it["severity"] != "note");
    let text = |it: &Value, field: &str| it[field].as_str().unwrap().to_owned();
    let problems = problems.map(|it| (text(it, "code"), text(it, "message"))).collect();
    (report["pods"][0]["certainty"]["level"].clone(), problems)
}

#[track_caller]
fn tells(name: &str, items: &[Value], code: &str, words: &[&str], certainty: &str) {
    let (got, problems) = asked(name, &[("all.json", list(items))]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, code, "{problems:?}");
    for word in words {
        assert!(problems[0].1.contains(word), "{problems:?}");
    }
    assert_eq!(got, certainty);
}

#[test]
fn a_whole_dump_raises_no_alarm() {
    let mut items = cluster();
    let mut owner = object("ReplicaSet", "shop", "web");
    owner["status"] = json!({"replicas": 2});
    let mut idle = object("ReplicaSet", "idle", "web");
    idle["status"] = json!({"replicas": 0});
    items.extend([owner, idle]);
    let (certainty, problems) = asked("whole", &[("all.json", list(&items))]);
    assert_eq!((certainty, problems), (json!("certain"), Vec::new()));
}

#[test]
fn status_that_was_taken_out_is_said_once() {
    let mut items = cluster();
    for item in &mut items[..3] {
        item.as_object_mut().unwrap().remove("status");
    }
    tells("stripped", &items, "PA0219", &["2 pods and 1 node have no status"], "undetermined");
    // What a person wrote has none.
    let mut items = cluster();
    items[2].as_object_mut().unwrap().remove("status");
    items[2]["metadata"] = json!({"name": "waits", "namespace": "shop"});
    assert_eq!(asked("written", &[("all.json", list(&items))]).1, []);
}

#[test]
fn namespaces_whose_pods_are_missing_are_named() {
    let mut items = cluster();
    let mut owner = object("ReplicaSet", "db", "pg");
    owner["status"] = json!({"replicas": 3});
    let mut agents = object("DaemonSet", "monitoring", "agent");
    agents["status"] = json!({"currentNumberScheduled": 1, "desiredNumberScheduled": 1});
    items.extend([owner, agents]);
    let words = ["no pod of 2 namespaces", "db, monitoring", "ReplicaSet db/pg says that it has 3"];
    tells("claims", &items, "PA0217", &words, "undetermined");
}

#[test]
fn images_of_the_system_without_its_pods_are_a_sign() {
    let mut items = cluster();
    items[0]["status"]["images"] = json!([{"names": ["registry.k8s.io/kube-proxy:v1.34.1"], "sizeBytes": 1}]);
    tells("images", &items, "PA0217", &["no pod of kube-system", "kube-proxy:v1.34.1"], "undetermined");
    items.push(pod("kube-system", "kube-proxy-1", Some("a"), BEFORE));
    assert_eq!(asked("images-there", &[("all.json", list(&items))]).1, []);
}

#[test]
fn a_cluster_info_dump_of_some_namespaces_says_so() {
    let files = |namespaces: &[&str]| {
        let mut files = vec![("info/nodes.json".to_owned(), list(&[node("a")]))];
        for namespace in namespaces {
            let pods = if *namespace == "shop" { cluster()[1..3].to_vec() } else { Vec::new() };
            let typed = |kind: &str, items: &[Value]| {
                json!({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": items}).to_string()
            };
            files.push((format!("info/{namespace}/pods.json"), typed("PodList", &pods)));
            let controllers = typed("ReplicationControllerList", &[]);
            files.push((format!("info/{namespace}/replication-controllers.json"), controllers));
        }
        files
    };
    let asked = |name: &str, namespaces: &[&str]| {
        let files = files(namespaces);
        let files: Vec<(&str, String)> = files.iter().map(|it| (it.0.as_str(), it.1.clone())).collect();
        asked(name, &files)
    };
    let (certainty, problems) = asked("some", &["kube-system", "shop"]);
    assert_eq!(certainty, "undetermined");
    assert_eq!(problems.len(), 1);
    assert!(problems[0].1.contains("2 namespaces only: kube-system, shop"), "{problems:?}");
    assert_eq!(asked("every", &["default", "kube-public", "kube-system", "shop"]).1, []);
}

#[test]
fn nodes_that_are_older_than_the_pods_are_noticed() {
    let mut items = cluster();
    items.push(pod("shop", "newer", Some("b"), "2026-03-01T10:02:00Z"));
    let words = ["1 pod started after 2026-03-01T10:00:00Z", "does not hold: b"];
    tells("strange", &items, "PA0216", &words, "undetermined");
    let mut items = cluster();
    items.push(pod("shop", "newer", Some("a"), "2026-03-01T10:40:00Z"));
    tells("silent", &items, "PA0216", &["2026-03-01T10:00:00Z, in the Pods 2026-03-01T10:40:00Z"], "certain");
}

#[test]
fn pods_without_nodes_say_first_what_can_be_told() {
    tells("no-nodes", &cluster()[1..], "PA0220", &["2 pods and no Nodes"], "undetermined");
}

#[test]
fn nodes_without_pods_do_not_say_that_none_is_pending() {
    let said = |name: &str, items: &[Value], args: &[&str]| {
        let scratch = Scratch::new(&format!("doubts-{name}"));
        fs::write(scratch.path("all.json"), list(items)).unwrap();
        let output = run(&[&["explain", scratch.0.to_str().unwrap()], args].concat());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap(), output.status.code())
    };
    let nodes = &cluster()[..1];
    let (out, err, _) = said("nodes-only", nodes, &[]);
    assert!(out.starts_with("No pod was read: whether any is pending is not known."), "{out}");
    assert!(err.contains("PA0221"), "{err}");
    assert_eq!(said("nodes-strict", nodes, &["--strict"]).2, Some(3));
    let bound = &cluster()[..2];
    assert!(said("bound", bound, &["--strict"]).0.starts_with("No pod is pending: every pod of the dump"));
    assert_eq!(said("bound-strict", bound, &["--strict"]).2, Some(0));
    let (out, ..) = said("elsewhere", bound, &["-n", "shop"]);
    assert!(out.starts_with("No pod of namespace shop is pending"), "{out}");
    let (out, ..) = said("nowhere", bound, &["-n", "nowhere"]);
    assert!(out.starts_with("No pod of namespace nowhere was read"), "{out}");
    let mut damaged = bound.to_vec();
    damaged.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"priority": "high"}}));
    let (out, ..) = said("damaged", &damaged, &[]);
    assert!(out.starts_with("None of the pods that were read is pending"), "{out}");
}

#[test]
fn lists_of_different_times_in_one_file_are_noticed() {
    let items = cluster();
    let pods = |version: &str, names: &[&str]| {
        let pod = |name: &&str| {
            let mut pod = pod("shop", name, Some("a"), BEFORE);
            pod["metadata"]["resourceVersion"] = json!(version);
            pod
        };
        list(&names.iter().map(pod).collect::<Vec<_>>())
    };
    let rest: Vec<Value> = items.iter().filter(|it| it["metadata"]["name"] != "runs").cloned().collect();
    let both = |old: &str, new: &str| {
        let text = [list(&rest), pods(old, &["runs", "gone"]), pods(new, &["runs"])].join("\n");
        asked("repeats", &[("all.json", text)])
    };
    let (certainty, problems) = both("9", "12");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, "PA0216");
    assert!(
        problems[0].1.contains("1 of the Pod objects differ") && problems[0].1.contains("shop/runs"),
        "{problems:?}"
    );
    assert_eq!(certainty, "undetermined");
    // Pages and lists that overlap are of one time.
    assert_eq!(both("9", "9").1, []);
}

#[test]
fn a_yaml_object_that_was_cut_behind_a_line_is_noticed() {
    let items = cluster();
    let yaml = |item: &Value, cut: &str| {
        let (metadata, spec) = (&item["metadata"], &item["spec"]);
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec:\n  containers: {}\n{cut}",
            spec["containers"]
        )
    };
    let rest: String = [&items[0], &items[3], &items[4]].iter().map(|it| format!("---\n{it}\n")).collect();
    let whole = format!("{rest}{}", yaml(&items[1], "  nodeName: a\nstatus: {phase: Running}\n"));
    assert_eq!(asked("yaml-whole", &[("all.yaml", whole)]).1, []);
    let (_, problems) = asked("yaml-cut", &[("all.yaml", format!("{rest}{}", yaml(&items[1], "")))]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, "PA0219");
    assert!(problems[0].1.contains("1 pod has no status: the dump was cut there"), "{problems:?}");
}

#[test]
fn recordings_raise_no_alarm() {
    let scratch = Scratch::new("doubts-live");
    unpack("live.tar.gz", &scratch.0);
    for entry in fs::read_dir(&scratch.0).unwrap().map(Result::unwrap) {
        let before = entry.path().join("before");
        if before.exists() {
            assert_eq!(answer(&before).1, [], "{}", before.display());
        }
    }
}
