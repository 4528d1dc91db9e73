//! Preemption proper.

use super::behaviors;

behaviors! {
    /// Preemption proper.
    pub struct PreemptionBehavior {
        /// Which terminating pods on its nominated node keep a pod from preempting again.
        /// Upstream: `defaultpreemption/default_preemption.go` PodEligibleToPreemptOthers.
        terminating_guard: TerminatingGuard {
            /// Any of lower priority.
            AnyLowerPriority,
            /// Those of lower priority that the scheduler itself preempted.
            PreemptedByScheduler,
        } = |r, _g| if r.since(27) { PreemptedByScheduler } else { AnyLowerPriority },
            proof "";
    }
}
