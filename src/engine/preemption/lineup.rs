//! The pods that a preemptor may take off, in the order of a dry run: worked out once for all preemptors of the same reach.

use super::super::framework::Taken;
use super::super::node_view::Seat;
use super::super::outcome::PdbCharge;
use super::super::snapshot::Snapshot;
use super::importance::{self, Importance};
use super::members::Members;
use super::pdb::{Budgets, Charged, Charges, Charging, Rank};
use crate::model::id::{NodeId, PdbId};
use crate::model::resources::Resources;
use crate::model::time::Time;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How many pods all lineups together may hold; further ones are worked out anew each time.
const MOST_KEPT: usize = 16_000_000;

/// The potential victims of every node: the pods below some priority. Which preemptor takes them off makes no difference
/// to anything in here.
///
/// What the nodes have lies one behind the other in the order in which the scheduler walks them, for so it is read.
#[derive(Debug, Default)]
pub(crate) struct Lineup {
    /// Places among the members, on each node the most important first.
    victims: Vec<u32>,
    /// Of nodes where that is another order than the victims': places among these as they are put back, those first whose
    /// eviction violates a budget.
    turns: Vec<u32>,
    charged: Charged,
    parts: Vec<Part>,
    /// The part of each node, by [`NodeId`].
    of_node: Vec<u32>,
}

/// What a lineup has of one node.
#[derive(Clone, Debug, Default)]
struct Part {
    victims: Range<usize>,
    turns: Range<usize>,
    charges: Range<usize>,
    violating: Range<usize>,
    /// What the victims ask for together.
    ask: Resources,
    /// Whether two of them are equal in importance.
    has_equals: bool,
    /// Whether one of them takes more than what every pod takes some of.
    takes_more: bool,
}

impl Lineup {
    /// The pods below a priority. All by one thread, as [`Members::of`].
    fn below(snapshot: &Snapshot, members: &Members, priority: i32) -> Self {
        let mut all = Lineup { of_node: vec![0; snapshot.nodes.len()], ..Lineup::default() };
        let mut victims: Vec<Importance> = Vec::new();
        for (part, node) in (0..).zip(&snapshot.order) {
            // The release sorts them as they stand on the node, and alone: equal ones may come out in another order.
            let own = members.places(*node).map(|place| members.at(place).importance);
            victims.clear();
            victims.extend(own.filter(|it| it.priority < priority));
            victims.sort_unstable_by_key(|it| it.position);
            importance::sort(&mut victims, &snapshot.behavior.preemption, now(snapshot));
            all.push(snapshot, members, *node, &victims, &[]);
            all.of_node[node.index()] = part;
        }
        all
    }

    /// Adds a node with its victims, which are sorted already.
    fn push(&mut self, snapshot: &Snapshot, members: &Members, node: NodeId, victims: &[Importance], rank: &Rank) {
        let begin = (self.victims.len(), self.turns.len(), self.charged.ends());
        let mut part = Part::default();
        let (mut charging, mut matching) = (Charging::default(), Vec::new());
        let places = members.places(node);
        let mut at_position: Vec<u32> = vec![0; places.len()];
        places.for_each(|place| at_position[members.at(place).importance.position as usize] = place);
        for victim in victims {
            let place = at_position[victim.position as usize];
            matching.clear();
            if members.may_have_budgets(place) {
                matching.extend_from_slice(&budgets(snapshot).of(&snapshot.cluster, victim.pod));
            }
            charging.add(&snapshot.cluster, &snapshot.behavior.preemption, victim.pod, &mut matching, rank);
            let seat = &members.at(place).seat;
            seat.add_to(snapshot, &mut part.ask);
            part.takes_more |= seat.more;
            self.victims.push(place);
        }
        let charged = charging.done();
        let charges = charged.all();
        let violating = charges.violating();
        if violating > 0 && violating < victims.len() {
            let places = || (0..).take(victims.len());
            self.turns.extend(places().filter(|at| charges.violates(*at)));
            self.turns.extend(places().filter(|at| !charges.violates(*at)));
        }
        self.charged.append(charged);
        let (charges, violators) = self.charged.ends();
        part.victims = begin.0..self.victims.len();
        part.turns = begin.1..self.turns.len();
        (part.charges, part.violating) = (begin.2.0..charges, begin.2.1..violators);
        part.has_equals = victims.windows(2).any(|pair| pair[0].equals(&pair[1]));
        self.parts.push(part);
    }

    /// What it has of a node.
    pub(crate) fn of<'l>(&'l self, members: &'l Members, node: NodeId) -> Reach<'l> {
        self.reach(members, self.of_node[node.index()] as usize)
    }

    fn reach<'l>(&'l self, members: &'l Members, part: usize) -> Reach<'l> {
        let part = &self.parts[part];
        Reach {
            members,
            victims: &self.victims[part.victims.clone()],
            turns: &self.turns[part.turns.clone()],
            charges: self.charged.some(part.charges.clone(), part.violating.clone()),
            part,
        }
    }
}

/// A lineup of one node's victims in an order of their own, or with the budgets in another.
pub(crate) struct Reordered<'m> {
    members: &'m Members,
    lineup: Lineup,
}

impl<'m> Reordered<'m> {
    pub(crate) fn of(
        snapshot: &Snapshot,
        members: &'m Members,
        node: NodeId,
        victims: &[Importance],
        rank: &Rank,
    ) -> Self {
        let mut lineup = Lineup::default();
        lineup.push(snapshot, members, node, victims, rank);
        Reordered { members, lineup }
    }

    pub(crate) fn reach(&self) -> Reach<'_> {
        self.lineup.reach(self.members, 0)
    }
}

