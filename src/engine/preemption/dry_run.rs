//! The dry run of one potential node: every pod of lower priority goes, then as many as possible come back.
//! Upstream: `default_preemption.go` SelectVictimsOnNode, `preemption/preemption.go` DryRunPreemption.

use super::super::chain::{CycleFilters, HookFailed, Phase};
use super::super::framework::{GapSet, NodeStatus, PodCycle};
use super::super::node_view::NodeView;
use super::super::nominated;
use super::super::outcome::{Candidate, DryRunFailure, PutBack, Score, Trace, Victim};
use super::importance::{self, Importance};
use super::pdb::{Budgets, Charges, Rank};
use crate::kube::behavior::{NoLowerPriority, NoVictimNeeded, VictimOrder};
use crate::model::id::NodeId;
use crate::model::time::Time;
use rayon::prelude::*;

/// What every dry run of one cycle shares.
#[derive(Clone, Copy)]
pub(crate) struct DryRuns<'r> {
    pub(crate) cycle: PodCycle<'r>,
    pub(crate) filters: &'r CycleFilters<'r>,
    pub(crate) budgets: &'r Budgets<'r>,
    /// The order in which the scheduler lists the budgets.
    pub(crate) rank: &'r Rank,
    /// The time that counts as now.
    pub(crate) now: Time,
}

/// The dry run of one node.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) node: NodeId,
    pub(crate) result: Result<Candidate, DryRunFailure>,
    /// Gaps met when all potential victims were gone.
    pub(crate) gaps: GapSet,
    /// Of several equal pods, some are evicted and some spared.
    pub(crate) splits_equals: bool,
}

/// What a dry run notes besides its result.
#[derive(Default)]
struct Notes {
    gaps: GapSet,
    splits_equals: bool,
    /// Written only where somebody asks for one node.
    trace: Option<Trace>,
}

/// Room that one node leaves to the next.
#[derive(Default)]
struct Scratch {
    potential: Vec<Importance>,
    charges: Charges,
}

/// Nodes so small that two of them cost more to share out than to try.
const NODES_PER_TASK: usize = 16;

