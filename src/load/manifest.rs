//! The manifest that `capture` writes beside a dump.

use super::coverage::Ledger;
use crate::model::cluster::Kind;
use crate::model::id::FileId;
use crate::model::time::Time;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::FileTable;
use serde::Deserialize;

/// What a manifest says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    #[serde(default)]
    started: Option<Time>,
    #[serde(default)]
    finished: Option<Time>,
    #[serde(default)]
    kinds: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    kind: String,
    state: String,
    #[serde(default)]
    time: Option<Time>,
    #[serde(default)]
    error: Option<String>,
}

/// Whether a document is a manifest.
pub(super) fn is_one(api_version: &str, kind: &str) -> bool {
    api_version.starts_with("preempt-audit/") && kind == "CaptureManifest"
}

/// Reads a manifest.
pub(super) fn read(json: &[u8]) -> Option<Manifest> {
    serde_json::from_slice(json).ok()
}

/// Takes what a manifest says: kinds that the API server does not have, kinds that could not be read, and when the pods
/// were read.
pub(super) fn take(
    manifest: &Manifest,
    file: FileId,
    files: &FileTable,
    ledger: &mut Ledger,
    problems: &mut Vec<Problem>,
) -> Option<Time> {
    for record in &manifest.kinds {
        let Some(kind) = Kind::ALL.iter().copied().find(|kind| kind.name() == record.kind) else { continue };
        match record.state.as_str() {
            "notServed" => ledger.empty(kind, file),
            "failed" => {
                let said = record.error.as_deref().unwrap_or("kubectl failed");
                let message = format!("{} could not be read when the dump was taken: {said}", kind.name());
                let mut problem = Problem::new(ProblemCode::NotCaptured, message);
                problem.path = Some(files.file(file).path.clone());
                let denied = ["orbidden", "Unauthorized", "logged in"].iter().any(|it| said.contains(it));
                problem.help = Some(if denied {
                    format!("get the right to `list` {} and take the dump again", kind.resource())
                } else {
                    "mend what kubectl says and take the dump again".to_owned()
                });
                problems.push(problem);
            }
            _ => {}
        }
    }
    time(manifest)
}

/// When the pods were read, else when the dump was taken.
pub(super) fn time(manifest: &Manifest) -> Option<Time> {
    let pods = manifest.kinds.iter().find(|record| record.kind == Kind::Pod.name() && record.state == "read");
    pods.and_then(|record| record.time).or(manifest.finished).or(manifest.started)
}
