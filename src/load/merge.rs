//! Facts of all batches to one cluster, in canonical order: every id depends on what the objects are, never on where they
//! stood or which batch read them.

use super::coverage::Ledger;
use super::harvest::{Entry, Harvest};
use super::object::{self, Fact};
use super::remap::{Batch, Remap};
use super::tables::{DEFAULT_NAMESPACE, Tables};
use crate::model::cluster::{Cluster, Kind, Namespace};
use crate::model::id::{LabelSetId, NodeId, Symbol};
use crate::model::labels::LabelSets;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::FileTable;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Where an entry is, with what it is sorted by.
#[derive(Clone, Copy)]
struct Key<'h> {
    kind: Kind,
    namespace: &'h str,
    name: &'h str,
    batch: usize,
    entry: usize,
}

impl Key<'_> {
    fn identity(&self, other: &Self) -> Ordering {
        self.kind
            .cmp(&other.kind)
            .then_with(|| self.namespace.cmp(other.namespace))
            .then_with(|| self.name.cmp(other.name))
    }
}

/// Merges the harvests; the ledger gets its counts.
pub(super) fn merge(files: &FileTable, mut harvests: Vec<Harvest>, ledger: &mut Ledger) -> (Cluster, Vec<Problem>) {
    let as_of = harvests.iter().filter_map(|harvest| harvest.newest).max();
    let entries: Vec<Vec<Entry>> = harvests.iter_mut().map(|harvest| std::mem::take(&mut harvest.entries)).collect();
    let keys = sorted_keys(&entries, &harvests);
    let (kept, copies) = newest_copies(&keys, &entries);
    let mut global = Tables::default();
    for name in namespaces(&kept) {
        global.namespace(name);
    }
    let problems = copies.into_iter().map(|(kind, copies)| copies.problem(files, kind)).collect();
    let order: Vec<(usize, usize)> = kept.iter().map(|key| (key.batch, key.entry)).collect();
    let mut builder = Builder::new(global, harvests.into_iter().map(|harvest| Batch::new(harvest.tables)).collect());
    let mut entries: Vec<Vec<Option<Entry>>> =
        entries.into_iter().map(|entries| entries.into_iter().map(Some).collect()).collect();
    for (batch, entry) in order {
        if let Some(entry) = entries[batch][entry].take() {
            ledger.count(entry.kind, entry.origin.file);
            builder.add(batch, entry);
        }
    }
    let mut cluster = builder.finish();
    cluster.as_of = as_of;
    (cluster, problems)
}

fn sorted_keys<'h>(entries: &[Vec<Entry>], harvests: &'h [Harvest]) -> Vec<Key<'h>> {
    let mut keys = Vec::with_capacity(entries.iter().map(Vec::len).sum());
    for (batch, (entries, harvest)) in entries.iter().zip(harvests).enumerate() {
        let texts = &harvest.tables.symbols;
        keys.extend(entries.iter().enumerate().map(|(at, entry)| Key {
            kind: entry.kind,
            namespace: entry.namespace.map_or("", |namespace| texts.text(namespace)),
            name: texts.text(entry.name),
            batch,
            entry: at,
        }));
    }
    keys.par_sort_by(|a, b| {
        let newer = || newer(&entries[b.batch][b.entry], &entries[a.batch][a.entry]);
        a.identity(b).then_with(newer)
    });
    keys
}

/// Orders copies of one object: the greater one is newer. Without versions to compare, the one read last is.
fn newer(a: &Entry, b: &Entry) -> Ordering {
    let versions = a.version.zip(b.version).map(|(a, b)| a.cmp(&b));
    versions.unwrap_or(Ordering::Equal).then(a.origin.cmp(&b.origin))
}

/// Copies of objects of one kind.
struct Copies {
    count: u64,
    example: String,
    origin: crate::model::cluster::Origin,
}

impl Copies {
    fn problem(self, files: &FileTable, kind: Kind) -> Problem {
        let Copies { count, example, origin } = self;
        let message = match count {
            1 => format!("{example} stands in the input more than once: the newest copy is used"),
            _ => format!("{count} copies of {} objects, such as {example}: the newest of each is used", kind.name()),
        };
        let mut problem = Problem::new(ProblemCode::Duplicate, message);
        problem.path = Some(files.file(origin.file).path.clone());
        problem.offset = Some(origin.offset);
        problem.object = Some(example);
        problem
    }
}

