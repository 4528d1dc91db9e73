//! A list that is compressed, in an archive or in a pipe is read as it is unfolded, and gives what the same list gives that
//! lies there as it is.

use super::*;
use crate::load::doubts::LOOKED_AT;
use crate::load::schedulers::schedulers;
use crate::model::cluster::{CoverageState, Kind};
use crate::source::archive::Limits;
use std::io::Write;

pub(super) type Files = Vec<(String, String)>;

pub(super) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

/// The files, compressed; lists of at least `whole` bytes are to be read as they are unfolded.
pub(super) fn packed(files: &Files, pack: impl Fn(&[u8]) -> Vec<u8>, whole: usize) -> FileTable {
    let files = files.iter().map(|(path, text)| (path.clone(), pack(text.as_bytes()))).collect();
    let (table, problems) = FileTable::from_memory_in_blocks(files, Limits::default(), whole);
    assert_eq!(problems, []);
    table
}

pub(super) fn plain(files: &Files) -> FileTable {
    FileTable::from_bytes(files.iter().map(|it| (it.0.clone(), it.1.clone().into_bytes())).collect())
}

/// Checks that nothing tells whether files were compressed, lay in an archive, or came through pipes. Gives how many of
/// them were never unfolded as a whole.
#[track_caller]
pub(super) fn check(files: &Files, whole: usize, cut: Cut) -> usize {
    let streamed = same(&plain(files), &packed(files, gzip, whole), cut);
    let bytes: Vec<(String, Vec<u8>)> = files.iter().map(|it| (it.0.clone(), it.1.clone().into_bytes())).collect();
    let piped = |whole| FileTable::from_pipes(bytes.clone(), Limits::default(), whole).0;
    let (bare, pipes) = (piped(usize::MAX), piped(whole));
    assert_eq!(same(&bare, &pipes, cut), streamed);
    assert_eq!(digests(&pipes), digests(&bare));
    let piped = |whole| FileTable::from_pipes(vec![("all".to_owned(), tar(&bytes))], Limits::default(), whole).0;
    assert_eq!(same(&piped(usize::MAX), &piped(whole), cut), streamed);
    for archive in [gzip(&tar(&bytes)), zip(&bytes)] {
        let table = |whole| {
            let archive = vec![("all".to_owned(), archive.clone())];
            FileTable::from_memory_in_blocks(archive, Limits::default(), whole).0
        };
        let (bare, archive) = (table(usize::MAX), table(whole));
        assert_eq!(same(&bare, &archive, cut), streamed);
        assert_eq!(digests(&archive), digests(&bare));
    }
    streamed
}

/// What a report tells of files.
fn digests(table: &FileTable) -> Vec<(&str, u64, Option<String>)> {
    table.files.iter().map(|it| (it.path.as_str(), it.size, it.digest())).collect()
}

/// Checks that both give the same, and counts the files of the second that were never unfolded as a whole.
#[track_caller]
pub(super) fn same(bare: &FileTable, packed: &FileTable, cut: Cut) -> usize {
    let (expected, loaded) = (load_cut(bare, cut), load_cut(packed, cut));
    assert_eq!(loaded.problems, expected.problems);
    assert!(loaded == expected, "another cluster");
    for problem in &loaded.problems {
        let at = |table: &FileTable| {
            let file = table.files.iter().position(|it| Some(&it.path) == problem.path.as_ref())?;
            table.files[file].around(problem.offset?)
        };
        assert_eq!(at(packed), at(bare), "{problem:?}");
    }
    assert_eq!(schedulers(packed, &loaded.cluster), schedulers(bare, &expected.cluster));
    packed.files.iter().filter(|it| it.packed().is_some()).count()
}

