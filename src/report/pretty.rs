//! Pretty JSON for reports of many megabytes, written the way `serde_json` with [`SafeJson`] writes it, with less work for
//! each line: a report about thousands of nodes is a few hundred thousand short strings. Rows of which there are tens of
//! thousands stand on one line each.

use super::escape::SafeJson;
use serde::ser::{self, Serialize, SerializeTupleStruct as _, Serializer};
use std::fmt;
use std::io::{self, Write};

/// Rows that stand on one line, with all that is in them: half of a long report would be the blanks before their fields.
const ON_ONE_LINE: [&str; 5] = ["Keys", "PdbChargeRow", "PossibleRow", "Status", "VictimRow"];

/// Bytes that are held before they are written.
const BUFFER: usize = 1 << 16;

/// Writes a report.
pub fn write(report: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    let buffer = Vec::with_capacity(2 * BUFFER);
    let mut writer = Writer { out, buffer, held: BUFFER, depth: 0, on_one_line: false, verbatim: false };
    report.serialize(&mut writer).map_err(|failed| failed.0)?;
    writer.drain()
}

/// Whether no byte needs an escape: all are printable ASCII, and none is a quote or a backslash. Eight at a time, because
/// most texts are names of some ten or twenty bytes.
fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).fold(0, |odd, word| odd | odd_bytes(u64::from_le_bytes(*word))) == 0
}

/// Not 0 where one of eight bytes needs an escape.
fn odd_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = 0x80 * ONES;
    // A byte that borrows or carries is odd itself, so what it does to the next does not matter.
    let below = |word: u64, bound: u8| word.wrapping_sub(u64::from(bound) * ONES) & !word & HIGH;
    let equals = |byte: u8| below(word ^ (u64::from(byte) * ONES), 1);
    let beyond = (word | word.wrapping_add(ONES)) & HIGH;
    below(word, b' ') | beyond | equals(b'"') | equals(b'\\')
}

/// The name of a tuple whose elements are pieces of a text that was written before.
const SPLICED: &str = "preempt_audit::Spliced";

struct Bytes<'b>(&'b [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Writes a value whose text was written before, in pieces that `pieces` hands over one after the other. Only for
/// [`write()`].
pub(super) fn splice<S: Serializer>(
    serializer: S,
    pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), S::Error>) -> Result<(), S::Error>,
) -> Result<S::Ok, S::Error> {
    let mut tuple = serializer.serialize_tuple_struct(SPLICED, 0)?;
    pieces(&mut |piece| tuple.serialize_field(&Bytes(piece)))?;
    tuple.end()
}

/// The text of a value on one line.
pub(super) fn one_line(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut text = Vec::new();
    add_line(&mut text, value);
    text
}

/// Adds the text of a value on one line.
pub(super) fn add_line(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let buffer = std::mem::take(text);
    let mut writer =
        Writer { out: &mut io::sink(), buffer, held: usize::MAX, depth: 0, on_one_line: true, verbatim: false };
    value.serialize(&mut writer).expect("memory takes any text, and rows have texts for keys");
    *text = writer.buffer;
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    /// Bytes that are held before they are written.
    held: usize,
    depth: usize,
    /// Whatever is written stands on one line.
    on_one_line: bool,
    /// The next bytes were written before.
    verbatim: bool,
}

/// A write that failed.
#[derive(Debug)]
struct Failed(io::Error);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Failed(io::Error::other(message.to_string()))
    }
}

