//! Taking a dump, with a script in kubectl's place.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Scratch;
use preempt_audit::capture::{self, CaptureError, KindState, MANIFEST, Options, Progress};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Answers as kubectl does, and writes down how it was called.
const FAKE: &str = r#"#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
context=""
if [ "$1" = "--context" ]; then context="$2"; shift 2; fi
[ "$context" = gone ] && { echo '{"clientVersion":{"gitVersion":"v1.36.0"}}'; echo 'Unable to connect to the server: dial tcp: no route to host' >&2; exit 1; }
case "$1 $2" in
"version -o") echo '{"clientVersion":{"gitVersion":"v1.36.0"},"serverVersion":{"gitVersion":"v1.34.1"}}' ;;
"config current-context") echo test ;;
"get pods") [ "$context" = empty ] && { echo 'Error from server (Forbidden): pods is forbidden' >&2; exit 1; }
  echo 'Warning: something is deprecated' >&2
  echo '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}' ;;
"get poddisruptionbudgets.policy") echo 'Error from server (Forbidden): poddisruptionbudgets.policy is forbidden' >&2; exit 1 ;;
"get deviceclasses.resource.k8s.io") echo "error: the server doesn't have a resource type \"deviceclasses\"" >&2; exit 1 ;;
"get services") [ "$context" = empty ] && exit 1; echo 'This cluster belongs to team x.'; echo '{"apiVersion":"v1","kind":"List","items":[]}' ;;
"get nodes") [ "$context" = empty ] && exit 1; printf '{"apiVersion":"v1","kind":"List","items":[{"a' ;;
"get "*) [ "$context" = empty ] && exit 1; echo '{"apiVersion":"v1","kind":"List","items":[]}' ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
"#;

fn options(scratch: &Scratch, arguments: &[&str]) -> Options {
    let kubectl = scratch.path("kubectl");
    fs::write(&kubectl, FAKE).unwrap();
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
    Options {
        folder: scratch.path("dump"),
        kubectl: kubectl.into_os_string(),
        arguments: arguments.iter().map(Into::into).collect(),
        chunk_size: 250,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_dump_says_what_came_of_each_kind() {
    let scratch = Scratch::new("capture");
    let options = options(&scratch, &["--context", "prod"]);
    let mut seen: Vec<Progress> = Vec::new();
    let manifest = capture::capture(&options, &mut |progress| seen.push(progress)).unwrap();

    let state = |kind: &str| {
        let record = manifest.kinds.iter().find(|record| record.kind == kind).unwrap();
        (record.state, record.objects, record.error.as_deref())
    };
    assert_eq!(state("Pod"), (KindState::Read, Some(2), None));
    assert_eq!(state("Service"), (KindState::Read, Some(0), None));
    assert_eq!(state("DeviceClass"), (KindState::NotServed, None, None));
    let forbidden = "Error from server (Forbidden): poddisruptionbudgets.policy is forbidden";
    assert_eq!(state("PodDisruptionBudget"), (KindState::Failed, None, Some(forbidden)));
    let (failed, _, error) = state("Node");
    assert_eq!(failed, KindState::Failed);
    assert!(error.unwrap().contains("not a list"), "{error:?}");
    assert_eq!(manifest.server_version.as_deref(), Some("v1.34.1"));
    assert_eq!(manifest.context.as_deref(), Some("prod"));
    assert_eq!((manifest.objects(), manifest.failed().count()), (2, 2));

    let written: capture::Manifest = serde_json::from_slice(&fs::read(options.folder.join(MANIFEST)).unwrap()).unwrap();
    assert_eq!(written, manifest);
    let names = names(&options.folder);
    assert!(names.contains(&"pods.json".to_owned()) && names.contains(&"version.json".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("partial") || name == "nodes.json"), "{names:?}");
    assert_eq!(seen.last().map(|it| (it.at, it.of)), Some((22, 22)));
}

#[test]
fn only_reading_commands_are_run() {
    let scratch = Scratch::new("capture-calls");
    capture::capture(&options(&scratch, &[]), &mut |_| {}).unwrap();
    let calls = fs::read_to_string(scratch.path("calls")).unwrap();
    let verbs = ["version -o json", "config current-context", "get "];
    assert!(calls.lines().all(|call| verbs.iter().any(|verb| call.starts_with(verb))), "{calls}");
    assert!(calls.lines().filter(|call| call.starts_with("get ")).all(|call| call.ends_with("--chunk-size=250")));
    assert!(!calls.contains("secret"), "{calls}");
}

#[test]
fn what_keeps_a_dump_from_being_taken_is_told() {
    let scratch = Scratch::new("capture-failures");
    let taken = |arguments: &[&str], folder: &str| {
        let options = Options { folder: scratch.path(folder), ..options(&scratch, arguments) };
        capture::capture(&options, &mut |_| {})
    };
    assert!(
        matches!(taken(&["--context", "gone"], "a"), Err(CaptureError::NoCluster(text)) if text.contains("no route"))
    );
    assert!(matches!(taken(&["--context", "empty"], "b"), Err(CaptureError::NothingRead(_))));
    assert!(matches!(taken(&[], "b"), Err(CaptureError::FolderInUse(_))));
    let missing = Options { kubectl: "/no/such/kubectl".into(), folder: scratch.path("c"), ..options(&scratch, &[]) };
    assert!(matches!(capture::capture(&missing, &mut |_| {}), Err(CaptureError::NoKubectl(..))));
}

fn command(scratch: &Scratch, arguments: &[&str]) -> std::process::Output {
    let kubectl = options(scratch, &[]).kubectl.into_string().unwrap();
    let folder = scratch.path("dump");
    let mut all = vec!["capture", "-o", folder.to_str().unwrap(), "--kubectl", &kubectl];
    all.extend(arguments);
    common::run(&all)
}

#[test]
fn the_command_tells_gaps_and_what_is_next() {
    let scratch = Scratch::new("capture-command");
    let output = command(&scratch, &["--context", "prod"]);
    let (said, warned) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(said.starts_with("2 objects of 19 kinds of v1.34.1 (prod) are in "), "{said}");
    assert!(said.contains("2 could not be read") && said.contains("Next: preempt-audit explain "), "{said}");
    assert!(warned.contains("warning: poddisruptionbudgets.policy could not be read: Error from server"), "{warned}");
    // Without nodes there is little to answer.
    assert_eq!(output.status.code(), Some(2));

    let again = command(&scratch, &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8(again.stderr).unwrap().contains("holds something already"));
}
