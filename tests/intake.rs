//! Whatever the form of a dump, the cluster is the same; and what is not whole never passes for whole.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

#[path = "common/export.rs"]
mod export;

use common::{Scratch, unpack};
use export::File;
use preempt_audit::load::{self, Loaded};
use preempt_audit::model::cluster::{Cluster, CoverageState, Kind};
use preempt_audit::problem::{Problem, ProblemCode, Severity};
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What some files say, and all trouble with them.
fn read(files: &[File]) -> (Loaded, Vec<Problem>) {
    let (table, problems) = FileTable::from_memory(files.to_vec(), Limits::default());
    loaded(&table, problems)
}

fn read_paths(paths: &[PathBuf]) -> (Loaded, Vec<Problem>) {
    let (table, problems) = FileTable::open(paths);
    loaded(&table, problems)
}

fn loaded(table: &FileTable, mut problems: Vec<Problem>) -> (Loaded, Vec<Problem>) {
    let mut loaded = load::load(table);
    problems.append(&mut loaded.problems);
    for problem in &problems {
        assert!(problem.path.is_some() && problem.help.is_some(), "without place or remedy: {problem:?}");
    }
    (loaded, problems)
}

/// Everything a cluster says, but not where it said it.
fn facts(cluster: &Cluster) -> String {
    let mut cluster = cluster.clone();
    cluster.coverage.clear();
    let text = format!("{cluster:#?}");
    let mut lines = text.lines().collect::<Vec<_>>();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim_start().starts_with("origin: Origin {") {
            let end = at + lines[at..].iter().position(|line| line.trim() == "},").unwrap();
            lines.drain(at..=end);
        } else {
            at += 1;
        }
    }
    lines.join("\n")
}

#[track_caller]
fn same(what: &str, got: &Cluster, want: &str) {
    let got = facts(got);
    if got != want {
        let (at, (got, want)) = got.lines().zip(want.lines()).enumerate().find(|(_, (a, b))| a != b).unwrap();
        panic!("{what}: differs at line {at}: got {got:?}, want {want:?}");
    }
}

fn recordings() -> &'static Path {
    static FOLDER: OnceLock<Scratch> = OnceLock::new();
    &FOLDER
        .get_or_init(|| {
            let scratch = Scratch::new("intake-live");
            unpack("live.tar.gz", &scratch.0);
            scratch
        })
        .0
}

/// A cluster with pods, budgets, classes, volumes and owners, as a list of objects.
fn items() -> Vec<Value> {
    let of = |recording: &str, kinds: &[&str]| -> Vec<Value> {
        let text = fs::read(recordings().join(recording).join("before/all.json")).unwrap();
        let list: Value = serde_json::from_slice(&text).unwrap();
        let wanted = |item: &&Value| kinds.is_empty() || kinds.contains(&item["kind"].as_str().unwrap());
        list["items"].as_array().unwrap().iter().filter(wanted).cloned().collect()
    };
    let mut items = of("22-new-default-class", &[]);
    items.extend(of("13b-pvc-wait-for-consumer", &["PersistentVolume", "PersistentVolumeClaim", "StorageClass"]));
    // The program does not read these.
    items.retain(|item| item["kind"] != "Deployment");
    items
}

fn reference() -> (Vec<Value>, String) {
    let items = items();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    let (loaded, problems) = read(&[("reference.json".to_owned(), list.to_string().into_bytes())]);
    assert_eq!(problems, []);
    assert!(
        loaded.cluster.pods.len() >= 10 && loaded.cluster.pdbs.len() == 3 && loaded.cluster.storage.claims.len() == 1
    );
    (items, facts(&loaded.cluster))
}

fn grave(problems: &[Problem]) -> Vec<&Problem> {
    problems.iter().filter(|problem| problem.code.severity() > Severity::Note).collect()
}

#[test]
fn every_layout_gives_the_same_cluster() {
    let (items, want) = reference();
    for (layout, files) in export::layouts(&items) {
        let (loaded, problems) = read(&files);
        assert!(grave(&problems).is_empty(), "{layout}: {problems:#?}");
        same(layout, &loaded.cluster, &want);
    }
}

