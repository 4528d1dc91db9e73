//! The frame around the plugins.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// The frame around the plugins: order of checks, PreFilter rejections, narrowing.
    pub struct FrameBehavior {
        /// How many Filter plugins judge a node. Upstream: `runtime/framework.go` RunFilterPlugins (#114518).
        filter_run: FilterRun {
            /// The first that rejects ends the evaluation.
            FirstFailure,
            /// All run, and all rejections are merged.
            MergeAll,
        } = |r, _g| if r.since(24) && !r.since_patched(27, &[(24, 10), (25, 6), (26, 1)]) { MergeAll } else { FirstFailure },
            proof "config-s000@1.37.2";

        /// What becomes of the nodes when PreFilter rejects the pod. Upstream: `schedule_one.go` (#119778), `generic_scheduler.go`.
        pre_filter_rejection: PreFilterRejected {
            /// The rejection is an error: no node has a status and preemption is not tried.
            Error,
            /// Every node has the rejection as its status.
            CopyToNodes,
            /// No node has a status, so every node is a potential node.
            ForgetNodes,
        } = |r, _g| if !r.since(19) { Error } else if r.since(26) && !r.since_patched(29, &[(26, 9), (27, 6), (28, 2)]) { ForgetNodes } else { CopyToNodes },
            proof "legacyvolumes-s005@1.37.2";

        /// The code when PreFilter leaves no node. Upstream: `runtime/framework.go` RunPreFilterPlugins.
        empty_intersection: EmptyIntersection {
            /// Unschedulable.
            Unschedulable,
            /// UnschedulableAndUnresolvable.
            Unresolvable,
        } = |r, _g| if r.since(30) { Unresolvable } else { Unschedulable },
            proof "scenario:empty_intersection";

        /// The status of a node outside of the PreFilterResult. Upstream: `schedule_one.go` findNodesThatFitPod.
        narrowed_out: NarrowedOut {
            /// None; the outcome has no status either.
            NoStatus,
            /// UnschedulableAndUnresolvable, recorded: the outcome has `FilteredOutByPreFilter`.
            FilteredOut,
            /// None, and no node without a status is a potential node: the outcome has `NotSelectedByPreFilter`, which the
            /// message does not count.
            Absent,
            /// UnschedulableAndUnresolvable for all nodes without a status: the outcome has `NotSelectedByPreFilter`, which
            /// the message counts.
            AbsentUnresolvable,
        } = |r, _g| if r.since(32) { AbsentUnresolvable }
            else if r.since_patched(31, &[(27, 15), (28, 11), (29, 6), (30, 2)]) { Absent }
            else if r.since_patched(30, &[(27, 14), (28, 10), (29, 5)]) { FilteredOut }
            else { NoStatus },
            proof "daemonset-s000@1.37.2";

        /// What a name in the PreFilterResult does that is no node's. Upstream: `schedule_one.go` findNodesThatFitPod.
        missing_narrowed_name: MissingNarrowedName {
            /// It ends the attempt with an error.
            Fault,
            /// It is passed over; where no node is left, the scheduler crashes (an integer division by zero).
            PanicIfNoneLeft,
            /// It is passed over.
            Ignored,
        } = |r, _g| if r.since_patched(31, &[(27, 15), (28, 11), (29, 6), (30, 2)]) { Ignored }
            else if r.since_patched(30, &[(27, 14), (28, 10), (29, 5)]) { PanicIfNoneLeft }
            else { Fault },
            proof "daemonset-s001@1.37.2";

        /// Which nodes are potential nodes for preemption. Upstream: `preemption.go` nodesWherePreemptionMightHelp.
        potential_nodes: PotentialNodes {
            /// All but those with status UnschedulableAndUnresolvable; a node without a status is one.
            NotUnresolvable,
            /// Those with status Unschedulable only.
            OnlyUnschedulable,
        } = |r, _g| if r.since_patched(31, &[(27, 15), (28, 11), (29, 6), (30, 2)]) { OnlyUnschedulable } else { NotUnresolvable },
            proof "daemonset-s000@1.31.1";

        /// Whether the pod's own nominated node is tried before the others, and taken if it fits; it is tried even if
        /// PreFilter narrowed the pod to other nodes. Upstream: `schedule_one.go` evaluateNominatedNode.
        nominated_node: NominatedNodeTried {
            /// With the others.
            WithOthers,
            /// First.
            First,
        } = |_r, g| if g.on(Gate::PreferNominatedNode) { First } else { WithOthers },
            proof "scenario:own_nominated_node_is_taken_first";

        /// Whether a pod with scheduling gates is kept out of the queue. Upstream: `schedulinggates/scheduling_gates.go`.
        scheduling_gates: SchedulingGatesEffect {
            /// The gates are not looked at.
            Ignored,
            /// The pod is never attempted.
            HoldBack,
        } = |_r, g| if g.on(Gate::PodSchedulingReadiness) { HoldBack } else { Ignored },
            proof "phases-s004@1.37.2";

        /// What happens to a pod's nomination when the attempt ends with an error. Upstream: `scheduler.go`,
        /// `schedule_one.go` handleSchedulingFailure.
        nomination_after_error: NominationAfterError {
            /// It stays.
            Stays,
            /// It is cleared.
            Clears,
        } = |r, g| if r.since_patched(24, &[(23, 2)]) && !(r.minor == 34 && g.on(Gate::NominatedNodeNameForExpectation)) { Clears } else { Stays },
            proof "scenario:nomination_after_error";

        /// What happens to a pod's nomination when the profile has no PostFilter plugin. Upstream: `schedule_one.go`.
        nomination_without_post_filter: NominationWithoutPostFilter {
            /// It stays.
            Remains,
            /// It is cleared.
            Vanishes,
        } = |r, _g| if r.since(35) { Vanishes } else { Remains },
            proof "scenario:nomination_without_post_filter";

        /// Whether the nomination of a pod that a gate holds reserves anything. Upstream: `backend/queue/scheduling_queue.go`.
        gated_nomination: GatedNomination {
            /// It does.
            Reserves,
            /// It does not: such a pod is not registered when it is first seen.
            Unregistered,
        } = |r, g| if r.since(37) || !g.on(Gate::PodSchedulingReadiness) { Reserves } else { Unregistered },
            proof "scenario:gated_pods_reserve";

        /// What the PostFilter of DynamicResources does for a pod whose claims it cannot help.
        /// Upstream: `dynamicresources/dynamicresources.go` PostFilter.
        claims_post_filter: ClaimsPostFilter {
            /// It gives a reason, and fails where its PreFilter never ran.
            GivesReason,
            /// The same, but only for pods that have claims.
            GivesReasonToClaimants,
            /// It gives no reason, and fails where its PreFilter never ran.
            Silent,
        } = |r, _g| if r.since(37) { Silent } else if r.minor == 33 { GivesReasonToClaimants } else { GivesReason },
            proof "config-s011@1.37.2";
    }
}
