//! JSON texts to documents: one object each, with its place.
//!
//! The scanner follows strings and brackets only; whether an object's inside is JSON is found out by whoever reads it, so
//! that a fault costs one object. Lists are opened, also inside lists; text around documents (a shell prompt, a warning,
//! log sections of `kubectl cluster-info dump`) is stepped over.

use crate::model::id::FileId;
use serde::Deserialize;
use serde::de::IgnoredAny;

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
    /// A watch said that the object was deleted.
    pub removed: bool,
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

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Split<'b> {
    /// Objects, in the order of the file.
    pub documents: Vec<Document<'b>>,
    /// Lists, in the order of the file.
    pub lists: Vec<List<'b>>,
    /// Where it breaks off.
    pub breaks: Vec<Break<'b>>,
}

/// How deep lists may stand inside lists.
const MAX_NESTING: u32 = 32;
/// How often text that looked like a document and ran to the end of the file is given up before the rest is.
const MAX_FALSE_STARTS: u32 = 64;

/// Finds the documents of a file.
pub fn split(file: FileId, bytes: &[u8]) -> Split<'_> {
    let mut scanner = Scanner { bytes, file, out: Split::default() };
    scanner.file();
    scanner.out
}

/// Why a value has no end: the offset at which the scanner stopped.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// The text ended.
    End,
    /// Something else stands there.
    Syntax(usize),
}

struct Scanner<'b> {
    bytes: &'b [u8],
    file: FileId,
    out: Split<'b>,
}

/// What is known of an object whose keys are being read.
#[derive(Clone, Copy, Default)]
struct Shape<'b> {
    kind: Option<&'b str>,
    api_version: Option<&'b str>,
    /// `items` was null or an array.
    items: bool,
    list: Option<u32>,
    metadata: Option<(usize, usize)>,
    /// `type` of a watch event.
    event: Option<&'b str>,
    /// `object` of a watch event.
    object: Option<usize>,
}

impl<'b> Scanner<'b> {
    fn file(&mut self) {
        let mut at = 0;
        let mut false_starts = 0;
        let mut noise = None;
        while let Some(start) = self.next_start(at) {
            let (documents, breaks) = (self.out.documents.len(), self.out.breaks.len());
            let stop = match self.value(start, None, 0) {
                Ok(end) => {
                    at = end;
                    continue;
                }
                Err(stop) => stop,
            };
            let offset = match stop {
                Stop::End => self.bytes.len(),
                Stop::Syntax(offset) => offset,
            };
            let kubernetes = self.out.documents.len() > documents || self.out.breaks.len() > breaks;
            if !kubernetes {
                // Most likely a line of a log that begins with a bracket.
                noise.get_or_insert((start, offset, stop));
                false_starts += u32::from(matches!(stop, Stop::End));
                if false_starts > MAX_FALSE_STARTS {
                    break;
                }
            }
            at = self.next_line(if kubernetes { offset.max(start + 1) } else { start + 1 });
        }
        if let Some((_, offset, stop)) = noise
            && self.out.documents.is_empty()
            && self.out.breaks.is_empty()
        {
            let at_end = matches!(stop, Stop::End);
            self.no_document(offset, at_end);
        } else if self.out.documents.is_empty() && self.out.lists.is_empty() && self.out.breaks.is_empty() {
            let text = self.skip_space(0);
            if text < self.bytes.len() && at == 0 {
                self.no_document(text, false);
            }
        }
    }

    fn no_document(&mut self, offset: usize, at_end: bool) {
        let offset = offset as u64;
        self.out.breaks.push(Break { offset, at_end, kind: None, api_version: None, no_document: true });
    }

    /// The next `{` or `[` that can begin a document: at the beginning of a line, or right behind the last document.
    fn next_start(&self, at: usize) -> Option<usize> {
        let mut at = self.skip_space(at);
        loop {
            let rest = self.bytes.get(at..)?;
            match rest.first()? {
                b'{' | b'[' => return Some(at),
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
                self.items(at, own, depth)
            }
            _ => self.skip_value(at),
        }
    }

    fn begin_list(&mut self, offset: usize, (kind, api_version): (Option<&'b str>, Option<&'b str>)) -> u32 {
        let id = u32::try_from(self.out.lists.len()).unwrap_or(u32::MAX);
        let offset = offset as u64;
        let (objects, continued, remaining, broken, nested) = (0, false, None, false, false);
        self.out.lists.push(List { offset, kind, api_version, objects, continued, remaining, broken, nested });
        id
    }

    /// The elements of the array at `at`.
    fn items(&mut self, at: usize, list: u32, depth: u32) -> Result<usize, Stop> {
        let end = self.elements(at, list, depth);
        if end.is_err() {
            self.out.lists[list as usize].broken = true;
        }
        end
    }

    fn elements(&mut self, at: usize, list: u32, depth: u32) -> Result<usize, Stop> {
        let mut at = self.skip_space(at + 1);
        if self.bytes.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
        loop {
            at = self.value(at, Some(list), depth + 1)?;
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
        let is_list = shape.items && shape.kind.is_none_or(|kind| kind.ends_with("List"));
        if is_list {
            let own = shape.list.unwrap_or_else(|| self.begin_list(start, (None, None)));
            self.finish_list(own, start, &shape, list.is_some());
            return Ok(end);
        }
        // An `items` that is none of a list's: what it holds are parts of this object.
        self.out.documents.truncate(documents);
        self.out.lists.truncate(lists);
        if let (Some(event @ ("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK")), Some(object), None) =
            (shape.event, shape.object, shape.kind)
        {
            if event != "BOOKMARK" {
                self.value(object, list, depth + 1)?;
                let removed = event == "DELETED";
                self.out.documents[documents..].iter_mut().for_each(|document| document.removed = removed);
            }
            return Ok(end);
        }
        if let Some(list) = list.and_then(|list| self.out.lists.get_mut(list as usize)) {
            list.objects += 1;
        }
        self.out.documents.push(Document {
            file: self.file,
            offset: start as u64,
            json: &self.bytes[start..end],
            kind: shape.kind,
            api_version: shape.api_version,
            list,
            removed: false,
        });
        Ok(end)
    }

    /// Notes a break, once: at the outermost object that breaks off, if it looks like one of Kubernetes'.
    fn break_off(&mut self, outermost: bool, shape: &Shape<'b>, stop: Stop) {
        if let Some(list) = shape.list.and_then(|list| self.out.lists.get_mut(list as usize)) {
            list.kind = list.kind.or(shape.kind);
            list.api_version = list.api_version.or(shape.api_version);
        }
        if outermost && (shape.items || shape.kind.is_some() || shape.api_version.is_some()) {
            let (offset, at_end) = match stop {
                Stop::End => (self.bytes.len(), true),
                Stop::Syntax(offset) => (offset, false),
            };
            let (kind, api_version) = (shape.kind, shape.api_version);
            let offset = offset as u64;
            self.out.breaks.push(Break { offset, at_end, kind, api_version, no_document: false });
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
                br#""type""# => shape.event = text(),
                br#""metadata""# => shape.metadata = Some((value, at)),
                br#""items""# => shape.items |= self.bytes[value..at] == *b"null",
                br#""object""# if self.bytes[value] == b'{' => shape.object = Some(value),
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

    fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            at += 1;
        }
        at
    }

    fn skip_string(&self, at: usize) -> Result<usize, Stop> {
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
    fn skip_value(&self, at: usize) -> Result<usize, Stop> {
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

    fn skip_brackets(&self, mut at: usize) -> Result<usize, Stop> {
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
