//! Pretty JSON for reports of many megabytes, written the way `serde_json` with [`SafeJson`] writes it, with less work for
//! each line: a report about thousands of nodes is a few hundred thousand short strings.

use super::escape::SafeJson;
use serde::ser::{self, Serialize};
use std::fmt;
use std::io::{self, Write};

/// Bytes that are held before they are written.
const BUFFER: usize = 1 << 16;

/// Writes a report.
pub fn write(report: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer { out, buffer: Vec::with_capacity(2 * BUFFER), depth: 0 };
    report.serialize(&mut writer).map_err(|failed| failed.0)?;
    writer.drain()
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    depth: usize,
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
        const BLANKS: [u8; 64] = [b' '; 64];
        if self.buffer.len() >= BUFFER {
            self.drain().map_err(Failed)?;
        }
        self.buffer.push(b'\n');
        let mut left = 2 * self.depth;
        while left > 0 {
            let some = left.min(BLANKS.len());
            self.buffer.extend_from_slice(&BLANKS[..some]);
            left -= some;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Failed> {
        // Every byte is looked at, because a loop without a way out is done for many bytes at once.
        let plain = |byte: u8| matches!(byte, b' '..=b'!' | b'#'..=b'[' | b']'..=b'~');
        if text.bytes().fold(0, |odd, byte| odd | u8::from(!plain(byte))) == 0 {
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
        if !empty {
            self.line()?;
        }
        self.buffer.push(bracket);
        Ok(())
    }

    /// `{"Variant": `.
    fn open_variant(&mut self, variant: &str) -> Result<(), Failed> {
        self.open(b'{');
        self.line()?;
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
    /// Within the object that names a variant.
    variant: bool,
}

impl<'c, 'w> Compound<'c, 'w> {
    fn new(writer: &'c mut Writer<'w>, brackets: [u8; 2]) -> Self {
        writer.open(brackets[0]);
        Compound { writer, empty: true, bracket: brackets[1], variant: false }
    }

    fn of_variant(writer: &'c mut Writer<'w>, variant: &str, brackets: [u8; 2]) -> Result<Self, Failed> {
        writer.open_variant(variant)?;
        Ok(Compound { variant: true, ..Compound::new(writer, brackets) })
    }

    fn next(&mut self) -> Result<(), Failed> {
        if !self.empty {
            self.writer.buffer.push(b',');
        }
        self.empty = false;
        self.writer.line()
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        self.next()?;
        value.serialize(&mut *self.writer)
    }

    fn field(&mut self, key: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        self.next()?;
        self.writer.text(key)?;
        self.writer.buffer.extend_from_slice(b": ");
        value.serialize(&mut *self.writer)
    }

    fn finish(self) -> Result<(), Failed> {
        self.writer.close(self.bracket, self.empty)?;
        if self.variant { self.writer.close(b'}', false) } else { Ok(()) }
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

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Failed> {
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

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'c, 'w>, Failed> {
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

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'c, 'w>, Failed> {
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
