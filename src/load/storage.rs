//! Claims, volumes, storage classes and the objects of CSI.

use super::fault::Fault;
use super::meta::Meta;
use super::objects::Parts;
use super::primitive::{Pairs, Text, filled};
use super::selectors::{RawLabelSelector, RawNodeSelector};
use super::tables::Tables;
use super::volumes::RawPodVolume;
use crate::model::cluster::Origin;
use crate::model::id::Symbol;
use crate::model::quantity::Quantity;
use crate::model::uid::Uid;
use crate::model::volume::{
    AccessModes, BindingMode, Claim, ClaimRef, CsiDriver, CsiNode, CsiStorageCapacity, StorageClass, TopologyTerm,
    Volume, VolumeAttachment, VolumeSource,
};
use k8s_openapi::api::core::v1::{ObjectReference, TopologySelectorTerm};
use k8s_openapi::api::storage::v1::{CSIDriverSpec, CSINodeSpec, VolumeAttachmentSpec};
use serde::Deserialize;

/// The class of a claim or volume in the days before it had a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawClaimSpec<'a> {
    #[serde(borrow, default)]
    volume_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    storage_class_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    volume_attributes_class_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    access_modes: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    resources: Option<RawClaimResources<'a>>,
    #[serde(borrow, default)]
    volume_mode: Option<Text<'a>>,
    #[serde(borrow, default)]
    selector: Option<RawLabelSelector<'a>>,
}

#[derive(Deserialize)]
struct RawClaimResources<'a> {
    #[serde(borrow, default)]
    requests: Option<Pairs<'a, Quantity>>,
}

#[derive(Deserialize)]
struct RawPhase<'a> {
    #[serde(borrow, default)]
    phase: Option<Text<'a>>,
}

fn phase_is(parts: &Parts<'_>, json: &[u8], phase: &str) -> Result<bool, Fault> {
    let status: Option<RawPhase<'_>> = parts.status(json)?;
    Ok(status.is_some_and(|status| filled(status.phase.as_ref()) == Some(phase)))
}

fn access_modes(modes: Option<&Vec<Text<'_>>>) -> AccessModes {
    let has = |mode: &str| modes.into_iter().flatten().any(|it| &**it == mode);
    AccessModes {
        read_write_once: has("ReadWriteOnce"),
        read_only_many: has("ReadOnlyMany"),
        read_write_many: has("ReadWriteMany"),
        read_write_once_pod: has("ReadWriteOncePod"),
    }
}

fn storage(amounts: Option<&Pairs<'_, Quantity>>) -> Quantity {
    amounts.and_then(|amounts| amounts.get("storage")).copied().unwrap_or(Quantity::ZERO)
}

