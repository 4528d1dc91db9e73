//! The dry run of one potential node: every pod of lower priority goes, then as many as possible come back.
//! Upstream: `default_preemption.go` SelectVictimsOnNode, `preemption/preemption.go` DryRunPreemption.
//!
//! This is done for thousands of nodes, so it leaves out what cannot change the answer: the order of the potential victims
//! and their budgets come from the snapshot's [`lineup`]s, pods without hooks go all at once, and while they come back only
//! filters are asked that mind pods. [`walk`](super::walk) does every step as upstream does.

use super::super::chain::{CycleFilters, Phase};
use super::super::framework::{GapSet, NodeStatus, PodCycle};
use super::super::node_view::{NodeView, Seat, Spare};
use super::super::nominated;
use super::super::outcome::{Candidate, DryRunFailure, Score, Victim};
use super::importance::{self, Importance};
use super::lineup::{self, Lineup};
use super::pdb::Rank;
use crate::kube::behavior::{NoLowerPriority, NoVictimNeeded, VictimOrder};
use crate::model::id::{NodeId, PodId};
use crate::model::time::Time;
use rayon::prelude::*;
use smallvec::SmallVec;
use std::borrow::Cow;

/// What every dry run of one cycle shares.
#[derive(Clone, Copy)]
pub(crate) struct DryRuns<'r> {
    pub(crate) cycle: PodCycle<'r>,
    pub(crate) filters: &'r CycleFilters<'r>,
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
}

/// Room that one node leaves to the next.
#[derive(Default)]
struct Scratch {
    spare: Spare,
    /// Victims by position in the lineup, with what keeps them out.
    evicted: Vec<(usize, NodeStatus)>,
    order: Vec<Importance>,
}

/// Nodes so small that two of them cost more to share out than to try.
const NODES_PER_TASK: usize = 64;

impl<'r> DryRuns<'r> {
    /// Tries every node, in the order given.
    pub(crate) fn all(&self, nodes: &[NodeId]) -> Vec<Tried> {
        let tries = nodes.par_iter().with_min_len(NODES_PER_TASK);
        tries.map_init(Scratch::default, |scratch, node| self.one_with(scratch, *node, &self.ranked(*node))).collect()
    }

    /// Tries one node whose equal victims stand in another order: `reorder` gets the potential victims sorted.
    pub(crate) fn one(&self, node: NodeId, reorder: &mut dyn FnMut(&mut [Importance])) -> Tried {
        let mut victims = self.lineup(node).victims.clone();
        reorder(&mut victims);
        let snapshot = self.cycle.snapshot;
        let lineup = Lineup::of(snapshot, lineup::members(snapshot, node), victims, self.rank);
        self.one_with(&mut Scratch::default(), node, &lineup)
    }

    /// The potential victims of a node, with the budgets in canonical order.
    pub(crate) fn lineup(&self, node: NodeId) -> Cow<'r, Lineup> {
        lineup::below(self.cycle.snapshot, node, self.cycle.incoming().priority())
    }

    /// The potential victims of a node, with the budgets in the order of these dry runs.
    fn ranked(&self, node: NodeId) -> Cow<'r, Lineup> {
        let lineup = self.lineup(node);
        if self.rank.is_empty() || !lineup.charges.has_shared() {
            return lineup;
        }
        let snapshot = self.cycle.snapshot;
        Cow::Owned(Lineup::of(snapshot, lineup::members(snapshot, node), lineup.victims.clone(), self.rank))
    }

    fn one_with(&self, scratch: &mut Scratch, node: NodeId, lineup: &Lineup) -> Tried {
        let mut notes = Notes::default();
        let result = self.select_victims(scratch, node, lineup, &mut notes);
        Tried { node, result, gaps: notes.gaps, splits_equals: notes.splits_equals }
    }

    fn select_victims(
        &self,
        scratch: &mut Scratch,
        node: NodeId,
        lineup: &Lineup,
        notes: &mut Notes,
    ) -> Result<Candidate, DryRunFailure> {
        let behavior = &self.cycle.snapshot.behavior.preemption;
        match behavior.no_lower_priority {
            NoLowerPriority::Rejected if lineup.victims.is_empty() => return Err(DryRunFailure::NoVictims),
            NoLowerPriority::Rejected | NoLowerPriority::GoesOn => {}
        }
        let mut room = Room {
            view: NodeView::within(std::mem::take(&mut scratch.spare), self.cycle.snapshot, node),
            filters: if self.filters.any_hooks() {
                Filters::Own(self.filters.fork())
            } else {
                Filters::Shared(self.filters)
            },
        };
        let candidate = self.try_room(&mut room, scratch, lineup, notes);
        scratch.spare = room.view.leave();
        let candidate = candidate?;
        match behavior.no_victim_needed {
            NoVictimNeeded::Fails if candidate.victims.is_empty() => Err(DryRunFailure::NoVictimNeeded),
            NoVictimNeeded::Fails | NoVictimNeeded::Candidate | NoVictimNeeded::Wins => Ok(candidate),
        }
    }

    fn try_room(
        &self,
        room: &mut Room<'_>,
        scratch: &mut Scratch,
        lineup: &Lineup,
        notes: &mut Notes,
    ) -> Result<Candidate, DryRunFailure> {
        room.empty(lineup)?;
        let emptied = room.judge(&self.cycle);
        notes.gaps = emptied.gaps;
        if !emptied.fits() {
            return Err(DryRunFailure::Rejected(emptied));
        }
        let mut reprieved = Vec::with_capacity(lineup.turns.len());
        scratch.evicted.clear();
        for turn in &lineup.turns {
            room.put_back(&turn.seat)?;
            let status = nominated::judge_again(&self.cycle, room.filters.get(), &room.view);
            if status.fits() {
                reprieved.push(turn.seat.pod);
            } else {
                room.take_off(&turn.seat)?;
                scratch.evicted.push((turn.victim as usize, status));
            }
        }
        notes.splits_equals = splits_equals(lineup, &scratch.evicted);
        Ok(self.candidate(room.view.node_id(), lineup, reprieved, scratch))
    }

    fn candidate(&self, node: NodeId, lineup: &Lineup, reprieved: Vec<PodId>, scratch: &mut Scratch) -> Candidate {
        let behavior = &self.cycle.snapshot.behavior.preemption;
        let Scratch { evicted, order, .. } = scratch;
        order.clear();
        order.extend(evicted.iter().map(|(at, _)| lineup.victims[*at]));
        match behavior.victim_order {
            VictimOrder::Importance if lineup.mixed => importance::sort(order, behavior, self.now),
            VictimOrder::Importance | VictimOrder::ViolatingFirst => {}
        }
        let charges = &lineup.charges;
        let pdb_violations = evicted.iter().filter(|(at, _)| charges.violates(*at)).count();
        let mut victims = Vec::with_capacity(order.len());
        for victim in order.iter() {
            let Some((at, status)) = evicted.iter_mut().find(|(at, _)| lineup.victims[*at].pod == victim.pod) else {
                continue;
            };
            victims.push(Victim {
                pods: SmallVec::from_slice(&[victim.pod]),
                pdbs: charges.of(*at),
                violates: charges.violates(*at),
                kept_out_by: Some(std::mem::replace(status, NodeStatus::of(status.verdict))),
                equals: Vec::new(),
            });
        }
        Candidate {
            node,
            victims,
            reprieved,
            pdb_violations: i64::try_from(pdb_violations).expect("fewer victims than ids"),
            score: score(order, self.now),
        }
    }
}

