//! The nomination: the canonical one, and every other that a scheduling cycle may come to.

use super::super::framework::PodCycle;
use super::super::nominated;
use super::super::outcome::{Candidate, Cause, Choice, PdbOrders, PossibleNomination, Preemption};
use super::dry_run::{DryRuns, Tried};
use super::equals::{self, Steps};
use super::pdb_orders::{self, Orders};
use super::pick::{Choosing, Crash, Picked};
use super::sampling::{self, Field, Order};
use crate::model::id::{NodeId, PodId};
use rustc_hash::FxHashMap;

/// On how many of the likeliest nodes stand-ins are looked for.
const NODES_WITH_STAND_INS: usize = 64;

/// What the choice starts from.
pub(crate) struct Choices<'r> {
    pub(crate) runs: DryRuns<'r>,
    pub(crate) choosing: Choosing,
    /// In which order a cycle tries the potential nodes.
    pub(crate) order: Order,
    /// Per candidate, whether some of several equal pods are evicted and some spared.
    pub(crate) splits_equals: Vec<bool>,
}

/// A choice with why it might have been another.
pub(crate) struct Chosen {
    pub(crate) choice: Choice,
    pub(crate) causes: Vec<Cause>,
}

impl Choices<'_> {
    /// Chooses among the candidates of a preemption, and completes them with the victims' stand-ins.
    pub(crate) fn make(&self, preemption: &mut Preemption) -> Result<Option<Chosen>, Crash> {
        let cycle = &self.runs.cycle;
        let behavior = &cycle.snapshot.behavior.preemption;
        let limit = sampling::limit(preemption.potential.len(), cycle.profile.preemption, behavior.candidate_limit);
        if preemption.candidates.is_empty() || limit == 0 {
            return Ok(None);
        }
        let picked = self.choosing.pick(&preemption.candidates.iter().collect::<Vec<_>>())?;
        let orders = pdb_orders::of(&self.runs, &preemption.potential);
        let Drawn { mut outcomes, variants, order_matters } = self.draw(preemption, limit, &orders);
        preemption.variants = variants;
        let mut steps = Steps::default();
        self.add_stand_ins(preemption, &outcomes, &mut steps);
        self.add_reversed(preemption, &picked, &mut outcomes, &mut steps);
        let first = &preemption.candidates[picked.best[0]];
        let mut tied: Vec<NodeId> = picked.best.iter().map(|at| preemption.candidates[*at].node).collect();
        tied.sort_unstable();
        let nominated = self.nodes(outcomes.iter().map(|it| it.node));
        let mut causes = causes(preemption, &picked, &outcomes, &nominated, limit);
        causes.extend(order_matters.then_some(Cause::PdbOrder));
        causes.sort_unstable();
        let choice = Choice {
            node: first.node,
            tied,
            decided_by: picked.decided_by,
            cleared: cleared(cycle, first.node),
            all_terminating: all_terminating(cycle, first),
            lost_on: picked.lost_on,
            outcomes,
            pdb_orders: PdbOrders { tried: orders.ranks.len(), all: orders.all },
        };
        Ok(Some(Chosen { choice, causes }))
    }

    /// Every nomination that a cycle may make: over the orders of the budgets, and over the places where it starts.
    fn draw(&self, preemption: &Preemption, limit: usize, orders: &Orders) -> Drawn {
        let mut canonical = Found::default();
        self.add_outcomes(preemption, &preemption.candidates.iter().collect::<Vec<_>>(), limit, &mut canonical);
        let retried: Vec<Vec<Tried>> =
            orders.ranks[1..].iter().map(|rank| pdb_orders::retry(&self.runs, &orders.nodes, rank)).collect();
        let mut all = Found::default();
        for (candidate, share) in &canonical.list {
            all.add(candidate, *share);
        }
        let mut order_matters = false;
        let mut variants: Vec<Candidate> = Vec::new();
        for tried in &retried {
            let mut here = Found::default();
            self.add_outcomes(preemption, &replaced(preemption, tried), limit, &mut here);
            order_matters |= !here.equals(&canonical);
            for (candidate, share) in &here.list {
                all.add(candidate, *share);
            }
            for candidate in tried.iter().filter_map(|it| it.result.as_ref().ok()) {
                let known = |it: &Candidate| is_same(it, candidate);
                if !preemption.candidates.iter().any(known) && !variants.iter().any(known) {
                    variants.push(candidate.clone());
                }
            }
        }
        variants.sort_by_key(|it| it.node);
        let outcomes = all.finish(&canonical, &preemption.candidates, orders.ranks.len());
        Drawn { outcomes, variants, order_matters }
    }

    fn add_outcomes<'c>(
        &self,
        preemption: &Preemption,
        candidates: &[&'c Candidate],
        limit: usize,
        found: &mut Found<'c>,
    ) {
        let mut places = Vec::with_capacity(candidates.len());
        let mut potential = preemption.potential.iter().enumerate();
        for candidate in candidates {
            places.extend(potential.find(|(_, node)| **node == candidate.node).map(|(place, _)| place));
        }
        let violating: Vec<bool> = candidates.iter().map(|it| it.pdb_violations > 0).collect();
        let ranks = self.choosing.ranks(candidates);
        let field = Field {
            potential: preemption.potential.len(),
            places: &places,
            ranks: &ranks,
            violating: &violating,
            limit,
            order: self.order,
        };
        let shares = field.shares();
        for (candidate, share) in candidates.iter().zip(&shares).filter(|(_, share)| **share > 0.0) {
            found.add(candidate, *share);
        }
        for at in field.reached_out_of_step(&shares) {
            found.add(candidates[at], 0.0);
        }
    }

    fn nodes(&self, nodes: impl Iterator<Item = NodeId>) -> NodeSet {
        let mut set = NodeSet(vec![false; self.runs.cycle.cluster().nodes.len()]);
        nodes.for_each(|node| set.0[node.index()] = true);
        set
    }

    fn add_stand_ins(&self, preemption: &mut Preemption, outcomes: &[PossibleNomination], steps: &mut Steps) {
        let likeliest = &outcomes[..outcomes.len().min(NODES_WITH_STAND_INS)];
        let wanted = self.nodes(likeliest.iter().map(|it| it.node));
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        for (at, candidate) in preemption.candidates.iter().enumerate().filter(|(_, it)| wanted.has(it.node)) {
            places.entry(candidate.node).or_insert(at);
        }
        for outcome in likeliest {
            let Some(candidate) = places.get(&outcome.node).map(|at| &mut preemption.candidates[*at]) else { continue };
            let stand_ins = equals::stand_ins(&self.runs, candidate, steps);
            for (victim, equals) in candidate.victims.iter_mut().zip(stand_ins) {
                victim.set_equals(equals);
            }
        }
    }

    /// Adds nodes whose victims, were equal pods the other way round in memory, would make them at least as good as the
    /// node chosen.
    fn add_reversed(
        &self,
        preemption: &Preemption,
        picked: &Picked,
        outcomes: &mut Vec<PossibleNomination>,
        steps: &mut Steps,
    ) {
        let best = &preemption.candidates[picked.best[0]];
        let split = preemption.candidates.iter().zip(&self.splits_equals).filter(|(_, splits)| **splits);
        let mut split: Vec<&Candidate> = split.map(|(candidate, _)| candidate).collect();
        // The best come first, in case the search has to end early.
        split.sort_by(|one, other| self.choosing.compare_all(one, other));
        let known = self.nodes(outcomes.iter().filter(|it| it.variant.is_none()).map(|it| it.node));
        for candidate in split {
            let Some(other) = equals::reversed(&self.runs, candidate, steps) else { continue };
            let known = known.has(candidate.node);
            if self.choosing.is_as_good(&other, best) || known {
                outcomes.push(PossibleNomination { node: other.node, share: 0.0, variant: Some(Box::new(other)) });
            }
        }
    }
}

