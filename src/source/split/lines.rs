//! Long texts of one object behind the other, such as one a line: pieces of them are split at the same time.

use super::{Room, Scanner, Split, Stop};
use crate::model::id::FileId;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of a piece, about.
const PIECE: usize = 4 << 20;
/// Where an object begins that stands behind another one. Strings hold no ends of lines, and whoever indents does so also
/// with inner objects.
const BEGIN: &[u8] = b"\n{";

/// Splits a text that holds objects and lists one behind the other and nothing else; `None` if it is not so, or only one
/// piece long. A piece that begins or ends inside an object shows that it does.
pub(super) fn split<'b>(file: FileId, bytes: &'b [u8], room: &Room) -> Option<Split<'b>> {
    let trial = Room::new(room.left());
    // The first object has an end: almost always that tells.
    let first = Scanner::over(bytes.get(..PIECE)?, &trial).skip_value(0).ok()?;
    if bytes[0] != b'{' || !bytes[first..].trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let pieces = pieces(bytes, PIECE);
    let splits: Option<Vec<Split<'_>>> =
        pieces.par_iter().map(|piece| split_piece(file, &bytes[piece.clone()], &trial)).collect();
    let splits = splits?;
    room.take_as(&trial);
    let mut all = Split::default();
    for (split, piece) in splits.into_iter().zip(pieces) {
        all.append(split, piece.start as u64);
    }
    Some(all)
}

fn pieces(bytes: &[u8], size: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    while begin < bytes.len() {
        let from = (begin + size).min(bytes.len());
        let end = memchr::memmem::find(&bytes[from..], BEGIN).map_or(bytes.len(), |at| from + at + 1);
        pieces.push(begin..end);
        begin = end;
    }
    pieces
}

/// Only values, and space between them: then the text is read on behind the piece as if from its beginning.
pub(super) fn split_piece<'b>(file: FileId, bytes: &'b [u8], room: &Room) -> Option<Split<'b>> {
    let mut scanner = Scanner { file, ..Scanner::over(bytes, room) };
    let mut at = scanner.skip_space(0);
    while at < bytes.len() {
        let begins = matches!(bytes[at], b'{' | b'[') && !room.is_exceeded();
        let end: Result<usize, Stop> = if begins { scanner.value(at, None, 0) } else { return None };
        at = scanner.skip_space(end.ok()?);
    }
    // A break in a map of lists or objects stops nothing here, and ends what a whole text is read for.
    scanner.out.breaks.is_empty().then_some(scanner.out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let lines = [
            r#"{"kind":"Pod","metadata":{"name":"a"}}"#,
            r#"{"kind":"List","items":[{"kind":"Pod"},{"kind":"Node"}]}"#,
            "{\n  \"kind\": \"Pod\",\n  \"x\": {\n  }\n}",
            r#"[{"kind":"Pod"}]"#,
            r#"{"Items":[],"SelfLink":"","ResourceVersion":""}"#,
            "",
            r#"{"type":"DELETED","object":{"kind":"Pod"}}"#,
            r#"{"kind":"Pod","x":"\\\"}{["}"#,
        ];
        let text = lines.repeat(3).join("\n");
        let whole = format!("{:?}", super::super::split(FileId(0), text.as_bytes()));
        let room = Room::unbounded();
        for size in 1..text.len() {
            let mut all = Split::default();
            for piece in pieces(text.as_bytes(), size) {
                let split = split_piece(FileId(0), &text.as_bytes()[piece.clone()], &room).expect("only values");
                all.append(split, piece.start as u64);
            }
            assert!(format!("{all:?}") == whole, "{size}: {all:?}");
        }
        for odd in ["{\n{}\n}", "[\n{},\n{}]", "{}\n{", "{} x\n{}", "x\n{}"] {
            let pieces = pieces(odd.as_bytes(), 1);
            let split = |it: &Range<usize>| split_piece(FileId(0), &odd.as_bytes()[it.clone()], &room);
            assert!(pieces.iter().any(|it| split(it).is_none()), "{odd}");
        }
    }
}
