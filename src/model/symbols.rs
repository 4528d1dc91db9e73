//! The table of strings.

use super::id::Symbol;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Every string of a cluster once. Symbols are numbered in the order of their first use.
///
/// A cluster of 150,000 pods has half a million strings, most of them used once: they lie in one buffer, and the index
/// over them holds a few bytes each.
#[derive(Clone, Default)]
pub struct Symbols {
    /// All texts, one behind the other.
    buffer: String,
    /// Where each text ends.
    ends: Vec<usize>,
    /// A hash table without deletion: half of the hash above, the symbol and one below; 0 is a free slot. Invariant: its
    /// length is a power of two above the number of texts.
    slots: Vec<u64>,
}

impl Symbols {
    /// The symbol of a text, new or known.
    pub fn intern(&mut self, text: &str) -> Symbol {
        self.reserve(1);
        match self.find(text) {
            Ok(known) => known,
            Err(slot) => {
                let symbol = Symbol::at(self.ends.len());
                self.buffer.push_str(text);
                self.ends.push(self.buffer.len());
                self.slots[slot] = entry(hash(text), symbol);
                symbol
            }
        }
    }

    /// Makes room for so many more texts.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        let slots = (self.ends.len() + more) * 2;
        if slots > self.slots.len() {
            self.grow(slots);
        }
    }

    /// Makes room for all texts that may come, at most so many of so many bytes: a buffer that grows is copied.
    pub(crate) fn reserve_texts(&mut self, texts: usize, bytes: usize) {
        self.ends.reserve_exact(texts);
        self.buffer.reserve_exact(bytes);
    }

    /// Gives back room that only new texts need. The table can be read, and finds no text until it gets another one.
    pub(crate) fn settle(&mut self) {
        // Copied, since an allocator does not give back a part of what it gave.
        *self = Symbols { buffer: self.buffer.as_str().to_owned(), ends: self.ends.clone(), slots: Vec::new() };
    }

    /// The symbol of a text, if some object of the cluster uses it.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        if self.slots.is_empty() { None } else { self.find(text).ok() }
    }

    /// The text of a symbol of this table.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> &str {
        let at = symbol.index();
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.buffer[begin..self.ends[at]]
    }

    /// The table as it lies in memory: all texts, where each ends, and the slots of the hash table.
    pub fn parts(&self) -> (&str, &[usize], &[u64]) {
        (&self.buffer, &self.ends, &self.slots)
    }

    /// A table from its parts, which have to come from [`Symbols::parts`] of this program on this kind of machine; `None`
    /// of parts that are none. Slots are only held to be free of what a search would trip over.
    pub fn from_parts(buffer: String, ends: Vec<usize>, slots: Vec<u64>) -> Option<Self> {
        let mut begin = 0;
        for &end in &ends {
            if end < begin || !buffer.is_char_boundary(end) {
                return None;
            }
            begin = end;
        }
        let texts = ends.len() as u64;
        let mut used = 0;
        for slot in slots.iter().filter(|slot| **slot != 0) {
            used += 1;
            if !(1..=texts).contains(&(slot & u64::from(u32::MAX))) {
                return None;
            }
        }
        // A search ends at a free slot.
        let has_room = slots.len().is_power_of_two() && slots.len() > ends.len();
        let sound = begin == buffer.len() && used == texts && (has_room || slots.is_empty());
        sound.then_some(Symbols { buffer, ends, slots })
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How long all texts are together.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The symbol of a text, or the slot where it would stand.
    fn find(&self, text: &str) -> Result<Symbol, usize> {
        let hash = hash(text);
        let mask = self.slots.len() - 1;
        let mut slot = first_slot(hash, mask);
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return Err(slot);
            }
            let symbol = symbol_of(found);
            if found >> 32 == hash >> 32 && self.text(symbol) == text {
                return Ok(symbol);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self, slots: usize) {
        let mask = slots.next_power_of_two().max(64) - 1;
        let mut slots = vec![0; mask + 1];
        for at in 0..self.ends.len() {
            let symbol = Symbol::at(at);
            let hash = hash(self.text(symbol));
            let mut slot = first_slot(hash, mask);
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = entry(hash, symbol);
        }
        self.slots = slots;
    }
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

/// The slot at which a search begins: the lower bits, since the upper ones tell entries apart.
#[expect(clippy::cast_possible_truncation, reason = "only the lower bits are wanted")]
fn first_slot(hash: u64, mask: usize) -> usize {
    hash as usize & mask
}

fn entry(hash: u64, symbol: Symbol) -> u64 {
    (hash >> 32 << 32) | u64::from(symbol.number())
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what was put there")]
fn symbol_of(entry: u64) -> Symbol {
    Symbol::of_number(entry as u32).expect("the slot is not free")
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        self.buffer == other.buffer && self.ends == other.ends
    }
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries((0..self.len()).map(|at| self.text(Symbol::at(at)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_in_the_order_of_their_first_use() {
        let mut symbols = Symbols::default();
        assert_eq!(symbols.get("a"), None);
        let texts: Vec<String> = (0..5000).map(|number| format!("text-{number}")).collect();
        for _ in 0..2 {
            for (at, text) in texts.iter().enumerate() {
                assert_eq!(symbols.intern(text), Symbol::at(at));
            }
        }
        assert_eq!(symbols.len(), 5000);
        assert_eq!(symbols.text(Symbol::at(4321)), "text-4321");
        assert_eq!(symbols.get("text-5000"), None);
        let empty = symbols.intern("");
        assert_eq!((symbols.text(empty), symbols.get("")), ("", Some(empty)));
    }
}
