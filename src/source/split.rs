//! JSON texts to documents: one object each, with its place.
//!
//! The scanner follows strings and brackets only; whether an object's inside is JSON is found out by whoever reads it, so
//! that a fault costs one object. Lists are opened, also inside lists; text around documents (a shell prompt, a warning,
//! log sections of `kubectl cluster-info dump`) is stepped over.

use super::blocks::{self, BLOCK, Classes, Strings, Work};
use crate::model::id::FileId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many objects are read from all of the input. The largest clusters hold a quarter of this many; a text of brackets
/// alone would otherwise take a hundred times its size in memory.
pub const MAX_OBJECTS: usize = 4_000_000;

mod lines;

/// How many objects may still be found. Whoever finds it exceeded throws away what was found.
#[derive(Debug)]
pub struct Room(AtomicUsize);

impl Room {
    /// How much is left.
    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the room of what was found with another one, which was as large as this one.
    fn take_as(&self, other: &Room) {
        self.0.store(other.left().min(self.left()), Ordering::Relaxed);
    }

    /// Room for so many objects.
    pub fn new(objects: usize) -> Self {
        Room(AtomicUsize::new(objects))
    }

    /// Room for whatever comes: for texts whose size is bounded.
    pub fn unbounded() -> Self {
        Room::new(usize::MAX)
    }

    /// Takes the room of one object.
    pub(crate) fn take(&self) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    }

    /// How much was taken, of room for whatever comes.
    pub(crate) fn taken(&self) -> usize {
        usize::MAX - self.left()
    }

    /// Whether it was all taken.
    pub fn is_exceeded(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// One object's JSON text. Invariant: `json` lies in the file's bytes at `offset`.
#[derive(Clone, Copy, Debug)]
pub struct Document<'b> {
    /// The file.
    pub file: FileId,
    /// Offset of the text in the file's bytes.
    pub offset: u64,
    /// The text, one JSON object.
    pub json: &'b [u8],
    /// The object's own `kind`.
    pub kind: Option<&'b str>,
    /// The object's own `apiVersion`.
    pub api_version: Option<&'b str>,
    /// The list around it, by position in [`Split::lists`].
    pub list: Option<u32>,
    /// A watch or a recorder said that the object was deleted.
    pub removed: bool,
    /// When a recorder saw the object so.
    pub time: Option<&'b str>,
}

/// A list of a file: `List`, `PodList`, a bare array.
#[derive(Clone, Copy, Debug)]
pub struct List<'b> {
    /// Offset of the list's first byte.
    pub offset: u64,
    /// `kind` of the list, such as `PodList`.
    pub kind: Option<&'b str>,
    /// `apiVersion` of the list.
    pub api_version: Option<&'b str>,
    /// How many objects stand in it directly.
    pub objects: u64,
    /// `metadata.continue` is not empty: the list was read in pages and goes on.
    pub continued: bool,
    /// `metadata.remainingItemCount`.
    pub remaining: Option<i64>,
    /// The text breaks off inside the list.
    pub broken: bool,
    /// The list stands inside another one.
    pub nested: bool,
    /// The key under which the list stands in a map of lists, such as `pods`.
    pub hint: Option<&'b str>,
}

impl<'b> List<'b> {
    /// The kind of the items, as far as the list's own kind says it: `PodList` gives `Pod`.
    pub fn item_kind(&self) -> Option<&'b str> {
        self.kind?.strip_suffix("List").filter(|kind| !kind.is_empty())
    }
}

/// A place where the text stops being JSON.
#[derive(Clone, Copy, Debug)]
pub struct Break<'b> {
    /// Offset of the first byte that does not fit, or the end of the file.
    pub offset: u64,
    /// The text ended; otherwise it goes on with something else.
    pub at_end: bool,
    /// `kind` of the object that breaks off, if it stood before the break.
    pub kind: Option<&'b str>,
    /// Its `apiVersion`.
    pub api_version: Option<&'b str>,
    /// The file holds no document at all: most likely it is not JSON.
    pub no_document: bool,
}

/// The items of a long list, each at a place that looks like the first one's, as kubectl prints them. Nobody has followed
/// the brackets yet: it holds if every piece is one complete object.
#[derive(Clone, Copy, Debug)]
pub struct Bulk<'b> {
    /// The list, by position in [`Split::lists`].
    pub list: u32,
    /// Offset of the first item.
    pub begin: usize,
    /// Offset behind the last item.
    pub end: usize,
    mark: Mark<'b>,
}

/// What stands around the beginning of every item but the first, and how much of it stands before the item.
pub(super) type Mark<'b> = (&'b [u8], usize);

/// A piece between two marks is more or less than an item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotItems;

impl<'b> Bulk<'b> {
    /// The items that begin in `range`, which lies between `begin` and `end`.
    pub fn items(&self, bytes: &'b [u8], range: Range<usize>) -> impl Iterator<Item = Result<Range<usize>, NotItems>> {
        let (mark, lead) = self.mark;
        let finder = memchr::memmem::Finder::new(mark);
        // A mark begins `lead` bytes before its item and ends a little behind the item's beginning.
        let find = move |from: usize| {
            let rest = bytes.get(from.max(self.begin + 1) - lead..self.end).unwrap_or_default();
            finder.find(rest).map_or(self.end, |at| from.max(self.begin + 1) + at)
        };
        let first = if range.contains(&self.begin) { self.begin } else { find(range.start) };
        let mut begin = first;
        std::iter::from_fn(move || {
            if begin >= range.end || begin >= self.end {
                return None;
            }
            // Looked for one by one: what was just read of the file is still at hand for whoever reads the item.
            let (from, next) = (begin, find(begin + 1));
            begin = next;
            if next == self.end {
                return Some(Ok(from..next));
            }
            let piece = trim_end(&bytes[from..next]).strip_suffix(b",").map(trim_end);
            Some(piece.map(|piece| from..from + piece.len()).ok_or(NotItems))
        })
    }
}