#[test]
fn every_encoding_gives_the_same_cluster() {
    let (items, want) = reference();
    for (layout, files) in export::layouts(&items).into_iter().filter(|(_, files)| files.len() == 1) {
        for (encoding, bytes) in export::encodings(&files[0].1) {
            // A line of a prompt is no JSON, nor are blank lines a part of a one-line file that has no line end.
            let what = format!("{layout}, {encoding}");
            let (loaded, problems) = read(&[(files[0].0.clone(), bytes)]);
            assert!(grave(&problems).is_empty(), "{what}: {problems:#?}");
            same(&what, &loaded.cluster, &want);
        }
    }
}

#[test]
fn every_container_gives_the_same_cluster() {
    let (items, want) = reference();
    let some = ["one List", "must-gather", "Velero", "watch events"];
    for (layout, files) in export::layouts(&items).into_iter().filter(|(layout, _)| some.contains(layout)) {
        for (name, bytes) in export::containers(&files) {
            let what = format!("{layout} in {name}");
            let (loaded, problems) = read(&[(name.to_owned(), bytes)]);
            assert!(grave(&problems).is_empty(), "{what}: {problems:#?}");
            same(&what, &loaded.cluster, &want);
        }
    }
}

#[test]
fn a_folder_of_mixed_forms_gives_the_same_cluster() {
    let (items, want) = reference();
    let scratch = Scratch::new("intake-mixed");
    let third = items.len() / 3;
    let part = |range: std::ops::Range<usize>, layout: &str| {
        let mut layouts = export::layouts(&items[range]);
        layouts.swap_remove(layouts.iter().position(|(name, _)| *name == layout).unwrap()).1
    };
    let yaml = part(0..third, "YAML documents").remove(0).1;
    let info = part(third..2 * third, "must-gather");
    let watch = part(2 * third..items.len(), "watch events").remove(0).1;
    fs::write(scratch.path("a"), &export::encodings(&yaml)[1].1).unwrap();
    fs::write(scratch.path("b.tar.xz"), export::xz(&export::tar(&info))).unwrap();
    fs::write(scratch.path("c.gz"), export::gzip(&watch)).unwrap();
    fs::write(scratch.path("notes.txt"), "pods look bad\n").unwrap();
    let (loaded, problems) = read_paths(&[scratch.0.clone()]);
    assert!(grave(&problems).is_empty(), "{problems:#?}");
    same("mixed", &loaded.cluster, &want);
}

#[test]
fn yaml_recordings_answer_as_the_json_beside_them() {
    for recording in ["16-overprovisioning", "17-queue-of-three"] {
        let folder = recordings().join(recording);
        let read = |path: &str| read_paths(&[folder.join(path)]).0.cluster;
        let want = facts(&read("before/all.json"));
        same(recording, &read("before-yaml/all.yaml"), &want);
        same(recording, &read("before-yaml"), &want);
        same(recording, &read("before"), &want);
    }
}

/// The parts that `kubectl cluster-info dump` and a watch of pods have.
fn pods_and_nodes(cluster: &Cluster) -> Vec<String> {
    let pod = |it| {
        let pod = cluster.pod(it);
        let node = pod.node_name.map(|name| cluster.text(name).to_owned());
        format!(
            "{} {node:?} {:?} {:?} {:?} {:?}",
            cluster.pod_key(it),
            pod.spec_priority,
            pod.phase,
            pod.requests,
            pod.deleted
        )
    };
    let node = |it| format!("{} {:?}", cluster.text(cluster.node(it).name), cluster.node(it).allocatable);
    cluster.pod_range().map(pod).chain(cluster.node_range().map(node)).collect()
}

#[test]
fn cluster_info_dumps_answer_as_the_files_beside_them() {
    for recording in ["01-one-victim-by-priority", "15b-terminating-elsewhere"] {
        let before = recordings().join(recording).join("before");
        let (dump, problems) = read_paths(&[before.join("cluster-info")]);
        assert!(grave(&problems).is_empty(), "{problems:?}");
        let (files, _) = read_paths(&[before.join("pods.json"), before.join("nodes.json")]);
        assert_eq!(pods_and_nodes(&dump.cluster), pods_and_nodes(&files.cluster), "{recording}");
        let state = |kind| dump.cluster.coverage.iter().find(|it| it.kind == kind).unwrap().state;
        assert_eq!(state(Kind::PodDisruptionBudget), CoverageState::Absent);
    }
}