/// Some of the cluster's nodes.
struct NodeSet(Vec<bool>);

impl NodeSet {
    fn has(&self, node: NodeId) -> bool {
        self.0[node.index()]
    }
}

/// The candidates, those of some nodes as another try found them.
fn replaced<'c>(preemption: &'c Preemption, tried: &'c [Tried]) -> Vec<&'c Candidate> {
    let mut standing = preemption.candidates.iter().peekable();
    let mut again = tried.iter().peekable();
    let both = preemption.potential.iter().filter_map(|node| {
        let stood = standing.next_if(|it| it.node == *node);
        match again.next_if(|it| it.node == *node) {
            Some(tried) => tried.result.as_ref().ok(),
            None => stood,
        }
    });
    both.collect()
}

/// What a cycle may come to.
struct Drawn {
    /// Every nomination, most likely first.
    outcomes: Vec<PossibleNomination>,
    /// Every candidate that differs under another order of the budgets.
    variants: Vec<Candidate>,
    /// Whether the nomination depends on that order.
    order_matters: bool,
}

/// Nominations with their shares, in the order found.
#[derive(Default)]
struct Found<'c> {
    list: Vec<(&'c Candidate, f64)>,
    /// The last one found of each node.
    last: FxHashMap<NodeId, usize>,
    /// For each, the one found before of the same node.
    before: Vec<Option<usize>>,
}

