//! Which candidates a scheduling cycle finds, and so may nominate: it starts at a random place and stops when it has as many
//! as it wants. Upstream: `default_preemption.go` GetOffsetAndNumCandidates, `preemption/preemption.go` DryRunPreemption.

use crate::kube::behavior::CandidateLimit;
use crate::kube::profile::PreemptionArgs;

/// The most candidates that a cycle looks for.
pub(crate) fn limit(potential: usize, args: PreemptionArgs, behavior: CandidateLimit) -> usize {
    match behavior {
        CandidateLimit::NoLimit => potential,
        CandidateLimit::OffsetAndLimit => {
            let whole = i32::try_from(potential).unwrap_or(i32::MAX);
            // Go's 32-bit product, which wraps.
            let part = whole.wrapping_mul(args.min_candidate_nodes_percentage) / 100;
            usize::try_from(part.max(args.min_candidate_nodes_absolute).min(whole)).unwrap_or(0)
        }
    }
}

/// In which order a cycle tries the potential nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In that of the snapshot, from a random place.
    Circle,
    /// Any, with equal chances.
    Random,
}

/// The candidates, were every potential node tried.
#[derive(Clone, Debug)]
pub(crate) struct Field<'f> {
    /// How many potential nodes there are.
    pub(crate) potential: usize,
    /// Where among them each candidate stands, ascending.
    pub(crate) places: &'f [usize],
    /// The rank of each candidate: the smaller the better.
    pub(crate) ranks: &'f [u32],
    /// Whether each candidate violates a budget; those that do rank after those that do not.
    pub(crate) violating: &'f [bool],
    /// The most candidates looked for, at least 1.
    pub(crate) limit: usize,
    pub(crate) order: Order,
}

/// Upstream's default number of workers, each of which may be at another node when the search ends.
const WORKERS: usize = 16;

/// How much work the search for nodes of share 0 may be, in steps.
const REACH_STEPS: usize = 20_000_000;

