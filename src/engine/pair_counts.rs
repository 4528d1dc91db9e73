//! Counts by pair of topology key and value, as InterPodAffinity keeps them, with what one dry run changes.

use crate::engine::affinity_terms::Selected;
use crate::model::id::Symbol;
use crate::model::labels::{self, LabelPairs};
use rustc_hash::FxHashMap;

/// A topology key with a node's value of it.
pub(crate) type Pair = (Symbol, Symbol);

/// The pair of a node with these labels; `None` where it lacks the key.
pub(crate) fn pair_of(on_node: &LabelPairs, key: Symbol) -> Option<Pair> {
    labels::value(on_node, key).map(|value| (key, value))
}

/// Counts by pair; those of terms whose namespaces are not known apart. Invariant: no count is 0, as upstream has it.
#[derive(Debug, Default)]
pub(crate) struct PairCounts {
    certain: FxHashMap<Pair, i64>,
    unknown: FxHashMap<Pair, i64>,
    /// Keys of all pairs.
    keys: Vec<Symbol>,
}

impl PairCounts {
    /// Counts one more.
    pub(crate) fn add(&mut self, pair: Pair, selected: Selected) {
        let side = match selected {
            Selected::No => return,
            Selected::Unknown => &mut self.unknown,
            Selected::Yes => &mut self.certain,
        };
        *side.entry(pair).or_insert(0) += 1;
        if !self.keys.contains(&pair.0) {
            self.keys.push(pair.0);
        }
    }

    /// Whether a term of namespaces not known was counted.
    pub(crate) fn has_unknown(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.unknown.is_empty()
    }
}

/// What hooks changed, as (pair, selected, by how much).
#[derive(Clone, Debug, Default)]
pub(crate) struct Deltas(Vec<(Pair, Selected, i64)>);

impl Deltas {
    /// Counts so many more, or fewer.
    pub(crate) fn add(&mut self, pair: Pair, selected: Selected, by: i64) {
        if selected == Selected::No {
            return;
        }
        match self.0.iter_mut().find(|it| it.0 == pair && it.1 == selected) {
            Some(known) => known.2 += by,
            None => self.0.push((pair, selected, by)),
        }
    }

    fn of(&self, pair: Pair, selected: Selected) -> i64 {
        self.0.iter().find(|it| it.0 == pair && it.1 == selected).map_or(0, |it| it.2)
    }
}

/// Counts and what hooks changed in them.
#[derive(Clone, Copy)]
pub(crate) struct Now<'s> {
    pub(crate) base: &'s PairCounts,
    pub(crate) deltas: &'s Deltas,
}

impl Now<'_> {
    /// The count of a pair.
    pub(crate) fn certain(&self, pair: Pair) -> i64 {
        self.base.certain.get(&pair).copied().unwrap_or(0) + self.deltas.of(pair, Selected::Yes)
    }

    /// The count of a pair by terms whose namespaces are not known.
    pub(crate) fn unknown(&self, pair: Pair) -> i64 {
        self.base.unknown.get(&pair).copied().unwrap_or(0) + self.deltas.of(pair, Selected::Unknown)
    }

    /// Topology keys of all pairs; some may come twice.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Symbol> + Clone {
        self.base.keys.iter().copied().chain(self.deltas.0.iter().map(|(pair, ..)| pair.0))
    }

    /// How many pairs have a count other than 0 on one side.
    pub(crate) fn pairs(&self, side: Selected) -> usize {
        let base = if side == Selected::Yes { &self.base.certain } else { &self.base.unknown };
        let mut pairs = base.len();
        for &(pair, _, by) in self.deltas.0.iter().filter(|it| it.1 == side) {
            let before = base.get(&pair).copied().unwrap_or(0);
            pairs = pairs + usize::from(before + by != 0) - usize::from(before != 0);
        }
        pairs
    }
}