pub(super) fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    &bytes[..end.map_or(0, |end| end + 1)]
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Split<'b> {
    /// Objects, in the order of the file.
    pub documents: Vec<Document<'b>>,
    /// Lists, in the order of the file.
    pub lists: Vec<List<'b>>,
    /// Where it breaks off.
    pub breaks: Vec<Break<'b>>,
    /// Objects in a spelling that is not Kubernetes' JSON.
    pub foreign: Vec<Foreign>,
    /// The items of one long list, which are not among `documents`.
    pub bulk: Option<Bulk<'b>>,
    /// How many objects were read as they came, and are not among `documents`.
    pub streamed: u64,
}

impl<'b> Split<'b> {
    /// Appends what was found in a piece of the text that begins at `base`.
    pub(crate) fn append(&mut self, mut piece: Split<'b>, base: u64) {
        let lists = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
        for document in &mut piece.documents {
            document.offset += base;
            document.list = document.list.map(|list| list.saturating_add(lists));
        }
        piece.lists.iter_mut().for_each(|it| it.offset += base);
        piece.breaks.iter_mut().for_each(|it| it.offset += base);
        piece.foreign.iter_mut().for_each(|it| it.offset += base);
        self.documents.append(&mut piece.documents);
        self.lists.append(&mut piece.lists);
        self.breaks.append(&mut piece.breaks);
        self.foreign.append(&mut piece.foreign);
    }
}

/// Objects or lists in a spelling that is not Kubernetes' JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Offset of the first byte.
    pub offset: u64,
    /// Who spells so.
    pub spelling: Spelling,
}

/// Who spells objects in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `Items`, `Spec`, `NodeName`: Go's own names, as `kubectl cluster-info dump` printed them up to 1.13.
    Go,
    /// `api_version`, `node_name`: `to_dict()` of the Python client.
    Python,
}

/// How deep maps of lists may stand inside maps.
const MAX_MAP_DEPTH: u32 = 2;
/// How deep lists may stand inside lists.
const MAX_NESTING: u32 = 32;
/// How often text that looked like a document and ran to the end of the file is given up before the rest is: in a short
/// file, and in a long one, where each costs a reading of what follows.
const MAX_FALSE_STARTS: u32 = 64;
const MAX_LONG_FALSE_STARTS: u32 = 4;
/// From how many bytes on a false start is long.
const LONG_START: usize = 16 << 20;

/// How much of the first item tells where the next ones begin, where items are not on lines of their own.
const COMPACT_MARK: usize = 13;

/// Finds the documents of a file.
pub fn split(file: FileId, bytes: &[u8]) -> Split<'_> {
    scan(file, bytes, usize::MAX, &Room::unbounded())
}

/// Finds the documents of a file, but only marks the items of a list of `min_bulk` bytes or more: for whoever checks them.
/// Stops where there is no more room.
pub fn split_in_bulk<'b>(file: FileId, bytes: &'b [u8], min_bulk: usize, room: &Room) -> Split<'b> {
    scan(file, bytes, min_bulk, room)
}

fn scan<'b>(file: FileId, bytes: &'b [u8], min_bulk: usize, room: &Room) -> Split<'b> {
    if bytes.len() >= min_bulk
        && let Some(split) = lines::split(file, bytes, room)
    {
        return split;
    }
    let mut scanner = Scanner { bytes, file, min_bulk, marked: false, room, out: Split::default() };
    scanner.file();
    // Marks that were wrong about a list's end show in what follows it.
    let doubtful = scanner.marked && (scanner.out.bulk.is_none() || !scanner.out.breaks.is_empty());
    if doubtful { scan(file, bytes, usize::MAX, room) } else { scanner.out }
}

/// Finds the documents of a text that holds whole values and space between them; `None` if it is not so, or there is no
/// more room.
pub fn values<'b>(file: FileId, bytes: &'b [u8], room: &Room) -> Option<Split<'b>> {
    lines::split_piece(file, bytes, room)
}

/// Whether the text is one object, which says this of itself and holds no others: what it would be found to be, had its
/// brackets been followed.
pub fn is_one(json: &[u8], kind: Option<&str>, api_version: Option<&str>) -> bool {
    one(json).is_some_and(|it| it.kind == kind && it.api_version == api_version)
}

/// The object that an item of a list is, if it is one and holds no others.
pub fn one(json: &[u8]) -> Option<Document<'_>> {
    let room = Room::unbounded();
    let mut scanner = Scanner::over(json, &room);
    let whole = matches!(scanner.value(0, Some(u32::MAX), 1), Ok(end) if end == json.len());
    let Split { documents, lists, breaks, foreign, bulk: _, streamed: _ } = &scanner.out;
    let alone = whole && lists.is_empty() && breaks.is_empty() && foreign.is_empty();
    match documents.as_slice() {
        [it] if alone && it.json.len() == json.len() => Some(*it),
        _ => None,
    }
}

