//! JSON sixty-four bytes at a time: which bytes are quotes, brackets and white space, and which stand inside strings.
//!
//! Each mask has a bit for every byte of a block, the lowest for the first.

use wide::u8x16;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// What the bytes of a block are, strings not yet told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Work that goes through blocks.
pub(super) trait Work {
    type Output;

    /// Does it. Has to be inlined, since each kind of processor has a version of its own.
    fn run(self, classify: impl Fn(&[u8; BLOCK]) -> Classes) -> Self::Output;
}

/// Does the work as this processor does it best.
pub(super) fn work<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        super::map::work_widely(work, 64)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        work.run(classify)
    }
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

/// Blocks by the wider registers that most processors have.
#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::{BLOCK, Classes, Work};
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_shuffle_epi8, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_movepi8_mask, _mm512_or_si512,
        _mm512_set1_epi8,
    };

    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(in crate::source) fn work_512<W: Work>(work: W) -> W::Output {
        work.run(|block| classify_512(block))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(in crate::source) fn work_256<W: Work>(work: W) -> W::Output {
        work.run(|block| classify_256(block))
    }

    /// Brackets by their last four bits, in lower case.
    const BRACKETS: [u8; 16] = by_last_bits(*b"{}{}");
    /// Brackets, `:` and `,` likewise.
    const PUNCTUATION: [u8; 16] = by_last_bits(*b"{}:,");

    /// What is not in the table is 0, which no folded byte is.
    const fn by_last_bits(bytes: [u8; 4]) -> [u8; 16] {
        let mut table = [0; 16];
        let mut at = 0;
        while at < bytes.len() {
            table[(bytes[at] & 15) as usize] = bytes[at];
            at += 1;
        }
        table
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn classify_512(block: &[u8; BLOCK]) -> Classes {
        let all: __m512i = bytemuck::pod_read_unaligned(block);
        let is = |byte: u8| _mm512_cmpeq_epi8_mask(all, _mm512_set1_epi8(byte.cast_signed()));
        let folded = _mm512_or_si512(all, _mm512_set1_epi8(0x20));
        let folded_is = |byte: u8| _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8(byte.cast_signed()));
        let bracket = folded_is(b'{') | folded_is(b'}');
        let control = _mm512_cmplt_epu8_mask(all, _mm512_set1_epi8(0x20));
        Classes {
            quote: is(b'"'),
            backslash: is(b'\\'),
            bracket,
            punctuation: bracket | is(b':') | is(b','),
            blank: is(b' '),
            control,
            rare_control: control & !is(b'\n') != 0,
            above: _mm512_movepi8_mask(all) != 0,
        }
    }

    /// Masks are put together as integers: of registers put together the compiler made byte by byte work.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn classify_256(block: &[u8; BLOCK]) -> Classes {
        let [low, high]: [__m256i; 2] = bytemuck::pod_read_unaligned(block);
        let byte = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let join = |low: i32, high: i32| u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32;
        let equal = |a: [__m256i; 2], b: [__m256i; 2]| {
            let [low, high] = [_mm256_cmpeq_epi8(a[0], b[0]), _mm256_cmpeq_epi8(a[1], b[1])];
            join(_mm256_movemask_epi8(low), _mm256_movemask_epi8(high))
        };
        let is = |wanted: u8| equal([low, high], [byte(wanted); 2]);
        let folded = [_mm256_or_si256(low, byte(0x20)), _mm256_or_si256(high, byte(0x20))];
        // By its last four bits, the one punctuation that a byte can be.
        let one_of = |table: [u8; 16]| {
            let table: __m256i = bytemuck::cast([table; 2]);
            equal(folded, [_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high)])
        };
        let up_to = |last: u8| {
            let limit = byte(last);
            equal([_mm256_min_epu8(low, limit), _mm256_min_epu8(high, limit)], [low, high])
        };
        let control = up_to(0x1f);
        Classes {
            quote: is(b'"'),
            backslash: is(b'\\'),
            bracket: one_of(BRACKETS),
            // Folding makes two control characters look like punctuation.
            punctuation: one_of(PUNCTUATION) & !control,
            blank: is(b' '),
            control,
            rare_control: control & !is(b'\n') != 0,
            above: _mm256_movemask_epi8(_mm256_or_si256(low, high)) != 0,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// The masks of a block.
        struct Masks<'t>(&'t [u8; BLOCK]);

        impl Work for Masks<'_> {
            type Output = Classes;

            fn run(self, classify: impl Fn(&[u8; BLOCK]) -> Classes) -> Classes {
                classify(self.0)
            }
        }

        #[test]
        fn every_processor_finds_the_same() {
            let mut state = 1_u64;
            for round in 0..2000 {
                let block = std::array::from_fn(|at| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if round < 4 {
                        u8::try_from(round * 64 + at).unwrap_or(0)
                    } else {
                        (state >> 56) as u8 & (0xff >> (round % 3))
                    }
                });
                let plain = super::super::classify(&block);
                for widest in [16, 32, 64] {
                    assert_eq!(crate::source::map::work_widely(Masks(&block), widest), plain);
                }
            }
        }
    }
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
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
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
#[inline(always)]
#[expect(clippy::inline_always, reason = "each kind of processor has a version of its own")]
fn parity(mut bits: u64) -> u64 {
    for step in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << step;
    }
    bits
}

/// The blocks of a text, and the last one, filled up with blanks, if the text ends within it.
pub(super) fn of(bytes: &[u8]) -> (&[[u8; BLOCK]], Option<[u8; BLOCK]>) {
    let (whole, rest) = bytes.as_chunks::<BLOCK>();
    let last = (!rest.is_empty()).then(|| {
        let mut block = [b' '; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        block
    });
    (whole, last)
}
