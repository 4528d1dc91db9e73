//! The table of strings.

use super::id::Symbol;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Every string of a cluster once. Symbols are numbered in the order of their first use.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    texts: Vec<Arc<str>>,
    ids: FxHashMap<Arc<str>, Symbol>,
}

impl Symbols {
    /// The symbol of a text, new or known.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&known) = self.ids.get(text) {
            return known;
        }
        let symbol = Symbol::at(self.texts.len());
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, symbol);
        symbol
    }

    /// The symbol of a text, if some object of the cluster uses it.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.ids.get(text).copied()
    }

    /// The text of a symbol of this table.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.index()]
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
