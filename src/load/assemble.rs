//! Facts in canonical order to a cluster, in stretches that are put together at the same time.
//!
//! Ids are given out in the order in which objects name things. So the tables of the first stretch are those of the
//! cluster as far as they go, and what later ones name for the first time is added stretch by stretch: the ids are those
//! that one stretch of everything would have given.

use super::object::Fact;
use super::remap::{Batch, Links, Remap};
use super::tables::Tables;
use crate::model::cluster::{Cluster, Namespace};
use crate::model::id::{LabelSetId, NodeId, Symbol};
use crate::model::labels::LabelSets;
use crate::model::pod::Pod;
use crate::model::symbols::Symbols;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// How many objects are worth a thread's while.
const LEAST_SHARE: usize = 1 << 12;

/// How many of so many objects each thread takes.
pub(super) fn share(objects: usize) -> usize {
    objects.div_ceil(rayon::current_num_threads()).max(LEAST_SHARE)
}

/// A fact in the ids of a batch, and the object's name.
pub(super) struct Placed {
    pub(super) batch: u32,
    pub(super) name: Symbol,
    pub(super) fact: Fact,
}

/// The cluster of facts, given by stretches of their order. `locals` are the batches' tables, `names` all namespaces.
pub(super) fn assemble(stretches: Vec<Vec<Placed>>, locals: Vec<Tables>, names: &[&str]) -> Cluster {
    let rooms = rooms(&stretches, &locals);
    let stretch = |(facts, room)| Stretch::of(facts, room, &locals, names);
    let (mut tables, mut objects): (Vec<Tables>, Vec<Objects>) =
        stretches.into_par_iter().zip(rooms).map(stretch).map(|it| (it.tables, it.objects)).unzip();
    locals.into_par_iter().for_each(drop);
    let (mut global, mut all) = (tables.remove(0), objects.remove(0));
    let settled = |local| {
        let mut batch = Batch::new(local);
        batch.settle(&mut global);
        batch
    };
    let mut batches: Vec<Batch<'_>> = tables.iter().map(settled).collect();
    objects.par_iter_mut().zip(&mut batches).for_each(|(objects, batch)| {
        objects.renumber(batch);
        objects.renumber_pods(batch);
    });
    for more in objects {
        all.append(more);
    }
    all.finish(global)
}

/// How much a stretch is likely to hold.
struct Room {
    pods: usize,
    texts: usize,
    /// Of all texts.
    bytes: usize,
}

/// Room in the first stretch for what all hold: moved there, it needs no other.
fn rooms(stretches: &[Vec<Placed>], locals: &[Tables]) -> Vec<Room> {
    let pods = |facts: &Vec<Placed>| facts.iter().filter(|it| matches!(it.fact, Fact::Pod(..))).count();
    let mut pods: Vec<usize> = stretches.iter().map(pods).collect();
    let all_pods = pods.iter().sum();
    pods[0] = all_pods;
    let tables = || locals.iter().map(|it| &it.symbols);
    let (texts, bytes) = (tables().map(Symbols::len).sum(), tables().map(Symbols::bytes).sum());
    let room = |pods| {
        // More than its share, since some texts are everywhere.
        let part = |all: usize| all.min(all / all_pods.max(1) * 2 * pods);
        Room { pods, texts: part(texts), bytes: part(bytes) }
    };
    pods.into_iter().map(room).collect()
}

/// Facts that were put together, in the ids of their own tables.
struct Stretch {
    tables: Tables,
    objects: Objects,
}

#[derive(Default)]
struct Objects {
    cluster: Cluster,
    /// Pods with their links. They stay where they were read until all are known: there are many, and a second place for
    /// those of one stretch would be as much memory again.
    pods: Vec<(Box<Pod>, Links)>,
    namespace_labels: Vec<(Symbol, LabelSetId)>,
}

impl Stretch {
    fn of(facts: Vec<Placed>, room: Room, locals: &[Tables], names: &[&str]) -> Self {
        let (mut tables, mut objects) = (Tables::default(), Objects::default());
        objects.pods.reserve_exact(room.pods);
        // Most texts are the name of one pod.
        tables.symbols.reserve(room.pods);
        tables.symbols.reserve_texts(room.texts, room.bytes);
        for name in names {
            tables.namespace(name);
        }
        let mut batches: Vec<Option<Batch<'_>>> = locals.iter().map(|_| None).collect();
        for Placed { batch, name, fact } in facts {
            let batch = batch as usize;
            let batch = batches[batch].get_or_insert_with(|| Batch::new(&locals[batch]));
            objects.add(fact, name, &mut Remap { batch, global: &mut tables });
        }
        Stretch { tables, objects }
    }
}

