//! Many dumps: each for itself, in shares, as lines for tables.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, run};
use preempt_audit::source::yaml;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Output};

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    text(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A folder of dumps: every fixture, one that is no dump, one without a pending pod, one that is cut, and a note.
fn fleet(scratch: &Scratch) -> String {
    let folder = scratch.path("fleet");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir("fixtures").unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir()) {
        let into = folder.join(entry.file_name().unwrap());
        fs::create_dir(&into).unwrap();
        for file in fs::read_dir(&entry).unwrap().map(|it| it.unwrap().path()) {
            fs::copy(&file, into.join(file.file_name().unwrap())).unwrap();
        }
    }
    let dump = fs::read("fixtures/fits/dump.json").unwrap();
    fs::write(folder.join("broken.json"), "error: You must be logged in to the server").unwrap();
    fs::write(folder.join("cut.json"), &dump[..dump.len() - 40]).unwrap();
    fs::write(folder.join("empty.json"), "").unwrap();
    let idle = r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"1"}}}"#;
    fs::write(folder.join("idle.json"), idle).unwrap();
    fs::write(folder.join("notes.txt"), "nothing of note").unwrap();
    folder.to_str().unwrap().to_owned()
}

fn explain_lines(more: &[&str]) -> Output {
    run(&[&["explain", "-o", "ndjson"], more].concat())
}

