//! Objects to cluster, in canonical order: every id depends on what the objects are, never on where they stood.

use super::fault::{self, Fault};
use super::inventory::{self, Entry, Inventory};
use super::node::RawNode;
use super::objects::{self, Parts, RawPriorityClass};
use super::pod::RawPod;
use super::storage::{self, RawCapacity, RawStorageClass};
use super::tables::Tables;
use super::{Loaded, meta::Meta};
use crate::model::cluster::{Cluster, Kind, Namespace, SelectorOwnerKind};
use crate::model::id::{NodeId, Symbol};
use crate::model::labels::LabelSets;
use crate::model::time::Time;
use crate::problem::Problem;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// Builds the cluster.
pub(super) fn build(inventory: Inventory<'_>) -> Loaded {
    let Inventory { entries, mut ledger, problems, skipped, server_version, taken } = inventory;
    let mut builder = Builder { problems, ..Builder::default() };
    for name in inventory::namespaces(&entries) {
        builder.tables.namespace(name);
    }
    for entry in &entries {
        match builder.object(entry) {
            Ok(()) => ledger.count(entry.kind),
            Err(fault) => {
                ledger.reject(entry.kind);
                builder.problems.push(entry.problem(&fault));
            }
        }
    }
    let (mut cluster, problems) = builder.finish();
    cluster.as_of = taken.or(cluster.as_of);
    cluster.coverage = ledger.coverage();
    Loaded { cluster, problems, skipped, server_version }
}

#[derive(Default)]
struct Builder {
    tables: Tables,
    cluster: Cluster,
    namespace_labels: FxHashMap<Symbol, crate::model::id::LabelSetId>,
    as_of: Option<Time>,
    problems: Vec<Problem>,
}

impl Builder {
    fn object(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        let (json, origin) = (entry.json, entry.origin);
        let newest = match entry.kind {
            Kind::Node => {
                let raw: RawNode<'_> = fault::read(json)?;
                self.cluster.nodes.push(raw.convert(origin, &mut self.tables));
                raw.newest()
            }
            Kind::Pod => {
                let raw: RawPod<'_> = fault::read(json)?;
                self.cluster.pods.push(raw.convert(origin, &mut self.tables));
                raw.newest()
            }
            Kind::PriorityClass => {
                let raw: RawPriorityClass<'_> = fault::read(json)?;
                self.cluster.priority_classes.push(raw.convert(origin, &mut self.tables));
                raw.newest()
            }
            Kind::StorageClass => {
                let raw: RawStorageClass<'_> = fault::read(json)?;
                self.cluster.storage.classes.push(raw.convert(origin, &mut self.tables));
                raw.newest()
            }
            Kind::CsiStorageCapacity => {
                let raw: RawCapacity<'_> = fault::read(json)?;
                self.cluster.storage.capacities.push(raw.convert(&mut self.tables));
                raw.newest()
            }
            Kind::Event => fault::read::<RawEvent>(json)?.newest(),
            _ => {
                let parts: Parts<'_> = fault::read(json)?;
                self.parts(entry, &parts)?;
                parts.metadata.as_ref().and_then(Meta::newest)
            }
        };
        self.as_of = self.as_of.max(newest);
        Ok(())
    }

    fn parts(&mut self, entry: &Entry<'_>, parts: &Parts<'_>) -> Result<(), Fault> {
        let (json, origin, tables) = (entry.json, entry.origin, &mut self.tables);
        let storage = &mut self.cluster.storage;
        let mut owner = |kind| objects::selector_owner(parts, json, kind, tables);
        match entry.kind {
            Kind::Service => self.cluster.selector_owners.push(owner(SelectorOwnerKind::Service)?),
            Kind::ReplicationController => {
                self.cluster.selector_owners.push(owner(SelectorOwnerKind::ReplicationController)?);
            }
            Kind::ReplicaSet => self.cluster.selector_owners.push(owner(SelectorOwnerKind::ReplicaSet)?),
            Kind::StatefulSet => self.cluster.selector_owners.push(owner(SelectorOwnerKind::StatefulSet)?),
            Kind::PodDisruptionBudget => {
                let v1beta1 = entry.api_version == "policy/v1beta1";
                let (pdb, fault) = objects::pdb(parts, json, v1beta1, origin, tables)?;
                self.cluster.pdbs.push(pdb);
                if let Some(fault) = fault {
                    let title = format!("{}: its status", entry.title());
                    self.problems.push(inventory::problem(&fault, entry.path, origin.offset, &title, false));
                }
            }
            Kind::Namespace => {
                let labels = parts.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
                let labels = tables.labels(labels);
                self.namespace_labels.insert(tables.symbol(&entry.name), labels);
            }
            Kind::PersistentVolume => storage.volumes.push(storage::volume(parts, json, origin, tables)?),
            Kind::PersistentVolumeClaim => storage.claims.push(storage::claim(parts, json, origin, tables)?),
            Kind::CsiNode => storage.csi_nodes.push(storage::csi_node(parts, json, tables)?),
            Kind::CsiDriver => storage.csi_drivers.push(storage::csi_driver(parts, json, tables)?),
            Kind::VolumeAttachment => storage.attachments.push(storage::attachment(parts, json, tables)?),
            // Counted only, or read before their parts.
            Kind::ResourceClaim
            | Kind::ResourceSlice
            | Kind::DeviceClass
            | Kind::DeviceTaintRule
            | Kind::PodGroup
            | Kind::Event
            | Kind::Node
            | Kind::Pod
            | Kind::PriorityClass
            | Kind::StorageClass
            | Kind::CsiStorageCapacity => {}
        }
        Ok(())
    }

    fn finish(self) -> (Cluster, Vec<Problem>) {
        let Builder { tables, mut cluster, namespace_labels, as_of, problems } = self;
        let namespace = |&name: &Symbol| {
            let labels = namespace_labels.get(&name).copied();
            Namespace { name, labels: labels.unwrap_or(LabelSets::EMPTY), present: labels.is_some() }
        };
        cluster.namespaces = tables.namespaces.iter().map(namespace).collect();
        cluster.symbols = tables.symbols;
        cluster.label_sets = tables.label_sets;
        cluster.resources = tables.resources;
        cluster.as_of = as_of;
        cluster.node_ids = cluster.nodes.iter().enumerate().map(|(at, node)| (node.name, NodeId::at(at))).collect();
        for pod in &mut cluster.pods {
            pod.node = pod.node_name.and_then(|name| cluster.node_ids.get(&name).copied());
        }
        cluster.storage.index();
        (cluster, problems)
    }
}

/// `v1` and `events.k8s.io` Events: only when.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent {
    #[serde(default)]
    last_timestamp: Option<Time>,
    #[serde(default)]
    deprecated_last_timestamp: Option<Time>,
    #[serde(default)]
    event_time: Option<Time>,
}

impl RawEvent {
    fn newest(&self) -> Option<Time> {
        self.last_timestamp.max(self.deprecated_last_timestamp).max(self.event_time)
    }
}
