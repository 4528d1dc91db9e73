//! Times in the names of files and folders: `20261129T191428Z`, `2026-11-29_19-14-28`, `1795979668`, `202611291914`.

use crate::model::time::Time;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time that a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The time; read as UTC where the name does not say.
    pub(super) time: Time,
    /// The name says the zone, or is a count of seconds.
    pub(super) zoned: bool,
}

/// The last time in a path, which may be spread over folders.
pub(super) fn stamp_of(path: &str) -> Option<Stamp> {
    let bytes = path.as_bytes();
    let begins = |at: &usize| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[at - 1].is_ascii_digit());
    let mut last = None;
    let mut from = 0;
    for at in (0..bytes.len()).filter(begins) {
        if at >= from
            && let Some((stamp, end)) = calendar(bytes, at).or_else(|| epoch(bytes, at))
        {
            last = Some(stamp);
            from = end;
        }
    }
    last
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn digits(&mut self, count: usize) -> Option<i16> {
        let text = self.bytes.get(self.at..self.at + count)?;
        if !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.at += count;
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    fn small(&mut self, count: usize) -> Option<i8> {
        self.digits(count).and_then(|number| i8::try_from(number).ok())
    }

    /// Steps over one of `marks`, if it stands here.
    fn skip(&mut self, marks: &[u8]) -> bool {
        let stands = self.bytes.get(self.at).is_some_and(|byte| marks.contains(byte));
        self.at += usize::from(stands);
        stands
    }
}

/// A date with a time of day, or a date alone.
fn calendar(bytes: &[u8], at: usize) -> Option<(Stamp, usize)> {
    let mut reader = Reader { bytes, at };
    let year = reader.digits(4).filter(|year| (2014..2100).contains(year))?;
    reader.skip(b"-_.");
    let month = reader.small(2)?;
    reader.skip(b"-_.");
    let day = reader.small(2)?;
    let date = jiff::civil::Date::new(year, month, day).ok()?;
    let day_end = reader.at;
    let (time, zoned, end) = clock(&mut reader).unwrap_or((jiff::civil::Time::midnight(), false, day_end));
    if bytes.get(end).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let timestamp = TimeZone::UTC.to_timestamp(DateTime::from_parts(date, time)).ok()?;
    let time = Time(i64::try_from(timestamp.as_nanosecond()).ok()?);
    Some((Stamp { time, zoned }, end))
}

/// The time of day behind a date, whether it is in UTC, and where it ends.
fn clock(reader: &mut Reader<'_>) -> Option<(jiff::civil::Time, bool, usize)> {
    reader.skip(b"Tt-_. /+");
    let hour = reader.small(2)?;
    reader.skip(b"-_:.");
    let minute = reader.small(2)?;
    let (mut second, mut nanos) = (0, 0);
    let minute_end = reader.at;
    reader.skip(b"-_:.");
    if let Some(read) = reader.small(2) {
        second = read;
        let second_end = reader.at;
        if reader.skip(b".,") {
            let begin = reader.at;
            while reader.skip(b"0123456789") {}
            let digits = &reader.bytes[begin..reader.at];
            if digits.is_empty() {
                reader.at = second_end;
            }
            let places = digits.iter().map(|digit| i32::from(digit - b'0')).chain(std::iter::repeat(0)).take(9);
            nanos = places.fold(0, |sum, digit| sum * 10 + digit);
        }
    } else {
        reader.at = minute_end;
    }
    let zoned = reader.skip(b"Zz");
    let time = jiff::civil::Time::new(hour, minute, second, nanos).ok()?;
    Some((time, zoned, reader.at))
}

/// Seconds or milliseconds since 1970.
fn epoch(bytes: &[u8], at: usize) -> Option<(Stamp, usize)> {
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number: i64 = std::str::from_utf8(bytes.get(at..at + length)?).ok()?.parse().ok()?;
    let nanos = match length {
        10 => number.checked_mul(1_000_000_000)?,
        13 => number.checked_mul(1_000_000)?,
        _ => return None,
    };
    // 2014 to 2100: other numbers of ten digits are no times.
    let plausible = (1_388_534_400..4_102_444_800).contains(&(nanos / 1_000_000_000));
    plausible.then_some((Stamp { time: Time(nanos), zoned: true }, at + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str) -> Option<(String, bool)> {
        let stamp = stamp_of(path)?;
        let text = jiff::Timestamp::from_nanosecond(i128::from(stamp.time.0)).expect("it is in range").to_string();
        Some((text, stamp.zoned))
    }

    #[test]
    fn the_usual_spellings_are_read() {
        for (name, want, zoned) in [
            ("20261129T191428Z", "2026-11-29T19:14:28Z", true),
            ("dump-2026-11-29_19-14-28", "2026-11-29T19:14:28Z", false),
            ("2026-11-29T19:14:28Z.tar.gz", "2026-11-29T19:14:28Z", true),
            ("2026-11-29T19_14_28.5Z", "2026-11-29T19:14:28.5Z", true),
            ("support-bundle-2026-11-29T19_14_28", "2026-11-29T19:14:28Z", false),
            ("202611291914_sonobuoy_0a1b", "2026-11-29T19:14:00Z", false),
            ("2026-11-29/19-14-28/nodes", "2026-11-29T19:14:28Z", false),
            ("2026-11-01-incident/snap-20261129191428", "2026-11-29T19:14:28Z", false),
            ("pods.2026-11-29", "2026-11-29T00:00:00Z", false),
            ("snap-1795979668", "2026-11-29T19:14:28Z", true),
            ("1795979668000", "2026-11-29T19:14:28Z", true),
        ] {
            assert_eq!(said(name), Some((want.to_owned(), zoned)), "{name}");
        }
    }

    #[test]
    fn other_numbers_are_no_times() {
        for name in ["before", "pods-1", "quay-io-sha256-00123456789", "20261340", "must-gather.local.20481", "1.34.1"]
        {
            assert_eq!(said(name), None, "{name}");
        }
    }
}