#[test]
fn one_broken_dump_does_not_stop_the_others() {
    let scratch = Scratch::new("fleet-broken");
    let folder = fleet(&scratch);
    let output = explain_lines(&["--each", &folder]);
    assert_eq!(output.status.code(), Some(2));
    let lines = lines(&output);
    let dump = |line: &Value| line["dump"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let dumps: Vec<String> = lines.iter().map(dump).collect();
    let wanted = [
        "broken.json",
        "cut.json",
        "empty.json",
        "exclusive-claim",
        "few-candidates",
        "fits",
        "hidden-victim",
        "idle.json",
        "new-default-class",
        "not-now",
        "nothing-helps",
        "pdb-protects",
        "stays-pending",
        "stays-pending",
        "tie",
        "volume-waits",
    ];
    assert_eq!(dumps, wanted);
    for line in &lines {
        let broken = ["broken.json", "empty.json"].contains(&dump(line).as_str());
        assert_eq!(line["error"].is_string(), broken, "{line}");
        assert_eq!(line["exitStatus"], if broken { 2 } else { 0 }, "{line}");
        assert_eq!(line["pod"].is_string(), !broken && dump(line) != "idle.json", "{line}");
    }
    assert_eq!(lines[0]["problemCodes"], serde_json::json!(["PA0204"]));
    assert_eq!(lines[1]["problemErrors"], 1, "a dump that is cut is answered, and its line says so: {}", lines[1]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("broken.json: nothing to answer from"), "{told}");
    assert!(told.contains("1 entry"), "{told}");
    // Findings alone, without anything broken.
    let found = explain_lines(&["--each", "--fail-on", "preemption", "fixtures/fits", "fixtures/tie"]);
    assert_eq!(found.status.code(), Some(1));
}

#[test]
fn every_line_has_every_column_and_no_column_changes_its_type() {
    let scratch = Scratch::new("fleet-columns");
    let folder = fleet(&scratch);
    let mut all = lines(&explain_lines(&["--each", &folder]));
    all.extend(lines(&explain_lines(&["--pod", "nobody", "--pod", "a/b", "fixtures/tie"])));
    let mut types: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let names: BTreeSet<String> = all[0].as_object().unwrap().keys().cloned().collect();
    for line in &all {
        let object = line.as_object().unwrap();
        assert_eq!(object.keys().cloned().collect::<BTreeSet<_>>(), names);
        for (name, value) in object {
            let kind = match value {
                Value::Null => continue,
                Value::Bool(_) => "boolean",
                Value::Number(number) => {
                    assert!(number.is_i64(), "{name}");
                    "number"
                }
                Value::String(_) => "string",
                Value::Array(items) => {
                    assert!(items.iter().all(Value::is_string), "{name}: {value}");
                    "strings"
                }
                Value::Object(_) => "object",
            };
            types.entry(name.clone()).or_default().insert(kind);
        }
    }
    assert!(types.values().all(|kinds| kinds.len() == 1 && !kinds.contains("object")), "{types:?}");
}

#[test]
fn a_line_says_what_the_report_says() {
    for fixture in ["pdb-protects", "tie", "stays-pending", "not-now", "volume-waits"] {
        let path = format!("fixtures/{fixture}");
        let report: Value = serde_json::from_slice(&run(&["explain", "-o", "json", &path]).stdout).unwrap();
        let lines = lines(&explain_lines(&[&path]));
        assert_eq!(lines.len(), report["pods"].as_array().unwrap().len());
        for (line, pod) in lines.iter().zip(report["pods"].as_array().unwrap()) {
            for name in ["pod", "priority", "outcome", "message", "postFilterMessage", "eligible", "ineligibleReason"] {
                assert_eq!(line[name], pod[name], "{fixture} {name}");
            }
            assert_eq!(line["asOf"], report["asOf"]);
            assert_eq!(line["schedulerVersion"], report["scheduler"]["version"]);
            assert_eq!(line["certainty"], pod["certainty"]["level"]);
            assert_eq!(line["causes"], pod["certainty"]["causes"]);
            assert_eq!(line["nominatedNode"], pod["nominated"]["node"]);
            let keys =
                |all: &Value| all.as_array().into_iter().flatten().map(|it| it["pod"].clone()).collect::<Vec<_>>();
            assert_eq!(line["victims"].as_array().unwrap(), &keys(&pod["victims"]));
            let gaps = pod["gaps"].as_array().map_or(0, Vec::len);
            assert_eq!(line["gaps"].as_array().unwrap().len(), gaps);
        }
    }
}

#[test]
fn all_shards_together_are_the_whole() {
    let scratch = Scratch::new("fleet-shards");
    let folder = fleet(&scratch);
    let pods: Vec<String> = (0..7)
        .map(|at| {
            format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p{at}","namespace":"a"}},"spec":{{}}}}"#)
        })
        .collect();
    let one = scratch.path("one.json");
    fs::write(&one, pods.join("\n")).unwrap();
    let one = one.to_str().unwrap();
    for input in [&["--each", folder.as_str()][..], &[one], &["--each", one], &["fixtures/tie"]] {
        let whole: Vec<String> = text(&explain_lines(input)).lines().map(str::to_owned).collect();
        for count in [1, 2, 3, 20] {
            let mut union = Vec::new();
            for index in 0..count {
                let shard = format!("--shard={index}/{count}");
                let output = explain_lines(&[&[shard.as_str()], input].concat());
                let mine: Vec<String> = text(&output).lines().map(str::to_owned).collect();
                assert!(count != 2 || input.len() == 1 || mine.len() < whole.len(), "{input:?} {shard}");
                union.extend(mine);
            }
            let sorted = |mut lines: Vec<String>| {
                lines.sort();
                lines
            };
            assert_eq!(sorted(union), sorted(whole.clone()), "{input:?} in {count}");
        }
    }
    let third = explain_lines(&["--shard", "2/3", one]);
    assert_eq!(lines(&third).iter().map(|it| it["pod"].clone()).collect::<Vec<_>>(), ["a/p2", "a/p5"]);
}

#[test]
fn a_shard_that_is_none_is_refused() {
    for shard in ["3/3", "0/0", "1", "x/2", "-1/2", "auto/2"] {
        let output = explain_lines(&["--shard", shard, "fixtures/tie"]);
        assert_eq!(output.status.code(), Some(2), "{shard}");
        assert!(output.stdout.is_empty(), "{shard}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    command.args(["explain", "--shard", "auto/2", "fixtures/tie"]).env("JOB_COMPLETION_INDEX", "2");
    let told = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(told.contains("the last of 2 is 1/2"), "{told}");
}

#[test]
fn what_does_not_go_together_is_said() {
    for args in [
        &["--each", "-o", "json", "fixtures"][..],
        &["--each", "--compare-all", "fixtures"],
        &["-o", "ndjson", "--node", "worker-1", "fixtures/tie"],
        &["--problems", "x", "fixtures/tie"],
        &["--each", "--feature-gates", "x", "--scheduler-config", "nowhere.yaml", "fixtures"],
    ] {
        let output = run(&[&["explain"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn text_names_the_dump_before_its_answer() {
    let output = run(&["explain", "--each", "fixtures/fits", "fixtures/tie"]);
    let text = text(&output);
    assert!(text.starts_with("==> fixtures/fits <==\nj/next"), "{text}");
    assert!(text.contains("\n\n==> fixtures/tie <==\njobs/urgent-1"), "{text}");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let scratch = Scratch::new("fleet-output");
    let (answers, problems) = (scratch.path("answers.ndjson"), scratch.path("problems.ndjson"));
    let folder = fleet(&scratch);
    let output = explain_lines(&[
        "--each",
        &folder,
        "--output-file",
        answers.to_str().unwrap(),
        "--problems",
        problems.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert_eq!(fs::read_to_string(&answers).unwrap(), text(&explain_lines(&["--each", &folder])));
    let told: Vec<Value> =
        fs::read_to_string(&problems).unwrap().lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(told.iter().any(|it| it["code"] == "PA0103" && it["dump"].as_str().unwrap().ends_with("cut.json")));
    // A run that fails leaves what was there.
    let failed = run(&["explain", "nowhere", "--output-file", answers.to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(fs::read_to_string(&answers).unwrap().contains("PodLine"));
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 3, "nothing unfinished lies about");
}

#[test]
fn the_indexed_job_answers_the_whole_fleet() {
    let manifest = yaml::to_json(&fs::read_to_string("fixtures/indexed-job.yaml").unwrap());
    assert!(manifest.troubles.is_empty());
    let job: Value = serde_json::from_str(&manifest.json).unwrap();
    assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never", "a failure policy asks for it");
    let container = &pod["containers"][0];
    assert_eq!(spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"], container["name"]);
    let args: Vec<&str> = container["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let shards: u64 = args.iter().find_map(|it| it.strip_prefix("--shard=auto/")).unwrap().parse().unwrap();
    assert_eq!(spec["completions"].as_u64().unwrap(), shards);
    assert!(spec["parallelism"].as_u64().unwrap() <= shards);
    let mounts: Vec<&str> =
        container["volumeMounts"].as_array().unwrap().iter().map(|it| it["mountPath"].as_str().unwrap()).collect();
    assert_eq!(mounts, ["/dumps", "/answers"]);

    let scratch = Scratch::new("fleet-job");
    let folder = fleet(&scratch);
    let answers = scratch.path("answers");
    fs::create_dir(&answers).unwrap();
    let mut union = Vec::new();
    for index in 0..shards {
        let here = |arg: &&str| {
            let arg = arg.replace("$(JOB_COMPLETION_INDEX)", &index.to_string());
            arg.replace("/dumps", &folder).replace("/answers", answers.to_str().unwrap())
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
        command.args(args.iter().map(here)).env("JOB_COMPLETION_INDEX", index.to_string());
        let output = command.output().unwrap();
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = fs::read_to_string(answers.join(format!("pods-{index}.ndjson"))).unwrap();
        assert!(!lines.is_empty(), "every shard has its share");
        assert!(answers.join(format!("problems-{index}.ndjson")).is_file());
        union.extend(lines.lines().map(str::to_owned));
    }
    union.sort();
    let whole = text(&explain_lines(&["--each", &folder]));
    let mut whole: Vec<String> = whole.lines().map(str::to_owned).collect();
    whole.sort();
    assert_eq!(union, whole);
}
