//! The coverage ledger as people and programs see it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, run};
use serde_json::{Value, json};
use std::fs;

fn inspect(args: &[&str]) -> (Value, i32) {
    let output = run(&[&["inspect", "-o", "json"], args].concat());
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code().unwrap())
}

fn told(args: &[&str]) -> String {
    String::from_utf8(run(&[&["inspect"], args].concat()).stdout).unwrap()
}

fn row<'r>(report: &'r Value, kind: &str) -> &'r Value {
    report["coverage"].as_array().unwrap().iter().find(|it| it["kind"] == kind).unwrap()
}

/// A node, a running pod and a pending one that is more important and does not fit beside it.
fn crowded() -> Vec<Value> {
    let pod = |name: &str, priority: i32, node: Option<&str>| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": name},
            "spec": {"priority": priority, "nodeName": node, "schedulerName": "default-scheduler",
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": if node.is_some() { "Running" } else { "Pending" }}})
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}});
    vec![node, pod("low", 1, Some("n")), pod("high", 2, None)]
}

fn list(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[test]
fn every_kind_says_what_is_there_and_where_it_came_from() {
    let scratch = Scratch::new("inspect-states");
    let write = |name: &str, text: String| fs::write(scratch.path(name), text).unwrap();
    write("all.json", list(crowded()).to_string());
    write("pdb.json", list(Vec::new()).to_string());
    let page = json!({"kind": "PersistentVolumeList", "apiVersion": "v1", "metadata": {"continue": "x"},
        "items": [{"metadata": {"name": "pv"}}]});
    write("pv.json", page.to_string());
    let damaged = json!({"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": 5}});
    write("sc.json", damaged.to_string());
    write(
        "more.json",
        list(vec![json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}})]).to_string(),
    );
    write("version.json", json!({"serverVersion": {"gitVersion": "v1.31.4"}}).to_string());
    let path = scratch.0.to_str().unwrap();
    let (report, code) = inspect(&[path]);
    assert_eq!(code, 0);
    assert_eq!(report["kind"], "InspectReport");
    assert_eq!(report["serverVersion"], "v1.31.4");
    for (kind, state, objects, rejected, file) in [
        ("Pod", "present", 2, 0, "all.json"),
        ("PodDisruptionBudget", "empty", 0, 0, "pdb.json"),
        ("PersistentVolume", "truncated", 1, 0, "pv.json"),
        ("StorageClass", "rejected", 0, 1, "sc.json"),
    ] {
        let row = row(&report, kind);
        assert_eq!(
            (&row["state"], &row["objects"], &row["rejected"]),
            (&json!(state), &json!(objects), &json!(rejected))
        );
        let files = row["files"].as_array().unwrap();
        assert_eq!(files.len(), 1, "{row}");
        assert!(files[0]["path"].as_str().unwrap().ends_with(file), "{row}");
        assert_eq!(row.get("changes").is_some(), matches!(state, "truncated" | "rejected"), "{row}");
    }
    assert_eq!(row(&report, "CSINode")["state"], "absent");
    assert_eq!(report["skipped"], json!([{"kind": "v1 ConfigMap", "objects": 1}]));
    let text = told(&[path]);
    for line in ["StorageClass           rejected         0        1  sc.json", "1 v1 ConfigMap", "API server v1.31.4"]
    {
        assert!(text.contains(line), "{text}");
    }
    let wide = told(&["--wide", path]);
    assert!(wide.contains(scratch.path("pv.json").to_str().unwrap()), "{wide}");
}

