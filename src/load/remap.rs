//! From the ids of a batch's tables to those of the cluster's.
//!
//! Ids of the cluster are given out in the order in which objects, in canonical order, name things. What a batch keeps
//! sorted by its own ids is therefore gone through by text, and sorted again by the new ids.

use super::tables::Tables;
use crate::model::affinity::PodAffinityTerm;
use crate::model::cluster::SelectorOwner;
use crate::model::id::{LabelSetId, NamespaceId, ResourceId, Symbol};
use crate::model::node::Node;
use crate::model::pdb::Pdb;
use crate::model::pod::{Pod, PodSpec, RequestParts};
use crate::model::resources::{ResourceList, ResourceName};
use crate::model::selector::{LabelSelector, NodeSelector, Requirement};
use crate::model::uid::Uid;
use crate::model::volume::{
    Claim, CsiNode, CsiStorageCapacity, PodVolumeSource, StorageClass, Volume, VolumeAttachment, VolumeSource,
};
use std::sync::Arc;

/// A batch's tables with what is known of their places in the cluster's.
#[derive(Clone)]
pub(super) struct Batch<'t> {
    local: &'t Tables,
    symbols: Vec<Option<Symbol>>,
    label_sets: Vec<Option<LabelSetId>>,
    namespaces: Vec<Option<NamespaceId>>,
    resources: Vec<Option<ResourceId>>,
    specs: Vec<Option<(u32, Arc<PodSpec>)>>,
}

impl<'t> Batch<'t> {
    pub(super) fn new(local: &'t Tables) -> Self {
        Batch {
            symbols: vec![None; local.symbols.len()],
            label_sets: vec![None; local.label_sets.len()],
            namespaces: vec![None; local.namespaces.len()],
            resources: vec![None; local.resources.len()],
            specs: vec![None; local.specs.len()],
            local,
        }
    }

    /// Gives all ids of the batch their place in the tables, in their own order.
    pub(super) fn settle(&mut self, global: &mut Tables) {
        let Tables { symbols, label_sets, namespaces, resources, specs, .. } = self.local;
        let mut remap = Remap { batch: self, global };
        (0..symbols.len()).for_each(|at| remap.symbol(&mut Symbol::at(at)));
        (0..namespaces.len()).for_each(|at| remap.namespace(&mut NamespaceId::at(at)));
        (0..resources.len()).for_each(|at| remap.resource(&mut ResourceId::at(at)));
        (0..label_sets.len()).for_each(|at| remap.label_set(&mut LabelSetId::at(at)));
        (0..specs.len()).for_each(|at| drop(remap.spec(at)));
    }
}

/// What is remapped of a pod beside its own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// The number of its spec.
    pub(super) spec: u32,
    /// Its requests hold ids of resources. Most do not, and need not be looked at.
    pub(super) scalars: bool,
}

/// Gives out ids of the cluster's tables for those of one batch.
pub(super) struct Remap<'m, 't> {
    pub(super) batch: &'m mut Batch<'t>,
    pub(super) global: &'m mut Tables,
}

impl Remap<'_, '_> {
    pub(super) fn symbol(&mut self, symbol: &mut Symbol) {
        let Batch { local, symbols, .. } = &mut *self.batch;
        let known = &mut symbols[symbol.index()];
        *symbol = *known.get_or_insert_with(|| self.global.symbols.intern(local.symbols.text(*symbol)));
    }

    fn optional(&mut self, symbol: &mut Option<Symbol>) {
        if let Some(symbol) = symbol {
            self.symbol(symbol);
        }
    }

    fn uid(&mut self, uid: &mut Option<Uid>) {
        if let Some(mut symbol) = uid.and_then(Uid::symbol) {
            self.symbol(&mut symbol);
            *uid = Some(Uid::of_symbol(symbol));
        }
    }

    fn symbols(&mut self, symbols: &mut [Symbol]) {
        symbols.iter_mut().for_each(|symbol| self.symbol(symbol));
    }

