//! The command line: which pods and files are meant, what goes where, how it ends.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, run};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const PDB_PROTECTS: &str = "fixtures/pdb-protects";
const NOTHING_HELPS: &str = "fixtures/nothing-helps/cluster.yaml";

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", err(&output)))
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    command.env_remove("PREEMPT_AUDIT_DUMP").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn piped(mut command: Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_pod_may_be_named_in_every_form_that_kubectl_knows() {
    let forms: [&[&str]; 6] = [
        &["--pod", "shop/checkout-1"],
        &["--pod", "checkout-1"],
        &["-n", "shop", "-p", "checkout-1"],
        &["-n", "shop", "--pod", "pod/checkout-1"],
        &["--pod", "pod/shop/checkout-1"],
        &["--pod", "a9b6975d-f84f-44a0-8e3b-f4e89ccd27bf"],
    ];
    for form in forms {
        let mut args = vec!["explain", "-o", "json"];
        args.extend(form);
        args.push(PDB_PROTECTS);
        let report = json(&args);
        assert_eq!(report["pods"][0]["pod"], "shop/checkout-1", "{form:?}");
        assert_eq!(report["pods"][0]["outcome"], "nominated", "{form:?}");
    }
}

#[test]
fn a_pod_that_is_not_there_is_answered_with_names_like_it() {
    let output = run(&["explain", "-o", "json", "--pod", "shop/chekout-1", "--pod", "shop/checkout-1", PDB_PROTECTS]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["pods"][0]["outcome"], "not-found");
    assert_eq!(report["pods"][0]["suggestions"][0], "shop/checkout-1");
    assert_eq!(report["pods"][1]["outcome"], "nominated", "the others are answered");
    assert_eq!(code(&output), 2);
}

#[test]
fn without_a_pod_every_pending_one_is_told() {
    let report = json(&["explain", "-o", "json", "--all-pending", "fixtures/few-candidates"]);
    let pods: Vec<&str> = report["pods"].as_array().unwrap().iter().map(|it| it["pod"].as_str().unwrap()).collect();
    assert_eq!(pods, ["shop/urgent"]);
}

#[test]
fn a_pipe_that_gives_nothing_is_told() {
    let mut command = program();
    command.arg("explain").env("PREEMPT_AUDIT_DUMP", NOTHING_HELPS);
    let told = err(&piped(command, b""));
    assert!(told.contains(&format!("note: standard input gave nothing: `{NOTHING_HELPS}` is read instead")), "{told}");
}

#[test]
fn the_dump_is_a_path_or_the_pipe_or_the_variable_or_the_folder() {
    let text = fs::read(NOTHING_HELPS).unwrap();
    let verdict = "ml/train-7 (priority 1000) stays pending";
    let explain = |configure: &dyn Fn(&mut Command), input: &[u8]| {
        let mut command = program();
        command.arg("explain");
        configure(&mut command);
        out(&piped(command, input))
    };
    let variable = |it: &mut Command| {
        it.env("PREEMPT_AUDIT_DUMP", fs::canonicalize(NOTHING_HELPS).unwrap());
    };
    assert!(
        explain(
            &|it| {
                it.arg("-");
            },
            &text
        )
        .starts_with(verdict),
        "-"
    );
    assert!(explain(&|_| (), &text).starts_with(verdict), "the pipe");
    assert!(explain(&variable, b"").starts_with(verdict), "the variable, where the pipe is empty");
    assert!(
        explain(
            &|it| {
                it.current_dir("fixtures/nothing-helps");
            },
            b""
        )
        .starts_with(verdict),
        "the folder"
    );
}

#[test]
fn nothing_readable_is_an_error_and_says_what_to_give() {
    let scratch = Scratch::new("cli-nothing");
    for path in [scratch.path("none.json"), scratch.0.clone()] {
        let output = run(&["explain", path.to_str().unwrap()]);
        assert_eq!(code(&output), 2);
        assert!(out(&output).is_empty(), "{}", out(&output));
        assert!(err(&output).contains("kubectl get"), "{}", err(&output));
    }
}

#[test]
fn the_exit_status_says_what_it_is_asked_to_say() {
    let status = |args: &[&str]| code(&run(&[&["explain"], args].concat()));
    let (stays, preempts, lacking) = (NOTHING_HELPS, PDB_PROTECTS, "fixtures/volume-waits");
    assert_eq!(status(&[stays]), 0);
    assert_eq!(status(&["--fail-on", "unplaced", stays]), 1);
    assert_eq!(status(&["--fail-on", "unplaced", "--exit-zero", stays]), 0);
    assert_eq!(status(&["--fail-on", "unplaced", preempts]), 0);
    assert_eq!(status(&["--fail-on", "preemption,uncertain", preempts]), 1);
    assert_eq!(status(&["--fail-on", "pdb-violation", preempts]), 0);
    assert_eq!(status(&["--fail-on", "pdb-violation", "fixtures/hidden-victim"]), 1);
    assert_eq!(status(&[lacking]), 0);
    assert_eq!(status(&["--strict", lacking]), 3);
    assert_eq!(status(&["--strict", preempts]), 0);
    assert_eq!(status(&["--no-such-flag"]), 2);
    assert_eq!(status(&["--node", "worker-9", preempts]), 2);
}

#[test]
fn a_release_is_read_as_people_write_it() {
    let version =
        |text: &str| json(&["explain", "-o", "json", "--kube-version", text, NOTHING_HELPS])["scheduler"].clone();
    assert_eq!(version("1.31.3")["version"], "1.31.3");
    assert_eq!(version("v1.31.3-gke.100")["version"], "1.31.3");
    assert_eq!(version("1.31.3")["versionFrom"], "flag");
    let from_dump = json(&["explain", "-o", "json", PDB_PROTECTS])["scheduler"].clone();
    assert_eq!((&from_dump["version"], &from_dump["versionFrom"]), (&"1.37.2".into(), &"dump".into()));
    let output = run(&["explain", "--kube-version", "4.16", NOTHING_HELPS]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("1.29"), "{}", err(&output));
}

#[test]
fn the_scheduler_s_own_pod_tells_its_release_and_its_gates() {
    let scratch = Scratch::new("cli-scheduler-pod");
    let path = scratch.path("dump.json");
    let scheduler = serde_json::json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "kube-system", "name": "kube-scheduler-cp"},
        "spec": {"nodeName": "cp", "containers": [{"name": "kube-scheduler",
            "image": "registry.k8s.io/kube-scheduler:v1.35.2",
            "command": ["kube-scheduler", "--feature-gates=TaintTolerationComparisonOperators=true", "--config=/etc/s.yaml"]}]},
        "status": {"phase": "Running"}});
    fs::write(&path, scheduler.to_string()).unwrap();
    let dump = path.to_str().unwrap();
    let told = json(&["explain", "-o", "json", dump])["scheduler"].clone();
    assert_eq!(told["version"], "1.35.2");
    let assumptions = told["assumptions"].to_string();
    assert!(assumptions.contains("TaintTolerationComparisonOperators=true"), "{assumptions}");
    assert!(assumptions.contains("/etc/s.yaml"), "{assumptions}");
    let asked = json(&["explain", "-o", "json", "--kube-version", "1.30", dump])["scheduler"].clone();
    assert_eq!(asked["version"], "1.30.14");
}

