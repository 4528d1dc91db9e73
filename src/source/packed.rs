//! Long texts of objects in compressed files, archives and pipes. They are never at hand as a whole: they are unfolded
//! and read block by block, and once more where somebody asks for a place in them. Texts of one archive are unfolded
//! together.

use super::archive::{self, Limits, Text};
use super::cutter;
use super::files::{self, AROUND, Bytes, FAR, Opened, Surroundings};
use super::meter::Meter;
use super::pipe::{Store, each_piece};
use super::split::NotItems;
use super::stream::{Block, Frame, KeptList};
use crate::problem::Problem;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What long texts are unfolded from.
#[derive(Debug)]
pub(super) struct Pack {
    /// The file.
    pub(super) opened: Opened,
    pub(super) store: Store,
    pub(super) limits: Limits,
}

/// A long text of objects in a compressed file, an archive or a pipe.
#[derive(Debug)]
pub struct Packed {
    pack: Arc<Pack>,
    text: Text,
    /// All of it, if it could not be read in blocks.
    whole: OnceLock<Vec<u8>>,
    /// What stands around the blocks.
    frames: OnceLock<Vec<Frame>>,
    /// The lists that stand in blocks, in the order of the text.
    lists: OnceLock<Vec<KeptList>>,
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
    pub(super) fn new(pack: Arc<Pack>, text: Text) -> Self {
        let (whole, frames, lists, kept, places) = Default::default();
        Packed { pack, text, whole, frames, lists, kept, places }
    }

    /// The file around it, if that is mapped.
    pub(super) fn mapped(&self) -> Option<Opened> {
        matches!(self.pack.store, Store::Bytes(Bytes::Mapped(_))).then(|| self.pack.opened.clone())
    }

    /// Size of the file around it.
    pub fn size(&self) -> u64 {
        self.pack.store.size()
    }

    /// Whether both are unfolded from the same file.
    pub fn is_beside(&self, other: &Packed) -> bool {
        Arc::ptr_eq(&self.pack, &other.pack)
    }

    /// The text, if it was unfolded as a whole.
    pub fn whole(&self) -> Option<&[u8]> {
        self.whole.get().map(Vec::as_slice)
    }

    /// SHA-256 of what it is on disk: the compressed file, or the member of an archive.
    pub(super) fn digest(&self) -> Option<String> {
        if self.text.length.is_none() {
            return Some(files::digest_of(|take| self.pack.store.show(take)));
        }
        let mut digest = None;
        visit(&[self], &Meter::default(), &mut |_, reader| {
            digest = Some(files::digest_of(|take| each_piece(reader, take)));
            Ok(())
        });
        digest
    }

    /// What stands around the blocks, once they were read.
    pub fn frames(&self) -> Option<&[Frame]> {
        self.frames.get().map(Vec::as_slice)
    }

    /// Keeps the lists that stand in blocks.
    pub fn keep_lists(&self, lists: Vec<KeptList>) -> &[KeptList] {
        self.lists.get_or_init(|| lists)
    }

    /// Keeps the texts of some items.
    pub fn keep(&self, texts: BTreeMap<u64, Vec<u8>>) {
        let _same_as_before = self.kept.set(texts);
    }

    /// The text of an item that was kept.
    pub fn kept(&self, offset: u64) -> Option<&[u8]> {
        self.kept.get()?.get(&offset).map(Vec::as_slice)
    }

    /// A place that was found.
    pub fn place(&self, offset: u64) -> Option<Place> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).get(&offset).cloned()
    }
}

/// Unfolds texts of one file as a whole. Gives what is wrong with the file, if that was not known.
pub fn unfold(texts: &[&Packed], meter: &Meter) -> Vec<Problem> {
    let mut wholes: Vec<Vec<u8>> = vec![Vec::new(); texts.len()];
    let problems = visit(texts, meter, &mut |at, reader| reader.read_to_end(&mut wholes[at]).map(drop));
    let mut is_new = true;
    for (text, whole) in texts.iter().zip(wholes) {
        is_new &= text.whole.set(whole).is_ok();
    }
    if is_new { problems } else { Vec::new() }
}

/// Unfolds texts of one file, each in blocks of about `size` bytes, which `take` is shown until it wants no more of that
/// text. Gives which of them could be cut so, and what is wrong with the file.
pub fn blocks(
    texts: &[&Packed],
    size: usize,
    meter: &Meter,
    take: &mut dyn FnMut(usize, Block) -> bool,
) -> (Vec<Result<(), NotItems>>, Vec<Problem>) {
    let mut found = vec![Err(NotItems); texts.len()];
    let problems = visit(texts, meter, &mut |at, reader| {
        let mut take = |block: Block| take(at, block);
        let Ok((frames, end)) = cutter::cut(reader, size, &mut take) else { return Ok(()) };
        // Whoever read the text before in blocks of another size holds on to what stands around those.
        if *texts[at].frames.get_or_init(|| frames.clone()) == frames {
            found[at] = Ok(());
        }
        end
    });
    (found, problems)
}

/// Finds places in texts of one file, which are unfolded for that as far as needed.
pub fn find(texts: &[(&Packed, Vec<u64>)]) {
    let unknown = |(text, offsets): &(&Packed, Vec<u64>)| {
        let found = text.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted: Vec<u64> = offsets.iter().copied().filter(|it| !found.contains_key(it)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    };
    let wanted: Vec<(&Packed, Vec<u64>)> = texts.iter().map(|it| (it.0, unknown(it))).collect();
    let (texts, wanted): (Vec<&Packed>, Vec<Vec<u64>>) = wanted.into_iter().filter(|it| !it.1.is_empty()).unzip();
    visit(&texts, &Meter::default(), &mut |at, reader| {
        let mut found = texts[at].places.lock().unwrap_or_else(PoisonError::into_inner);
        Finder::default().find(reader, &wanted[at], &mut found)
    });
}

/// Shows texts of one file, each with its position, in the order in which they are unfolded. Gives what is wrong with the
/// file, if that was not known.
fn visit(
    texts: &[&Packed],
    meter: &Meter,
    visitor: &mut dyn FnMut(usize, &mut dyn Read) -> io::Result<()>,
) -> Vec<Problem> {
    let Some(first) = texts.first() else { return Vec::new() };
    let Pack { opened, store, limits } = &*first.pack;
    let mut order: Vec<(Text, usize)> = texts.iter().enumerate().map(|(at, it)| (it.text, at)).collect();
    order.sort_unstable();
    let numbers: Vec<Text> = order.iter().map(|it| it.0).collect();
    let mut show = |number: u64, reader: &mut dyn Read| match order.iter().find(|it| it.0.number == number) {
        Some(&(_, at)) => visitor(at, reader),
        None => Ok(()),
    };
    let share = meter.share(first.size());
    let flaws = archive::revisit((&opened.path, store), *limits, &numbers, &mut show, &share);
    // An archive was gone through to its end before.
    let is_known = first.text.length.is_some();
    let flaws = flaws.into_iter().filter(|_| !is_known);
    flaws.map(|flaw| files::flaw_problem(flaw, *limits)).collect()
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