#[test]
fn the_command_gets_what_is_missing_and_what_the_server_is_sure_to_have() {
    let scratch = Scratch::new("inspect-command");
    let path = scratch.path("dump.json");
    fs::write(&path, list(crowded()).to_string()).unwrap();
    let path = path.to_str().unwrap();
    let remedies = |args: &[&str]| {
        let (report, _) = inspect(&[args, &[path]].concat());
        report["remedies"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let old = remedies(&["--kube-version", "1.27"]);
    assert_eq!(old.len(), 2, "{old:?}");
    assert!(
        old[0].starts_with("kubectl get poddisruptionbudgets.policy,priorityclasses.scheduling.k8s.io,"),
        "{old:?}"
    );
    assert!(old[0].ends_with(" -A -o json > rest.json"), "{old:?}");
    assert!(old[1].starts_with("kubectl version"), "{old:?}");
    let asked: Vec<&str> = old[0].split([' ', ',']).map(|it| it.split('.').next().unwrap()).collect();
    for none in ["nodes", "pods", "events", "podgroups", "resourceclaims", "secrets"] {
        assert!(!asked.contains(&none), "{none}: {old:?}");
    }
    assert!(remedies(&["--kube-version", "1.34"])[0].contains("resourceclaims.resource.k8s.io"));
    let pod = remedies(&["--pod", "a/high"]);
    assert_eq!(pod, ["kubectl get poddisruptionbudgets.policy -A -o json > poddisruptionbudgets.json"]);
    let text = told(&["--kube-version", "1.27", path]);
    assert!(text.lines().any(|line| line.trim() == old[0]), "the command is one line: {text}");
}

#[test]
fn a_pod_s_gaps_are_told_apart_from_what_cannot_matter_to_it() {
    let scratch = Scratch::new("inspect-pod");
    let path = scratch.path("dump.json");
    fs::write(&path, list(crowded()).to_string()).unwrap();
    let path = path.to_str().unwrap();
    let (report, code) = inspect(&["--pod", "a/high", "--pod", "a/low", path]);
    assert_eq!(code, 0);
    let [high, low] = &report["pods"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&high["certainty"], &high["gaps"][0]["kind"]), (&json!("undetermined"), &json!("PodDisruptionBudget")));
    let why = |pod: &Value, kind: &str| {
        let row = pod["harmless"].as_array().unwrap().iter().find(|it| it["kind"] == kind);
        row.unwrap_or_else(|| panic!("{kind}: {pod}"))["why"].as_str().unwrap().to_owned()
    };
    assert_eq!(why(high, "PersistentVolume"), "no volume that a filter looks at");
    assert_eq!(why(low, "PodDisruptionBudget"), "the scheduler does not try the pod");
    let explained = run(&["explain", "-o", "json", "--pod", "a/high", path]);
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    assert_eq!(explained["pods"][0]["gaps"], high["gaps"], "inspect and explain agree");
    assert_eq!(explained["pods"][0]["remedy"], report["remedies"][0]);
    let text = String::from_utf8(run(&["explain", "--pod", "a/high", path]).stdout).unwrap();
    assert!(
        text.contains("    kubectl get poddisruptionbudgets.policy -A -o json > poddisruptionbudgets.json\n"),
        "{text}"
    );
    let (_, code) = inspect(&["--pod", "a/nobody", path]);
    assert_eq!(code, 2);
}

#[test]
fn strict_exits_with_3_where_a_hole_could_matter() {
    let scratch = Scratch::new("inspect-strict");
    let status = |items: Vec<Value>, args: &[&str]| {
        let path = scratch.path("dump.json");
        fs::write(&path, list(items).to_string()).unwrap();
        run(&[&["inspect", "--strict"], args, &[path.to_str().unwrap()]].concat()).status.code().unwrap()
    };
    assert_eq!(status(crowded(), &[]), 3);
    assert_eq!(status(crowded(), &["--pod", "a/high"]), 3);
    assert_eq!(status(crowded(), &["--pod", "a/low"]), 0);
    assert_eq!(status(crowded()[..2].to_vec(), &[]), 0, "nobody is pending");
    assert_eq!(status(crowded()[1..].to_vec(), &[]), 3, "without nodes there is no answer");
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "a", "name": "b"},
        "spec": {"selector": {"matchLabels": {"x": "y"}}}, "status": {"disruptionsAllowed": 1, "currentHealthy": 1,
        "desiredHealthy": 0, "expectedPods": 1}});
    let whole: Vec<Value> = crowded().into_iter().chain([budget.clone()]).collect();
    assert_eq!(status(whole.clone(), &[]), 0);
    let mut damaged = budget;
    damaged["metadata"]["name"] = json!(["b"]);
    assert_eq!(status(whole.into_iter().chain([damaged]).collect(), &[]), 3, "one budget of two is damaged");
}

#[test]
fn nothing_readable_is_an_error() {
    let scratch = Scratch::new("inspect-nothing");
    let output = run(&["inspect", scratch.0.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("PA0102"));
}

#[test]
fn of_several_moments_the_ledger_is_of_one() {
    let scratch = Scratch::new("inspect-moments");
    let dump = |folder: &str, time: &str| {
        let mut items = crowded();
        for item in &mut items {
            item["metadata"]["uid"] = json!(format!("uid-{}", item["metadata"]["name"]));
            item["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": time,
                "lastTransitionTime": time}]);
        }
        items[1]["metadata"]["resourceVersion"] = json!(time.replace(|it: char| !it.is_ascii_digit(), ""));
        fs::create_dir_all(scratch.path(folder)).unwrap();
        fs::write(scratch.path(folder).join("all.json"), list(items).to_string()).unwrap();
    };
    dump("2026-03-01T10-00-00Z", "2026-03-01T10:00:00Z");
    dump("2026-03-01T11-00-00Z", "2026-03-01T11:00:00Z");
    let path = scratch.0.to_str().unwrap();
    let (report, _) = inspect(&[path]);
    let used: Vec<(&str, bool)> = report["moments"]
        .as_array()
        .unwrap_or_else(|| panic!("{report}"))
        .iter()
        .map(|it| (it["time"].as_str().unwrap(), it["used"].as_bool().unwrap()))
        .collect();
    assert_eq!(used, [("2026-03-01T10:00:00Z", false), ("2026-03-01T11:00:00Z", true)]);
    assert_eq!(row(&report, "Pod")["objects"], 2, "of one moment alone");
    let text = told(&[path]);
    assert!(text.contains("→ 2026-03-01T11:00:00Z  1 node, 2 pods"), "{text}");
}

#[test]
fn a_configuration_among_the_files_is_not_said_to_be_of_no_use() {
    let told = String::from_utf8(run(&["inspect", "fixtures/few-candidates"]).stdout).unwrap().replace("\n    ", " ");
    assert!(told.contains("which is not used: give its file with --scheduler-config."), "{told}");
    assert!(!told.contains("Skipped"), "{told}");
}
