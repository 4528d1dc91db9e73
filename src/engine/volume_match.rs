//! What a node offers to claims that are bound once their pod is placed: a volume that is there, or the means to make one.
//! Upstream: `volumebinding/binder.go`, `component-helpers/storage/volume/pv_helpers.go` FindMatchingVolume.

use super::framework::Fault;
use super::migration;
use super::node_view::NodeView;
use crate::kube::behavior::{AttributesClass, StorageCapacityCheck, VolumeMatchFields, VolumesBehavior};
use crate::model::cluster::Cluster;
use crate::model::id::Symbol;
use crate::model::labels::{self, LabelPairs};
use crate::model::selector::{LabelSelector, NodeSelector, NodeSelectorTerm};
use crate::model::volume::{AccessModes, Claim, CsiStorageCapacity, StorageClass, TopologyTerm, Volume};
use std::cmp::Ordering;

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// Provisioners of this prefix are no CSI drivers.
const IN_TREE: &str = "kubernetes.io/";

/// The claims of a pod that wait for its node.
#[derive(Clone)]
pub(crate) struct DelayedClaims<'a> {
    /// In the order of the pod's volumes.
    claims: Vec<Delayed<'a>>,
    /// Positions in `claims`, smallest request first: that is how upstream serves them.
    by_size: Vec<usize>,
}

#[derive(Clone)]
struct Delayed<'a> {
    claim: &'a Claim,
    class: &'a StorageClass,
    /// Volumes of the class that suit the claim, wherever they are; by name, where upstream's order is random.
    volumes: Result<Vec<Suitable<'a>>, Fault>,
}

#[derive(Clone, Copy)]
struct Suitable<'a> {
    volume: &'a Volume,
    /// The volume is meant for this claim: no other will do.
    reserved: bool,
}

/// What a node offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// A volume for every claim, or the means to make one.
    Enough,
    /// The same, as long as there is room in each of the storage pools: nobody keeps account of them.
    EnoughIfUntracked,
    /// Neither.
    NoVolume,
    /// The means, but no room.
    NoRoom,
}

impl<'a> DelayedClaims<'a> {
    /// Finds the volumes that suit the claims, which come with their classes.
    pub(crate) fn new(
        cluster: &'a Cluster,
        behavior: &VolumesBehavior,
        claims: &[(&'a Claim, &'a StorageClass)],
    ) -> Self {
        let delayed = |&(claim, class): &(&'a Claim, &'a StorageClass)| Delayed {
            claim,
            class,
            volumes: suitable(cluster, behavior, claim),
        };
        let claims: Vec<Delayed<'a>> = claims.iter().map(delayed).collect();
        let mut by_size: Vec<usize> = (0..claims.len()).collect();
        // Go's sort is stable for as few as these.
        by_size.sort_by(|&one, &other| claims[one].claim.request.cmp(&claims[other].claim.request));
        DelayedClaims { claims, by_size }
    }

    /// What a node offers to the claims.
    pub(crate) fn offer(
        &self,
        cluster: &Cluster,
        behavior: &VolumesBehavior,
        view: &NodeView<'_>,
    ) -> Result<Offer, Fault> {
        let node = view.node().name;
        if self.claims.iter().any(|it| it.claim.selected_node.is_some_and(|selected| selected != node)) {
            return Ok(Offer::NoVolume);
        }
        let mut to_provision: Vec<&Delayed<'a>> =
            self.claims.iter().filter(|it| it.claim.selected_node.is_some()).collect();
        let mut chosen: Vec<Symbol> = Vec::new();
        for delayed in self.by_size.iter().map(|&at| &self.claims[at]).filter(|it| it.claim.selected_node.is_none()) {
            let volumes = delayed.volumes.as_ref().map_err(|fault| *fault)?;
            let reaches = |volume: &Volume| admits(cluster, behavior, volume.node_affinity.as_ref(), view.labels());
            match smallest(volumes.iter().filter(|one| !chosen.contains(&one.volume.name)), reaches) {
                Some(volume) => chosen.push(volume.name),
                None => to_provision.push(delayed),
            }
        }
        let mut offer = Offer::Enough;
        for delayed in to_provision {
            match provision(cluster, behavior, delayed, view.labels()) {
                Offer::Enough => {}
                Offer::EnoughIfUntracked => offer = Offer::EnoughIfUntracked,
                refused @ (Offer::NoVolume | Offer::NoRoom) => return Ok(refused),
            }
        }
        Ok(offer)
    }

    /// Whether there is no claim.
    pub(crate) fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }
}

