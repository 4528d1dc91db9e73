//! Volumes, claims and what storage plugins read.

use super::cluster::Origin;
use super::id::{ClaimId, LabelSetId, NamespaceId, Symbol, VolumeId};
use super::quantity::Quantity;
use super::selector::{LabelSelector, NodeSelector};
use super::time::Time;
use super::uid::Uid;
use rustc_hash::FxHashMap;

/// A volume of a pod that some filter looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodVolume {
    /// `name` within the pod.
    pub name: Symbol,
    /// What it is.
    pub source: PodVolumeSource,
}

/// The source of a pod's volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PodVolumeSource {
    /// `persistentVolumeClaim.claimName`.
    Claim(Symbol),
    /// A generic ephemeral volume: the claim is named `<pod>-<volume>`, given here, and must be controlled by the pod.
    Ephemeral(Symbol),
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        pd_name: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `azureDisk`.
    AzureDisk {
        /// `diskName`.
        disk_name: Symbol,
        /// `diskURI`.
        disk_uri: Symbol,
    },
    /// `cinder`.
    Cinder {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `portworxVolume`.
    Portworx {
        /// `volumeID`.
        volume_id: Symbol,
    },
    /// `azureFile`.
    AzureFile {
        /// `shareName`.
        share_name: Symbol,
        /// `secretName`.
        secret_name: Symbol,
    },
    /// `vsphereVolume`.
    Vsphere {
        /// `volumePath`.
        volume_path: Symbol,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`.
        iqn: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`, in list order.
        monitors: Box<[Symbol]>,
        /// `pool`; the default `rbd` is filled in.
        pool: Symbol,
        /// `image`.
        image: Symbol,
        /// `readOnly`.
        read_only: bool,
    },
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// `metadata.namespace`.
    pub namespace: NamespaceId,
    /// `metadata.name`.
    pub name: Symbol,
    /// `metadata.uid`.
    pub uid: Option<Uid>,
    /// UID of the controlling owner, for claims of generic ephemeral volumes.
    pub controller_uid: Option<Uid>,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Time>,
    /// `status.phase` is `Lost`.
    pub lost: bool,
    /// `spec.volumeName`, not empty.
    pub volume_name: Option<Symbol>,
    /// Annotation `pv.kubernetes.io/bind-completed` is there.
    pub bind_completed: bool,
    /// Annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<Symbol>,
    /// Annotation `volume.beta.kubernetes.io/storage-class`, else `spec.storageClassName`; `Some` of an empty text is a
    /// claim that asks for no class.
    pub storage_class: Option<Symbol>,
    /// `spec.volumeAttributesClassName`, not empty.
    pub volume_attributes_class: Option<Symbol>,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.resources.requests.storage`.
    pub request: Quantity,
    /// `spec.volumeMode: Block`.
    pub block: bool,
    /// `spec.selector`.
    pub selector: LabelSelector,
    /// Where the object was read.
    pub origin: Origin,
}

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessModes {
    /// ReadWriteOnce.
    pub read_write_once: bool,
    /// ReadOnlyMany.
    pub read_only_many: bool,
    /// ReadWriteMany.
    pub read_write_many: bool,
    /// ReadWriteOncePod.
    pub read_write_once_pod: bool,
}

/// A PersistentVolume.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// `metadata.name`.
    pub name: Symbol,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Time>,
    /// `status.phase` is `Available`.
    pub available: bool,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRef>,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub access_modes: AccessModes,
    /// `spec.volumeMode: Block`.
    pub block: bool,
    /// Annotation `volume.beta.kubernetes.io/storage-class`, else `spec.storageClassName`; `None` is the empty class.
    pub storage_class: Option<Symbol>,
    /// `spec.volumeAttributesClassName`, not empty.
    pub volume_attributes_class: Option<Symbol>,
    /// `spec.nodeAffinity.required`.
    pub node_affinity: Option<NodeSelector>,
    /// What backs it.
    pub source: VolumeSource,
    /// Where the object was read.
    pub origin: Origin,
}

/// `spec.claimRef` of a PersistentVolume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// Namespace of the claim.
    pub namespace: NamespaceId,
    /// Name of the claim.
    pub name: Symbol,
    /// UID of the claim; `None` before it is bound for good.
    pub uid: Option<Uid>,
}

/// What backs a PersistentVolume, as far as a filter tells it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeSource {
    /// `spec.csi`.
    Csi {
        /// `driver`.
        driver: Symbol,
        /// `volumeHandle`.
        handle: Symbol,
    },
    /// An in-tree type that has or had a migration to CSI, under the names a pod's volume would give it.
    InTree(PodVolumeSource),
    /// Anything else: local, NFS, host path, …
    Other,
}

/// A StorageClass.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageClass {
    /// `metadata.name`.
    pub name: Symbol,
    /// `provisioner`.
    pub provisioner: Symbol,
    /// `volumeBindingMode`.
    pub binding_mode: Option<BindingMode>,
    /// `allowedTopologies`; each term's requirements are all `In`.
    pub allowed_topologies: Box<[TopologyTerm]>,
    /// Where the object was read.
    pub origin: Origin,
}

/// `volumeBindingMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingMode {
    /// A volume is bound as soon as the claim is there.
    Immediate,
    /// A volume is bound once a pod is placed.
    WaitForFirstConsumer,
    /// Anything else.
    Other,
}

/// One alternative of `allowedTopologies`: (key, sorted values), all of which must hold; without any it never matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyTerm {
    /// Key and allowed values.
    pub requirements: Box<[(Symbol, Box<[Symbol]>)]>,
}