#[test]
fn where_patches_differ_both_answers_are_given() {
    let report = json(&["explain", "-o", "json", "--kube-version", "1.31", "fixtures/hidden-victim"]);
    let pod = &report["pods"][0];
    assert_eq!(pod["nominated"]["node"], "node-2");
    assert_eq!(pod["otherPatch"]["version"], "1.31.0");
    assert_eq!(pod["otherPatch"]["decision"]["nodes"][0], "node-1");
    assert_eq!(pod["certainty"]["level"], "one-of");
    let exact = json(&["explain", "-o", "json", "--kube-version", "1.31.2", "fixtures/hidden-victim"]);
    assert_eq!(exact["pods"][0]["nominated"]["node"], "node-1");
    assert_eq!(exact["pods"][0]["certainty"]["level"], "certain");
}

#[test]
fn a_comparison_names_the_behaviour_that_makes_the_difference() {
    let report = json(&["explain", "-o", "json", "--compare", "1.31.2,1.34", "fixtures/hidden-victim"]);
    let pod = &report["pods"][0];
    assert_eq!(pod["same"], false);
    assert_eq!(pod["answers"][0]["decision"]["victims"], serde_json::json!(["shop/billing", "shop/report"]));
    assert_eq!(pod["answers"][1]["decision"]["victims"], serde_json::json!(["shop/mail"]));
    let because = pod["answers"][1]["because"].as_array().unwrap();
    let fields: Vec<&str> = because.iter().map(|it| it["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["preemption.victim_order"]);
    assert_eq!(json(&["explain", "-o", "json", "--compare-all", NOTHING_HELPS])["pods"][0]["same"], true);
}

#[test]
fn a_comparison_says_what_the_dump_leaves_open() {
    let holes = ["explain", "--compare", "1.34,1.37", "fixtures/volume-waits"];
    let output = run(&holes);
    assert_eq!(code(&output), 0);
    assert!(
        out(&output).contains("undetermined: the dump lacks something; see --kube-version 1.34"),
        "{}",
        out(&output)
    );
    let report = json(&[&holes[..], &["-o", "json"]].concat());
    assert_eq!(report["pods"][0]["answers"][0]["certainty"], "undetermined");
    assert_eq!(code(&run(&[&holes[..], &["--strict"]].concat())), 3);
    let whole = ["explain", "--compare", "1.34,1.37", PDB_PROTECTS];
    assert!(!out(&run(&whole)).contains("undetermined"));
    assert_eq!(code(&run(&[&whole[..], &["--strict"]].concat())), 0);
    assert_eq!(code(&run(&[&whole[..], &["--fail-on", "preemption"]].concat())), 1);
    let other = run(&["explain", "--compare", "1.17,1.37", PDB_PROTECTS]);
    assert!(err(&other).contains("1.17 is older than the oldest known release"), "{}", err(&other));
    assert!(err(&run(&whole)).is_empty());
}

#[test]
fn that_nothing_is_pending_is_said_only_where_the_dump_shows_it() {
    let nodes = format!("{PDB_PROTECTS}/nodes.json");
    for asked in [&["explain"][..], &["explain", "--compare", "1.34,1.37"]] {
        let output = run(&[asked, &[&nodes]].concat());
        assert!(out(&output).starts_with("No pod was read: whether any is pending is not known."), "{}", out(&output));
        assert_eq!(code(&output), 0);
        assert_eq!(code(&run(&[asked, &["--strict", &nodes]].concat())), 3);
    }
    let line: Value = json(&["explain", "-o", "ndjson", "--strict", &nodes]);
    assert_eq!((&line["pod"], &line["exitStatus"]), (&Value::Null, &Value::from(3)));
    let named = run(&["explain", "--pod", "shop/checkout-1", &nodes]);
    assert!(out(&named).starts_with("shop/checkout-1 is not in the dump, which holds no pods."), "{}", out(&named));
}

#[test]
fn a_configuration_and_gates_change_the_answer() {
    let config = ["explain", "-o", "json", "--scheduler-config", "fixtures/few-candidates/scheduler.yaml"];
    let sampled = json(&[&config[..], &["fixtures/few-candidates"]].concat());
    assert_eq!(sampled["pods"][0]["nominated"]["outcomes"].as_array().unwrap().len(), 5);
    let whole = json(&["explain", "-o", "json", "fixtures/few-candidates"]);
    assert_eq!(whole["pods"][0]["nominated"]["outcomes"].as_array().unwrap().len(), 1);
    let refused = run(&["explain", "--feature-gates", "PodLevelResources=maybe", NOTHING_HELPS]);
    assert_eq!(code(&refused), 2);
    assert!(err(&refused).contains("PodLevelResources"), "{}", err(&refused));
}

#[test]
fn the_same_answer_with_one_thread_and_with_many() {
    let answer = |jobs: &str| out(&run(&["explain", "-o", "json", "--jobs", jobs, "fixtures/new-default-class"]));
    assert_eq!(answer("1"), answer("7"));
}

/// A dump in which more pods wait than are answered at once, no two of them alike.
fn many_pending(path: &std::path::Path) {
    let pod = |name: String, priority: usize, cpu: usize, node: Option<String>| {
        serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": name},
            "spec": {"priority": priority, "nodeName": node, "schedulerName": "default-scheduler",
                     "containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{cpu}m")}}}]},
            "status": {"phase": if node.is_some() { "Running" } else { "Pending" }}})
    };
    let node = |at: usize| {
        serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}")},
            "status": {"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "10"}}})
    };
    let mut items: Vec<Value> = (0..20).map(node).collect();
    items.extend((0..80).map(|at| pod(format!("on-{at}"), at % 7, 900 + at, Some(format!("n{}", at % 20)))));
    items.extend((0..50).map(|at| pod(format!("want-{at}"), 3 + at, 1000 + 10 * at, None)));
    fs::write(path, serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
}

