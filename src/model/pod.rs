//! Pods.

use super::affinity::{PodAffinityTerm, SpreadConstraint, Toleration};
use super::cluster::Origin;
use super::id::{LabelSetId, NamespaceId, NodeId, Symbol};
use super::quantity::Quantity;
use super::resources::ResourceList;
use super::selector::NodeSelector;
use super::time::Time;
use super::uid::Uid;
use super::volume::PodVolume;
use std::sync::Arc;

/// A Pod object: what differs from pod to pod, and the [`PodSpec`] that pods of one template share.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// `metadata.namespace`.
    pub namespace: NamespaceId,
    /// `metadata.name`.
    pub name: Symbol,
    /// `metadata.uid`; `None` in hand-made input.
    pub uid: Option<Uid>,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// `spec.priority`; the scheduler reads an absent one as 0 ([`Pod::priority`]).
    pub spec_priority: Option<i32>,
    /// `spec.priorityClassName`; never read by the scheduler.
    pub priority_class: Option<Symbol>,
    /// `spec.nodeName`, whether or not the dump holds such a node.
    pub node_name: Option<Symbol>,
    /// The node of `node_name`, if the dump holds it.
    pub node: Option<NodeId>,
    /// `status.nominatedNodeName`, not empty.
    pub nominated_node_name: Option<Symbol>,
    /// `status.phase`.
    pub phase: Phase,
    /// `metadata.creationTimestamp`.
    pub created: Option<Time>,
    /// `metadata.deletionTimestamp`: the pod is terminating.
    pub deleted: Option<Time>,
    /// `metadata.deletionGracePeriodSeconds`, else `spec.terminationGracePeriodSeconds`.
    pub grace_seconds: Option<i64>,
    /// `status.startTime`.
    pub started: Option<Time>,
    /// The first `DisruptionTarget` condition.
    pub disruption: Disruption,
    /// The controller among `metadata.ownerReferences`.
    pub owner: Option<Owner>,
    /// What the containers ask for; shared among pods that ask for the same where it was seen to pay.
    pub requests: Arc<RequestParts>,
    /// What pods of one template share.
    pub spec: Arc<PodSpec>,
    /// `metadata.annotations` has `kubernetes.io/config.mirror`: a static pod's mirror.
    pub mirror: bool,
    /// The object has no `status`: it was stripped from the dump.
    pub status_missing: bool,
    /// Message of a `PodScheduled=False` condition: the last FailedScheduling text in full.
    pub scheduled_message: Option<Arc<str>>,
    /// Where the object was read.
    pub origin: Origin,
}

impl Pod {
    /// The priority the scheduler uses. Upstream: `corev1helpers.PodPriority`.
    #[inline]
    pub fn priority(&self) -> i32 {
        self.spec_priority.unwrap_or(0)
    }

    /// Finished: the scheduler's informer leaves such pods out.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }
}

/// `status.phase`. The scheduler tells only the terminal ones apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not started, or the field is absent.
    Pending,
    /// Running.
    Running,
    /// All containers ended well.
    Succeeded,
    /// All containers ended, one of them badly.
    Failed,
    /// The kubelet is silent, or the text is none of Kubernetes'.
    Unknown,
}

/// What the first `DisruptionTarget` condition of a pod says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disruption {
    /// No such condition.
    None,
    /// Status True, reason `PreemptionByScheduler` (1.27 and newer write this).
    PreemptionByScheduler,
    /// Status True, reason `PreemptionByKubeScheduler` (1.25 and 1.26 wrote this).
    PreemptionByKubeScheduler,
    /// Any other status or reason.
    Other,
}

/// A controlling owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Kind, such as `ReplicaSet`.
    pub kind: Symbol,
    /// Name.
    pub name: Symbol,
    /// UID, if any; as text, since a few owners own all pods.
    pub uid: Option<Symbol>,
}

/// What a pod's containers ask for, kept apart because their sum depends on the release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestParts {
    /// `spec.containers`, in order.
    pub containers: Box<[ContainerRequests]>,
    /// `spec.initContainers`, in order; sidecars among them.
    pub init_containers: Box<[ContainerRequests]>,
    /// `spec.overhead`.
    pub overhead: ResourceList,
    /// `spec.resources.requests`; `None` where `spec.resources` has none.
    pub pod_level: Option<ResourceList>,
    /// What in-place resize left in the status; `None` where nothing did.
    pub resize: Option<Box<ResizeStatus>>,
}

impl RequestParts {
    /// All lists of amounts.
    fn lists(&self) -> impl Iterator<Item = &ResourceList> {
        let RequestParts { containers, init_containers, overhead, pod_level, resize } = self;
        let resize = resize.as_deref();
        let allocated = resize.and_then(|it| it.allocated.as_ref());
        let of_pod = [Some(overhead), pod_level.as_ref(), allocated, resize.and_then(|it| it.actuated.as_ref())];
        containers.iter().chain(init_containers).flat_map(ContainerRequests::lists).chain(of_pod.into_iter().flatten())
    }