    /// A set of symbols, sorted by id before and after.
    fn symbol_set(&mut self, set: &mut [Symbol]) {
        let local = self.batch.local;
        let texts = &local.symbols;
        set.sort_unstable_by(|a, b| texts.text(*a).cmp(texts.text(*b)));
        self.symbols(set);
        set.sort_unstable();
    }

    /// A map from symbols to symbols, sorted by key id before and after.
    fn symbol_map(&mut self, map: &mut [(Symbol, Symbol)]) {
        let local = self.batch.local;
        let texts = &local.symbols;
        map.sort_unstable_by(|a, b| texts.text(a.0).cmp(texts.text(b.0)));
        for (key, value) in &mut *map {
            self.symbol(key);
            self.symbol(value);
        }
        map.sort_unstable_by_key(|pair| pair.0);
    }

    pub(super) fn label_set(&mut self, set: &mut LabelSetId) {
        let known = self.batch.label_sets[set.index()].unwrap_or_else(|| {
            let mut pairs = self.batch.local.label_sets.pairs(*set).to_vec();
            self.symbol_map(&mut pairs);
            self.global.label_sets.intern(pairs)
        });
        self.batch.label_sets[set.index()] = Some(known);
        *set = known;
    }

    fn namespace(&mut self, namespace: &mut NamespaceId) {
        let Batch { local, namespaces, .. } = &mut *self.batch;
        let name = local.namespaces[namespace.index()];
        let known = &mut namespaces[namespace.index()];
        *namespace = *known.get_or_insert_with(|| self.global.namespace(local.symbols.text(name)));
    }

    fn resource(&mut self, resource: &mut ResourceId) {
        let Batch { local, resources, .. } = &mut *self.batch;
        let name = local.resources[resource.index()];
        let known = &mut resources[resource.index()];
        *resource = *known.get_or_insert_with(|| self.global.resource_id(local.symbols.text(name)));
    }

    /// A list sorted by name, before and after.
    fn resource_list(&mut self, list: &mut ResourceList) {
        // Scalars are sorted behind the named resources.
        let Some(first) = list.iter().position(|entry| entry.0.scalar().is_some()) else { return };
        let local = self.batch.local;
        let text = |name: ResourceName| name.scalar().map_or("", |id| local.symbols.text(local.resources[id.index()]));
        let scalars = &mut list[first..];
        scalars.sort_unstable_by(|a, b| text(a.0).cmp(text(b.0)));
        for (name, _) in &mut *scalars {
            match name {
                ResourceName::HugePages(id) | ResourceName::Scalar(id) => self.resource(id),
                ResourceName::Cpu | ResourceName::Memory | ResourceName::EphemeralStorage | ResourceName::Pods => {}
            }
        }
        scalars.sort_unstable_by_key(|entry| entry.0);
    }

    fn requirement(&mut self, requirement: &mut Requirement) {
        self.symbol(&mut requirement.key);
        self.symbol_set(&mut requirement.values);
    }

    fn label_selector(&mut self, selector: &mut LabelSelector) {
        if let LabelSelector::Requirements(requirements) = selector {
            requirements.iter_mut().for_each(|requirement| self.requirement(requirement));
        }
    }

    fn node_selector(&mut self, selector: &mut NodeSelector) {
        for term in &mut selector.terms {
            term.expressions.iter_mut().for_each(|it| self.requirement(&mut it.requirement));
            term.fields.iter_mut().for_each(|it| self.symbol(&mut it.name));
        }
    }

    pub(super) fn node(&mut self, node: &mut Node) {
        self.symbol(&mut node.name);
        self.uid(&mut node.uid);
        self.label_set(&mut node.labels);
        for taint in &mut node.taints {
            self.symbol(&mut taint.key);
            self.symbol(&mut taint.value);
        }
        self.resource_list(&mut node.allocatable);
        self.symbols(&mut node.declared_features);
        self.optional(&mut node.kubelet_version);
    }