impl Objects {
    /// Adds an object; objects come in canonical order.
    fn add(&mut self, fact: Fact, mut name: Symbol, remap: &mut Remap<'_, '_>) {
        let cluster = &mut self.cluster;
        match fact {
            Fact::Node(mut node) => {
                remap.node(&mut node);
                cluster.nodes.push(*node);
            }
            Fact::Pod(mut pod, links) => {
                let links = remap.pod(&mut pod, links);
                self.pods.push((pod, links));
            }
            Fact::Pdb(mut pdb) => {
                remap.pdb(&mut pdb);
                cluster.pdbs.push(*pdb);
            }
            Fact::PriorityClass(mut class) => {
                remap.symbol(&mut class.name);
                cluster.priority_classes.push(*class);
            }
            Fact::Namespace(mut labels) => {
                remap.symbol(&mut name);
                remap.label_set(&mut labels);
                self.namespace_labels.push((name, labels));
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
                cluster.storage.csi_nodes.push(*node);
            }
            Fact::CsiDriver(mut driver) => {
                remap.symbol(&mut driver.name);
                cluster.storage.csi_drivers.push(*driver);
            }
            Fact::Capacity(mut capacity) => {
                remap.capacity(&mut capacity);
                cluster.storage.capacities.push(*capacity);
            }
            Fact::Attachment(mut attachment) => {
                remap.attachment(&mut attachment);
                cluster.storage.attachments.push(*attachment);
            }
            Fact::Owner(mut owner) => {
                remap.owner(&mut owner);
                cluster.selector_owners.push(*owner);
            }
            Fact::Counted => {}
        }
    }

    /// Moves all objects but the pods to the ids that a settled batch knows.
    fn renumber(&mut self, batch: &mut Batch<'_>) {
        // Nothing is new any more.
        let mut none = Tables::default();
        let mut remap = Remap { batch, global: &mut none };
        let Cluster { nodes, pdbs, priority_classes, storage, selector_owners, .. } = &mut self.cluster;
        nodes.iter_mut().for_each(|it| remap.node(it));
        pdbs.iter_mut().for_each(|it| remap.pdb(it));
        priority_classes.iter_mut().for_each(|it| remap.symbol(&mut it.name));
        storage.volumes.iter_mut().for_each(|it| remap.volume(it));
        storage.claims.iter_mut().for_each(|it| remap.claim(it));
        storage.classes.iter_mut().for_each(|it| remap.class(it));
        storage.csi_nodes.iter_mut().for_each(|it| remap.csi_node(it));
        storage.csi_drivers.iter_mut().for_each(|it| remap.symbol(&mut it.name));
        storage.capacities.iter_mut().for_each(|it| remap.capacity(it));
        storage.attachments.iter_mut().for_each(|it| remap.attachment(it));
        selector_owners.iter_mut().for_each(|it| remap.owner(it));
        for (name, labels) in &mut self.namespace_labels {
            remap.symbol(name);
            remap.label_set(labels);
        }
    }

    /// The same of the pods, which are most of the work.
    fn renumber_pods(&mut self, batch: &Batch<'_>) {
        let share = share(self.pods.len());
        self.pods.par_chunks_mut(share).for_each(|pods| {
            let (mut batch, mut none) = (batch.clone(), Tables::default());
            let mut remap = Remap { batch: &mut batch, global: &mut none };
            for (pod, links) in pods {
                *links = remap.pod(pod, *links);
            }
        });
    }

    fn append(&mut self, mut more: Objects) {
        let (cluster, other) = (&mut self.cluster, &mut more.cluster);
        cluster.nodes.append(&mut other.nodes);
        self.pods.append(&mut more.pods);
        cluster.pdbs.append(&mut other.pdbs);
        cluster.priority_classes.append(&mut other.priority_classes);
        let (storage, other) = (&mut cluster.storage, &mut other.storage);
        storage.volumes.append(&mut other.volumes);
        storage.claims.append(&mut other.claims);
        storage.classes.append(&mut other.classes);
        storage.csi_nodes.append(&mut other.csi_nodes);
        storage.csi_drivers.append(&mut other.csi_drivers);
        storage.capacities.append(&mut other.capacities);
        storage.attachments.append(&mut other.attachments);
        cluster.selector_owners.append(&mut more.cluster.selector_owners);
        self.namespace_labels.append(&mut more.namespace_labels);
    }

    fn finish(self, tables: Tables) -> Cluster {
        let Objects { mut cluster, pods, namespace_labels } = self;
        let namespace_labels: FxHashMap<Symbol, LabelSetId> = namespace_labels.into_iter().collect();
        let namespace = |&name: &Symbol| {
            let labels = namespace_labels.get(&name).copied();
            Namespace { name, labels: labels.unwrap_or(LabelSets::EMPTY), present: labels.is_some() }
        };
        cluster.namespaces = tables.namespaces.iter().map(namespace).collect();
        cluster.symbols = tables.symbols;
        cluster.label_sets = tables.label_sets;
        cluster.resources = tables.resources;
        cluster.node_ids = cluster.nodes.iter().enumerate().map(|(at, node)| (node.name, NodeId::at(at))).collect();
        let node_ids = &cluster.node_ids;
        let pods = pods.into_par_iter().map(|(mut pod, _)| {
            pod.node = pod.node_name.and_then(|name| node_ids.get(&name).copied());
            *pod
        });
        cluster.pods = pods.collect();
        cluster.storage.index();
        cluster
    }
}