/// A CSINode.
#[derive(Clone, Debug, PartialEq)]
pub struct CsiNode {
    /// `metadata.name`: the node's.
    pub name: Symbol,
    /// Annotation `storage.alpha.kubernetes.io/migrated-plugins`, split.
    pub migrated_plugins: Box<[Symbol]>,
    /// `spec.drivers`: name and `allocatable.count`.
    pub drivers: Box<[(Symbol, Option<i64>)]>,
}

/// A CSIDriver.
#[derive(Clone, Debug, PartialEq)]
pub struct CsiDriver {
    /// `metadata.name`.
    pub name: Symbol,
    /// `spec.storageCapacity`.
    pub storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`.
    pub prevent_pod_scheduling_if_missing: bool,
}

/// A CSIStorageCapacity.
#[derive(Clone, Debug, PartialEq)]
pub struct CsiStorageCapacity {
    /// `storageClassName`.
    pub storage_class: Symbol,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`.
    pub maximum_volume_size: Option<Quantity>,
    /// `nodeTopology`; `Absent` matches no node.
    pub node_topology: LabelSelector,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeAttachment {
    /// `metadata.name`.
    pub name: Symbol,
    /// `spec.nodeName`.
    pub node_name: Symbol,
    /// `spec.attacher`: a CSI driver.
    pub attacher: Symbol,
    /// `spec.source.persistentVolumeName`.
    pub volume_name: Option<Symbol>,
}

/// The storage objects of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// Claims, by namespace and name.
    pub claims: Vec<Claim>,
    /// Volumes, by name.
    pub volumes: Vec<Volume>,
    /// Storage classes, by name.
    pub classes: Vec<StorageClass>,
    /// CSINodes, by name.
    pub csi_nodes: Vec<CsiNode>,
    /// CSIDrivers, by name.
    pub csi_drivers: Vec<CsiDriver>,
    /// CSIStorageCapacities, by namespace and name.
    pub capacities: Vec<CsiStorageCapacity>,
    /// VolumeAttachments, by name.
    pub attachments: Vec<VolumeAttachment>,
    claim_ids: FxHashMap<(NamespaceId, Symbol), ClaimId>,
    volume_ids: FxHashMap<Symbol, VolumeId>,
    volumes_by_class: FxHashMap<Option<Symbol>, Vec<VolumeId>>,
    class_at: FxHashMap<Symbol, usize>,
    csi_node_at: FxHashMap<Symbol, usize>,
    csi_driver_at: FxHashMap<Symbol, usize>,
    capacities_by_class: FxHashMap<Symbol, Vec<usize>>,
    attachments_by_node: FxHashMap<Symbol, Vec<usize>>,
}