/// Whether the first key of an object is this one.
pub fn begins_with_key(json: &[u8], key: &str) -> bool {
    let room = Room::unbounded();
    let scanner = Scanner::over(json, &room);
    let rest = json.get(scanner.skip_space(1)..).unwrap_or_default();
    let rest = rest.strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(key.as_bytes()));
    rest.is_some_and(|rest| rest.first() == Some(&b'"'))
}

/// `kind` and `apiVersion` of an object that begins with both, as kubectl prints them.
pub fn leading_kind(json: &[u8]) -> Option<(&str, &str)> {
    let room = Room::unbounded();
    let scanner = Scanner::over(json, &room);
    let (mut kind, mut api_version) = (None, None);
    let mut at = 1;
    for _ in 0..2 {
        let begin = scanner.skip_space(at);
        let end = scanner.skip_string(begin).ok()?;
        at = scanner.skip_space(end);
        let value = scanner.skip_space((json.get(at) == Some(&b':')).then_some(at + 1)?);
        let value_end = scanner.skip_string(value).ok()?;
        let text = std::str::from_utf8(&json[value + 1..value_end - 1]).ok().filter(|text| !text.contains('\\'));
        match &json[begin..end] {
            br#""kind""# => kind = text,
            br#""apiVersion""# => api_version = text,
            _ => return None,
        }
        at = scanner.skip_space(value_end);
        at = (json.get(at) == Some(&b',')).then_some(at + 1)?;
    }
    kind.zip(api_version)
}

/// Why a value has no end: the offset at which the scanner stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// The text ended.
    End,
    /// Something else stands there.
    Syntax(usize),
}

pub(super) struct Scanner<'b, 'r> {
    bytes: &'b [u8],
    file: FileId,
    /// Lists of at least so many bytes are only marked.
    min_bulk: usize,
    /// A list was.
    marked: bool,
    room: &'r Room,
    out: Split<'b>,
}

/// What is known of an object whose keys are being read.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key that was seen or not")]
struct Shape<'b> {
    kind: Option<&'b str>,
    api_version: Option<&'b str>,
    /// `items` was null or an array.
    items: bool,
    list: Option<u32>,
    metadata: Option<(usize, usize)>,
    /// `type` of a watch event, `event` of a recorder's.
    event: Option<&'b str>,
    /// `object` of a watch event, `resource` of a recorder's.
    object: Option<usize>,
    /// `time` of a recorder's event.
    time: Option<&'b str>,
    /// `api_version`.
    python: bool,
    /// `Items` and what Go's lists have beside it.
    go_items: bool,
    go_metadata: bool,
    /// `metadata` or `spec`: an object's own, whether or not it says its kind.
    parts: bool,
}

impl Shape<'_> {
    /// Whether the shape is a change that a watch or a recorder reports: the object's offset, and whether it is gone.
    fn change(&self) -> Option<(usize, Change)> {
        let change = match (self.kind, self.event?) {
            (None, "ADDED" | "MODIFIED" | "Add" | "Update") => Change::Is,
            (None, "DELETED" | "Delete") => Change::Gone,
            (None, "BOOKMARK") => Change::Nothing,
            _ => return None,
        };
        Some((self.object?, change))
    }

    fn foreign(&self) -> Option<Spelling> {
        if self.python {
            Some(Spelling::Python)
        } else if self.go_items && self.go_metadata && self.kind.is_none() {
            Some(Spelling::Go)
        } else {
            None
        }
    }
}

/// What a watch event says of its object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Is,
    Gone,
    Nothing,
}

/// The brackets at an offset, to be followed to their end.
struct SkipBrackets<'s, 'b, 'r> {
    scanner: &'s Scanner<'b, 'r>,
    at: usize,
}

impl Work for SkipBrackets<'_, '_, '_> {
    type Output = Result<usize, Stop>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
    fn run(self, classify: impl Fn(&[u8; BLOCK]) -> Classes) -> Self::Output {
        self.scanner.skip_brackets_by(self.at, classify)
    }
}

impl<'b, 'r> Scanner<'b, 'r> {
    /// For a text that is followed, and whose objects are not asked for.
    pub(super) fn over(bytes: &'b [u8], room: &'r Room) -> Self {
        Scanner { bytes, file: FileId(0), min_bulk: usize::MAX, marked: false, room, out: Split::default() }
    }

