//! What a dump's own objects say it lacks: pods of whole namespaces, nodes, the status of objects, one common time.

use super::folders::is_border;
use super::harvest::Harvest;
use super::moments::text_of;
use super::objects;
use crate::model::cluster::{Cluster, Coverage, CoverageState, Kind};
use crate::model::id::Symbol;
use crate::model::pod::Pod;
use crate::model::time::Time;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::{FileTable, Form};
use rayon::prelude::*;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A kubelet writes its node's status every five minutes at least; with some to spare.
const SILENT: i64 = 15 * 60 * 1_000_000_000;
/// Clocks of nodes differ by less.
const MARGIN: i64 = 60 * 1_000_000_000;
/// How many names a problem gives.
const SHOWN: usize = 6;

/// Pods that owners and budgets say there are: by namespace the largest number, and who says it.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims(BTreeMap<String, (u64, String)>);

impl Claims {
    /// An object of a namespace says how many pods it has.
    pub(super) fn add(&mut self, namespace: String, kind: &str, name: &str, pods: u64) {
        if self.0.get(&namespace).is_none_or(|known| known.0 < pods) {
            let who = format!("{kind} {namespace}/{name}");
            self.0.insert(namespace, (pods, who));
        }
    }

    /// An owner that is read for nothing else.
    pub(super) fn add_owner(&mut self, kind: &str, json: &[u8]) {
        if let Some((namespace, name, pods)) = objects::owner(json)
            && pods > 0
        {
            self.add(namespace, kind, &name, pods);
        }
    }

    fn join(&mut self, other: Claims) {
        for (namespace, claim) in other.0 {
            if self.0.get(&namespace).is_none_or(|known| known.0 < claim.0) {
                self.0.insert(namespace, claim);
            }
        }
    }
}

/// What has to be known of objects before they are put together.
#[derive(Debug, Default)]
pub(super) struct Traces {
    claims: Claims,
    /// The newest time that any node and any pod carries.
    nodes: Option<Time>,
    pods: Option<Time>,
}

impl Traces {
    pub(super) fn take(harvests: &mut [Harvest]) -> Self {
        let mut traces = Traces::default();
        for harvest in harvests {
            traces.claims.join(std::mem::take(&mut harvest.claims));
            for entry in &harvest.entries {
                match entry.kind {
                    Kind::Node => traces.nodes = traces.nodes.max(entry.newest),
                    Kind::Pod => traces.pods = traces.pods.max(entry.newest),
                    _ => {}
                }
            }
        }
        traces
    }
}

/// What is in doubt, as problems; kinds that are not whole are marked in the coverage.
pub(super) fn doubts(cluster: &mut Cluster, traces: &Traces, files: &FileTable) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut doubtful: BTreeSet<Kind> = BTreeSet::new();
    let mut note = |kinds: &[Kind], problem: Option<Problem>| {
        if problem.is_some() {
            doubtful.extend(kinds);
        }
        problems.extend(problem);
    };
    let (kinds, problem) = stripped(cluster, files);
    note(&kinds, problem);
    note(&[Kind::Pod], missing_namespaces(cluster, &traces.claims));
    note(&[Kind::Pod], listed_namespaces(cluster, files));
    note(&[Kind::Pod], without_system(cluster, files));
    note(&[Kind::Node], strange_nodes(cluster, traces));
    note(&[], silent_nodes(cluster, traces));
    for coverage in &mut cluster.coverage {
        coverage.doubtful = doubtful.contains(&coverage.kind);
    }
    // Where the pods, or else the nodes, were read.
    let origin = cluster.pods.first().map(|it| it.origin).or_else(|| cluster.nodes.first().map(|it| it.origin));
    let file = origin.and_then(|it| files.files.get(it.file.index()));
    for problem in &mut problems {
        problem.path = file.map(|it| it.path.clone());
    }
    problems
}

fn problem(code: ProblemCode, message: String, help: &str) -> Problem {
    let mut problem = Problem::new(code, message);
    problem.help = Some(help.to_owned());
    problem
}

/// Some names, and how many more there are.
fn some<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// `1 pod`, `2 pods`.
pub(super) fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What can be told of pods without nodes, where there are none.
pub fn without_nodes(cluster: &Cluster) -> Option<Problem> {
    let state = |it: &&Coverage| it.kind == Kind::Node && it.state == CoverageState::Absent;
    if cluster.pods.is_empty() || !cluster.coverage.iter().any(|it| state(&it)) {
        return None;
    }
    let message = format!("the dump holds {} and no Nodes", many(cluster.pods.len() as u64, "pod"));
    let help = "without nodes it can be told which pods are pending, held by gates or not allowed to preempt, and with \
                what priority; not where they fit or whom they evict: add `kubectl get nodes -o json`";
    Some(problem(ProblemCode::NoNodes, message, help))
}

