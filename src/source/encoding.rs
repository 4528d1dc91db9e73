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

/// Reads UTF-16. Characters that are none, and half of a last one, become U+FFFD. The mark is left out.
pub(crate) fn decode_utf16(bytes: &[u8], encoding: Encoding) -> String {
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
    fn half_a_character_at_the_end_is_seen() {
        assert_eq!(decode_utf16(b"{\0}", Encoding::Utf16Le), "{\u{fffd}");
    }
}