fn tar(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path, bytes.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, bytes) in files {
        writer.start_file(path.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(super) fn one(text: String) -> Files {
    vec![("cluster.json".to_owned(), text)]
}

pub(super) fn in_blocks(batch: usize) -> Cut {
    Cut { batch: Some(batch), ..Cut::default() }
}

/// Checks a text with blocks of several sizes, and says whether it was ever unfolded as a whole.
#[track_caller]
pub(super) fn is_streamed(text: &str) -> bool {
    let (files, whole) = (one(text.to_owned()), text.len() / 2);
    let streamed = |&batch: &usize| match batch {
        1000 => check(&files, whole, in_blocks(batch)) == 1,
        _ => same(&plain(&files), &packed(&files, gzip, whole), in_blocks(batch)) == 1,
    };
    let sizes = [37, 1000, 5000, 1 << 20];
    let streamed = sizes.iter().filter(|it| streamed(it)).count();
    assert!(streamed == 0 || streamed == sizes.len(), "the size of blocks tells");
    streamed > 0
}

/// As kubectl prints, with four spaces.
pub(super) fn kubectl(value: &Value) -> String {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut text, formatter)).unwrap();
    String::from_utf8(text).unwrap() + "\n"
}

/// A cluster with something of every kind; the first objects are small.
pub(super) fn objects() -> Vec<Value> {
    let mut objects = sample::objects();
    objects.rotate_left(3);
    objects
}

/// A list of pods that do not say their kind.
pub(super) fn pods(head: &str, tail: &str) -> String {
    let item = |at: usize| json!({"metadata": {"name": format!("p{at}"), "namespace": "a"}, "spec": {"priority": at}});
    let items: Vec<String> = (0..40).map(|at| item(at).to_string()).collect();
    format!("{{{head}\"items\":[{}]{tail}}}", items.join(","))
}

pub(super) const POD_LIST: &str = r#""kind":"PodList","apiVersion":"v1","#;

