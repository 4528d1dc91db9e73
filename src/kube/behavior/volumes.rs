//! Volumes.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// Volumes.
    pub struct VolumesBehavior {
        /// What a ReadWriteOncePod claim in use does. Upstream: `volumerestrictions/volume_restrictions.go`.
        read_write_once_pod: ReadWriteOncePod {
            /// Nothing.
            Ignored,
            /// PreFilter rejects the pod, once every claim was looked up: preemption cannot help.
            PreFilterAfterLookups,
            /// PreFilter rejects the pod at the first claim in use: preemption cannot help.
            PreFilter,
            /// Filter rejects every node, and preemption of the holder helps.
            Filter,
        } = |r, g| if !g.on(Gate::ReadWriteOncePod) { Ignored }
            else if r.since(27) { Filter }
            else if r.since(25) { PreFilter }
            else { PreFilterAfterLookups },
            proof "storage-rwop-twice@1.34.4";

        /// Whether a ReadWriteOncePod claim that nobody uses is watched, so that a nominated pod that uses it counts.
        /// Upstream: `volumerestrictions/volume_restrictions.go` PreFilter.
        unused_claims: UnusedClaims {
            /// It is.
            Watched,
            /// It is not: the plugin is skipped, unless the pod has a disk of its own.
            Skipped,
        } = |r, _g| if r.since(28) { Skipped } else { Watched },
            proof "storage-rwop-nominated@1.34.4";

        /// Where a claim that is missing, terminating or somebody else's stops the pod.
        /// Upstream: `generic_scheduler.go` podPassesBasicChecks; `volumebinding/volume_binding.go` podHasPVCs.
        claim_problems: ClaimProblems {
            /// Before the cycle, with an error; unbound immediate claims are an error on each node.
            ErrorOnNodes,
            /// Before the cycle, with an error; unbound immediate claims are rejected in PreFilter.
            ErrorFirst,
            /// In PreFilter, with a rejection.
            Rejected,
        } = |r, _g| if r.since(20) { Rejected } else if r.since(19) { ErrorFirst } else { ErrorOnNodes },
            proof "storage-ephemeral@1.34.4";

        /// What a claim in phase Lost does. Upstream: `volumebinding/volume_binding.go` podHasPVCs.
        lost_claims: LostClaims {
            /// Nothing of its own: the claim is bound to a volume that does not exist.
            AsBound,
            /// PreFilter rejects the pod.
            RejectsPod,
        } = |r, _g| if r.since(23) { RejectsPod } else { AsBound },
            proof "storage-claim-states@1.34.4";

        /// Whether VolumeBinding looks at the claims of generic ephemeral volumes.
        /// Upstream: `volumebinding/volume_binding.go` podHasPVCs.
        ephemeral_claims: EphemeralClaims {
            /// It does not.
            NotBound,
            /// It does; one that is missing is told as any claim.
            Bound,
            /// It does; one that is missing is told as waited for.
            BoundOrAwaited,
        } = |r, g| if !g.on(Gate::GenericEphemeralVolume) { NotBound } else if r.since(23) { BoundOrAwaited } else { Bound },
            proof "storage-ephemeral@1.34.4";

        /// What a bound claim does whose volume does not exist. Upstream: `volumebinding/binder.go` checkBoundClaims.
        missing_volume: MissingBoundVolume {
            /// It is an error.
            IsError,
            /// Every node is rejected.
            RejectsNodes,
        } = |r, _g| if r.since_patched(20, &[(18, 13), (19, 5)]) { RejectsNodes } else { IsError },
            proof "storage-missing-pv-without-zone@1.34.4";

        /// What `matchFields` in a volume's node affinity do: a node's name is never held against them.
        /// Upstream: `component-helpers/scheduling/corev1/nodeaffinity`; up to 1.19 `pkg/apis/core/v1/helper`.
        volume_match_fields: VolumeMatchFields {
            /// They are held against an empty name.
            AgainstNoName,
            /// They are passed over.
            PassedOver,
        } = |r, _g| if r.since(20) { PassedOver } else { AgainstNoName },
            proof "storage-bound-affinity@1.34.4";

        /// Whether bound local volumes narrow the pod to nodes named as their hostnames.
        /// Upstream: `volumebinding/binder.go` GetEligibleNodes.
        local_volumes: LocalVolumes {
            /// They do not.
            MatchedByAffinity,
            /// They do, and a node that is not named as its hostname label is lost.
            NarrowNodes,
        } = |r, _g| if r.since(27) && !r.since_patched(32, &[(29, 11), (30, 7), (31, 3)]) { NarrowNodes } else { MatchedByAffinity },
            proof "storage-local-hostname@1.34.4";

        /// Whether a volume that a claim is matched with must be of the claim's VolumeAttributesClass.
        /// Upstream: `component-helpers/storage/volume/pv_helpers.go` FindMatchingVolume.
        attributes_class: AttributesClass {
            /// The class is not looked at.
            NotCompared,
            /// A claim that names one is an error, a volume that names one is passed over.
            Refused,
            /// It must.
            Matched,
        } = |r, g| if !r.since(31) { NotCompared } else if g.on(Gate::VolumeAttributesClass) { Matched } else { Refused },
            proof "storage-vac@1.34.4";

        /// Whether a volume to be provisioned must find room in a CSIStorageCapacity.
        /// Upstream: `volumebinding/binder.go` hasEnoughCapacity.
        storage_capacity: StorageCapacityCheck {
            /// It need not.
            Unchecked,
            /// It must fit into `capacity`.
            Capacity,
            /// It must fit into `maximumVolumeSize`, where there is one, else into `capacity`.
            MaximumVolumeSize,
        } = |r, g| if !g.on(Gate::CSIStorageCapacity) { Unchecked } else if r.since(21) { MaximumVolumeSize } else { Capacity },
            proof "storage-capacity@1.34.4";

        /// Which labels VolumeZone compares. Upstream: `volumezone/volume_zone.go`.
        zone_labels: ZoneLabels {
            /// `failure-domain.beta.kubernetes.io/zone` and `…/region`.
            Beta,
            /// `topology.kubernetes.io/zone` and `…/region` as well, each with its own kind.
            Both,
            /// The same; a node without the older label answers with the newer one.
            BothTranslated,
        } = |r, _g| if r.since(29) { BothTranslated } else if r.since(19) { Both } else { Beta },
            proof "storage-zones@1.34.4";

        /// What a claim without a usable volume does in VolumeZone. Upstream: `volumezone/volume_zone.go`.
        zone_problems: ZoneProblems {
            /// It is an error on a node with zone labels.
            ErrorOnNode,
            /// It rejects a node with zone labels.
            RejectsNode,
            /// It rejects the pod in PreFilter.
            RejectsInPreFilter,
        } = |r, _g| if r.since(27) { RejectsInPreFilter }
            else if r.since_patched(21, &[(19, 12), (20, 8)]) { RejectsNode }
            else { ErrorOnNode },
            proof "storage-zone-order@1.34.4";

        /// What a missing claim of the pod does in the volume limits. Upstream: `nodevolumelimits/csi.go`, `non_csi.go`.
        limits_missing_claim: LimitsMissingClaim {
            /// It is not counted.
            NotCounted,
            /// It is an error.
            Error,
            /// It rejects the node.
            Rejects,
        } = |r, _g| if r.since(30) { Rejects } else if r.since(23) { Error } else { NotCounted },
            proof "storage-missing-claim-limits@1.34.4";

        /// Whether volume limits count the claims of generic ephemeral volumes. Upstream: `nodevolumelimits/csi.go`.
        ephemeral_limits: EphemeralLimits {
            /// They do not.
            Uncounted,
            /// They do.
            Counted,
        } = |r, _g| if r.since(23) { Counted } else { Uncounted },
            proof "storage-ephemeral@1.34.4";

        /// Whether the CSI limits count migrated volumes that a pod names without a claim.
        /// Upstream: `nodevolumelimits/csi.go` checkAttachableInlineVolume.
        inline_volumes: InlineVolumes {
            /// They do not.
            OnlyClaims,
            /// They do; a node without CSINode crashes the scheduler.
            CountedOrCrash,
            /// They do.
            CountedToo,
        } = |r, _g| if !r.since(25) { OnlyClaims } else if r.since_patched(27, &[(25, 7), (26, 2)]) { CountedToo } else { CountedOrCrash },
            proof "storage-driver-missing@1.37.2";

        /// Where the CSI limits come from. Upstream: `nodevolumelimits/csi.go` getVolumeLimits.
        csi_limits: CsiLimits {
            /// The CSINode, and `attachable-volumes-csi-…` of the node where that has none.
            CsiNodeAndNode,
            /// The CSINode alone.
            CsiNode,
        } = |r, _g| if r.since(32) { CsiNode } else { CsiNodeAndNode },
            proof "storage-node-allocatable-limits@1.34.4";

        /// Whether VolumeAttachments count against the CSI limits. Upstream: `nodevolumelimits/csi.go`.
        volume_attachments: VolumeAttachments {
            /// They do not.
            NotLookedAt,
            /// Those whose volume no pod of the node uses do: what a victim leaves stays attached.
            CountedAsWell,
        } = |r, _g| if r.since(32) { CountedAsWell } else { NotLookedAt },
            proof "storage-attachments@1.34.4";

        /// Whether a volume's CSI driver must be installed on the node.
        /// Upstream: `nodevolumelimits/csi.go` checkCSIDriverOnNode.
        driver_installed: DriverInstalled {
            /// It need not.
            NotRequired,
            /// It must, if it has a CSIDriver.
            RequiredOfAll,
            /// It must, if its CSIDriver asks for it.
            RequiredOnDemand,
        } = |r, g| if !g.on(Gate::VolumeLimitScaling) { NotRequired } else if r.since(36) { RequiredOnDemand } else { RequiredOfAll },
            proof "storage-driver-missing@1.37.2";

        /// When AWS EBS volumes are their CSI driver's. Upstream: `nodevolumelimits/utils.go` isCSIMigrationOn.
        ebs_migration: EbsMigration {
            /// Never.
            EbsInTree,
            /// On a node whose CSINode names the in-tree plugin as migrated.
            EbsByAnnotation,
            /// For limits, on every node that has a CSINode.
            EbsAlways,
        } = |r, g| if !g.on(Gate::CSIMigrationAWS) { EbsInTree } else if r.since(27) { EbsAlways } else { EbsByAnnotation },
            proof "storage-migrated-limits@1.34.4";

        /// When GCE persistent disks are their CSI driver's. Upstream: `nodevolumelimits/utils.go` isCSIMigrationOn.
        gce_pd_migration: GcePdMigration {
            /// Never.
            GcePdInTree,
            /// On a node whose CSINode names the in-tree plugin as migrated.
            GcePdByAnnotation,
            /// For limits, on every node that has a CSINode.
            GcePdAlways,
        } = |r, g| if !g.on(Gate::CSIMigrationGCE) { GcePdInTree } else if r.since(28) { GcePdAlways } else { GcePdByAnnotation },
            proof "storage-migrated-limits@1.34.4";

        /// When Azure disks are their CSI driver's. Upstream: `nodevolumelimits/utils.go` isCSIMigrationOn.
        azure_disk_migration: AzureDiskMigration {
            /// Never.
            AzureDiskInTree,
            /// On a node whose CSINode names the in-tree plugin as migrated.
            AzureDiskByAnnotation,
            /// For limits, on every node that has a CSINode.
            AzureDiskAlways,
        } = |r, g| if !g.on(Gate::CSIMigrationAzureDisk) { AzureDiskInTree }
            else if r.since(27) { AzureDiskAlways }
            else { AzureDiskByAnnotation },
            proof "storage-migrated-limits@1.34.4";

        /// When Cinder volumes are their CSI driver's. Upstream: `nodevolumelimits/utils.go` isCSIMigrationOn.
        cinder_migration: CinderMigration {
            /// Never.
            CinderInTree,
            /// On a node whose CSINode names the in-tree plugin as migrated.
            CinderByAnnotation,
            /// For limits, on every node that has a CSINode.
            CinderAlways,
        } = |r, g| if !g.on(Gate::CSIMigrationOpenStack) { CinderInTree } else if r.since(24) { CinderAlways } else { CinderByAnnotation },
            proof "storage-migrated-limits@1.34.4";

        /// When Portworx volumes are their CSI driver's. Upstream: `nodevolumelimits/utils.go` isCSIMigrationOn.
        portworx_migration: PortworxMigration {
            /// Never.
            PortworxInTree,
            /// On a node whose CSINode names the in-tree plugin as migrated.
            PortworxByAnnotation,
            /// For limits, on every node that has a CSINode.
            PortworxAlways,
        } = |r, g| if !g.on(Gate::CSIMigrationPortworx) { PortworxInTree } else if r.since(36) { PortworxAlways } else { PortworxByAnnotation },
            proof "storage-migrated-limits@1.34.4";
    }
}
