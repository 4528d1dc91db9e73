//! Label sets, stored once each.

use super::id::{LabelSetId, Symbol};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A label map: pairs sorted by key symbol. Invariant: keys are unique.
pub type LabelPairs = [(Symbol, Symbol)];

/// All label sets of a cluster. Id 0 is always the empty set.
#[derive(Clone, Debug)]
pub struct LabelSets {
    sets: Vec<Arc<LabelPairs>>,
    /// Empty until it is needed, or of every set.
    ids: FxHashMap<Arc<LabelPairs>, LabelSetId>,
}

impl PartialEq for LabelSets {
    fn eq(&self, other: &Self) -> bool {
        self.sets == other.sets
    }
}

impl Default for LabelSets {
    fn default() -> Self {
        let mut sets = LabelSets { sets: Vec::new(), ids: FxHashMap::default() };
        sets.intern(Vec::new());
        sets
    }
}

impl LabelSets {
    /// The set without labels.
    pub const EMPTY: LabelSetId = LabelSetId(0);

    /// The id of a label map given in any order; of a repeated key the last value counts, as in JSON.
    pub fn intern(&mut self, mut pairs: Vec<(Symbol, Symbol)>) -> LabelSetId {
        pairs.reverse();
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup_by_key(|pair| pair.0);
        if self.ids.len() < self.sets.len() {
            let known = self.sets.iter().enumerate().map(|(at, set)| (Arc::clone(set), LabelSetId::at(at)));
            self.ids = known.collect();
        }
        if let Some(&known) = self.ids.get(pairs.as_slice()) {
            return known;
        }
        let id = LabelSetId::at(self.sets.len());
        let set: Arc<LabelPairs> = Arc::from(pairs);
        self.sets.push(Arc::clone(&set));
        self.ids.insert(set, id);
        id
    }

    /// Gives back what only new sets need.
    pub(crate) fn settle(&mut self) {
        self.ids = FxHashMap::default();
    }

    /// All sets, by id; `None` unless each is one, sorted by key symbol, and the first is the one without labels.
    pub fn from_sets(sets: Vec<Arc<LabelPairs>>) -> Option<Self> {
        let is_sorted = |set: &Arc<LabelPairs>| set.is_sorted_by(|a, b| a.0 < b.0);
        let sound = sets.first().is_some_and(|it| it.is_empty()) && sets.iter().all(is_sorted);
        sound.then(|| LabelSets { sets, ids: FxHashMap::default() })
    }

    /// The pairs of a set, sorted by key symbol.
    #[inline]
    pub fn pairs(&self, id: LabelSetId) -> &LabelPairs {
        &self.sets[id.index()]
    }

    /// The value of a key in a set.
    #[inline]
    pub fn value(&self, id: LabelSetId, key: Symbol) -> Option<Symbol> {
        value(self.pairs(id), key)
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Never true: the empty set is always there.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = LabelSetId> + use<> {
        (0..self.sets.len()).map(LabelSetId::at)
    }
}

/// The value of a key among sorted pairs.
#[inline]
pub fn value(pairs: &LabelPairs, key: Symbol) -> Option<Symbol> {
    if pairs.len() <= 8 {
        return pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1);
    }
    pairs.binary_search_by_key(&key, |pair| pair.0).ok().map(|at| pairs[at].1)
}