impl<'c> Found<'c> {
    fn add(&mut self, candidate: &'c Candidate, share: f64) {
        if let Some(at) = self.find(candidate) {
            self.list[at].1 += share;
        } else {
            self.before.push(self.last.insert(candidate.node, self.list.len()));
            self.list.push((candidate, share));
        }
    }

    fn find(&self, candidate: &Candidate) -> Option<usize> {
        let last = self.last.get(&candidate.node).copied();
        std::iter::successors(last, |at| self.before[*at]).find(|at| is_same(self.list[*at].0, candidate))
    }

    fn share(&self, candidate: &Candidate) -> Option<f64> {
        self.find(candidate).map(|at| self.list[at].1)
    }

    fn equals(&self, other: &Found<'_>) -> bool {
        let same = |one: f64, other: f64| (one - other).abs() < 1e-9;
        self.list.len() == other.list.len()
            && self.list.iter().all(|(it, share)| other.share(it).is_some_and(|other| same(*share, other)))
    }

    /// Most likely first.
    #[expect(clippy::cast_precision_loss, reason = "a count of orders")]
    fn finish(self, canonical: &Found<'_>, candidates: &[Candidate], orders: usize) -> Vec<PossibleNomination> {
        let mut list = self.list;
        list.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let is_canonical = |it: &Candidate| {
            orders == 1 || canonical.share(it).is_some() || candidates.iter().any(|known| is_same(known, it))
        };
        let outcome = |(candidate, share): (&Candidate, f64)| PossibleNomination {
            node: candidate.node,
            share: share / orders as f64,
            variant: if is_canonical(candidate) { None } else { Some(Box::new(candidate.clone())) },
        };
        list.into_iter().map(outcome).collect()
    }
}

/// Whether two candidates evict the same pods of the same node at the same cost.
fn is_same<'c>(one: &'c Candidate, other: &'c Candidate) -> bool {
    let pods = |it: &'c Candidate| it.victims.iter().map(|victim| victim.pod);
    std::ptr::eq(one, other)
        || (one.node == other.node && one.pdb_violations == other.pdb_violations && pods(one).eq(pods(other)))
}

/// Why there is more than one answer.
fn causes(
    preemption: &Preemption,
    picked: &Picked,
    outcomes: &[PossibleNomination],
    nominated: &NodeSet,
    limit: usize,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    let nodes = outcomes.iter().filter(|it| it.node != outcomes[0].node).count();
    if preemption.candidates.len() > limit && nodes > 0 {
        causes.push(Cause::RandomOffset);
    }
    if picked.best.len() > 1 {
        causes.push(Cause::EqualCandidates);
    }
    let first = &preemption.candidates[picked.best[0]];
    let by_memory = outcomes.iter().any(|it| it.share <= 0.0 && it.variant.is_some());
    let mut likely = preemption.candidates.iter().filter(|it| nominated.has(it.node));
    if by_memory || likely.any(|it| it.victims.iter().any(|victim| !victim.equals().is_empty())) {
        causes.push(Cause::EqualImportance);
    }
    // Two nodes whose victims have not started are told apart by when the scheduler reads its clock.
    if picked.best.len() > 1 && !first.victims.is_empty() && first.score.earliest_start.is_none() {
        causes.push(Cause::MissingStartTime);
    }
    causes
}

/// Pods nominated to the node that have a lower priority: they have to look for another.
fn cleared(cycle: &PodCycle<'_>, node: NodeId) -> Vec<PodId> {
    let (cluster, priority) = (cycle.cluster(), cycle.incoming().priority());
    nominated::others(cycle, node).filter(|pod| cluster.pod(*pod).priority() < priority).collect()
}

fn all_terminating(cycle: &PodCycle<'_>, candidate: &Candidate) -> bool {
    candidate.victims.iter().all(|victim| cycle.cluster().pod(victim.pod).deleted.is_some())
}