impl Storage {
    /// Indexes all lists by what they are asked for; to be called once they are complete.
    pub fn index(&mut self) {
        self.claim_ids =
            self.claims.iter().enumerate().map(|(at, it)| ((it.namespace, it.name), ClaimId::at(at))).collect();
        self.volume_ids = self.volumes.iter().enumerate().map(|(at, it)| (it.name, VolumeId::at(at))).collect();
        self.volumes_by_class = grouped(self.volumes.iter().map(|it| it.storage_class), VolumeId::at);
        self.class_at = positions(self.classes.iter().map(|it| it.name));
        self.csi_node_at = positions(self.csi_nodes.iter().map(|it| it.name));
        self.csi_driver_at = positions(self.csi_drivers.iter().map(|it| it.name));
        self.capacities_by_class = grouped(self.capacities.iter().map(|it| it.storage_class), |at| at);
        self.attachments_by_node = grouped(self.attachments.iter().map(|it| it.node_name), |at| at);
    }

    /// The claim of this namespace and name.
    pub fn claim(&self, namespace: NamespaceId, name: Symbol) -> Option<&Claim> {
        self.claim_ids.get(&(namespace, name)).map(|id| &self.claims[id.index()])
    }

    /// The volume of this name.
    pub fn volume(&self, name: Symbol) -> Option<&Volume> {
        self.volume_ids.get(&name).map(|id| &self.volumes[id.index()])
    }

    /// The volumes of this class, by name.
    pub fn volumes_of_class(&self, class: Option<Symbol>) -> impl Iterator<Item = &Volume> {
        self.volumes_by_class.get(&class).into_iter().flatten().map(|id| &self.volumes[id.index()])
    }

    /// The class of this name.
    pub fn class(&self, name: Symbol) -> Option<&StorageClass> {
        self.class_at.get(&name).map(|&at| &self.classes[at])
    }

    /// The CSINode of this node.
    pub fn csi_node(&self, name: Symbol) -> Option<&CsiNode> {
        self.csi_node_at.get(&name).map(|&at| &self.csi_nodes[at])
    }

    /// The CSIDriver of this name.
    pub fn csi_driver(&self, name: Symbol) -> Option<&CsiDriver> {
        self.csi_driver_at.get(&name).map(|&at| &self.csi_drivers[at])
    }

    /// The CSIStorageCapacities of this class, by namespace and name.
    pub fn capacities_of_class(&self, class: Symbol) -> impl Iterator<Item = &CsiStorageCapacity> {
        self.capacities_by_class.get(&class).into_iter().flatten().map(|&at| &self.capacities[at])
    }

    /// The VolumeAttachments of this node, by name.
    pub fn attachments_of_node(&self, node: Symbol) -> impl Iterator<Item = &VolumeAttachment> {
        self.attachments_by_node.get(&node).into_iter().flatten().map(|&at| &self.attachments[at])
    }
}

fn positions(keys: impl Iterator<Item = Symbol>) -> FxHashMap<Symbol, usize> {
    keys.enumerate().map(|(at, key)| (key, at)).collect()
}

fn grouped<K: std::hash::Hash + Eq, V>(keys: impl Iterator<Item = K>, id: impl Fn(usize) -> V) -> FxHashMap<K, Vec<V>> {
    let mut groups: FxHashMap<K, Vec<V>> = FxHashMap::default();
    for (at, key) in keys.enumerate() {
        groups.entry(key).or_default().push(id(at));
    }
    groups
}
