//! A quick reader of JSON. Most of a dump is never asked for, so it finds the tokens of a whole text first, many bytes at
//! a time, and goes from token to token.
//!
//! What it reads, `serde_json` reads the same way: passed-over values are checked as well, number by number and comma by
//! comma. It says nothing about a text that it does not read: that may be no JSON, or not what was asked for, or something
//! seldom such as a struct written as an array. Then `serde_json` is asked, which knows the place and the reason.

use crate::source::tokens::Tokens;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Visitor};
use std::cell::RefCell;
use std::fmt;

/// Reads a whole text; `None` says nothing but that somebody else has to.
pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Option<T> {
    thread_local! {
        static TOKENS: RefCell<Tokens> = RefCell::default();
    }
    TOKENS.with(|tokens| {
        let mut tokens = tokens.try_borrow_mut().ok()?;
        tokens.find(json).ok()?;
        let mut reader =
            Reader { json, tokens: tokens.offsets(), at: 0, escapes: tokens.has_escapes(), ascii: tokens.is_ascii() };
        let value = T::deserialize(&mut reader).ok()?;
        (reader.at == reader.tokens.len()).then_some(value)
    })
}

/// Not read: why, `serde_json` will say.
#[derive(Debug)]
struct Unread;

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not read")
    }
}

impl std::error::Error for Unread {}

impl de::Error for Unread {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Unread
    }
}

type Read<T> = Result<T, Unread>;

struct Reader<'de, 't> {
    json: &'de [u8],
    /// Where the tokens begin.
    tokens: &'t [u32],
    /// The next token.
    at: usize,
    /// Some string has an escape.
    escapes: bool,
    /// All of the text is ASCII.
    ascii: bool,
}

/// Objects and arrays that stand in each other, at most [`MAX_DEPTH`]: a bit for each, set for an object.
struct Nesting(u128);

/// How deep a value that is passed over may go.
const MAX_DEPTH: u32 = 127;

impl Nesting {
    fn open(&mut self, object: bool) -> Read<()> {
        if self.0.leading_zeros() == 128 - MAX_DEPTH {
            return Err(Unread);
        }
        self.0 = self.0 << 1 | u128::from(object);
        Ok(())
    }

    fn is_in_object(&self) -> bool {
        self.0 & 1 == 1
    }
}