#[test]
fn many_pods_are_answered_in_order_by_any_number_of_threads() {
    let scratch = Scratch::new("cli-many");
    let path = scratch.path("dump.json");
    many_pending(&path);
    let path = path.to_str().unwrap();
    let answer = |jobs: &str| out(&run(&["explain", "-o", "json", "--jobs", jobs, path]));
    let one = answer("1");
    for jobs in ["2", "3", "7"] {
        assert!(answer(jobs) == one, "{jobs} threads");
    }
    let report: Value = serde_json::from_str(&one).unwrap();
    let pods = report["pods"].as_array().unwrap();
    assert_eq!(pods.len(), 50);
    let names: Vec<&str> = pods.iter().map(|it| it["pod"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for pod in [&pods[0], &pods[30], &pods[49]] {
        let alone = json(&["explain", "-o", "json", "--pod", pod["pod"].as_str().unwrap(), path]);
        assert_eq!(&alone["pods"][0], pod);
    }
}

#[test]
fn a_node_s_story_tells_every_step() {
    let report = json(&["explain", "-o", "json", "--node", "worker-1", PDB_PROTECTS]);
    let steps = &report["pods"][0]["nodeSteps"];
    assert_eq!(steps["removed"].as_array().unwrap().len(), 2);
    let stays: Vec<bool> =
        steps["putBack"].as_array().unwrap().iter().map(|it| it["stays"].as_bool().unwrap()).collect();
    assert_eq!(stays, [true, false]);
    let text = out(&run(&["explain", "--node", "worker-1", PDB_PROTECTS]));
    assert!(text.contains("cpu 1900m others + 1900m its own + 1500m asked > 4"), "{text}");
}

#[test]
fn the_victims_of_one_node_that_a_draw_decides_are_told_as_such() {
    let scratch = Scratch::new("cli-victims");
    let path = scratch.path("dump.json");
    let pod = |name: &str, priority: i32, node: Option<&str>| {
        let start = node.map(|_| "2026-01-01T00:00:00Z");
        serde_json::json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "shop", "name": name, "labels": {"app": name, "tier": if name == "c" { "x" } else { "y" }}},
            "spec": {"priority": priority, "nodeName": node, "schedulerName": "default-scheduler",
                     "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": if node.is_some() { "Running" } else { "Pending" }, "startTime": start}})
    };
    let budget = |name: &str, labels: Value, allowed: i32| {
        serde_json::json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"namespace": "shop", "name": name}, "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed}})
    };
    let dump = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
         "status": {"allocatable": {"cpu": "3", "memory": "1Gi", "pods": "10"}}},
        pod("a", 10, Some("n")), pod("c", 5, Some("n")), pod("b", 1, Some("n")), pod("want", 100, None),
        budget("one", serde_json::json!({"app": "a"}), 0), budget("both", serde_json::json!({"tier": "y"}), 1)]});
    fs::write(&path, dump.to_string()).unwrap();
    // Where `one` is listed first, it ends the walk of a's budgets, and `both` is left to b.
    let path = path.to_str().unwrap();
    let text = out(&run(&["explain", "--kube-version", "1.37.2", "--pod", "shop/want", path]));
    assert!(text.starts_with("shop/want (priority 100) preempts on n, one of 2 sets of victims.\n"), "{text}");
    assert!(text.contains("  Or these instead (50 %): shop/"), "{text}");
    let all = json(&["explain", "--kube-version", "1.37.2", "-o", "ndjson", path]);
    assert_eq!(all["nominatedPossible"], serde_json::json!(["n"]));
}

