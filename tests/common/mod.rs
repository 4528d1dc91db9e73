//! What several integration tests need: the binary, archives of recorded clusters, scratch folders.

#![allow(dead_code, clippy::allow_attributes, reason = "each test binary uses a part of it")]

pub(crate) mod compare;

use flate2::read::GzDecoder;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for one test, removed when dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// An empty folder below the target folder.
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The lines of a compressed NDJSON file.
pub(crate) fn ndjson(path: impl AsRef<Path>) -> Vec<Value> {
    let mut text = String::new();
    let path = path.as_ref();
    let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Unpacks an archive of `tests/` into a folder.
pub(crate) fn unpack(archive: &str, into: &Path) {
    let file = fs::File::open(Path::new("tests").join(archive)).unwrap();
    tar::Archive::new(GzDecoder::new(file)).unpack(into).unwrap();
}

/// Runs the program.
pub(crate) fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt-audit"));
    command.args(args).env_remove("PREEMPT_AUDIT_DUMP").env("COLUMNS", "80").stdin(std::process::Stdio::null());
    command.output().unwrap()
}

/// `explain -o json` for one pod: the pod's part of the report, or what the program said instead.
pub(crate) fn explain(release: &str, gates: &str, pod: &str, path: &Path) -> Result<Value, String> {
    let path = path.to_str().unwrap();
    let output =
        run(&["explain", "--kube-version", release, "--feature-gates", gates, "-o", "json", "--pod", pod, path]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}, exit {:?}: {}", output.status, String::from_utf8_lossy(&output.stderr)))?;
    Ok(report["pods"][0].clone())
}
