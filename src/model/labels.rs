//! Label sets, stored once each.

use super::id::{LabelSetId, Symbol};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A label map: pairs sorted by key symbol. Invariant: keys are unique.
pub type LabelPairs = [(Symbol, Symbol)];

/// All label sets of a cluster. Id 0 is always the empty set.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSets {
    sets: Vec<Arc<LabelPairs>>,
    ids: FxHashMap<Arc<LabelPairs>, LabelSetId>,
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
        if let Some(&known) = self.ids.get(pairs.as_slice()) {
            return known;
        }
        let id = LabelSetId::at(self.sets.len());
        let set: Arc<LabelPairs> = Arc::from(pairs);
        self.sets.push(Arc::clone(&set));
        self.ids.insert(set, id);
        id
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
