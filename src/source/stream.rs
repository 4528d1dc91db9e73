//! Long lists that come piece by piece: a text is cut into blocks of whole items, and what stands around them is kept.
//!
//! A block's items are what stands between marks, as in [`Bulk`](super::split::Bulk): it holds if every piece is one
//! complete object, which is for whoever reads them to find out. Then the text is what its [`Frame`] is, with the items
//! in the place of its first one.

use super::split::{self, List, Mark, NotItems, Room, Scanner, Split, Stop};
use crate::model::id::FileId;
use std::io::{self, Read};
use std::ops::Range;

/// Where a list's items begin and what stands between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Offset of the first item.
    begin: usize,
    /// What stands around the beginning of every other item, and how much of it stands before the item.
    mark: (Vec<u8>, usize),
}

/// Where a list's items begin at the latest.
const FURTHEST: usize = 1 << 16;

/// Finds the items of a text that begins with a list; at least two of them begin in `head`.
pub(crate) fn opening(head: &[u8]) -> Option<Opening> {
    let room = Room::unbounded();
    let scanner = Scanner::over(head, &room);
    let start = scanner.next_start(0)?;
    let list = if head[start] == b'[' { start } else { items_of(&scanner, head, start)? };
    let begin = scanner.skip_space(list + 1);
    if begin > FURTHEST {
        return None;
    }
    let (mark, lead): Mark<'_> = scanner.mark(list, begin).ok()??;
    let goes_on = head.get(begin) == Some(&b'{') && memchr::memmem::find(&head[begin..], mark).is_some();
    goes_on.then(|| Opening { begin, mark: (mark.to_vec(), lead) })
}

/// Where the array under an object's key `items` begins.
fn items_of(scanner: &Scanner<'_, '_>, head: &[u8], start: usize) -> Option<usize> {
    let mut at = scanner.skip_space(start + 1);
    loop {
        let key_end = scanner.skip_string(at).ok()?;
        let colon = scanner.skip_space(key_end);
        let value = scanner.skip_space((head.get(colon) == Some(&b':')).then_some(colon + 1)?);
        if &head[at..key_end] == br#""items""# {
            return (head.get(value) == Some(&b'[')).then_some(value);
        }
        let end: Result<usize, Stop> = scanner.skip_value(value);
        let comma = scanner.skip_space(end.ok()?);
        at = scanner.skip_space((head.get(comma) == Some(&b',')).then_some(comma + 1)?);
    }
}

/// Items of a list with what stands between them.
#[derive(Debug)]
pub struct Block {
    /// Which block of the text it is.
    pub number: usize,
    /// Offset of its first item in the text.
    pub offset: u64,
    /// The items, from the first byte of the first to the last byte of the last.
    pub text: Vec<u8>,
    mark: (Vec<u8>, usize),
}

impl Block {
    /// The items, as ranges of the block.
    pub fn items(&self) -> Result<Vec<Range<usize>>, NotItems> {
        let (mark, lead) = &self.mark;
        let begins = std::iter::once(0).chain(memchr::memmem::find_iter(&self.text, mark).map(|at| at + lead));
        let mut items: Vec<Range<usize>> = begins.map(|begin| begin..self.text.len()).collect();
        for at in 1..items.len() {
            let next = items[at].start;
            let item = &mut items[at - 1];
            item.end = item.start + before_comma(&self.text[item.start..next]).ok_or(NotItems)?.len();
        }
        Ok(items)
    }
}

/// An item without the comma behind it.
fn before_comma(piece: &[u8]) -> Option<&[u8]> {
    split::trim_end(piece).strip_suffix(b",").map(split::trim_end)
}

/// What stands around the items of a text, and the last item.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The text, with an empty object in the place of all items but the last.
    text: Vec<u8>,
    /// Where the empty object begins, as the first item does in the text.
    begin: usize,
    /// How much the text is longer.
    shift: u64,
}

/// Stands for the items that are not in a frame.
const PLACEHOLDER: &[u8] = b"{},";

impl Frame {
    /// What stands before the items.
    pub fn head(&self) -> &[u8] {
        self.text.get(..self.begin).unwrap_or_default()
    }

