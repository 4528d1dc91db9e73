//! Which candidates a scheduling cycle finds, and so may nominate: it starts at a random place and stops when it has as many
//! as it wants. Upstream: `default_preemption.go` GetOffsetAndNumCandidates, `preemption/preemption.go` DryRunPreemption.

use crate::kube::behavior::CandidateLimit;
use crate::kube::profile::PreemptionArgs;
use std::collections::VecDeque;

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
    ///
    /// The windows that start at neighbouring candidates overlap: what is best in each is kept up while they slide on, so
    /// that the work is that of the shares handed out.
    #[expect(clippy::cast_precision_loss, reason = "counts of nodes")]
    fn circle_shares(&self) -> Vec<f64> {
        let count = self.candidates();
        let mut shares = vec![0.0; count];
        let alike = Alike::new(self.ranks);
        let mut best = Best::default();
        (0..self.limit - 1).for_each(|at| best.join(at, self.ranks));
        let harmless = self.next_harmless();
        for first in 0..count {
            let before = self.places[(first + count - 1) % count];
            let gap = (self.places[first] + self.potential - before) % self.potential;
            let gap = if gap == 0 { self.potential } else { gap };
            let share = gap as f64 / self.potential as f64;
            best.join(first + self.limit - 1, self.ranks);
            match harmless.as_ref().map(|next| next[first]) {
                Some(steps) if steps >= self.limit => shares[(first + steps) % count] += share,
                Some(_) | None => {
                    let tied = alike.within(best.rank(self.ranks), first, self.limit);
                    let each = share / tied.clone().count() as f64;
                    tied.for_each(|at| shares[at] += each);
                }
            }
            best.leave(first);
        }
        shares
    }

    /// From each candidate on, how many steps round the circle to one that violates no budget; `None` where all do.
    fn next_harmless(&self) -> Option<Vec<usize>> {
        let count = self.candidates();
        let mut next = self.violating.iter().position(|violating| !violating)? + count;
        let mut steps = vec![0; count];
        for at in (0..count).rev() {
            if !self.violating[at] {
                next = at;
            }
            steps[at] = next - at;
        }
        Some(steps)
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
        let standing = self.standing_before();
        missing.into_iter().filter(|at| starts(*at).any(|start| self.is_reached(*at, start, &standing))).collect()
    }

    /// How many candidates stand before each place, and before the end.
    fn standing_before(&self) -> Vec<usize> {
        let mut before = vec![0; self.potential + 1];
        for place in self.places {
            before[place + 1] += 1;
        }
        for place in 0..self.potential {
            before[place + 1] += before[place];
        }
        before
    }

    /// How many nodes a worker takes at a time. Upstream: `parallelize/parallelism.go` chunkSizeFor.
    fn chunk(&self) -> usize {
        self.potential.isqrt().min(self.potential / WORKERS + 1).max(1)
    }

    /// Whether some pace of the workers lets a candidate win from a starting place. Each better candidate must be left
    /// untried, so the worker that has its chunk stands still before it; a worker that stands still takes no other chunk.
    ///
    /// A chunk is read up to its first better candidate, and no chunk past the one that decides.
    fn is_reached(&self, wanted: usize, start: usize, standing: &[usize]) -> bool {
        let size = self.chunk();
        let place = (self.places[wanted] + self.potential - start) % self.potential;
        let own = place / size;
        let chunk = |at: usize| {
            let end = ((at + 1) * size).min(self.potential);
            self.read(self.ranks[wanted], start + at * size, start + end, standing)
        };
        let before_own = self.read(self.ranks[wanted], start + own * size, start + place, standing);
        if before_own.held {
            return false;
        }
        let (mut held_before, mut done) = (0, Vec::new());
        let (mut most, mut held) = (0, 0);
        for at in 0..own {
            let read = chunk(at);
            most += read.open;
            if read.held {
                held_before += 1;
                held += 1;
            } else {
                done.push(read.open);
            }
            if held_before == WORKERS {
                return false;
            }
        }
        // All but the fullest chunks before the own one must be done when its worker takes it.
        done.sort_unstable();
        let may_wait = (WORKERS - 1 - held_before).min(done.len());
        let least: usize = done[..done.len() - may_wait].iter().sum::<usize>() + before_own.open;
        if least >= self.limit {
            return false;
        }
        for at in own..self.potential.div_ceil(size) {
            if most >= self.limit || held == WORKERS {
                break;
            }
            let read = chunk(at);
            most += read.open;
            held += usize::from(read.held);
        }
        most >= self.limit
    }

    /// Reads the places from one to another, both counted on past the end of the circle, up to the first candidate of a
    /// rank below the one given.
    fn read(&self, rank: u32, from: usize, to: usize, standing: &[usize]) -> Read {
        let upto_end = |place: usize| standing[place.min(self.potential)];
        let past_end = |place: usize| standing[place.saturating_sub(self.potential)];
        let mut open = 0;
        for (from, to) in [(upto_end(from), upto_end(to)), (past_end(from), past_end(to))] {
            match self.ranks[from..to].iter().position(|other| *other < rank) {
                Some(before) => return Read { open: open + before, held: true },
                None => open += to - from,
            }
        }
        Read { open, held: false }
    }
}