impl Field<'_> {
    fn candidates(&self) -> usize {
        self.places.len()
    }

    fn harmless(&self) -> usize {
        self.violating.iter().filter(|violating| !**violating).count()
    }

    /// Whether a cycle may miss candidates.
    pub(crate) fn is_cut(&self) -> bool {
        self.candidates() > self.limit
    }

    /// The share of each candidate. Where several are equal in what a cycle found, it takes any of them.
    pub(crate) fn shares(&self) -> Vec<f64> {
        if !self.is_cut() {
            return self.share_out(0..self.candidates());
        }
        match self.order {
            Order::Circle => self.circle_shares(),
            Order::Random => self.random_shares(),
        }
    }

    /// The best of some candidates share evenly.
    fn share_out(&self, found: impl Iterator<Item = usize> + Clone) -> Vec<f64> {
        let mut shares = vec![0.0; self.candidates()];
        self.add_share(&mut shares, found, 1.0);
        shares
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of nodes")]
    fn add_share(&self, shares: &mut [f64], found: impl Iterator<Item = usize> + Clone, share: f64) {
        let Some(best) = found.clone().map(|at| self.ranks[at]).min() else { return };
        let tied = found.clone().filter(|at| self.ranks[*at] == best).count();
        for at in found.filter(|at| self.ranks[*at] == best) {
            shares[at] += share / tied as f64;
        }
    }

    /// Every starting place is as likely as another. The search goes on past the limit while all candidates violate a
    /// budget, and then takes the first that does not.
    #[expect(clippy::cast_precision_loss, reason = "counts of nodes")]
    fn circle_shares(&self) -> Vec<f64> {
        let count = self.candidates();
        let mut shares = vec![0.0; count];
        for first in 0..count {
            let before = self.places[(first + count - 1) % count];
            let gap = (self.places[first] + self.potential - before) % self.potential;
            let gap = if gap == 0 { self.potential } else { gap };
            let share = gap as f64 / self.potential as f64;
            let window = (0..self.limit).map(|step| (first + step) % count);
            let harmless = window.clone().any(|at| !self.violating[at]);
            let past = (self.limit..count).map(|step| (first + step) % count).find(|at| !self.violating[*at]);
            match past {
                Some(at) if !harmless => shares[at] += share,
                Some(_) | None => self.add_share(&mut shares, window, share),
            }
        }
        shares
    }

    /// What a cycle finds is any set of as many candidates as it wants; where all of them violate a budget, it goes on to
    /// the first that does not, which is any of those.
    #[expect(clippy::cast_precision_loss, reason = "counts of nodes")]
    fn random_shares(&self) -> Vec<f64> {
        let harmless = self.harmless();
        let contenders: Vec<usize> =
            (0..self.candidates()).filter(|at| harmless == 0 || !self.violating[*at]).collect();
        let mut by_rank = contenders.clone();
        by_rank.sort_by_key(|at| self.ranks[*at]);
        let mut shares = vec![0.0; self.candidates()];
        // The chance that all those found are among the `left` candidates that are no better.
        let mut left = self.candidates();
        let mut chance = 1.0;
        for group in by_rank.chunk_by(|one, other| self.ranks[*one] == self.ranks[*other]) {
            let before = chance;
            for _ in group {
                chance *= (left.saturating_sub(self.limit)) as f64 / left as f64;
                left -= 1;
            }
            for &at in group {
                shares[at] = (before - chance) / group.len() as f64;
            }
        }
        if harmless > 0 {
            for at in contenders {
                shares[at] += chance / harmless as f64;
            }
        }
        shares
    }

    /// Candidates of share 0 that a cycle may nominate all the same, because its workers do not keep in step: while one is
    /// held up before a better candidate, others fill the list.
    pub(crate) fn reached_out_of_step(&self, shares: &[f64]) -> Vec<usize> {
        if self.order == Order::Random || !self.is_cut() {
            return Vec::new();
        }
        let harmless = self.harmless();
        let missing = (0..self.candidates()).filter(|at| shares[*at] <= 0.0 && (harmless == 0 || !self.violating[*at]));
        let missing: Vec<usize> = missing.collect();
        let steps_each = self.candidates() + self.potential / self.chunk();
        let offsets = (REACH_STEPS / (steps_each * missing.len().max(1))).clamp(1, self.potential);
        let stride = self.potential.div_ceil(offsets);
        let starts = |at: usize| {
            let place = self.places[at];
            (0..self.potential).step_by(stride).map(move |back| (place + self.potential - back) % self.potential)
        };
        missing.into_iter().filter(|at| starts(*at).any(|start| self.is_reached(*at, start))).collect()
    }

    /// How many nodes a worker takes at a time. Upstream: `parallelize/parallelism.go` chunkSizeFor.
    fn chunk(&self) -> usize {
        self.potential.isqrt().min(self.potential / WORKERS + 1).max(1)
    }

    /// Whether some pace of the workers lets a candidate win from a starting place. Each better candidate must be left
    /// untried, so the worker that has its chunk stands still before it; a worker that stands still takes no other chunk.
    fn is_reached(&self, wanted: usize, start: usize) -> bool {
        let size = self.chunk();
        let visit = |at: usize| (self.places[at] + self.potential - start) % self.potential;
        let own_chunk = visit(wanted) / size;
        let chunks = self.potential.div_ceil(size);
        // Per chunk: where its first better candidate stands, and how many others stand before that.
        let mut barrier = vec![usize::MAX; chunks];
        for at in (0..self.candidates()).filter(|at| self.ranks[*at] < self.ranks[wanted]) {
            let place = visit(at);
            barrier[place / size] = barrier[place / size].min(place);
        }
        if barrier[own_chunk] < visit(wanted) {
            return false;
        }
        let mut open = vec![0usize; chunks];
        let mut before_own = 0;
        for at in 0..self.candidates() {
            let place = visit(at);
            if place < barrier[place / size] {
                open[place / size] += 1;
                before_own += usize::from(place / size == own_chunk && place < visit(wanted));
            }
        }
        let held = |chunk: usize| barrier[chunk] != usize::MAX;
        let held_before = (0..own_chunk).filter(|chunk| held(*chunk)).count();
        if held_before >= WORKERS {
            return false;
        }
        // All but the fullest chunks before the own one must be done when its worker takes it.
        let mut done: Vec<usize> = (0..own_chunk).filter(|chunk| !held(*chunk)).map(|chunk| open[chunk]).collect();
        done.sort_unstable();
        let may_wait = (WORKERS - 1 - held_before).min(done.len());
        let least: usize = done[..done.len() - may_wait].iter().sum::<usize>() + before_own;
        let mut standing = 0;
        let mut most = 0;
        for (chunk, candidates) in open.iter().enumerate() {
            if standing == WORKERS {
                break;
            }
            most += candidates;
            standing += usize::from(held(chunk));
        }
        least < self.limit && most >= self.limit
    }
}
