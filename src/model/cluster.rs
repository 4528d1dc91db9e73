//! The cluster: all tables of one dump.

use super::id::{FileId, LabelSetId, NamespaceId, NodeId, PdbId, PodId, ResourceId, Symbol};
use super::labels::{LabelPairs, LabelSets};
use super::node::Node;
use super::pdb::{Pdb, PriorityClass};
use super::pod::Pod;
use super::selector::LabelSelector;
use super::symbols::Symbols;
use super::time::Time;
use super::uid::Uid;
use super::volume::Storage;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Where an object was read: a file and the byte at which the object begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file.
    pub file: FileId,
    /// Offset of the object's first byte.
    pub offset: u64,
}

impl Origin {
    /// For objects that no file holds.
    pub const NONE: Origin = Origin { file: FileId(u32::MAX), offset: 0 };
}

/// A namespace that some object names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Namespace {
    /// `metadata.name`.
    pub name: Symbol,
    /// Labels of the Namespace object; empty where the dump lacks it.
    pub labels: LabelSetId,
    /// Whether the dump holds the Namespace object.
    pub present: bool,
}

/// Something whose selector default spread constraints may take over: a Service, or a controller that owns pods.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectorOwner {
    /// Namespace.
    pub namespace: NamespaceId,
    /// Name.
    pub name: Symbol,
    /// What it is.
    pub kind: SelectorOwnerKind,
    /// Its selector, as requirements.
    pub selector: LabelSelector,
}

/// Kinds of [`SelectorOwner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SelectorOwnerKind {
    /// Selects by `spec.selector`, a map.
    Service,
    /// Selects by `spec.selector`, a map.
    ReplicationController,
    /// Selects by `spec.selector`, a LabelSelector.
    ReplicaSet,
    /// Selects by `spec.selector`, a LabelSelector.
    StatefulSet,
}

/// A kind of object that the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the kinds are Kubernetes' own")]
pub enum Kind {
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    DeviceTaintRule,
    PodGroup,
    Event,
}

impl Kind {
    /// Every kind, in the order reports list them.
    pub const ALL: &'static [Kind] = &[
        Kind::Node,
        Kind::Pod,
        Kind::PodDisruptionBudget,
        Kind::PriorityClass,
        Kind::Namespace,
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::StorageClass,
        Kind::CsiNode,
        Kind::CsiDriver,
        Kind::CsiStorageCapacity,
        Kind::VolumeAttachment,
        Kind::Service,
        Kind::ReplicationController,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::ResourceClaim,
        Kind::ResourceSlice,
        Kind::DeviceClass,
        Kind::DeviceTaintRule,
        Kind::PodGroup,
        Kind::Event,
    ];

    /// The kind as Kubernetes writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Node => "Node",
            Kind::Pod => "Pod",
            Kind::PodDisruptionBudget => "PodDisruptionBudget",
            Kind::PriorityClass => "PriorityClass",
            Kind::Namespace => "Namespace",
            Kind::PersistentVolume => "PersistentVolume",
            Kind::PersistentVolumeClaim => "PersistentVolumeClaim",
            Kind::StorageClass => "StorageClass",
            Kind::CsiNode => "CSINode",
            Kind::CsiDriver => "CSIDriver",
            Kind::CsiStorageCapacity => "CSIStorageCapacity",
            Kind::VolumeAttachment => "VolumeAttachment",
            Kind::Service => "Service",
            Kind::ReplicationController => "ReplicationController",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::StatefulSet => "StatefulSet",
            Kind::ResourceClaim => "ResourceClaim",
            Kind::ResourceSlice => "ResourceSlice",
            Kind::DeviceClass => "DeviceClass",
            Kind::DeviceTaintRule => "DeviceTaintRule",
            Kind::PodGroup => "PodGroup",
            Kind::Event => "Event",
        }
    }

    /// The resource as kubectl takes it, with its group where other groups have one of the same name.
    pub const fn resource(self) -> &'static str {
        match self {
            Kind::Node => "nodes",
            Kind::Pod => "pods",
            Kind::PodDisruptionBudget => "poddisruptionbudgets.policy",
            Kind::PriorityClass => "priorityclasses.scheduling.k8s.io",
            Kind::Namespace => "namespaces",
            Kind::PersistentVolume => "persistentvolumes",
            Kind::PersistentVolumeClaim => "persistentvolumeclaims",
            Kind::StorageClass => "storageclasses.storage.k8s.io",
            Kind::CsiNode => "csinodes.storage.k8s.io",
            Kind::CsiDriver => "csidrivers.storage.k8s.io",
            Kind::CsiStorageCapacity => "csistoragecapacities.storage.k8s.io",
            Kind::VolumeAttachment => "volumeattachments.storage.k8s.io",
            Kind::Service => "services",
            Kind::ReplicationController => "replicationcontrollers",
            Kind::ReplicaSet => "replicasets.apps",
            Kind::StatefulSet => "statefulsets.apps",
            Kind::ResourceClaim => "resourceclaims.resource.k8s.io",
            Kind::ResourceSlice => "resourceslices.resource.k8s.io",
            Kind::DeviceClass => "deviceclasses.resource.k8s.io",
            Kind::DeviceTaintRule => "devicetaintrules.resource.k8s.io",
            Kind::PodGroup => "podgroups.scheduling.k8s.io",
            Kind::Event => "events",
        }
    }

    /// Whether objects of the kind live in namespaces.
    pub const fn is_namespaced(self) -> bool {
        match self {
            Kind::Node
            | Kind::PriorityClass
            | Kind::Namespace
            | Kind::PersistentVolume
            | Kind::StorageClass
            | Kind::CsiNode
            | Kind::CsiDriver
            | Kind::VolumeAttachment
            | Kind::ResourceSlice
            | Kind::DeviceClass
            | Kind::DeviceTaintRule => false,
            Kind::Pod
            | Kind::PodDisruptionBudget
            | Kind::PersistentVolumeClaim
            | Kind::CsiStorageCapacity
            | Kind::Service
            | Kind::ReplicationController
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::ResourceClaim
            | Kind::PodGroup
            | Kind::Event => true,
        }
    }
}