/// The potential victims of one node; a victim's place is the one among them, the most important first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach<'l> {
    members: &'l Members,
    victims: &'l [u32],
    turns: &'l [u32],
    /// What each costs the budgets.
    pub(crate) charges: Charges<'l>,
    part: &'l Part,
}

impl<'l> Reach<'l> {
    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.victims.len()
    }

    /// The victims, most important first.
    pub(crate) fn victims(&self) -> impl Iterator<Item = &'l Importance> + Clone + use<'l> {
        let members = self.members;
        self.victims.iter().map(|place| &members.at(*place).importance)
    }

    /// The victim of a place.
    #[inline]
    pub(crate) fn victim(&self, place: u32) -> &'l Importance {
        &self.members.at(self.victims[place as usize]).importance
    }

    /// Its seat.
    #[inline]
    pub(crate) fn seat(&self, place: u32) -> &'l Seat {
        &self.members.at(self.victims[place as usize]).seat
    }

    /// The places of the victims, in the order in which these are put back.
    pub(crate) fn turns(&self) -> impl Iterator<Item = u32> + use<'l> {
        let in_order = if self.turns.is_empty() { self.victims.len() } else { 0 };
        self.turns.iter().copied().chain((0..).take(in_order))
    }

    /// What they ask for together.
    pub(crate) fn ask(&self) -> &'l Resources {
        &self.part.ask
    }

    /// What is taken of the node once they are gone.
    pub(crate) fn taken_without(&self, all: &Taken) -> Taken {
        Taken {
            milli_cpu: all.milli_cpu.wrapping_sub(self.part.ask.milli_cpu),
            memory: all.memory.wrapping_sub(self.part.ask.memory),
            pods: all.pods - self.victims.len(),
        }
    }

    /// Whether some violate a budget and others do not.
    pub(crate) fn is_mixed(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Whether two of them are equal in importance.
    pub(crate) fn has_equals(&self) -> bool {
        self.part.has_equals
    }

    /// Whether one of them takes more than what every pod takes some of.
    pub(crate) fn takes_more(&self) -> bool {
        self.part.takes_more
    }
}

/// The lineups of a snapshot, as far as anybody asked for them.
#[derive(Debug, Default)]
pub(crate) struct Lineups {
    budgets: OnceLock<Budgets>,
    members: OnceLock<Members>,
    /// By the priorities that pods have, each once, ascending: the lineup of the pods up to it.
    upto: OnceLock<Vec<(i32, OnceLock<Arc<Lineup>>)>>,
    kept: AtomicUsize,
}

/// Clusters change with a copy of the snapshot: the copy works out its own.
impl Clone for Lineups {
    fn clone(&self) -> Self {
        Lineups::default()
    }
}

/// The time that counts as now.
pub(crate) fn now(snapshot: &Snapshot) -> Time {
    snapshot.cluster.as_of.unwrap_or(Time::MAX)
}

/// The budgets of a snapshot.
pub(crate) fn budgets(snapshot: &Snapshot) -> &Budgets {
    let make = || Budgets::new(&snapshot.cluster, &snapshot.behavior.preemption);
    snapshot.lineups.budgets.get_or_init(make)
}

/// The pods on the nodes of a snapshot.
pub(crate) fn members(snapshot: &Snapshot) -> &Members {
    snapshot.lineups.members.get_or_init(|| Members::of(snapshot))
}

/// The pods below a priority, with the budgets in canonical order.
pub(crate) fn below(snapshot: &Snapshot, priority: i32) -> Arc<Lineup> {
    let (lineups, members) = (&snapshot.lineups, members(snapshot));
    let upto = lineups.upto.get_or_init(|| members.priorities().into_iter().map(|it| (it, OnceLock::new())).collect());
    let make = || Arc::new(Lineup::below(snapshot, members, priority));
    let Some(highest) = upto.partition_point(|it| it.0 < priority).checked_sub(1) else { return make() };
    let known = &upto[highest].1;
    if known.get().is_none() && lineups.kept.load(Ordering::Relaxed) > MOST_KEPT {
        return make();
    }
    let lineup = known.get_or_init(|| {
        let lineup = make();
        lineups.kept.fetch_add(lineup.victims.len(), Ordering::Relaxed);
        lineup
    });
    Arc::clone(lineup)
}

/// The pods of a node that have a lower priority, in its order. Nothing else protects a pod.
pub(crate) fn unsorted_below(snapshot: &Snapshot, node: NodeId, priority: i32) -> Vec<Importance> {
    let pods = (0..).zip(&snapshot.info(node).pods);
    let lower = pods.map(|(position, id)| Importance::of(*id, snapshot.cluster.pod(*id), position));
    lower.filter(|it| it.priority < priority).collect()
}

/// Sets of budgets that match one potential victim of a node and may run out there. A budget that cannot run out on a
/// node is charged in vain, wherever it stands.
pub(crate) fn contested(snapshot: &Snapshot, charges: Charges<'_>) -> Vec<Vec<PdbId>> {
    if !charges.has_shared() {
        return Vec::new();
    }
    let budgets = |all: &[(u32, PdbCharge)]| all.iter().map(|it| it.1.pdb).collect();
    let all: Vec<Vec<PdbId>> = charges.by_victim().map(budgets).collect();
    let runs_out = |pdb: &PdbId| {
        let charged = all.iter().filter(|found| found.contains(pdb)).count();
        snapshot.cluster.pdb(*pdb).disruptions_allowed < i64::try_from(charged).unwrap_or(i64::MAX)
    };
    let limited = all.iter().map(|found| found.iter().copied().filter(|pdb| runs_out(pdb)).collect::<Vec<_>>());
    limited.filter(|found| found.len() > 1).collect()
}
