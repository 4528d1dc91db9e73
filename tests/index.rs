//! `--index`: the same answers, and never those of yesterday's dump.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, run};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// Longer than a file system's clock may take from one tick to the next.
const SETTLED: Duration = Duration::from_millis(2100);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn ask(index: &Path, more: &[&str]) -> Output {
    run(&[&["explain", "--index", text(index)], more].concat())
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn inode(path: &Path) -> u64 {
    path.metadata().unwrap().ino()
}

/// Whether the question is answered from the index: otherwise it is written anew, as another file.
fn is_hit(index: &Path, more: &[&str]) -> bool {
    let before = inode(index);
    let output = ask(index, more);
    assert!(!err(&output).contains("not written"), "{}", err(&output));
    inode(index) == before
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Dumps in every form, damaged ones among them.
fn dumps(scratch: &Scratch) -> Vec<PathBuf> {
    let json = fs::read("fixtures/fits/dump.json").unwrap();
    let damaged = String::from_utf8(json.clone()).unwrap().replacen("\"cpu\": \"", "\"cpu\": \"x", 1);
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_dir_all("dump", "fixtures/pdb-protects").unwrap();
    let tar = tar.into_inner().unwrap();
    let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(damaged.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let mut all: Vec<PathBuf> =
        fs::read_dir("fixtures").unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir()).collect();
    for (name, bytes) in [
        ("whole.json", json.clone()),
        ("cut.json", json[..json.len() - 100].to_vec()),
        ("damaged.json", damaged.clone().into_bytes()),
        ("damaged.json.gz", gzip(damaged.as_bytes())),
        ("utf16.json", utf16),
        ("bundle.tar.gz", gzip(&tar)),
        ("bundle.tar", tar),
        ("blank.json", b"  \n".to_vec()),
        ("no-end.yaml", fs::read("fixtures/hidden-victim/cluster.yaml").unwrap().trim_ascii_end().to_vec()),
    ] {
        let path = scratch.path(name);
        fs::write(&path, bytes).unwrap();
        all.push(path);
    }
    all.sort();
    all
}

#[test]
fn every_answer_is_the_same_with_an_index() {
    let scratch = Scratch::new("index-same");
    for dump in dumps(&scratch) {
        for more in [&["-o", "json"][..], &[], &["--wide"], &["-o", "ndjson"], &["-o", "json", "--digest"]] {
            let index = scratch.path("index");
            let _ = fs::remove_file(&index);
            let plain = run(&[&["explain", text(&dump)], more].concat());
            for round in ["written", "read"] {
                let output = ask(&index, &[&[text(&dump)], more].concat());
                assert_eq!(output, plain, "{} {more:?} {round}", dump.display());
            }
        }
    }
}

#[test]
fn inspect_says_the_same_with_an_index() {
    let scratch = Scratch::new("index-inspect");
    for dump in dumps(&scratch) {
        let index = scratch.path("index");
        let _ = fs::remove_file(&index);
        let plain = run(&["inspect", "-o", "json", text(&dump)]);
        for _ in 0..2 {
            assert_eq!(
                run(&["inspect", "-o", "json", "--index", text(&index), text(&dump)]),
                plain,
                "{}",
                dump.display()
            );
        }
        // What one command wrote the other reads.
        let explained = run(&["explain", text(&dump)]);
        assert_eq!(ask(&index, &[text(&dump)]), explained, "{}", dump.display());
    }
}

#[test]
fn a_change_of_the_dump_is_always_noticed() {
    let scratch = Scratch::new("index-stale");
    let (dump, index) = (scratch.path("dump.json"), scratch.path("index"));
    let json = fs::read_to_string("fixtures/fits/dump.json").unwrap();
    let other = json.replace("\"next\"", "\"last\"");
    assert!(other != json && other.len() == json.len());
    fs::write(&dump, &json).unwrap();
    std::thread::sleep(SETTLED);
    let ask = |index: &Path| ask(index, &["-o", "json", text(&dump)]);
    let plain = || run(&["explain", "-o", "json", text(&dump)]).stdout;
    assert_eq!(ask(&index).stdout, plain());
    assert!(is_hit(&index, &[text(&dump)]));

    // Another text of the same size, in the same file, that pretends to be as old.
    let modified = dump.metadata().unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(&dump).unwrap();
    file.write_all(other.as_bytes()).unwrap();
    file.set_modified(modified).unwrap();
    let output = ask(&index);
    assert!(err(&output).contains("is older than the dump: it is made anew"), "{}", err(&output));
    assert_eq!(output.stdout, plain());
    assert!(String::from_utf8(output.stdout).unwrap().contains("j/last"));

    // At once again: within one tick of the clock only the bytes can tell.
    file = File::options().write(true).open(&dump).unwrap();
    file.write_all(json.as_bytes()).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(ask(&index).stdout, plain());

    // Touched, and a copy in its place: other times, the same bytes.
    for change in [&|| file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap(), &|| {
        let copy = scratch.path("copy");
        fs::copy(&dump, &copy).unwrap();
        fs::rename(&copy, &dump).unwrap();
    }] as [&dyn Fn(); 2]
    {
        change();
        let output = ask(&index);
        assert_eq!(err(&output), "");
        assert_eq!(output.stdout, plain(), "its time is the new one");
    }
    // Longer, shorter, gone.
    fs::write(&dump, format!("{json}\n")).unwrap();
    assert!(err(&ask(&index)).contains("is older"));
    fs::remove_file(&dump).unwrap();
    assert_eq!(ask(&index).status.code(), Some(2));
}

#[test]
fn a_folder_is_another_with_another_file() {
    let scratch = Scratch::new("index-folder");
    let folder = scratch.path("dump");
    fs::create_dir(&folder).unwrap();
    for file in ["nodes.json", "pods.json", "pdb.json"] {
        fs::copy(format!("fixtures/pdb-protects/{file}"), folder.join(file)).unwrap();
    }
    std::thread::sleep(SETTLED);
    // The index may lie in the dump's folder.
    let index = folder.join("index");
    ask(&index, &[text(&folder)]);
    assert!(is_hit(&index, &[text(&folder)]));
    let plain = |args: &[&str]| run(&[&["explain", "-o", "json"], args].concat()).stdout;
    assert_eq!(ask(&index, &["-o", "json", text(&folder)]).stdout, plain(&[text(&folder)]));
    // Options that change nothing that was loaded.
    assert!(is_hit(&index, &[text(&folder), "--as-of", "2030-01-01T00:00:00Z", "--kube-version", "1.30"]));
    assert!(is_hit(&index, &[text(&folder), "--pod", "nobody"]));
    // Options and files that do.
    assert!(!is_hit(&index, &[text(&folder), "--at", "2040-01-01T00:00:00Z"]));
    assert!(!is_hit(&index, &[text(&folder)]));
    assert!(!is_hit(&index, &[text(&folder), "--digest"]));
    assert!(is_hit(&index, &[text(&folder)]), "an index with all digests is one with some");
    assert!(!is_hit(&index, &["fixtures/tie"]));
    ask(&index, &[text(&folder)]);
    fs::copy("fixtures/pdb-protects/priorityclasses.json", folder.join("priorityclasses.json")).unwrap();
    assert!(!is_hit(&index, &[text(&folder)]));
    fs::remove_file(folder.join("pdb.json")).unwrap();
    assert!(!is_hit(&index, &[text(&folder)]));
    assert_eq!(ask(&index, &["-o", "json", text(&folder)]).stdout, plain(&[text(&folder)]));
}

#[test]
fn standard_input_is_known_by_its_bytes() {
    let scratch = Scratch::new("index-stdin");
    let index = scratch.path("index");
    let pipe = |file: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
        command.args(["explain", "--index", text(&index), "-"]).stdin(File::open(file).unwrap());
        command.output().unwrap()
    };
    let first = pipe("fixtures/fits/dump.json");
    let written = inode(&index);
    assert_eq!(pipe("fixtures/fits/dump.json"), first);
    assert_eq!(inode(&index), written);
    assert!(String::from_utf8(pipe("fixtures/not-now/dump.json").stdout).unwrap().starts_with("w/preemptor"));
    assert_ne!(inode(&index), written);
}

#[test]
fn an_index_that_is_none_is_told_and_never_overwritten() {
    let scratch = Scratch::new("index-foreign");
    let index = scratch.path("precious.json");
    fs::write(&index, "{\"precious\": true}").unwrap();
    let output = ask(&index, &["fixtures/fits"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("is no index of this program"), "{}", err(&output));
    assert_eq!(fs::read(&index).unwrap(), b"{\"precious\": true}");
}

#[test]
fn what_is_no_file_or_larger_than_any_index_is_never_replaced() {
    let scratch = Scratch::new("index-precious");
    let folder = scratch.path("folder");
    fs::create_dir(&folder).unwrap();
    // A dump that was taken for the index, most of it holes.
    let large = scratch.path("large.json");
    File::create(&large).unwrap().set_len(9 << 30).unwrap();
    for index in [&folder, &large] {
        let before = inode(index);
        let output = ask(index, &["fixtures/fits"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains("is no index of this program"), "{}", err(&output));
        assert_eq!(inode(index), before);
    }
    assert_eq!(large.metadata().unwrap().len(), 9 << 30);
}

#[test]
fn an_index_of_somebody_else_is_not_believed() {
    let scratch = Scratch::new("index-stranger");
    let index = scratch.path("index");
    ask(&index, &["fixtures/fits"]);
    // Only the administrator may give a file away.
    if std::os::unix::fs::chown(&index, Some(65534), None).is_ok() && index.metadata().unwrap().uid() == 65534 {
        let output = ask(&index, &["fixtures/fits"]);
        assert!(err(&output).contains("may have been written by others"), "{}", err(&output));
        assert_eq!(output.stdout, run(&["explain", "fixtures/fits"]).stdout);
    }
}

#[test]
fn a_damaged_or_exposed_index_is_made_anew() {
    let scratch = Scratch::new("index-damaged");
    let index = scratch.path("index");
    let plain = run(&["explain", "fixtures/fits"]).stdout;
    ask(&index, &["fixtures/fits"]);
    assert_eq!(index.metadata().unwrap().mode() & 0o777, 0o600, "it holds what the dump holds");
    let whole = fs::read(&index).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    for (bytes, told) in [(&damaged[..], "is damaged"), (&whole[..whole.len() - 1], "is damaged"), (b"", "")] {
        fs::write(&index, bytes).unwrap();
        let output = ask(&index, &["fixtures/fits"]);
        assert_eq!(output.stdout, plain);
        assert!(err(&output).contains(told), "{}", err(&output));
        assert!(is_hit(&index, &["fixtures/fits"]));
    }
    // More than any index holds, most of it holes.
    File::options().write(true).open(&index).unwrap().set_len(9 << 30).unwrap();
    let output = ask(&index, &["fixtures/fits"]);
    assert_eq!(output.stdout, plain);
    assert!(err(&output).contains("cannot be read"), "{}", err(&output));
    fs::set_permissions(&index, fs::Permissions::from_mode(0o666)).unwrap();
    let output = ask(&index, &["fixtures/fits"]);
    assert!(err(&output).contains("may have been written by others"), "{}", err(&output));
    assert_eq!(index.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn an_index_that_cannot_be_written_is_a_note() {
    let scratch = Scratch::new("index-unwritten");
    let output = ask(&scratch.path("nowhere/index"), &["fixtures/fits"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, run(&["explain", "fixtures/fits"]).stdout);
    assert!(err(&output).contains("is not written: "), "{}", err(&output));
    assert!(!err(&output).contains(".preempt-audit-"), "nobody asked for the temporary file: {}", err(&output));
    // A file that could not be read may be readable next time.
    let output = ask(&scratch.path("index"), &["fixtures/fits", "gone.json"]);
    assert!(err(&output).contains("is not written: "), "{}", err(&output));
    assert!(!scratch.path("index").exists());
}

#[test]
fn processes_do_not_get_in_each_other_s_way() {
    let scratch = Scratch::new("index-together");
    let index = scratch.path("index");
    let plain = run(&["explain", "fixtures/tie"]).stdout;
    for _ in 0..3 {
        let start = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
            command.args(["explain", "--index", text(&index), "fixtures/tie"]).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let running: Vec<_> = (0..6).map(|_| start()).collect();
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert_eq!((output.stdout, err_of(&output.stderr)), (plain.clone(), String::new()));
        }
        assert!(is_hit(&index, &["fixtures/tie"]));
        fs::remove_file(&index).unwrap();
    }
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0, "nothing unfinished lies about");
}

fn err_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
