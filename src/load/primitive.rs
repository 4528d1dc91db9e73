//! The primitive values of Kubernetes' JSON, read as leniently as the API server and YAML converters write them.

use crate::model::quantity::Quantity;
use crate::model::time::Time;
use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Marks the error message of a quantity, so that whoever reports it gives it its own code.
pub(super) const QUANTITY_MARK: &str = "unparsable quantity ";

/// A string, borrowed from the file wherever it holds no escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed("")))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A field that is there, with whatever value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(pub(super) bool);

impl<'de> Deserialize<'de> for Seen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Seen(true))
    }
}

/// The text, unless the field is absent or empty: in Go's types both are the empty string.
pub(super) fn filled<'t>(text: Option<&'t Text<'_>>) -> Option<&'t str> {
    text.map(|text| &*text.0).filter(|text| !text.is_empty())
}

/// An integer, also where a YAML converter wrote `2e+09`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int(pub(super) i64);

impl Int {
    /// As the 32-bit integer that most fields are.
    pub(super) fn clamped(self) -> i32 {
        i32::try_from(self.0).unwrap_or(if self.0 < 0 { i32::MIN } else { i32::MAX })
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntVisitor;
        impl Visitor<'_> for IntVisitor {
            type Value = Int;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Int, E> {
                Ok(Int(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Int, E> {
                i64::try_from(number).map(Int).map_err(|_too_big| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 2^53")]
            fn visit_f64<E: Error>(self, number: f64) -> Result<Int, E> {
                if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
                    Ok(Int(number as i64))
                } else {
                    Err(E::invalid_value(Unexpected::Float(number), &self))
                }
            }
        }
        deserializer.deserialize_i64(IntVisitor)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;
        impl QuantityVisitor {
            fn parse<E: Error>(text: &str) -> Result<Quantity, E> {
                Quantity::parse(text).ok_or_else(|| E::custom(format_args!("{QUANTITY_MARK}`{text}`")))
            }
        }
        impl Visitor<'_> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                Self::parse(text)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
                Self::parse(&number.to_string())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
                Self::parse(&number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
                Self::parse(&number.to_string())
            }

            fn visit_unit<E: Error>(self) -> Result<Quantity, E> {
                Ok(Quantity::ZERO)
            }
        }
        deserializer.deserialize_any(QuantityVisitor)
    }
}

/// A JSON map in its own order. A key that comes twice stands twice: the last one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pairs<'a, V>(pub(super) Vec<(Text<'a>, V)>);

impl<V> Default for Pairs<'_, V> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<V> Pairs<'_, V> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.0.iter().rev().find(|pair| &*pair.0 == key).map(|pair| &pair.1)
    }
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Pairs<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
            type Value = Pairs<'de, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeVisitor;
        impl Visitor<'_> for TimeVisitor {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as 2026-01-31T12:00:00Z")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                parse_time(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(TimeVisitor)
    }
}

/// An RFC 3339 time.
pub(super) fn parse_time(text: &str) -> Option<Time> {
    if let Some(time) = parse_api_time(text) {
        return Some(time);
    }
    let timestamp: Timestamp = text.parse().ok()?;
    let nanos = timestamp.as_nanosecond();
    Some(Time(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })))
}

/// A time as the API server writes it, `2026-01-31T12:00:00Z`: a dump has a million of them. Years far off are left to
/// others.
fn parse_api_time(text: &str) -> Option<Time> {
    let text: &[u8; 20] = text.as_bytes().try_into().ok()?;
    let [.., b'-', _, _, b'-', _, _, b'T', _, _, b':', _, _, b':', _, _, b'Z'] = text else { return None };
    let number = |from: usize, to: usize| {
        text[from..to]
            .iter()
            .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1900..2200).contains(&year) || !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Counted from the first of March, so that the day that some years have more is the last one.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_years = years * 365 + years / 4 - years / 100 + years / 400 + (months * 153 + 2) / 5 + day - 1;
    let seconds = ((day_of_years - EPOCH) * 24 + hour) * 3600 + minute * 60 + second;
    Some(Time(seconds * 1_000_000_000))
}

/// 1970-01-01, in days since the first of March of the year 0.
const EPOCH: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_the_api_server_writes_them_are_read_as_all_others() {
        let slowly = |text: &str| Some(Time(i64::try_from(text.parse::<Timestamp>().ok()?.as_nanosecond()).unwrap()));
        let mut known = 0;
        for year in [1900, 1969, 1970, 1999, 2000, 2023, 2024, 2026, 2100, 2199, 2200] {
            for month in 0..=13 {
                for day in 0..=32 {
                    let clock = format!("{:02}:{:02}:{:02}", (day * 7) % 25, (day * 11) % 61, (day * 13 + month) % 62);
                    for clock in ["00:00:00", "23:59:59", clock.as_str()] {
                        let text = format!("{year}-{month:02}-{day:02}T{clock}Z");
                        assert_eq!(parse_time(&text), slowly(&text), "{text}");
                        known += usize::from(parse_api_time(&text).is_some());
                    }
                }
            }
        }
        assert!(known > 5000);
        for text in
            ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00+01:00", "2026-01-31 12:00:00Z", "2026-1-311T12:00:00Z"]
        {
            assert_eq!(parse_api_time(text), None);
            assert_eq!(parse_time(text), slowly(text), "{text}");
        }
    }

    #[test]
    fn quantities_are_strings_or_numbers() {
        let read = |json: &str| serde_json::from_str::<Quantity>(json);
        assert_eq!(read("2").unwrap(), read("\"2\"").unwrap());
        assert_eq!(read("2.5").unwrap(), read("\"2500m\"").unwrap());
        assert_eq!(read("1e3").unwrap(), read("\"1k\"").unwrap());
        assert!(read("\"8Gb\"").unwrap_err().to_string().starts_with(QUANTITY_MARK));
    }

    #[test]
    fn integers_may_be_floats_without_fraction() {
        assert_eq!(serde_json::from_str::<Int>("2.000001e+09").unwrap(), Int(2_000_001_000));
        assert!(serde_json::from_str::<Int>("0.5").is_err());
        assert!(serde_json::from_str::<Int>("\"5\"").is_err());
    }
}