/// One key of every object, in order, and an account of the other copies.
fn newest_copies<'h>(keys: &[Key<'h>], entries: &[Vec<Entry>]) -> (Vec<Key<'h>>, BTreeMap<Kind, Copies>) {
    let mut kept: Vec<Key<'h>> = Vec::with_capacity(keys.len());
    let mut copies: BTreeMap<Kind, Copies> = BTreeMap::new();
    for key in keys {
        if kept.last().is_some_and(|last| last.identity(key).is_eq()) {
            let entry = &entries[key.batch][key.entry];
            let title = || {
                let namespace = entry.namespace.map(|_| key.namespace);
                object::title(key.kind, namespace, Some(key.name))
            };
            let first = || Copies { count: 0, example: title(), origin: entry.origin };
            copies.entry(key.kind).or_insert_with(first).count += 1;
        } else {
            kept.push(*key);
        }
    }
    kept.retain(|key| !entries[key.batch][key.entry].removed);
    (kept, copies)
}

/// The namespaces that objects live in or are, by name.
fn namespaces<'h>(keys: &[Key<'h>]) -> Vec<&'h str> {
    let mut names: Vec<&str> = keys.iter().map(|key| key.namespace).collect();
    names.extend(keys.iter().filter(|key| key.kind == Kind::Namespace).map(|key| key.name));
    names.dedup();
    names.push(DEFAULT_NAMESPACE);
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}

struct Builder {
    global: Tables,
    batches: Vec<Batch>,
    cluster: Cluster,
    namespace_labels: FxHashMap<Symbol, LabelSetId>,
}

impl Builder {
    fn new(global: Tables, batches: Vec<Batch>) -> Self {
        Builder { global, batches, cluster: Cluster::default(), namespace_labels: FxHashMap::default() }
    }

    /// Adds an object; objects come in canonical order.
    fn add(&mut self, batch: usize, entry: Entry) {
        let mut remap = Remap { batch: &mut self.batches[batch], global: &mut self.global };
        let cluster = &mut self.cluster;
        match entry.fact {
            Fact::Node(mut node) => {
                remap.node(&mut node);
                cluster.nodes.push(*node);
            }
            Fact::Pod(mut pod, spec) => {
                remap.pod(&mut pod, spec);
                cluster.pods.push(*pod);
            }
            Fact::Pdb(mut pdb) => {
                remap.pdb(&mut pdb);
                cluster.pdbs.push(*pdb);
            }
            Fact::PriorityClass(mut class) => {
                remap.symbol(&mut class.name);
                cluster.priority_classes.push(class);
            }
            Fact::Namespace(mut labels) => {
                let mut name = entry.name;
                remap.symbol(&mut name);
                remap.label_set(&mut labels);
                self.namespace_labels.insert(name, labels);
            }
            Fact::Volume(mut volume) => {
                remap.volume(&mut volume);
                cluster.storage.volumes.push(*volume);
            }
            Fact::Claim(mut claim) => {
                remap.claim(&mut claim);
                cluster.storage.claims.push(*claim);
            }
            Fact::Class(mut class) => {
                remap.class(&mut class);
                cluster.storage.classes.push(*class);
            }
            Fact::CsiNode(mut node) => {
                remap.csi_node(&mut node);
                cluster.storage.csi_nodes.push(node);
            }
            Fact::CsiDriver(mut driver) => {
                remap.symbol(&mut driver.name);
                cluster.storage.csi_drivers.push(driver);
            }
            Fact::Capacity(mut capacity) => {
                remap.capacity(&mut capacity);
                cluster.storage.capacities.push(capacity);
            }
            Fact::Attachment(mut attachment) => {
                remap.attachment(&mut attachment);
                cluster.storage.attachments.push(attachment);
            }
            Fact::Owner(mut owner) => {
                remap.owner(&mut owner);
                cluster.selector_owners.push(*owner);
            }
            Fact::Counted => {}
        }
    }

    fn finish(self) -> Cluster {
        let Builder { global, batches, mut cluster, namespace_labels } = self;
        drop(batches);
        let namespace = |&name: &Symbol| {
            let labels = namespace_labels.get(&name).copied();
            Namespace { name, labels: labels.unwrap_or(LabelSets::EMPTY), present: labels.is_some() }
        };
        cluster.namespaces = global.namespaces.iter().map(namespace).collect();
        cluster.symbols = global.symbols;
        cluster.label_sets = global.label_sets;
        cluster.resources = global.resources;
        cluster.node_ids = cluster.nodes.iter().enumerate().map(|(at, node)| (node.name, NodeId::at(at))).collect();
        for pod in &mut cluster.pods {
            pod.node = pod.node_name.and_then(|name| cluster.node_ids.get(&name).copied());
        }
        cluster.storage.index();
        cluster
    }
}
