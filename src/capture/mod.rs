//! Taking a dump: runs kubectl for exactly the kinds that the program reads, and writes down what came of each.
//!
//! kubectl does the talking, so that its contexts, credentials and plugins hold. Only `kubectl get` and
//! `kubectl version` are run; nothing in the cluster changes, and Secrets are never asked for.

mod kubectl;
mod manifest;

pub use manifest::{KindRecord, KindState, Manifest};

use crate::model::cluster::Kind;
use kubectl::{Answer, Kubectl};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The kinds in the order they are asked for: those that decide most stand together, so that they are of one moment.
const ORDER: &[Kind] = &[
    Kind::Namespace,
    Kind::PriorityClass,
    Kind::StorageClass,
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::CsiDriver,
    Kind::CsiNode,
    Kind::CsiStorageCapacity,
    Kind::VolumeAttachment,
    Kind::DeviceClass,
    Kind::DeviceTaintRule,
    Kind::ResourceSlice,
    Kind::ResourceClaim,
    Kind::Service,
    Kind::ReplicationController,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::PodGroup,
    Kind::Node,
    Kind::PodDisruptionBudget,
    Kind::Pod,
    Kind::Event,
];

/// The manifest's file in the folder of a dump.
pub const MANIFEST: &str = "preempt-audit.json";

/// How to take a dump.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder to write; made if it is not there.
    pub folder: PathBuf,
    /// The program, found on the path: `kubectl`, `oc`.
    pub kubectl: OsString,
    /// Arguments for every call, such as `--context`, `--kubeconfig`, `--as`.
    pub arguments: Vec<OsString>,
    /// How many objects the API server sends at a time.
    pub chunk_size: u32,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The kind that is being read.
    pub kind: Kind,
    /// Its place among all kinds, from 1.
    pub at: usize,
    /// How many kinds there are.
    pub of: usize,
    /// Bytes of this kind so far.
    pub bytes: u64,
}

/// Why no dump was taken.
#[derive(Debug)]
pub enum CaptureError {
    /// The folder holds something already.
    FolderInUse(PathBuf),
    /// The folder cannot be written.
    Folder(PathBuf, io::Error),
    /// kubectl could not be started.
    NoKubectl(OsString, io::Error),
    /// The cluster did not answer: kubectl's own words.
    NoCluster(String),
    /// Not one kind could be read: kubectl's own words about the first.
    NothingRead(String),
}

impl CaptureError {
    /// What happened, and what to do.
    pub fn words(&self) -> (String, Option<&'static str>) {
        match self {
            CaptureError::FolderInUse(path) => (
                format!("`{}` holds something already", path.display()),
                Some("name a folder that does not exist yet: two dumps in one folder would be mixed up"),
            ),
            CaptureError::Folder(path, error) => (format!("`{}` cannot be written: {error}", path.display()), None),
            CaptureError::NoKubectl(program, error) => (
                format!("`{}` cannot be run: {error}", program.display()),
                Some("install kubectl, or name another program with --kubectl (such as `oc`)"),
            ),
            CaptureError::NoCluster(text) => (
                format!("kubectl does not reach the cluster: {text}"),
                Some("check `kubectl get nodes` with the same context first"),
            ),
            CaptureError::NothingRead(text) => (
                format!("kubectl could read no kind at all: {text}"),
                Some(if is_denied(text) {
                    "the account needs the right to `list` these kinds in all namespaces"
                } else {
                    "try `kubectl get nodes -o json` with the same context first"
                }),
            ),
        }
    }
}

/// Whether kubectl's words say that the account may not.
pub fn is_denied(words: &str) -> bool {
    ["Forbidden", "forbidden", "Unauthorized", "logged in"].iter().any(|it| words.contains(it))
}

/// Takes a dump. A kind that cannot be read is written down in the manifest and the rest goes on.
pub fn capture(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Manifest, CaptureError> {
    let folder = &options.folder;
    prepare(folder)?;
    let kubectl = Kubectl { program: &options.kubectl, arguments: &options.arguments };
    let mut manifest = Manifest::begin();
    manifest.context = kubectl.context();
    let version = kubectl.version().map_err(|error| CaptureError::NoKubectl(options.kubectl.clone(), error))?;
    match version {
        Answer::Text(text) => {
            manifest.set_versions(&text);
            write(folder, "version.json", text.as_bytes())?;
        }
        Answer::Failed(text) => return Err(CaptureError::NoCluster(text)),
    }
    for (at, &kind) in ORDER.iter().enumerate() {
        let mut told = |bytes| progress(Progress { kind, at: at + 1, of: ORDER.len(), bytes });
        told(0);
        let record = kubectl
            .list(kind, options.chunk_size, folder, &mut told)
            .map_err(|error| CaptureError::Folder(folder.clone(), error))?;
        manifest.kinds.push(record);
    }
    manifest.end();
    write(folder, MANIFEST, manifest.to_json().as_bytes())?;
    if manifest.kinds.iter().all(|record| record.state != KindState::Read) {
        let first = manifest.kinds.iter().find_map(|record| record.error.clone()).unwrap_or_default();
        return Err(CaptureError::NothingRead(first));
    }
    Ok(manifest)
}

fn prepare(folder: &Path) -> Result<(), CaptureError> {
    let wrong = |error| CaptureError::Folder(folder.to_owned(), error);
    fs::create_dir_all(folder).map_err(wrong)?;
    if fs::read_dir(folder).map_err(wrong)?.next().is_some() {
        return Err(CaptureError::FolderInUse(folder.to_owned()));
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), CaptureError> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|error| CaptureError::Folder(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_read_is_asked_for_and_no_other() {
        let mut asked = ORDER.to_vec();
        asked.sort_unstable();
        assert_eq!(asked, Kind::ALL);
        assert!(ORDER.iter().all(|kind| !kind.resource().contains("secret")));
    }
}
