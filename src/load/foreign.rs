//! Documents that look like objects of a cluster and are none: what they are, and what to do instead.

use crate::model::cluster::Kind;
use crate::problem::{Problem, ProblemCode};
use crate::source::split::Spelling;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a document turned out to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stranger {
    /// `meta.k8s.io` Table, and what it holds.
    Table,
    /// A `Status`: the API server's answer when it refuses, with its message.
    Refusal(String),
    /// A change that kwok recorded after the objects before it.
    RecordedChange,
    /// Of another group, with a kind or a resource name that one of ours has.
    LookAlike { kind: Kind, spelled: String },
    /// Spelled as Go does.
    GoSpelling,
    /// Spelled as the Python client does.
    PythonSpelling,
}

impl Stranger {
    /// What a document of a kind that is not read is, if that is worth a word.
    pub(super) fn of(api_version: &str, kind: &str, json: &[u8]) -> Option<Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Some(match (group, kind) {
            ("meta.k8s.io", "Table" | "PartialObjectMetadata") => Stranger::Table,
            ("", "Status") => Stranger::Refusal(Status::message(json)?),
            ("action.kwok.x-k8s.io", "ResourcePatch") => Stranger::RecordedChange,
            ("metrics.k8s.io", "PodMetrics") => Self::look_alike(Kind::Pod, api_version, kind),
            ("metrics.k8s.io", "NodeMetrics") => Self::look_alike(Kind::Node, api_version, kind),
            (group, kind) if !group.is_empty() => {
                let ours = Kind::ALL.iter().copied().find(|it| it.name() == kind)?;
                Self::look_alike(ours, api_version, kind)
            }
            _ => return None,
        })
    }

    fn look_alike(kind: Kind, api_version: &str, name: &str) -> Self {
        Stranger::LookAlike { kind, spelled: format!("{api_version} {name}") }
    }

    fn problem(&self, count: u64, path: &str) -> (ProblemCode, String, String) {
        let get = |kind: Kind| {
            let all = if kind.is_namespaced() { " -A" } else { "" };
            format!("run `kubectl get {}{all} -o json`", kind.resource())
        };
        match self {
            Stranger::Table => (
                ProblemCode::ForeignFormat,
                format!("`{path}` is a Table, which the API server makes for people: it lacks what a scheduler reads"),
                "ask for the objects: `kubectl get … -o json`".to_owned(),
            ),
            Stranger::Refusal(message) => (
                ProblemCode::ErrorAnswer,
                format!("`{path}` holds the API server's refusal in place of objects: {message}"),
                "mend what the message says and ask again".to_owned(),
            ),
            Stranger::RecordedChange => (
                ProblemCode::RecordedChanges,
                format!(
                    "`{path}` goes on with {count} recorded changes, which are not applied: the answer is for its beginning"
                ),
                "replay the recording and take a dump at the moment that you mean".to_owned(),
            ),
            Stranger::LookAlike { kind, spelled } => (
                ProblemCode::LookAlike,
                format!("`{path}` holds {spelled}, which is no {} of Kubernetes' own", kind.name()),
                get(*kind),
            ),
            Stranger::GoSpelling => (
                ProblemCode::ForeignFormat,
                format!(
                    "`{path}` has Go's names for the fields (`Items`, `Spec`), as `kubectl cluster-info dump` of 1.13 and \
                     older writes them"
                ),
                "run `kubectl get nodes,pods,… -A -o json`, or a newer kubectl's cluster-info dump".to_owned(),
            ),
            Stranger::PythonSpelling => (
                ProblemCode::ForeignFormat,
                format!("`{path}` has the Python client's names for the fields (`api_version`, `node_name`)"),
                "write `api_client.sanitize_for_serialization(answer)` in place of `answer.to_dict()`".to_owned(),
            ),
        }
    }
}

impl From<Spelling> for Stranger {
    fn from(spelling: Spelling) -> Self {
        match spelling {
            Spelling::Go => Stranger::GoSpelling,
            Spelling::Python => Stranger::PythonSpelling,
        }
    }
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

impl Status {
    fn message(json: &[u8]) -> Option<String> {
        let status: Status = serde_json::from_slice(json).ok()?;
        status.message.filter(|_| status.status.as_deref() == Some("Failure"))
    }
}

/// The strangers of all files, each once a file.
#[derive(Default)]
pub(super) struct Strangers<'b> {
    seen: BTreeMap<(usize, Stranger), Seen<'b>>,
}

struct Seen<'b> {
    path: &'b str,
    offset: u64,
    count: u64,
}

impl<'b> Strangers<'b> {
    pub(super) fn add(&mut self, file: usize, path: &'b str, offset: u64, stranger: Stranger) {
        self.seen.entry((file, stranger)).or_insert(Seen { path, offset, count: 0 }).count += 1;
    }

    /// The problems. A look-alike is none where the real kind is there as well, as in every bundle.
    pub(super) fn problems(self, is_there: impl Fn(Kind) -> bool) -> Vec<Problem> {
        let problem = |((_, stranger), seen): ((usize, Stranger), Seen<'_>)| {
            if matches!(stranger, Stranger::LookAlike { kind, .. } if is_there(kind)) {
                return None;
            }
            let (code, message, help) = stranger.problem(seen.count, seen.path);
            let mut problem = Problem::new(code, message);
            problem.path = Some(seen.path.to_owned());
            problem.offset = Some(seen.offset);
            problem.help = Some(help);
            Some(problem)
        };
        self.seen.into_iter().filter_map(problem).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(api_version: &str, kind: &str) -> Option<Stranger> {
        Stranger::of(api_version, kind, br#"{"status":"Failure","message":"pods is forbidden"}"#)
    }

    #[test]
    fn the_group_tells_look_alikes() {
        let alike = |kind, spelled: &str| Some(Stranger::LookAlike { kind, spelled: spelled.to_owned() });
        assert_eq!(of("longhorn.io/v1beta2", "Node"), alike(Kind::Node, "longhorn.io/v1beta2 Node"));
        assert_eq!(of("metrics.k8s.io/v1beta1", "PodMetrics"), alike(Kind::Pod, "metrics.k8s.io/v1beta1 PodMetrics"));
        assert_eq!(of("v1", "Status"), Some(Stranger::Refusal("pods is forbidden".to_owned())));
        assert_eq!(of("v1", "ConfigMap"), None);
        assert_eq!(of("apps/v1", "Deployment"), None);
    }
}