/// A PersistentVolumeClaim.
pub(super) fn claim(parts: &Parts<'_>, json: &[u8], origin: Origin, tables: &mut Tables) -> Result<Claim, Fault> {
    let default = Meta::default();
    let metadata = parts.metadata.as_ref().unwrap_or(&default);
    let spec: RawClaimSpec<'_> = parts.spec(json)?;
    let class = metadata.annotation(CLASS_ANNOTATION);
    let class = class.or_else(|| spec.storage_class_name.as_ref().map(|name| &*name.0));
    let selected_node = metadata.annotation("volume.kubernetes.io/selected-node").filter(|node| !node.is_empty());
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    Ok(Claim {
        namespace: tables.namespace(metadata.namespace()),
        name: tables.or_empty(metadata.name.as_ref()),
        uid: tables.uid(metadata.uid.as_ref()),
        controller_uid: metadata.controller().and_then(|owner| tables.uid(owner.uid.as_ref())),
        deleted: metadata.deletion_timestamp,
        lost: phase_is(parts, json, "Lost")?,
        volume_name: tables.filled(spec.volume_name.as_ref()),
        bind_completed: metadata.annotation("pv.kubernetes.io/bind-completed").is_some(),
        selected_node: selected_node.map(|node| tables.symbol(node)),
        storage_class: class.map(|name| tables.symbol(name)),
        volume_attributes_class: tables.filled(spec.volume_attributes_class_name.as_ref()),
        access_modes: access_modes(spec.access_modes.as_ref()),
        request: storage(requests),
        block: filled(spec.volume_mode.as_ref()) == Some("Block"),
        selector: RawLabelSelector::compile(spec.selector.as_ref(), tables),
        origin,
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawVolumeSpec<'a> {
    #[serde(borrow, default)]
    capacity: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    access_modes: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    volume_mode: Option<Text<'a>>,
    #[serde(borrow, default)]
    storage_class_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    volume_attributes_class_name: Option<Text<'a>>,
    #[serde(default)]
    claim_ref: Option<ObjectReference>,
    #[serde(borrow, default)]
    node_affinity: Option<RawVolumeAffinity<'a>>,
    #[serde(borrow, default)]
    csi: Option<RawCsiVolume<'a>>,
}

#[derive(Deserialize)]
struct RawVolumeAffinity<'a> {
    #[serde(borrow, default)]
    required: Option<RawNodeSelector<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCsiVolume<'a> {
    #[serde(borrow, default)]
    driver: Option<Text<'a>>,
    #[serde(borrow, default)]
    volume_handle: Option<Text<'a>>,
}

/// A PersistentVolume.
pub(super) fn volume(parts: &Parts<'_>, json: &[u8], origin: Origin, tables: &mut Tables) -> Result<Volume, Fault> {
    let default = Meta::default();
    let metadata = parts.metadata.as_ref().unwrap_or(&default);
    let spec: RawVolumeSpec<'_> = parts.spec(json)?;
    let disks: RawPodVolume<'_> = parts.spec(json)?;
    let class = metadata.annotation(CLASS_ANNOTATION);
    let class = class.or_else(|| filled(spec.storage_class_name.as_ref())).filter(|name| !name.is_empty());
    let claim = spec.claim_ref.as_ref().filter(|claim| claim.name.is_some());
    let claim_ref = claim.map(|claim| ClaimRef {
        namespace: tables.namespace(claim.namespace.as_deref().unwrap_or_default()),
        name: tables.symbol(claim.name.as_deref().unwrap_or_default()),
        uid: claim.uid.as_deref().filter(|uid| !uid.is_empty()).map(|uid| Uid::intern(uid, &mut tables.symbols)),
    });
    let source = match (&spec.csi, disks.disk(tables)) {
        (Some(csi), _) => VolumeSource::Csi {
            driver: tables.or_empty(csi.driver.as_ref()),
            handle: tables.or_empty(csi.volume_handle.as_ref()),
        },
        (None, Some(disk)) => VolumeSource::InTree(disk),
        (None, None) => VolumeSource::Other,
    };
    let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    Ok(Volume {
        name: tables.or_empty(metadata.name.as_ref()),
        labels: tables.labels(metadata.labels.as_ref()),
        deleted: metadata.deletion_timestamp,
        available: phase_is(parts, json, "Available")?,
        claim_ref,
        capacity: storage(spec.capacity.as_ref()),
        access_modes: access_modes(spec.access_modes.as_ref()),
        block: filled(spec.volume_mode.as_ref()) == Some("Block"),
        storage_class: class.map(|name| tables.symbol(name)),
        volume_attributes_class: tables.filled(spec.volume_attributes_class_name.as_ref()),
        node_affinity: required.map(|selector| selector.compile(tables)),
        source,
        origin,
    })
}

/// StorageClass: its fields stand at the top.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawStorageClass<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: Option<Meta<'a>>,
    #[serde(borrow, default)]
    provisioner: Option<Text<'a>>,
    #[serde(borrow, default)]
    volume_binding_mode: Option<Text<'a>>,
    #[serde(default)]
    allowed_topologies: Option<Vec<TopologySelectorTerm>>,
}

