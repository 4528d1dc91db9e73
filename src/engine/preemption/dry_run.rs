//! The dry run of one potential node: every pod of lower priority goes, then as many as possible come back.
//! Upstream: `default_preemption.go` SelectVictimsOnNode, `preemption/preemption.go` DryRunPreemption.
//!
//! This is done for thousands of nodes, so it leaves out what cannot change the answer: the order of the potential victims
//! and their budgets come from the snapshot's [`lineup`]s, pods without hooks go all at once, and while they come back only
//! filters are asked that mind pods; where these mind sums alone, sums are all that is kept up. [`walk`](super::walk) does every step as upstream does.

use super::super::chain::{CycleFilters, Phase};
use super::super::framework::{GapSet, NodeStatus, PodCycle};
use super::super::node_view::{NodeView, Seat, Spare};
use super::super::nominated;
use super::super::outcome::{Candidate, DryRunFailure, Score, Victim};
use super::importance::{self, Importance};
use super::lineup::{self, Lineup, Reach, Reordered};
use super::pdb::Rank;
use crate::kube::behavior::{NoLowerPriority, NoVictimNeeded, VictimOrder};
use crate::model::id::{NodeId, PodId};
use crate::model::time::Time;
use rayon::prelude::*;
use std::sync::Arc;

/// What every dry run of one cycle shares.
#[derive(Clone, Copy)]
pub(crate) struct DryRuns<'r> {
    pub(crate) cycle: PodCycle<'r>,
    pub(crate) filters: &'r CycleFilters<'r>,
    /// The potential victims.
    pub(crate) lineup: &'r Lineup,
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
    evicted: Evicted,
    order: Vec<Importance>,
}

/// Victims by place in the lineup, with what keeps them out.
#[derive(Default)]
struct Evicted {
    list: Vec<(u32, Arc<NodeStatus>)>,
    /// What kept the last one out: the next one is mostly kept out by the same.
    last: Option<Arc<NodeStatus>>,
}

impl Evicted {
    fn push(&mut self, place: u32, status: NodeStatus) {
        let status = match &self.last {
            Some(last) if **last == status => Arc::clone(last),
            Some(_) | None => Arc::clone(self.last.insert(Arc::new(status))),
        };
        self.list.push((place, status));
    }
}

/// Nodes so small that two of them cost more to share out than to try.
const NODES_PER_TASK: usize = 64;

impl<'r> DryRuns<'r> {
    /// Tries every node, in the order given.
    pub(crate) fn all(&self, nodes: &[NodeId]) -> Vec<Tried> {
        let tries = nodes.par_iter().with_min_len(NODES_PER_TASK);
        tries.map_init(Scratch::default, |scratch, node| self.ranked(scratch, *node)).collect()
    }

    /// Tries one node whose equal victims stand in another order: `reorder` gets the potential victims sorted.
    pub(crate) fn one(&self, node: NodeId, reorder: &mut dyn FnMut(&mut [Importance])) -> Tried {
        let reach = self.reach(node);
        let mut victims: Vec<Importance> = reach.victims().copied().collect();
        reorder(&mut victims);
        self.one_with(&mut Scratch::default(), node, &self.reordered(node, &victims).reach())
    }

