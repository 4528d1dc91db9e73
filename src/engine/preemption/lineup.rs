//! The pods of a node that a preemptor may take off, in the order of a dry run: worked out once for all preemptors of the
//! same reach.

use super::super::node_view::Seat;
use super::super::snapshot::Snapshot;
use super::importance::{self, Importance};
use super::pdb::{Budgets, Charges, Rank};
use crate::model::id::{NodeId, PdbId, PodId};
use crate::model::resources::Resources;
use crate::model::time::Time;
use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many pods all lineups together may hold; further ones are worked out anew each time.
const MOST_KEPT: usize = 8_000_000;

/// The potential victims of one node: its pods below some priority. Which preemptor takes them off makes no difference to
/// anything in here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lineup {
    /// Most important first.
    pub(crate) victims: Box<[Importance]>,
    /// As they are put back: those first whose eviction violates a budget.
    pub(crate) turns: Box<[Turn]>,
    /// What they ask for together.
    pub(crate) ask: Resources,
    /// What each costs the budgets, by position in `victims`.
    pub(crate) charges: Charges,
    /// Whether some violate a budget and others do not.
    pub(crate) mixed: bool,
    /// Whether two of them are equal in importance.
    pub(crate) has_equals: bool,
}

/// One pod that is put back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Where it stands.
    pub(crate) seat: Seat,
    /// Position among the victims.
    pub(crate) victim: u32,
}

impl Lineup {
    /// The lineup of victims that are sorted already, of a node with these members.
    pub(crate) fn of(snapshot: &Snapshot, members: &[Member], victims: Box<[Importance]>, rank: &Rank) -> Self {
        let behavior = &snapshot.behavior.preemption;
        let member = |victim: &Importance| &members[victim.position as usize];
        let mut charges = Charges::default();
        let mut ask = Resources::default();
        let mut matching = Vec::new();
        for victim in &victims {
            let Member { seat, budgets, .. } = member(victim);
            matching.clear();
            matching.extend_from_slice(budgets);
            charges.add(&snapshot.cluster, behavior, victim.pod, &mut matching, rank);
            seat.add_to(snapshot, &mut ask);
        }
        let turn = |at: usize| {
            let place = u32::try_from(at).expect("fewer victims than ids");
            Turn { seat: member(&victims[at]).seat, victim: place }
        };
        let violating = (0..victims.len()).filter(|at| charges.violates(*at));
        let others = (0..victims.len()).filter(|at| !charges.violates(*at));
        let turns: Box<[Turn]> = violating.chain(others).map(turn).collect();
        let count = (0..victims.len()).filter(|at| charges.violates(*at)).count();
        let mixed = count > 0 && count < victims.len();
        let has_equals = victims.windows(2).any(|pair| pair[0].equals(&pair[1]));
        Lineup { victims, turns, ask, charges, mixed, has_equals }
    }
}

/// A pod of a node, with what its lineups say of it: looked up once, for in a large cluster the pods of a node lie far
/// apart.
#[derive(Debug)]
pub(crate) struct Member {
    importance: Importance,
    seat: Seat,
    /// The budgets that match it, in canonical order.
    budgets: Box<[PdbId]>,
}

/// The lineups of a snapshot, as far as anybody asked for them.
#[derive(Debug)]
pub(crate) struct Lineups {
    budgets: OnceLock<Budgets>,
    nodes: Box<[OnceLock<Reaches>]>,
    kept: AtomicUsize,
}

/// One node's lineups: as many as it has priorities.
#[derive(Debug)]
struct Reaches {
    /// The priorities of the node's pods, each once, ascending.
    priorities: Box<[i32]>,
    /// The lineup of the pods up to each priority.
    lineups: Box<[OnceLock<Lineup>]>,
    /// The node's pods, in its order.
    members: Box<[Member]>,
}

impl Lineups {
    /// None yet.
    pub(crate) fn new(nodes: usize) -> Self {
        let nodes = (0..nodes).map(|_| OnceLock::new()).collect();
        Lineups { budgets: OnceLock::new(), nodes, kept: AtomicUsize::new(0) }
    }

