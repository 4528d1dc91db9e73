//! Public reports about preemption, as small clusters, each with the answer that the real scheduler of its release gave.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, explain, unpack};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// One question of a report: a release, a pod and what is expected.
struct Question {
    release: String,
    pod: String,
    expected: Value,
}

fn questions(meta: &Value) -> Vec<Question> {
    let question = |from: &Value| Question {
        release: from["version"].as_str().or(meta["version"].as_str()).unwrap().trim_start_matches('v').to_owned(),
        pod: from["pod"].as_str().or(meta["pod"].as_str()).unwrap().to_owned(),
        expected: from["expected"].clone(),
    };
    let more = ["variants", "more_queries"].iter().flat_map(|key| meta[*key].as_array().into_iter().flatten());
    std::iter::once(meta).chain(more).map(question).collect()
}

/// The outcomes that a report's word stands for.
fn outcomes(word: &str) -> &'static [&'static str] {
    match word {
        "fits" => &["feasible"],
        "preempt" => &["nominated"],
        "unschedulable" => &["no-candidates", "no-potential-nodes", "error"],
        "not_eligible" => &["ineligible"],
        // A pod that has finished on its node is told as finished.
        "already_bound" => &["bound", "terminal"],
        "gated" => &["gated"],
        "other_scheduler" => &["other-scheduler"],
        "insufficient_input" => &["error"],
        other => panic!("unknown outcome {other}"),
    }
}

fn names(value: &Value, field: &str) -> Vec<String> {
    let name = |it: &Value| it.as_str().or(it[field].as_str()).unwrap_or_default().to_owned();
    let mut all: Vec<String> = value.as_array().into_iter().flatten().map(name).collect();
    all.sort();
    all
}

fn differences(want: &Value, got: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let outcome = got["outcome"].as_str().unwrap_or_default();
    // Devices are not allocated: the answer has to be undetermined and to name the plugin, whatever it says besides.
    if got["certainty"]["level"] == "undetermined"
        && names(&got["gaps"], "plugin").contains(&"DynamicResources".to_owned())
    {
        return out;
    }
    if !outcomes(want["outcome"].as_str().unwrap()).contains(&outcome) {
        return vec![format!(
            "outcome: want {}, got {outcome}: {} {}",
            want["outcome"], got["message"], got["postFilterMessage"]
        )];
    }
    if let Some(node) = want["nominated_node"].as_str() {
        let tied = names(&got["nominated"]["oneOf"], "node");
        if outcome == "nominated" && !tied.contains(&node.to_owned()) {
            out.push(format!("node: want {node}, got {tied:?}"));
        }
    }
    if outcome == "nominated" {
        let (w, g) = (names(&want["victims"], "pod"), names(&got["victims"], "pod"));
        if w != g {
            out.push(format!("victims: want {w:?}, got {g:?}"));
        }
        let node = &got["nominated"]["node"];
        let chosen = got["candidates"].as_array().into_iter().flatten().find(|it| it["node"] == *node);
        let violations = chosen.map(|it| it["pdbViolations"].clone());
        if violations.as_ref() != Some(&want["pdb_violations"]) {
            out.push(format!("violations: want {}, got {violations:?}", want["pdb_violations"]));
        }
    }
    let texts =
        ["message", "postFilterMessage", "ineligibleReason"].map(|field| got[field].as_str().unwrap_or_default());
    let message = texts.join(" ");
    for part in names(&want["message_contains"], "") {
        if !message.contains(&part) {
            out.push(format!("message: want {part:?} in {message:?}"));
        }
    }
    out
}

#[test]
fn every_public_report_is_answered_as_the_scheduler_answered_it() {
    let scratch = Scratch::new("reports");
    unpack("reports.tar.gz", &scratch.0);
    let mut folders: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut wrong = Vec::new();
    let mut asked = 0;
    for folder in &folders {
        let meta: Value = serde_json::from_slice(&fs::read(folder.join("meta.json")).unwrap()).unwrap();
        for question in questions(&meta) {
            asked += 1;
            for difference in answer(&question, &folder.join("dump.json")) {
                wrong.push(format!("{} {} at {}: {difference}", meta["id"], question.pod, question.release));
            }
        }
    }
    assert!(asked > 80, "only {asked} questions were found");
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Switches that the cluster of a report must have had: an API server stores a ReadWriteOncePod claim only with its gate on,
/// which was off by default up to 1.26.
fn gates(question: &Question, dump: &Path) -> &'static str {
    let alpha = ["1.22.", "1.23.", "1.24.", "1.25.", "1.26."].iter().any(|minor| question.release.starts_with(minor));
    let stored = fs::read_to_string(dump).unwrap().contains("ReadWriteOncePod");
    if alpha && stored { "ReadWriteOncePod=true" } else { "" }
}

fn answer(question: &Question, dump: &Path) -> Vec<String> {
    match explain(&question.release, gates(question, dump), &question.pod, dump) {
        Ok(got) => differences(&question.expected, &got),
        Err(said) => vec![said],
    }
}
