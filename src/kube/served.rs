//! Which kinds an API server has without further ado: kubectl, asked for one that is not there, prints nothing at all.

use super::release::Release;
use crate::model::cluster::Kind;

/// Whether an API server of the release serves the kind by default. Upstream: `pkg/controlplane/instance.go`.
pub fn by_default(kind: Kind, release: Release) -> bool {
    match kind {
        Kind::CsiStorageCapacity => release.since(21),
        Kind::ResourceClaim | Kind::ResourceSlice | Kind::DeviceClass => release.since(34),
        Kind::DeviceTaintRule => release.since(37),
        // Not beyond beta.
        Kind::PodGroup => false,
        Kind::Node
        | Kind::Pod
        | Kind::PodDisruptionBudget
        | Kind::PriorityClass
        | Kind::Namespace
        | Kind::PersistentVolume
        | Kind::PersistentVolumeClaim
        | Kind::StorageClass
        | Kind::CsiNode
        | Kind::CsiDriver
        | Kind::VolumeAttachment
        | Kind::Service
        | Kind::ReplicationController
        | Kind::ReplicaSet
        | Kind::StatefulSet
        | Kind::Event => true,
    }
}