/// The volumes that suit a claim but for their place.
fn suitable<'a>(cluster: &'a Cluster, behavior: &VolumesBehavior, claim: &Claim) -> Result<Vec<Suitable<'a>>, Fault> {
    match behavior.attributes_class {
        AttributesClass::Refused if claim.volume_attributes_class.is_some() => {
            return Err(Fault::VolumeAttributesClassOff { claim: claim.name });
        }
        AttributesClass::Refused | AttributesClass::NotCompared | AttributesClass::Matched => {}
    }
    if claim.selector == LabelSelector::Invalid {
        return Err(Fault::UnparsableClaimSelector { claim: claim.name });
    }
    let fits = |volume: &Volume| {
        let class_fits = match behavior.attributes_class {
            AttributesClass::NotCompared => true,
            AttributesClass::Refused => volume.volume_attributes_class.is_none(),
            AttributesClass::Matched => volume.volume_attributes_class == claim.volume_attributes_class,
        };
        class_fits
            && volume.capacity.cmp(&claim.request) != Ordering::Less
            && volume.block == claim.block
            && volume.deleted.is_none()
    };
    let is_free = |volume: &Volume| {
        let labels = cluster.label_sets.pairs(volume.labels);
        let selected = matches!(claim.selector, LabelSelector::Absent) || claim.selector.matches(labels);
        volume.available && selected && covers(volume.access_modes, claim.access_modes)
    };
    let suit = |volume: &'a Volume| {
        let reserved = volume.claim_ref.is_some();
        let usable = if reserved { is_reserved_for(volume, claim) } else { is_free(volume) };
        (usable && fits(volume)).then_some(Suitable { volume, reserved })
    };
    Ok(cluster.storage.volumes_of_class(claim.storage_class).filter_map(suit).collect())
}

/// Upstream: `IsVolumeBoundToClaim`.
fn is_reserved_for(volume: &Volume, claim: &Claim) -> bool {
    volume.claim_ref.is_some_and(|it| {
        it.namespace == claim.namespace && it.name == claim.name && (it.uid.is_none() || it.uid == claim.uid)
    })
}

fn covers(offered: AccessModes, asked: AccessModes) -> bool {
    (offered.read_write_once || !asked.read_write_once)
        && (offered.read_only_many || !asked.read_only_many)
        && (offered.read_write_many || !asked.read_write_many)
        && (offered.read_write_once_pod || !asked.read_write_once_pod)
}

/// The volume that upstream would take on a node: the one that is meant for the claim, else the smallest.
fn smallest<'v, 'a: 'v>(
    volumes: impl Iterator<Item = &'v Suitable<'a>>,
    reaches: impl Fn(&Volume) -> bool,
) -> Option<&'a Volume> {
    let mut best: Option<&'a Volume> = None;
    for one in volumes {
        if one.reserved {
            return reaches(one.volume).then_some(one.volume);
        }
        if best.is_none_or(|best| one.volume.capacity < best.capacity) && reaches(one.volume) {
            best = Some(one.volume);
        }
    }
    best
}

/// Whether a volume's required node affinity admits a node with these labels. Upstream: `CheckNodeAffinity`.
pub(crate) fn admits(
    cluster: &Cluster,
    behavior: &VolumesBehavior,
    affinity: Option<&NodeSelector>,
    node_labels: &LabelPairs,
) -> bool {
    let matches = |term: &NodeSelectorTerm| match behavior.volume_match_fields {
        VolumeMatchFields::AgainstNoName => term.matches(&cluster.symbols, migration::UNUSED, node_labels),
        VolumeMatchFields::PassedOver => {
            let is_empty = term.expressions.is_empty() && term.fields.is_empty();
            !term.invalid && !is_empty && term.expressions.iter().all(|it| it.matches(&cluster.symbols, node_labels))
        }
    };
    affinity.is_none_or(|it| it.terms.iter().any(matches))
}

/// Whether a volume can be made for the claim on a node with these labels.
fn provision(cluster: &Cluster, behavior: &VolumesBehavior, delayed: &Delayed<'_>, node_labels: &LabelPairs) -> Offer {
    let class = delayed.class;
    let provisioner = cluster.text(class.provisioner);
    if provisioner.is_empty() || provisioner == NO_PROVISIONER || !allows(&class.allowed_topologies, node_labels) {
        return Offer::NoVolume;
    }
    let limit = match behavior.storage_capacity {
        StorageCapacityCheck::Unchecked => return Offer::Enough,
        StorageCapacityCheck::Capacity => |it: &CsiStorageCapacity| it.capacity,
        StorageCapacityCheck::MaximumVolumeSize => |it: &CsiStorageCapacity| it.maximum_volume_size.or(it.capacity),
    };
    // The API server admits no claim that asks for nothing; one that does is not held against the capacity.
    let size = delayed.claim.request.value();
    match cluster.storage.csi_driver(class.provisioner) {
        _ if size == 0 => return Offer::Enough,
        None if provisioner.starts_with(IN_TREE) => return Offer::Enough,
        None => return Offer::EnoughIfUntracked,
        Some(driver) if !driver.storage_capacity => return Offer::Enough,
        Some(_) => {}
    }
    let has_room = |capacity: &CsiStorageCapacity| {
        limit(capacity).is_some_and(|limit| limit.value() >= size) && capacity.node_topology.matches(node_labels)
    };
    if cluster.storage.capacities_of_class(class.name).any(has_room) { Offer::Enough } else { Offer::NoRoom }
}

/// Whether a class makes volumes for a node with these labels. Upstream: `MatchTopologySelectorTerms`.
fn allows(terms: &[TopologyTerm], node_labels: &LabelPairs) -> bool {
    let holds = |term: &TopologyTerm| {
        let has = |(key, values): &(Symbol, Box<[Symbol]>)| {
            labels::value(node_labels, *key).is_some_and(|value| values.contains(&value))
        };
        !term.requirements.is_empty() && term.requirements.iter().all(has)
    };
    terms.is_empty() || terms.iter().any(holds)
}
