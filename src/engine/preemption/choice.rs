//! The nomination: the canonical one, and every other that a scheduling cycle may come to.

use super::super::framework::PodCycle;
use super::super::nominated;
use super::super::outcome::{Candidate, Cause, Choice, PdbOrders, PossibleNomination, Preemption};
use super::dry_run::DryRuns;
use super::equals::{self, Steps};
use super::pdb_orders::{self, Orders};
use super::pick::{Choosing, Crash, Picked};
use super::sampling::{self, Field, Order};
use crate::model::id::{NodeId, PodId};

/// On how many of the likeliest nodes stand-ins are looked for.
const NODES_WITH_STAND_INS: usize = 64;

/// What the choice starts from.
pub(crate) struct Choices<'r> {
    pub(crate) runs: DryRuns<'r>,
    pub(crate) choosing: Choosing,
    /// In which order a cycle tries the potential nodes.
    pub(crate) order: Order,
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
        let mut causes = causes(preemption, &picked, &outcomes, limit);
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
        let mut found = Found::default();
        let canonical: Vec<&Candidate> = preemption.candidates.iter().collect();
        self.add_outcomes(preemption, &canonical, limit, &mut found);
        let canonical = found.list.clone();
        let mut drawn = Drawn { outcomes: Vec::new(), variants: Vec::new(), order_matters: false };
        for rank in &orders.ranks[1..] {
            let tried = pdb_orders::retry(&self.runs, &orders.nodes, rank);
            let other = |node: NodeId| tried.iter().find(|it| it.node == node);
            let candidates: Vec<&Candidate> = preemption
                .potential
                .iter()
                .filter_map(|node| match other(*node) {
                    Some(tried) => tried.result.as_ref().ok(),
                    None => preemption.candidates.iter().find(|it| it.node == *node),
                })
                .collect();
            let mut here = Found::default();
            self.add_outcomes(preemption, &candidates, limit, &mut here);
            drawn.order_matters |= here.differs_from(&canonical);
            for (candidate, share) in &here.list {
                found.add(candidate, *share);
            }
            for candidate in tried.iter().filter_map(|it| it.result.as_ref().ok()) {
                let known = |it: &Candidate| is_same(it, candidate);
                if !preemption.candidates.iter().any(known) && !drawn.variants.iter().any(known) {
                    drawn.variants.push(candidate.clone());
                }
            }
        }
        drawn.variants.sort_by_key(|it| it.node);
        drawn.outcomes = found.finish(preemption, orders.ranks.len());
        drawn
    }

    fn add_outcomes(&self, preemption: &Preemption, candidates: &[&Candidate], limit: usize, found: &mut Found) {
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

    fn add_stand_ins(&self, preemption: &mut Preemption, outcomes: &[PossibleNomination], steps: &mut Steps) {
        for outcome in outcomes.iter().take(NODES_WITH_STAND_INS) {
            let Some(candidate) = preemption.candidates.iter_mut().find(|it| it.node == outcome.node) else { continue };
            let stand_ins = equals::stand_ins(&self.runs, candidate, steps);
            for (victim, equals) in candidate.victims.iter_mut().zip(stand_ins) {
                victim.equals = equals;
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
        for candidate in &preemption.candidates {
            let Some(other) = equals::reversed(&self.runs, candidate, steps) else { continue };
            let known = outcomes.iter().any(|it| it.node == candidate.node && it.variant.is_none());
            if self.choosing.is_as_good(&other, best) || known {
                outcomes.push(PossibleNomination { node: other.node, share: 0.0, variant: Some(Box::new(other)) });
            }
        }
    }
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

/// Nominations with their shares, in the order of the snapshot.
#[derive(Default)]
struct Found {
    list: Vec<(Candidate, f64)>,
}

impl Found {
    fn add(&mut self, candidate: &Candidate, share: f64) {
        let known = self.list.iter_mut().find(|(known, _)| is_same(known, candidate));
        match known {
            Some((_, sum)) => *sum += share,
            None => self.list.push((candidate.clone(), share)),
        }
    }

    fn differs_from(&self, other: &[(Candidate, f64)]) -> bool {
        let known = |(one, share): &(Candidate, f64)| {
            other.iter().any(|(it, other)| is_same(it, one) && (share - other).abs() < 1e-9)
        };
        self.list.len() != other.len() || !self.list.iter().all(known)
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of orders")]
    fn finish(mut self, preemption: &Preemption, orders: usize) -> Vec<PossibleNomination> {
        self.list.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let canonical = |it: &Candidate| preemption.candidates.iter().any(|known| is_same(known, it));
        let outcome = |(candidate, share): (Candidate, f64)| PossibleNomination {
            node: candidate.node,
            share: share / orders as f64,
            variant: if canonical(&candidate) { None } else { Some(Box::new(candidate)) },
        };
        self.list.into_iter().map(outcome).collect()
    }
}

/// Whether two candidates evict the same pods of the same node at the same cost.
fn is_same(one: &Candidate, other: &Candidate) -> bool {
    let pods = |it: &Candidate| it.victims.iter().flat_map(|victim| victim.pods.iter().copied()).collect::<Vec<_>>();
    one.node == other.node && one.pdb_violations == other.pdb_violations && pods(one) == pods(other)
}

/// Why there is more than one answer.
fn causes(preemption: &Preemption, picked: &Picked, outcomes: &[PossibleNomination], limit: usize) -> Vec<Cause> {
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
    let nominated = |candidate: &&Candidate| outcomes.iter().any(|it| it.node == candidate.node);
    let mut likely = preemption.candidates.iter().filter(nominated);
    if by_memory || likely.any(|it| it.victims.iter().any(|victim| !victim.equals.is_empty())) {
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
    let mut victims = candidate.victims.iter().flat_map(|victim| &victim.pods);
    victims.all(|pod| cycle.cluster().pod(*pod).deleted.is_some())
}
