//! Cuts texts into blocks as they come.

use super::split::{Mark, NotItems, Room, Scanner, Stop};
use super::stream::{Around, Beginning, Block, Frame, before_comma};
use std::io::{self, Read};
use std::sync::Arc;

/// Where a list's items begin at the latest.
const FURTHEST: usize = 1 << 16;
/// A piece that is longer is no item.
const LONGEST: usize = 64 << 20;

/// Cuts a text into blocks of about `size` bytes, which `take` is shown until it wants no more. Gives what stands around
/// them and why the text ended.
pub(super) fn cut(
    reader: &mut dyn Read,
    size: usize,
    take: &mut dyn FnMut(Block) -> bool,
) -> Result<(Vec<Frame>, io::Result<()>), NotItems> {
    let size = size.max(1);
    let (buffer, frames) = (Vec::new(), Vec::new());
    let mut cutter = Cutter { reader, size, buffer, offset: 0, number: 0, end: None, frames, take };
    cutter.begin()?;
    while cutter.value()? {}
    Ok((cutter.frames, cutter.end.unwrap_or(Ok(()))))
}

/// Whether a text that begins so may be cut: with a list of which at least two items begin in `head`, or with a value and
/// another one behind it.
pub(super) fn is_cut(head: &[u8]) -> bool {
    opening(head).is_some() || begins_values(head)
}

/// Where a list's items begin and what stands between them.
struct Opening {
    /// Offset of the first item.
    begin: usize,
    mark: (Vec<u8>, usize),
    is_array: bool,
}

/// Finds the items of a list; at least two of them begin in `head`.
fn opening(head: &[u8]) -> Option<Opening> {
    let room = Room::unbounded();
    let scanner = Scanner::over(head, &room);
    let start = scanner.next_start(0)?;
    let is_array = head[start] == b'[';
    let list = if is_array { start } else { items_of(&scanner, head, start)? };
    let begin = scanner.skip_space(list + 1);
    if begin > FURTHEST {
        return None;
    }
    let (mark, lead): Mark<'_> = scanner.mark(list, begin).ok()??;
    let goes_on = head.get(begin) == Some(&b'{') && memchr::memmem::find(&head[begin..], mark).is_some();
    goes_on.then(|| Opening { begin, mark: (mark.to_vec(), lead), is_array })
}

/// Where the array under an object's key `items` begins.
fn items_of(scanner: &Scanner<'_, '_>, head: &[u8], start: usize) -> Option<usize> {
    let mut at = scanner.skip_space(start + 1);
    loop {
        let (key_end, value) = key(scanner, head, at)?;
        if &head[at..key_end] == br#""items""# {
            return (head.get(value) == Some(&b'[')).then_some(value);
        }
        let end: Result<usize, Stop> = scanner.skip_value(value);
        let comma = scanner.skip_space(end.ok()?);
        at = scanner.skip_space((head.get(comma) == Some(&b',')).then_some(comma + 1)?);
    }
}

/// Where a key ends, and where its value begins.
fn key(scanner: &Scanner<'_, '_>, text: &[u8], at: usize) -> Option<(usize, usize)> {
    let key_end = scanner.skip_string(at).ok()?;
    let colon = scanner.skip_space(key_end);
    let value = scanner.skip_space((text.get(colon) == Some(&b':')).then_some(colon + 1)?);
    Some((key_end, value))
}

/// Where the first item ends, which is a list's last one, and where the list does.
fn close(text: &[u8], is_array: bool) -> Option<(usize, usize)> {
    let room = Room::unbounded();
    let scanner = Scanner::over(text, &room);
    let item = scanner.skip_value(0).ok()?;
    let bracket = scanner.skip_space(item);
    let mut at = (text.get(bracket) == Some(&b']')).then_some(bracket + 1)?;
    if is_array {
        return Some((item, at));
    }
    loop {
        at = scanner.skip_space(at);
        match text.get(at)? {
            b'}' => return Some((item, at + 1)),
            b',' => {}
            _ => return None,
        }
        let (_, value) = key(&scanner, text, scanner.skip_space(at + 1))?;
        at = scanner.skip_value(value).ok()?;
    }
}

/// How much white space stands at the beginning.
fn space(text: &[u8]) -> usize {
    let room = Room::unbounded();
    Scanner::over(text, &room).skip_space(0)
}

