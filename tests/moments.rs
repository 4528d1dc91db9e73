//! An answer is of one moment, however many the input holds.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

#[allow(dead_code, clippy::allow_attributes, reason = "another test writes encodings and containers")]
#[path = "common/export.rs"]
mod export;

use common::{Scratch, run, unpack};
use export::File;
use preempt_audit::load::{self, Loaded, Wanted};
use preempt_audit::model::time::Time;
use preempt_audit::problem::{ProblemCode, Severity};
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn read(files: &[File], at: Option<&str>) -> Loaded {
    let (table, mut problems) = FileTable::from_memory(files.to_vec(), Limits::default());
    let at = at.map(|it| Time(i64::try_from(it.parse::<jiff::Timestamp>().unwrap().as_nanosecond()).unwrap()));
    let mut loaded = load::load_wanted(&table, &Wanted { at, ..Wanted::default() });
    problems.append(&mut loaded.problems);
    Loaded { problems, ..loaded }
}

fn told(loaded: &Loaded) -> Vec<ProblemCode> {
    loaded.problems.iter().map(|it| it.code).filter(|it| it.severity() > Severity::Note).collect()
}

/// Names of nodes and pods, each pod with its node and phase.
fn shown(loaded: &Loaded) -> Vec<String> {
    let cluster = &loaded.cluster;
    let nodes = cluster.nodes.iter().map(|it| cluster.text(it.name).to_owned());
    let pod = |it| {
        let node = cluster.pod(it).node_name.map_or("", |name| cluster.text(name));
        format!("{} {node} {:?} {:?}", cluster.pod_key(it), cluster.pod(it).phase, cluster.pod(it).started)
    };
    nodes.chain(cluster.pod_range().map(pod)).collect()
}

fn folder() -> Scratch {
    let scratch = Scratch::new(&format!("moments-{:?}", std::thread::current().id()));
    unpack("live.tar.gz", &scratch.0);
    scratch
}

