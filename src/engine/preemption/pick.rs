//! Which candidate is taken. Upstream: `preemption/preemption.go` pickOneNodeForPreemption.

use super::super::outcome::{Candidate, Criterion, Score};
use crate::kube::behavior::NoVictimNeeded;
use crate::model::time::Time;
use std::cmp::{Ordering, Reverse};

/// The criteria, in order.
const CRITERIA: [Criterion; 5] = [
    Criterion::PdbViolations,
    Criterion::HighestPriority,
    Criterion::PrioritySum,
    Criterion::VictimCount,
    Criterion::LatestStart,
];

/// How candidates compare.
#[derive(Clone, Copy)]
pub(crate) struct Choosing {
    /// The time that counts as now.
    pub(crate) now: Time,
    /// What a candidate without victims does.
    pub(crate) no_victim_needed: NoVictimNeeded,
}

/// What the criteria leave of a list of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picked {
    /// Positions of those that none beats.
    pub(crate) best: Vec<usize>,
    /// The last criterion that told two apart.
    pub(crate) decided_by: Option<Criterion>,
    /// Per candidate the criterion on which it lost.
    pub(crate) lost_on: Vec<Option<Criterion>>,
}

/// The smaller the better: whether victims are needed, then the criteria.
type Key = (bool, i64, i64, i64, usize, Reverse<(Time, bool)>);

/// The scheduler of the release crashes on a candidate without victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crash;

impl Choosing {
    /// Leaves only the best at each criterion, until one is left.
    pub(crate) fn pick(&self, candidates: &[&Candidate]) -> Result<Picked, Crash> {
        let mut best: Vec<usize> = (0..candidates.len()).collect();
        let mut lost_on = vec![None; candidates.len()];
        let mut decided_by = None;
        if self.no_victim_needed == NoVictimNeeded::Wins && candidates.iter().any(|it| it.victims.is_empty()) {
            self.keep(&mut best, &mut lost_on, Criterion::VictimCount, |at| candidates[at].victims.is_empty());
            let decided_by = (best.len() < candidates.len()).then_some(Criterion::VictimCount);
            return Ok(Picked { best, decided_by, lost_on });
        }
        for criterion in CRITERIA {
            let before = best.len();
            if before < 2 {
                break;
            }
            if criterion == Criterion::HighestPriority && best.iter().any(|at| candidates[*at].victims.is_empty()) {
                return Err(Crash);
            }
            let first =
                best.iter().copied().min_by(|one, other| self.compare(criterion, candidates[*one], candidates[*other]));
            let Some(first) = first else { break };
            let stays = |at: usize| self.compare(criterion, candidates[at], candidates[first]) == Ordering::Equal;
            self.keep(&mut best, &mut lost_on, criterion, stays);
            if best.len() < before {
                decided_by = Some(criterion);
            }
        }
        Ok(Picked { best, decided_by, lost_on })
    }

    #[expect(clippy::unused_self, reason = "one step of the choice")]
    fn keep(
        &self,
        best: &mut Vec<usize>,
        lost_on: &mut [Option<Criterion>],
        criterion: Criterion,
        stays: impl Fn(usize) -> bool,
    ) {
        best.retain(|at| {
            let stays = stays(*at);
            if !stays {
                lost_on[*at] = Some(criterion);
            }
            stays
        });
    }

    /// The better candidate is the smaller one.
    fn compare(&self, criterion: Criterion, one: &Candidate, other: &Candidate) -> Ordering {
        match criterion {
            Criterion::PdbViolations => one.pdb_violations.cmp(&other.pdb_violations),
            Criterion::HighestPriority => one.score.highest_priority.cmp(&other.score.highest_priority),
            Criterion::PrioritySum => one.score.priority_sum.cmp(&other.score.priority_sum),
            Criterion::VictimCount => one.victims.len().cmp(&other.victims.len()),
            Criterion::LatestStart => self.start(other).cmp(&self.start(one)),
        }
    }

    /// A pod that has not started counts as started now, later than any that has.
    fn start(&self, candidate: &Candidate) -> (Time, bool) {
        candidate.score.earliest_start.map_or((self.now, true), |start| (start, false))
    }

    /// The rank of each candidate: the smaller the better, equal where nothing tells them apart. A choice among any of them
    /// takes one of the smallest rank, because each criterion only ever compares what earlier ones left equal.
    pub(crate) fn ranks(&self, candidates: &[&Candidate]) -> Vec<u32> {
        let mut order: Vec<(Key, usize)> = candidates.iter().map(|it| self.key(it)).zip(0..).collect();
        order.sort_unstable();
        let mut ranks = vec![0; candidates.len()];
        let mut rank = 0;
        for pair in order.windows(2) {
            rank += u32::from(pair[0].0 != pair[1].0);
            ranks[pair[1].1] = rank;
        }
        ranks
    }

    /// What [`Choosing::compare_all`] compares, close together.
    fn key(&self, it: &Candidate) -> Key {
        let needed = match self.no_victim_needed {
            NoVictimNeeded::Wins => !it.victims.is_empty(),
            NoVictimNeeded::Candidate | NoVictimNeeded::Fails => true,
        };
        let Score { highest_priority, priority_sum, earliest_start: _ } = it.score;
        (needed, it.pdb_violations, highest_priority, priority_sum, it.victims.len(), Reverse(self.start(it)))
    }

    /// Whether the first candidate would win, or be tied.
    pub(crate) fn is_as_good(&self, one: &Candidate, other: &Candidate) -> bool {
        self.compare_all(one, other) != Ordering::Greater
    }

    /// The better candidate, by all criteria, is the smaller one.
    pub(crate) fn compare_all(&self, one: &Candidate, other: &Candidate) -> Ordering {
        let unneeded = match self.no_victim_needed {
            NoVictimNeeded::Wins => other.victims.is_empty().cmp(&one.victims.is_empty()),
            NoVictimNeeded::Candidate | NoVictimNeeded::Fails => Ordering::Equal,
        };
        CRITERIA.iter().fold(unneeded, |before, criterion| before.then_with(|| self.compare(*criterion, one, other)))
    }
}