fn begins_value(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'{' | b'['))
}

/// Whether a text begins with a value, and another one follows.
fn begins_values(head: &[u8]) -> bool {
    let text = &head[space(head)..];
    if !begins_value(text) {
        return false;
    }
    let next = |end: usize| begins_value(&text[end + space(&text[end..])..]);
    first_value(text).is_ok_and(|whole| whole.is_some_and(next))
}

/// Where the first value ends, if it does in this text.
fn first_value(text: &[u8]) -> Result<Option<usize>, NotItems> {
    let room = Room::unbounded();
    match Scanner::over(text, &room).skip_value(0) {
        Ok(end) => Ok(Some(end)),
        Err(Stop::End) => Ok(None),
        Err(Stop::Syntax(_)) => Err(NotItems),
    }
}

/// Where the last of the values ends that a text begins with.
fn whole_values(text: &[u8]) -> Result<Option<usize>, NotItems> {
    let mut whole = None;
    let mut at = 0;
    while begins_value(&text[at..]) {
        match first_value(&text[at..]) {
            Ok(Some(end)) => whole = Some(at + end),
            Ok(None) => break,
            // Whoever comes to it finds it once more.
            Err(NotItems) if whole.is_some() => break,
            Err(NotItems) => return Err(NotItems),
        }
        at = whole.unwrap_or(text.len());
        at += space(&text[at..]);
    }
    Ok(whole)
}

/// How a text is cut.
struct Cutter<'r> {
    reader: &'r mut dyn Read,
    /// About how many bytes a block has.
    size: usize,
    buffer: Vec<u8>,
    /// Offset of the buffer's first byte in the text.
    offset: u64,
    /// Blocks and frames so far.
    number: usize,
    /// Why the text ended.
    end: Option<io::Result<()>>,
    frames: Vec<Frame>,
    take: &'r mut dyn FnMut(Block) -> bool,
}

/// What comes next of a list.
enum Next {
    /// Items, up to where the next one begins.
    Items(usize),
    /// The last item, up to its end and to the list's.
    Last(usize, usize),
    /// The list does not end, or not as lists do.
    Open,
}

