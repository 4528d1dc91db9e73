//! YAML to JSON, as kubectl and the API server read it: YAML 1.1 scalars, merge keys, several documents.
//!
//! The JSON keeps the lines of the YAML: each token stands on the line of the token it came from, so a place in the
//! JSON text names the right line of the file without any table. Upstream: `sigs.k8s.io/yaml` (goyaml.v2).

use super::meter::{Meter, Share};
use super::yaml_scalar::{self, Plain};
use rustc_hash::FxHashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Deepest nesting that is read. Kubernetes' own objects stay below 40; the JSON reader behind us stops at 128.
const MAX_DEPTH: usize = 120;

/// What the aliases of a text may expand to: this and ten times the text.
const EXPANSION_ALLOWANCE: usize = 16 << 20;

/// What a text became.
#[derive(Debug, Default)]
pub struct Converted {
    /// One JSON value a document, each on the lines of its YAML. A document that broke off ends where it broke off.
    pub json: String,
    /// What could not be read, in order.
    pub troubles: Vec<Trouble>,
}

/// A place where a text is not YAML, or not of the kind that JSON can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong, lower case, no full stop.
    pub message: String,
}

/// Converts all documents of a text. A document that cannot be read does not cost the ones after it.
pub fn to_json(text: &str) -> Converted {
    to_json_counted(text, &Meter::default().share(0))
}

/// The same, counting the bytes that are read.
pub(crate) fn to_json_counted(text: &str, share: &Share<'_>) -> Converted {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut writer = Writer::new(text.len());
    let mut at = 0;
    for section in sections(text) {
        share.reach(at);
        writer.catch_up(section.line);
        if is_directives(section.text) {
            // What stands before the first `---` of a text that says its version of YAML.
        } else if is_json(section.text) {
            // Tabs are no indentation in YAML, but white space in JSON, which people paste into YAML files.
            writer.copy_lines(section.text);
        } else if let Err(trouble) = writer.section(&section, |index| share.reach(at + index as u64)) {
            writer.abandon();
            writer.troubles.push(trouble);
        }
        at += section.text.len() as u64;
    }
    Converted { json: writer.out, troubles: writer.troubles }
}

/// The JSON of a configuration file, which is no good in parts: its first trouble is an error.
pub fn strict(text: &str) -> Result<String, Trouble> {
    let converted = to_json(text);
    match converted.troubles.into_iter().next() {
        Some(trouble) => Err(trouble),
        None => Ok(converted.json),
    }
}

/// The text between two `---` lines. Such a line ends a document whatever stands before it, so that documents can be
/// told apart before any is read; upstream's reader does the same.
struct Section<'t> {
    text: &'t str,
    /// Line of its first byte, from 1.
    line: usize,
}

fn sections(text: &str) -> impl Iterator<Item = Section<'_>> {
    let mut rest = Some((text, 1));
    std::iter::from_fn(move || {
        let (text, line) = rest.take()?;
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&text.as_bytes()[from..], b"\n---") {
            let end = from + at + 1;
            if matches!(text.as_bytes().get(end + 3), None | Some(b' ' | b'\t' | b'\r' | b'\n')) {
                let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[..end]).count();
                rest = Some((&text[end..], line + lines));
                return Some(Section { text: &text[..end], line });
            }
            from = end;
        }
        Some(Section { text, line })
    })
}

/// Whether a section holds directives and comments only.
fn is_directives(text: &str) -> bool {
    text.starts_with('%') && text.lines().all(|line| line.trim().is_empty() || line.starts_with(['%', '#']))
}

