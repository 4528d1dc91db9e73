//! What follows a choice: the writes to the API, and their order.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// What follows a choice: the writes to the API, and their order.
    pub struct EffectsBehavior {
        /// Whether victims are deleted one after the other. Upstream: `preemption.go` prepareCandidate,
        /// `preemption/executor.go`.
        deletions: VictimDeletions {
            /// One after the other, in the victims' order.
            InTurn,
            /// All at once.
            AtOnce,
            /// All but the last at once, then the last; the scheduler goes on meanwhile.
            LastByItself,
        } = |r, g| {
            if !r.since(26) {
                InTurn
            } else if g.on(Gate::SchedulerAsyncPreemption) {
                LastByItself
            } else {
                AtOnce
            }
        }, proof "scenario:victims_are_deleted_in_turn_then_at_once_then_all_but_the_last";
        /// When the nomination is written. Upstream: `generic_scheduler.go` up to 1.18, `schedule_one.go` since.
        nomination_write: NominationWrite {
            /// Before the victims are deleted.
            BeforeVictims,
            /// After they were told to go.
            AfterVictims,
            /// While they are told to go.
            BesideVictims,
        } = |r, g| {
            if !r.since(19) {
                BeforeVictims
            } else if g.on(Gate::SchedulerAsyncPreemption) {
                BesideVictims
            } else {
                AfterVictims
            }
        }, proof "scenario:the_nomination_is_written_before_the_victims_only_in_1_18";
        /// When pods of lower priority lose their nomination to the node. Upstream: `preemption.go` prepareCandidate,
        /// prepareCandidateAsync.
        lower_nominations: LowerNominations {
            /// After the victims were told to go.
            AfterVictims,
            /// Before they are.
            BeforeVictims,
        } = |r, g| if r.since(19) && g.on(Gate::SchedulerAsyncPreemption) { BeforeVictims } else { AfterVictims },
            proof "scenario:lower_nominations_are_cleared_first_since_preemption_is_asynchronous";
        /// What becomes of a victim that is terminating already. Upstream: `preemption/executor.go`.
        terminating_victims: TerminatingVictims {
            /// It is deleted again.
            DeletedAgain,
            /// It is let be; where every victim is terminating, no nomination is cleared either.
            LetBe,
        } = |r, g| {
            let skipped = r.since(35) || r.minor == 34 && r.patch <= 1;
            if skipped && g.on(Gate::SchedulerAsyncPreemption) { LetBe } else { DeletedAgain }
        }, proof "scenario:terminating_victims_are_let_be_since_1_35";
    }
}