/// Answers and problem codes of `explain -o json`.
fn answers(args: &[&str]) -> (Value, Vec<String>) {
    let output = run(&[&["explain", "-o", "json"], args].concat());
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let grave = |it: &&Value| it["severity"] != "note";
    let code = |it: &Value| it["code"].as_str().unwrap().to_owned();
    (report["pods"].clone(), report["problems"].as_array().unwrap().iter().filter(grave).map(code).collect())
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn truth(recording: &Path) -> Value {
    serde_json::from_slice(&fs::read(recording.join("truth.json")).unwrap()).unwrap()
}

/// The dump before the decision, with a watch in the place of its pods.
fn watched(recording: &Path, into: PathBuf) -> PathBuf {
    fs::create_dir_all(&into).unwrap();
    for entry in fs::read_dir(recording.join("before")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_file() && name != "pods.json" && name != "all.json" {
            fs::copy(entry.path(), into.join(name)).unwrap();
        }
    }
    fs::copy(recording.join("watch.json"), into.join("watch.json")).unwrap();
    into
}

#[test]
fn a_watch_up_to_a_moment_answers_as_the_dump_of_that_moment() {
    let scratch = folder();
    for recording in [
        "01-one-victim-by-priority",
        "01-one-victim-by-priority-v1-34",
        "08b-overtaken-elsewhere",
        "08b-overtaken-elsewhere-v1-34",
    ] {
        let recording = scratch.path(recording);
        let times = &truth(&recording)["times"];
        let (want, _) = answers(&[path(&recording.join("before"))]);
        assert_eq!(want.as_array().unwrap().len(), 1);
        let watched = watched(&recording, recording.join("watched"));
        let at = times["before"].as_str().unwrap();
        assert_eq!(answers(&["--at", at, path(&watched)]), (want.clone(), Vec::new()), "{}", recording.display());
        // To its end, a watch tells another story.
        assert_ne!(answers(&[path(&watched)]).0, want, "{}", recording.display());
    }
}

#[test]
fn what_a_watch_cannot_tell_is_said() {
    let scratch = folder();
    let recording = scratch.path("08b-overtaken-elsewhere");
    let at = truth(&recording)["times"]["schedulerContinues"].as_str().unwrap().to_owned();
    let watched = watched(&recording, recording.join("watched"));
    assert_eq!(answers(&["--at", &at, path(&watched)]).1, ["PA0218"]);
    let early = run(&["explain", "--at", "2026-11-29T19:00:00Z", path(&recording.join("watch.json"))]);
    assert_eq!(early.status.code(), Some(2));
    let said = String::from_utf8(early.stderr).unwrap();
    assert!(said.contains("PA0213") && said.contains("2026-11-29T19:18:00Z the recorded changes begin"), "{said}");
}

#[test]
fn of_a_folder_with_several_moments_the_newest_is_told_unless_one_is_asked_for() {
    let scratch = folder();
    for (recording, newest) in [("08b-overtaken-elsewhere", "after"), ("16-overprovisioning", "after")] {
        let recording = scratch.path(recording);
        let (answer, problems) = answers(&[path(&recording)]);
        let mut alone = vec![recording.join(newest)];
        alone.extend(Some(recording.join("watch.json")).filter(|it| it.exists()));
        let alone: Vec<&str> = alone.iter().map(|it| path(it)).collect();
        assert_eq!(answer, answers(&alone).0, "{}", recording.display());
        assert_eq!(problems, ["PA0212"], "{}", recording.display());
    }
    let recording = scratch.path("08b-overtaken-elsewhere");
    let at = truth(&recording)["times"]["before"].as_str().unwrap().to_owned();
    let want = answers(&[path(&recording.join("before"))]).0;
    assert_eq!(answers(&["--at", &at, path(&recording)]).0, want);
}

/// Two states of a small cluster: in the second a pod is gone, one has come and one has changed.
fn states() -> [Vec<Value>; 2] {
    let object = |kind: &str, namespace: &str, name: &str, version: u64, time: &str| {
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name,
            "uid": format!("{kind}-{name}"), "resourceVersion": version.to_string(), "creationTimestamp": time}});
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    };
    let pod = |name: &str, version: u64, started: Option<&str>| {
        let mut pod = object("Pod", "shop", name, version, "2026-03-01T09:00:00Z");
        pod["spec"] = json!({"containers": [{"name": "c"}], "nodeName": started.map(|_| "a")});
        pod["status"] = json!({"phase": if started.is_some() { "Running" } else { "Pending" }, "startTime": started});
        pod
    };
    let node = |name: &str| {
        let mut node = object("Node", "", name, 10, "2026-03-01T08:00:00Z");
        node["status"] = json!({"allocatable": {"cpu": "4", "pods": "110"}});
        node
    };
    let namespace = object("Namespace", "", "shop", 5, "2026-03-01T07:00:00Z");
    let first = [pod("gone", 20, Some("2026-03-01T09:00:00Z")), pod("moved", 21, None), pod("same", 19, None)];
    let second = [
        pod("come", 40, Some("2026-03-01T10:29:00Z")),
        pod("moved", 41, Some("2026-03-01T10:29:30Z")),
        pod("same", 19, None),
    ];
    let whole = |pods: [Value; 3]| [vec![namespace.clone(), node("a"), node("b")], pods.to_vec()].concat();
    [whole(first), whole(second)]
}

fn below(folder: &str, files: Vec<File>) -> Vec<File> {
    files.into_iter().map(|(path, bytes)| (format!("{folder}{path}"), bytes)).collect()
}

#[test]
fn two_dumps_of_any_layout_beside_each_other_are_never_mixed() {
    let [first, second] = states();
    for ((layout, old), (_, new)) in export::layouts(&first).into_iter().zip(export::layouts(&second)) {
        let want = [&old, &new].map(|files| shown(&read(files, None)));
        assert_ne!(want[0], want[1]);
        for (old_name, new_name) in [
            ("d/before/", "d/after/"),
            ("d/20260301T100000Z/", "d/20260301T103000Z/"),
            ("d/x-1772359200.tar.gz!", "d/x-1772361000.tar.gz!"),
            ("d/2026-03-01/10-00-00/", "d/2026-03-01/10-30-00/"),
        ] {
            // Changes that stand beside each other may as well be one stream.
            if ["watch events", "plain watch", "recorder"].contains(&layout) {
                continue;
            }
            let both = [below(old_name, old.clone()), below(new_name, new.clone())].concat();
            let what = format!("{layout} in {old_name} and {new_name}");
            let newest = read(&both, None);
            assert_eq!(shown(&newest), want[1], "{what}");
            assert_eq!(told(&newest), [ProblemCode::SeveralMoments], "{what}");
            assert_eq!(newest.moments.len(), 2, "{what}: {:?}", newest.moments);
            assert!(newest.moments[1].used && !newest.moments[0].used, "{what}");
            let earlier = read(&both, Some("2026-03-01T10:15:00Z"));
            assert_eq!(shown(&earlier), want[0], "{what}");
            assert_eq!(told(&earlier), [], "{what}");
            let too_early = read(&both, Some("2026-03-01T01:00:00Z"));
            assert!(too_early.refused && told(&too_early) == [ProblemCode::NoMoment], "{what}");
        }
    }
}

