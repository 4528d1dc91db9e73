//! Preemption proper.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// Preemption proper.
    pub struct PreemptionBehavior {
        /// Whether `preemptionPolicy: Never` keeps a pod from preempting. Upstream: `generic_scheduler.go` up to 1.18,
        /// `defaultpreemption/default_preemption.go` since.
        policy_never: PolicyNever {
            /// It is not read.
            Ignored,
            /// It does.
            Honoured,
        } = |r, g| if r.since(19) || g.on(Gate::NonPreemptingPriority) { Honoured } else { Ignored },
            proof "nominated-s003@1.20.15";

        /// Which terminating pods on its nominated node keep a pod from preempting again.
        /// Upstream: `defaultpreemption/default_preemption.go` PodEligibleToPreemptOthers.
        terminating_guard: TerminatingGuard {
            /// Any of lower priority.
            AnyLowerPriority,
            /// Those of lower priority that the scheduler itself preempted.
            PreemptedByScheduler,
        } = |r, g| if r.since(27) && g.on(Gate::PodDisruptionConditions) { PreemptedByScheduler } else { AnyLowerPriority },
            proof "mixed-s000@1.28.3";

        /// When the state of its nominated node frees a pod from that guard. Upstream: the same function.
        guard_lifted: GuardLifted {
            /// Never.
            Never,
            /// When this cycle told the node unresolvable.
            ToldUnresolvable,
            /// When the node is unresolvable, be it by the status of those that have none of their own.
            Unresolvable,
        } = |r, _g| if r.since(32) { Unresolvable } else if r.since(19) { ToldUnresolvable } else { Never },
            proof "mixed-s028@1.18.2";

        /// In which order potential nodes are tried, from a random place. Upstream: `framework/interface.go`
        /// NodesForStatusCode.
        potential_order: PotentialOrder {
            /// In the order of the snapshot.
            Snapshot,
            /// In the random order of a map.
            Map,
        } = |r, _g| if r.since(32) { Map } else { Snapshot },
            proof "scenario:potential_order";

        /// How many potential nodes are tried. Upstream: `default_preemption.go` GetOffsetAndNumCandidates.
        candidate_limit: CandidateLimit {
            /// All.
            NoLimit,
            /// From a random place, until there are as many candidates as the arguments ask for.
            OffsetAndLimit,
        } = |r, _g| if r.since(20) { OffsetAndLimit } else { NoLimit },
            proof "scenario:candidate_limit";

        /// What becomes of a potential node without any pod of lower priority. Upstream: `default_preemption.go`
        /// SelectVictimsOnNode.
        no_lower_priority: NoLowerPriority {
            /// It is tried like any other.
            GoesOn,
            /// It is no candidate.
            Rejected,
        } = |r, _g| if r.since(19) { Rejected } else { GoesOn },
            proof "daemonset-s002@1.23.5";

        /// What becomes of a node where no pod need go. Upstream: `preemption/preemption.go` DryRunPreemption.
        no_victim_needed: NoVictimNeeded {
            /// It wins at once.
            Wins,
            /// It is a candidate; where it is tied on budget violations with another, the scheduler crashes.
            Candidate,
            /// It is an error.
            Fails,
        } = |r, _g| if r.since(22) { Fails } else if r.since(19) { Candidate } else { Wins },
            proof "scenario:no_victim_needed";

        /// Which pods a budget with an empty selector matches. Upstream: `default_preemption.go`
        /// filterPodsWithPDBViolation (#141785).
        pdb_empty_selector: PdbEmptySelector {
            /// None, although the API means all.
            MatchesNothing,
            /// All of its namespace that have labels.
            MatchesAll,
        } = |r, _g| if r.since(38) { MatchesAll } else { MatchesNothing },
            proof "pdb-s000@1.34.4";

        /// How a victim's budgets are charged. Upstream: `default_preemption.go` filterPodsWithPDBViolation,
        /// `preemption/util.go`.
        pdb_walk: PdbWalk {
            /// Up to the first that is exhausted, which is not charged.
            StopsAtExhausted,
            /// All of them.
            WalksAll,
            /// Up to the first that falls below zero, which is charged.
            StopsAtViolated,
        } = |r, _g| if r.since(37) { StopsAtViolated } else if r.since(19) { WalksAll } else { StopsAtExhausted },
            proof "large-s000@1.20.15";

        /// Whether a budget passes over a pod that it lists in `disruptedPods`. Upstream: the same functions.
        disrupted_pods: DisruptedPods {
            /// It does not.
            Charged,
            /// It does: the eviction is counted already.
            PassedOver,
        } = |r, _g| if r.since(19) { PassedOver } else { Charged },
            proof "daemonset-s002@1.20.15";

        /// In which order the victims of a node stand. Upstream: `default_preemption.go` SelectVictimsOnNode.
        victim_order: VictimOrder {
            /// Those that violate a budget first, each part by importance.
            ViolatingFirst,
            /// By importance.
            Importance,
        } = |r, _g| if r.since_patched(32, &[(29, 11), (30, 7), (31, 3)]) { Importance } else { ViolatingFirst },
            proof "extended-s018@1.32.2";

        /// When a pod without start time is taken to have started. Upstream: `util/utils.go` MoreImportantPod,
        /// `preemption/types.go`.
        missing_start: MissingStart {
            /// Now, at every comparison anew: of two such pods the one asked about first is more important.
            NowAtEachComparison,
            /// Now, read once per pod, in the order of the node's pods.
            NowOnce,
        } = |r, _g| if r.since(37) { NowOnce } else { NowAtEachComparison },
            proof "phases-s009@1.37.2";

        /// The sort that orders victims, which shows where they are equal. Upstream: Go's `sort.Slice`. It goes by the
        /// toolchain of the binary: up to 1.24 both kinds are about, see `Behavior::of_older_toolchain`.
        sort: SortAlgorithm {
            /// Quicksort with a shell pass (Go up to 1.18).
            Quick,
            /// Pattern-defeating quicksort, with the 32-bit constants in its random numbers (Go 1.19 to 1.23).
            PatternDefeatingShort,
            /// Pattern-defeating quicksort (Go since 1.24).
            PatternDefeating,
        } = |r, _g| if r.since(32) { PatternDefeating } else { PatternDefeatingShort },
            proof "sortties-s000@1.26.4";

        /// What the error of a node's dry run does where no node is a candidate. Upstream: `preemption/preemption.go`
        /// Preempt.
        dry_run_error: DryRunError {
            /// Nothing: the node is no candidate.
            Swallowed,
            /// It ends PostFilter.
            EndsPostFilter,
        } = |r, _g| if r.since(23) { EndsPostFilter } else { Swallowed },
            proof "scenario:dry_run_error";

        /// What happens to a pod's nomination when no potential node is a candidate. Upstream: `scheduler.go`,
        /// `schedule_one.go`.
        nomination_without_candidate: NominationWithoutCandidate {
            /// It is kept.
            Kept,
            /// It is cleared.
            Cleared,
        } = |r, _g| if r.since_patched(24, &[(23, 2)]) { Cleared } else { Kept },
            proof "scenario:nomination_without_candidate";
    }
}
