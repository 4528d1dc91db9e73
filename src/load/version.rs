//! The API server's version, from files that say it.

use serde::Deserialize;

/// Larger documents are something else.
const MAX_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionDocument {
    #[serde(default)]
    server_version: Option<Version>,
    #[serde(default)]
    info: Option<Version>,
    #[serde(default)]
    git_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(default)]
    git_version: Option<String>,
}

/// The version in a document without kind: `serverVersion.gitVersion` of `kubectl version -o json`, `info.gitVersion` of a
/// support bundle, or `gitVersion` itself as `/version` answers.
pub(super) fn of_document(json: &[u8]) -> Option<String> {
    if json.len() > MAX_BYTES || memchr::memmem::find(json, b"\"gitVersion\"").is_none() {
        return None;
    }
    let document: VersionDocument = serde_json::from_slice(json).ok()?;
    let server = document.server_version.or(document.info).and_then(|version| version.git_version);
    server.or(document.git_version)
}