#[test]
fn names_from_a_dump_cannot_reach_the_terminal_raw() {
    let scratch = Scratch::new("cli-escape");
    let path = scratch.path("dump.json");
    let dump = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n\u{1b}[2J\u{202e}"},
         "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": "p\u{1b}]0;\u{2066}x"},
         "spec": {"containers": [{"name": "c\u{7}", "resources": {"requests": {"cpu": "2"}}}]},
         "status": {"phase": "Pending"}}]});
    fs::write(&path, dump.to_string()).unwrap();
    for args in
        [&["explain"][..], &["explain", "--wide"], &["explain", "-o", "json"], &["explain", "--pod", "a/p\u{1b}"]]
    {
        let output = run(&[args, &[path.to_str().unwrap()]].concat());
        for text in [out(&output), err(&output)] {
            let raw =
                |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!text.contains(raw), "{args:?}: {text:?}");
        }
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let painted = |configure: &dyn Fn(&mut Command)| {
        let mut command = program();
        command.args(["explain", NOTHING_HELPS]);
        configure(&mut command);
        out(&command.stdin(Stdio::null()).output().unwrap()).contains('\u{1b}')
    };
    assert!(!painted(&|_| ()));
    assert!(painted(&|it| {
        it.args(["--color", "always"]);
    }));
    assert!(painted(&|it| {
        it.env("CLICOLOR_FORCE", "1");
    }));
    assert!(!painted(&|it| {
        it.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    }));
    assert!(!painted(&|it| {
        it.args(["--color", "never"]).env("CLICOLOR_FORCE", "1");
    }));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::new("cli-gone");
    let path = scratch.path("dump.json");
    many_pending(&path);
    for (dump, jobs) in [("fixtures/new-default-class", "7"), (path.to_str().unwrap(), "2")] {
        let mut child = program()
            .args(["explain", "-o", "json", "--jobs", jobs, dump])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0);
        assert_eq!(err(&output), "");
    }
}

