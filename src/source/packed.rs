//! Long lists in compressed files. Their text is never at hand as a whole: it is unfolded and read block by block, and
//! once more where somebody asks for a place in it.

use super::archive::{self, Flaw, Limits};
use super::files::{self, AROUND, Bytes, FAR, Surroundings};
use super::meter::Meter;
use super::split::NotItems;
use super::stream::{self, Block, Frame};
use crate::problem::Problem;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A long list in a compressed file.
#[derive(Debug)]
pub struct Packed {
    /// The compressed file.
    path: String,
    bytes: Bytes,
    limits: Limits,
    /// The number of the text among those that the file unfolds to.
    text: u64,
    /// All of it, if it is no list after all.
    whole: OnceLock<Vec<u8>>,
    frame: OnceLock<Frame>,
    /// The texts of those items that are looked at again, by offset.
    kept: OnceLock<BTreeMap<u64, Vec<u8>>>,
    places: Mutex<BTreeMap<u64, Place>>,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Counted from 1.
    pub line: u64,
    /// In bytes, counted from 1.
    pub column: u64,
    /// What stands there; `None` behind the text's end.
    pub(super) around: Option<Surroundings>,
}

impl Packed {
    pub(super) fn new(path: String, bytes: Bytes, limits: Limits, text: u64) -> Self {
        let (whole, frame, kept, places) = Default::default();
        Packed { path, bytes, limits, text, whole, frame, kept, places }
    }

    /// The compressed file.
    pub(super) fn file(&self) -> &Bytes {
        &self.bytes
    }

    /// Size of the compressed file.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The text, if it was unfolded as a whole.
    pub fn whole(&self) -> Option<&[u8]> {
        self.whole.get().map(Vec::as_slice)
    }

    /// Unfolds the text as a whole. Gives what is wrong with the file, if that was not known.
    pub fn unfold(&self, meter: &Meter) -> Vec<Problem> {
        let mut bytes = Vec::new();
        let flaws = self.visit(meter, &mut |reader| reader.read_to_end(&mut bytes).map(drop));
        match self.whole.set(bytes) {
            Ok(()) => self.problems(flaws),
            Err(_again) => Vec::new(),
        }
    }

    /// Unfolds the text in blocks of about `size` bytes. `take` is shown what stands before the items, and each block,
    /// until it wants no more.
    pub fn blocks(
        &self,
        size: usize,
        meter: &Meter,
        take: &mut dyn FnMut(&[u8], Block) -> bool,
    ) -> Result<Vec<Problem>, NotItems> {
        let mut frame = Err(NotItems);
        let flaws = self.visit(meter, &mut |reader| match stream::cut(reader, size, take) {
            Ok((cut, end)) => {
                frame = Ok(cut);
                end
            }
            Err(NotItems) => Ok(()),
        });
        let _same_as_before = self.frame.set(frame?);
        Ok(self.problems(flaws))
    }

    fn problems(&self, flaws: Vec<Flaw>) -> Vec<Problem> {
        flaws.into_iter().map(|flaw| files::flaw_problem(flaw, self.limits)).collect()
    }

    /// What stands around the items, once they were read.
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.get()
    }

    /// Keeps the texts of some items.
    pub fn keep(&self, texts: BTreeMap<u64, Vec<u8>>) {
        let _same_as_before = self.kept.set(texts);
    }

    /// The text of an item that was kept.
    pub fn kept(&self, offset: u64) -> Option<&[u8]> {
        self.kept.get()?.get(&offset).map(Vec::as_slice)
    }

    /// Finds places in the text, which is unfolded for that as far as needed.
    pub fn find(&self, offsets: &[u64]) {
        let mut found = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted: Vec<u64> = offsets.iter().copied().filter(|it| !found.contains_key(it)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return;
        }
        self.visit(&Meter::default(), &mut |reader| Finder::default().find(reader, &wanted, &mut found));
    }

    /// A place that was found.
    pub fn place(&self, offset: u64) -> Option<Place> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).get(&offset).cloned()
    }

    fn visit(&self, meter: &Meter, visitor: &mut archive::Visitor<'_>) -> Vec<Flaw> {
        let share = meter.share(self.size());
        archive::revisit(&self.path, &self.bytes, self.limits, (self.text, visitor), &share)
    }
}

/// Reads a text and looks for places in it.
#[derive(Default)]
struct Finder {
    buffer: Vec<u8>,
    /// Offset of the buffer's first byte.
    base: u64,
    /// Newlines before the buffer.
    lines: u64,
    /// Offset of the line in which the buffer begins.
    line_begin: u64,
}

impl Finder {
    fn find(mut self, reader: &mut dyn Read, wanted: &[u64], found: &mut BTreeMap<u64, Place>) -> io::Result<()> {
        const PIECE: u64 = 1 << 20;
        let mut wanted = wanted.iter().copied().peekable();
        while wanted.peek().is_some() {
            let count = reader.take(PIECE).read_to_end(&mut self.buffer);
            // Where the text breaks off, it ends.
            let ends = !matches!(count, Ok(count) if count > 0);
            let end = self.base + self.buffer.len() as u64;
            while let Some(offset) = wanted.next_if(|it| ends || it + AROUND as u64 <= end) {
                found.insert(offset, self.place(offset, end));
            }
            if ends {
                break;
            }
            self.pass(self.buffer.len().saturating_sub(2 * AROUND));
        }
        Ok(())
    }

    /// The place of an offset that the buffer holds, or of the text's end.
    fn place(&mut self, offset: u64, end: u64) -> Place {
        let at = usize::try_from(offset.min(end) - self.base).unwrap_or(usize::MAX).min(self.buffer.len());
        let (before, after) = self.buffer.split_at(at);
        let line = 1 + self.lines + memchr::memchr_iter(b'\n', before).count() as u64;
        let begin = memchr::memrchr(b'\n', before).map_or(self.line_begin, |it| self.base + it as u64 + 1);
        let column = self.base + at as u64 - begin;
        let line_end = memchr::memchr(b'\n', after).unwrap_or(after.len());
        let near = at.saturating_sub(AROUND);
        let around = Surroundings {
            before: before[near.max(usize::try_from(begin.saturating_sub(self.base)).unwrap_or(near))..].to_vec(),
            after: after[..line_end.min(AROUND)].to_vec(),
            line_begin: Some(column).filter(|it| line > 1 && *it < FAR as u64),
        };
        Place { line, column: column + 1, around: (offset < end).then_some(around) }
    }

    /// Forgets the first bytes of the buffer.
    fn pass(&mut self, count: usize) {
        for at in memchr::memchr_iter(b'\n', &self.buffer[..count]) {
            self.lines += 1;
            self.line_begin = self.base + at as u64 + 1;
        }
        self.buffer.drain(..count);
        self.base += count as u64;
    }
}
