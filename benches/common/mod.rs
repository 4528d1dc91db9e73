//! What several benchmarks print with.

#![allow(dead_code, clippy::allow_attributes, reason = "each benchmark uses a part of it")]
#![allow(clippy::expect_used, reason = "a benchmark may panic")]

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many times `b` is in `a`.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}

/// Milliseconds, for people.
pub(crate) fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// How long a program runs that has to succeed.
pub(crate) fn took(command: &mut Command) -> Duration {
    let begin = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("the program runs").success(), "{command:?} failed");
    begin.elapsed()
}

/// The first pending pods, so many at most; this brings the dump's pages in as well.
pub(crate) fn pending(dump: &Path, most: usize) -> Vec<String> {
    let arguments: [OsString; 4] = ["explain".into(), "-o".into(), "ndjson".into(), dump.into()];
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().expect("the program runs");
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let pods = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    pods.filter_map(|line| Some(line["pod"].as_str()?.to_owned())).take(most).collect()
}