#[test]
fn a_watch_up_to_a_moment_answers_as_the_dump_of_that_moment() {
    let version = |pod: &Value| pod["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    for recording in ["01-one-victim-by-priority", "08b-overtaken-elsewhere-v1-34"] {
        let folder = recordings().join(recording);
        let pods: Value = serde_json::from_slice(&fs::read(folder.join("before/pods.json")).unwrap()).unwrap();
        let last = pods["items"].as_array().unwrap().iter().map(version).max().unwrap();
        let watch = fs::read(folder.join("watch.json")).unwrap();
        let mut upto = String::new();
        for event in serde_json::Deserializer::from_slice(&watch).into_iter::<Value>().map(Result::unwrap) {
            if version(&event["object"]) <= last {
                upto = format!("{upto}{event:#}\n");
            }
        }
        let (watched, problems) = read(&[("watch.json".to_owned(), upto.into_bytes())]);
        assert!(grave(&problems).is_empty(), "{problems:?}");
        let (dumped, _) = read_paths(&[folder.join("before/pods.json")]);
        assert_eq!(pods_and_nodes(&watched.cluster), pods_and_nodes(&dumped.cluster), "{recording}");
    }
}

#[test]
fn utf_16_reports_answer_as_their_dump() {
    let scratch = Scratch::new("intake-reports");
    unpack("reports.tar.gz", &scratch.0);
    let read = |path: &str| read_paths(&[scratch.path(path)]).0.cluster;
    let want = facts(&read("B100/dump.json"));
    same("low byte first", &read("B100/input.utf16le.json"), &want);
    same("high byte first", &read("B100/input.utf16be.json"), &want);
    let (cut, problems) = read_paths(&[scratch.path("B103/input.truncated.json")]);
    assert_eq!(problems[0].code, ProblemCode::BrokenJson);
    assert!(problems[0].offset.is_some() && problems[0].line.is_some(), "{:?}", problems[0]);
    assert!(cut.cluster.coverage.iter().any(|it| it.state == CoverageState::Truncated));
}

/// Whether somebody who reads the ledger and the problems sees that something is missing.
fn is_told((loaded, problems): &(Loaded, Vec<Problem>)) -> bool {
    let gap =
        loaded.cluster.coverage.iter().any(|it| matches!(it.state, CoverageState::Truncated | CoverageState::Rejected));
    gap || problems.iter().any(|it| it.code.severity() > Severity::Note)
}

#[test]
fn a_cut_dump_never_passes_for_a_whole_one() {
    let (items, _) = reference();
    for (layout, files) in export::layouts(&items).into_iter().filter(|(_, files)| files.len() == 1) {
        let (name, bytes) = &files[0];
        // Streams and joined documents may end behind any of their documents.
        let documents: Vec<usize> = match layout {
            "one List"
            | "one List on one line"
            | "one YAML list"
            | "bare array"
            | "recorder"
            | "simulator export"
            | "map of objects"
            | "map of lists" => Vec::new(),
            _ => continue,
        };
        for end in (1000..bytes.len().saturating_sub(200)).step_by(1000).filter(|end| !documents.contains(end)) {
            let cut = read(&[(name.clone(), bytes[..end].to_vec())]);
            assert!(is_told(&cut), "{layout} cut at {end} of {}", bytes.len());
            let placed = |it: &Problem| it.path.is_some() && it.line.is_some();
            assert!(cut.1.iter().any(placed), "{layout} cut at {end}: {:?}", cut.1);
        }
    }
}

#[test]
fn a_cut_archive_never_passes_for_a_whole_one() {
    let (items, _) = reference();
    let files = export::layouts(&items).into_iter().find(|(layout, _)| *layout == "typed lists").unwrap().1;
    for (name, bytes) in export::containers(&files) {
        // Behind the end of a tar archive stand only zeros.
        for end in (1000..bytes.len().saturating_sub(2048)).step_by(1000) {
            assert!(
                is_told(&read(&[(name.to_owned(), bytes[..end].to_vec())])),
                "{name} cut at {end} of {}",
                bytes.len()
            );
        }
    }
}

fn problem(name: &str, text: &str) -> Problem {
    let (_, problems) = read(&[(name.to_owned(), text.as_bytes().to_vec())]);
    problems.into_iter().next().unwrap_or_else(|| panic!("no problem with {text}"))
}