    /// Whether an amount is of a resource that has an id.
    pub(crate) fn name_scalars(&self) -> bool {
        // Lists are sorted, and those resources come last.
        self.lists().filter_map(|list| list.last()).any(|(name, _)| name.scalar().is_some())
    }

    /// Whether the same is asked for in the same words: equal amounts may be written differently.
    pub(crate) fn is_written_as(&self, other: &RequestParts) -> bool {
        let written = |(_, amount): &(_, Quantity)| amount.to_bytes();
        self == other && self.lists().flatten().map(written).eq(other.lists().flatten().map(written))
    }
}

/// One container's requests, with limits copied where requests are missing, as the API server does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContainerRequests {
    /// `resources.requests`.
    pub requests: ResourceList,
    /// An init container with `restartPolicy: Always`.
    pub sidecar: bool,
    /// The same container's status, if it names resources: found by name.
    pub status: Option<Box<ContainerResizeStatus>>,
}

impl ContainerRequests {
    fn lists(&self) -> impl Iterator<Item = &ResourceList> {
        let ContainerRequests { requests, sidecar: _, status } = self;
        let status = status.as_deref();
        let allocated = status.and_then(|it| it.allocated.as_ref());
        [Some(requests), allocated, status.and_then(|it| it.actuated.as_ref())].into_iter().flatten()
    }
}

/// A container status's account of its resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContainerResizeStatus {
    /// `allocatedResources`; `None` where absent.
    pub allocated: Option<ResourceList>,
    /// `resources` is there, with or without `requests`.
    pub resources_present: bool,
    /// `resources.requests`; `None` where absent.
    pub actuated: Option<ResourceList>,
}

/// A pod status's account of a resize.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResizeStatus {
    /// The first `PodResizePending` condition has reason `Infeasible`.
    pub infeasible: bool,
    /// `status.resize` is `Infeasible` (1.27 … 1.32).
    pub resize_field_infeasible: bool,
    /// `status.allocatedResources` of the pod.
    pub allocated: Option<ResourceList>,
    /// `status.resources` of the pod is there, with or without `requests`.
    pub resources_present: bool,
    /// `status.resources.requests` of the pod; `None` where absent.
    pub actuated: Option<ResourceList>,
}

/// What pods of one template share. Invariant: equal specs of one cluster share one `Arc` where the loader saw it pay.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodSpec {
    /// `spec.schedulerName`; the default is filled in.
    pub scheduler_name: Symbol,
    /// `spec.preemptionPolicy: Never`.
    pub never_preempts: bool,
    /// `spec.nodeSelector`, sorted by key symbol.
    pub node_selector: Box<[(Symbol, Symbol)]>,
    /// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`.
    pub node_affinity: Option<NodeSelector>,
    /// Required pod affinity.
    pub pod_affinity: Box<[PodAffinityTerm]>,
    /// Required pod anti-affinity.
    pub pod_anti_affinity: Box<[PodAffinityTerm]>,
    /// `spec.tolerations`.
    pub tolerations: Box<[Toleration]>,
    /// `spec.topologySpreadConstraints`, soft ones included: their presence switches default constraints off.
    pub spread: Box<[SpreadConstraint]>,
    /// Host ports of containers and sidecars.
    pub host_ports: Box<[HostPort]>,
    /// Volumes that some filter looks at, in list order.
    pub volumes: Box<[PodVolume]>,
    /// Names of `spec.schedulingGates`, in list order.
    pub scheduling_gates: Box<[Symbol]>,
    /// `spec.resourceClaims`, in list order.
    pub resource_claims: Box<[PodResourceClaim]>,
    /// The pod names a pod group (`spec.schedulingGroup` or `spec.workloadRef`).
    pub pod_group: Option<Symbol>,
    /// What the pod needs a node to declare (`status.declaredFeatures`).
    pub needs: FeatureNeeds,
}

/// A port that a pod takes on its node's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// `hostIP`; `0.0.0.0` where there is none.
    pub ip: Symbol,
    /// `TCP`, `UDP`, `SCTP`.
    pub protocol: Symbol,
    /// The port on the node.
    pub port: i32,
    /// The port belongs to a sidecar.
    pub sidecar: bool,
}

/// An entry of `spec.resourceClaims`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodResourceClaim {
    /// Its name within the pod.
    pub name: Symbol,
    /// The ResourceClaim of the pod's namespace, by name or as the status says it was generated.
    pub claim: Option<Symbol>,
    /// The claim is generated from a template.
    pub from_template: bool,
}

/// Features that a node must declare, inferred from the pod. Upstream: `component-helpers/nodedeclaredfeatures`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureNeeds {
    /// A restart policy rule with action `RestartAllContainers`.
    pub restart_all_containers: bool,
    /// `hostNetwork` with `hostUsers: false`.
    pub user_namespaces_host_network: bool,
    /// `bindMountOptions` in a volume mount.
    pub volume_bind_mount_options: bool,
}