#[cfg(unix)]
#[test]
fn as_a_plugin_it_goes_by_kubectl_s_name() {
    use std::os::unix::process::CommandExt;
    let mut command = program();
    let help = out(&command.arg0("kubectl-preempt_audit").args(["explain", "--help"]).output().unwrap());
    assert!(help.contains("Usage: kubectl preempt-audit explain"), "{help}");
}

#[test]
fn what_the_program_knows_by_heart_is_printed() {
    assert!(out(&run(&["explain-code", "pa0107"])).starts_with("PA0107 (warning): truncated list"));
    assert_eq!(code(&run(&["explain-code", "PA9999"])), 2);
    assert!(out(&run(&["completions", "zsh"])).contains("#compdef preempt-audit"));
    let sided = out(&run(&["versions", "1.31.2,1.34"]));
    assert!(sided.contains("preemption.victim_order"), "{sided}");
    let all = json(&["versions", "-o", "json"]);
    assert!(all["fields"].as_array().unwrap().iter().any(|it| it["name"] == "frame.filter_run"));
}

/// Holds a value against the part of JSON Schema that the program's schemas use.
fn violations(schema: &Value, root: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let target =
            root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} is not in the schema"));
        return violations(target, root, value, place, found);
    }
    for variants in [&schema["anyOf"], &schema["oneOf"]].into_iter().filter_map(Value::as_array) {
        let fits = |it: &&Value| {
            let mut none = Vec::new();
            violations(it, root, value, place, &mut none);
            none.is_empty()
        };
        if variants.iter().find(fits).is_none() {
            found.push(format!("{place}: fits no variant: {value}"));
        }
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    };
    let right_type = match &schema["type"] {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|it| is(it.as_str().unwrap())),
        _ => true,
    };
    if !right_type {
        return found.push(format!("{place}: want {}, got {value}", schema["type"]));
    }
    let constant = schema.get("const").is_none_or(|it| it == value);
    let listed = schema["enum"].as_array().is_none_or(|all| all.contains(value));
    if !constant || !listed {
        found.push(format!("{place}: {value} is not allowed"));
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                found.push(format!("{place}: {name} is missing"));
            }
        }
        for (name, inner) in object {
            let place = format!("{place}.{name}");
            if let Some(property) = schema["properties"].get(name) {
                violations(property, root, inner, &place, found);
            } else if schema["additionalProperties"].is_object() {
                violations(&schema["additionalProperties"], root, inner, &place, found);
            } else if schema.get("properties").is_some() {
                found.push(format!("{place}: not in the schema"));
            }
        }
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            violations(&schema["items"], root, item, &format!("{place}[{at}]"), found);
        }
    }
}