    fn file(&mut self) {
        let mut at = 0;
        let mut false_starts = 0;
        let mut noise = None;
        let (mut first, mut gave_up) = (None, false);
        let (mut last_end, mut begun) = (None, None);
        while let Some(start) = self.next_start(at).filter(|_| !self.room.is_exceeded()) {
            let (documents, breaks) = (self.out.documents.len(), self.out.breaks.len());
            first.get_or_insert(start);
            let stop = match self.value(start, None, 0) {
                Ok(end) => {
                    at = end;
                    last_end = Some(end);
                    continue;
                }
                Err(stop) => stop,
            };
            let offset = match stop {
                Stop::End => self.bytes.len(),
                Stop::Syntax(offset) => offset,
            };
            let kubernetes = self.out.documents.len() > documents || self.out.breaks.len() > breaks;
            let follows = last_end.is_some_and(|end| self.skip_space(end) == start);
            if !kubernetes && follows && matches!(stop, Stop::End) && self.begins_object(start) {
                // The next document, begun right behind the last one; unless others come, it was the last.
                begun = Some((documents, stop));
            }
            if !kubernetes {
                // Most likely a line of a log that begins with a bracket.
                noise.get_or_insert((start, offset, stop));
                if matches!(stop, Stop::End) {
                    let long = self.bytes.len() - start > LONG_START;
                    false_starts += if long { MAX_FALSE_STARTS / MAX_LONG_FALSE_STARTS } else { 1 };
                }
                if false_starts > MAX_FALSE_STARTS {
                    gave_up = true;
                    break;
                }
            }
            at = self.next_line(if kubernetes { offset.max(start + 1) } else { start + 1 });
        }
        if let Some((documents, stop)) = begun
            && self.out.documents.len() == documents
            && self.out.breaks.is_empty()
        {
            self.break_at(stop, None, None);
        }
        if let Some((start, offset, stop)) = noise
            && self.out.breaks.is_empty()
        {
            let at_end = matches!(stop, Stop::End);
            if self.out.documents.is_empty() {
                self.no_document(offset, at_end);
            } else if gave_up || (first == Some(start) && at_end && self.begins_object(start)) {
                // A map of objects that was cut, whose objects were then found one by one.
                self.break_at(stop, None, None);
            }
        } else if self.out.documents.is_empty() && self.out.lists.is_empty() && self.out.breaks.is_empty() {
            let text = self.skip_space(0);
            if text < self.bytes.len() && at == 0 {
                self.no_document(text, false);
            }
        }
    }

    /// Whether what stands at `at` begins as an object does, or a list of objects, and not as a line of a log.
    fn begins_object(&self, at: usize) -> bool {
        let inner = if self.bytes[at] == b'[' { self.skip_space(at + 1) } else { at };
        self.bytes.get(inner) == Some(&b'{') && self.bytes.get(self.skip_space(inner + 1)) == Some(&b'"')
    }

    fn break_at(&mut self, stop: Stop, kind: Option<&'b str>, api_version: Option<&'b str>) {
        let (offset, at_end) = match stop {
            Stop::End => (self.bytes.len() as u64, true),
            Stop::Syntax(offset) => (offset as u64, false),
        };
        self.room.take();
        self.out.breaks.push(Break { offset, at_end, kind, api_version, no_document: false });
    }

    fn no_document(&mut self, offset: usize, at_end: bool) {
        let offset = offset as u64;
        self.room.take();
        self.out.breaks.push(Break { offset, at_end, kind: None, api_version: None, no_document: true });
    }

    /// The next `{` or `[` that can begin a document: at the beginning of a line, or right behind the last document.
    pub(super) fn next_start(&self, at: usize) -> Option<usize> {
        let mut at = self.skip_space(at);
        loop {
            let rest = self.bytes.get(at..)?;
            match rest.first()? {
                b'{' | b'[' => return Some(at),
                // A file that was written over a longer one, and the mark that Windows puts before UTF-8.
                0 => at = self.skip_space(at + 1),
                _ if rest.starts_with(b"\xef\xbb\xbf") => at = self.skip_space(at + 3),
                _ if rest.starts_with(b"==== START logs") => {
                    let end = memchr::memmem::find(rest, b"\n==== END logs").map_or(rest.len(), |end| end + 1);
                    at = self.skip_space(self.next_line(at + end));
                }
                _ => at = self.next_line(at),
            }
            if at >= self.bytes.len() {
                return None;
            }
        }
    }