#[test]
fn what_is_no_dump_is_refused_by_name() {
    for (text, code, word) in [
        ("NAME   READY   STATUS\nweb-0  1/1     Running\n", ProblemCode::ForeignFormat, "table"),
        ("Name:         web-0\nNamespace:    shop\n", ProblemCode::ForeignFormat, "describe"),
        ("<html>", ProblemCode::ForeignFormat, "web page"),
        ("hello\n", ProblemCode::ForeignFormat, "neither JSON nor YAML"),
        ("\n\n", ProblemCode::BlankFile, "blank"),
        (r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#, ProblemCode::ForeignFormat, "Table"),
        (r#"{"Items":[{"Name":"a"}],"ResourceVersion":"1"}"#, ProblemCode::ForeignFormat, "1.13"),
        (r#"{"api_version":"v1","items":[],"kind":"PodList"}"#, ProblemCode::ForeignFormat, "Python"),
        (
            r#"{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[{"metadata":{"name":"a"}}]}"#,
            ProblemCode::LookAlike,
            "PodMetrics",
        ),
        (
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is forbidden"}"#,
            ProblemCode::ErrorAnswer,
            "forbidden",
        ),
        ("kind: Pod\napiVersion: v1\nmetadata:\n\tname: a\n", ProblemCode::BrokenYaml, "tab"),
    ] {
        let problem = problem("pods", text);
        assert_eq!(problem.code, code, "{problem:?}");
        assert!(problem.message.contains(word) || problem.help.as_deref().unwrap().contains(word), "{problem:?}");
        assert!(problem.help.is_some(), "{problem:?}");
    }
}

#[test]
fn folders_name_the_namespaces_that_objects_do_not() {
    let pod = |name: &str| {
        serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c"}], "topologySpreadConstraints": null},
            "status": {"by": {"namespace": "other"}}})
        .to_string()
        .into_bytes()
    };
    for (path, want) in [
        ("b/cluster-resources/pods/shop.json", "shop/web"),
        ("must-gather.local.1/x/namespaces/shop/core/pods.json", "shop/web"),
        ("shop/pods.json", "default/web"),
    ] {
        let (loaded, _) = read(&[(path.to_owned(), pod("web"))]);
        let keys: Vec<String> = loaded.cluster.pod_range().map(|it| loaded.cluster.pod_key(it)).collect();
        assert_eq!(keys, [want], "{path}");
    }
}

/// Nodes and pods of a small cluster, as one text each.
fn small() -> (String, String) {
    let node = serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "2"}, "nodeInfo": {"kubeletVersion": "v1.34.0"}}});
    let pod = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"containers": [{"name": "c"}]}});
    (node.to_string(), pod.to_string())
}

#[track_caller]
fn reads_pods(path: &str, bytes: &[u8], want: &[&str]) -> Vec<Problem> {
    let (loaded, problems) = read(&[(path.to_owned(), bytes.to_vec())]);
    let keys: Vec<String> = loaded.cluster.pod_range().map(|it| loaded.cluster.pod_key(it)).collect();
    assert_eq!(keys, want, "{problems:?}");
    problems
}

