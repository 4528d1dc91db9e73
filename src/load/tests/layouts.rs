//! However the objects are laid out in files, the cluster is the same.

use super::*;
use crate::model::cluster::CoverageState;
use crate::model::cluster::Kind;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn expected() -> Cluster {
    let loaded = load_objects(sample::objects());
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.skipped.len(), 2, "{:?}", loaded.skipped);
    assert_eq!((loaded.cluster.nodes.len(), loaded.cluster.pods.len()), (5, 13));
    placeless(loaded.cluster)
}

fn check(layout: &str, files: &[(String, String)]) {
    check_cut(layout, files, Cut::default());
}

fn check_cut(layout: &str, files: &[(String, String)], cut: Cut) {
    let table = FileTable::from_bytes(files.iter().map(|it| (it.0.clone(), it.1.clone().into_bytes())).collect());
    let loaded = load_cut(&table, cut);
    assert_eq!(loaded.problems, [], "{layout}");
    assert!(placeless(loaded.cluster) == expected(), "{layout}: another cluster");
}

fn one_file(text: String) -> Vec<(String, String)> {
    vec![("cluster.json".to_owned(), text)]
}

/// As kubectl prints: indented by four spaces.
fn kubectl(value: &Value) -> String {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut text, formatter)).unwrap();
    String::from_utf8(text).unwrap() + "\n"
}

fn without_kind(mut object: Value) -> Value {
    object.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
    object
}