fn list(items: &[&Value]) -> Vec<u8> {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string().into_bytes()
}

fn of_kind<'v>(items: &'v [Value], kind: &str) -> Vec<&'v Value> {
    items.iter().filter(|it| it["kind"] == kind).collect()
}

#[test]
fn files_of_one_folder_that_say_times_are_moments() {
    let [first, second] = states();
    let files: Vec<File> = [(&first, ["10-00-00", "10-00-02"]), (&second, ["10-30-00", "10-30-03"])]
        .into_iter()
        .flat_map(|(items, [nodes, pods])| {
            [
                (format!("d/nodes-2026-03-01T{nodes}.json"), list(&of_kind(items, "Node"))),
                (format!("d/pods-2026-03-01T{pods}.json"), list(&of_kind(items, "Pod"))),
            ]
        })
        .chain([("d/namespaces.json".to_owned(), list(&of_kind(&first, "Namespace")))])
        .collect();
    let newest = read(&files, None);
    assert_eq!(told(&newest), [ProblemCode::SeveralMoments]);
    assert_eq!(
        shown(&newest),
        shown(&read(&[("all.json".to_owned(), list(&second.iter().collect::<Vec<_>>()))], None))
    );
    assert_eq!(newest.cluster.namespaces.iter().filter(|it| it.present).count(), 1);
    let earlier = read(&files, Some("2026-03-01T10:10:00Z"));
    assert_eq!(
        shown(&earlier),
        shown(&read(&[("all.json".to_owned(), list(&first.iter().collect::<Vec<_>>()))], None))
    );
}

#[test]
fn files_that_are_seconds_apart_are_one_moment() {
    let [first, _] = states();
    let mut later = first.clone();
    for item in &mut later {
        if item["kind"] == "Node" {
            item["metadata"]["resourceVersion"] = json!("30");
            item["metadata"]["labels"] = json!({"seen": "later"});
        }
    }
    let files = [
        ("d/nodes.json".to_owned(), list(&of_kind(&first, "Node"))),
        ("d/pods.json".to_owned(), list(&of_kind(&first, "Pod"))),
        ("d/all.json".to_owned(), list(&later.iter().collect::<Vec<_>>())),
        ("d/cluster-info/nodes.json".to_owned(), list(&of_kind(&first, "Node"))),
        ("d/cluster-info/shop/pods.json".to_owned(), list(&of_kind(&first, "Pod"))),
    ];
    let loaded = read(&files, None);
    assert_eq!(told(&loaded), []);
    assert_eq!(shown(&loaded), shown(&read(&files[2..3], None)));
    assert!(loaded.moments.is_empty());
}

#[test]
fn moments_that_nothing_orders_are_refused() {
    let files = ["b", "a"].map(|phase| {
        let pod = |name: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "labels": {"is": phase}},
            "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "Pending"}})
        };
        let pods = [pod("x"), pod("y"), pod(phase)];
        (format!("d/{phase}/pods.json"), list(&pods.iter().collect::<Vec<_>>()))
    });
    let loaded = read(&files, None);
    assert!(loaded.refused && loaded.cluster.pods.is_empty());
    assert_eq!(told(&loaded), [ProblemCode::NoMoment]);
    let help = loaded.problems[0].help.clone().unwrap();
    assert!(help.contains("d/a") && help.contains("d/b"), "{help}");
}