#[test]
fn a_stream_that_is_cut_inside_a_document_says_so() {
    let (items, _) = reference();
    let mut tried = 0;
    for (layout, files) in export::layouts(&items).into_iter().filter(|(_, files)| files.len() == 1) {
        let (name, bytes) = &files[0];
        for end in (1000..bytes.len()).step_by(1000) {
            // Behind a line, or where a document on one line is complete, nothing tells.
            let complete = bytes[..end].ends_with(b"}") && bytes.get(end) == Some(&b'\n');
            if complete || bytes[..end].ends_with(b"\n") || bytes[end..].iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let cut = read(&[(name.clone(), bytes[..end].to_vec())]);
            assert!(is_told(&cut), "{layout} cut at {end} of {}", bytes.len());
            tried += 1;
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn a_watch_that_breaks_off_in_a_change_counts_as_cut() {
    let (node, pod) = small();
    let text = format!("{{\"type\":\"ADDED\",\"object\":{node}}}\n{{\"type\":\"ADDED\",\"object\":{pod}}}\n");
    assert_eq!(reads_pods("watch.json", text.as_bytes(), &["shop/web"]), []);
    let (loaded, problems) = read(&[("watch.json".to_owned(), text.as_bytes()[..text.len() - 9].to_vec())]);
    assert_eq!(problems.iter().map(|it| it.code).collect::<Vec<_>>(), [ProblemCode::BrokenJson]);
    let pods = loaded.cluster.coverage.iter().find(|it| it.kind == Kind::Pod).unwrap();
    assert_eq!(pods.state, CoverageState::Truncated);
}

#[test]
fn objects_without_a_kind_are_read_for_what_they_are() {
    let (node, pod) = small();
    let bare = |text: &str| {
        let mut object: Value = serde_json::from_str(text).unwrap();
        object.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
        object.to_string()
    };
    let (node, pod) = (bare(&node), bare(&pod));
    for text in [format!("{node}\n{pod}\n"), format!("[{node},{pod}]"), format!("{{\"items\":[{node},{pod}]}}")] {
        assert_eq!(reads_pods("dump", text.as_bytes(), &["shop/web"]), [], "{text}");
        let cut = read(&[("dump".to_owned(), text.as_bytes()[..text.len() - 9].to_vec())]);
        assert!(is_told(&cut), "{text}");
    }
}

#[test]
fn a_list_may_be_spelled_in_lower_case() {
    let (node, pod) = small();
    let text = format!("{{\"kind\":\"list\",\"items\":[{node},{pod}]}}");
    assert_eq!(reads_pods("dump", text.as_bytes(), &["shop/web"]), []);
}

#[test]
fn what_two_shells_wrote_to_one_file_is_read_whole() {
    let (node, pod) = small();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let list = |object: &str| format!("{{\"kind\":\"List\",\"items\":[{object}]}}\r\n");
    let (nodes, pods) = (list(&node), list(&pod));
    let marked = utf16(&format!("\u{feff}{nodes}"));
    for bytes in [
        [utf16(&nodes), pods.clone().into_bytes()].concat(),
        [marked, pods.clone().into_bytes()].concat(),
        [nodes.clone().into_bytes(), utf16(&pods)].concat(),
        [nodes.into_bytes(), utf16(&format!("\u{feff}{pods}"))].concat(),
    ] {
        let (loaded, problems) = read(&[("dump.json".to_owned(), bytes)]);
        assert_eq!((loaded.cluster.nodes.len(), loaded.cluster.pods.len()), (1, 1), "{problems:?}");
    }
}

#[test]
fn logs_between_yaml_documents_are_no_objects() {
    let text = "apiVersion: v1\nkind: PodList\nitems:\n- metadata:\n    name: web\n    namespace: shop\n\
        ==== START logs for container c of pod shop/web ====\nmsg: : x\n\t- [\n---\napiVersion: v1\nkind: Pod\n\
        metadata:\n  name: from-a-log\n==== END logs for container c of pod shop/web ====\n---\n\
        apiVersion: v1\nkind: PodList\nitems:\n- metadata:\n    name: db\n    namespace: shop\n";
    assert_eq!(reads_pods("dump.txt", text.as_bytes(), &["shop/db", "shop/web"]), []);
}

#[test]
fn what_kubectl_complained_of_is_told() {
    let (node, _) = small();
    let forbidden = b"Error from server (Forbidden): pods is forbidden: User \"x\" cannot list resource \"pods\"\n";
    let (_, problems) = read(&[
        ("a/nodes.json".to_owned(), node.into_bytes()),
        ("a/pods.json".to_owned(), forbidden.to_vec()),
        ("a/app.log".to_owned(), b"Error: not for us\n".to_vec()),
    ]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].code, ProblemCode::ForeignFormat);
    assert!(problems[0].message.contains("pods is forbidden"), "{problems:?}");
}

#[test]
fn an_object_that_is_no_json_is_named_as_far_as_it_is() {
    let (node, pod) = small();
    let text = format!("{node}\n{}\n", pod.replace("\"spec\":{", "\"spec\":{\"priority\":NaN,"));
    let problems = reads_pods("dump", text.as_bytes(), &[]);
    assert!(problems[0].message.starts_with("Pod shop/web: "), "{problems:?}");
}

#[test]
fn a_yaml_file_may_say_its_version() {
    let (node, pod) = small();
    let text = format!("%YAML 1.1\n# of today\n---\n{node}\n---\n{pod}\n");
    assert_eq!(reads_pods("dump", text.as_bytes(), &["shop/web"]), []);
}