impl Writer<'_> {
    fn drain(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn line(&mut self) -> Result<(), Failed> {
        const BLANKS: &[u8; 64] = b"\n                                                               ";
        if self.buffer.len() >= self.held {
            self.drain().map_err(Failed)?;
        }
        let length = 1 + 2 * self.depth;
        match BLANKS.get(..length) {
            Some(line) => self.buffer.extend_from_slice(line),
            None => {
                self.buffer.push(b'\n');
                self.buffer.resize(self.buffer.len() + length - 1, b' ');
            }
        }
        Ok(())
    }

    fn add_verbatim(&mut self, text: &[u8]) -> Result<(), Failed> {
        if text.len() > self.held.saturating_sub(self.buffer.len()) {
            self.drain().map_err(Failed)?;
        }
        if text.len() > self.held {
            return self.out.write_all(text).map_err(Failed);
        }
        self.buffer.extend_from_slice(text);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Failed> {
        if is_plain(text.as_bytes()) {
            self.buffer.push(b'"');
            self.buffer.extend_from_slice(text.as_bytes());
            self.buffer.push(b'"');
            return Ok(());
        }
        self.as_usual(text)
    }

    fn as_usual(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        let mut usual = serde_json::Serializer::with_formatter(&mut self.buffer, SafeJson::pretty());
        value.serialize(&mut usual).map_err(|error| Failed(error.into()))
    }

    fn open(&mut self, bracket: u8) {
        self.buffer.push(bracket);
        self.depth += 1;
    }

    fn close(&mut self, bracket: u8, empty: bool) -> Result<(), Failed> {
        self.depth -= 1;
        if !empty && !self.on_one_line {
            self.line()?;
        }
        self.buffer.push(bracket);
        Ok(())
    }

    /// `{"Variant": `.
    fn open_variant(&mut self, variant: &str) -> Result<(), Failed> {
        self.open(b'{');
        if !self.on_one_line {
            self.line()?;
        }
        self.text(variant)?;
        self.buffer.extend_from_slice(b": ");
        Ok(())
    }
}

/// A list or an object that is being written.
struct Compound<'c, 'w> {
    writer: &'c mut Writer<'w>,
    empty: bool,
    bracket: u8,
    form: Form,
}

/// What a compound is besides its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// Within the object that names a variant.
    OfVariant,
    /// The outermost that stands on one line.
    OnOneLine,
    /// Pieces of a text, with nothing around them and between them.
    Spliced,
}

impl<'c, 'w> Compound<'c, 'w> {
    fn new(writer: &'c mut Writer<'w>, brackets: [u8; 2]) -> Self {
        writer.open(brackets[0]);
        Compound { writer, empty: true, bracket: brackets[1], form: Form::Plain }
    }

    fn of_variant(writer: &'c mut Writer<'w>, variant: &str, brackets: [u8; 2]) -> Result<Self, Failed> {
        writer.open_variant(variant)?;
        Ok(Compound { form: Form::OfVariant, ..Compound::new(writer, brackets) })
    }

    /// What is to stand on one line.
    fn on_one_line(writer: &'c mut Writer<'w>, brackets: [u8; 2]) -> Self {
        let form = if writer.on_one_line { Form::Plain } else { Form::OnOneLine };
        writer.on_one_line = true;
        Compound { form, ..Compound::new(writer, brackets) }
    }

    fn next(&mut self) -> Result<(), Failed> {
        let first = std::mem::take(&mut self.empty);
        if self.writer.on_one_line {
            if !first {
                self.writer.buffer.extend_from_slice(b", ");
            }
            return Ok(());
        }
        if !first {
            self.writer.buffer.push(b',');
        }
        self.writer.line()
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        match self.form {
            Form::Plain | Form::OfVariant | Form::OnOneLine => self.next()?,
            Form::Spliced => self.writer.verbatim = true,
        }
        value.serialize(&mut *self.writer)
    }

    fn field(&mut self, key: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        self.next()?;
        // A field's name is ours, and no text of a dump.
        debug_assert!(is_plain(key.as_bytes()), "{key}");
        self.writer.buffer.push(b'"');
        self.writer.buffer.extend_from_slice(key.as_bytes());
        self.writer.buffer.extend_from_slice(b"\": ");
        value.serialize(&mut *self.writer)
    }

    fn finish(self) -> Result<(), Failed> {
        match self.form {
            Form::Plain => self.writer.close(self.bracket, self.empty),
            Form::OnOneLine => {
                self.writer.close(self.bracket, self.empty)?;
                self.writer.on_one_line = false;
                Ok(())
            }
            Form::OfVariant => {
                self.writer.close(self.bracket, self.empty)?;
                self.writer.close(b'}', false)
            }
            Form::Spliced => Ok(()),
        }
    }
}

const LIST: [u8; 2] = *b"[]";
const OBJECT: [u8; 2] = *b"{}";

