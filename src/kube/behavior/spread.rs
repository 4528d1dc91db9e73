//! PodTopologySpread.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// PodTopologySpread.
    pub struct SpreadBehavior {
        /// The code of a node without a constraint's topology label. Upstream: `podtopologyspread/filtering.go`.
        missing_label: SpreadMissingLabel {
            /// Unschedulable, with the words of a skew.
            Unschedulable,
            /// UnschedulableAndUnresolvable, with words of its own.
            Unresolvable,
        } = |r, _g| if r.since(19) { Unresolvable } else { Unschedulable },
            proof "spread-s004@1.18.2";
        /// What happens where no node is eligible, so that no constraint has a domain.
        /// Upstream: `podtopologyspread/filtering.go` (picked to 1.18.12 and 1.19.4).
        without_domains: SpreadWithoutDomains {
            /// Every node passes, even one without the topology labels.
            EveryNodePasses,
            /// Nodes still need the labels.
            LabelsAreNeeded,
        } = |r, _g| if r.since_patched(20, &[(18, 12), (19, 4)]) { LabelsAreNeeded } else { EveryNodePasses },
            proof "spread-s002@1.24.4";
        /// Whose pods are counted. Upstream: `podtopologyspread/filtering.go` calPreFilterState.
        counted_nodes: SpreadCountedNodes {
            /// Those on eligible nodes.
            Eligible,
            /// Those on any node of a domain that has an eligible node; a node without the topology label counts as of
            /// the empty value.
            OfKnownDomains,
        } = |r, _g| if r.since(19) && !r.since(24) { OfKnownDomains } else { Eligible },
            proof "spread-s007@1.20.15";
        /// Which nodes are eligible. Upstream: `podtopologyspread/common.go` matchNodeInclusionPolicies.
        eligibility: SpreadEligibility {
            /// Those that meet the pod's node selector and affinity.
            NodeAffinity,
            /// Those that `nodeAffinityPolicy` and `nodeTaintsPolicy` of each constraint let in.
            InclusionPolicies,
        } = |_r, g| if g.on(Gate::NodeInclusionPolicyInPodTopologySpread) { InclusionPolicies } else { NodeAffinity },
            proof "mixed-s028@1.26.4";
        /// On which nodes a pod that comes or goes changes the counts.
        /// Upstream: `podtopologyspread/filtering.go` updateWithPod (picked to 1.22.12, 1.23.9, 1.24.4).
        hook_nodes: SpreadHookNodes {
            /// On every node with the topology labels.
            Labelled,
            /// On eligible nodes.
            Eligible,
        } = |r, _g| if r.since_patched(25, &[(22, 12), (23, 9), (24, 4)]) { Eligible } else { Labelled },
            proof "spread-w000@1.37.2";
        /// What happens where a pod comes to, or goes from, a node whose domain has no eligible node.
        /// Upstream: `podtopologyspread/filtering.go` updateWithPod.
        unknown_domain: SpreadUnknownDomain {
            /// The domain is made.
            Made,
            /// The scheduler crashes.
            Panics,
        } = |r, _g| if r.since(19) && !r.since(24) { Panics } else { Made },
            proof "scenario:nominated_outside";
        /// What an empty selector (`{}`) counts. Upstream: `podtopologyspread/common.go` countPodsMatchSelector.
        empty_selector: SpreadEmptySelector {
            /// Every pod of the namespace.
            CountsAll,
            /// No pod; the hooks still count every one.
            CountsNone,
        } = |r, _g| if r.since(27) { CountsNone } else { CountsAll },
            proof "spread-s010@1.27.1";
        /// What `minDomains` does. Upstream: `podtopologyspread/filtering.go` minMatchNum.
        min_domains: SpreadMinDomains {
            /// Nothing.
            Ignored,
            /// With fewer domains the smallest count is taken for 0.
            Applied,
        } = |_r, g| if g.on(Gate::MinDomainsInPodTopologySpread) { Applied } else { Ignored },
            proof "spread-s019@1.20.15";
        /// What `matchLabelKeys` does. Upstream: `podtopologyspread/common.go`.
        match_label_keys: SpreadMatchLabelKeys {
            /// Nothing.
            Ignored,
            /// The pod's own values of these keys join the selector.
            JoinSelector,
        } = |_r, g| if g.on(Gate::MatchLabelKeysInPodTopologySpread) { JoinSelector } else { Ignored },
            proof "spread-s011@1.27.1";
        /// Which controllers give default constraints their selector. Upstream: `plugins/helper/spread.go`.
        default_selector: SpreadDefaultSelector {
            /// Those whose selector matches the pod.
            MatchingControllers,
            /// The pod's own controller.
            OwnController,
        } = |r, _g| if r.since(22) { OwnController } else { MatchingControllers },
            proof "spread-w001@1.37.2";
    }
}
