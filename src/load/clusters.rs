//! Two clusters in one input.
//!
//! Objects of two clusters put together are a cluster that never was, so they are refused. What is certain is little: the
//! namespace `kube-system` lives as long as its cluster and its UID is never given twice. Where a dump lacks it, nodes have
//! to tell: those of one part were there when the other part was taken, and it does not know them. Nodes that were
//! replaced, parts without nodes, and everything that shares a UID are one cluster.

use super::doubts::many;
use super::folders::{Tree, is_border};
use super::object::Fact;
use super::survey::{Sight, Survey, Word};
use crate::model::cluster::Kind;
use crate::model::time::Time;
use crate::problem::{Problem, ProblemCode};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A cluster of which the input holds a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPart {
    /// The name of its folder or file, which `--cluster` takes.
    pub name: String,
    /// Folders and files, as the user would name them.
    pub paths: Vec<String>,
    /// Nodes and pods that it shows.
    pub objects: (u64, u64),
}

/// Clocks of nodes and API servers differ by less.
const MARGIN: i64 = 60_000_000_000;

/// What a file or a folder shows of its cluster.
#[derive(Clone, Debug, Default)]
struct Sign {
    /// UIDs of what every cluster has once, by what it is. The first two never change.
    anchors: BTreeMap<Anchor, BTreeSet<u32>>,
    /// UIDs of nodes, and when each came.
    nodes: BTreeMap<u32, Option<Time>>,
    /// Names of nodes, and of those that pods run on.
    names: BTreeSet<u32>,
    used: BTreeSet<u32>,
    /// UIDs of everything.
    uids: BTreeSet<u32>,
    newest: Option<Time>,
    /// UIDs of pods, or names where there are none.
    pods: BTreeSet<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    KubeSystem,
    Default,
    NodeCritical,
    ClusterCritical,
    Kubernetes,
}

impl Anchor {
    const LASTING: [Anchor; 2] = [Anchor::KubeSystem, Anchor::Default];
    const USUAL: [Anchor; 3] = [Anchor::NodeCritical, Anchor::ClusterCritical, Anchor::Kubernetes];

    fn of(sight: &Sight<'_>) -> Option<Anchor> {
        Some(match (sight.kind, sight.namespace, sight.name) {
            (Kind::Namespace, _, "kube-system") => Anchor::KubeSystem,
            (Kind::Namespace, _, "default") => Anchor::Default,
            (Kind::PriorityClass, _, "system-node-critical") => Anchor::NodeCritical,
            (Kind::PriorityClass, _, "system-cluster-critical") => Anchor::ClusterCritical,
            (Kind::Service, "default", "kubernetes") => Anchor::Kubernetes,
            _ => return None,
        })
    }
}

