//! What the types of a cluster are made of, for [`wire`](super::wire).

use super::Damaged;
use super::wire::{In, Wire, choices, records};
use crate::kube::detect::SchedulerContainer;
use crate::kube::release::{Release, Version, VersionNote};
use crate::load::{ClusterPart, Held, Moment};
use crate::model::affinity::{
    Effect, InclusionPolicy, PodAffinityTerm, SpreadConstraint, Taint, Toleration, TolerationOperator,
};
use crate::model::cluster::{Coverage, CoverageState, Kind, Namespace, Origin, SelectorOwner, SelectorOwnerKind};
use crate::model::node::Node;
use crate::model::pdb::{Pdb, PdbHealth, PriorityClass};
use crate::model::pod::{
    ContainerRequests, ContainerResizeStatus, Disruption, FeatureNeeds, HostPort, Owner, Phase, PodResourceClaim,
    PodSpec, RequestParts, ResizeStatus,
};
use crate::model::quantity::Quantity;
use crate::model::resources::ResourceName;
use crate::model::selector::{
    FieldRequirement, LabelSelector, NodeRequirement, NodeSelector, NodeSelectorTerm, Operator, Requirement,
};
use crate::model::volume::{
    AccessModes, BindingMode, Claim, ClaimRef, CsiDriver, CsiNode, CsiStorageCapacity, PodVolume, PodVolumeSource,
    StorageClass, TopologyTerm, Volume, VolumeAttachment, VolumeSource,
};
use crate::problem::{Problem, ProblemCode};
use crate::source::files::{Form, Kept, Surroundings};
use crate::source::given::{Seen, Stamp};
use std::time::{Duration, SystemTime};

records! {
    Origin { file, offset }
    Namespace { name, labels, present }
    SelectorOwner { namespace, name, kind, selector }
    Coverage { kind, state, objects, rejected, doubtful }
    Held { kind, file, state, objects, rejected }
    ClusterPart { name, paths, objects }
    Moment { paths, time, objects, used }
    Node {
        name, uid, labels, taints, unschedulable, allocatable, declared_features, kubelet_version, created, status_missing,
        origin,
    }
    Taint { key, value, effect }
    Toleration { key, operator, value, effect }
    PodAffinityTerm { selector, namespaces, namespace_selector, topology_key }
    SpreadConstraint {
        max_skew, topology_key, hard, selector, min_domains, node_affinity_policy, node_taints_policy, match_label_keys,
    }
    Pdb { namespace, name, selector, disruptions_allowed, disrupted_pods, health, status_missing, v1beta1, origin }
    PdbHealth { current, desired, expected }
    PriorityClass { name, value, global_default, never_preempts, origin }
    Owner { kind, name, uid }
    RequestParts { containers, init_containers, overhead, pod_level, resize }
    ContainerRequests { requests, sidecar, status }
    ContainerResizeStatus { allocated, resources_present, actuated }
    ResizeStatus { infeasible, resize_field_infeasible, allocated, resources_present, actuated }
    PodSpec {
        scheduler_name, never_preempts, node_selector, node_affinity, pod_affinity, pod_anti_affinity, tolerations, spread,
        host_ports, volumes, scheduling_gates, resource_claims, pod_group, needs,
    }
    HostPort { ip, protocol, port, sidecar }
    PodResourceClaim { name, claim, from_template }
    FeatureNeeds { restart_all_containers, user_namespaces_host_network, volume_bind_mount_options }
    Requirement { key, operator, values }
    NodeSelector { terms }
    NodeSelectorTerm { expressions, fields, invalid }
    NodeRequirement { requirement, number }
    FieldRequirement { operator, name }
    PodVolume { name, source }
    Claim {
        namespace, name, uid, controller_uid, deleted, lost, volume_name, bind_completed, selected_node, storage_class,
        volume_attributes_class, access_modes, request, block, selector, origin,
    }
    AccessModes { read_write_once, read_only_many, read_write_many, read_write_once_pod }
    Volume {
        name, labels, deleted, available, claim_ref, capacity, access_modes, block, storage_class, volume_attributes_class,
        node_affinity, source, origin,
    }
    ClaimRef { namespace, name, uid }
    StorageClass { name, provisioner, binding_mode, allowed_topologies, origin }
    TopologyTerm { requirements }
    CsiNode { name, migrated_plugins, drivers }
    CsiDriver { name, storage_capacity, prevent_pod_scheduling_if_missing }
    CsiStorageCapacity { storage_class, capacity, maximum_volume_size, node_topology }
    VolumeAttachment { name, node_name, attacher, volume_name }
    Problem { code, message, path, offset, line, column, object, help, more }
    SchedulerContainer { version, feature_gates, config_path, emulated_version, other_flags }
    Version { release, oldest, note }
    Release { minor, patch }
    Kept { sha256, excerpts }
    Surroundings { before, after, line_begin }
    Seen { stamp, settled, digest }
    Stamp { size, inode, modified, changed }
}