    /// What the whole text holds, if that is one list and nothing else; `streamed` items of it stand in blocks. The last
    /// item is among its documents.
    pub fn split(&self, file: FileId, streamed: u64) -> Result<Split<'_>, NotItems> {
        let mut split = split::split(file, &self.text);
        let behind = self.begin + PLACEHOLDER.len();
        let place = |offset: u64| if offset < behind as u64 { offset } else { offset + self.shift };
        let [list] = split.lists.as_mut_slice() else { return Err(NotItems) };
        list.objects = (list.objects + streamed).saturating_sub(1);
        let begins: Vec<u64> = split.documents.iter().map(|it| it.offset).collect();
        let expected = [self.begin as u64, behind as u64];
        let own = split.documents.iter().all(|it| it.list == Some(0));
        if !own || begins.is_empty() || !expected.starts_with(&begins) || !split.foreign.is_empty() {
            return Err(NotItems);
        }
        split.documents.remove(0);
        split.documents.iter_mut().for_each(|it| it.offset = place(it.offset));
        split.breaks.iter_mut().for_each(|it| it.offset = place(it.offset));
        split.streamed = streamed;
        Ok(split)
    }
}

/// The list as far as the text before its items tells of it.
pub fn list_at_first(head: &[u8]) -> Option<List<'_>> {
    // Of course it breaks off there.
    split::split(FileId(0), head).lists.first().map(|list| List { broken: false, ..*list })
}

/// A piece that is longer is no item.
const LONGEST: usize = 64 << 20;

/// How a text is cut.
struct Cutter<'r> {
    reader: &'r mut dyn Read,
    /// About how many bytes a block has.
    size: usize,
    buffer: Vec<u8>,
    /// Offset of the buffer's first byte in the text.
    offset: u64,
    /// Why the text ended.
    end: Option<io::Result<()>>,
}

impl Cutter<'_> {
    /// Reads more of the text.
    fn fill(&mut self, more: usize) {
        if self.end.is_some() {
            return;
        }
        self.buffer.reserve(more);
        match (&mut *self.reader).take(more as u64).read_to_end(&mut self.buffer) {
            Ok(count) if count < more => self.end = Some(Ok(())),
            Ok(_) => {}
            Err(error) => self.end = Some(Err(error)),
        }
    }

    /// Reads until it is known where the items begin.
    fn open(&mut self) -> Result<Opening, NotItems> {
        let mut more = self.size;
        loop {
            self.fill(more);
            if let Some(opening) = opening(&self.buffer) {
                return Ok(opening);
            }
            if self.end.is_some() || self.buffer.len() > LONGEST {
                return Err(NotItems);
            }
            more = self.buffer.len();
        }
    }

    /// The next block's items; nothing where only the last item and what follows are left.
    fn next(&mut self, (mark, lead): Mark<'_>) -> Result<Option<Vec<u8>>, NotItems> {
        let mut looked_at = 0_usize;
        loop {
            if self.buffer.len() >= self.size || self.end.is_some() {
                let from = looked_at.saturating_sub(mark.len());
                if let Some(at) = memchr::memmem::rfind(&self.buffer[from..], mark) {
                    return self.cut_off(from + at + lead).map(Some);
                }
                looked_at = self.buffer.len();
            }
            if self.end.is_some() {
                return Ok(None);
            }
            if self.buffer.len() > LONGEST {
                return Err(NotItems);
            }
            self.fill(self.size);
        }
    }

    /// Takes items off the buffer, up to where the next one begins.
    fn cut_off(&mut self, next: usize) -> Result<Vec<u8>, NotItems> {
        let mut rest = Vec::with_capacity(2 * self.size);
        rest.extend_from_slice(&self.buffer[next..]);
        let mut items = std::mem::replace(&mut self.buffer, rest);
        self.offset += next as u64;
        let length = before_comma(&items[..next]).ok_or(NotItems)?.len();
        items.truncate(length);
        Ok(items)
    }
}

/// Cuts a text into blocks of about `size` bytes; `begun` is shown what stands before the items, and `take` each block
/// until it wants no more. Gives what stands around them and why the text ended.
pub(super) fn cut(
    reader: &mut dyn Read,
    size: usize,
    take: &mut dyn FnMut(&[u8], Block) -> bool,
) -> Result<(Frame, io::Result<()>), NotItems> {
    let mut cutter = Cutter { reader, size: size.max(1), buffer: Vec::new(), offset: 0, end: None };
    let Opening { begin, mark } = cutter.open()?;
    let rest = cutter.buffer.split_off(begin);
    let head = std::mem::replace(&mut cutter.buffer, rest);
    cutter.offset = begin as u64;
    for number in 0.. {
        let offset = cutter.offset;
        let Some(text) = cutter.next((&mark.0, mark.1))? else { break };
        if !take(&head, Block { number, offset, text, mark: mark.clone() }) {
            return Err(NotItems);
        }
    }
    let shift = cutter.offset.checked_sub((begin + PLACEHOLDER.len()) as u64).ok_or(NotItems)?;
    let text = [&head, PLACEHOLDER, &cutter.buffer].concat();
    Ok((Frame { text, begin, shift }, cutter.end.unwrap_or(Ok(()))))
}