#[test]
fn every_report_keeps_to_its_schema() {
    let mut fixtures: Vec<String> = fs::read_dir("fixtures")
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.is_dir())
        .map(|it| it.to_str().unwrap().to_owned())
        .collect();
    fixtures.sort();
    let explain = json(&["schema", "explain"]);
    for fixture in &fixtures {
        let report = json(&["explain", "-o", "json", "--all-pending", fixture]);
        let mut found = Vec::new();
        violations(&explain, &explain, &report, "$", &mut found);
        assert!(found.is_empty(), "{fixture}: {found:#?}");
    }
    for (kind, args) in [
        ("compare", &["explain", "-o", "json", "--compare", "1.18,1.37", "fixtures/hidden-victim"][..]),
        ("versions", &["versions", "-o", "json"]),
        ("inspect", &["inspect", "-o", "json", "fixtures/few-candidates"]),
        ("inspect", &["inspect", "-o", "json", "--pod", "nobody", "--pod", "db/postgres-0", "fixtures/volume-waits"]),
        ("explain", &["explain", "-o", "json", "--pod", "nobody", "--node", "worker-1", PDB_PROTECTS]),
    ] {
        let schema = json(&["schema", kind]);
        let mut found = Vec::new();
        violations(&schema, &schema, &json(args), "$", &mut found);
        assert!(found.is_empty(), "{kind}: {found:#?}");
    }
}

#[test]
fn every_line_keeps_to_its_schema() {
    let scratch = Scratch::new("lines");
    let problems = scratch.path("problems.ndjson");
    let cut = scratch.path("cut.json");
    fs::write(&cut, "{\"kind\": \"Pod\", \"apiVersion\": \"v1\",").unwrap();
    let cut = cut.to_str().unwrap();
    let args = ["explain", "-o", "ndjson", "--each", "--problems", problems.to_str().unwrap()];
    let output = run(&[&args[..], &[cut, "fixtures/tie", "fixtures/fits", "fixtures/volume-waits", "gone"]].concat());
    let problems = fs::read_to_string(&problems).unwrap();
    for (kind, lines, least) in [("pod-line", out(&output), 5), ("problem-line", problems, 2)] {
        let schema = json(&["schema", kind]);
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(schema["required"].as_array().unwrap().len(), properties.len(), "{kind}: every key is always there");
        assert!(lines.lines().count() >= least, "{lines}");
        for line in lines.lines() {
            let mut found = Vec::new();
            violations(&schema, &schema, &serde_json::from_str(line).unwrap(), "$", &mut found);
            assert!(found.is_empty(), "{line}: {found:#?}");
        }
    }
}

#[test]
fn an_extender_leaves_the_pods_it_cares_for_undetermined() {
    let scratch = common::Scratch::new("extender");
    let answer = |managed: &str| {
        let config = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             extenders:\n- urlPrefix: http://x\n  filterVerb: filter\n{managed}"
        );
        let path = scratch.path("config.yaml");
        std::fs::write(&path, config).unwrap();
        let args =
            ["explain", "-o", "json", "--scheduler-config", path.to_str().unwrap(), "--all-pending", "fixtures/fits"];
        let report: serde_json::Value = serde_json::from_slice(&common::run(&args).stdout).unwrap();
        report["pods"][0]["certainty"]["level"].clone()
    };
    assert_eq!(answer(""), "undetermined");
    assert_eq!(answer("  managedResources:\n  - name: example.com/gpu\n"), "certain");
}

#[test]
fn what_of_a_scheduler_is_not_computed_is_a_problem_with_a_code() {
    let output = run(&["explain", "--feature-gates", "NoSuchGate=true", "-o", "json", NOTHING_HELPS]);
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("PA0304") && told.contains("NoSuchGate"), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["problems"][0]["code"], "PA0304");
    let config = Scratch::new("unmodelled-config");
    let yaml = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: \
        default-scheduler\n  plugins:\n    filter:\n      enabled:\n      - name: OurOwn\n";
    std::fs::write(config.path("s.yaml"), yaml).unwrap();
    let path = config.path("s.yaml").display().to_string();
    for command in ["explain", "inspect"] {
        let told = String::from_utf8(run(&[command, "--scheduler-config", &path, NOTHING_HELPS]).stderr).unwrap();
        assert!(told.contains("PA0302") && told.contains("s.yaml") && told.contains("OurOwn"), "{command}: {told}");
    }
}

#[test]
fn an_input_of_other_kinds_says_what_it_holds() {
    let scratch = Scratch::new("cli-others");
    let path = scratch.path("all.json");
    fs::write(&path, "{\"log\":\"x\"}\n{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{}}\n").unwrap();
    let output = run(&["explain", path.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    let words = err(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("other kinds") && words.contains("1 of v1 ConfigMap"), "{words}");
}
