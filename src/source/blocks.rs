//! JSON sixty-four bytes at a time: which bytes are quotes, brackets and white space, and which stand inside strings.
//!
//! Each mask has a bit for every byte of a block, the lowest for the first.

use wide::u8x16;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// What the bytes of a block are, strings not yet told apart.
#[derive(Clone, Copy, Default)]
pub(super) struct Classes {
    /// `"`
    pub(super) quote: u64,
    /// `\`
    pub(super) backslash: u64,
    /// `{`, `}`, `[` and `]`
    pub(super) bracket: u64,
    /// Brackets, `:` and `,`
    pub(super) punctuation: u64,
    /// The blank.
    pub(super) blank: u64,
    /// Any byte below the blank.
    pub(super) control: u64,
    /// Some control character does not end a line.
    pub(super) rare_control: bool,
    /// Some byte is above ASCII.
    pub(super) above: bool,
}

/// The masks of a block. What the caller does not use costs nothing.
#[inline(always)]
#[expect(clippy::inline_always, reason = "callers use different masks")]
pub(super) fn classify(block: &[u8; BLOCK]) -> Classes {
    let mut classes = Classes::default();
    let (mut all, mut backslashes, mut rare) = (u8x16::ZERO, u8x16::ZERO, u8x16::ZERO);
    let (parts, _) = block.as_chunks::<16>();
    for (at, part) in parts.iter().enumerate() {
        let part = u8x16::new(*part);
        let is = |byte: u8| part.simd_eq(u8x16::splat(byte));
        // `[` and `{` differ in one bit only, as `]` and `}` do. Nothing else becomes one of them by it.
        let folded = part | u8x16::splat(0x20);
        let bracket = folded.simd_eq(u8x16::splat(b'{')) | folded.simd_eq(u8x16::splat(b'}'));
        let control = part.min(u8x16::splat(0x1f)).simd_eq(part);
        let mask = |part: u8x16| u64::from(part.to_bitmask()) << (16 * at);
        all |= part;
        backslashes |= is(b'\\');
        rare |= control & !is(b'\n');
        classes.quote |= mask(is(b'"'));
        classes.bracket |= mask(bracket);
        classes.punctuation |= mask(bracket | is(b':') | is(b','));
        classes.blank |= mask(is(b' '));
        classes.control |= mask(control);
    }
    if backslashes.to_bitmask() != 0 {
        classes.backslash = mask_of(parts, b'\\');
    }
    classes.rare_control = rare.to_bitmask() != 0;
    classes.above = all.to_bitmask() != 0;
    classes
}

fn mask_of(parts: &[[u8; 16]], byte: u8) -> u64 {
    let mask = |part: &[u8; 16]| u64::from(u8x16::new(*part).simd_eq(u8x16::splat(byte)).to_bitmask());
    parts.iter().enumerate().fold(0, |all, (at, part)| all | mask(part) << (16 * at))
}

/// Follows strings from block to block.
#[derive(Clone, Copy, Default)]
pub(super) struct Strings {
    /// All ones where the last block ended inside a string.
    open: u64,
    /// The lowest bit is set where the last block ended with a backslash that escapes the next byte.
    escaping: u64,
}

/// The strings of a block.
#[derive(Clone, Copy)]
pub(super) struct Quoted {
    /// What stands inside a string, with its first quote and without its last.
    pub(super) inside: u64,
    /// Quotes that begin or end a string.
    pub(super) quotes: u64,
    /// Backslashes that escape the byte behind them. Outside strings there are none in JSON.
    pub(super) escapes: u64,
}

impl Strings {
    #[inline]
    pub(super) fn follow(&mut self, classes: &Classes) -> Quoted {
        let (escapes, escaped) = self.escapes(classes.backslash);
        let quotes = classes.quote & !escaped;
        let inside = parity(quotes) ^ self.open;
        self.open = 0u64.wrapping_sub(inside >> 63);
        Quoted { inside, quotes, escapes }
    }

    /// The last block ended inside a string.
    pub(super) fn is_open(self) -> bool {
        self.open != 0
    }

    /// Backslashes that escape, and what they escape.
    #[inline]
    fn escapes(&mut self, backslash: u64) -> (u64, u64) {
        if backslash == 0 && self.escaping == 0 {
            return (0, 0);
        }
        let (mut escapes, mut escaped) = (0, self.escaping);
        let mut rest = backslash & !escaped;
        while rest != 0 {
            let escape = rest & rest.wrapping_neg();
            escapes |= escape;
            escaped |= escape << 1;
            rest &= !(escape | escape << 1);
        }
        self.escaping = escapes >> 63;
        (escapes, escaped)
    }
}

/// Whether the number of bits up to each bit, itself among them, is odd.
fn parity(mut bits: u64) -> u64 {
    for step in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << step;
    }
    bits
}

/// Goes through a text block by block, the last one filled up with blanks, until the visitor, which is given the offset
/// of each, has what it wants.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the visitor is a loop's body")]
pub(super) fn each<T>(bytes: &[u8], mut visit: impl FnMut(usize, &[u8; BLOCK]) -> Option<T>) -> Option<T> {
    let (whole, rest) = bytes.as_chunks::<BLOCK>();
    for (at, block) in whole.iter().enumerate() {
        let wanted = visit(at * BLOCK, block);
        if wanted.is_some() {
            return wanted;
        }
    }
    if rest.is_empty() {
        return None;
    }
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    visit(whole.len() * BLOCK, &block)
}