    fn reaches(&self, snapshot: &Snapshot, node: NodeId) -> &Reaches {
        self.nodes[node.index()].get_or_init(|| {
            let members = all_members(snapshot, node);
            let mut priorities: Vec<i32> = members.iter().map(|it| it.importance.priority).collect();
            priorities.sort_unstable();
            priorities.dedup();
            let lineups = priorities.iter().map(|_| OnceLock::new()).collect();
            Reaches { priorities: priorities.into(), lineups, members }
        })
    }
}

fn all_members(snapshot: &Snapshot, node: NodeId) -> Box<[Member]> {
    let budgets = budgets(snapshot);
    let mut matching = Vec::new();
    let pods = snapshot.info(node).pods.iter().enumerate();
    let member = |(position, id): (usize, &PodId)| {
        let importance = Importance::of(*id, snapshot.cluster.pod(*id), position);
        budgets.of(&snapshot.cluster, *id, &mut matching);
        Member { importance, seat: Seat::of(snapshot, *id, importance.position), budgets: matching.as_slice().into() }
    };
    pods.map(member).collect()
}

/// Clusters change with a copy of the snapshot: the copy works out its own.
impl Clone for Lineups {
    fn clone(&self) -> Self {
        Lineups::new(self.nodes.len())
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

/// The pods of a node, in its order.
pub(crate) fn members(snapshot: &Snapshot, node: NodeId) -> &[Member] {
    &snapshot.lineups.reaches(snapshot, node).members
}

/// The pods of a node below a priority, with the budgets in canonical order.
pub(crate) fn below(snapshot: &Snapshot, node: NodeId, priority: i32) -> Cow<'_, Lineup> {
    static NOBODY: OnceLock<Lineup> = OnceLock::new();
    let lineups = &snapshot.lineups;
    let reaches = lineups.reaches(snapshot, node);
    let Some(highest) = reaches.priorities.partition_point(|it| *it < priority).checked_sub(1) else {
        return Cow::Borrowed(NOBODY.get_or_init(Lineup::default));
    };
    let kept = &reaches.lineups[highest];
    if let Some(lineup) = kept.get() {
        return Cow::Borrowed(lineup);
    }
    let lineup = Lineup::of(snapshot, &reaches.members, sorted_below(snapshot, &reaches.members, priority), &[]);
    if lineups.kept.fetch_add(lineup.victims.len(), Ordering::Relaxed) > MOST_KEPT {
        return Cow::Owned(lineup);
    }
    Cow::Borrowed(kept.get_or_init(|| lineup))
}

/// The pods of a node that have a lower priority, in its order. Nothing else protects a pod.
pub(crate) fn unsorted_below(snapshot: &Snapshot, node: NodeId, priority: i32) -> Vec<Importance> {
    let pods = snapshot.info(node).pods.iter().enumerate();
    let lower = pods.map(|(position, id)| Importance::of(*id, snapshot.cluster.pod(*id), position));
    lower.filter(|it| it.priority < priority).collect()
}

/// Those of a node's pods that have a lower priority, most important first.
fn sorted_below(snapshot: &Snapshot, members: &[Member], priority: i32) -> Box<[Importance]> {
    let lower = members.iter().map(|it| it.importance).filter(|it| it.priority < priority);
    let mut victims: Box<[Importance]> = lower.collect();
    importance::sort(&mut victims, &snapshot.behavior.preemption, now(snapshot));
    victims
}

/// Sets of budgets that match one potential victim of a node and may run out there. A budget that cannot run out on a
/// node is charged in vain, wherever it stands.
pub(crate) fn contested(snapshot: &Snapshot, lineup: &Lineup) -> Vec<Vec<PdbId>> {
    let charges = &lineup.charges;
    if !charges.has_shared() {
        return Vec::new();
    }
    let matching = |at: usize| charges.of(at).iter().map(|charge| charge.pdb).collect::<Vec<_>>();
    let all: Vec<Vec<PdbId>> = (0..lineup.victims.len()).map(matching).filter(|found| !found.is_empty()).collect();
    let runs_out = |pdb: &PdbId| {
        let charged = all.iter().filter(|found| found.contains(pdb)).count();
        snapshot.cluster.pdb(*pdb).disruptions_allowed < i64::try_from(charged).unwrap_or(i64::MAX)
    };
    let limited = all.iter().map(|found| found.iter().copied().filter(|pdb| runs_out(pdb)).collect::<Vec<_>>());
    limited.filter(|found| found.len() > 1).collect()
}