    fn next_line(&self, at: usize) -> usize {
        let at = at.min(self.bytes.len());
        memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |end| at + end + 1)
    }

    fn value(&mut self, at: usize, list: Option<u32>, depth: u32) -> Result<usize, Stop> {
        match self.bytes.get(at) {
            Some(b'{') => self.object(at, list, depth),
            Some(b'[') if depth < MAX_NESTING => {
                let around = list.and_then(|list| self.out.lists.get(list as usize)).copied();
                let own = self.begin_list(at, around.as_ref().map(|it| (it.kind, it.api_version)).unwrap_or_default());
                self.out.lists[own as usize].nested = list.is_some();
                let documents = self.out.documents.len();
                let end = self.items(at, own, depth);
                if let (Err(stop), None, true) = (end, list, self.out.documents.len() > documents) {
                    self.break_at(stop, None, None);
                }
                end
            }
            _ => self.skip_value(at),
        }
    }

    fn begin_list(&mut self, offset: usize, (kind, api_version): (Option<&'b str>, Option<&'b str>)) -> u32 {
        let id = u32::try_from(self.out.lists.len()).unwrap_or(u32::MAX);
        let offset = offset as u64;
        let (objects, continued, remaining, broken, nested) = (0, false, None, false, false);
        let hint = None;
        self.room.take();
        self.out.lists.push(List { offset, kind, api_version, objects, continued, remaining, broken, nested, hint });
        id
    }

    /// The elements of the array at `at`.
    fn items(&mut self, at: usize, list: u32, depth: u32) -> Result<usize, Stop> {
        if let Some((bulk, end)) = self.bulk(at, list) {
            self.out.bulk = Some(bulk);
            self.marked = true;
            return Ok(end);
        }
        let end = self.elements(at, list, depth);
        if end.is_err() {
            self.out.lists[list as usize].broken = true;
        }
        end
    }

    /// Marks the items of a long list, and gives its end.
    fn bulk(&mut self, at: usize, list: u32) -> Option<(Bulk<'b>, usize)> {
        if self.bytes.len() - at < self.min_bulk || self.marked {
            return None;
        }
        let begin = self.skip_space(at + 1);
        let mark = match self.mark(at, begin) {
            Ok(mark) => mark?,
            // The first item never ends, nor does anything in it: one reading of the rest is enough to know.
            Err(_) => {
                self.min_bulk = usize::MAX;
                return None;
            }
        };
        // Fewer than two items are no bulk.
        let last = begin + memchr::memmem::rfind(&self.bytes[begin..], mark.0)? + mark.1;
        let end = self.skip_value(last).ok()?;
        let close = self.skip_space(end);
        let bulk = Bulk { list, begin, end, mark };
        (self.bytes[begin] == b'{' && self.bytes.get(close) == Some(&b']')).then_some((bulk, close + 1))
    }

    /// What stands around the beginnings of a list's items, by the list's and its first item's beginning.
    pub(super) fn mark(&self, at: usize, begin: usize) -> Result<Option<Mark<'b>>, Stop> {
        let Some(line) = memchr::memrchr(b'\n', &self.bytes[at..begin]) else {
            return Ok(self.compact_mark(begin)?.map(|mark| (mark, 1)));
        };
        Ok(self.bytes.get(at + line..=begin).map(|mark| (mark, begin - at - line)))
    }

    /// A comma and the beginning of an item, as they stand between the first item and the second.
    fn compact_mark(&self, begin: usize) -> Result<Option<&'b [u8]>, Stop> {
        let second = self.skip_value(begin)?;
        Ok(self.bytes.get(second..=second + COMPACT_MARK).filter(|mark| mark.starts_with(b",{")))
    }

    fn elements(&mut self, at: usize, list: u32, depth: u32) -> Result<usize, Stop> {
        let mut at = self.skip_space(at + 1);
        if self.bytes.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
        loop {
            at = self.value(at, Some(list), depth + 1)?;
            if self.room.is_exceeded() {
                return Err(Stop::End);
            }
            at = self.skip_space(at);
            match self.bytes.get(at) {
                Some(b',') => at = self.skip_space(at + 1),
                Some(b']') => return Ok(at + 1),
                Some(_) => return Err(Stop::Syntax(at)),
                None => return Err(Stop::End),
            }
        }
    }

    fn object(&mut self, start: usize, list: Option<u32>, depth: u32) -> Result<usize, Stop> {
        let (documents, lists) = (self.out.documents.len(), self.out.lists.len());
        let mut shape = Shape::default();
        let end = match self.keys(start, &mut shape, depth) {
            Ok(end) => end,
            Err(stop) => {
                self.break_off(list.is_none(), &shape, stop);
                return Err(stop);
            }
        };
        if let Some(spelling) = shape.foreign() {
            self.room.take();
            self.out.foreign.push(Foreign { offset: start as u64, spelling });
            return Ok(end);
        }
        let is_list = shape.items && shape.kind.is_none_or(|kind| kind.ends_with("List") || kind == "list");
        if is_list {
            let own = shape.list.unwrap_or_else(|| self.begin_list(start, (None, None)));
            self.finish_list(own, start, &shape, list.is_some());
            return Ok(end);
        }
        // An `items` that is none of a list's: what it holds are parts of this object.
        self.out.documents.truncate(documents);
        self.out.lists.truncate(lists);
        self.out.bulk = self.out.bulk.filter(|bulk| (bulk.list as usize) < lists);
        if let Some((object, change)) = shape.change() {
            if change != Change::Nothing {
                self.value(object, list, depth + 1)?;
                for document in &mut self.out.documents[documents..] {
                    document.removed = change == Change::Gone;
                    document.time = shape.time;
                }
            }
            return Ok(end);
        }
        let bare = shape.kind.is_none() && shape.api_version.is_none() && !shape.parts;
        if bare && list.is_none() && depth <= MAX_MAP_DEPTH && self.map(start, depth) {
            return Ok(end);
        }
        if let Some(list) = list.and_then(|list| self.out.lists.get_mut(list as usize)) {
            list.objects += 1;
        }
        self.room.take();
        self.out.documents.push(Document {
            file: self.file,
            offset: start as u64,
            json: &self.bytes[start..end],
            kind: shape.kind,
            api_version: shape.api_version,
            list,
            removed: false,
            time: None,
        });
        Ok(end)
    }

    /// Opens a map of lists or of objects, such as a simulator's export; `false` if it holds none.
    fn map(&mut self, start: usize, depth: u32) -> bool {
        // What a map holds is known from its objects: none may be left unread.
        let min_bulk = std::mem::replace(&mut self.min_bulk, usize::MAX);
        let holds = self.open_map(start, depth);
        self.min_bulk = min_bulk;
        holds
    }

    fn open_map(&mut self, start: usize, depth: u32) -> bool {
        let (documents, lists, foreign) = (self.out.documents.len(), self.out.lists.len(), self.out.foreign.len());
        for (key, value) in self.members(start) {
            if self.room.is_exceeded() {
                break;
            }
            let (before, lists_before) = (self.out.documents.len(), self.out.lists.len());
            let read = match self.bytes[value] {
                b'{' => self.object(value, None, depth + 1).is_ok(),
                b'[' => {
                    let own = self.begin_list(value, (None, None));
                    self.out.lists[own as usize].hint = key;
                    self.items(value, own, MAX_NESTING).is_ok()
                }
                _ => continue,
            };
            let said = |it: &Document<'_>| it.kind.is_some() && it.api_version.is_some();
            let listed = |it: &Document<'_>| it.list.is_some() && (it.kind.is_some() || has_metadata(it.json));
            if !read || !self.out.documents[before..].iter().all(|it| said(it) || listed(it)) {
                self.out.documents.truncate(before);
                self.out.lists.truncate(lists_before);
            }
        }
        if self.out.documents.len() > documents || self.out.foreign.len() > foreign {
            return true;
        }
        self.out.lists.truncate(lists);
        false
    }

    /// The keys of the object at `start`, each with the offset of its value. The object was read before.
    fn members(&self, start: usize) -> Vec<(Option<&'b str>, usize)> {
        let mut members = Vec::new();
        let mut at = self.skip_space(start + 1);
        while let Ok(key_end) = self.skip_string(at) {
            let value = self.skip_space(self.skip_space(key_end) + 1);
            members.push((std::str::from_utf8(&self.bytes[at + 1..key_end - 1]).ok(), value));
            let Ok(end) = self.skip_value(value) else { break };
            let end = self.skip_space(end);
            if self.bytes.get(end) != Some(&b',') {
                break;
            }
            at = self.skip_space(end + 1);
        }
        members
    }

    /// Notes a break, once: at the outermost object that breaks off, if it looks like one of Kubernetes'.
    fn break_off(&mut self, outermost: bool, shape: &Shape<'b>, stop: Stop) {
        if let Some(list) = shape.list.and_then(|list| self.out.lists.get_mut(list as usize)) {
            list.kind = list.kind.or(shape.kind);
            list.api_version = list.api_version.or(shape.api_version);
        }
        let kubernetes = shape.items || shape.kind.is_some() || shape.api_version.is_some() || shape.parts;
        if outermost && kubernetes {
            self.break_at(stop, shape.kind, shape.api_version);
        } else if outermost && let Some(object) = shape.object {
            // A change that a watch or a recorder was writing: of which object, its beginning says.
            let leading = leading_kind(&self.bytes[object..]);
            if leading.is_some() || shape.change().is_some() {
                let (kind, api_version) = leading.unzip();
                self.break_at(stop, kind, api_version);
            }
        }
    }

    fn finish_list(&mut self, own: u32, start: usize, shape: &Shape<'b>, nested: bool) {
        let metadata = shape.metadata.and_then(|(from, to)| ListMetadata::read(&self.bytes[from..to]));
        let list = &mut self.out.lists[own as usize];
        list.offset = start as u64;
        list.kind = shape.kind;
        list.api_version = shape.api_version;
        list.nested = nested;
        if let Some(metadata) = metadata {
            list.continued = metadata.go_on.is_some_and(|token| !token.is_empty());
            list.remaining = metadata.remaining_item_count;
        }
    }

    /// Reads the keys of the object at `at` into `shape` and gives its end.
    fn keys(&mut self, at: usize, shape: &mut Shape<'b>, depth: u32) -> Result<usize, Stop> {
        let mut at = self.skip_space(at + 1);
        if self.bytes.get(at) == Some(&b'}') {
            return Ok(at + 1);
        }
        loop {
            let key_end = self.skip_string(at)?;
            let key = &self.bytes[at..key_end];
            at = self.skip_space(key_end);
            match self.bytes.get(at) {
                Some(b':') => at = self.skip_space(at + 1),
                Some(_) => return Err(Stop::Syntax(at)),
                None => return Err(Stop::End),
            }
            let value = at;
            match (key, self.bytes.get(value)) {
                // Before they are read, for a break inside tells what breaks off.
                (br#""object""# | br#""resource""#, Some(b'{')) => shape.object = Some(value),
                (br#""metadata""# | br#""spec""#, Some(b'{')) => shape.parts = true,
                _ => {}
            }
            at = match (key, self.bytes.get(value)) {
                (br#""items""#, Some(b'[')) if depth < MAX_NESTING && shape.list.is_none() => {
                    let own = self.begin_list(value, (shape.kind, shape.api_version));
                    (shape.list, shape.items) = (Some(own), true);
                    self.items(value, own, depth)?
                }
                _ => self.skip_value(value)?,
            };
            let text = || {
                let inner = self.bytes[value..at].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
                std::str::from_utf8(inner).ok().filter(|text| !text.contains('\\'))
            };
            match key {
                br#""kind""# => shape.kind = text(),
                br#""apiVersion""# => shape.api_version = text(),
                br#""type""# | br#""event""# => shape.event = text().or(shape.event),
                br#""time""# => shape.time = text(),
                br#""metadata""# => {
                    shape.metadata = Some((value, at));
                    shape.parts = true;
                }
                br#""spec""# => shape.parts = true,
                br#""api_version""# => shape.python = true,
                br#""Items""# => shape.go_items = true,
                br#""ListMeta""# | br#""ResourceVersion""# | br#""SelfLink""# => shape.go_metadata = true,
                br#""items""# => shape.items |= self.bytes[value..at] == *b"null",
                _ => {}
            }
            at = self.skip_space(at);
            match self.bytes.get(at) {
                Some(b',') => at = self.skip_space(at + 1),
                Some(b'}') => return Ok(at + 1),
                Some(_) => return Err(Stop::Syntax(at)),
                None => return Err(Stop::End),
            }
        }
    }

    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            at += 1;
        }
        at
    }

    pub(super) fn skip_string(&self, at: usize) -> Result<usize, Stop> {
        match self.bytes.get(at) {
            Some(b'"') => {}
            Some(_) => return Err(Stop::Syntax(at)),
            None => return Err(Stop::End),
        }
        let mut at = at + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(stop) = memchr::memchr2(b'"', b'\\', rest) else { return Err(Stop::End) };
            match rest[stop] {
                b'"' => return Ok(at + stop + 1),
                _ => at += stop + 2,
            }
        }
    }

    /// The end of the value at `at`: strings and brackets are followed, the rest is taken as it comes.
    pub(super) fn skip_value(&self, at: usize) -> Result<usize, Stop> {
        match self.bytes.get(at) {
            Some(b'"') => self.skip_string(at),
            Some(b'{' | b'[') => self.skip_brackets(at),
            Some(b'a'..=b'z' | b'0'..=b'9' | b'-') => {
                let scalar = |byte: &u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'+' | b'.');
                match self.bytes[at..].iter().position(|byte| !scalar(byte)) {
                    Some(length) => Ok(at + length),
                    None => Err(Stop::End),
                }
            }
            Some(_) => Err(Stop::Syntax(at)),
            None => Err(Stop::End),
        }
    }

    fn skip_brackets(&self, at: usize) -> Result<usize, Stop> {
        blocks::work(SkipBrackets { scanner: self, at })
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
    fn skip_brackets_by(&self, at: usize, classify: impl Fn(&[u8; BLOCK]) -> Classes) -> Result<usize, Stop> {
        let mut strings = Strings::default();
        let mut open = Vec::new();
        let (whole, last) = blocks::of(&self.bytes[at..]);
        // No closure: it would not be made for the processor.
        for (number, block) in whole.iter().chain(&last).enumerate() {
            let classes = classify(block);
            let quoted = strings.follow(&classes);
            if quoted.escapes & !quoted.inside != 0 {
                // A backslash outside strings, which is none of JSON's, does not escape.
                return self.skip_brackets_slowly(at);
            }
            let mut brackets = classes.bracket & !quoted.inside;
            while brackets != 0 {
                let within = brackets.trailing_zeros() as usize;
                let here = at + number * BLOCK + within;
                match block[within] {
                    b'{' => open.push(b'}'),
                    b'[' => open.push(b']'),
                    close if open.pop() != Some(close) => return Err(Stop::Syntax(here)),
                    _ if open.is_empty() => return Ok(here + 1),
                    _ => {}
                }
                brackets &= brackets - 1;
            }
        }
        Err(Stop::End)
    }

    fn skip_brackets_slowly(&self, mut at: usize) -> Result<usize, Stop> {
        let mut open = Vec::new();
        loop {
            match self.bytes.get(at) {
                None => return Err(Stop::End),
                Some(b'"') => {
                    at = self.skip_string(at)?;
                    continue;
                }
                Some(b'{') => open.push(b'}'),
                Some(b'[') => open.push(b']'),
                Some(close @ (b'}' | b']')) => {
                    if open.pop() != Some(*close) {
                        return Err(Stop::Syntax(at));
                    }
                    if open.is_empty() {
                        return Ok(at + 1);
                    }
                }
                Some(_) => {}
            }
            at += 1;
        }
    }
}

