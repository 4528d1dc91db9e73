//! What the scheduler does once it has chosen: writes to the API, in its order.

use crate::engine::framework::PodCycle;
use crate::engine::outcome::{Candidate, Choice, Nomination, Outcome};
use crate::kube::behavior::{LowerNominations, NominationWrite, TerminatingVictims, VictimCondition};
use crate::model::id::{NodeId, PodId};

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Takes a pod's nomination away.
    ClearNomination(PodId),
    /// Writes the condition `DisruptionTarget` to a victim.
    MarkVictim(PodId),
    /// Deletes a victim.
    Delete(PodId),
    /// Writes the event `Preempted` on a victim.
    VictimEvent(PodId),
    /// Writes the event `FailedScheduling` on the pod.
    FailedScheduling,
    /// Writes the pod's nomination.
    Nominate(NodeId),
}

/// Everything the scheduler writes after an outcome, in its order.
pub fn of(cycle: &PodCycle<'_>, outcome: &Outcome, chosen: Option<(&Choice, &Candidate)>) -> Vec<Effect> {
    let mut effects = Vec::new();
    if let Some((choice, candidate)) = chosen {
        preempt(cycle, choice, candidate, &mut effects);
    } else {
        if outcome.is_failure() {
            effects.push(Effect::FailedScheduling);
        }
        if outcome.nomination == Nomination::Cleared && cycle.incoming().nominated_node_name.is_some() {
            effects.push(Effect::ClearNomination(cycle.pod));
        }
    }
    effects
}

fn preempt(cycle: &PodCycle<'_>, choice: &Choice, candidate: &Candidate, effects: &mut Vec<Effect>) {
    let behavior = &cycle.snapshot.behavior.effects;
    let cluster = cycle.cluster();
    let let_be = behavior.terminating_victims == TerminatingVictims::LetBe;
    let told: Vec<PodId> =
        candidate.victims.iter().map(|it| it.pod).filter(|it| !let_be || cluster.pod(*it).deleted.is_none()).collect();
    let mut cleared: Vec<Effect> = choice.cleared.iter().map(|it| Effect::ClearNomination(*it)).collect();
    if let_be && choice.all_terminating {
        cleared.clear();
    }
    if behavior.nomination_write == NominationWrite::BeforeVictims {
        effects.push(Effect::Nominate(choice.node));
    }
    match behavior.lower_nominations {
        LowerNominations::BeforeVictims => effects.append(&mut cleared),
        LowerNominations::AfterVictims => {}
    }
    let conditions = cycle.snapshot.behavior.texts.victim_condition != VictimCondition::None;
    for pod in told {
        effects.extend(conditions.then_some(Effect::MarkVictim(pod)));
        effects.extend([Effect::Delete(pod), Effect::VictimEvent(pod)]);
    }
    effects.append(&mut cleared);
    effects.push(Effect::FailedScheduling);
    match behavior.nomination_write {
        NominationWrite::BeforeVictims => {}
        NominationWrite::AfterVictims | NominationWrite::BesideVictims => effects.push(Effect::Nominate(choice.node)),
    }
}
