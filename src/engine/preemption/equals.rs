//! Victims that nothing but the order of pods in the scheduler's memory tells apart. No dump shows that order.

use super::super::outcome::Candidate;
use super::dry_run::DryRuns;
use super::importance::Importance;
use super::lineup;
use crate::model::id::{PdbId, PodId};

/// How many more dry-run steps the search for stand-ins may cost in one cycle; a stand-in that needs none costs one.
pub(crate) struct Steps(usize);

impl Default for Steps {
    fn default() -> Self {
        Steps(200_000)
    }
}

impl Steps {
    fn take(&mut self, steps: usize) -> bool {
        let enough = self.0 >= steps;
        self.0 = self.0.saturating_sub(steps);
        enough
    }
}

/// Per victim of a candidate, the pods of its node that would be victims in its place if the two had changed places in the
/// scheduler's memory.
pub(crate) fn stand_ins(runs: &DryRuns<'_>, candidate: &Candidate, steps: &mut Steps) -> Vec<Vec<PodId>> {
    let sorted: Vec<Importance> = runs.reach(candidate.node).victims().copied().collect();
    let place = |pod: PodId| sorted.iter().position(|it| it.pod == pod);
    let spared: Vec<usize> = candidate.reprieved.iter().filter_map(|pod| place(*pod)).collect();
    let mut of_victim = |pod: PodId| {
        let Some(at) = place(pod) else { return Vec::new() };
        let equal = spared.iter().copied().filter(|other| sorted[at].equals(&sorted[*other]));
        let mut found: Vec<PodId> = equal
            .filter(|other| takes_the_place(runs, candidate, &sorted, at, *other, steps))
            .map(|other| sorted[other].pod)
            .collect();
        found.sort_unstable();
        found
    };
    candidate.victims.iter().map(|victim| of_victim(victim.pod)).collect()
}

fn takes_the_place(
    runs: &DryRuns<'_>,
    candidate: &Candidate,
    sorted: &[Importance],
    victim: usize,
    spared: usize,
    steps: &mut Steps,
) -> bool {
    if is_alike(runs, sorted[victim].pod, sorted[spared].pod) {
        // Of thousands of equal pods on one node, each may stand in for each: what is listed is bounded as well.
        return steps.take(1);
    }
    steps.take(sorted.len())
        && runs.one(candidate.node, &mut |pods| pods.swap(victim, spared)).result.is_ok_and(|other| {
            let evicts = |at: usize| other.victims.iter().any(|it| it.pod == sorted[at].pod);
            evicts(spared) && !evicts(victim)
        })
}

/// Whether no filter and no budget can tell two pods of one node apart: then each is evicted wherever the other would be.
fn is_alike(runs: &DryRuns<'_>, one: PodId, other: PodId) -> bool {
    let cluster = runs.cycle.cluster();
    let (first, second) = (cluster.pod(one), cluster.pod(other));
    let disrupted = |pod: PodId| {
        let name = cluster.pod(pod).name;
        let budgets = lineup::budgets(runs.cycle.snapshot).of(cluster, pod);
        let listed = budgets.iter().filter(|pdb| cluster.pdb(**pdb).disrupted_pods.binary_search(&name).is_ok());
        listed.copied().collect::<Vec<PdbId>>()
    };
    first.namespace == second.namespace
        && first.labels == second.labels
        && first.spec == second.spec
        && first.deleted.is_some() == second.deleted.is_some()
        && runs.cycle.snapshot.footprint(one) == runs.cycle.snapshot.footprint(other)
        && disrupted(one) == disrupted(other)
}

/// A candidate's victims if all runs of equal pods stood the other way round in the scheduler's memory, where that changes
/// what the choice of a node compares. Asked only where some of several equal pods are evicted and some spared, and only
/// where these are not alike: elsewhere the order shows in the names alone.
pub(crate) fn reversed(runs: &DryRuns<'_>, candidate: &Candidate, steps: &mut Steps) -> Option<Candidate> {
    let victims = || candidate.victims.iter().map(|victim| victim.pod);
    let cluster = runs.cycle.cluster();
    let equal = |one: PodId, other: PodId| {
        let (one, other) = (cluster.pod(one), cluster.pod(other));
        one.priority() == other.priority() && one.started == other.started
    };
    let split =
        victims().any(|one| candidate.reprieved.iter().any(|other| equal(one, *other) && !is_alike(runs, one, *other)));
    if !split || !steps.take(candidate.reprieved.len() + candidate.victims.len()) {
        return None;
    }
    let turn = &mut |pods: &mut [Importance]| {
        for run in pods.chunk_by_mut(Importance::equals) {
            run.reverse();
        }
    };
    let other = runs.one(candidate.node, turn).result.ok()?;
    let changed = other.score != candidate.score
        || other.pdb_violations != candidate.pdb_violations
        || other.victims.len() != candidate.victims.len();
    changed.then_some(other)
}
