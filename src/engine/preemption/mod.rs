//! Preemption: what DefaultPreemption does for a pod that fits nowhere.
//! Upstream: `plugins/defaultpreemption`, `framework/preemption`.

mod choice;
mod dry_run;
mod eligibility;
mod equals;
mod importance;
pub(crate) mod lineup;
mod members;
mod pdb;
mod pdb_orders;
mod pick;
mod sampling;
pub(crate) mod statuses;
mod walk;

use super::chain::CycleFilters;
use super::framework::{Fault, Gap, GapEffect, GapSet, PodCycle, Verdict};
use super::outcome::{Cause, DryRunFailure, Eligibility, Nomination, Preemption, Victim};
use crate::kube::behavior::{DryRunError, NominationWithoutCandidate, PotentialOrder};
use crate::kube::plugin::Plugin;
use crate::model::cluster::Kind;
use choice::Choices;
use dry_run::{DryRuns, Tried};
use pick::{Choosing, Crash};
use sampling::Order;
use statuses::Statuses;

pub(crate) use walk::trace;

/// What preemption comes to.
pub(crate) struct Preempted {
    pub(crate) preemption: Preemption,
    pub(crate) nomination: Nomination,
    /// Why there is more than one answer.
    pub(crate) causes: Vec<Cause>,
    /// Gaps of the filters that the dry runs met.
    pub(crate) met: GapSet,
    /// What the dump lacks of preemption's own.
    pub(crate) gaps: Vec<Gap>,
    /// The scheduler crashes instead.
    pub(crate) crash: Option<Fault>,
}

/// Runs DefaultPreemption.
pub(crate) fn run(cycle: &PodCycle<'_>, filters: &CycleFilters<'_>, statuses: &Statuses<'_>) -> Preempted {
    let eligibility = eligibility::of(cycle, statuses);
    let mut preempted = Preempted {
        preemption: Preemption {
            eligibility,
            potential: Vec::new(),
            candidates: Vec::new(),
            variants: Vec::new(),
            failures: Vec::new(),
            choice: None,
        },
        nomination: Nomination::Kept,
        causes: Vec::new(),
        met: GapSet::NONE,
        gaps: Vec::new(),
        crash: None,
    };
    if eligibility != Eligibility::Eligible {
        return preempted;
    }
    preempted.preemption.potential = statuses::potential(cycle, statuses);
    if preempted.preemption.potential.is_empty() {
        preempted.nomination = Nomination::Cleared;
        return preempted;
    }
    let behavior = &cycle.snapshot.behavior.preemption;
    let now = lineup::now(cycle.snapshot);
    let lineup = lineup::below(cycle.snapshot, cycle.incoming().priority());
    let runs = DryRuns { cycle: *cycle, filters, lineup: &lineup, rank: &[], now };
    let mut splits = Vec::new();
    for Tried { node, result, gaps, splits_equals } in runs.all(&preempted.preemption.potential) {
        preempted.met = preempted.met.with(gaps);
        match result {
            Ok(candidate) => {
                preempted.preemption.candidates.push(candidate);
                splits.push(splits_equals);
            }
            Err(failure) => preempted.preemption.failures.push((node, failure)),
        }
    }
    let order = match behavior.potential_order {
        PotentialOrder::Map if !statuses.absent_are_potential() => Order::Random,
        PotentialOrder::Map | PotentialOrder::Snapshot => Order::Circle,
    };
    let choosing = Choosing { now, no_victim_needed: behavior.no_victim_needed };
    match (Choices { runs, choosing, order, splits_equals: splits }).make(&mut preempted.preemption) {
        Ok(Some(chosen)) => {
            preempted.nomination = Nomination::Set(chosen.choice.node);
            preempted.causes = chosen.causes;
            preempted.preemption.choice = Some(chosen.choice);
        }
        Ok(None) => preempted.nomination = without_candidate(cycle, &preempted.preemption),
        Err(Crash) => preempted.crash = Some(Fault::Panics),
    }
    if !preempted.preemption.candidates.is_empty() {
        preempted.gaps = budget_gaps(cycle, &preempted.preemption);
    }
    preempted
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

/// Budgets that the dump may lack, or has without their status: with them other victims may be spared.
fn budget_gaps(cycle: &PodCycle<'_>, preemption: &Preemption) -> Vec<Gap> {
    let cluster = cycle.cluster();
    let gap = |object| Gap {
        kind: Kind::PodDisruptionBudget,
        plugin: Plugin::DefaultPreemption,
        object,
        effect: GapEffect::MayDiffer,
    };
    let missing = cluster.may_lack(Kind::PodDisruptionBudget).then(|| gap(None));
    let charges = preemption.candidates.iter().flat_map(|it| &it.victims).flat_map(Victim::pdbs);
    let mut blank: Vec<_> = charges.map(|charge| charge.pdb).filter(|pdb| cluster.pdb(*pdb).status_missing).collect();
    blank.sort_unstable();
    blank.dedup();
    missing.into_iter().chain(blank.into_iter().map(|pdb| gap(Some(cluster.pdb(pdb).name)))).collect()
}
