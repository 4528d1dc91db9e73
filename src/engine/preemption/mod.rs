//! Preemption: what DefaultPreemption does for a pod that fits nowhere.
//! Upstream: `plugins/defaultpreemption`, `framework/preemption`.

mod dry_run;
mod eligibility;
mod importance;
mod pdb;
mod pick;
mod sampling;
pub(crate) mod statuses;

use super::chain::CycleFilters;
use super::framework::{Fault, GapSet, PodCycle, Verdict};
use super::nominated;
use super::outcome::{Candidate, Choice, DryRunFailure, Eligibility, Nomination, PossibleNomination, Preemption};
use crate::kube::behavior::{DryRunError, NominationWithoutCandidate, PotentialOrder};
use crate::model::id::{NodeId, PodId};
use crate::model::time::Time;
use dry_run::{DryRuns, Tried};
use pdb::Budgets;
use pick::{Choosing, Crash};
use sampling::{Field, Order};
use statuses::Statuses;

/// What preemption comes to.
pub(crate) struct Preempted {
    pub(crate) preemption: Preemption,
    pub(crate) nomination: Nomination,
    /// Gaps that the answer rests on.
    pub(crate) gaps: GapSet,
    /// The scheduler crashes instead.
    pub(crate) crash: Option<Fault>,
}

/// Runs DefaultPreemption.
pub(crate) fn run(cycle: &PodCycle<'_>, filters: &CycleFilters<'_>, statuses: &Statuses<'_>) -> Preempted {
    let eligibility = eligibility::of(cycle, statuses);
    let mut preemption =
        Preemption { eligibility, potential: Vec::new(), candidates: Vec::new(), failures: Vec::new(), choice: None };
    if eligibility != Eligibility::Eligible {
        return Preempted { preemption, nomination: Nomination::Kept, gaps: GapSet::NONE, crash: None };
    }
    preemption.potential = statuses::potential(cycle, statuses);
    if preemption.potential.is_empty() {
        return Preempted { preemption, nomination: Nomination::Cleared, gaps: GapSet::NONE, crash: None };
    }
    let behavior = &cycle.snapshot.behavior.preemption;
    let budgets = Budgets::new(cycle.cluster(), behavior);
    let now = cycle.cluster().as_of.unwrap_or(Time::MAX);
    let runs = DryRuns { cycle: *cycle, filters, budgets: &budgets, now };
    let mut gaps = GapSet::NONE;
    let mut places = Vec::new();
    for (place, tried) in runs.all(&preemption.potential).into_iter().enumerate() {
        let Tried { node, result, gaps: met } = tried;
        gaps = gaps.with(met);
        match result {
            Ok(candidate) => {
                places.push(place);
                preemption.candidates.push(candidate);
            }
            Err(failure) => preemption.failures.push((node, failure)),
        }
    }
    let choosing = Choosing { now, no_victim_needed: behavior.no_victim_needed };
    let order = match behavior.potential_order {
        PotentialOrder::Map if !statuses.absent_are_potential() => Order::Random,
        PotentialOrder::Map | PotentialOrder::Snapshot => Order::Circle,
    };
    let chosen = choose(cycle, &choosing, &preemption, &places, order);
    let (nomination, crash) = match &chosen {
        Ok(Some(choice)) => (Nomination::Set(choice.node), None),
        Ok(None) => (without_candidate(cycle, &preemption), None),
        Err(Crash) => (Nomination::Kept, Some(Fault::Panics)),
    };
    preemption.choice = chosen.unwrap_or(None);
    Preempted { preemption, nomination, gaps, crash }
}

/// The nomination among the candidates.
fn choose(
    cycle: &PodCycle<'_>,
    choosing: &Choosing,
    preemption: &Preemption,
    places: &[usize],
    order: Order,
) -> Result<Option<Choice>, Crash> {
    let candidates = &preemption.candidates;
    let limit = sampling::limit(
        preemption.potential.len(),
        &cycle.profile.preemption,
        cycle.snapshot.behavior.preemption.candidate_limit,
    );
    if candidates.is_empty() || limit == 0 {
        return Ok(None);
    }
    let picked = choosing.pick(&candidates.iter().collect::<Vec<_>>())?;
    let ranks = choosing.ranks(candidates);
    let violating: Vec<bool> = candidates.iter().map(|it| it.pdb_violations > 0).collect();
    let field =
        Field { potential: preemption.potential.len(), places, ranks: &ranks, violating: &violating, limit, order };
    let first = picked.best[0];
    let mut tied: Vec<NodeId> = picked.best.iter().map(|at| candidates[*at].node).collect();
    tied.sort_unstable();
    Ok(Some(Choice {
        node: candidates[first].node,
        tied,
        decided_by: picked.decided_by,
        lost_on: picked.lost_on,
        outcomes: outcomes(&field, candidates),
        cleared: cleared(cycle, candidates[first].node),
        all_terminating: all_terminating(cycle, &candidates[first]),
    }))
}

/// Every node that a cycle may nominate, most likely first.
fn outcomes(field: &Field<'_>, candidates: &[Candidate]) -> Vec<PossibleNomination> {
    let shares = field.shares();
    let mut reached: Vec<usize> = (0..candidates.len()).filter(|at| shares[*at] > 0.0).collect();
    reached.sort_by(|one, other| shares[*other].total_cmp(&shares[*one]));
    reached.extend(field.reached_out_of_step(&shares));
    let outcome = |at: usize| PossibleNomination { node: candidates[at].node, share: shares[at], variant: None };
    reached.into_iter().map(outcome).collect()
}

/// Pods nominated to the node that have a lower priority: they have to look for another.
fn cleared(cycle: &PodCycle<'_>, node: NodeId) -> Vec<PodId> {
    let (cluster, priority) = (cycle.cluster(), cycle.incoming().priority());
    nominated::others(cycle, node).filter(|pod| cluster.pod(*pod).priority() < priority).collect()
}

fn all_terminating(cycle: &PodCycle<'_>, candidate: &Candidate) -> bool {
    let mut victims = candidate.victims.iter().flat_map(|victim| &victim.pods);
    victims.all(|pod| cycle.cluster().pod(*pod).deleted.is_some())
}

fn without_candidate(cycle: &PodCycle<'_>, preemption: &Preemption) -> Nomination {
    let behavior = &cycle.snapshot.behavior.preemption;
    let failed = match behavior.dry_run_error {
        DryRunError::EndsPostFilter => preemption.failures.iter().any(|(_, failure)| is_error(failure)),
        DryRunError::Swallowed => false,
    };
    match behavior.nomination_without_candidate {
        NominationWithoutCandidate::Cleared if !failed => Nomination::Cleared,
        NominationWithoutCandidate::Cleared | NominationWithoutCandidate::Kept => Nomination::Kept,
    }
}

/// Whether a node's dry run ended with an error, as opposed to a rejection.
fn is_error(failure: &DryRunFailure) -> bool {
    match failure {
        DryRunFailure::NoVictims => false,
        DryRunFailure::Rejected(status) => matches!(status.verdict, Verdict::Faults(_)),
        DryRunFailure::NoVictimNeeded | DryRunFailure::UnpreparedHook(_) => true,
    }
}