/// Whether an object has `metadata` among its keys, as far as a glance tells.
fn has_metadata(json: &[u8]) -> bool {
    memchr::memmem::find(json, b"\"metadata\"").is_some()
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue", default)]
    go_on: Option<String>,
    #[serde(rename = "remainingItemCount", default)]
    remaining_item_count: Option<i64>,
}

impl ListMetadata {
    fn read(json: &[u8]) -> Option<Self> {
        // `selfLink` and the like may be anything.
        serde_json::from_slice::<IgnoredAny>(json).ok()?;
        serde_json::from_slice(json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        let split = split(FileId(0), text.as_bytes());
        let kind = |it: &Document<'_>| {
            let list = it.list.map(|list| split.lists[list as usize]);
            it.kind.or_else(|| list?.item_kind()).unwrap_or("?").to_owned()
        };
        split.documents.iter().map(kind).collect()
    }

    #[test]
    fn every_shape_of_json_gives_its_objects() {
        assert_eq!(kinds(r#"{"kind":"List","items":[{"kind":"Pod"},{"kind":"Node"}]}"#), ["Pod", "Node"]);
        assert_eq!(kinds(r#"{"kind":"PodList","items":[{"metadata":{}},{}]}"#), ["Pod", "Pod"]);
        assert_eq!(kinds(r#"{"items":[{"metadata":{}}],"kind":"PodList"}"#), ["Pod"]);
        assert_eq!(kinds("{\"kind\":\"Pod\"}\n{\"kind\":\"Node\"}"), ["Pod", "Node"]);
        assert_eq!(kinds(r#"[{"kind":"Pod"},null,{"kind":"Node"}]"#), ["Pod", "Node"]);
        let inner = r#"{"kind":"NodeList","items":[{}]}"#;
        assert_eq!(kinds(&format!(r#"{{"kind":"List","items":[{inner},{{"kind":"Pod"}}]}}"#)), ["Node", "Pod"]);
        assert_eq!(kinds(r#"{"kind":"PodList","items":null}"#), Vec::<String>::new());
        assert_eq!(kinds(r#"{"kind":"Widget","items":[{"kind":"Pod"}]}"#), ["Widget"]);
        assert_eq!(kinds(r#"{"type":"ADDED","object":{"kind":"Pod"}}"#), ["Pod"]);
    }

    #[test]
    fn maps_of_lists_and_of_objects_are_opened() {
        let export = r#"{"pods":[{"metadata":{"name":"a"}}],"nodes":[{"kind":"Node","metadata":{}}],"pvs":[],
            "schedulerConfig":{"kind":"KubeSchedulerConfiguration","apiVersion":"x/v1"},"note":"x"}"#;
        let split = split(FileId(0), export.as_bytes());
        let hints: Vec<_> =
            split.documents.iter().map(|it| it.list.and_then(|at| split.lists[at as usize].hint)).collect();
        assert_eq!(hints, [Some("pods"), Some("nodes"), None]);
        assert_eq!(split.lists.len(), 3);
        let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{}}"#;
        assert_eq!(kinds(&format!(r#"{{"a/b":{pod},"a/c":{pod}}}"#)), ["Pod", "Pod"]);
        assert_eq!(kinds(&format!(r#"{{"pods":{{"kind":"PodList","items":[{pod}]}}}}"#)), ["Pod"]);
        let kindless = r#"{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet"}]},"spec":{}}"#;
        assert_eq!(kinds(kindless), ["?"]);
        assert_eq!(kinds(r#"{"dependencies":[{"name":"x"}],"private":true}"#), ["?"]);
    }

    #[test]
    fn streams_tell_what_is_gone() {
        let text = r#"{"type":"ADDED","object":{"kind":"Pod"}}
            {"type":"BOOKMARK","object":{"kind":"Pod"}}
            {"type":"DELETED","object":{"kind":"Pod"}}
            [{"time":"2024-01-01T00:00:00Z","event":"Add","resource":{"kind":"Node"}}]"#;
        let split = split(FileId(0), text.as_bytes());
        let seen: Vec<_> = split.documents.iter().map(|it| (it.kind, it.removed, it.time.is_some())).collect();
        assert_eq!(seen, [(Some("Pod"), false, false), (Some("Pod"), true, false), (Some("Node"), false, true)]);
    }

    #[test]
    fn other_spellings_are_known() {
        let spelling = |text: &str| {
            let split = split(FileId(0), text.as_bytes());
            assert_eq!(split.documents.len(), 0, "{text}");
            split.foreign.first().map(|it| it.spelling)
        };
        assert_eq!(spelling(r#"{"SelfLink":"","ResourceVersion":"1","Items":[{"Name":"a"}]}"#), Some(Spelling::Go));
        let python =
            r#"{"api_version":"v1","items":[{"api_version":null,"kind":null,"metadata":{}}],"kind":"PodList"}"#;
        assert_eq!(spelling(python), Some(Spelling::Python));
    }

    #[test]
    fn marks_and_zeros_are_no_text() {
        assert_eq!(kinds("\u{feff}{\"kind\":\"Pod\"}\0\0\0{\"kind\":\"Node\"}\0\0"), ["Pod", "Node"]);
    }

    #[test]
    fn a_long_lists_items_are_found_by_their_marks() {
        let items: Vec<String> = (0..9).map(|number| format!("{{\n        \"a\": [{{}}, {number}]\n    }}")).collect();
        for (open, glue, close) in [("[\n    ", ",\n    ", "\n  ]"), ("[", ",", "]")] {
            let list = format!("{{\"kind\": \"PodList\", \"items\": {open}{}{close}, \"x\": 1}}", items.join(glue));
            let split = split_in_bulk(FileId(0), list.as_bytes(), 0, &Room::unbounded());
            let bulk = split.bulk.expect("it is long enough");
            assert_eq!((split.documents.len(), split.lists.len()), (0, 1));
            for cut in 1..bulk.end - bulk.begin {
                let cuts = (bulk.begin..bulk.end).step_by(cut);
                let found = cuts.flat_map(|at| bulk.items(list.as_bytes(), at..(at + cut).min(bulk.end)));
                assert!(found.map(|item| &list[item.unwrap()]).eq(&items), "{cut}");
            }
        }
    }

    #[test]
    fn text_around_documents_is_stepped_over() {
        let text = "Warning: old\n{\"kind\":\"Pod\"}\n==== START logs for container c of pod a/b ====\n[info] {\n{\"kind\":\"Pod\"}\n\
                    ==== END logs for container c of pod a/b ====\n{\"kind\":\"Node\"}\n$ ";
        assert_eq!(kinds(text), ["Pod", "Node"]);
    }

    #[test]
    fn a_broken_list_keeps_what_stands_before_the_break() {
        let text = r#"{"kind":"PodList","items":[{"metadata":{"name":"a"}},{"metadata":{"na"#;
        let split = split(FileId(0), text.as_bytes());
        assert_eq!((split.documents.len(), split.breaks.len()), (1, 1));
        assert!(split.lists[0].broken && split.breaks[0].at_end);
        assert_eq!(split.breaks[0].offset, text.len() as u64);
    }
}
