//! The program beside the real scheduler, in one run, as a shell sees them: the dump and one pod, and each further pod.
//!
//! `PREEMPT_AUDIT_SCHEDULER=./scheduler cargo bench --bench scheduler -- cluster.json`, where the variable names a program that
//! links kube-scheduler, reads a dump and decides: `scheduler -dump FILE -pod NAMESPACE/NAME [-pod …]`. It needs Go to be built,
//! which is why it is no part of this project; without the variable nothing is compared.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod common;

use common::{ms, pending, ratio, took};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Pods asked for together.
const PODS: usize = 11;
const RUNS: usize = 3;

fn main() {
    let given = std::env::args_os().skip(1).find(|it| !it.to_string_lossy().starts_with("--")).map(PathBuf::from);
    let (Some(scheduler), Some(dump)) = (std::env::var_os("PREEMPT_AUDIT_SCHEDULER"), given) else {
        println!("nothing to compare with: name a scheduler in PREEMPT_AUDIT_SCHEDULER, and a dump");
        return;
    };
    let pods = pending(&dump, PODS);
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

fn asking<'p>(flag: &'p str, pods: &'p [String]) -> impl Iterator<Item = &'p OsStr> {
    pods.iter().flat_map(move |pod| [OsStr::new(flag), OsStr::new(pod)])
}