/// Lists of one kind each, whose items do not say their kind.
fn typed_lists() -> Vec<Value> {
    let mut lists: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for object in sample::objects() {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        lists.entry((text("apiVersion"), text("kind") + "List")).or_default().push(without_kind(object));
    }
    let list = |((api_version, kind), items): ((String, String), Vec<Value>)| json!({"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items});
    lists.into_iter().map(list).collect()
}

#[test]
fn every_layout_gives_the_same_cluster() {
    let objects = sample::objects();
    let lines = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    check("indented", &one_file(kubectl(&list(objects.clone()))));
    check("an array", &one_file(Value::Array(objects.clone()).to_string()));
    check("lines", &one_file(lines(&objects)));
    check("one behind the other, indented", &one_file(objects.iter().map(kubectl).collect::<Vec<_>>().concat()));
    check("a list in a list", &one_file(list(vec![list(objects.clone())]).to_string()));
    check("typed lists", &one_file(lines(&typed_lists())));
    check("typed lists in a list", &one_file(kubectl(&list(typed_lists()))));
    let nothing = [Value::Null, json!({})].into_iter().chain(objects.clone()).collect();
    check("null and empty items", &one_file(list(nothing).to_string()));
    let watch: Vec<Value> = objects.iter().map(|object| json!({"type": "ADDED", "object": object})).collect();
    check("a watch", &one_file(lines(&watch)));
    let reversed = objects.iter().rev().enumerate();
    check("a file each", &reversed.map(|(at, it)| (format!("{at}.json"), it.to_string())).collect::<Vec<_>>());
    let typed = typed_lists().into_iter().rev().enumerate();
    check("a file a kind", &typed.map(|(at, it)| (format!("{at}.json"), kubectl(&it))).collect::<Vec<_>>());
}

#[test]
fn batches_and_marks_do_not_show() {
    let objects = sample::objects();
    let pods: Vec<Value> = typed_lists().into_iter().filter(|list| list["kind"] == "PodList").collect();
    let rest = typed_lists().into_iter().filter(|list| list["kind"] != "PodList");
    let behind = |list: &Value| {
        // The kind behind the items, as sorted keys have it.
        let items = &list["items"];
        format!("{{\"items\": {}, \"kind\": {}, \"apiVersion\": {}}}", kubectl(items), list["kind"], list["apiVersion"])
    };
    let two = vec![
        ("pods.json".to_owned(), kubectl(&pods[0])),
        ("rest.json".to_owned(), rest.clone().map(|it| it.to_string()).collect()),
    ];
    let sorted = vec![
        ("pods.json".to_owned(), behind(&pods[0])),
        ("rest.json".to_owned(), rest.clone().map(|it| it.to_string()).collect()),
    ];
    for (batch, min_bulk) in [(1, 0), (100, 0), (5000, 0), (1 << 20, 0), (1, usize::MAX), (3000, usize::MAX)] {
        let cut = Cut { batch: Some(batch), min_bulk, ..Cut::default() };
        check_cut("indented", &one_file(kubectl(&list(objects.clone()))), cut);
        check_cut("compact", &one_file(list(objects.clone()).to_string()), cut);
        check_cut("typed", &two, cut);
        check_cut("typed, kind last", &sorted, cut);
        check_cut("lists behind each other", &one_file(typed_lists().iter().map(kubectl).collect()), cut);
        check_cut("a list in a list", &one_file(kubectl(&list(typed_lists()))), cut);
        for stretch in [1, 2, 5, 16] {
            let cut = Cut { stretch: Some(stretch), ..cut };
            check_cut("put together in stretches", &one_file(kubectl(&list(objects.clone()))), cut);
        }
    }
}

#[test]
fn a_list_that_names_no_kind_is_what_its_items_or_its_file_say() {
    let pods = json!({"items": [without_kind(pod("a", &json!({})))]});
    assert_eq!(load_texts(&[("dump/pods.json", &pods.to_string())]).cluster.pods.len(), 1);
    let items = json!({"items": [pod("a", &json!({}))]});
    assert_eq!(load_texts(&[("dump/x.json", &items.to_string())]).cluster.pods.len(), 1);
}

#[test]
fn coverage_tells_empty_from_absent() {
    let of = |path: &str, text: &str, kind| load_texts(&[(path, text)]).cluster.coverage_of(kind);
    let typed = r#"{"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1","metadata":{},"items":[]}"#;
    let list = r#"{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}"#;
    let null = r#"{"kind":"PodList","apiVersion":"v1","items":null}"#;
    assert_eq!(of("x.json", typed, Kind::PodDisruptionBudget), CoverageState::Empty);
    assert_eq!(of("x.json", list, Kind::PodDisruptionBudget), CoverageState::Absent);
    assert_eq!(of("dump/pdb.json", list, Kind::PodDisruptionBudget), CoverageState::Empty);
    assert_eq!(of("x.json", null, Kind::Pod), CoverageState::Empty);
    assert_eq!(of("x.json", null, Kind::Node), CoverageState::Absent);
}

#[test]
fn of_two_copies_the_newer_counts() {
    let node = |name: &str, version: &str, zone: &str| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "resourceVersion": version, "labels": {"zone": zone}}})
        .to_string()
    };
    let zones = |files: &[(&str, &str)]| {
        let loaded = load_texts(files);
        assert_eq!(codes(&loaded), [ProblemCode::Duplicate]);
        let cluster = loaded.cluster;
        let zone = |it: &crate::model::node::Node| cluster.text(cluster.label_sets.pairs(it.labels)[0].1).to_owned();
        cluster.nodes.iter().map(zone).collect::<Vec<_>>()
    };
    let (old, new) = (node("a", "9", "old"), node("a", "10", "new"));
    assert_eq!(zones(&[("1.json", &old), ("2.json", &new)]), ["new"]);
    assert_eq!(zones(&[("1.json", &new), ("2.json", &old)]), ["new"]);
    let (first, second) = (node("a", "x", "first"), node("a", "y", "second"));
    assert_eq!(zones(&[("1.json", &first), ("2.json", &second)]), ["second"]);
    // Where one of them has no version, nothing but their order tells.
    assert_eq!(zones(&[("1.json", &new), ("2.json", &first), ("3.json", &old)]), ["old"]);
    assert_eq!(zones(&[("1.json", &first), ("2.json", &new), ("3.json", &old)]), ["old"]);
    assert_eq!(zones(&[("1.json", &old), ("2.json", &new), ("3.json", &first)]), ["first"]);
}