/// What a worker finds in a chunk.
struct Read {
    /// Candidates before the first better one.
    open: usize,
    /// Whether there is a better one.
    held: bool,
}

/// The best candidates of a window that slides round the circle: those that no later one of the window is as good as.
#[derive(Default)]
struct Best(VecDeque<usize>);

impl Best {
    /// The window takes in a candidate, counted on past the end of the circle.
    fn join(&mut self, at: usize, ranks: &[u32]) {
        while self.0.back().is_some_and(|last| ranks[last % ranks.len()] >= ranks[at % ranks.len()]) {
            self.0.pop_back();
        }
        self.0.push_back(at);
    }

    /// The window leaves its first candidate behind.
    fn leave(&mut self, at: usize) {
        if self.0.front() == Some(&at) {
            self.0.pop_front();
        }
    }

    /// The best rank in the window.
    fn rank(&self, ranks: &[u32]) -> u32 {
        self.0.front().map_or(u32::MAX, |at| ranks[at % ranks.len()])
    }
}

/// Candidates by rank.
struct Alike {
    count: usize,
    /// Positions, by rank and then ascending.
    sorted: Vec<usize>,
    /// Where each rank begins in `sorted`, and where the last ends.
    begins: Vec<usize>,
}

impl Alike {
    fn new(ranks: &[u32]) -> Self {
        let highest = ranks.iter().max().map_or(0, |rank| *rank as usize + 1);
        let mut begins = vec![0; highest + 1];
        for rank in ranks {
            begins[*rank as usize + 1] += 1;
        }
        for rank in 0..highest {
            begins[rank + 1] += begins[rank];
        }
        let mut sorted: Vec<usize> = (0..ranks.len()).collect();
        sorted.sort_by_key(|at| ranks[*at]);
        Alike { count: ranks.len(), sorted, begins }
    }

