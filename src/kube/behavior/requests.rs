//! What pods ask for and what a node's resources reject.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// What pods ask for and what a node's resources reject.
    pub struct RequestsBehavior {
        /// When fractions are rounded up. Upstream: `types.go`, `fit.go` up to 1.26; `resource/helpers.go` since.
        rounding: RequestRounding {
            /// Each container's amount, before they are summed.
            PerContainer,
            /// The exact sum, once.
            Once,
        } = |r, _g| if r.since(27) { Once } else { PerContainer },
            proof "quantity-w000@1.37.2";

        /// Whether the init containers of a pod on a node count; those of the incoming pod always do.
        /// Upstream: `nodeinfo/node_info.go` calculateResource.
        init_containers_on_nodes: InitContainersOnNodes {
            /// No.
            Ignored,
            /// Yes: the largest of them, where it is more than all containers together.
            Counted,
        } = |r, _g| if r.since_patched(19, &[(18, 3)]) { Counted } else { Ignored },
            proof "podshape-s000@1.18.2";

        /// What a sidecar, an init container that restarts always, counts for. Upstream: `resource/helpers.go` PodRequests.
        sidecars: SidecarRequests {
            /// For an init container like any other.
            AsInitContainer,
            /// For a container that runs beside the containers, and beside the init containers after it.
            Summed,
        } = |r, _g| if r.since(28) { Summed } else { AsInitContainer },
            proof "podshape-s000@1.27.1";

        /// What happens to a pod with a sidecar. Upstream: `noderesources/fit.go`.
        sidecar_pods: SidecarPods {
            /// It is scheduled.
            Scheduled,
            /// Filter rejects it on every node.
            RejectedByFilter,
            /// PreFilter rejects it.
            RejectedByPreFilter,
        } = |r, g| if !r.since(28) || g.on(Gate::SidecarContainers) { Scheduled }
            else if r.since(30) { RejectedByPreFilter }
            else { RejectedByFilter },
            proof "podshape-s000@1.37.2";

        /// Whether `spec.overhead` counts. Upstream: `types.go`, `fit.go`.
        overhead: PodOverhead {
            /// No.
            Ignored,
            /// Yes.
            Counted,
        } = |_r, g| if g.on(Gate::PodOverhead) { Counted } else { Ignored },
            proof "podshape-s000@1.37.2";

        /// Whether ephemeral storage is a resource. Upstream: `types.go` Resource.
        ephemeral_storage: EphemeralStorage {
            /// No: nobody asks for it and no node has it.
            Ignored,
            /// Yes.
            Counted,
        } = |r, g| if r.since(19) && !g.on(Gate::LocalStorageCapacityIsolation) { Ignored } else { Counted },
            proof "podshape-s000@1.37.2";

        /// What the status of a pod on a node adds to what its spec asks for, after a resize in place.
        /// Upstream: `resource/helpers.go`.
        resize: ResizeRequests {
            /// Nothing.
            Ignored,
            /// `allocatedResources` of containers; of an infeasible resize, these alone.
            Allocated,
            /// `resources` of containers; of an infeasible resize, these alone.
            Actuated,
            /// The largest of both and the spec, container by container and sidecar by sidecar; of an infeasible resize,
            /// without the spec.
            PerContainer,
            /// The largest of three totals over all containers: by spec, by `allocatedResources`, by `resources`; of an
            /// infeasible resize, without the spec.
            PerPod,
        } = |r, g| if !g.on(Gate::InPlacePodVerticalScaling) { Ignored }
            else if r.since(37) { PerPod }
            else if r.since(33) { PerContainer }
            else if r.since(32) { Actuated }
            else { Allocated },
            proof "podshape-s005@1.37.2";

        /// Which requests of the pod as a whole (`spec.resources`) stand for the sum of its containers.
        /// Upstream: `resource/helpers.go` IsSupportedPodLevelResource.
        pod_level: PodLevelRequests {
            /// None.
            Ignored,
            /// Cpu and memory.
            CpuAndMemory,
            /// Cpu, memory and huge pages.
            WithHugePages,
        } = |r, g| if !g.on(Gate::PodLevelResources) { Ignored }
            else if r.since(33) { WithHugePages }
            else { CpuAndMemory },
            proof "podshape-s003@1.33.0";

        /// What the status of a pod on a node adds to what its `spec.resources` asks for, after a resize in place.
        /// Upstream: `resource/helpers.go` PodRequests.
        pod_level_resize: PodLevelResize {
            /// Nothing.
            Ignored,
            /// The larger amounts, of the names in the spec.
            NamesOfSpec,
            /// The larger amounts of all names; and where a pod has a total in its status, it stands for the sum of its
            /// containers.
            AllNames,
        } = |r, g| if !g.on(Gate::InPlacePodLevelResourcesVerticalScaling) { Ignored }
            else if r.since(37) { AllNames }
            else { NamesOfSpec },
            proof "podshape-w000@1.36.3";

        /// Whether a resource of which a pod asks for nothing is compared: a node that holds more than it has rejects the
        /// pod then. Upstream: `noderesources/fit.go` fitsRequest.
        zero_requests: ZeroRequests {
            /// Yes.
            Compared,
            /// Only scalars that the pod names with 0 are not.
            ScalarsPassedOver,
            /// No.
            PassedOver,
        } = |r, _g| if r.since(28) { PassedOver } else if r.since(26) { ScalarsPassedOver } else { Compared },
            proof "podshape-s000@1.37.2";

        /// Whether NodeResourcesFit tells that preemption cannot help. Upstream: `noderesources/fit.go` (#131345).
        beyond_allocatable: BeyondAllocatable {
            /// No: every rejection is Unschedulable.
            Unschedulable,
            /// A request beyond what the node has is UnschedulableAndUnresolvable.
            Unresolvable,
        } = |r, _g| if r.since(34) { Unresolvable } else { Unschedulable },
            proof "podshape-s006@1.37.2";

        /// Which extended resources NodeResourcesFit leaves to DynamicResources, if a DeviceClass maps them.
        /// Upstream: `noderesources/fit.go`.
        device_class_resources: DeviceClassResources {
            /// None.
            None,
            /// Those that the node does not name.
            NotNamed,
            /// Those that the node does not name, or of which it has none.
            NoneAllocatable,
        } = |r, g| if !g.on(Gate::DRAExtendedResource) { None } else if r.since(36) { NoneAllocatable } else { NotNamed },
            proof "scenario:device_classes";

        /// Whether host ports of sidecars are taken. Upstream: `types.go` updateUsedPorts, `nodeports/node_ports.go`.
        sidecar_ports: SidecarPorts {
            /// No.
            Ignored,
            /// Yes.
            Counted,
        } = |r, _g| if r.since_patched(34, &[(33, 6)]) { Counted } else { Ignored },
            proof "ports-w000@1.37.2";

        /// Which needs of a pod a node has to declare. Upstream: `component-helpers/nodedeclaredfeatures`.
        declared_features: DeclaredFeatures {
            /// Restarting all containers.
            RestartAllContainers,
            /// That, and user namespaces on the host's network; in an unsorted list, names after a greater one get lost.
            UserNamespaces,
            /// That, and bind mount options.
            BindMountOptions,
        } = |r, _g| if r.since(37) { BindMountOptions } else if r.since(36) { UserNamespaces } else { RestartAllContainers },
            proof "features-w000@1.37.2";
    }
}
