//! UIDs.

use super::id::Symbol;
use super::symbols::Symbols;
use std::borrow::Cow;
use std::num::NonZeroU64;

/// A `metadata.uid`. UIDs are equal where their texts are, among those of one [`Symbols`] table.
///
/// No two objects share one, so that a table of texts would hold them all: those that API servers give out (RFC 9562,
/// version 4, in lower case) are kept as the number that they are. Any other text is a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uid {
    /// The first half of the digits, or [`OTHER`].
    high: NonZeroU64,
    /// The second half, or the symbol.
    low: u64,
}

/// In the first half, of a text of another form. Its version would be 15.
const OTHER: NonZeroU64 = NonZeroU64::MAX;
/// The length of a UID's text.
const LENGTH: usize = 36;
impl Uid {
    /// The UID of a text; the table gets those of another form.
    pub fn intern(text: &str, symbols: &mut Symbols) -> Self {
        Uid::of_number(text).unwrap_or_else(|| Uid::of_symbol(symbols.intern(text)))
    }

    /// The UID of a text, if it can be that of some object.
    pub fn find(text: &str, symbols: &Symbols) -> Option<Self> {
        Uid::of_number(text).or_else(|| symbols.get(text).map(Uid::of_symbol))
    }

    /// The text.
    pub fn text(self, symbols: &Symbols) -> Cow<'_, str> {
        match self.symbol() {
            Some(symbol) => Cow::Borrowed(symbols.text(symbol)),
            None => Cow::Owned(self.digits()),
        }
    }

    /// The UID of a text as API servers give it out.
    pub(crate) fn of_number(text: &str) -> Option<Self> {
        let text: &[u8; LENGTH] = text.as_bytes().try_into().ok()?;
        if [8, 13, 18, 23].into_iter().any(|at| text[at] != b'-') {
            return None;
        }
        let four = |at: usize| [text[at], text[at + 1], text[at + 2], text[at + 3]];
        let high = eight([four(0), four(4)])? << 32 | eight([four(9), four(14)])?;
        let low = eight([four(19), four(24)])? << 32 | eight([four(28), four(32)])?;
        Uid::of_halves(high, low)
    }

    /// The symbol of a text of another form.
    pub(crate) fn symbol(self) -> Option<Symbol> {
        let number = u32::try_from(self.low).ok().filter(|_| self.high == OTHER);
        number.and_then(Symbol::of_number)
    }

    /// A UID whose text of another form has this symbol.
    pub(crate) fn of_symbol(symbol: Symbol) -> Self {
        Uid { high: OTHER, low: symbol.number().into() }
    }

    /// Both halves; of a UID that needs no table they are its digits.
    pub(crate) fn halves(self) -> (u64, u64) {
        (self.high.get(), self.low)
    }

    /// The UID of two halves, if API servers may give it out.
    pub(crate) fn of_halves(high: u64, low: u64) -> Option<Self> {
        let is_random = high >> 12 & 0xf == 4;
        NonZeroU64::new(high).filter(|_| is_random).map(|high| Uid { high, low })
    }

    fn digits(self) -> String {
        let (high, low) = (self.high.get(), self.low);
        let (first, second, third) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
        let (fourth, last) = (low >> 48, low & 0xffff_ffff_ffff);
        format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{last:012x}")
    }
}

/// The number of eight lower-case digits, all at once: a byte of `each` stands for one of them.
fn eight(digits: [[u8; 4]; 2]) -> Option<u64> {
    let each = |byte: u8| u64::from_ne_bytes([byte; 8]);
    let [first, last] = digits.map(|four| u64::from(u32::from_be_bytes(four)));
    let text = first << 32 | last;
    let letters = text >> 6 & each(1);
    let values = (text & each(0xf)) + letters * 9;
    // What is no digit has no such value, or another digit has.
    let above_nine = (values + each(6)) >> 4 & each(1);
    let written = values + each(b'0') + above_nine * u64::from(b'a' - b'0' - 10);
    if values & each(0xf0) != 0 || written != text {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    Some((fours | fours >> 16) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANDOM: &str = "3810fe77-a191-4248-826b-8320444617cb";

    #[test]
    fn what_api_servers_give_out_needs_no_table() {
        let mut symbols = Symbols::default();
        for text in [RANDOM, "00000000-0000-4000-0000-000000000000", "ffffffff-ffff-4fff-ffff-ffffffffffff"] {
            let uid = Uid::intern(text, &mut symbols);
            assert_eq!((uid.symbol(), &*uid.text(&symbols)), (None, text));
            assert_eq!(Uid::find(text, &symbols), Some(uid));
            let (high, low) = uid.halves();
            assert_eq!(Uid::of_halves(high, low), Some(uid));
        }
        assert!(symbols.is_empty());
        assert_eq!(size_of::<Option<Uid>>(), 16, "every pod has one");
    }

    #[test]
    fn any_other_text_stays_as_it_is() {
        let mut symbols = Symbols::default();
        let others = [
            "",
            "u",
            "3810FE77-A191-4248-826B-8320444617CB",
            "3810fe77a191-4248-826b-8320444617cb-",
            "3810fe77-a191-4248-826b_8320444617cb",
            "3810fe77-a191-1248-826b-8320444617cb",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "3810fe77-a191-4248-826b-8320444617cb ",
            "3810fe77-a191-4248-826b-8320444617c",
            "3810fe77-a191-4248-826b-8320444617\u{e9}",
            "+810fe77-a191-4248-826b-8320444617cb",
            "\u{0}810fe77-a191-4248-826b-8320444617cb",
        ];
        for (at, text) in others.into_iter().enumerate() {
            assert_eq!(Uid::find(text, &symbols), None, "{text}");
            let uid = Uid::intern(text, &mut symbols);
            assert_eq!((uid.symbol(), &*uid.text(&symbols)), (Some(Symbol::at(at)), text));
            assert_eq!(Uid::find(text, &symbols), Some(uid));
        }
        assert_eq!(Uid::of_halves(u64::MAX, 0), None);
    }

    #[test]
    fn every_byte_is_a_digit_or_none() {
        for byte in 0..=u8::MAX {
            let digit = char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase()).map(u64::from);
            for at in 0..8 {
                let mut digits = [*b"0000"; 2];
                digits[at / 4][at % 4] = byte;
                assert_eq!(eight(digits), digit.map(|digit| digit << (28 - 4 * at)), "{byte} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn uids_are_equal_where_their_texts_are(
            texts in prop::collection::vec("[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[ab]?", 2..9),
        ) {
            let mut symbols = Symbols::default();
            let uids: Vec<Uid> = texts.iter().map(|it| Uid::intern(it, &mut symbols)).collect();
            for (text, uid) in texts.iter().zip(&uids) {
                prop_assert_eq!(&*uid.text(&symbols), text);
                for (other, like) in texts.iter().zip(&uids) {
                    prop_assert_eq!(text == other, uid == like);
                }
            }
        }
    }
}
