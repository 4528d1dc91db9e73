//! `resource.Quantity`. Upstream: `apimachinery/pkg/api/resource`.

use super::selector::parse_go_int;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An amount, exact to the nano: `500m`, `2`, `1.5Gi`, `1e3`.
///
/// Upstream keeps an amount in one of two representations, and which one it is shows where numbers overflow: 64-bit
/// ones become 0 (or wrap), decimals of any length lose their upper bits. Amounts beyond 10^29 are held there here, which
/// no cluster has.
#[derive(Clone, Copy)]
pub struct Quantity {
    high: i64,
    low: u64,
    scale: i32,
    width: Width,
    format: Format,
}

/// The representation that upstream would have chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    /// `int64Amount`: at most 18 digits and a power of ten.
    Int64,
    /// `infDecAmount`: a decimal of any length.
    Decimal,
}

/// How the amount was written, and is written again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

const NANO: i32 = -9;
const MILLI: i32 = -3;
/// The most decimal digits that upstream trusts to an int64.
const INT64_DIGITS: usize = 18;

const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Suffix {
    Ten(i32, Format),
    Two(u32),
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Quantity = Quantity { high: 0, low: 0, scale: 0, width: Width::Int64, format: Format::DecimalSi };

    /// A whole number.
    pub fn from_int(value: i64) -> Self {
        Quantity::int64(value, 0, Format::DecimalSi)
    }

    /// Reads a quantity; white space around it is passed over. `None` is a text that Kubernetes refuses.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(unsigned.trim_start_matches('0'));
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let suffix = parse_suffix(suffix)?;
        let sign: i8 = if negative { -1 } else { 1 };
        if let Some(amount) = int64_form(whole, fraction, suffix, sign.into()) {
            return Some(amount);
        }
        // Upstream's reader of long decimals wants a digit, which its reader of short ones does not.
        let has_digit = !fraction.is_empty() || unsigned.starts_with(|first: char| first.is_ascii_digit());
        has_digit.then(|| decimal_form(whole, fraction, suffix, sign.into()))
    }

    /// The amount in whole units, rounded away from zero. Upstream: `Value`.
    pub fn value(self) -> i64 {
        self.scaled_value(0)
    }

    /// The amount in thousandths, rounded away from zero. Upstream: `MilliValue`.
    pub fn milli_value(self) -> i64 {
        self.scaled_value(MILLI)
    }

    /// The exact sum. Upstream: `Add`.
    #[must_use]
    pub fn plus(self, other: Quantity) -> Quantity {
        let format = if self.is_zero() { other.format } else { self.format };
        if self.width == Width::Int64 && other.width == Width::Int64 {
            if other.is_zero() {
                return self;
            }
            if self.is_zero() {
                return other;
            }
            let scale = self.scale.min(other.scale);
            let aligned = |it: Quantity| checked_scale_up(it.int64_value(), it.scale - scale);
            if let (Some(a), Some(b)) = (aligned(self), aligned(other))
                && let Some(sum) = a.checked_add(b)
            {
                return Quantity::int64(sum, scale, format);
            }
        }
        let scale = self.scale.min(other.scale);
        let sum = self.unscaled_at(scale).saturating_add(other.unscaled_at(scale));
        Quantity::decimal(sum, scale, format)
    }

    /// Whether the amount is 0.
    pub fn is_zero(self) -> bool {
        self.unscaled() == 0
    }

    /// How many bytes [`to_bytes`](Self::to_bytes) gives.
    pub const BYTES: usize = 22;

    /// The amount, its representation and how it was written.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let Quantity { high, low, scale, width, format } = self;
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&high.to_le_bytes());
        bytes[8..16].copy_from_slice(&low.to_le_bytes());
        bytes[16..20].copy_from_slice(&scale.to_le_bytes());
        bytes[20] = match width {
            Width::Int64 => 0,
            Width::Decimal => 1,
        };
        bytes[21] = match format {
            Format::DecimalSi => 0,
            Format::BinarySi => 1,
            Format::DecimalExponent => 2,
        };
        bytes
    }

    /// The same, read again; `None` of bytes that no amount gives.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (high, rest) = bytes.split_first_chunk()?;
        let (low, rest) = rest.split_first_chunk()?;
        let (scale, rest) = rest.split_first_chunk()?;
        let width = match rest[0] {
            0 => Width::Int64,
            1 => Width::Decimal,
            _ => return None,
        };
        let format = match rest[1] {
            0 => Format::DecimalSi,
            1 => Format::BinarySi,
            2 => Format::DecimalExponent,
            _ => return None,
        };
        let scale = i32::from_le_bytes(*scale);
        let (high, low) = (i64::from_le_bytes(*high), u64::from_le_bytes(*low));
        (NANO..=i32::MAX / 2 + 1_000_000).contains(&scale).then_some(Quantity { high, low, scale, width, format })
    }

    fn int64(value: i64, scale: i32, format: Format) -> Self {
        Quantity { width: Width::Int64, ..Quantity::decimal(i128::from(value), scale, format) }
    }

    fn decimal(unscaled: i128, scale: i32, format: Format) -> Self {
        let (high, low) = (low_bits(unscaled >> 64), low_bits(unscaled).cast_unsigned());
        Quantity { high, low, scale, width: Width::Decimal, format }
    }

    fn unscaled(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    /// The lower 64 bits: the whole of an int64.
    fn int64_value(self) -> i64 {
        self.low.cast_signed()
    }

    /// The unscaled value at a scale that is not above the amount's own; held at the ends of its type.
    fn unscaled_at(self, scale: i32) -> i128 {
        let unscaled = self.unscaled();
        let factor = u32::try_from(self.scale - scale).ok().and_then(|power| 10_i128.checked_pow(power));
        match factor {
            Some(factor) => unscaled.saturating_mul(factor),
            None => unscaled.signum().saturating_mul(i128::MAX),
        }
    }

    fn scaled_value(self, scale: i32) -> i64 {
        match self.width {
            Width::Int64 if self.scale < scale => divide_away_from_zero(self.int64_value(), scale - self.scale),
            Width::Int64 => scale_up(self.int64_value(), self.scale - scale),
            Width::Decimal => decimal_value(self.unscaled(), scale - self.scale),
        }
    }

    /// Without trailing zeros: equal amounts have equal ones.
    fn reduced(self) -> (i128, i32) {
        let (mut unscaled, mut scale) = (self.unscaled(), self.scale);
        while unscaled != 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale += 1;
        }
        if unscaled == 0 { (0, 0) } else { (unscaled, scale) }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn parse_suffix(text: &str) -> Option<Suffix> {
    if let Some(&(_, power)) = DECIMAL_SUFFIXES.iter().find(|it| it.0 == text) {
        return Some(Suffix::Ten(power, Format::DecimalSi));
    }
    if let Some(&(_, power)) = BINARY_SUFFIXES.iter().find(|it| it.0 == text) {
        return Some(Suffix::Two(power));
    }
    let exponent = parse_go_int(text.strip_prefix(['e', 'E'])?)?;
    // Upstream keeps the exponent in 32 bits without a check; no object has one that large.
    let held = exponent.clamp(i64::from(i32::MIN / 2), i64::from(i32::MAX / 2));
    Some(Suffix::Ten(i32::try_from(held).ok()?, Format::DecimalExponent))
}

/// The amount as upstream's int64, if it would be one: few digits, and no finer than a nano.
fn int64_form(whole: &str, fraction: &str, suffix: Suffix, sign: i64) -> Option<Quantity> {
    let whole = if whole.is_empty() { "0" } else { whole };
    let value = || -> Option<i64> {
        let digits = whole.bytes().chain(fraction.bytes());
        digits.into_iter().try_fold(0_i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')))
    };
    match suffix {
        Suffix::Ten(power, format) => {
            if whole.len() + fraction.len() > INT64_DIGITS {
                return None;
            }
            let scale = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
            (scale >= NANO).then_some(())?;
            Some(Quantity::int64(sign * value()?, scale, format))
        }
        Suffix::Two(power) => {
            // Ten binary powers are about three decimal digits, and upstream leaves one to spare.
            let digits = whole.len() + usize::try_from(power * 3 / 10).ok()? + 1;
            (fraction.is_empty() && digits <= 15).then_some(())?;
            Some(Quantity::int64(sign * value()?.checked_mul(1 << power)?, 0, Format::BinarySi))
        }
    }
}

/// The amount as upstream's decimal: rounded away from zero to a nano, and capped where the suffix is binary.
fn decimal_form(whole: &str, fraction: &str, suffix: Suffix, sign: i128) -> Quantity {
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
    let (power, format) = match suffix {
        Suffix::Ten(power, format) => (i64::from(power), format),
        Suffix::Two(doublings) => {
            for _ in 0..doublings {
                double(&mut digits);
            }
            (0, Format::BinarySi)
        }
    };
    let fraction_digits = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let (unscaled, scale) = to_nano(&digits, power.saturating_sub(fraction_digits));
    let amount = Quantity::decimal(unscaled, scale, format);
    let (cap, one) = (Quantity::from_int(i64::MAX), Quantity::from_int(1));
    match format {
        Format::BinarySi if amount > cap => Quantity::decimal(sign * i128::from(i64::MAX), 0, format),
        // So small an amount would lose its fraction under a binary suffix.
        Format::BinarySi if amount < one => Quantity::decimal(sign * unscaled, scale, Format::DecimalSi),
        Format::BinarySi | Format::DecimalSi | Format::DecimalExponent => {
            Quantity::decimal(sign * unscaled, scale, format)
        }
    }
}

/// Doubles a number given as decimal digits, the most significant first.
fn double(digits: &mut Vec<u8>) {
    let mut carry = 0;
    for digit in digits.iter_mut().rev() {
        let twice = *digit * 2 + carry;
        *digit = twice % 10;
        carry = twice / 10;
    }
    if carry > 0 {
        digits.insert(0, carry);
    }
}

/// Decimal digits times a power of ten, rounded up to a nano: the integer and its scale. Held at the end of its type.
fn to_nano(digits: &[u8], power: i64) -> (i128, i32) {
    let dropped = usize::try_from(i64::from(NANO).saturating_sub(power)).unwrap_or(0);
    let (kept, finer) = digits.split_at(digits.len().saturating_sub(dropped));
    let rounding = i128::from(finer.iter().any(|digit| *digit != 0));
    // Trailing zeros go to the scale, so that long amounts fit.
    let zeros = if rounding == 0 { kept.iter().rev().take_while(|digit| **digit == 0).count() } else { 0 };
    let significant = &kept[..kept.len() - zeros];
    let whole = significant.iter().fold(0_i128, |sum, it| sum.saturating_mul(10).saturating_add(i128::from(*it)));
    let scale = power.max(i64::from(NANO)).saturating_add(i64::try_from(zeros).unwrap_or(i64::MAX));
    (whole.saturating_add(rounding), i32::try_from(scale).unwrap_or(i32::MAX))
}

/// Upstream's `positiveScaleInt64`, where a value that overflows becomes 0, or wraps for the powers it has a case for.
fn scale_up(value: i64, power: i32) -> i64 {
    match power {
        1 | 2 | 3 | 6 | 9 if value != i64::MIN => value.wrapping_mul(10_i64.pow(power.unsigned_abs())),
        _ => checked_scale_up(value, power).unwrap_or(0),
    }
}

fn checked_scale_up(value: i64, power: i32) -> Option<i64> {
    if value == 0 || power == 0 {
        return Some(value);
    }
    10_i64.checked_pow(power.unsigned_abs())?.checked_mul(value)
}

/// Upstream's `negativeScaleInt64`.
fn divide_away_from_zero(value: i64, power: i32) -> i64 {
    match 10_i64.checked_pow(power.unsigned_abs()) {
        None => value.signum(),
        Some(divisor) => value / divisor + (value % divisor).signum(),
    }
}

/// Upstream's `scaledValue`: a decimal divided by a power of ten (multiplied, where that is negative), rounded up, of
/// which the lower 64 bits are kept.
fn decimal_value(unscaled: i128, power: i32) -> i64 {
    let factor = power.unsigned_abs();
    if power <= 0 {
        return low_bits(unscaled).wrapping_mul(10_i64.wrapping_pow(factor));
    }
    if unscaled < i128::from(i64::MAX)
        && let Some(divisor) = 10_i64.checked_pow(factor)
    {
        let value = low_bits(unscaled);
        return value / divisor + i64::from(value % divisor != 0);
    }
    match 10_i128.checked_pow(factor) {
        Some(divisor) => {
            let rounding = i64::from(unscaled.rem_euclid(divisor) != 0);
            low_bits(unscaled.div_euclid(divisor)).wrapping_add(rounding)
        }
        None => i64::from(unscaled > 0),
    }
}

/// The lower 64 bits, as Go's `Int64` of a larger integer.
fn low_bits(wide: i128) -> i64 {
    let bytes = wide.to_le_bytes();
    i64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}

/// How many decimal digits a number has; 0 has none.
fn digit_count(number: i128) -> i64 {
    number.unsigned_abs().checked_ilog10().map_or(0, |log| i64::from(log) + 1)
}

impl Default for Quantity {
    fn default() -> Self {
        Quantity::ZERO
    }
}

impl PartialEq for Quantity {
    /// Amounts are equal however they are written.
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.reduced().hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.unscaled(), other.unscaled());
        if self.scale == other.scale || a == 0 || b == 0 || a.signum() != b.signum() {
            return a.cmp(&b);
        }
        let magnitude = |it: &Quantity, unscaled| digit_count(unscaled) + i64::from(it.scale);
        let by_magnitude = magnitude(self, a).cmp(&magnitude(other, b));
        let scale = self.scale.min(other.scale);
        let by_value = || self.unscaled_at(scale).cmp(&other.unscaled_at(scale));
        if a < 0 { by_magnitude.reverse().then_with(by_value) } else { by_magnitude.then_with(by_value) }
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: the largest suffix that needs no fraction. Upstream: `CanonicalizeBytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        let (mut number, mut power) = self.reduced();
        if self.format == Format::BinarySi
            && power >= 0
            && let Some(mut bytes) = 10_i128.checked_pow(power.unsigned_abs()).and_then(|it| it.checked_mul(number))
            && bytes.unsigned_abs() >= 1024
        {
            let mut suffix = "";
            for (larger, _) in BINARY_SUFFIXES {
                if bytes % 1024 != 0 {
                    break;
                }
                bytes /= 1024;
                suffix = larger;
            }
            return write!(f, "{bytes}{suffix}");
        }
        let shift = power.rem_euclid(3);
        number = number.saturating_mul(10_i128.pow(shift.unsigned_abs()));
        power -= shift;
        match DECIMAL_SUFFIXES.iter().find(|it| it.1 == power) {
            Some((suffix, _)) if self.format != Format::DecimalExponent || power == 0 => write!(f, "{number}{suffix}"),
            Some(_) | None => write!(f, "{number}e{power}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("`{text}` is a quantity"))
    }

    #[test]
    fn amounts_round_away_from_zero() {
        let rows = [
            ("0.1m", 1, 1),
            ("1500m", 2, 1500),
            ("100n", 1, 1),
            ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
            ("2899102924800m", 2_899_102_925, 2_899_102_924_800),
            ("129e6", 129_000_000, 129_000_000_000),
            ("1E", 1_000_000_000_000_000_000, 0),
            ("1e-3", 1, 1),
            ("-1.5", -2, -1500),
            ("1.00000000000000000000000000000000000000001Ki", 1025, 1_024_001),
        ];
        for (text, value, milli) in rows {
            assert_eq!((parse(text).value(), parse(text).milli_value()), (value, milli), "{text}");
        }
    }

    #[test]
    fn overflow_is_upstreams() {
        assert_eq!(parse("10E").value(), 0, "an int64 amount becomes 0");
        assert_eq!(parse("10P").milli_value(), 0);
        assert_eq!(parse("8Ei").value(), i64::MAX, "binary suffixes are capped");
        assert_eq!(parse("8Ei").milli_value(), i64::MAX.wrapping_mul(1000), "and wrap");
        assert_eq!(parse("9E").plus(parse("9E")).value(), 0);
    }

    #[test]
    fn texts_that_kubernetes_refuses() {
        for text in
            ["", " ", "K", "1K", "1e", "1E+", "1.2.3", "0x1", "1 Gi", "1Gi5", "--1", "1_0", "8Gb", "1ee3", "five"]
        {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn odd_texts_that_kubernetes_takes() {
        for (text, value) in
            [(".5", 1), ("1.", 1), ("+3", 3), (" 7 ", 7), ("-0", 0), ("1E3", 1000), ("m", 0), ("007", 7)]
        {
            assert_eq!(parse(text).value(), value, "{text}");
        }
    }

    #[test]
    fn sums_are_exact() {
        assert_eq!(parse("1500m").plus(parse("1500m")).value(), 3);
        assert_eq!(parse("100n").plus(parse("100n")).milli_value(), 1);
        assert_eq!(parse("1.5Gi").plus(parse("512Mi")), parse("2Gi"));
    }

    #[test]
    fn equal_amounts_are_equal_however_written() {
        assert_eq!(parse("1"), parse("1000m"));
        assert_eq!(parse("1Gi").cmp(&parse("1G")), Ordering::Greater);
        assert!(parse("1e1000000") > parse("8Ei"));
    }

    #[test]
    fn amounts_are_the_same_after_a_trip_through_bytes() {
        for text in ["0", "500m", "1.5Gi", "1e3", "-7k", "0.1n", "123456789012345678901234567890", "1e400", "5E"] {
            let there = parse(text);
            let back = Quantity::from_bytes(&there.to_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((back, back.to_string(), back.value()), (there, there.to_string(), there.value()), "{text}");
        }
        assert!(Quantity::from_bytes(&[0xff; Quantity::BYTES]).is_none());
    }

    #[test]
    fn canonical_texts() {
        let rows = [
            ("1500m", "1500m"),
            ("1.5", "1500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000", "1k"),
            ("0.5Gi", "512Mi"),
            ("512", "512"),
            ("1e4", "10e3"),
            ("0m", "0"),
            ("100Ki", "100Ki"),
            ("0.1Ki", "102400m"),
        ];
        for (text, canonical) in rows {
            assert_eq!(parse(text).to_string(), canonical, "{text}");
        }
    }
}