#[test]
fn what_a_watch_saw_deleted_is_gone() {
    let event = |kind: &str, version: &str| {
        let mut pod = pod("a", &json!({}));
        pod["metadata"]["resourceVersion"] = json!(version);
        json!({"type": kind, "object": pod}).to_string()
    };
    let gone = format!("{}\n{}", event("ADDED", "1"), event("DELETED", "2"));
    assert_eq!(load_texts(&[("w.json", &gone)]).cluster.pods.len(), 0);
    let back = format!("{gone}\n{}", event("ADDED", "3"));
    assert_eq!(load_texts(&[("w.json", &back)]).cluster.pods.len(), 1);
}

#[test]
fn other_groups_kinds_are_counted_and_left_alone() {
    let skipped = load_objects(sample::objects()).skipped;
    let skipped: Vec<_> = skipped.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(skipped, [("apps/v1 Deployment", 1), ("longhorn.io/v1beta2 Node", 1)]);
}

#[test]
fn the_servers_version_is_found() {
    let of = |text: &str| load_texts(&[("version.json", text)]).server_version;
    let kubectl = r#"{"clientVersion":{"gitVersion":"v1.36.0"},"serverVersion":{"gitVersion":"v1.34.1"}}"#;
    assert_eq!(of(kubectl).as_deref(), Some("v1.34.1"));
    assert_eq!(of(r#"{"clientVersion":{"gitVersion":"v1.36.0"}}"#), None);
    assert_eq!(of(r#"{"major":"1","gitVersion":"v1.30.2"}"#).as_deref(), Some("v1.30.2"));
    assert_eq!(of(r#"{"info":{"gitVersion":"v1.29.0"},"string":"v1.29.0"}"#).as_deref(), Some("v1.29.0"));
}

#[test]
fn as_of_is_the_newest_time_of_any_object() {
    let newest = load_objects(sample::objects()).cluster.as_of;
    assert_eq!(newest.map(crate::model::time::Time::seconds), Some(1_780_617_600), "the event's");
    let mut terminating = pod("a", &json!({}));
    terminating["metadata"]["deletionTimestamp"] = json!("2026-06-01T00:00:30Z");
    terminating["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    let at = load_objects(vec![terminating]).cluster.as_of.map(crate::model::time::Time::seconds);
    assert_eq!(at, Some(1_780_272_000), "a deletion's time lies ahead by the grace period");
}

/// A JSON text with other spaces between its tokens: the same value.
fn respaced(value: &Value, spaces: &[u8]) -> String {
    let spaces: Vec<usize> = spaces.iter().map(|at| usize::from(*at)).collect();
    respaced_by(value, &spaces, &["", " ", "\n", "\n    ", "\n        ", "\t", "\r\n        "])
}

/// A JSON text with these spaces behind its tokens, in this order over and over.
pub(super) fn respaced_by(value: &Value, order: &[usize], spaces: &[&str]) -> String {
    let mut next = order.iter().cycle();
    let mut text = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for letter in value.to_string().chars() {
        text.push(letter);
        if quoted {
            (quoted, escaped) = (escaped || letter != '"', !escaped && letter == '\\');
        } else if letter == '"' {
            quoted = true;
        } else if matches!(letter, ',' | ':' | '{' | '[' | '}' | ']') {
            text.push_str(spaces[*next.next().unwrap() % spaces.len()]);
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_never_shows(spaces in prop::collection::vec(0u8..7, 1..40), batch in 1usize..4000, order in any::<u64>()) {
        let mut objects = sample::objects();
        let mut random = order;
        for at in (1..objects.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            objects.swap(at, usize::try_from(random >> 33).unwrap() % (at + 1));
        }
        let text = respaced(&list(objects), &spaces);
        check_cut("marked", &one_file(text.clone()), Cut { batch: Some(batch), min_bulk: 0, ..Cut::default() });
        check_cut("followed", &one_file(text), Cut { batch: Some(batch), min_bulk: usize::MAX, ..Cut::default() });
    }
}
