//! UTF-16 to UTF-8. Windows PowerShell's `>` writes UTF-16 with a byte order mark; other tools leave the mark out.

/// How a text writes its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
}

/// How many bytes without a mark are looked at.
const LOOK: usize = 64;

/// Tells the encoding by the mark, or by where the zero bytes stand: JSON and YAML begin with ASCII characters.
pub(crate) fn detect(head: &[u8]) -> Encoding {
    match head {
        [0xff, 0xfe, ..] => return Encoding::Utf16Le,
        [0xfe, 0xff, ..] => return Encoding::Utf16Be,
        _ => {}
    }
    let pairs = head[..head.len().min(LOOK)].chunks_exact(2);
    let total = pairs.len();
    let (mut low_first, mut high_first) = (0, 0);
    for pair in pairs {
        match pair {
            [1..=255, 0] => low_first += 1,
            [0, 1..=255] => high_first += 1,
            _ => {}
        }
    }
    // Nine of ten, for a name that is not ASCII may stand in the first line.
    if total > 0 && low_first * 10 >= total * 9 {
        Encoding::Utf16Le
    } else if total > 0 && high_first * 10 >= total * 9 {
        Encoding::Utf16Be
    } else {
        Encoding::Utf8
    }
}

/// How many bytes in a row tell that a text goes on in another encoding.
const TURN: usize = 128;

/// Where a text of one encoding goes on in another: what several programs wrote to one file, as PowerShell's `>>` behind
/// what another shell wrote. A whole text has no such place.
fn turn(bytes: &[u8], encoding: Encoding) -> Option<usize> {
    if encoding == Encoding::Utf8 {
        let zero = memchr::memchr(0, bytes)?;
        let marked = memchr::memchr2(0xff, 0xfe, &bytes[..zero]).unwrap_or(zero);
        let begins =
            |at: &usize| bytes.get(*at..).is_some_and(|rest| detect(&rest[..rest.len().min(LOOK)]) != Encoding::Utf8);
        // Nobody begins with white space: behind it, the zero is the high byte of what comes next.
        let after_space = zero.checked_sub(1).is_none_or(|before| bytes[before].is_ascii_whitespace());
        return [marked, if after_space { zero } else { zero - 1 }].into_iter().find(begins);
    }
    // ASCII in pairs is a character of UTF-16 as well, but hardly so many of them in a row.
    let text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let mut run = 0;
    for (at, pair) in bytes.chunks_exact(2).enumerate() {
        run = if pair.iter().all(text) { run + 2 } else { 0 };
        if run >= TURN {
            return Some(at * 2 + 2 - run);
        }
    }
    None
}

/// Whether a text that begins in UTF-8 goes on in another encoding.
pub(crate) fn is_mixed(bytes: &[u8]) -> bool {
    turn(bytes, Encoding::Utf8).is_some()
}

/// Reads a text that begins in an encoding, and may go on in others.
pub(crate) fn decode(mut bytes: &[u8], mut encoding: Encoding) -> String {
    let mut text = String::new();
    loop {
        let end = turn(bytes, encoding).filter(|end| *end > 0).unwrap_or(bytes.len());
        match encoding {
            Encoding::Utf8 => text.push_str(&String::from_utf8_lossy(&bytes[..end])),
            _ => text.push_str(&decode_utf16(&bytes[..end], encoding)),
        }
        bytes = &bytes[end..];
        if bytes.is_empty() {
            return text;
        }
        encoding = detect(bytes);
    }
}

/// Reads UTF-16. Characters that are none, and half of a last one, become U+FFFD. The mark is left out.
fn decode_utf16(bytes: &[u8], encoding: Encoding) -> String {
    let unit = |pair: &[u8]| match encoding {
        Encoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
        Encoding::Utf16Le | Encoding::Utf8 => u16::from_le_bytes([pair[0], pair[1]]),
    };
    let mut text = String::with_capacity(bytes.len() / 2 + 1);
    let units = bytes.chunks_exact(2).map(unit);
    text.extend(char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)));
    if bytes.len() % 2 == 1 {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn utf16_is_told_with_and_without_its_mark() {
        for text in ["{\"kind\": \"Pödlist 🦀\"}", "\u{feff}{\r\n}", "[", "kind: ä\n"] {
            let plain = text.trim_start_matches('\u{feff}');
            let low_first = utf16(text, u16::to_le_bytes);
            assert_eq!(detect(&low_first), Encoding::Utf16Le, "{text}");
            assert_eq!(decode_utf16(&low_first, Encoding::Utf16Le), plain);
            let high_first = utf16(text, u16::to_be_bytes);
            assert_eq!(detect(&high_first), Encoding::Utf16Be, "{text}");
            assert_eq!(decode_utf16(&high_first, Encoding::Utf16Be), plain);
            assert_eq!(detect(text.as_bytes()), Encoding::Utf8, "{text}");
        }
        assert_eq!(detect(&[0; 64]), Encoding::Utf8);
        assert_eq!(detect(b""), Encoding::Utf8);
    }

    #[test]
    fn a_text_may_go_on_in_another_encoding() {
        let first = "{\"kind\": \"Pod\"}\n".repeat(20);
        let second = "[{\"kind\": \"Nöde\", \"a\": \"一二三\"}]\r\n".repeat(20);
        let whole = format!("{first}{second}{first}");
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let between = [first.as_bytes(), &utf16(&second, to_bytes), first.as_bytes()].concat();
            assert!(is_mixed(&between));
            assert_eq!(decode(&between, Encoding::Utf8), whole);
            let marked = utf16(&format!("\u{feff}{second}"), to_bytes);
            assert_eq!(decode(&[first.as_bytes(), &marked].concat(), Encoding::Utf8), format!("{first}{second}"));
            let around = [utf16(&second, to_bytes), first.clone().into_bytes(), utf16(&second, to_bytes)].concat();
            assert_eq!(decode(&around, detect(&around)), format!("{second}{first}{second}"));
        }
        for text in [&first, &second, &"丏丐丑".repeat(90)] {
            assert!(!is_mixed(text.as_bytes()), "{text}");
            assert_eq!(decode(&utf16(text, u16::to_le_bytes), Encoding::Utf16Le), *text);
        }
        assert!(!is_mixed(&[first.as_bytes(), &[0; 99]].concat()), "written over a longer file");
    }

    #[test]
    fn half_a_character_at_the_end_is_seen() {
        assert_eq!(decode_utf16(b"{\0}", Encoding::Utf16Le), "{\u{fffd}");
    }
}
