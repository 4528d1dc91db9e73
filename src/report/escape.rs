//! Text of a dump, made safe for a terminal: names come from whoever may create pods.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

/// Whether a character may move the cursor, hide text or turn its direction.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with unsafe characters written as `\u{…}`.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The same for text of several lines.
pub fn safe_lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}

/// JSON whose strings hold no unsafe character: those are written as JSON escapes.
pub struct SafeJson<F> {
    layout: F,
}

impl SafeJson<serde_json::ser::PrettyFormatter<'_>> {
    /// Two spaces a level.
    pub fn pretty() -> Self {
        SafeJson { layout: serde_json::ser::PrettyFormatter::new() }
    }
}

impl SafeJson<serde_json::ser::CompactFormatter> {
    /// All on one line.
    pub fn compact() -> Self {
        SafeJson { layout: serde_json::ser::CompactFormatter }
    }
}

macro_rules! pass_on {
    ($($name:ident($($arg:ident: $type:ty),*)),+ $(,)?) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $arg: $type)*) -> io::Result<()> {
            self.layout.$name(writer $(, $arg)*)
        }
    )+};
}

impl<F: serde_json::ser::Formatter> serde_json::ser::Formatter for SafeJson<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.is_ascii() && !fragment.contains('\u{7f}') {
            return writer.write_all(fragment.as_bytes());
        }
        let mut units = [0; 2];
        let mut bytes = [0; 4];
        for c in fragment.chars() {
            if is_unsafe(c) {
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            } else {
                writer.write_all(c.encode_utf8(&mut bytes).as_bytes())?;
            }
        }
        Ok(())
    }

    pass_on! {
        begin_array(), end_array(), begin_array_value(first: bool), end_array_value(),
        begin_object(), end_object(), begin_object_key(first: bool), begin_object_value(), end_object_value(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[test]
    fn a_name_cannot_move_the_cursor_or_turn_the_text() {
        assert_eq!(safe("web-0"), "web-0");
        assert_eq!(safe("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(safe("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(safe("naïve-日本"), "naïve-日本");
    }

    #[test]
    fn json_says_the_same_without_unsafe_characters() {
        let names = ["a\u{202e}b", "\x7f", "\u{e0041}", "日本", "\x1b[2J\"\\"];
        let mut text = Vec::new();
        names.serialize(&mut serde_json::Serializer::with_formatter(&mut text, SafeJson::pretty())).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.chars().any(|c| is_unsafe(c) && c != '\n'), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), names);
    }
}