choices! {
    Effect { 0 NoSchedule, 1 PreferNoSchedule, 2 NoExecute, 3 Other }
    TolerationOperator { 0 Equal, 1 Exists, 2 Lt, 3 Gt, 4 Unknown }
    InclusionPolicy { 0 Honor, 1 Ignore }
    SelectorOwnerKind { 0 Service, 1 ReplicationController, 2 ReplicaSet, 3 StatefulSet }
    CoverageState { 0 Present, 1 Empty, 2 Absent, 3 Truncated, 4 Rejected }
    Phase { 0 Pending, 1 Running, 2 Succeeded, 3 Failed, 4 Unknown }
    Disruption { 0 None, 1 PreemptionByScheduler, 2 PreemptionByKubeScheduler, 3 Other }
    ResourceName { 0 Cpu, 1 Memory, 2 EphemeralStorage, 3 Pods, 4 HugePages(id), 5 Scalar(id) }
    LabelSelector { 0 Absent, 1 Requirements(all), 2 Invalid }
    Operator { 0 In, 1 NotIn, 2 Exists, 3 DoesNotExist, 4 Gt, 5 Lt }
    BindingMode { 0 Immediate, 1 WaitForFirstConsumer, 2 Other }
    VolumeSource { 0 Csi { driver, handle }, 1 InTree(source), 2 Other }
    PodVolumeSource {
        0 Claim(name), 1 Ephemeral(name), 2 GcePersistentDisk { pd_name, read_only }, 3 AwsElasticBlockStore { volume_id },
        4 AzureDisk { disk_name, disk_uri }, 5 Cinder { volume_id }, 6 Portworx { volume_id },
        7 AzureFile { share_name, secret_name }, 8 Vsphere { volume_path }, 9 Iscsi { iqn, read_only },
        10 Rbd { monitors, pool, image, read_only },
    }
    Form { 0 AsIs, 1 Utf16, 2 Yaml }
    VersionNote {
        0 PatchUnknown, 1 NewerThanKnown { minor }, 2 OlderThanKnown { minor }, 3 PatchNewerThanKnown, 4 Prerelease,
    }
}

impl Wire for Kind {
    fn put(&self, out: &mut Vec<u8>) {
        self.name().to_owned().put(out);
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let name: String = from.take()?;
        Kind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(Damaged)
    }
}

impl Wire for ProblemCode {
    fn put(&self, out: &mut Vec<u8>) {
        self.text().to_owned().put(out);
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let text: String = from.take()?;
        ProblemCode::ALL.iter().copied().find(|code| code.text() == text).ok_or(Damaged)
    }
}

impl Wire for Quantity {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        Quantity::from_bytes(&from.take::<[u8; Quantity::BYTES]>()?).ok_or(Damaged)
    }
}

impl Wire for SystemTime {
    fn put(&self, out: &mut Vec<u8>) {
        let after = self.duration_since(SystemTime::UNIX_EPOCH);
        let (is_after, span) = after.map_or_else(|error| (false, error.duration()), |span| (true, span));
        is_after.put(out);
        span.as_secs().put(out);
        span.subsec_nanos().put(out);
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let (is_after, seconds, nanos) = (from.take::<bool>()?, from.take()?, from.take::<u32>()?);
        let span = Duration::new(seconds, nanos.min(999_999_999));
        let epoch = SystemTime::UNIX_EPOCH;
        if is_after { epoch.checked_add(span) } else { epoch.checked_sub(span) }.ok_or(Damaged)
    }
}