    /// The candidates of a rank within a window of the circle.
    fn within(&self, rank: u32, first: usize, length: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let all = &self.sorted[self.begins[rank as usize]..self.begins[rank as usize + 1]];
        let range = |from: usize, to: usize| {
            let begin = all.partition_point(|at| *at < from);
            all[begin..].iter().copied().take_while(move |at| *at < to)
        };
        range(first, self.count)
            .take_while(move |at| *at < first + length)
            .chain(range(0, (first + length).saturating_sub(self.count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same in every run.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % limit
        }
    }

    /// A field's parts: potential, places, ranks, violating, limit.
    fn drawn(draw: &mut Draw) -> (usize, Vec<usize>, Vec<u32>, Vec<bool>, usize) {
        let potential = 1 + draw.below(120);
        let keep = 1 + draw.below(4);
        let mut places: Vec<usize> = (0..potential).filter(|_| draw.below(4) < keep).collect();
        if places.is_empty() {
            places.push(draw.below(potential));
        }
        let kinds = 1 + draw.below(places.len());
        let harmful = draw.below(4);
        let violating: Vec<bool> = places.iter().map(|_| draw.below(3) < harmful).collect();
        let keys: Vec<(bool, usize)> = violating.iter().map(|violating| (*violating, draw.below(kinds))).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let ranks = keys.iter().map(|key| u32::try_from(sorted.binary_search(key).unwrap()).unwrap()).collect();
        let limit = 1 + draw.below(places.len());
        (potential, places, ranks, violating, limit)
    }

    /// Every window looked at by itself.
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn shares_one_by_one(field: &Field<'_>) -> Vec<f64> {
        let count = field.candidates();
        let mut shares = vec![0.0; count];
        for first in 0..count {
            let before = field.places[(first + count - 1) % count];
            let gap = (field.places[first] + field.potential - before) % field.potential;
            let share = if gap == 0 { field.potential } else { gap } as f64 / field.potential as f64;
            let window = (0..field.limit).map(|step| (first + step) % count);
            let harmless = window.clone().any(|at| !field.violating[at]);
            let past = (field.limit..count).map(|step| (first + step) % count).find(|at| !field.violating[*at]);
            match past {
                Some(at) if !harmless => shares[at] += share,
                Some(_) | None => field.add_share(&mut shares, window, share),
            }
        }
        shares
    }

    /// Every chunk read to its end.
    fn is_reached_all_read(field: &Field<'_>, wanted: usize, start: usize) -> bool {
        let size = field.chunk();
        let visit = |at: usize| (field.places[at] + field.potential - start) % field.potential;
        let own = visit(wanted) / size;
        let chunks = field.potential.div_ceil(size);
        let mut barrier = vec![usize::MAX; chunks];
        for at in (0..field.candidates()).filter(|at| field.ranks[*at] < field.ranks[wanted]) {
            barrier[visit(at) / size] = barrier[visit(at) / size].min(visit(at));
        }
        if barrier[own] < visit(wanted) {
            return false;
        }
        let mut open = vec![0usize; chunks];
        let mut before_own = 0;
        for place in (0..field.candidates()).map(visit).filter(|place| *place < barrier[*place / size]) {
            open[place / size] += 1;
            before_own += usize::from(place / size == own && place < visit(wanted));
        }
        let held = |chunk: usize| barrier[chunk] != usize::MAX;
        let held_before = (0..own).filter(|chunk| held(*chunk)).count();
        if held_before >= WORKERS {
            return false;
        }
        let mut done: Vec<usize> = (0..own).filter(|chunk| !held(*chunk)).map(|chunk| open[chunk]).collect();
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
        least < field.limit && most >= field.limit
    }

    #[test]
    fn shares_are_those_of_every_window_by_itself() {
        let mut draw = Draw(1);
        let mut cut = 0;
        for _ in 0..3_000 {
            let (potential, places, ranks, violating, limit) = drawn(&mut draw);
            let field =
                Field { potential, places: &places, ranks: &ranks, violating: &violating, limit, order: Order::Circle };
            if field.is_cut() {
                cut += 1;
                assert_eq!(field.circle_shares(), shares_one_by_one(&field), "{field:?}");
            }
        }
        assert!(cut > 1_000, "only {cut} fields were cut");
    }

    #[test]
    fn a_candidate_is_reached_where_every_chunk_read_says_so() {
        let mut draw = Draw(2);
        let (mut yes, mut no) = (0, 0);
        for _ in 0..400 {
            let (potential, places, ranks, violating, limit) = drawn(&mut draw);
            let field =
                Field { potential, places: &places, ranks: &ranks, violating: &violating, limit, order: Order::Circle };
            let standing = field.standing_before();
            for wanted in 0..field.candidates() {
                for start in 0..potential {
                    let reached = field.is_reached(wanted, start, &standing);
                    assert_eq!(reached, is_reached_all_read(&field, wanted, start), "{wanted} from {start}: {field:?}");
                    yes += usize::from(reached);
                    no += usize::from(!reached);
                }
            }
        }
        assert!(yes > 10_000 && no > 10_000, "{yes} reached, {no} not");
    }
}
