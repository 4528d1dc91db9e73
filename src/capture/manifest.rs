//! The manifest of a dump: when it was taken, of what, and what came of each kind.

use crate::model::cluster::Kind;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The manifest, as it stands in the dump.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// `preempt-audit/v1`.
    pub api_version: String,
    /// `CaptureManifest`.
    pub kind: String,
    /// The version of this program.
    pub tool: String,
    /// When the first kind was asked for, RFC 3339.
    pub started: String,
    /// When the last one was read.
    pub finished: Option<String>,
    /// kubectl's context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    /// The API server's version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_version: Option<String>,
    /// kubectl's version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kubectl_version: Option<String>,
    /// The kinds, in the order they were read.
    pub kinds: Vec<KindRecord>,
}

/// What came of one kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindRecord {
    /// The kind.
    pub kind: String,
    /// The resource as kubectl was asked for it.
    pub resource: String,
    /// What came of it.
    pub state: KindState,
    /// The file in the folder.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// How many objects it holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objects: Option<u64>,
    /// When the list was complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<String>,
    /// What kubectl said about the failure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// What can come of a kind.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KindState {
    /// It was read.
    Read,
    /// The API server does not have the kind, so the cluster has no such objects.
    NotServed,
    /// It could not be read: a gap.
    Failed,
}

impl Manifest {
    pub(super) fn begin() -> Self {
        Manifest {
            api_version: "preempt-audit/v1".to_owned(),
            kind: "CaptureManifest".to_owned(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            started: now(),
            finished: None,
            context: None,
            server_version: None,
            kubectl_version: None,
            kinds: Vec::new(),
        }
    }

    pub(super) fn end(&mut self) {
        self.finished = Some(now());
    }

    /// Takes the versions out of what `kubectl version -o json` printed.
    pub(super) fn set_versions(&mut self, text: &str) {
        let version: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let of = |side: &str| version[side]["gitVersion"].as_str().map(str::to_owned);
        self.server_version = of("serverVersion");
        self.kubectl_version = of("clientVersion");
    }

    /// The manifest's text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("texts, numbers and lists of them are JSON");
        text.push('\n');
        text
    }

    /// The kinds that could not be read.
    pub fn failed(&self) -> impl Iterator<Item = &KindRecord> {
        self.kinds.iter().filter(|record| record.state == KindState::Failed)
    }

    /// How many objects were read.
    pub fn objects(&self) -> u64 {
        self.kinds.iter().filter_map(|record| record.objects).sum()
    }
}

impl KindRecord {
    pub(super) fn new(kind: Kind, state: KindState) -> Self {
        let (kind, resource) = (kind.name().to_owned(), kind.resource().to_owned());
        KindRecord { kind, resource, state, file: None, objects: None, time: Some(now()), error: None }
    }
}

fn now() -> String {
    Timestamp::now().to_string()
}