impl Cutter<'_> {
    /// Reads more of the text.
    fn fill(&mut self) -> Result<(), NotItems> {
        if self.buffer.len() > LONGEST {
            return Err(NotItems);
        }
        let more = self.size.max(self.buffer.len() / 2);
        self.buffer.reserve(more);
        match (&mut *self.reader).take(more as u64).read_to_end(&mut self.buffer) {
            Ok(count) if count < more => self.end = Some(Ok(())),
            Ok(_) => {}
            Err(error) => self.end = Some(Err(error)),
        }
        Ok(())
    }

    /// Enough was read to look at it.
    fn is_filled(&self) -> bool {
        self.buffer.len() >= self.size || self.end.is_some()
    }

    /// Reads until it is known what the text begins with.
    fn begin(&mut self) -> Result<(), NotItems> {
        loop {
            self.fill()?;
            if let Some(opening) = opening(&self.buffer) {
                return self.list(opening);
            }
            if begins_values(&self.buffer) {
                return Ok(());
            }
            if self.end.is_some() {
                return Err(NotItems);
            }
        }
    }

    /// Values, or a list that is too long to be among them; `false` at the end.
    fn value(&mut self) -> Result<bool, NotItems> {
        loop {
            self.pass(space(&self.buffer));
            if self.buffer.is_empty() && self.end.is_some() {
                return Ok(false);
            }
            if !self.buffer.is_empty() && !begins_value(&self.buffer) {
                return self.noise().map(|()| false);
            }
            if self.is_filled() && !self.buffer.is_empty() {
                if let Some(end) = whole_values(&self.buffer)? {
                    let (offset, text) = (self.offset, self.cut_off(end));
                    self.give(offset, text, None)?;
                    return Ok(true);
                }
                if let Some(opening) = opening(&self.buffer) {
                    self.list(opening)?;
                    return Ok(true);
                }
                if self.end.is_some() {
                    self.rest();
                    return Ok(false);
                }
            }
            self.fill()?;
        }
    }

    /// Something else than a value: nothing but that may follow.
    fn noise(&mut self) -> Result<(), NotItems> {
        while self.end.is_none() {
            self.fill()?;
        }
        let room = Room::unbounded();
        if Scanner::over(&self.buffer, &room).next_start(0).is_some() {
            return Err(NotItems);
        }
        self.rest();
        Ok(())
    }

    /// What follows the last value that ends.
    fn rest(&mut self) {
        let placeholder = Around::Values.placeholder();
        let base = self.offset.saturating_sub(placeholder.len() as u64);
        let text = [placeholder, &self.buffer].concat();
        self.frame(Frame { number: 0, what: Around::Values, text, base, begin: 0, shift: 0 });
        self.pass(self.buffer.len());
    }

    fn frame(&mut self, frame: Frame) {
        self.frames.push(Frame { number: self.number, ..frame });
        self.number += 1;
    }

    /// The items of a list, to its end.
    fn list(&mut self, Opening { begin, mark, is_array }: Opening) -> Result<(), NotItems> {
        let base = self.offset;
        let mut head = self.cut_off(begin);
        head.shrink_to_fit();
        let list = Arc::new(Beginning { head, mark, is_array });
        loop {
            let offset = self.offset;
            match self.next(&list)? {
                Next::Items(next) => {
                    let mut items = self.cut_off(next);
                    items.truncate(before_comma(&items).ok_or(NotItems)?.len());
                    self.give(offset, items, Some(&list))?;
                }
                Next::Last(item, end) => {
                    let item = self.cut_off(item);
                    self.give(offset, item, Some(&list))?;
                    let behind = self.offset;
                    let tail = self.cut_off(end - usize::try_from(behind - offset).unwrap_or(usize::MAX));
                    return self.frame_list(Around::List, (base, behind), &list.head, &tail);
                }
                Next::Open => {
                    let tail = self.cut_off(self.buffer.len());
                    return self.frame_list(Around::OpenList, (base, offset), &list.head, &tail);
                }
            }
        }
    }

    fn frame_list(
        &mut self,
        what: Around,
        (base, behind): (u64, u64),
        head: &[u8],
        tail: &[u8],
    ) -> Result<(), NotItems> {
        let begin = head.len();
        let framed = base + (begin + what.placeholder().len()) as u64;
        let shift = behind.checked_sub(framed).ok_or(NotItems)?;
        let text = [head, what.placeholder(), tail].concat();
        self.frame(Frame { number: 0, what, text, base, begin, shift });
        Ok(())
    }

    /// Looks for items in the buffer, which begins with one.
    fn next(&mut self, list: &Beginning) -> Result<Next, NotItems> {
        let (mark, lead) = &list.mark;
        let finder = memchr::memmem::Finder::new(mark);
        let on_lines = mark.contains(&b'\n');
        // Items on one line never hold an end of line, so that a piece with one is more than an item.
        let is_item =
            |piece: &[u8]| before_comma(piece).is_some() && (on_lines || memchr::memchr(b'\n', piece).is_none());
        loop {
            if self.is_filled() {
                let mut last = 0;
                for at in finder.find_iter(&self.buffer) {
                    if !is_item(&self.buffer[last..at + lead]) {
                        break;
                    }
                    last = at + lead;
                }
                if last > 0 {
                    return Ok(Next::Items(last));
                }
                if let Some((item, end)) = close(&self.buffer, list.is_array) {
                    return Ok(Next::Last(item, end));
                }
            }
            if self.end.is_some() {
                return Ok(Next::Open);
            }
            self.fill()?;
        }
    }

    fn give(&mut self, offset: u64, text: Vec<u8>, list: Option<&Arc<Beginning>>) -> Result<(), NotItems> {
        let block = Block { number: self.number, offset, text, list: list.cloned() };
        self.number += 1;
        if (self.take)(block) { Ok(()) } else { Err(NotItems) }
    }

    /// Takes what stands before `next` off the buffer.
    fn cut_off(&mut self, next: usize) -> Vec<u8> {
        // What is left, and what is read to it next.
        let mut rest = Vec::with_capacity(self.buffer.len() - next + self.size);
        rest.extend_from_slice(&self.buffer[next..]);
        let mut taken = std::mem::replace(&mut self.buffer, rest);
        taken.truncate(next);
        self.offset += next as u64;
        taken
    }

    /// Forgets the first bytes of the buffer.
    fn pass(&mut self, count: usize) {
        if count > 0 {
            self.buffer.drain(..count);
            self.offset += count as u64;
        }
    }
}
