//! Recordings of a real control plane: what it decided next is the program's answer for the dump taken before.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, explain, unpack};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The first decision after the dump: the pod, and the preemption if there was one. `None` where another pod was placed
/// first, so that the dump is not the state of that decision.
fn first_decision(truth: &Value) -> Option<(&Value, Option<&Value>)> {
    let pending = || list(truth, "pods").iter().filter(|pod| pod["inBefore"] == true);
    let mut decided: Vec<(&Value, &Value)> =
        pending().filter_map(|pod| Some((pod, list(pod, "preemptions").first()?))).collect();
    decided.sort_by_key(|(_, preemption)| text(&preemption["decidedAt"]));
    let next = decided.into_iter().find(|(_, it)| text(&it["decidedAt"]) > text(&truth["times"]["before"]));
    let Some((pod, preemption)) = next else { return Some((pending().next()?, None)) };
    let bound_at = |it: &Value| it["boundAt"].as_str().unwrap_or("9").to_owned();
    let earlier = |it: &Value| it != pod && list(it, "preemptions").is_empty() && bound_at(it) < bound_at(pod);
    if pending().any(earlier) {
        return None;
    }
    Some((pod, Some(preemption)))
}

/// Victims the same, but for pods that the recording calls equal.
fn same_victims(want: &Value, got: &[String]) -> bool {
    let mut left = got.to_vec();
    let allowed: BTreeMap<&str, Vec<&str>> = list(want, "victims")
        .iter()
        .map(|it| (text(&it["pod"]), list(it, "equals").iter().map(text).collect()))
        .collect();
    for (victim, equals) in &allowed {
        let exact = left.iter().position(|it| it == victim);
        match exact.or_else(|| left.iter().position(|it| equals.contains(&it.as_str()))) {
            Some(at) => drop(left.remove(at)),
            None => return false,
        }
    }
    left.is_empty()
}

fn difference(pod: &Value, want: Option<&Value>, got: &Value) -> Option<String> {
    let nominated = got["outcome"] == "nominated";
    let Some(want) = want else {
        return nominated.then(|| format!("nominated {}, yet nothing was preempted", got["nominated"]));
    };
    let node = text(&want["node"]);
    if !nominated || !list(&got["nominated"], "oneOf").iter().any(|it| text(it) == node) {
        return Some(format!("want {node}, got {} {}", got["outcome"], got["nominated"]));
    }
    let candidate = list(got, "candidates").iter().find(|it| text(&it["node"]) == node).unwrap();
    let victims: Vec<String> = list(candidate, "victims").iter().map(|it| text(&it["pod"]).to_owned()).collect();
    if !same_victims(want, &victims) {
        return Some(format!("victims: want {}, got {victims:?}", want["victims"]));
    }
    let message = list(pod, "failedScheduling").first().map_or("", text);
    let expected = text(&got["message"]).trim_end_matches('.');
    (!message.starts_with(expected)).then(|| format!("message: want {message:?}, got {expected:?}"))
}

fn check(input: &dyn Fn(&Path) -> Option<std::path::PathBuf>) {
    let scratch = Scratch::new(&format!("live-{:?}", std::thread::current().id()));
    unpack("live.tar.gz", &scratch.0);
    let mut folders: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for folder in folders.iter().filter(|it| it.is_dir()) {
        let truth: Value = serde_json::from_slice(&fs::read(folder.join("truth.json")).unwrap()).unwrap();
        let (Some((pod, want)), Some(path)) = (first_decision(&truth), input(folder)) else { continue };
        asked += 1;
        let release = text(&truth["release"]).trim_start_matches('v');
        let problem = match explain(release, "", text(&pod["pod"]), &path) {
            Ok(got) => difference(pod, want, &got),
            Err(said) => Some(said),
        };
        wrong.extend(problem.map(|it| format!("{} {}: {it}", folder.display(), pod["pod"])));
    }
    assert!(asked > 0, "no recording was found");
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
}

fn existing(path: std::path::PathBuf) -> Option<std::path::PathBuf> {
    path.exists().then_some(path)
}

#[test]
fn the_first_decision_of_each_recording_is_the_answer() {
    check(&|folder| existing(folder.join("before")));
}

#[test]
fn one_file_of_all_kinds_answers_as_one_file_each() {
    check(&|folder| existing(folder.join("before/all.json")));
}