/// What a dump holds of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoverageState {
    /// At least one object.
    Present,
    /// A list of this kind without objects: the cluster had none.
    Empty,
    /// Nothing: the cluster may have any number.
    Absent,
    /// A list that says itself that it goes on, or a file that ends too early.
    Truncated,
    /// Objects were there but could not be read.
    Rejected,
}

/// The coverage of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The kind.
    pub kind: Kind,
    /// What the dump holds of it.
    pub state: CoverageState,
    /// How many objects were read.
    pub objects: u64,
    /// How many objects were damaged and left out.
    pub rejected: u64,
    /// Other objects show that those of the kind are not all there are, or that parts were taken out of them.
    pub doubtful: bool,
}

impl Coverage {
    /// Whether the cluster may have had objects of the kind that were not read: all of them, or some.
    pub const fn has_hole(&self) -> bool {
        match self.state {
            CoverageState::Absent | CoverageState::Truncated | CoverageState::Rejected => true,
            CoverageState::Present | CoverageState::Empty => self.rejected > 0 || self.doubtful,
        }
    }
}

/// Everything a dump says, without regard to any release. Immutable once built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// All strings.
    pub symbols: Symbols,
    /// All label sets.
    pub label_sets: LabelSets,
    /// Nodes by name.
    pub nodes: Vec<Node>,
    /// Pods by namespace and name.
    pub pods: Vec<Pod>,
    /// Budgets by namespace and name.
    pub pdbs: Vec<Pdb>,
    /// Priority classes by name.
    pub priority_classes: Vec<PriorityClass>,
    /// Namespaces that any object names, in canonical order.
    pub namespaces: Vec<Namespace>,
    /// Storage objects.
    pub storage: Storage,
    /// Services and owners with selectors.
    pub selector_owners: Vec<SelectorOwner>,
    /// Names of scalar resources.
    pub resources: Vec<Symbol>,
    /// What the dump holds of each kind of [`Kind::ALL`], in that order.
    pub coverage: Vec<Coverage>,
    /// When the dump was taken: a manifest's time, else the newest time that any object carries. Never the clock's.
    pub as_of: Option<Time>,
    /// Nodes by name.
    pub node_ids: FxHashMap<Symbol, NodeId>,
}

impl Cluster {
    /// The text of a symbol.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> &str {
        self.symbols.text(symbol)
    }

    /// The text of a UID.
    pub fn uid(&self, uid: Uid) -> Cow<'_, str> {
        uid.text(&self.symbols)
    }

    /// A pod.
    #[inline]
    pub fn pod(&self, id: PodId) -> &Pod {
        &self.pods[id.index()]
    }

    /// A node.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// A budget.
    pub fn pdb(&self, id: PdbId) -> &Pdb {
        &self.pdbs[id.index()]
    }

    /// A namespace.
    pub fn namespace(&self, id: NamespaceId) -> &Namespace {
        &self.namespaces[id.index()]
    }

    /// The name of a namespace.
    pub fn namespace_name(&self, id: NamespaceId) -> &str {
        self.text(self.namespace(id).name)
    }

    /// The name of a scalar resource.
    pub fn resource_name(&self, id: ResourceId) -> &str {
        self.text(self.resources[id.index()])
    }

    /// Labels of a pod.
    #[inline]
    pub fn pod_labels(&self, id: PodId) -> &LabelPairs {
        self.label_sets.pairs(self.pod(id).labels)
    }

    /// Labels of a node.
    #[inline]
    pub fn node_labels(&self, id: NodeId) -> &LabelPairs {
        self.label_sets.pairs(self.node(id).labels)
    }

    /// The node of a name.
    pub fn node_of(&self, name: Symbol) -> Option<NodeId> {
        self.node_ids.get(&name).copied()
    }

    /// All nodes, by name.
    pub fn node_range(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::at)
    }

    /// All pods, by namespace and name.
    pub fn pod_range(&self) -> impl Iterator<Item = PodId> + use<> {
        (0..self.pods.len()).map(PodId::at)
    }

    /// `namespace/name` of a pod.
    pub fn pod_key(&self, id: PodId) -> String {
        let pod = self.pod(id);
        format!("{}/{}", self.namespace_name(pod.namespace), self.text(pod.name))
    }

    /// The pod of a namespace and a name.
    pub fn find_pod(&self, namespace: &str, name: &str) -> Option<PodId> {
        let at = self
            .pods
            .binary_search_by(|pod| (self.namespace_name(pod.namespace), self.text(pod.name)).cmp(&(namespace, name)));
        at.ok().map(PodId::at)
    }

    /// What the dump holds of a kind; a cluster made by hand without a ledger counts every kind as present.
    pub fn coverage_of(&self, kind: Kind) -> CoverageState {
        self.coverage.iter().find(|it| it.kind == kind).map_or(CoverageState::Present, |it| it.state)
    }

    /// Whether the cluster may have had objects of the kind that the dump does not hold.
    pub fn may_lack(&self, kind: Kind) -> bool {
        self.coverage.iter().find(|it| it.kind == kind).is_some_and(Coverage::has_hole)
    }
}
