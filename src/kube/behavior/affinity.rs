//! InterPodAffinity, NodeAffinity, tolerations.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// InterPodAffinity, NodeAffinity, tolerations.
    pub struct AffinityBehavior {
        /// Which check of InterPodAffinity comes first. Upstream: `interpodaffinity/filtering.go`.
        check_order: AffinityCheckOrder {
            /// Existing pods' anti-affinity, affinity, anti-affinity.
            ExistingFirst,
            /// Affinity, anti-affinity, existing pods' anti-affinity.
            AffinityFirst,
        } = |r, _g| if r.since(19) { AffinityFirst } else { ExistingFirst },
            proof "interpod-s004@1.18.2";
        /// On which nodes a pod that has affinity to itself may be the first of its kind.
        /// Upstream: `interpodaffinity/filtering.go` satisfyPodAffinity.
        first_pod: AffinityFirstPod {
            /// On every node.
            AnyNode,
            /// On nodes with the topology labels of its terms.
            LabelledNodes,
        } = |r, _g| if r.since(19) { LabelledNodes } else { AnyNode },
            proof "interpod-w000@1.37.2";
        /// What `namespaceSelector` does. Upstream: `types.go` newAffinityTerm, `interpodaffinity/plugin.go`.
        namespace_selector: AffinityNamespaceSelector {
            /// The field is not known.
            Unknown,
            /// It selects nothing, but where it is given, a term without `namespaces` does not stand for its own either.
            NamesNothing,
            /// It selects namespaces by their labels.
            ByLabels,
            /// As `ByLabels`, but the incoming pod's is tried on no labels at all as well, for every pod (#141526).
            ByLabelsOrNone,
        } = |r, g| {
            if !r.since(21) {
                Unknown
            } else if !g.on(Gate::PodAffinityNamespaceSelector) {
                NamesNothing
            } else if r.since(34) && !r.since(37) {
                ByLabelsOrNone
            } else {
                ByLabels
            }
        },
            proof "interpod-w003@1.36.3";
        /// What a selector does that cannot be parsed. Upstream: `interpodaffinity/filtering.go` PreFilter.
        unparsable: AffinityUnparsable {
            /// The incoming pod's, or any existing pod's, ends the attempt with an error.
            Faults,
            /// The incoming pod's rejects it; all anti-affinity of an existing pod with one counts as absent.
            Rejects,
        } = |r, _g| if r.since(19) { Rejects } else { Faults },
            proof "scenario:unparsable_selector";
        /// Whether a pod that no term concerns skips the plugin: terms of nominated pods are not looked at then.
        /// Upstream: `interpodaffinity/filtering.go` PreFilter.
        skip: AffinitySkip {
            /// Never.
            Never,
            /// Without terms of its own, and where no existing pod's anti-affinity selects it.
            Unconcerned,
        } = |r, _g| if r.since(27) { Unconcerned } else { Never },
            proof "interpod-w002@1.37.2";
        /// For which namespace a term without any stands while its pod comes or goes.
        /// Upstream: `interpodaffinity/filtering.go` updateWithPod.
        hook_namespace: AffinityHookNamespace {
            /// The incoming pod's.
            IncomingPods,
            /// The namespace of the pod that has the term.
            OwnersOwn,
        } = |r, _g| if r.since(19) { OwnersOwn } else { IncomingPods },
            proof "mixed-s026@1.18.2";
        /// Whether a pod without a node, that is a nominated one, counts for the incoming pod's terms when it is added.
        /// Upstream: `interpodaffinity/filtering.go` updateWithPod.
        hook_nominated: AffinityHookNominated {
            /// No.
            Overlooked,
            /// Yes.
            Counted,
        } = |r, _g| if r.since(19) { Counted } else { Overlooked },
            proof "mixed-s017@1.24.4";
        /// What the toleration operators `Lt` and `Gt` do. Upstream: `api/core/v1/toleration.go`.
        toleration_comparisons: TolerationComparisons {
            /// Nothing: such a toleration tolerates no taint.
            Unknown,
            /// They compare integers.
            Integers,
        } = |_r, g| if g.on(Gate::TaintTolerationComparisonOperators) { Integers } else { Unknown },
            proof "taints-w000@1.37.2";
        /// What NodeAffinity makes of an affinity whose every term names nodes. Upstream: `nodeaffinity/node_affinity.go`.
        node_names: NodeAffinityNames {
            /// Nothing before Filter.
            NotLookedAt,
            /// PreFilter narrows the pod to them; a term that names different nodes at once rejects it.
            EmptyTermRejects,
            /// PreFilter narrows the pod to them; only if no term names any is it rejected.
            EmptyUnionRejects,
        } = |r, _g| if r.since(27) { EmptyUnionRejects } else if r.since(24) { EmptyTermRejects } else { NotLookedAt },
            proof "daemonset-w000@1.37.2";
    }
}
