//! Which pods are meant.

use super::failure::Failure;
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use crate::model::node::Node;
use crate::model::uid::Uid;

/// A pod that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// It is there.
    Pod(PodId),
    /// It is not.
    Missing {
        /// `namespace/name` as far as it was given.
        asked: String,
        /// Pods with a similar name, nearest first.
        near: Vec<PodId>,
    },
    /// A name without a namespace that several namespaces use.
    Ambiguous {
        /// The name.
        asked: String,
        /// The pods of that name.
        pods: Vec<PodId>,
    },
}

impl Target {
    /// The pod, if it is there.
    pub(crate) fn pod(&self) -> Option<PodId> {
        match self {
            Target::Pod(pod) => Some(*pod),
            Target::Missing { .. } | Target::Ambiguous { .. } => None,
        }
    }

    /// What was asked for and is not there, and what may have been meant.
    pub(crate) fn not_found(&self) -> (&str, &[PodId]) {
        match self {
            Target::Pod(_) => ("", &[]),
            Target::Missing { asked, near } | Target::Ambiguous { asked, pods: near } => (asked, near),
        }
    }
}

/// How many similar names are offered.
const NEAR: usize = 3;
/// Names less similar than this are not offered.
const SIMILAR: f64 = 0.75;

/// Finds what `asked` means: `namespace/name`, `pod/name`, a name, or a UID as events name it.
pub(crate) fn find(cluster: &Cluster, asked: &str, namespace: Option<&str>) -> Target {
    let (space, name) = match asked.split_once('/') {
        Some(("pod" | "pods" | "po", name)) => match name.split_once('/') {
            Some((space, name)) => (Some(space), name),
            None => (namespace, name),
        },
        Some((space, name)) => (Some(space), name),
        None => (namespace, asked),
    };
    if let Some(space) = space {
        return match cluster.find_pod(space, name) {
            Some(pod) => Target::Pod(pod),
            None => missing(cluster, Some(space), name),
        };
    }
    let named = |pod: &PodId| cluster.text(cluster.pod(*pod).name) == name;
    let uid = Uid::find(name, &cluster.symbols);
    let with_uid = |pod: &PodId| uid.is_some() && cluster.pod(*pod).uid == uid;
    let mut pods: Vec<PodId> = cluster.pod_range().filter(|pod| named(pod) || with_uid(pod)).collect();
    match pods.len() {
        0 => missing(cluster, None, name),
        1 => Target::Pod(pods.remove(0)),
        _ => match pods.iter().find(|pod| cluster.namespace_name(cluster.pod(**pod).namespace) == "default") {
            Some(pod) => Target::Pod(*pod),
            None => Target::Ambiguous { asked: name.to_owned(), pods },
        },
    }
}

fn missing(cluster: &Cluster, space: Option<&str>, name: &str) -> Target {
    let asked = space.map_or_else(|| name.to_owned(), |space| format!("{space}/{name}"));
    let mut near: Vec<(f64, PodId)> = cluster
        .pod_range()
        .filter_map(|id| {
            let pod = cluster.pod(id);
            let here = cluster.namespace_name(pod.namespace);
            let likeness = strsim::jaro_winkler(name, cluster.text(pod.name));
            // The right name in another namespace comes first, then like names of the same one.
            let bonus = if space.is_none_or(|space| space == here) { 0.1 } else { 0.0 };
            (likeness >= SIMILAR).then_some((likeness + bonus, id))
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Target::Missing { asked, near: near.into_iter().take(NEAR).map(|(_, id)| id).collect() }
}

/// The node of a name.
pub(crate) fn node(cluster: &Cluster, name: &str) -> Result<NodeId, Failure> {
    let name = name.trim_start_matches("node/");
    if let Some(node) = cluster.symbols.get(name).and_then(|it| cluster.node_of(it)) {
        return Ok(node);
    }
    let likeness = |it: &Node| strsim::jaro_winkler(name, cluster.text(it.name));
    let near = cluster.nodes.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)).then(b.name.cmp(&a.name)));
    let near = near.filter(|it| likeness(it) >= SIMILAR).map(|it| format!("did you mean {}?", cluster.text(it.name)));
    let failure = Failure::new(format!("node `{name}` is not in the dump"));
    Err(match near {
        Some(near) => failure.help(near),
        None => failure,
    })
}

/// Every pod that waits for a node of whichever scheduler: neither bound nor finished.
pub(crate) fn pending(cluster: &Cluster) -> Vec<PodId> {
    let waits = |id: &PodId| {
        let pod = cluster.pod(*id);
        pod.node_name.is_none() && !pod.is_terminal()
    };
    cluster.pod_range().filter(waits).collect()
}