impl<'de> Reader<'de, '_> {
    /// Offset of a token; the end of the text behind the last one.
    fn offset(&self, token: usize) -> usize {
        self.tokens.get(token).map_or(self.json.len(), |offset| *offset as usize)
    }

    /// The byte with which the next token begins, 0 at the end: there is none in JSON outside strings.
    fn peek(&self) -> u8 {
        self.json.get(self.offset(self.at)).copied().unwrap_or(0)
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.peek() != byte {
            return Err(Unread);
        }
        self.at += 1;
        Ok(())
    }

    /// The number or word that is the next token.
    fn word(&mut self) -> &'de [u8] {
        let (begin, end) = (self.offset(self.at), self.offset(self.at + 1));
        self.at += 1;
        let rest = self.json.get(begin..end).unwrap_or_default();
        let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let length = rest.iter().position(space).unwrap_or(rest.len());
        &rest[..length]
    }

    /// The string that is the next token, with its quotes.
    fn quoted(&mut self) -> Read<&'de [u8]> {
        let (begin, end) = (self.offset(self.at), self.offset(self.at + 1));
        let rest = self.json.get(begin..end).filter(|rest| rest.first() == Some(&b'"')).ok_or(Unread)?;
        self.at += 1;
        // Behind the string there is only space.
        let last = rest.iter().rposition(|byte| *byte == b'"').ok_or(Unread)?;
        Ok(&rest[..=last])
    }

    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Read<V::Value> {
        let quoted = self.quoted()?;
        if self.escapes && memchr::memchr(b'\\', quoted).is_some() {
            let text: String = serde_json::from_slice(quoted).map_err(|_reason| Unread)?;
            return visitor.visit_str(&text);
        }
        let text = quoted.get(1..quoted.len() - 1).and_then(|text| std::str::from_utf8(text).ok());
        visitor.visit_borrowed_str(text.ok_or(Unread)?)
    }

    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Read<V::Value> {
        let word = self.word();
        if let Some(number) = small_integer(word) {
            return match u64::try_from(number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_negative) => visitor.visit_i64(number),
            };
        }
        // What `serde_json` would have read in this place.
        let number: serde_json::Number = serde_json::from_slice(word).map_err(|_reason| Unread)?;
        if let Some(number) = number.as_u64() {
            visitor.visit_u64(number)
        } else if let Some(number) = number.as_i64() {
            visitor.visit_i64(number)
        } else {
            visitor.visit_f64(number.as_f64().ok_or(Unread)?)
        }
    }

    fn bool(&mut self) -> Read<bool> {
        match self.word() {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(Unread),
        }
    }

    fn null(&mut self) -> Read<()> {
        if self.word() == b"null" { Ok(()) } else { Err(Unread) }
    }

    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Read<V::Value> {
        self.expect(b'{')?;
        let mut members = Inside { reader: self, first: true };
        let value = visitor.visit_map(&mut members)?;
        self.expect(b'}')?;
        Ok(value)
    }

    fn array<V: Visitor<'de>>(&mut self, visitor: V) -> Read<V::Value> {
        self.expect(b'[')?;
        let mut elements = Inside { reader: self, first: true };
        let value = visitor.visit_seq(&mut elements)?;
        self.expect(b']')?;
        Ok(value)
    }

    fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Read<V::Value> {
        match self.peek() {
            b'"' => self.string(visitor),
            b'{' => self.map(visitor),
            b'[' => self.array(visitor),
            b't' | b'f' => visitor.visit_bool(self.bool()?),
            b'n' => {
                self.null()?;
                visitor.visit_unit()
            }
            _ => self.number(visitor),
        }
    }

    /// Passes over a value.
    fn skip(&mut self) -> Read<()> {
        let mut nesting = Nesting(1);
        loop {
            let opened = self.peek();
            match opened {
                b'"' => self.at += 1,
                b'{' | b'[' => {
                    self.at += 1;
                    let object = opened == b'{';
                    if self.peek() == if object { b'}' } else { b']' } {
                        self.at += 1;
                    } else {
                        nesting.open(object)?;
                        if object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                _ => check_word(self.word())?,
            }
            if self.skip_ends(&mut nesting)? {
                return Ok(());
            }
        }
    }

    /// Goes on behind a value that is passed over: `true` if it was the outermost.
    fn skip_ends(&mut self, nesting: &mut Nesting) -> Read<bool> {
        while nesting.0 != 1 {
            let object = nesting.is_in_object();
            let next = self.peek();
            self.at += 1;
            if next == b',' {
                if object {
                    self.key()?;
                }
                return Ok(false);
            }
            if next != if object { b'}' } else { b']' } {
                return Err(Unread);
            }
            nesting.0 >>= 1;
        }
        Ok(true)
    }

    /// Passes over a key and the colon behind it.
    fn key(&mut self) -> Read<()> {
        self.expect(b'"')?;
        self.expect(b':')
    }
}

/// An integer that needs no thought.
fn small_integer(word: &[u8]) -> Option<i64> {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let plain = match digits {
        [b'0'] => digits.len() == word.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 18 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !plain {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if digits.len() == word.len() { number } else { -number })
}

/// Whether a number or word is one of JSON's.
fn check_word(word: &[u8]) -> Read<()> {
    let valid = match word {
        b"true" | b"false" | b"null" => true,
        _ => is_number(word),
    };
    if valid { Ok(()) } else { Err(Unread) }
}

fn is_number(word: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = if let [b'+' | b'-', exponent @ ..] = exponent { exponent } else { exponent };
        let count = digits(exponent);
        if count == 0 {
            return false;
        }
        rest = &exponent[count..];
    }
    rest.is_empty()
}

/// The members of an object, or the elements of an array.
struct Inside<'r, 'de, 't> {
    reader: &'r mut Reader<'de, 't>,
    first: bool,
}

impl Inside<'_, '_, '_> {
    /// Whether another one stands before the closing bracket, which is left to be read; its comma is not.
    fn goes_on(&mut self, close: u8) -> Read<bool> {
        if self.reader.peek() == close {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.first, false) {
            self.reader.expect(b',')?;
            // What follows a comma is another one.
            if self.reader.peek() == close {
                return Err(Unread);
            }
        }
        Ok(true)
    }
}

impl<'de> de::MapAccess<'de> for &mut Inside<'_, 'de, '_> {
    type Error = Unread;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        if !self.goes_on(b'}')? {
            return Ok(None);
        }
        if self.reader.peek() != b'"' {
            return Err(Unread);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Read<V::Value> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> de::SeqAccess<'de> for &mut Inside<'_, 'de, '_> {
    type Error = Unread;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        if self.goes_on(b']')? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let value = self.bool()?;
        visitor.visit_bool(value)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.number(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if !self.ascii || self.escapes {
            return self.string(visitor);
        }
        // Names of fields are compared as bytes.
        let quoted = self.quoted()?;
        visitor.visit_borrowed_bytes(quoted.get(1..quoted.len() - 1).ok_or(Unread)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if self.peek() == b'n' {
            self.null()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Read<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.array(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }

    // What the structs of this crate do not ask for, or only as they ask for anything.
    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char string bytes byte_buf unit unit_struct tuple tuple_struct enum
    }
}