impl RawStorageClass<'_> {
    pub(super) fn convert(&self, origin: Origin, tables: &mut Tables) -> StorageClass {
        StorageClass {
            name: tables.or_empty(self.metadata.as_ref().and_then(|metadata| metadata.name.as_ref())),
            provisioner: tables.or_empty(self.provisioner.as_ref()),
            // The API server fills in Immediate.
            binding_mode: Some(match filled(self.volume_binding_mode.as_ref()) {
                None | Some("Immediate") => BindingMode::Immediate,
                Some("WaitForFirstConsumer") => BindingMode::WaitForFirstConsumer,
                Some(_) => BindingMode::Other,
            }),
            allowed_topologies: self.allowed_topologies.iter().flatten().map(|term| topology(term, tables)).collect(),
            origin,
        }
    }
}

fn topology(term: &TopologySelectorTerm, tables: &mut Tables) -> TopologyTerm {
    let mut requirements = Vec::new();
    for requirement in term.match_label_expressions.iter().flatten() {
        let mut values: Vec<Symbol> = requirement.values.iter().map(|value| tables.symbol(value)).collect();
        values.sort_unstable();
        values.dedup();
        requirements.push((tables.symbol(&requirement.key), values.into()));
    }
    TopologyTerm { requirements: requirements.into() }
}

/// A CSINode.
pub(super) fn csi_node(parts: &Parts<'_>, json: &[u8], tables: &mut Tables) -> Result<CsiNode, Fault> {
    let default = Meta::default();
    let metadata = parts.metadata.as_ref().unwrap_or(&default);
    let spec: CSINodeSpec = parts.spec(json)?;
    let migrated = metadata.annotation("storage.alpha.kubernetes.io/migrated-plugins").unwrap_or_default();
    let count = |driver: &k8s_openapi::api::storage::v1::CSINodeDriver| {
        driver.allocatable.as_ref().and_then(|it| it.count).map(i64::from)
    };
    Ok(CsiNode {
        name: tables.or_empty(metadata.name.as_ref()),
        migrated_plugins: migrated.split(',').filter(|it| !it.is_empty()).map(|it| tables.symbol(it)).collect(),
        drivers: spec.drivers.iter().map(|driver| (tables.symbol(&driver.name), count(driver))).collect(),
    })
}

/// A CSIDriver.
pub(super) fn csi_driver(parts: &Parts<'_>, json: &[u8], tables: &mut Tables) -> Result<CsiDriver, Fault> {
    let spec: CSIDriverSpec = parts.spec(json)?;
    Ok(CsiDriver {
        name: tables.or_empty(parts.metadata.as_ref().and_then(|metadata| metadata.name.as_ref())),
        storage_capacity: spec.storage_capacity.unwrap_or(false),
        prevent_pod_scheduling_if_missing: spec.prevent_pod_scheduling_if_missing.unwrap_or(false),
    })
}

/// A VolumeAttachment.
pub(super) fn attachment(parts: &Parts<'_>, json: &[u8], tables: &mut Tables) -> Result<VolumeAttachment, Fault> {
    let spec: VolumeAttachmentSpec = parts.spec(json)?;
    let volume = spec.source.persistent_volume_name.as_deref().filter(|name| !name.is_empty());
    Ok(VolumeAttachment {
        name: tables.or_empty(parts.metadata.as_ref().and_then(|metadata| metadata.name.as_ref())),
        node_name: tables.symbol(&spec.node_name),
        attacher: tables.symbol(&spec.attacher),
        volume_name: volume.map(|name| tables.symbol(name)),
    })
}

/// CSIStorageCapacity: its fields stand at the top.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawCapacity<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: Option<Meta<'a>>,
    #[serde(borrow, default)]
    storage_class_name: Option<Text<'a>>,
    #[serde(default)]
    capacity: Option<Quantity>,
    #[serde(default)]
    maximum_volume_size: Option<Quantity>,
    #[serde(borrow, default)]
    node_topology: Option<RawLabelSelector<'a>>,
}

impl RawCapacity<'_> {
    pub(super) fn convert(&self, tables: &mut Tables) -> CsiStorageCapacity {
        CsiStorageCapacity {
            storage_class: tables.or_empty(self.storage_class_name.as_ref()),
            capacity: self.capacity,
            maximum_volume_size: self.maximum_volume_size,
            node_topology: RawLabelSelector::compile(self.node_topology.as_ref(), tables),
        }
    }
}