/// What the choice of a node compares. Upstream takes the first victim's priority for the highest.
pub(super) fn score(victims: &[Importance], now: Time) -> Score {
    const OFFSET: i64 = 1 << 31;
    let highest = victims.iter().map(|victim| victim.priority).max();
    let starts = victims.iter().filter(|victim| Some(victim.priority) == highest).map(|victim| victim.started);
    // A pod that has not started counts as started now, which is earlier than a start in the future.
    let earliest = starts.min_by_key(|start| start.map_or((now, true), |start| (start, false)));
    Score {
        highest_priority: victims.first().map_or(i64::MIN, |victim| i64::from(victim.priority)),
        priority_sum: victims.iter().map(|victim| i64::from(victim.priority) + OFFSET).sum(),
        earliest_start: earliest.flatten(),
    }
}

/// Whether some of several equal pods, which stand together, are evicted and some are not.
fn splits_equals(lineup: &Lineup, evicted: &[(usize, NodeStatus)]) -> bool {
    if !lineup.has_equals || evicted.is_empty() {
        return false;
    }
    let is_evicted = |at: usize| evicted.iter().any(|(victim, _)| *victim == at);
    let mut neighbours = lineup.victims.windows(2).enumerate().filter(|(_, pair)| pair[0].equals(&pair[1]));
    neighbours.any(|(at, _)| is_evicted(at) != is_evicted(at + 1))
}

/// The filters of a cycle, or a node's own copy where hooks change their state.
enum Filters<'r> {
    Shared(&'r CycleFilters<'r>),
    Own(CycleFilters<'r>),
}

impl<'r> Filters<'r> {
    fn get(&self) -> &CycleFilters<'r> {
        match self {
            Filters::Shared(filters) => filters,
            Filters::Own(filters) => filters,
        }
    }
}

/// A node and the filters' own state for it.
struct Room<'r> {
    view: NodeView<'r>,
    filters: Filters<'r>,
}

impl Room<'_> {
    /// Takes off all potential victims: one after the other, in the order of the node, where hooks look on.
    fn empty(&mut self, lineup: &Lineup) -> Result<(), DryRunFailure> {
        if let Filters::Shared(_) = self.filters {
            self.view.take_off_all(lineup.turns.iter().map(|turn| &turn.seat), &lineup.ask);
            return Ok(());
        }
        let mut seats: Vec<&Seat> = lineup.turns.iter().map(|turn| &turn.seat).collect();
        seats.sort_unstable_by_key(|seat| seat.position);
        seats.into_iter().try_for_each(|seat| self.take_off(seat))
    }

    fn put_back(&mut self, seat: &Seat) -> Result<(), DryRunFailure> {
        self.view.put_back(seat);
        match &mut self.filters {
            Filters::Shared(_) => Ok(()),
            Filters::Own(filters) => {
                filters.add_pod(seat.pod, &self.view).map_err(|failed| DryRunFailure::UnpreparedHook(failed.0))
            }
        }
    }

    fn take_off(&mut self, seat: &Seat) -> Result<(), DryRunFailure> {
        self.view.take_off(seat);
        match &mut self.filters {
            Filters::Shared(_) => Ok(()),
            Filters::Own(filters) => {
                filters.remove_pod(seat.pod, &self.view).map_err(|failed| DryRunFailure::UnpreparedHook(failed.0))
            }
        }
    }

    fn judge(&self, cycle: &PodCycle<'_>) -> NodeStatus {
        nominated::judge(cycle, self.filters.get(), &self.view, Phase::DryRun)
    }
}
