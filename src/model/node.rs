//! Nodes.

use super::affinity::Taint;
use super::cluster::Origin;
use super::id::{LabelSetId, Symbol};
use super::resources::ResourceList;
use super::time::Time;
use super::uid::Uid;

/// A Node object.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// `metadata.name`.
    pub name: Symbol,
    /// `metadata.uid`, if any.
    pub uid: Option<Uid>,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// `spec.taints`, in list order.
    pub taints: Box<[Taint]>,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// `status.allocatable`; where it is missing, `status.capacity`, as the API server defaults it.
    pub allocatable: ResourceList,
    /// `status.declaredFeatures`, in list order.
    pub declared_features: Box<[Symbol]>,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: Option<Symbol>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// The node object has no `status`: it was stripped from the dump.
    pub status_missing: bool,
    /// Where the object was read.
    pub origin: Origin,
}
