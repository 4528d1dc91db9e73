//! Where the tokens of a JSON text begin.

use super::blocks::{self, BLOCK, Classes, Strings, Work};

/// A longer text is for others to read: the offsets take four times its room, and an API server stores no object that is
/// a tenth as long.
const LONGEST: usize = 16 << 20;

/// The tokens of one text: brackets, separators, and the first bytes of strings, numbers and words. The buffer serves one
/// text after the other.
#[derive(Default)]
pub struct Tokens {
    /// Offsets, as far as `count` goes.
    offsets: Vec<u32>,
    count: usize,
    escapes: bool,
    ascii: bool,
}

/// The text is no JSON, or long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTokens;

impl Tokens {
    /// Finds the tokens. Strings are checked: they end, hold no control characters and only such escapes as JSON has. Whether
    /// tokens follow each other as they should is for whoever reads them, and so is what numbers and words say; bytes above
    /// ASCII are taken as they come.
    pub fn find(&mut self, text: &[u8]) -> Result<(), NotTokens> {
        if text.len() > LONGEST {
            return Err(NotTokens);
        }
        // As if every byte were a token: a buffer of that size is kept from one text to the next.
        let most = text.len().next_multiple_of(BLOCK);
        if self.offsets.len() < most {
            self.offsets.resize(most, 0);
        }
        (self.count, self.escapes, self.ascii) = (0, false, true);
        blocks::work(Find { tokens: self, text })
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
    fn find_by(&mut self, text: &[u8], classify: impl Fn(&[u8; BLOCK]) -> Classes) -> Result<(), NotTokens> {
        let mut strings = Strings::default();
        let mut word_goes_on = 0;
        let (whole, last) = blocks::of(text);
        // No closure: it would not be made for the processor.
        for (at, block) in whole.iter().chain(&last).enumerate() {
            let offset = at * BLOCK;
            let classes = classify(block);
            let quoted = strings.follow(&classes);
            self.ascii &= !classes.above;
            if quoted.escapes != 0 {
                self.escapes = true;
                if !are_escapes(text, offset, quoted.escapes) {
                    return Err(NotTokens);
                }
            }
            if classes.control & quoted.inside != 0 || (classes.rare_control && !are_spaces(block, classes.control)) {
                return Err(NotTokens);
            }
            let outside = !(quoted.inside | quoted.quotes);
            let punctuation = classes.punctuation & outside;
            let word = outside & !(punctuation | classes.blank | classes.control);
            let begins = word & !(word << 1 | word_goes_on);
            word_goes_on = word >> 63;
            self.push(offset, punctuation | begins | (quoted.quotes & quoted.inside));
        }
        if strings.is_open() { Err(NotTokens) } else { Ok(()) }
    }

    /// The offsets of the tokens, in order.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets[..self.count]
    }

    /// Some string has an escape.
    pub fn has_escapes(&self) -> bool {
        self.escapes
    }

    /// Every byte is ASCII.
    pub fn is_ascii(&self) -> bool {
        self.ascii
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
    #[expect(clippy::cast_possible_truncation, reason = "no text is longer than offsets go")]
    fn push(&mut self, offset: usize, mut begins: u64) {
        let Some(slots) = self.offsets[self.count..].first_chunk_mut::<BLOCK>() else {
            // Only near the end of a text whose every byte is a token.
            return self.push_few(offset, begins);
        };
        self.count += begins.count_ones() as usize;
        // Some too many, which the next ones overwrite, cost less than to guess their number.
        for eight in slots.chunks_exact_mut(8) {
            for slot in eight {
                *slot = offset as u32 + begins.trailing_zeros();
                begins &= begins.wrapping_sub(1);
            }
            if begins == 0 {
                break;
            }
        }
    }

    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "no text is longer than offsets go")]
    fn push_few(&mut self, offset: usize, mut begins: u64) {
        while begins != 0 {
            self.offsets[self.count] = offset as u32 + begins.trailing_zeros();
            self.count += 1;
            begins &= begins - 1;
        }
    }
}

/// Looks for the tokens of a text.
struct Find<'t, 'b> {
    tokens: &'t mut Tokens,
    text: &'b [u8],
}

impl Work for Find<'_, '_> {
    type Output = Result<(), NotTokens>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
    fn run(self, classify: impl Fn(&[u8; BLOCK]) -> Classes) -> Self::Output {
        self.tokens.find_by(self.text, classify)
    }
}

/// Escapes are `\n` and the like, or `\u` and four hexadecimal digits.
#[cold]
fn are_escapes(text: &[u8], offset: usize, mut escapes: u64) -> bool {
    while escapes != 0 {
        let rest = &text[offset + escapes.trailing_zeros() as usize + 1..];
        let known = match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
            [b'u', a, b, c, d, ..] => [a, b, c, d].iter().all(|it| it.is_ascii_hexdigit()),
            _ => false,
        };
        if !known {
            return false;
        }
        escapes &= escapes - 1;
    }
    true
}

/// Control characters between tokens are white space.
#[cold]
fn are_spaces(block: &[u8; BLOCK], controls: u64) -> bool {
    (0..BLOCK).filter(|at| controls >> at & 1 == 1).all(|at| matches!(block[at], b'\n' | b'\r' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Option<String> {
        let mut tokens = Tokens::default();
        tokens.find(text.as_bytes()).ok()?;
        Some(tokens.offsets().iter().map(|at| text.as_bytes()[*at as usize] as char).collect())
    }

    #[test]
    fn tokens_are_brackets_separators_and_the_beginnings_of_values() {
        assert_eq!(tokens(r#"{"a": [1, true,{"b\\":"{\"[,"}], "c" :null}"#).as_deref(), Some(r#"{":[1,t,{":"}],":n}"#));
        assert_eq!(tokens("").as_deref(), Some(""));
        assert_eq!(tokens(&"[".repeat(500)), Some("[".repeat(500)));
        assert_eq!(tokens("\r\n\t 12\r\n").as_deref(), Some("1"));
    }

    #[test]
    fn long_texts_take_no_room() {
        let mut tokens = Tokens::default();
        assert!(tokens.find(format!("\"{}\"", "a".repeat(LONGEST)).as_bytes()).is_err());
        assert_eq!(tokens.offsets.capacity(), 0);
    }

    #[test]
    fn tokens_do_not_depend_on_where_they_stand_in_a_block() {
        for lead in 0..140 {
            let text = format!(r#"{}{{"a\\\"b":"\\","c\u00e4":-1.5e3}}"#, " ".repeat(lead));
            assert_eq!(tokens(&text).as_deref(), Some(r#"{":",":-}"#), "{lead}");
            for bad in ["\"\\", "\"a", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "\"\u{1}\"", "\u{1}", "1\u{b}"] {
                assert_eq!(tokens(&format!("{}{bad}", " ".repeat(lead))), None, "{lead} {bad:?}");
            }
        }
    }
}
