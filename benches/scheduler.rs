//! The program beside the real scheduler, in one run, as a shell sees them: the dump and one pod, and each further pod.
//!
//! `PREEMPT_AUDIT_SCHEDULER=./scheduler cargo bench --bench scheduler -- cluster.json`, where the variable names a program that
//! links kube-scheduler, reads a dump and decides: `scheduler -dump FILE -pod NAMESPACE/NAME [-pod …]`. It needs Go to be built,
//! which is why it is no part of this project; without the variable nothing is compared.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::expect_used, reason = "a benchmark may panic")]

mod common;

use common::{ms, ratio};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Pods asked for together.
const PODS: usize = 11;
const RUNS: usize = 3;

fn main() {
    let given = std::env::args_os().skip(1).find(|it| !it.to_string_lossy().starts_with("--")).map(PathBuf::from);
    let (Some(scheduler), Some(dump)) = (std::env::var_os("PREEMPT_AUDIT_SCHEDULER"), given) else {
        println!("nothing to compare with: name a scheduler in PREEMPT_AUDIT_SCHEDULER, and a dump");
        return;
    };
    let pods = pending(&dump);
    assert!(pods.len() > 1, "two pending pods are needed");
    let ours = |pods: &[String]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
        command.args(["explain", "-o", "json"]).arg(&dump);
        took(command.args(asking("--pod", pods)))
    };
    let theirs = |pods: &[String]| took(Command::new(&scheduler).arg("-dump").arg(&dump).args(asking("-pod", pods)));
    let both: [(&str, Times); 2] = [("this program", measure(&pods, ours)), ("the scheduler", measure(&pods, theirs))];
    for (who, times) in &both {
        println!("{who}: dump and one pod {}, each further {}", ms(times.first), ms(times.further));
    }
    let [(_, ours), (_, theirs)] = &both;
    println!("ratio, the scheduler's to ours: {:.1} dump and one pod", ratio(theirs.first, ours.first));
    println!("ratio, the scheduler's to ours: {:.1} each further pod", ratio(theirs.further, ours.further));
}

/// Wall times.
struct Times {
    first: Duration,
    further: Duration,
}

fn measure(pods: &[String], ask: impl Fn(&[String]) -> Duration) -> Times {
    let best = |pods: &[String]| (0..RUNS).map(|_| ask(pods)).min().unwrap_or_default();
    let (first, all) = (best(&pods[..1]), best(pods));
    let others = u32::try_from(pods.len() - 1).unwrap_or(u32::MAX);
    Times { first, further: all.saturating_sub(first) / others }
}

fn took(command: &mut Command) -> Duration {
    let begin = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("the program runs").success(), "{command:?} failed");
    begin.elapsed()
}

fn asking<'p>(flag: &'p str, pods: &'p [String]) -> impl Iterator<Item = &'p OsStr> {
    pods.iter().flat_map(move |pod| [OsStr::new(flag), OsStr::new(pod)])
}

/// The first pending pods; this brings the dump's pages in as well.
fn pending(dump: &Path) -> Vec<String> {
    let arguments: [OsString; 4] = ["explain".into(), "-o".into(), "ndjson".into(), dump.into()];
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().expect("the program runs");
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let pods = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    pods.filter_map(|line| Some(line["pod"].as_str()?.to_owned())).take(PODS).collect()
}
