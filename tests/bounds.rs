//! Input made to hurt: what is read of it, and the memory and time that takes, are bounded, and the program always ends by
//! itself with a word. The bounds are those that the README states.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Scratch;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Runs `explain` on a path with so much address space, which is more than the memory it can use.
fn explain_within(path: &Path, mib: u64) -> Output {
    let script = format!("ulimit -v {} && exec \"$0\" explain --jobs 2 \"$1\" </dev/null", mib * 1024);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_preempt-audit")]).arg(path).env("COLUMNS", "80");
    shell.output().unwrap()
}

/// The problem codes that were told, for a program that ended by itself.
#[track_caller]
fn told(what: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{what}: {:?} {text}", output.status);
    assert!(!text.contains("panicked") && text.len() < 10_000, "{what}: {text}");
    text
}

/// A gzip file of `head` and then `filling` again and again, `mib` MiB of it.
fn bomb(path: &Path, head: &str, filling: &str, mib: u64) {
    let mut out = GzEncoder::new(BufWriter::new(File::create(path).unwrap()), Compression::best());
    out.write_all(head.as_bytes()).unwrap();
    let block = filling.repeat(usize::try_from(MIB).unwrap() / filling.len());
    for _ in 0..mib {
        out.write_all(block.as_bytes()).unwrap();
    }
    out.finish().unwrap().flush().unwrap();
}

#[test]
fn a_compressed_bomb_unfolds_to_its_bound_and_no_more() {
    let scratch = Scratch::new("bounds-bomb");
    // Half a megabyte each: 256 MiB are always read, then 200 times the size on disk.
    for (what, head, filling) in [
        ("blanks", "{\"kind\":\"List\",\"items\":[", " "),
        ("a long string", "{\"kind\":\"List\",\"items\":[{\"a\":\"", "x"),
        ("brackets", "{\"kind\":\"List\",\"items\":", "["),
        ("empty objects", "{\"kind\":\"List\",\"items\":[", "{},"),
        ("pods", "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[", "{\"metadata\":{\"name\":\"a\"}},"),
        ("documents", "", "{\"kind\":\"Pod\"}\n"),
    ] {
        let path = scratch.path("bomb.json.gz");
        bomb(&path, head, filling, 512);
        assert!(fs::metadata(&path).unwrap().len() < 2 * MIB, "{what}");
        let text = told(what, &explain_within(&path, 4096));
        assert!(text.contains("PA0203"), "{what}: {text}");
    }
}

/// Writes a list of pods as kubectl prints it, `mib` MiB of it. Gives how many pods there are.
fn write_pods(out: &mut dyn Write, mib: usize) -> usize {
    let (mut pods, mut bytes, mut random) = (0, 0, 1_u64);
    let mut write = |text: String| {
        bytes += text.len();
        out.write_all(text.as_bytes()).unwrap();
        bytes < mib << 20
    };
    write("{\n    \"apiVersion\": \"v1\",\n    \"items\": [".to_owned());
    loop {
        // What does not compress, so that it is no bomb; and much of it, so that the pods themselves cost little.
        let mut word = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{random:016x} and the same again and again, for as long as there is room for more of it, ")
        };
        let note: String = (0..100).map(|_| word()).collect();
        let comma = if pods == 0 { "" } else { "," };
        let goes_on = write(format!(
            r#"{comma}
        {{
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {{"annotations": {{"note": "{note}"}}, "name": "p-{pods}", "namespace": "a"}},
            "spec": {{"nodeName": "n"}}
        }}"#
        ));
        pods += 1;
        if !goes_on {
            break;
        }
    }
    write(
        "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n"
            .to_owned(),
    );
    pods
}

fn compressed(path: &Path) -> GzEncoder<BufWriter<File>> {
    GzEncoder::new(BufWriter::new(File::create(path).unwrap()), Compression::fast())
}

/// What does not fit is told as damage, and what stands before it is used: so many pods are all of them.
#[track_caller]
fn holds(output: &Output, pods: usize) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.replace("\n ", "").contains(&format!("{pods} Pods")), "{text}");
}

#[test]
fn a_compressed_list_is_read_without_room_for_all_of_it() {
    let scratch = Scratch::new("bounds-stream");
    let path = scratch.path("pods.json.gz");
    let mut out = compressed(&path);
    let pods = write_pods(&mut out, 300);
    out.finish().unwrap().flush().unwrap();
    holds(&explain_within(&path, 384), pods);
}