/// Clusters that the input holds beside each other; none where it is one.
pub(super) fn find(survey: Survey<'_>) -> Vec<ClusterPart> {
    if !may_be_several(survey) {
        return Vec::new();
    }
    let tree = Tree::of(survey.files.files.iter().map(|it| it.path.as_str()));
    let mut signs: Vec<Sign> = signs(survey);
    if let Some(file) = signs.iter().position(holds_two) {
        let path = survey.files.files[file].path.clone();
        return vec![part(path, &signs[file])];
    }
    let mut folders: Vec<Sign> = vec![Sign::default(); tree.folders.len()];
    for at in (0..tree.folders.len()).rev() {
        let mut sign = std::mem::take(&mut folders[at]);
        tree.folders[at].files.iter().for_each(|&file| sign.add(&signs[file]));
        if at > 0 {
            folders[tree.folders[at].parent].add(&sign);
        }
        folders[at] = sign;
    }
    for folder in &tree.folders {
        let mut parts: Vec<(&str, Sign)> =
            folder.files.iter().map(|&it| (tree.file_path(it), std::mem::take(&mut signs[it]))).collect();
        parts.extend(folder.folders.iter().map(|&it| (tree.folders[it].path, std::mem::take(&mut folders[it]))));
        let found = apart(&parts);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Whether anything hints at it: most inputs are done with here.
fn may_be_several(survey: Survey<'_>) -> bool {
    let mut lasting: BTreeMap<Anchor, Word<'_>> = BTreeMap::new();
    let mut file_of_nodes = None;
    let tells: fn(Kind) -> bool = |kind| matches!(kind, Kind::Node | Kind::Namespace);
    survey.sights_of(tells).any(|sight| match (sight.kind, sight.uid) {
        (Kind::Node, Some(_)) => *file_of_nodes.get_or_insert(sight.file) != sight.file,
        (Kind::Namespace, Some(uid)) => {
            Anchor::of(&sight).is_some_and(|anchor| *lasting.entry(anchor).or_insert(uid) != uid)
        }
        _ => false,
    })
}

fn signs(survey: Survey<'_>) -> Vec<Sign> {
    let mut signs = vec![Sign::default(); survey.files.files.len()];
    let mut numbers: FxHashMap<Word<'_>, u32> = FxHashMap::default();
    let mut number = |word| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(word).or_insert(next)
    };
    for sight in survey.sights().filter(|it| it.kind != Kind::Event) {
        let sign = &mut signs[sight.file];
        sign.newest = sign.newest.max(sight.newest);
        let uid = sight.uid.map(&mut number);
        sign.uids.extend(uid);
        if let (Some(anchor), Some(uid)) = (Anchor::of(&sight), uid) {
            sign.anchors.entry(anchor).or_default().insert(uid);
        }
        match sight.fact {
            Fact::Node(node) => {
                sign.names.insert(number(Word::of_text(sight.name)));
                sign.nodes.extend(uid.map(|uid| (uid, node.created)));
            }
            Fact::Pod(pod, _) => {
                sign.pods.insert(uid.unwrap_or_else(|| number(Word::of_text(sight.name))));
                sign.used.extend(pod.node_name.map(|it| number(Word::of_text(sight.text(it)))));
                let owner = pod.owner.and_then(|it| it.uid);
                sign.uids.extend(owner.map(|it| number(Word::of_text(sight.text(it)))));
            }
            _ => {}
        }
    }
    signs
}

fn holds_two(sign: &Sign) -> bool {
    Anchor::LASTING.iter().any(|it| sign.anchors.get(it).is_some_and(|uids| uids.len() > 1))
}

impl Sign {
    fn add(&mut self, other: &Sign) {
        for (anchor, uids) in &other.anchors {
            self.anchors.entry(*anchor).or_default().extend(uids);
        }
        self.nodes.extend(&other.nodes);
        self.names.extend(&other.names);
        self.used.extend(&other.used);
        self.uids.extend(&other.uids);
        self.newest = self.newest.max(other.newest);
        self.pods.extend(&other.pods);
    }

    /// Of those anchors that both show: whether there are any, and whether they all differ.
    fn differ(&self, other: &Sign, anchors: &[Anchor]) -> Option<bool> {
        let both = anchors.iter().filter_map(|it| self.anchors.get(it).zip(other.anchors.get(it)));
        both.map(|(a, b)| a.is_disjoint(b)).reduce(|all, one| all && one)
    }

    /// Whether the nodes of the part are such as another part would show if it were of the same cluster.
    fn nodes_are_strange_to(&self, other: &Sign) -> bool {
        let Some(taken) = other.newest else { return false };
        let stood = |created: &Option<Time>| created.is_some_and(|it| it.0.saturating_add(MARGIN) < taken.0);
        self.newest >= other.newest && self.nodes.values().all(stood)
    }

    /// Whether pods and nodes of a part know each other.
    fn is_whole(&self, other: &Sign) -> bool {
        let own = self.used.iter().any(|it| self.names.contains(it));
        let strange = self.used.iter().any(|it| other.names.contains(it) && !self.names.contains(it));
        !self.nodes.is_empty() && own && !strange
    }
}

/// Whether two parts are of different clusters.
fn are_strange(a: &Sign, b: &Sign) -> bool {
    let lasting = a.differ(b, &Anchor::LASTING);
    if let Some(differ) = lasting {
        return differ;
    }
    let disjoint = a.nodes.keys().all(|it| !b.nodes.contains_key(it));
    let whole = disjoint && a.is_whole(b) && b.is_whole(a);
    whole && (a.differ(b, &Anchor::USUAL) == Some(true) || a.nodes_are_strange_to(b) || b.nodes_are_strange_to(a))
}

/// Clusters among parts that lie beside each other; none where they are of one.
fn apart(parts: &[(&str, Sign)]) -> Vec<ClusterPart> {
    // Whatever shares a UID is of one cluster.
    let mut set: Vec<usize> = (0..parts.len()).collect();
    let mut first: FxHashMap<u32, usize> = FxHashMap::default();
    for (at, (_, sign)) in parts.iter().enumerate() {
        for uid in &sign.uids {
            let other = *first.entry(*uid).or_insert(at);
            let (a, b) = (root(&set, at), root(&set, other));
            set[a.max(b)] = a.min(b);
        }
    }
    let mut classes: BTreeMap<usize, (Vec<&str>, Sign)> = BTreeMap::new();
    for (at, (path, sign)) in parts.iter().enumerate() {
        let class = classes.entry(root(&set, at)).or_default();
        class.0.push(path);
        class.1.add(sign);
    }
    let telling: Vec<&(Vec<&str>, Sign)> =
        classes.values().filter(|it| !it.1.nodes.is_empty() || !it.1.anchors.is_empty()).collect();
    let strange = |at: usize| (0..telling.len()).any(|it| it != at && are_strange(&telling[at].1, &telling[it].1));
    // Of very many parts the first tell enough.
    let looked_at = telling.len().min(64);
    let found: Vec<usize> = (0..looked_at).filter(|&at| strange(at)).collect();
    let found = if found.is_empty() { Vec::new() } else { (0..telling.len()).filter(|&at| strange(at)).collect() };
    let name = |it: &usize| {
        let (paths, sign) = telling[*it];
        ClusterPart { paths: paths.iter().map(|it| (*it).to_owned()).collect(), ..part(paths[0].to_owned(), sign) }
    };
    found.iter().map(name).collect()
}

fn root(set: &[usize], mut at: usize) -> usize {
    while set[at] != at {
        at = set[at];
    }
    at
}

fn part(path: String, sign: &Sign) -> ClusterPart {
    let name = path.rsplit(is_border).next().unwrap_or(&path);
    let name = without_extension(name).to_owned();
    ClusterPart { name, objects: (sign.names.len() as u64, sign.pods.len() as u64), paths: vec![path] }
}

fn without_extension(name: &str) -> &str {
    const EXTENSIONS: &[&str] =
        &[".gz", ".xz", ".zst", ".tgz", ".zip", ".tar", ".json", ".yaml", ".yml", ".ndjson", ".txt"];
    let mut stem = name;
    while let Some(shorter) = EXTENSIONS.iter().find_map(|it| stem.strip_suffix(it)).filter(|it| !it.is_empty()) {
        stem = shorter;
    }
    stem
}

/// Why an input of several clusters is refused.
pub(super) fn refusal(clusters: &[ClusterPart]) -> Problem {
    const SHOWN: usize = 12;
    let line = |it: &ClusterPart| {
        let (nodes, pods) = it.objects;
        let more = if it.paths.len() > 1 { format!(" and {} more", it.paths.len() - 1) } else { String::new() };
        format!("{}: {}, {} ({}{more})", it.name, many(nodes, "node"), many(pods, "pod"), it.paths[0])
    };
    let (message, remedy) = match clusters {
        [one] => (format!("{} holds objects of more than one cluster", one.paths[0]), "write a file for each cluster:"),
        _ => (
            format!("the input holds dumps of {} clusters: an answer is of one", clusters.len()),
            "choose with --cluster NAME, or give the path of one:",
        ),
    };
    let mut lines: Vec<String> = clusters.iter().take(SHOWN).map(line).collect();
    if clusters.len() > SHOWN {
        lines.push(format!("… and {} more", clusters.len() - SHOWN));
    }
    let mut problem = Problem::new(ProblemCode::SeveralClusters, message);
    problem.help = Some(format!("{remedy}\n{}", lines.join("\n")));
    problem
}

/// Whether a file lies in a folder or an archive of this name, or has it itself.
pub(super) fn is_named(path: &str, name: &str) -> bool {
    let name = name.trim_end_matches(is_border);
    let is_edge = |rest: &str| rest.is_empty() || rest.starts_with(is_border);
    let begins = |at: usize| at == 0 || path[..at].ends_with(is_border);
    !name.is_empty()
        && path.match_indices(name).any(|(at, _)| {
            let rest = &path[at + name.len()..];
            let end = rest.find(is_border).unwrap_or(rest.len());
            begins(at) && (is_edge(rest) || without_extension(&format!("x{}", &rest[..end])) == "x")
        })
}

/// The problem of a name that no part of the input has.
pub(super) fn nothing_named(name: &str) -> Problem {
    let message = format!("no folder, archive or file of the input is named `{name}`");
    let mut problem = Problem::new(ProblemCode::SeveralClusters, message);
    problem.help = Some("give the name of the folder that holds one cluster's dump, or its path".to_owned());
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_by_its_folder_or_file() {
        for path in ["d/prod/nodes.json", "prod/x", "d/prod.tar.gz!x/y", "d/prod.json", "prod"] {
            assert!(is_named(path, "prod"), "{path}");
        }
        assert!(is_named("d/eks:1:cluster/prod/nodes.json", "eks:1:cluster/prod"));
        for path in ["d/prod-2/nodes.json", "d/preprod/x", "d/x.json", "d/prod.old.json"] {
            assert!(!is_named(path, "prod"), "{path}");
        }
    }
}
