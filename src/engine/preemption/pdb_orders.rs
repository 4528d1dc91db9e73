//! The order of budgets, where a victim matches several: it is a map's, drawn once per attempt for all nodes.

use super::dry_run::{DryRuns, Tried};
use super::lineup;
use super::pdb::Rank;
use crate::kube::behavior::PdbWalk;
use crate::model::id::{NodeId, PdbId};

/// The most orders that are tried.
const MOST_ORDERS: usize = 720;
/// The most dry runs that other orders may cost.
const MOST_DRY_RUNS: usize = 20_000;

/// The orders that may change what a dry run finds, and the nodes where they may.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    /// Ranks of the budgets; the canonical order first. Never empty.
    pub(crate) ranks: Vec<Vec<u32>>,
    /// Nodes on which the order may matter.
    pub(crate) nodes: Vec<NodeId>,
    /// Whether the ranks are all that can matter.
    pub(crate) all: bool,
}

/// Finds the orders that matter on the nodes given.
pub(crate) fn of(runs: &DryRuns<'_>, nodes: &[NodeId]) -> Orders {
    let count = runs.cycle.cluster().pdbs.len();
    let canonical: Vec<u32> = (0..).take(count).collect();
    let mut orders = Orders { ranks: vec![canonical], nodes: Vec::new(), all: true };
    match runs.cycle.snapshot.behavior.preemption.pdb_walk {
        PdbWalk::WalksAll => return orders,
        PdbWalk::StopsAtExhausted | PdbWalk::StopsAtViolated if count < 2 => return orders,
        PdbWalk::StopsAtExhausted | PdbWalk::StopsAtViolated => {}
    }
    let snapshot = runs.cycle.snapshot;
    let mut groups = Groups::new(count);
    for node in nodes {
        let sets = lineup::contested(snapshot, runs.reach(*node).charges);
        if sets.is_empty() {
            continue;
        }
        orders.nodes.push(*node);
        for set in &sets {
            for pair in set.windows(2) {
                groups.join(pair[0], pair[1]);
            }
        }
    }
    if orders.nodes.is_empty() {
        return orders;
    }
    let most = (MOST_DRY_RUNS / orders.nodes.len()).clamp(2, MOST_ORDERS);
    let groups = groups.list();
    let possible = groups.iter().try_fold(1usize, |all, group| all.checked_mul(factorial(group.len())?));
    orders.all = possible.is_some_and(|possible| possible <= most);
    let canonical = orders.ranks.remove(0);
    orders.ranks = if orders.all { every(&canonical, &groups) } else { sample(&canonical, &groups, most) };
    orders
}

/// The dry runs of the nodes where the order matters, under one of the orders.
pub(crate) fn retry(runs: &DryRuns<'_>, nodes: &[NodeId], rank: &Rank) -> Vec<Tried> {
    DryRuns { rank, ..*runs }.all(nodes)
}

/// Budgets that are joined by victims they share.
struct Groups {
    leader: Vec<usize>,
    touched: Vec<bool>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Groups { leader: (0..count).collect(), touched: vec![false; count] }
    }

    fn find(&self, mut at: usize) -> usize {
        while self.leader[at] != at {
            at = self.leader[at];
        }
        at
    }

    fn join(&mut self, one: PdbId, other: PdbId) {
        let (first, second) = (self.find(one.index()), self.find(other.index()));
        self.leader[first.max(second)] = first.min(second);
        self.touched[one.index()] = true;
        self.touched[other.index()] = true;
    }

    /// The groups, each in canonical order.
    fn list(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for at in (0..self.leader.len()).filter(|at| self.touched[*at]) {
            let leader = self.find(at);
            match groups.iter_mut().find(|(known, _)| *known == leader) {
                Some((_, group)) => group.push(at),
                None => groups.push((leader, vec![at])),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

fn factorial(number: usize) -> Option<usize> {
    (1..=number).try_fold(1usize, usize::checked_mul)
}

/// All orders of each group, combined.
fn every(canonical: &[u32], groups: &[Vec<usize>]) -> Vec<Vec<u32>> {
    let mut ranks = vec![canonical.to_vec()];
    for group in groups {
        let orders = permutations(group);
        ranks = ranks.iter().flat_map(|rank| orders.iter().map(|order| placed(rank, group, order))).collect();
    }
    ranks
}

/// Each group forwards and backwards, begun at each of its budgets: what the walk meets first matters most.
fn sample(canonical: &[u32], groups: &[Vec<usize>], most: usize) -> Vec<Vec<u32>> {
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    let turned = |turn: usize, backwards: bool| {
        groups.iter().fold(canonical.to_vec(), |rank, group| {
            let mut order = group.clone();
            order.rotate_left(turn % group.len());
            if backwards {
                order.reverse();
            }
            placed(&rank, group, &order)
        })
    };
    (0..longest).flat_map(|turn| [turned(turn, false), turned(turn, true)]).take(most).collect()
}

/// The ranks with a group's members, in an order, on the group's places.
fn placed(rank: &[u32], group: &[usize], order: &[usize]) -> Vec<u32> {
    let mut changed = rank.to_vec();
    for (place, member) in group.iter().zip(order) {
        changed[*member] = rank[*place];
    }
    changed
}

/// All orders of some members, the given one first.
fn permutations(members: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = members.split_first() else { return vec![Vec::new()] };
    let mut all: Vec<Vec<usize>> = Vec::new();
    for order in permutations(rest) {
        for place in 0..=order.len() {
            let mut longer = order.clone();
            longer.insert(place, *first);
            all.push(longer);
        }
    }
    all
}