#[test]
fn compressed_documents_are_read_without_room_for_all_of_them() {
    let scratch = Scratch::new("bounds-documents");
    let path = scratch.path("dump.json.gz");
    let mut out = compressed(&path);
    let pods = write_pods(&mut out, 150);
    for at in 0..15_000 {
        let note = format!("{at:016} again and again, and once more ").repeat(300);
        let metadata = format!(r#"{{"annotations":{{"note":"{note}"}},"name":"q-{at}","namespace":"b"}}"#);
        writeln!(out, r#"{{"apiVersion":"v1","kind":"Pod","metadata":{metadata},"spec":{{"nodeName":"n"}}}}"#).unwrap();
    }
    out.finish().unwrap().flush().unwrap();
    holds(&explain_within(&path, 384), pods + 15_000);
}

#[test]
fn long_members_of_an_archive_are_read_without_room_for_all_of_them() {
    let scratch = Scratch::new("bounds-members");
    let path = scratch.path("dump.tar.gz");
    let mut text = Vec::new();
    let pods = write_pods(&mut text, 200);
    let text = String::from_utf8(text).unwrap();
    let others = text.replace("\"namespace\": \"a\"", "\"namespace\": \"b\"");
    let mut archive = tar::Builder::new(compressed(&path));
    for (name, text) in [("dump/pods.json", text), ("dump/more.json", others)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap().flush().unwrap();
    holds(&explain_within(&path, 384), 2 * pods);
}

#[test]
fn a_long_list_from_a_pipe_is_read_without_room_for_all_of_it() {
    let script = format!("ulimit -v {} && exec \"$0\" explain --jobs 2 -", 448 * 1024);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_preempt-audit")]).env("COLUMNS", "80");
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = BufWriter::new(child.stdin.take().unwrap());
    let writing = std::thread::spawn(move || write_pods(&mut stdin, 400));
    let output = child.wait_with_output().unwrap();
    let pods = writing.join().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    holds(&output, pods);
}

#[test]
fn nesting_and_aliases_are_bounded() {
    let scratch = Scratch::new("bounds-depth");
    let level = |it: char| format!("{it}: &{it} [{}]\n", vec![format!("*{}", char::from(it as u8 - 1)); 9].join(","));
    let aliases = format!("kind: Pod\na: &a [lol,lol]\n{}", ('b'..='t').map(level).collect::<String>());
    for (name, text) in [
        ("brackets.json", "[".repeat(4_000_000)),
        ("objects.json", format!("{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{}", "{\"a\":".repeat(1_000_000))),
        ("flow.yaml", format!("kind: Pod\napiVersion: v1\nspec: {}", "[ ".repeat(1_000_000))),
        ("block.yaml", (0..3000).fold("kind: Pod\n".to_owned(), |all, depth| all + &" ".repeat(depth) + "a:\n")),
        ("aliases.yaml", aliases),
    ] {
        fs::write(scratch.path(name), text).unwrap();
        told(name, &explain_within(&scratch.path(name), 1024));
    }
}

#[test]
fn so_many_objects_are_refused() {
    let scratch = Scratch::new("bounds-objects");
    fs::write(scratch.path("a.json"), "{\"kind\":\"Pod\"}\n".repeat(4_000_001)).unwrap();
    assert!(told("documents", &explain_within(&scratch.path("a.json"), 2048)).contains("PA0215"));
}

#[test]
fn so_many_tiny_files_are_read() {
    // A million by hand: PREEMPT_AUDIT_FILES=1000000 cargo test --test bounds
    let files: usize = std::env::var("PREEMPT_AUDIT_FILES").ok().and_then(|it| it.parse().ok()).unwrap_or(20_000);
    let scratch = Scratch::new("bounds-files");
    for folder in 0..files.div_ceil(1000) {
        fs::create_dir(scratch.path(&folder.to_string())).unwrap();
        for at in 0..1000 {
            let text = format!(
                r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p-{folder}-{at}"}},"spec":{{"nodeName":"n"}}}}"#
            );
            fs::write(scratch.path(&format!("{folder}/{at}.json")), text).unwrap();
        }
    }
    let output = explain_within(&scratch.0, 1024 + files as u64 / 250);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.replace("\n ", "").contains(&format!("{} Pods", files.div_ceil(1000) * 1000)), "{text}");
}

#[test]
fn a_file_that_is_shortened_meanwhile_ends_the_program_with_a_word() {
    let scratch = Scratch::new("bounds-shortened");
    let path = scratch.path("a.json");
    let pod = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":"n"}}"#.to_owned() + "\n";
    fs::write(&path, pod.repeat(1_000_000)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    command
        .args(["explain", "--jobs", "1"])
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // On a machine so quick that all was read before, or so slow that nothing was, there is an answer.
    assert!(output.status.code().is_some(), "{:?}: {text}", output.status);
    assert!(output.status.code() == Some(0) || !text.is_empty());
}

#[test]
fn a_stream_without_an_end_is_read_up_to_a_bound() {
    let mut yes = Command::new("yes").arg("{\"kind\":\"Pod\"}").stdout(Stdio::piped()).spawn().unwrap();
    let script = format!("ulimit -v {} && exec \"$0\" explain -", 1024 * 1024);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_preempt-audit")]).stdin(yes.stdout.take().unwrap());
    let begin = Instant::now();
    let output = shell.output().unwrap();
    let _ = (yes.kill(), yes.wait());
    let text = told("yes", &output);
    assert!(text.contains("standard input"), "after {:?}: {text}", begin.elapsed());
}