    /// The potential victims of a node, with the budgets in canonical order.
    pub(crate) fn reach(&self, node: NodeId) -> Reach<'r> {
        self.lineup.of(lineup::members(self.cycle.snapshot), node)
    }

    /// Tries one node, with the budgets in the order of these dry runs.
    fn ranked(&self, scratch: &mut Scratch, node: NodeId) -> Tried {
        let reach = self.reach(node);
        if self.rank.is_empty() || !reach.charges.has_shared() {
            return self.one_with(scratch, node, &reach);
        }
        let victims: Vec<Importance> = reach.victims().copied().collect();
        self.one_with(scratch, node, &self.reordered(node, &victims).reach())
    }

    fn reordered(&self, node: NodeId, victims: &[Importance]) -> Reordered<'r> {
        let snapshot = self.cycle.snapshot;
        Reordered::of(snapshot, lineup::members(snapshot), node, victims, self.rank)
    }

    fn one_with(&self, scratch: &mut Scratch, node: NodeId, reach: &Reach<'_>) -> Tried {
        let mut notes = Notes::default();
        let result = self.select_victims(scratch, node, reach, &mut notes);
        Tried { node, result, gaps: notes.gaps, splits_equals: notes.splits_equals }
    }

    fn select_victims(
        &self,
        scratch: &mut Scratch,
        node: NodeId,
        reach: &Reach<'_>,
        notes: &mut Notes,
    ) -> Result<Candidate, DryRunFailure> {
        let behavior = &self.cycle.snapshot.behavior.preemption;
        match behavior.no_lower_priority {
            NoLowerPriority::Rejected if reach.len() == 0 => return Err(DryRunFailure::NoVictims),
            NoLowerPriority::Rejected | NoLowerPriority::GoesOn => {}
        }
        let reprieved = if self.taken_decides(node, reach) {
            self.try_taken(&mut scratch.evicted, node, reach)
        } else {
            self.try_room(scratch, node, reach, notes)
        };
        let reprieved = reprieved?;
        notes.splits_equals = splits_equals(reach, &scratch.evicted.list);
        let candidate = self.candidate(node, reach, reprieved, scratch);
        match behavior.no_victim_needed {
            NoVictimNeeded::Fails if candidate.victims.is_empty() => Err(DryRunFailure::NoVictimNeeded),
            NoVictimNeeded::Fails | NoVictimNeeded::Candidate | NoVictimNeeded::Wins => Ok(candidate),
        }
    }

    /// Whether nothing matters of the potential victims but what every pod takes some of.
    fn taken_decides(&self, node: NodeId, reach: &Reach<'_>) -> bool {
        !reach.takes_more() && self.filters.mind_taken_alone() && self.cycle.snapshot.nominated[node.index()].is_empty()
    }

    /// Takes all potential victims off and puts back whom the pod can do without: those are given, `evicted` has the
    /// others. Nothing is done to the node, for sums tell the same.
    fn try_taken(&self, evicted: &mut Evicted, node: NodeId, reach: &Reach<'_>) -> Result<Vec<PodId>, DryRunFailure> {
        let view = NodeView::new(self.cycle.snapshot, node);
        let mut taken = reach.taken_without(&view.taken());
        let emptied = self.filters.judge_taken(&view, &taken);
        if !emptied.fits() {
            return Err(DryRunFailure::Rejected(emptied));
        }
        let room = self.filters.room(&view);
        let mut reprieved = Vec::with_capacity(reach.len());
        evicted.list.clear();
        for place in reach.turns() {
            let seat = reach.seat(place);
            let beside = seat.beside(&taken);
            if room.is_some_and(|room| room.holds(&beside)) {
                reprieved.push(seat.pod);
                taken = beside;
                continue;
            }
            let status = self.filters.judge_taken_again(&view, &beside);
            if status.fits() {
                reprieved.push(seat.pod);
                taken = beside;
            } else {
                evicted.push(place, status);
            }
        }
        Ok(reprieved)
    }

    /// [`DryRuns::try_taken`] where anything may matter.
    fn try_room(
        &self,
        scratch: &mut Scratch,
        node: NodeId,
        reach: &Reach<'_>,
        notes: &mut Notes,
    ) -> Result<Vec<PodId>, DryRunFailure> {
        let mut room = Room {
            view: NodeView::within(std::mem::take(&mut scratch.spare), self.cycle.snapshot, node),
            filters: if self.filters.any_hooks() {
                Filters::Own(self.filters.fork())
            } else {
                Filters::Shared(self.filters)
            },
        };
        let reprieved = self.reprieve(&mut room, &mut scratch.evicted, reach, notes);
        scratch.spare = room.view.leave();
        reprieved
    }

    fn reprieve(
        &self,
        room: &mut Room<'_>,
        evicted: &mut Evicted,
        reach: &Reach<'_>,
        notes: &mut Notes,
    ) -> Result<Vec<PodId>, DryRunFailure> {
        room.empty(reach)?;
        let emptied = room.judge(&self.cycle);
        notes.gaps = emptied.gaps;
        if !emptied.fits() {
            return Err(DryRunFailure::Rejected(emptied));
        }
        let mut reprieved = Vec::with_capacity(reach.len());
        evicted.list.clear();
        for place in reach.turns() {
            let seat = reach.seat(place);
            room.put_back(seat)?;
            let status = nominated::judge_again(&self.cycle, room.filters.get(), &room.view);
            if status.fits() {
                reprieved.push(seat.pod);
            } else {
                room.take_off(seat)?;
                evicted.push(place, status);
            }
        }
        Ok(reprieved)
    }

    fn candidate(&self, node: NodeId, reach: &Reach<'_>, reprieved: Vec<PodId>, scratch: &mut Scratch) -> Candidate {
        let behavior = &self.cycle.snapshot.behavior.preemption;
        let Scratch { evicted: Evicted { list: evicted, .. }, order, .. } = scratch;
        order.clear();
        order.extend(evicted.iter().map(|(place, _)| *reach.victim(*place)));
        match behavior.victim_order {
            VictimOrder::Importance if reach.is_mixed() => {
                // The order sought is that of the pods, whom the turns have in another.
                importance::sort(order, behavior, self.now);
                let mut places: Vec<(u32, usize)> =
                    order.iter().enumerate().map(|(at, victim)| (victim.position, at)).collect();
                places.sort_unstable();
                let sorted = |place: u32| {
                    let found = places.binary_search_by_key(&reach.victim(place).position, |it| it.0);
                    found.map_or(usize::MAX, |found| places[found].1)
                };
                evicted.sort_by_cached_key(|(place, _)| sorted(*place));
            }
            VictimOrder::Importance | VictimOrder::ViolatingFirst => {}
        }
        let charges = reach.charges;
        let mut pdb_violations = 0;
        let victim = |(place, status): (u32, Arc<NodeStatus>)| {
            let violates = charges.violates(place);
            pdb_violations += i64::from(violates);
            Victim::new(reach.victim(place).pod, charges.of(place), violates, status)
        };
        let victims = evicted.drain(..).map(victim).collect();
        Candidate { node, victims, reprieved, pdb_violations, score: score(order, self.now) }
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
fn splits_equals(reach: &Reach<'_>, evicted: &[(u32, Arc<NodeStatus>)]) -> bool {
    if !reach.has_equals() || evicted.is_empty() {
        return false;
    }
    let mut is_evicted = vec![false; reach.len()];
    evicted.iter().for_each(|(place, _)| is_evicted[*place as usize] = true);
    let mut neighbours = reach.victims().zip(reach.victims().skip(1)).zip(is_evicted.windows(2));
    neighbours.any(|((one, next), evicted)| evicted[0] != evicted[1] && one.equals(next))
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
    fn empty(&mut self, reach: &Reach<'_>) -> Result<(), DryRunFailure> {
        let seats = reach.turns().map(|place| reach.seat(place));
        if let Filters::Shared(_) = self.filters {
            self.view.take_off_all(seats, reach.ask());
            return Ok(());
        }
        let mut seats: Vec<&Seat> = seats.collect();
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
