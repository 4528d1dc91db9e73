//! One node's dry run, step by step and with nothing left out: what is told of a node that somebody asks about, and what the
//! dry runs of all nodes are held against.

use super::super::chain::{CycleFilters, Phase};
use super::super::framework::{NodeStatus, PodCycle};
use super::super::node_view::NodeView;
use super::super::nominated;
use super::super::outcome::{Candidate, DryRunFailure, PutBack, Trace, Victim};
use super::dry_run;
use super::importance::{self, Importance};
use super::lineup;
use super::pdb::Charges;
use crate::kube::behavior::{NoLowerPriority, NoVictimNeeded, VictimOrder};
use crate::model::id::{NodeId, PodId};
use std::sync::Arc;

/// Tries one node and writes down every step, as [`run`](super::run) does it.
pub(crate) fn trace(cycle: &PodCycle<'_>, filters: &CycleFilters<'_>, node: NodeId) -> Trace {
    let mut trace = Trace::default();
    let result = walk(cycle, filters, node, &mut trace);
    Trace { result: Some(result), ..trace }
}

fn walk(
    cycle: &PodCycle<'_>,
    filters: &CycleFilters<'_>,
    node: NodeId,
    trace: &mut Trace,
) -> Result<Candidate, DryRunFailure> {
    let snapshot = cycle.snapshot;
    let behavior = &snapshot.behavior.preemption;
    let mut potential = lineup::unsorted_below(snapshot, node, cycle.incoming().priority());
    match behavior.no_lower_priority {
        NoLowerPriority::Rejected if potential.is_empty() => return Err(DryRunFailure::NoVictims),
        NoLowerPriority::Rejected | NoLowerPriority::GoesOn => {}
    }
    let mut room = Room { view: NodeView::new(snapshot, node), filters: filters.fork(), cycle };
    for victim in &potential {
        room.remove(victim.pod)?;
    }
    let emptied = room.judge();
    trace.removed = potential.iter().map(|victim| victim.pod).collect();
    trace.emptied = Some(emptied.clone());
    if !emptied.fits() {
        return Err(DryRunFailure::Rejected(emptied));
    }
    importance::sort(&mut potential, behavior, lineup::now(snapshot));
    let charged = lineup::budgets(snapshot).charge(&snapshot.cluster, behavior, &potential);
    let candidate = reprieve(room, &potential, charged.all(), trace)?;
    match behavior.no_victim_needed {
        NoVictimNeeded::Fails if candidate.victims.is_empty() => Err(DryRunFailure::NoVictimNeeded),
        NoVictimNeeded::Fails | NoVictimNeeded::Candidate | NoVictimNeeded::Wins => Ok(candidate),
    }
}

/// Puts back whom the pod can do without, those first whose eviction would violate a budget.
fn reprieve(
    mut room: Room<'_>,
    potential: &[Importance],
    charges: Charges<'_>,
    trace: &mut Trace,
) -> Result<Candidate, DryRunFailure> {
    let places = || (0..).take(potential.len());
    let (violating, others): (Vec<u32>, Vec<u32>) = places().partition(|&victim| charges.violates(victim));
    let mixed = !violating.is_empty() && !others.is_empty();
    let mut evicted: Vec<(u32, NodeStatus)> = Vec::new();
    let mut reprieved = Vec::new();
    for at in violating.into_iter().chain(others) {
        let pod = potential[at as usize].pod;
        room.add(pod)?;
        let status = room.judge();
        let (pdbs, violates) = (charges.of(at), charges.violates(at));
        trace.put_back.push(PutBack { pod, pdbs, violates, status: status.clone() });
        if status.fits() {
            reprieved.push(pod);
        } else {
            room.remove(pod)?;
            evicted.push((at, status));
        }
    }
    let (behavior, now) = (&room.cycle.snapshot.behavior.preemption, lineup::now(room.cycle.snapshot));
    let mut order: Vec<Importance> = evicted.iter().map(|(at, _)| potential[*at as usize]).collect();
    match behavior.victim_order {
        VictimOrder::Importance if mixed => importance::sort(&mut order, behavior, now),
        VictimOrder::Importance | VictimOrder::ViolatingFirst => {}
    }
    let pdb_violations = evicted.iter().filter(|(at, _)| charges.violates(*at)).count();
    let victims = order.iter().filter_map(|victim| {
        let (at, status) = evicted.iter().find(|(at, _)| potential[*at as usize].pod == victim.pod)?;
        Some(Victim::new(victim.pod, charges.of(*at), charges.violates(*at), Arc::new(status.clone())))
    });
    Ok(Candidate {
        node: room.view.node_id(),
        victims: victims.collect(),
        reprieved,
        pdb_violations: i64::try_from(pdb_violations).expect("fewer victims than ids"),
        score: dry_run::score(&order, now),
    })
}

/// A node and the filters' own state for it.
struct Room<'r> {
    view: NodeView<'r>,
    filters: CycleFilters<'r>,
    cycle: &'r PodCycle<'r>,
}

impl Room<'_> {
    fn add(&mut self, pod: PodId) -> Result<(), DryRunFailure> {
        self.view.add(pod);
        self.filters.add_pod(pod, &self.view).map_err(|failed| DryRunFailure::UnpreparedHook(failed.0))
    }

    fn remove(&mut self, pod: PodId) -> Result<(), DryRunFailure> {
        self.view.remove(pod);
        self.filters.remove_pod(pod, &self.view).map_err(|failed| DryRunFailure::UnpreparedHook(failed.0))
    }

    fn judge(&self) -> NodeStatus {
        nominated::judge(self.cycle, &self.filters, &self.view, Phase::DryRun)
    }
}