impl DryRuns<'_> {
    /// Tries every node, in the order given.
    pub(crate) fn all(&self, nodes: &[NodeId]) -> Vec<Tried> {
        let tries = nodes.par_iter().with_min_len(NODES_PER_TASK);
        tries.map_init(Scratch::default, |scratch, node| self.one_with(scratch, *node, &mut |_| ())).collect()
    }

    /// Tries one node whose equal victims stand in another order: `reorder` gets the potential victims sorted.
    pub(crate) fn one(&self, node: NodeId, reorder: &mut dyn FnMut(&mut [Importance])) -> Tried {
        self.one_with(&mut Scratch::default(), node, reorder)
    }

    fn one_with(&self, scratch: &mut Scratch, node: NodeId, reorder: &mut dyn FnMut(&mut [Importance])) -> Tried {
        let mut notes = Notes::default();
        let result = self.select_victims(scratch, node, reorder, &mut notes);
        Tried { node, result, gaps: notes.gaps, splits_equals: notes.splits_equals }
    }

    /// The potential victims of a node, most important first.
    pub(crate) fn sorted_victims(&self, node: NodeId) -> Vec<Importance> {
        let mut found = Vec::new();
        self.potential_victims(node, &mut found);
        importance::sort(&mut found, &self.cycle.snapshot.behavior.preemption, self.now);
        found
    }

    /// Tries one node and writes down every step.
    pub(crate) fn traced(&self, node: NodeId) -> Trace {
        let mut notes = Notes { trace: Some(Trace::default()), ..Notes::default() };
        let result = self.select_victims(&mut Scratch::default(), node, &mut |_| (), &mut notes);
        Trace { result: Some(result), ..notes.trace.unwrap_or_default() }
    }

    /// The pods of the node that have a lower priority, in its order. Nothing else protects a pod.
    fn potential_victims(&self, node: NodeId, found: &mut Vec<Importance>) {
        let (cluster, below) = (self.cycle.cluster(), self.cycle.incoming().priority());
        found.clear();
        for (position, &id) in self.cycle.snapshot.info(node).pods.iter().enumerate() {
            let pod = cluster.pod(id);
            if pod.priority() < below {
                found.push(Importance::of(id, pod, position));
            }
        }
    }

    fn select_victims(
        &self,
        scratch: &mut Scratch,
        node: NodeId,
        reorder: &mut dyn FnMut(&mut [Importance]),
        notes: &mut Notes,
    ) -> Result<Candidate, DryRunFailure> {
        let behavior = &self.cycle.snapshot.behavior.preemption;
        self.potential_victims(node, &mut scratch.potential);
        match behavior.no_lower_priority {
            NoLowerPriority::Rejected if scratch.potential.is_empty() => return Err(DryRunFailure::NoVictims),
            NoLowerPriority::Rejected | NoLowerPriority::GoesOn => {}
        }
        let mut room = Room { view: NodeView::new(self.cycle.snapshot, node), filters: self.filters.fork() };
        for victim in &scratch.potential {
            room.remove(victim).map_err(|failed| DryRunFailure::UnpreparedHook(failed.0))?;
        }
        let emptied = room.judge(&self.cycle);
        notes.gaps = emptied.gaps;
        if let Some(trace) = &mut notes.trace {
            trace.removed = scratch.potential.iter().map(|victim| victim.pod).collect();
            trace.emptied = Some(emptied.clone());
        }
        if !emptied.fits() {
            return Err(DryRunFailure::Rejected(emptied));
        }
        importance::sort(&mut scratch.potential, behavior, self.now);
        reorder(&mut scratch.potential);
        self.budgets.charge(&scratch.potential, self.rank, &mut scratch.charges);
        let candidate = self.reprieve(room, &scratch.potential, &scratch.charges, notes)?;
        match behavior.no_victim_needed {
            NoVictimNeeded::Fails if candidate.victims.is_empty() => Err(DryRunFailure::NoVictimNeeded),
            NoVictimNeeded::Fails | NoVictimNeeded::Candidate | NoVictimNeeded::Wins => Ok(candidate),
        }
    }

    /// Puts back whom the pod can do without, those first whose eviction would violate a budget.
    fn reprieve(
        &self,
        mut room: Room<'_>,
        potential: &[Importance],
        charges: &Charges,
        notes: &mut Notes,
    ) -> Result<Candidate, DryRunFailure> {
        let (violating, others): (Vec<usize>, Vec<usize>) =
            (0..potential.len()).partition(|&victim| charges.violates(victim));
        let mixed = !violating.is_empty() && !others.is_empty();
        let mut evicted: Vec<(usize, NodeStatus)> = Vec::new();
        let mut reprieved = Vec::new();
        for at in violating.into_iter().chain(others) {
            let victim = &potential[at];
            let failed = |failed: HookFailed| DryRunFailure::UnpreparedHook(failed.0);
            room.add(victim).map_err(failed)?;
            let status = room.judge(&self.cycle);
            if let Some(trace) = &mut notes.trace {
                let (pdbs, violates) = (charges.of(at), charges.violates(at));
                trace.put_back.push(PutBack { pod: victim.pod, pdbs, violates, status: status.clone() });
            }
            if status.fits() {
                reprieved.push(victim.pod);
            } else {
                room.remove(victim).map_err(failed)?;
                evicted.push((at, status));
            }
        }
        notes.splits_equals = splits_equals(potential, &evicted);
        let behavior = &self.cycle.snapshot.behavior.preemption;
        let mut order: Vec<Importance> = evicted.iter().map(|(at, _)| potential[*at]).collect();
        match behavior.victim_order {
            VictimOrder::Importance if mixed => importance::sort(&mut order, behavior, self.now),
            VictimOrder::Importance | VictimOrder::ViolatingFirst => {}
        }
        let pdb_violations = evicted.iter().filter(|(at, _)| charges.violates(*at)).count();
        let score = self.score(&order);
        let victims = order.iter().filter_map(|victim| {
            let at = evicted.iter().position(|(at, _)| potential[*at].pod == victim.pod)?;
            let (at, status) = evicted.swap_remove(at);
            Some(Victim {
                pods: vec![victim.pod],
                pdbs: charges.of(at),
                violates: charges.violates(at),
                kept_out_by: Some(status),
                equals: Vec::new(),
            })
        });
        Ok(Candidate {
            node: room.view.node_id(),
            victims: victims.collect(),
            reprieved,
            pdb_violations: i64::try_from(pdb_violations).expect("fewer victims than ids"),
            score,
        })
    }

    /// What the choice of a node compares. Upstream takes the first victim's priority for the highest.
    fn score(&self, victims: &[Importance]) -> Score {
        const OFFSET: i64 = 1 << 31;
        let highest = victims.iter().map(|victim| victim.priority).max();
        let starts = victims.iter().filter(|victim| Some(victim.priority) == highest).map(|victim| victim.started);
        // A pod that has not started counts as started now, which is earlier than a start in the future.
        let earliest = starts.min_by_key(|start| start.map_or((self.now, true), |start| (start, false)));
        Score {
            highest_priority: victims.first().map_or(i64::MIN, |victim| i64::from(victim.priority)),
            priority_sum: victims.iter().map(|victim| i64::from(victim.priority) + OFFSET).sum(),
            earliest_start: earliest.flatten(),
        }
    }
}

/// Whether some of several equal pods, which stand together, are evicted and some are not.
fn splits_equals(potential: &[Importance], evicted: &[(usize, NodeStatus)]) -> bool {
    let is_evicted = |at: usize| evicted.iter().any(|(victim, _)| *victim == at);
    let mut neighbours = potential.windows(2).enumerate().filter(|(_, pair)| pair[0].equals(&pair[1]));
    neighbours.any(|(at, _)| is_evicted(at) != is_evicted(at + 1))
}

/// A node and the filters' own state for it.
struct Room<'r> {
    view: NodeView<'r>,
    filters: CycleFilters<'r>,
}

impl Room<'_> {
    fn add(&mut self, victim: &Importance) -> Result<(), HookFailed> {
        self.view.add(victim.pod);
        self.filters.add_pod(victim.pod, &self.view)
    }

    fn remove(&mut self, victim: &Importance) -> Result<(), HookFailed> {
        self.view.remove(victim.pod);
        self.filters.remove_pod(victim.pod, &self.view)
    }

    fn judge(&self, cycle: &PodCycle<'_>) -> NodeStatus {
        nominated::judge(cycle, &self.filters, &self.view, Phase::DryRun)
    }
}
