//! The quick ways of reading give what the plain one gives: of every recording and report, and of the conformance cases as
//! they lie and as kubectl prints them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, unpack};
use flate2::read::GzDecoder;
use preempt_audit::load;
use preempt_audit::source::files::FileTable;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

fn check(what: &str, files: &FileTable) {
    let plainly = load::load_plainly(files);
    assert!(load::load(files) == plainly, "{what}");
    assert!(load::load_quickly(files) == plainly, "{what}, in small batches");
}

fn files_below(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, into) } else { into.push(path) }
    }
}

#[test]
fn recordings_and_reports_are_read_the_same() {
    let mut seen = 0;
    for archive in ["live.tar.gz", "reports.tar.gz"] {
        let scratch = Scratch::new(&format!("quick-{archive}"));
        unpack(archive, &scratch.0);
        let mut paths = Vec::new();
        files_below(&scratch.0, &mut paths);
        files_below(Path::new("fixtures"), &mut paths);
        for path in paths {
            let (files, _) = FileTable::open(std::slice::from_ref(&path));
            check(&path.display().to_string(), &files);
            seen += files.files.len();
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn conformance_cases_are_read_the_same_in_any_print() {
    let lines = BufReader::new(GzDecoder::new(File::open("tests/conformance/cases.ndjson.gz").unwrap())).lines();
    let mut seen = 0;
    for line in lines.step_by(9) {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let dump = &case["dump"];
        let mut printed = Vec::new();
        dump.serialize(&mut Serializer::with_formatter(&mut printed, PrettyFormatter::with_indent(b"    "))).unwrap();
        let lines: Vec<String> = dump["items"].as_array().into_iter().flatten().map(Value::to_string).collect();
        for text in [dump.to_string().into_bytes(), printed, lines.join("\n").into_bytes()] {
            check(case["id"].as_str().unwrap(), &FileTable::from_bytes(vec![("dump.json".to_owned(), text)]));
        }
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}