fn is_json(text: &str) -> bool {
    let text = text.strip_prefix("---").unwrap_or(text).trim();
    text.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// A collection that is being written.
struct Frame {
    /// Where its text begins.
    start: usize,
    anchor: usize,
    empty: bool,
    kind: FrameKind,
}

enum FrameKind {
    Sequence,
    Mapping {
        /// The next scalar is a key.
        at_key: bool,
        /// The value being written belongs to a `<<` and began here.
        merging_from: Option<usize>,
        /// Members that `<<` brought, the first of a name only.
        merged: BTreeMap<String, String>,
    },
}

/// What the outermost map of a document has said so far, to tell a list that was cut: kubectl writes `apiVersion`,
/// `items`, `kind`, `metadata`, and a cut between two lines of the items leaves good YAML behind.
#[derive(Default)]
struct Root {
    api_version: bool,
    kind: bool,
    /// The last key was `items`.
    at_items: bool,
    /// Where the text of the items ends, before the bracket.
    items_end: Option<usize>,
}

struct Writer {
    out: String,
    /// The line that `out` has reached.
    line: usize,
    /// Bytes that aliases may still expand to.
    allowance: usize,
    frames: Vec<Frame>,
    /// Complete anchored values of the document at hand, as ranges of `out`.
    anchors: FxHashMap<usize, Range<usize>>,
    root: Root,
    troubles: Vec<Trouble>,
}

impl Writer {
    fn new(size: usize) -> Self {
        Writer {
            out: String::with_capacity(size),
            line: 1,
            allowance: size.saturating_mul(10).saturating_add(EXPANSION_ALLOWANCE),
            frames: Vec::new(),
            anchors: FxHashMap::default(),
            root: Root::default(),
            troubles: Vec::new(),
        }
    }

    fn section(&mut self, section: &Section<'_>, reached: impl Fn(usize)) -> Result<(), Trouble> {
        let base = section.line - 1;
        let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(section.text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| broken(&error, base))?;
            let line = base + span.start.line();
            reached(span.start.index());
            self.event(event, line).map_err(|message| Trouble { line: line as u64, message })?;
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => {
                self.anchors.clear();
                self.root = Root::default();
            }
            Event::Alias(anchor) => self.alias(anchor, line)?,
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_ref().filter(|tag| tag.is_yaml_core_schema()).map(|tag| tag.suffix.as_str());
                self.scalar(&text, style, anchor, tag, line)?;
            }
            Event::SequenceStart(anchor, _) => self.open(FrameKind::Sequence, anchor, line)?,
            Event::MappingStart(anchor, _) => {
                let kind = FrameKind::Mapping { at_key: true, merging_from: None, merged: BTreeMap::new() };
                self.open(kind, anchor, line)?;
            }
            Event::SequenceEnd => self.close(']')?,
            Event::MappingEnd => self.close('}')?,
        }
        Ok(())
    }

    /// Brings the output to a line. Tokens come in the order of their lines.
    fn catch_up(&mut self, line: usize) {
        while self.line < line {
            self.out.push('\n');
            self.line += 1;
        }
    }

    fn at_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { kind: FrameKind::Mapping { at_key: true, .. }, .. }))
    }

    /// Separates a key or an element from the one before it.
    fn separate(&mut self) {
        let Some(frame) = self.frames.last_mut() else {
            // Documents of one text stand apart even where they are bare scalars.
            self.out.push(' ');
            return;
        };
        let separated = match &frame.kind {
            FrameKind::Sequence => true,
            FrameKind::Mapping { at_key, .. } => *at_key,
        };
        if separated && !std::mem::replace(&mut frame.empty, false) {
            self.out.push(',');
        }
    }

    fn open(&mut self, kind: FrameKind, anchor: usize, line: usize) -> Result<(), String> {
        if self.at_key() {
            return Err("a key is a list or a map, which JSON does not know".to_owned());
        }
        if self.frames.len() >= MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        self.separate();
        self.catch_up(line);
        let start = self.out.len();
        self.out.push(if matches!(kind, FrameKind::Sequence) { '[' } else { '{' });
        self.frames.push(Frame { start, anchor, empty: true, kind });
        Ok(())
    }

    fn close(&mut self, bracket: char) -> Result<(), String> {
        let frame = self.frames.pop().expect("the parser closes only what it opened");
        if let FrameKind::Mapping { merged, .. } = &frame.kind
            && !merged.is_empty()
        {
            self.write_merged(frame.start, frame.empty, merged)?;
        }
        match self.frames.len() {
            0 => self.check_whole()?,
            1 if self.root.at_items => self.root.items_end = Some(self.out.len()),
            _ => {}
        }
        self.out.push(bracket);
        self.value_done(frame.start, frame.anchor)
    }

    /// Refuses a list that was cut between two lines. Its last item is opened again: nobody knows whether it was whole.
    fn check_whole(&mut self) -> Result<(), String> {
        match self.root {
            Root { api_version: true, kind: false, at_items: true, items_end: Some(end) } => {
                self.out.truncate(if self.out[..end].ends_with('}') { end - 1 } else { end });
                Err("the list breaks off: no `kind` follows its items".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&str>,
        line: usize,
    ) -> Result<(), String> {
        let plain = match (tag, style) {
            (Some("str" | "binary"), _) => Plain::Text,
            (None, ScalarStyle::Plain) | (Some(_), _) => yaml_scalar::resolve(text),
            (None, _) => Plain::Text,
        };
        if self.at_key() {
            return self.key(text, &plain, style, anchor, line);
        }
        if self.frames.is_empty() && text.is_empty() {
            return Ok(());
        }
        self.separate();
        self.catch_up(line);
        let start = self.out.len();
        match plain {
            Plain::Null => self.out.push_str("null"),
            Plain::Bool(true) => self.out.push_str("true"),
            Plain::Bool(false) => self.out.push_str("false"),
            Plain::Number(number) => self.out.push_str(&number),
            Plain::Text => self.string(text)?,
        }
        self.value_done(start, anchor)
    }

    fn key(
        &mut self,
        text: &str,
        plain: &Plain<'_>,
        style: ScalarStyle,
        anchor: usize,
        line: usize,
    ) -> Result<(), String> {
        if text == "<<" && style == ScalarStyle::Plain {
            let position = self.out.len();
            if let Some(Frame { kind: FrameKind::Mapping { at_key, merging_from, .. }, .. }) = self.frames.last_mut() {
                *at_key = false;
                *merging_from = Some(position);
            }
            return Ok(());
        }
        self.separate();
        self.catch_up(line);
        let start = self.out.len();
        let text: Cow<'_, str> = match plain {
            Plain::Bool(value) => Cow::Owned(value.to_string()),
            Plain::Null | Plain::Number(_) | Plain::Text => Cow::Borrowed(text),
        };
        self.string(&text)?;
        if self.frames.len() == 1 {
            self.root.at_items = text == "items";
            self.root.api_version |= text == "apiVersion";
            self.root.kind |= text == "kind";
        }
        self.key_done(start, anchor);
        Ok(())
    }

    fn key_done(&mut self, start: usize, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, start..self.out.len());
        }
        self.out.push(':');
        if let Some(Frame { kind: FrameKind::Mapping { at_key, .. }, .. }) = self.frames.last_mut() {
            *at_key = false;
        }
    }

    fn alias(&mut self, anchor: usize, line: usize) -> Result<(), String> {
        let range = self.anchors.get(&anchor).cloned().ok_or("an alias stands inside of its own anchor")?;
        self.allowance =
            self.allowance.checked_sub(range.len()).ok_or("the aliases of this file expand without end")?;
        let copy = self.out[range].replace('\n', " ");
        self.separate();
        self.catch_up(line);
        let start = self.out.len();
        if !self.at_key() {
            self.out.push_str(&copy);
            return self.value_done(start, 0);
        }
        match copy.as_bytes().first() {
            Some(b'"') => self.out.push_str(&copy),
            Some(b'{' | b'[') => return Err("a key is a list or a map, which JSON does not know".to_owned()),
            _ => self.string(&copy)?,
        }
        self.key_done(start, 0);
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), String> {
        let quoted = serde_json::to_string(text).map_err(|error| error.to_string())?;
        self.out.push_str(&quoted);
        Ok(())
    }

    /// A value that began at `start` is complete.
    fn value_done(&mut self, start: usize, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            self.anchors.insert(anchor, start..self.out.len());
        }
        let Some(Frame { kind: FrameKind::Mapping { at_key, merging_from, merged }, .. }) = self.frames.last_mut()
        else {
            return Ok(());
        };
        *at_key = true;
        if let Some(from) = merging_from.take() {
            take_merged(&self.out[from..], merged)?;
            // What `<<` names is written at the end of the map; here it leaves no trace.
            self.line -= memchr::memchr_iter(b'\n', &self.out.as_bytes()[from..]).count();
            self.out.truncate(from);
            self.anchors.retain(|_, range| range.end <= from);
        }
        Ok(())
    }

    /// Adds what `<<` brought and the map does not say itself.
    fn write_merged(&mut self, start: usize, empty: bool, merged: &BTreeMap<String, String>) -> Result<(), String> {
        let own = format!("{}}}", &self.out[start..]);
        let own: BTreeMap<String, &RawValue> = serde_json::from_str(&own).map_err(|error| error.to_string())?;
        let mut first = empty;
        for (name, value) in merged.iter().filter(|(name, _)| !own.contains_key(*name)) {
            self.allowance = self
                .allowance
                .checked_sub(name.len() + value.len())
                .ok_or("the aliases of this file expand without end")?;
            if !std::mem::replace(&mut first, false) {
                self.out.push(',');
            }
            self.string(name)?;
            self.out.push(':');
            self.out.push_str(value);
        }
        Ok(())
    }

    /// Text that is JSON already, from the line that `catch_up` reached.
    fn copy_lines(&mut self, text: &str) {
        self.out.push_str(text.strip_prefix("---").unwrap_or(text));
        self.line += memchr::memchr_iter(b'\n', text.as_bytes()).count();
    }

    /// Leaves a document that cannot be read on. What was written of it stays, cut where it broke.
    fn abandon(&mut self) {
        self.frames.clear();
        self.anchors.clear();
        // A record separator is no JSON, so that the next document is never read as a part of this one.
        self.out.push('\u{1e}');
    }
}