macro_rules! as_usual {
    ($($name:ident: $type:ty),+ $(,)?) => {$(
        fn $name(self, value: $type) -> Result<(), Failed> {
            self.as_usual(&value)
        }
    )+};
}

impl<'c, 'w> ser::Serializer for &'c mut Writer<'w> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Compound<'c, 'w>;
    type SerializeTuple = Compound<'c, 'w>;
    type SerializeTupleStruct = Compound<'c, 'w>;
    type SerializeTupleVariant = Compound<'c, 'w>;
    type SerializeMap = Compound<'c, 'w>;
    type SerializeStruct = Compound<'c, 'w>;
    type SerializeStructVariant = Compound<'c, 'w>;

    as_usual! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
    }

    fn serialize_str(self, value: &str) -> Result<(), Failed> {
        self.text(value)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), Failed> {
        let begin = self.buffer.len();
        write!(self.buffer, "\"{value}\"").map_err(Failed)?;
        if is_plain(&self.buffer[begin + 1..self.buffer.len() - 1]) {
            return Ok(());
        }
        self.buffer.truncate(begin);
        self.text(&value.to_string())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Failed> {
        if std::mem::take(&mut self.verbatim) {
            return self.add_verbatim(value);
        }
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Failed> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failed> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Failed> {
        self.buffer.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Failed> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _name: &'static str, _at: u32, variant: &'static str) -> Result<(), Failed> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Failed> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.open_variant(variant)?;
        value.serialize(&mut *self)?;
        self.close(b'}', false)
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'c, 'w>, Failed> {
        Ok(Compound::new(self, LIST))
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'c, 'w>, Failed> {
        Ok(Compound::new(self, LIST))
    }

    fn serialize_tuple_struct(self, name: &'static str, _len: usize) -> Result<Compound<'c, 'w>, Failed> {
        if name == SPLICED {
            return Ok(Compound { writer: self, empty: true, bracket: LIST[1], form: Form::Spliced });
        }
        if ON_ONE_LINE.contains(&name) {
            return Ok(Compound::on_one_line(self, LIST));
        }
        Ok(Compound::new(self, LIST))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'c, 'w>, Failed> {
        Compound::of_variant(self, variant, LIST)
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'c, 'w>, Failed> {
        Ok(Compound::new(self, OBJECT))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'c, 'w>, Failed> {
        if ON_ONE_LINE.contains(&name) {
            return Ok(Compound::on_one_line(self, OBJECT));
        }
        Ok(Compound::new(self, OBJECT))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _at: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'c, 'w>, Failed> {
        Compound::of_variant(self, variant, OBJECT)
    }
}

macro_rules! list {
    ($($kind:ident :: $element:ident),+ $(,)?) => {$(
        impl ser::$kind for Compound<'_, '_> {
            type Ok = ();
            type Error = Failed;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                self.element(value)
            }

            fn end(self) -> Result<(), Failed> {
                self.finish()
            }
        }
    )+};
}

list! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field, SerializeTupleVariant::serialize_field,
}

macro_rules! object {
    ($($kind:ident),+) => {$(
        impl ser::$kind for Compound<'_, '_> {
            type Ok = ();
            type Error = Failed;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failed> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Failed> {
                self.finish()
            }
        }
    )+};
}

object! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = Failed;

    /// Keys are texts.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.next()?;
        let begin = self.writer.buffer.len();
        key.serialize(&mut *self.writer)?;
        match self.writer.buffer.get(begin) {
            Some(b'"') => Ok(()),
            Some(_) | None => Err(ser::Error::custom("a key that is no text")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.writer.buffer.extend_from_slice(b": ");
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Failed> {
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Every {
        Unit,
        One(Option<i64>),
        Two(u8, char),
        Fields { empty: Vec<u8>, text: &'static str },
    }

    #[derive(Serialize)]
    struct Report {
        texts: Vec<&'static str>,
        numbers: (i64, u64, f64, f32, f64),
        every: Vec<Every>,
        map: BTreeMap<&'static str, BTreeMap<String, bool>>,
        nothing: (),
        deep: Vec<Vec<Vec<Option<&'static str>>>>,
    }

    fn report() -> Report {
        let texts =
            ["", "plain", "\"quoted\\\"", "a\u{202e}b", "\x7f", "\u{e0041}", "日本", "\x1b[2J\t\n\r\u{8}\u{c}\0", "é"];
        Report {
            texts: texts.to_vec(),
            numbers: (i64::MIN, u64::MAX, 0.1 + 0.2, 1e30, f64::NAN),
            every: vec![
                Every::Unit,
                Every::One(None),
                Every::One(Some(-7)),
                Every::Two(1, '\u{202e}'),
                Every::Fields { empty: Vec::new(), text: "x" },
            ],
            map: [("", BTreeMap::new()), ("k\"", [("t".to_owned(), true)].into())].into(),
            nothing: (),
            deep: vec![vec![], vec![vec![], vec![None, Some("x")]]],
        }
    }

    fn usual(report: &impl Serialize) -> String {
        let mut text = Vec::new();
        report.serialize(&mut serde_json::Serializer::with_formatter(&mut text, SafeJson::pretty())).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_form_is_written_as_serde_json_writes_it() {
        let mut text = Vec::new();
        write(&report(), &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), usual(&report()));
    }

    #[test]
    fn plain_is_what_needs_no_escape() {
        for length in 0..20 {
            assert!(is_plain(&vec![b'x'; length]));
            for (at, byte) in (0..length).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                let mut text = vec![b'~'; length];
                text[at] = byte;
                let plain = matches!(byte, b' '..=b'!' | b'#'..=b'[' | b']'..=b'~');
                assert_eq!(is_plain(&text), plain, "{byte} at {at} of {length}");
            }
        }
    }

    #[test]
    fn rows_of_which_there_are_many_stand_on_one_line() {
        #[derive(Serialize)]
        struct Status {
            reasons: Vec<&'static str>,
            none: Vec<u8>,
            every: Every,
            within: Option<Box<Status>>,
        }
        let row = |within| Status { reasons: vec!["a", "b"], none: vec![], every: Every::Two(1, 'x'), within };
        let rows = [row(Some(Box::new(row(None)))), row(None)];
        let mut text = Vec::new();
        write(&BTreeMap::from([("rows", &rows)]), &mut text).unwrap();
        let inner = r#"{"reasons": ["a", "b"], "none": [], "every": {"Two": [1, "x"]}, "within": null}"#;
        let outer = inner.replace("null", inner);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, format!("{{\n  \"rows\": [\n    {outer},\n    {inner}\n  ]\n}}"));
        let otherwise = serde_json::to_value(BTreeMap::from([("rows", &rows)])).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), otherwise);
        assert_eq!(one_line(&rows), format!("[{outer}, {inner}]").into_bytes());
    }

    #[test]
    fn a_text_in_pieces_is_written_as_the_value_is() {
        struct Pieces(Vec<u8>);
        impl Serialize for Pieces {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let (head, rest) = self.0.split_at(self.0.len() / 3);
                splice(serializer, |add| [head, b"", rest].into_iter().try_for_each(add))
            }
        }
        let many: Vec<Report> = (0..500).map(|_| report()).collect();
        let (short, long) = (Pieces(one_line(&report())), Pieces(one_line(&many)));
        assert!(long.0.len() > 2 * BUFFER);
        let mut text = Vec::new();
        write(&(&long, [&short, &short], 1, &long), &mut text).unwrap();
        let [short, long] = [&short, &long].map(|it| std::str::from_utf8(&it.0).unwrap());
        let expected = format!("[\n  {long},\n  [\n    {short},\n    {short}\n  ],\n  1,\n  {long}\n]");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_report_longer_than_the_buffer_is_written_whole() {
        let many: Vec<Report> = (0..200).map(|_| report()).collect();
        let mut text = Vec::new();
        write(&many, &mut text).unwrap();
        assert!(text.len() > 2 * BUFFER);
        assert_eq!(String::from_utf8(text).unwrap(), usual(&many));
    }

    #[test]
    fn a_key_that_is_no_text_and_a_reader_that_is_gone_are_errors() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(write(&BTreeMap::from([(1, 2)]), &mut Vec::new()).is_err());
        assert_eq!(write(&report(), &mut Gone).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
