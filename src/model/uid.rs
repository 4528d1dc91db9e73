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
/// The digit that each byte is.
const DIGITS: [u8; 256] = digits();
/// The least number that is no digit.
const NO_DIGIT: u8 = 16;

const fn digits() -> [u8; 256] {
    let (mut digits, mut digit) = ([u8::MAX; 256], 0);
    while digit < NO_DIGIT {
        digits[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digit += 1;
    }
    digits
}

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
        let (mut number, mut all) = (0_u128, 0);
        for (at, byte) in text.iter().enumerate() {
            let is_dash = matches!(at, 8 | 13 | 18 | 23);
            if is_dash && *byte != b'-' {
                return None;
            }
            if !is_dash {
                let digit = DIGITS[usize::from(*byte)];
                all |= digit;
                number = number << 4 | u128::from(digit);
            }
        }
        let (high, low) = (u64::try_from(number >> 64).ok()?, u64::try_from(number & u128::from(u64::MAX)).ok()?);
        if all < NO_DIGIT { Uid::of_halves(high, low) } else { None }
    }

    /// The symbol of a text of another form.
    pub(crate) fn symbol(self) -> Option<Symbol> {
        let symbol = || Symbol(u32::try_from(self.low).expect("a symbol was put there"));
        (self.high == OTHER).then(symbol)
    }

    /// A UID whose text of another form has this symbol.
    pub(crate) fn of_symbol(symbol: Symbol) -> Self {
        Uid { high: OTHER, low: symbol.0.into() }
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