/// The members of a map, or of each map of a list, that no earlier one named.
fn take_merged(text: &str, into: &mut BTreeMap<String, String>) -> Result<(), String> {
    let wrong = |_| "`<<` merges something that is not a map".to_owned();
    let text = text.trim_start();
    let maps: Vec<BTreeMap<String, &RawValue>> = if text.starts_with('[') {
        serde_json::from_str(text).map_err(wrong)?
    } else {
        vec![serde_json::from_str(text).map_err(wrong)?]
    };
    for (name, value) in maps.into_iter().flatten() {
        into.entry(name).or_insert_with(|| value.get().replace('\n', " "));
    }
    Ok(())
}

fn broken(error: &ScanError, base: usize) -> Trouble {
    Trouble { line: (base + error.marker().line()) as u64, message: error.info().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn values(text: &str) -> Vec<Value> {
        let converted = to_json(text);
        assert_eq!(converted.troubles, [], "{text}");
        serde_json::Deserializer::from_str(&converted.json).into_iter().map(|value| value.expect("JSON")).collect()
    }

    fn value(text: &str) -> Value {
        values(text).pop().expect("a document")
    }

    fn trouble(text: &str) -> Trouble {
        to_json(text).troubles.into_iter().next().expect("a trouble")
    }

    #[test]
    fn scalars_are_read_as_yaml_1_1() {
        assert_eq!(
            value(
                "a: yes\nb: Off\nc: 0777\nd: 2e+09\ne: ~\nf:\ng: '2'\nh: 1_000\ni: 0.5\nj: 2024-01-02T03:04:05Z\nk: !!str 7\n"
            ),
            json!({"a": true, "b": false, "c": 511, "d": 2_000_000_000, "e": null, "f": null, "g": "2", "h": 1000,
                "i": 0.5, "j": "2024-01-02T03:04:05Z", "k": "7"})
        );
    }

    #[test]
    fn tokens_keep_their_lines() {
        let yaml =
            "# a list\nitems:\n- name: a\n\n  labels: {x: y}\n- name: |\n    two\n    lines\n  last: 1\n---\nkind: B\n";
        let json = to_json(yaml).json;
        let line = |word: &str| json.lines().position(|line| line.contains(word)).map(|at| at + 1);
        assert_eq!(
            [line("\"a\""), line("labels"), line("two"), line("last"), line("\"kind\"")],
            [Some(3), Some(5), Some(7), Some(9), Some(11)]
        );
    }

    #[test]
    fn documents_are_told_apart() {
        assert_eq!(values("---\na: 1\n---\n---\n{\"b\":\t2}\n--- # c\nc: 3\n...\n").len(), 3);
        assert_eq!(values("a: |\n  ---\n  x\nb: 1\n"), [json!({"a": "---\nx\n", "b": 1})]);
    }

    #[test]
    fn anchors_and_merge_keys_expand() {
        let text = "base: &base {a: 1, b: 2}\nw:\n  <<: *base\n  b: 3\nx: *base\nz:\n  <<: [*base, {c: 4}]\n";
        let base = json!({"a": 1, "b": 2});
        assert_eq!(value(text), json!({"base": base, "w": {"b": 3, "a": 1}, "x": base, "z": {"a": 1, "b": 2, "c": 4}}));
    }

    #[test]
    fn an_alias_bomb_ends_early() {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..20 {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 10].join(", ");
            text = format!("{text}a{level}: &a{level} [{aliases}]\n");
        }
        let converted = to_json(&text);
        assert!(converted.troubles[0].message.contains("without end"));
        assert!(converted.json.len() < 2 * EXPANSION_ALLOWANCE);
    }

    #[test]
    fn an_alias_of_itself_is_refused() {
        assert!(trouble("a: &a [*a]\n").message.contains("its own anchor"));
    }

    #[test]
    fn a_broken_document_costs_only_itself() {
        let converted = to_json("a: 1\n---\nb: [1, 2\nc: }\n---\nd: 4\n");
        assert_eq!(converted.troubles.len(), 1);
        assert!((3..=5).contains(&converted.troubles[0].line), "{converted:?}");
        assert!(converted.json.ends_with("\n{\"d\":4}"), "{converted:?}");
    }

    #[test]
    fn a_list_cut_between_two_lines_is_no_whole_list() {
        let whole = "apiVersion: v1\nitems:\n- kind: Pod\n  a: 1\n- kind: Pod\n  b: 2\nkind: List\n";
        assert_eq!(to_json(whole).troubles, []);
        let cut = to_json(whole.strip_suffix("kind: List\n").expect("it ends so"));
        assert!(cut.troubles[0].message.contains("breaks off"));
        assert!(cut.json.contains("{\"kind\":\"Pod\",\n\"a\":1},"), "{cut:?}");
        assert!(cut.json.ends_with("\"b\":2\u{1e}"), "{cut:?}");
    }

    #[test]
    fn tabs_name_their_line() {
        let trouble = trouble("a:\n\tb: 1\n");
        assert_eq!(trouble.line, 2, "{trouble:?}");
    }

    #[test]
    fn deep_nesting_is_bounded() {
        assert!(trouble(&"[".repeat(200)).message.contains("deep"));
        let lists: Vec<String> = (0..200).map(|depth| " ".repeat(depth) + "a:").collect();
        assert!(trouble(&lists.join("\n")).message.contains("deep"));
        assert!(to_json(&"[".repeat(1_000_000)).json.len() < 1000);
    }
}