/// What can be told of nodes without pods, where there are none.
pub fn without_pods(cluster: &Cluster) -> Option<Problem> {
    if !cluster.pods.is_empty() || cluster.nodes.is_empty() {
        return None;
    }
    let message = format!("the dump holds {} and no Pods", many(cluster.nodes.len() as u64, "node"));
    let help = "without pods it is not known which of them are pending, nor what the nodes hold: add \
                `kubectl get pods -A -o json`";
    Some(problem(ProblemCode::NoPods, message, help))
}

/// Objects that an API server has stored have a status, and these have none.
fn stripped(cluster: &Cluster, files: &FileTable) -> (Vec<Kind>, Option<Problem>) {
    let stored = |pod: &&Pod| pod.status_missing && pod.uid.is_some();
    let pods = cluster.pods.par_iter().filter(stored).count() as u64;
    // A YAML document that was cut behind one of its lines is whole but for what it lacks.
    let in_yaml = |pod: &Pod| files.files.get(pod.origin.file.index()).is_some_and(|it| it.form == Form::Yaml);
    let bound = pods > 0 && cluster.pods.iter().filter(stored).any(|pod| pod.node_name.is_some() || in_yaml(pod));
    let nodes = cluster.nodes.iter().filter(|node| node.status_missing && node.uid.is_some()).count() as u64;
    if nodes == 0 && !bound {
        return (Vec::new(), None);
    }
    let kinds = [(Kind::Pod, bound), (Kind::Node, nodes > 0)];
    let told = [(pods, "pod"), (nodes, "node")];
    let told: Vec<String> = told.iter().filter(|it| it.0 > 0).map(|it| many(it.0, it.1)).collect();
    let (have, why) = if pods + nodes == 1 {
        ("has", "the dump was cut there, or somebody took it out")
    } else {
        ("have", "whoever wrote the dump took it out")
    };
    let message = format!("{} {have} no status: {why}", told.join(" and "));
    let mut lost = Vec::new();
    if bound {
        lost.push("finished pods count as running, and nominations and start times are unknown");
    }
    if nodes > 0 {
        lost.push("what nodes have to give is unknown");
    }
    let help = format!("{}; take the dump again and leave `.status` in", lost.join("; "));
    let kinds = kinds.into_iter().filter(|it| it.1).map(|it| it.0).collect();
    (kinds, Some(problem(ProblemCode::StatusStripped, message, &help)))
}

const ALL_NAMESPACES: &str =
    "pods that are not there take no room and cannot be victims: add `kubectl get pods -A -o json`";

/// Whether the dump holds a pod of this namespace. Pods are sorted by its name.
fn has_pods(cluster: &Cluster, namespace: &str) -> bool {
    let at = cluster.pods.partition_point(|pod| cluster.namespace_name(pod.namespace) < namespace);
    cluster.pods.get(at).is_some_and(|pod| cluster.namespace_name(pod.namespace) == namespace)
}

/// Namespaces whose owners and budgets have pods, of which the dump holds none.
fn missing_namespaces(cluster: &Cluster, claims: &Claims) -> Option<Problem> {
    if cluster.pods.is_empty() {
        return None;
    }
    let missing: Vec<_> = claims.0.iter().filter(|it| !has_pods(cluster, it.0)).collect();
    let (pods, who) = missing.first()?.1;
    let names = some(missing.iter().map(|it| it.0.as_str()));
    let message = format!(
        "no pod of {} is in the dump: {names}; yet {who} says that it has {}",
        many(missing.len() as u64, "namespace"),
        usize::try_from(*pods).unwrap_or(usize::MAX)
    );
    Some(problem(ProblemCode::PartialNamespaces, message, ALL_NAMESPACES))
}

/// `kubectl cluster-info dump` without `--all-namespaces`: a folder for each namespace asked for, and every cluster has
/// some more.
fn listed_namespaces(cluster: &Cluster, files: &FileTable) -> Option<Problem> {
    let folder_of = |path: &str, file: &str| {
        let at = path.rfind(is_border)?;
        let name = &path[at + 1..];
        let stem = name.strip_suffix(".json").or_else(|| name.strip_suffix(".yaml"))?;
        (stem == file).then(|| path[..at].to_owned())
    };
    let with =
        |file: &str| -> BTreeSet<String> { files.files.iter().filter_map(|it| folder_of(&it.path, file)).collect() };
    let folders: BTreeSet<String> = with("replication-controllers").intersection(&with("pods")).cloned().collect();
    let own = |pod: &Pod| {
        let path = files.files.get(pod.origin.file.index()).map_or("", |it| it.path.as_str());
        folder_of(path, "pods").is_some_and(|folder| folders.contains(&folder))
    };
    if folders.is_empty() || cluster.pods.is_empty() || !cluster.pods.iter().all(own) {
        return None;
    }
    let names: BTreeSet<&str> = folders.iter().filter_map(|it| it.rsplit(is_border).next()).collect();
    if names.contains("kube-public") {
        return None;
    }
    let message =
        format!("the dump is of {} only: {}", many(names.len() as u64, "namespace"), some(names.iter().copied()));
    let help = "pods of others take no room and cannot be victims: run `kubectl cluster-info dump --all-namespaces`";
    Some(problem(ProblemCode::PartialNamespaces, message, help))
}

