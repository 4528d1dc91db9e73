//! What an unquoted scalar means. Upstream: `resolve.go` of goyaml.v2, which kubectl and the API server use.

use std::borrow::Cow;

/// The value of an unquoted scalar.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plain<'t> {
    /// Nothing.
    Null,
    /// A truth value, in any of YAML 1.1's spellings.
    Bool(bool),
    /// A number, as JSON writes it; whole numbers are written without point and exponent.
    Number(Cow<'t, str>),
    /// Anything else, times included.
    Text,
}

/// Resolves an unquoted scalar.
pub(crate) fn resolve(text: &str) -> Plain<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Plain::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Plain::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Plain::Bool(false),
        _ => number(text).map_or(Plain::Text, Plain::Number),
    }
}

/// Up to here, every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn number(text: &str) -> Option<Cow<'_, str>> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return None;
    }
    let plain: Cow<'_, str> = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    if let Some(whole) = integer(&plain) {
        let written = whole.to_string();
        return Some(if written == text { Cow::Borrowed(text) } else { Cow::Owned(written) });
    }
    if !is_float(&plain) {
        return None;
    }
    let value: f64 = plain.parse().ok().filter(|value: &f64| value.is_finite())?;
    // Some writers print integers as floats, such as `priority: 2e+09`, where only an integer is of use.
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Some(Cow::Owned(format!("{value:.0}")));
    }
    Some(Cow::Owned(serde_json::Number::from_f64(value)?.to_string()))
}

/// Go's `ParseInt(text, 0, 64)` and `ParseUint(text, 0, 64)`: decimal, or `0x`, `0o`, `0b`, or octal after a bare `0`.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?);
    if negative { Some(-value).filter(|value| *value >= i128::from(i64::MIN)) } else { Some(value) }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(text);
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if whole + length == 0 {
            return false;
        }
        rest = &fraction[length..];
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_goyaml() {
        for (text, expected) in [
            ("2", Some("2")),
            ("+2", Some("2")),
            ("-0", Some("0")),
            ("0x1F", Some("31")),
            ("0o17", Some("15")),
            ("017", Some("15")),
            ("08", Some("8")),
            ("0b11", Some("3")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("2e+09", Some("2000000000")),
            ("2.000001e+09", Some("2000001000")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("500m", None),
            ("1.2.3", None),
            ("10.0.0.1", None),
            ("-", None),
            (".", None),
            ("1e", None),
            ("1e999", None),
            ("0x", None),
            ("2024-01-02", None),
        ] {
            let expected = expected.map_or(Plain::Text, |number| Plain::Number(number.into()));
            assert_eq!(resolve(text), expected, "{text}");
        }
    }
}
