//! The second question about a dump, from an index, beside the same question without one, in one run:
//! `cargo bench --bench index -- cluster.json`.
//!
//! The whole program is timed, as a shell sees it. The ratio is what counts: seconds are the machine's. Without a file a
//! small dump is made up.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::expect_used, reason = "a benchmark may panic")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 5;

fn main() {
    let folder = std::env::temp_dir().join(format!("preempt-audit-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let given = std::env::args_os().skip(1).find(|it| !it.to_string_lossy().starts_with("--"));
    let dump = given.map_or_else(|| made_up(&folder), PathBuf::from);
    let index = folder.join("index");
    let question = ask(&dump, None);
    println!("{}, {:.1} MB: explain {}", dump.display(), mb(&dump), question.pod);

    let (mut without, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        without.push(question.time(&dump, None));
        let _ = std::fs::remove_file(&index);
        first.push(question.time(&dump, Some(&index)));
        second.push(question.time(&dump, Some(&index)));
    }
    let best = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
    let (without, first, second) = (best(&without), best(&first), best(&second));
    println!("without an index:         {:.3} s", without.as_secs_f64());
    println!("first, index written:     {:.3} s, index of {:.1} MB", first.as_secs_f64(), mb(&index));
    println!("second, index read:       {:.3} s", second.as_secs_f64());
    println!("ratio, second to without: 1 to {:.1}", without.as_secs_f64() / second.as_secs_f64());
    let _ = std::fs::remove_dir_all(&folder);
}

/// A question, and what is answered.
struct Asked {
    pod: String,
    answer: Vec<u8>,
}

/// Asks about the first pending pod, which brings the dump's pages in as well.
fn ask(dump: &Path, index: Option<&Path>) -> Asked {
    let all = explain(dump, index, &["-o", "ndjson", "--shard", "0/1000000"]);
    let line: serde_json::Value =
        serde_json::from_slice(all.split(|byte| *byte == b'\n').next().unwrap_or_default()).expect("a line of JSON");
    let pod = line["pod"].as_str().expect("the dump has a pending pod").to_owned();
    let answer = explain(dump, index, &["--pod", &pod]);
    Asked { pod, answer }
}

impl Asked {
    fn time(&self, dump: &Path, index: Option<&Path>) -> Duration {
        let begin = Instant::now();
        let answer = explain(dump, index, &["--pod", &self.pod]);
        let took = begin.elapsed();
        assert!(answer == self.answer, "the answer is another");
        took
    }
}

fn explain(dump: &Path, index: Option<&Path>, more: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    command.arg("explain").args(more).arg(dump).stdin(Stdio::null()).stderr(Stdio::null());
    if let Some(index) = index {
        command.arg("--index").arg(index);
    }
    command.output().expect("the program runs").stdout
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mb(path: &Path) -> f64 {
    path.metadata().map_or(0, |it| it.len()) as f64 / 1e6
}

fn made_up(folder: &Path) -> PathBuf {
    let node = |number: usize| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{number}"}},"status":{{"allocatable":{{"cpu":"4","memory":"16Gi","pods":"110"}}}}}}"#
        )
    };
    let pod = |number: usize| {
        let place = if number == 0 { String::new() } else { format!(r#","nodeName":"node-{}""#, number % 500) };
        let priority = if number == 0 { 1000 } else { 0 };
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{number}","namespace":"shop","labels":{{"app":"app-{}"}}}},"spec":{{"priority":{priority}{place},"containers":[{{"name":"main","resources":{{"requests":{{"cpu":"130m","memory":"200Mi"}}}}}}]}},"status":{{"phase":"{}"}}}}"#,
            number % 50,
            if number == 0 { "Pending" } else { "Running" }
        )
    };
    let items: Vec<String> = (0..500).map(node).chain((0..15_000).map(pod)).collect();
    let dump = folder.join("made-up.json");
    let text = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
    std::fs::write(&dump, text).expect("the folder is there");
    // A file that was written just now is known by its bytes alone, which takes longer.
    std::thread::sleep(Duration::from_secs(3));
    dump
}