    /// A pod with its links in the batch. Gives those in the cluster's tables.
    pub(super) fn pod(&mut self, pod: &mut Pod, links: Links) -> Links {
        self.namespace(&mut pod.namespace);
        self.symbol(&mut pod.name);
        self.uid(&mut pod.uid);
        self.label_set(&mut pod.labels);
        self.optional(&mut pod.priority_class);
        self.optional(&mut pod.node_name);
        self.optional(&mut pod.nominated_node_name);
        if let Some(owner) = &mut pod.owner {
            self.symbol(&mut owner.kind);
            self.symbol(&mut owner.name);
            self.optional(&mut owner.uid);
        }
        if links.scalars {
            self.requests(Arc::make_mut(&mut pod.requests));
        }
        let (spec, shared) = self.spec(links.spec as usize);
        pod.spec = shared;
        Links { spec, ..links }
    }

    fn spec(&mut self, at: usize) -> (u32, Arc<PodSpec>) {
        if let Some((number, shared)) = &self.batch.specs[at] {
            return (*number, Arc::clone(shared));
        }
        let mut spec = (*self.batch.local.specs[at]).clone();
        self.pod_spec(&mut spec);
        let number = self.global.spec(spec);
        let shared = Arc::clone(&self.global.specs[number as usize]);
        self.batch.specs[at] = Some((number, Arc::clone(&shared)));
        (number, shared)
    }

    fn pod_spec(&mut self, spec: &mut PodSpec) {
        self.symbol(&mut spec.scheduler_name);
        self.symbol_map(&mut spec.node_selector);
        if let Some(selector) = &mut spec.node_affinity {
            self.node_selector(selector);
        }
        spec.pod_affinity.iter_mut().for_each(|term| self.pod_affinity_term(term));
        spec.pod_anti_affinity.iter_mut().for_each(|term| self.pod_affinity_term(term));
        for toleration in &mut spec.tolerations {
            self.optional(&mut toleration.key);
            self.symbol(&mut toleration.value);
        }
        for constraint in &mut spec.spread {
            self.symbol(&mut constraint.topology_key);
            self.label_selector(&mut constraint.selector);
            self.symbols(&mut constraint.match_label_keys);
        }
        for port in &mut spec.host_ports {
            self.symbol(&mut port.ip);
            self.symbol(&mut port.protocol);
        }
        for volume in &mut spec.volumes {
            self.symbol(&mut volume.name);
            self.volume_source(&mut volume.source);
        }
        self.symbols(&mut spec.scheduling_gates);
        for claim in &mut spec.resource_claims {
            self.symbol(&mut claim.name);
            self.optional(&mut claim.claim);
        }
        self.optional(&mut spec.pod_group);
    }

    fn pod_affinity_term(&mut self, term: &mut PodAffinityTerm) {
        self.label_selector(&mut term.selector);
        term.namespaces.iter_mut().for_each(|namespace| self.namespace(namespace));
        self.label_selector(&mut term.namespace_selector);
        self.symbol(&mut term.topology_key);
    }

    fn requests(&mut self, parts: &mut RequestParts) {
        for container in parts.containers.iter_mut().chain(&mut parts.init_containers) {
            self.resource_list(&mut container.requests);
            if let Some(status) = &mut container.status {
                status.allocated.iter_mut().for_each(|list| self.resource_list(list));
                status.actuated.iter_mut().for_each(|list| self.resource_list(list));
            }
        }
        self.resource_list(&mut parts.overhead);
        parts.pod_level.iter_mut().for_each(|list| self.resource_list(list));
        if let Some(resize) = &mut parts.resize {
            resize.allocated.iter_mut().for_each(|list| self.resource_list(list));
            resize.actuated.iter_mut().for_each(|list| self.resource_list(list));
        }
    }