#[derive(Default, Deserialize)]
struct Images<'b> {
    #[serde(borrow, default)]
    status: Option<ImageStatus<'b>>,
}

#[derive(Default, Deserialize)]
struct ImageStatus<'b> {
    #[serde(borrow, default)]
    images: Option<Vec<Image<'b>>>,
}

#[derive(Default, Deserialize)]
struct Image<'b> {
    #[serde(borrow, default)]
    names: Option<Vec<Cow<'b, str>>>,
}

/// How many nodes are looked at once more, the first by name.
pub(super) const LOOKED_AT: usize = 3;

/// Nodes that hold the images of what runs in `kube-system`, where the dump has none of its pods.
fn without_system(cluster: &Cluster, files: &FileTable) -> Option<Problem> {
    const SYSTEM: &[&str] = &["/kube-proxy", "/coredns", "/konnectivity-agent", "amazon-k8s-cni", "/cilium"];
    if cluster.pods.is_empty() || has_pods(cluster, "kube-system") {
        return None;
    }
    let (node, image) = cluster.nodes.iter().take(LOOKED_AT).find_map(|node| {
        let file = files.files.get(node.origin.file.index())?;
        let text = file.text_at(node.origin.offset)?;
        let read = serde_json::Deserializer::from_slice(text).into_iter::<Images<'_>>().next()?.ok()?;
        let names = read.status?.images?.into_iter().flat_map(|it| it.names.unwrap_or_default());
        let image = names.into_iter().find(|name| SYSTEM.iter().any(|it| name.contains(it)))?;
        Some((cluster.text(node.name), image.into_owned()))
    })?;
    let message = format!("no pod of kube-system is in the dump; yet node {node} holds the image {image}");
    Some(problem(ProblemCode::PartialNamespaces, message, ALL_NAMESPACES))
}

/// Pods on nodes that the dump does not hold: started after the nodes were read, or so many that nodes must be missing.
fn strange_nodes(cluster: &Cluster, traces: &Traces) -> Option<Problem> {
    if cluster.nodes.is_empty() {
        return None;
    }
    let is_bound = |pod: &&Pod| pod.node_name.is_some() && !pod.is_terminal();
    let strange: Vec<&Pod> = cluster.pods.par_iter().filter(is_bound).filter(|pod| pod.node.is_none()).collect();
    let after =
        |pod: &&Pod| traces.nodes.zip(pod.started).is_some_and(|(nodes, pod)| pod.0 > nodes.0.saturating_add(MARGIN));
    let names = |pods: &[&Pod]| -> String {
        let names: BTreeSet<Symbol> = pods.iter().filter_map(|it| it.node_name).collect();
        let names: BTreeSet<&str> = names.into_iter().map(|it| cluster.text(it)).collect();
        some(names)
    };
    let later: Vec<&Pod> = strange.iter().copied().filter(after).collect();
    if !later.is_empty()
        && let Some(newest) = traces.nodes
    {
        let message = format!(
            "{} started after {}, the newest time of any Node, on nodes that the dump does not hold: {}",
            many(later.len() as u64, "pod"),
            text_of(newest),
            names(&later)
        );
        let help = "the Nodes are older than the Pods: newer nodes are missing; read both at one time";
        return Some(problem(ProblemCode::MixedAges, message, help));
    }
    if strange.len() < 5 {
        return None;
    }
    let bound = cluster.pods.iter().filter(is_bound).count();
    if strange.len() * 5 < bound {
        return None;
    }
    let message = format!(
        "{} of {bound} bound pods are on nodes that the dump does not hold: {}",
        strange.len(),
        names(&strange)
    );
    let help = "the list of Nodes is not whole, or was read at another time: add `kubectl get nodes -o json`";
    Some(problem(ProblemCode::MixedAges, message, help))
}

/// Pods that are newer than anything a kubelet said in its node.
fn silent_nodes(cluster: &Cluster, traces: &Traces) -> Option<Problem> {
    let (nodes, pods) = traces.nodes.zip(traces.pods)?;
    // Nodes of a simulated cluster may carry no time but that of their creation.
    let created = cluster.nodes.iter().filter_map(|it| it.created).max()?;
    let speak = nodes.0 > created.0.saturating_add(MARGIN);
    if !speak || pods.0 <= nodes.0.saturating_add(SILENT) {
        return None;
    }
    let message = format!(
        "the newest time in the Nodes is {}, in the Pods {}: kubelets write to their nodes every five minutes",
        text_of(nodes),
        text_of(pods)
    );
    let help = "the Nodes are older than the Pods: nodes that came since are missing, and taints and capacity may have \
                changed; read both at one time";
    Some(problem(ProblemCode::MixedAges, message, help))
}