#[test]
fn lists_are_read_as_they_are_unfolded() {
    let objects = objects();
    assert!(is_streamed(&kubectl(&list(objects.clone()))));
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    assert!(is_streamed(&format!("[\n{}\n]\n", lines.join(",\n"))));
    assert!(is_streamed(&kubectl(&Value::Array(objects))));
    assert!(is_streamed(&pods(POD_LIST, "")));
    assert!(is_streamed(&pods(POD_LIST, r#","metadata":{"continue":"abc","remainingItemCount":7}"#)));
    assert!(is_streamed(&format!("Warning: old\n{}\n\n$ ", pods(POD_LIST, ""))));
    assert!(is_streamed(&format!("\u{feff}{}", pods(POD_LIST, ""))));
}

#[test]
fn kinds_are_found_wherever_they_stand() {
    let late = |at: usize| json!({"apiVersion": "v1", "a": at, "kind": "Node", "metadata": {"name": format!("n{at}")}});
    assert!(is_streamed(&kubectl(&list((0..30).map(late).collect()))));
    let item = |at: usize| json!({"spec": {"x": [{}]}, "metadata": {"name": format!("p{at}"), "namespace": "a"}});
    let items: Vec<String> = (0..40).map(|at| item(at).to_string()).collect();
    for kind in ["Pod", "Service", "ConfigMap", ""] {
        let text = format!(r#"{{"kind":"{kind}List","apiVersion":"v1","items":[{},{}]}}"#, items.join(","), items[0]);
        assert!(is_streamed(&text), "{kind}");
    }
    let named = vec![("pods.json".to_owned(), format!(r#"{{"items":[{}]}}"#, items.join(",")))];
    assert_eq!(check(&named, 500, in_blocks(700)), 1);
    let late = vec![("pods.json".to_owned(), format!(r#"{{"items":[{}],"kind":"NodeList"}}"#, items.join(",")))];
    assert_eq!(check(&late, 500, in_blocks(700)), 0);
}

#[test]
fn what_is_no_single_list_of_objects_is_unfolded() {
    assert!(!is_streamed(&pods("", r#","kind":"PodList","apiVersion":"v1""#)), "the kind comes too late");
    assert!(!is_streamed(&pods(POD_LIST, r#","kind":"NodeList""#)), "the kind changes");
    assert!(!is_streamed(&pods(r#""kind":"Widget","apiVersion":"x/v1","#, "")), "no list");
    assert!(!is_streamed(&kubectl(&list(vec![list(objects()), list(objects())]))), "lists in it");
    let events = |event: &str| -> Vec<Value> {
        let event = |it: usize| json!({"type": event, "object": pod(&format!("p{it}"), &json!({}))});
        (0..20).map(event).collect()
    };
    assert!(!is_streamed(&kubectl(&Value::Array(events("ADDED")))), "changes");
    let with = |last: Value| {
        let mut items: Vec<Value> = (0..20).map(|it| pod(&format!("p{it}"), &json!({}))).collect();
        items.push(last);
        kubectl(&list(items))
    };
    assert!(!is_streamed(&with(events("DELETED").remove(0))), "a change at the end");
    assert!(!is_streamed(&with(list(objects()))), "a list at the end");
    assert!(is_streamed(&with(Value::Null)));
    assert!(is_streamed(&with(json!({}))));
    let text = kubectl(&list(objects()));
    let middle = text.len() / 2;
    let at = middle + text[middle..].find("\"kind\"").unwrap();
    let broken = format!("{}]]{}", &text[..at], &text[at..]);
    assert!(!is_streamed(&broken), "broken in between");
}

#[test]
fn problems_are_told_at_the_same_places() {
    let item = |at: usize| match at % 5 {
        0 => pod(&format!("p{at}"), &json!({"priority": "high"})),
        1 => pod(
            &format!("p{at}"),
            &json!({"containers": [{"name": "c", "resources": {"requests": {"memory": "8Gb"}}}]}),
        ),
        2 => pod("twice", &json!({"nodeName": "n"})),
        3 => json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "x"}}),
        _ => pod(
            &format!("kube-scheduler-{at}"),
            &json!({"containers": [
            {"name": "c", "image": "registry.k8s.io/kube-scheduler:v1.29.3", "command": ["kube-scheduler", "-v=2"]}]}),
        ),
    };
    let items: Vec<Value> = (0..60).map(item).collect();
    assert!(is_streamed(&kubectl(&list(items.clone()))));
    assert!(is_streamed(&list(items.clone()).to_string()));
    let files = packed(&one(kubectl(&list(items))), gzip, 3000);
    let loaded = load_cut(&files, in_blocks(2000));
    let told: std::collections::BTreeSet<&str> = loaded.problems.iter().map(|it| it.code.text()).collect();
    assert!(told.len() >= 4, "{told:?}");
    assert!(loaded.problems.iter().all(|it| it.line.is_some_and(|line| line > 1)));
    assert_eq!(schedulers(&files, &loaded.cluster).len(), 12);
}

#[test]
fn nodes_are_looked_at_once_more() {
    let node = |at: usize, image: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at:02}")},
            "status": {"images": [{"names": [format!("registry.k8s.io/{image}:v1")]}]}})
    };
    // The first by name stand first, last, and in between.
    for order in [(0..20).collect::<Vec<_>>(), (0..20).rev().collect(), (0..20).map(|it| (it * 7 + 3) % 20).collect()] {
        for telling in [0, 2, 3] {
            let image = |at: usize| if at == telling { "kube-proxy" } else { "web" };
            let mut items: Vec<Value> = order.iter().map(|&at| node(at, image(at))).collect();
            items.insert(5, pod("p", &json!({"nodeName": "n00"})));
            let text = kubectl(&list(items));
            assert!(is_streamed(&text));
            let told = codes(&load_cut(&packed(&one(text), gzip, 2000), in_blocks(1000)));
            assert_eq!(told.contains(&ProblemCode::PartialNamespaces), telling < LOOKED_AT, "{told:?}");
        }
    }
}

#[test]
fn a_list_that_breaks_off_is_as_broken() {
    let text = kubectl(&list(objects()));
    let long = pods(POD_LIST, "");
    let array = kubectl(&Value::Array(objects()));
    for text in [text, long, array] {
        let whole = text.len() / 3;
        let mut streamed = 0;
        let ends = (whole + 1..text.len()).step_by(61).filter(|end| text.is_char_boundary(*end));
        for (round, end) in ends.enumerate() {
            let files = one(text[..end].to_owned());
            streamed += match round % 5 {
                0 => check(&files, whole, in_blocks(700)),
                _ => same(&plain(&files), &packed(&files, gzip, whole), in_blocks(700)),
            };
        }
        assert!(streamed > 10, "{streamed}");
    }
    let loaded = load_cut(&packed(&one(pods(POD_LIST, "")[..2000].to_owned()), gzip, 1000), in_blocks(300));
    assert_eq!(loaded.cluster.coverage_of(Kind::Pod), CoverageState::Truncated);
    assert_eq!(codes(&loaded), [ProblemCode::BrokenJson]);
}

#[test]
fn a_cut_file_never_passes_for_a_whole_one() {
    let text = kubectl(&list(objects()));
    for bytes in [gzip(text.as_bytes()), zstd(text.as_bytes()), xz(text.as_bytes())] {
        for end in (bytes.len() / 3..=bytes.len()).rev().step_by(97) {
            let cut_off = vec![("cluster.json".to_owned(), bytes[..end].to_vec())];
            let (table, mut problems) = FileTable::from_memory_in_blocks(cut_off, Limits::default(), 4000);
            let loaded = load_cut(&table, in_blocks(1000));
            problems.extend(loaded.problems);
            let told = problems.iter().any(|it| it.code == ProblemCode::BrokenArchive);
            assert_eq!(told, end < bytes.len(), "{end} of {}: {problems:?}", bytes.len());
        }
    }
}

/// Bytes that come round by chance, always in the same way.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

#[test]
fn damage_costs_the_same_whether_or_not_lists_are_read_as_they_are_unfolded() {
    let mut chance = Chance(7);
    let bytes = |it: String| it.into_bytes();
    let files = vec![
        ("a.json".to_owned(), bytes(kubectl(&list(objects())))),
        ("b.json".to_owned(), bytes(pods(POD_LIST, "").replace("},{", "},\n{"))),
        ("c.json".to_owned(), bytes(objects().iter().map(|it| it.to_string() + "\n").collect())),
        ("e.json".to_owned(), bytes(pods(POD_LIST, "") + "\n" + &kubectl(&list(objects())))),
        ("notes.txt".to_owned(), b"nothing\n".to_vec()),
        ("d.json".to_owned(), bytes(pods(POD_LIST, ""))),
    ];
    let tarred = tar(&files);
    let archives = [
        tarred.clone(),
        gzip(&tarred),
        zstd(&tarred),
        xz(&tarred),
        zip(&files),
        gzip(&files[0].1),
        xz(&files[2].1),
        gzip(&files[3].1),
    ];
    let tight = Limits { always: 30_000, ratio: 1, ..Limits::default() };
    let mut streamed = 0;
    for archive in archives {
        for round in 0..40 {
            let mut bytes = archive.clone();
            let limits = if round % 4 == 3 { tight } else { Limits::default() };
            match round % 4 {
                0 => bytes.truncate(chance.below(bytes.len())),
                1 => {
                    let at = chance.below(bytes.len());
                    bytes[at] ^= 1 << chance.below(8);
                }
                _ => {}
            }
            let whole = 500 + chance.below(5000);
            let read = |whole| {
                let (table, mut problems) =
                    FileTable::from_memory_in_blocks(vec![("x".to_owned(), bytes.clone())], limits, whole);
                let loaded = load_cut(&table, in_blocks(whole / 3));
                problems.extend(loaded.problems.clone());
                problems.sort_by_key(|it| (it.path.clone(), it.offset, it.message.clone()));
                (table, Loaded { problems, ..loaded })
            };
            let ((bare, expected), (packed, loaded)) = (read(usize::MAX), read(whole));
            assert_eq!(loaded.problems, expected.problems);
            assert!(loaded == expected);
            let sizes = |table: &FileTable| table.files.iter().map(|it| (it.path.clone(), it.size)).collect::<Vec<_>>();
            assert_eq!(sizes(&packed), sizes(&bare));
            streamed += packed.files.iter().filter(|it| it.packed().is_some()).count();
        }
    }
    assert!(streamed > 200, "{streamed}");
}

#[test]
fn several_long_members_are_read_in_one_pass() {
    let files: Files = (0..4)
        .map(|at| (format!("{at}.json"), if at == 1 { pods(POD_LIST, "") + "\nx\n{}" } else { pods(POD_LIST, "") }))
        .collect();
    let bytes: Vec<(String, Vec<u8>)> = files.iter().map(|it| (it.0.clone(), it.1.clone().into_bytes())).collect();
    let archive = gzip(&tar(&bytes));
    let size = archive.len() as u64;
    let (table, _) = FileTable::from_memory_in_blocks(vec![("x".to_owned(), archive)], Limits::default(), 1000);
    let meter = Meter::default();
    load_part(&table, &Wanted::default(), in_blocks(500), &meter);
    assert!(table.files[2].packed().is_some());
    assert_eq!(table.files.iter().filter(|it| it.packed().is_some()).count(), 3);
    // Once for all that are lists, and once for the other one; and that is then read.
    let other = table.files[1].bytes.len() as u64;
    assert!(meter.reached().done <= 2 * size + other, "{:?}", meter.reached());
}

#[test]
fn a_bomb_stops_at_its_bounds() {
    let text =
        format!("{}{}", pods(POD_LIST, "").trim_end_matches("]}"), r#",{"metadata":{"name":"a"}}"#.repeat(20_000));
    let limits = Limits { bytes: 100_000, ..Limits::default() };
    let bytes = vec![("bomb.json.gz".to_owned(), gzip(text.as_bytes()))];
    let (table, problems) = FileTable::from_memory_in_blocks(bytes, limits, 2000);
    assert_eq!(problems, []);
    let of = |objects| {
        let loaded = load_cut(&table, Cut { objects, ..in_blocks(5000) });
        loaded.problems.iter().map(|it| it.code).collect::<Vec<_>>()
    };
    let told = [ProblemCode::ArchiveTooLarge, ProblemCode::Duplicate, ProblemCode::BrokenJson];
    assert_eq!(of(1_000_000), told);
    assert_eq!(of(1000), [ProblemCode::ArchiveTooLarge, ProblemCode::TooManyObjects]);
    assert!(table.files[0].packed().is_some());
}

#[test]
fn objects_are_counted_as_in_a_file_as_it_is() {
    for objects in [38, 39, 40, 41, 42, 43, 80, 81, 82, 83, 84, 85] {
        let cut = Cut { objects, ..in_blocks(500) };
        check(&one(pods(POD_LIST, "")), 1000, cut);
        let two = vec![("a.json".to_owned(), pods(POD_LIST, "")), ("b.json".to_owned(), pods(POD_LIST, ""))];
        check(&two, 1000, cut);
    }
}

#[test]
fn moments_are_told_apart_and_the_newest_is_read() {
    let dump = |hour: usize| {
        let object = |at: usize| {
            let mut pod = pod(&format!("p{at}"), &json!({"nodeName": "n"}));
            pod["metadata"]["resourceVersion"] = json!((hour * 1000 + at).to_string());
            pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T0{hour}:00:00Z"));
            pod
        };
        kubectl(&list((0..30).map(object).collect()))
    };
    let files: Files = (1..4).map(|hour| (format!("2026-01-01T0{hour}0000Z/pods.json"), dump(hour))).collect();
    assert_eq!(check(&files, 2000, in_blocks(1000)), 3);
    let table = packed(&files, zstd, 2000);
    let loaded = load_cut(&table, in_blocks(1000));
    assert_eq!((loaded.moments.len(), loaded.cluster.pods.len()), (3, 30));
    let wanted = Wanted { at: super::super::primitive::parse_time("2026-01-01T02:30:00Z"), ..Wanted::default() };
    let at = |table: &FileTable| load_part(table, &wanted, in_blocks(1000), &Meter::default());
    assert!(at(&table) == at(&plain(&files)));
    assert!(at(&table).moments[1].used);
}

#[test]
fn the_slow_way_gives_the_same() {
    let files = one(kubectl(&list(objects())));
    let table = packed(&files, xz, 4000);
    assert!(table.files[0].packed().is_some());
    let quick = load_cut(&table, in_blocks(1000));
    assert!(table.files[0].packed().is_some());
    assert!(load_plainly(&table) == quick);
    assert!(table.files[0].packed().is_none());
}