    fn volume_source(&mut self, source: &mut PodVolumeSource) {
        match source {
            PodVolumeSource::Claim(name) | PodVolumeSource::Ephemeral(name) => self.symbol(name),
            PodVolumeSource::GcePersistentDisk { pd_name, read_only: _ } => self.symbol(pd_name),
            PodVolumeSource::AwsElasticBlockStore { volume_id }
            | PodVolumeSource::Cinder { volume_id }
            | PodVolumeSource::Portworx { volume_id } => self.symbol(volume_id),
            PodVolumeSource::AzureDisk { disk_name, disk_uri } => {
                self.symbol(disk_name);
                self.symbol(disk_uri);
            }
            PodVolumeSource::AzureFile { share_name, secret_name } => {
                self.symbol(share_name);
                self.symbol(secret_name);
            }
            PodVolumeSource::Vsphere { volume_path } => self.symbol(volume_path),
            PodVolumeSource::Iscsi { iqn, read_only: _ } => self.symbol(iqn),
            PodVolumeSource::Rbd { monitors, pool, image, read_only: _ } => {
                self.symbols(monitors);
                self.symbol(pool);
                self.symbol(image);
            }
        }
    }

    pub(super) fn pdb(&mut self, pdb: &mut Pdb) {
        self.namespace(&mut pdb.namespace);
        self.symbol(&mut pdb.name);
        self.label_selector(&mut pdb.selector);
        self.symbol_set(&mut pdb.disrupted_pods);
    }

    pub(super) fn owner(&mut self, owner: &mut SelectorOwner) {
        self.namespace(&mut owner.namespace);
        self.symbol(&mut owner.name);
        self.label_selector(&mut owner.selector);
    }

    pub(super) fn claim(&mut self, claim: &mut Claim) {
        self.namespace(&mut claim.namespace);
        self.symbol(&mut claim.name);
        self.uid(&mut claim.uid);
        self.uid(&mut claim.controller_uid);
        for symbol in [
            &mut claim.volume_name,
            &mut claim.selected_node,
            &mut claim.storage_class,
            &mut claim.volume_attributes_class,
        ] {
            self.optional(symbol);
        }
        self.label_selector(&mut claim.selector);
    }

    pub(super) fn volume(&mut self, volume: &mut Volume) {
        self.symbol(&mut volume.name);
        self.label_set(&mut volume.labels);
        if let Some(claim) = &mut volume.claim_ref {
            self.namespace(&mut claim.namespace);
            self.symbol(&mut claim.name);
            self.uid(&mut claim.uid);
        }
        self.optional(&mut volume.storage_class);
        self.optional(&mut volume.volume_attributes_class);
        if let Some(selector) = &mut volume.node_affinity {
            self.node_selector(selector);
        }
        match &mut volume.source {
            VolumeSource::Csi { driver, handle } => {
                self.symbol(driver);
                self.symbol(handle);
            }
            VolumeSource::InTree(source) => self.volume_source(source),
            VolumeSource::Other => {}
        }
    }

    pub(super) fn class(&mut self, class: &mut StorageClass) {
        self.symbol(&mut class.name);
        self.symbol(&mut class.provisioner);
        for term in &mut class.allowed_topologies {
            for (key, values) in &mut term.requirements {
                self.symbol(key);
                self.symbol_set(values);
            }
        }
    }

    pub(super) fn csi_node(&mut self, node: &mut CsiNode) {
        self.symbol(&mut node.name);
        self.symbols(&mut node.migrated_plugins);
        node.drivers.iter_mut().for_each(|driver| self.symbol(&mut driver.0));
    }

    pub(super) fn capacity(&mut self, capacity: &mut CsiStorageCapacity) {
        self.symbol(&mut capacity.storage_class);
        self.label_selector(&mut capacity.node_topology);
    }

    pub(super) fn attachment(&mut self, attachment: &mut VolumeAttachment) {
        self.symbol(&mut attachment.name);
        self.symbol(&mut attachment.node_name);
        self.symbol(&mut attachment.attacher);
        self.optional(&mut attachment.volume_name);
    }
}
