//! Long texts that come piece by piece, cut into blocks of whole objects, and what stands around them.
//!
//! Such a text holds lists and objects, one behind the other. Those that are short stand in blocks of whole values. Of a
//! long list a block holds items: what stands between marks, as in [`Bulk`](super::split::Bulk). It holds if every piece is
//! one complete object, which is for whoever reads them to find out. Then the list is what its [`Frame`] is, with the items
//! in the place of its first one.

use super::split::{self, List, NotItems, Room, Split};
use crate::model::id::FileId;
use std::ops::Range;
use std::sync::Arc;

/// What stands before the items of a list, and between them.
#[derive(Debug)]
pub struct Beginning {
    pub(super) head: Vec<u8>,
    /// What stands around the beginning of every item but the first, and how much of it stands before the item.
    pub(super) mark: (Vec<u8>, usize),
    /// The list is an array and not an object around one.
    pub(super) is_array: bool,
}

impl Beginning {
    /// The list as far as the text before its items tells of it.
    pub fn list(&self) -> Option<List<'_>> {
        // Of course it breaks off there.
        split::split(FileId(0), &self.head).lists.first().map(|list| List { broken: false, ..*list })
    }
}

/// A piece of a text.
#[derive(Debug)]
pub struct Block {
    /// Its place among the blocks and frames of the text.
    pub number: usize,
    /// Offset of its first byte in the text.
    pub offset: u64,
    /// Whole values, or items of a list, from the first byte of the first to the last byte of the last.
    pub text: Vec<u8>,
    /// The list, if they are items.
    pub list: Option<Arc<Beginning>>,
}

impl Block {
    /// The items of a list, as ranges of the block.
    pub fn items(&self, list: &Beginning) -> Result<Vec<Range<usize>>, NotItems> {
        let (mark, lead) = &list.mark;
        let begins = std::iter::once(0).chain(memchr::memmem::find_iter(&self.text, mark).map(|at| at + lead));
        let mut items: Vec<Range<usize>> = begins.map(|begin| begin..self.text.len()).collect();
        for at in 1..items.len() {
            let next = items[at].start;
            let item = &mut items[at - 1];
            item.end = item.start + before_comma(&self.text[item.start..next]).ok_or(NotItems)?.len();
        }
        Ok(items)
    }
}

/// An item without the comma behind it.
pub(super) fn before_comma(piece: &[u8]) -> Option<&[u8]> {
    split::trim_end(piece).strip_suffix(b",").map(split::trim_end)
}

/// What is left of a text once its blocks were taken out: an empty object stands for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its place among the blocks and frames of the text.
    pub number: usize,
    pub(super) what: Around,
    pub(super) text: Vec<u8>,
    /// Offset of its first byte in the whole text.
    pub(super) base: u64,
    /// Where the empty object begins, as the first item does.
    pub(super) begin: usize,
    /// How much more stands in the whole text in the place of the empty object.
    pub(super) shift: u64,
}

/// What a frame is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// A list that ends, all its items in blocks.
    List,
    /// A list that does not end, or not as lists do, and whatever follows to the end of the text. The last item is in it.
    OpenList,
    /// What follows whole values, to the end of the text: no other value that ends.
    Values,
}

impl Around {
    /// What stands for the items that are not in a frame.
    pub(super) const fn placeholder(self) -> &'static [u8] {
        match self {
            Around::OpenList => b"{},",
            Around::List | Around::Values => b"{}",
        }
    }
}

impl Frame {
    /// What it holds beside the blocks, and how many objects that takes the room of. The first list is the one whose
    /// items stand in blocks: so many of them.
    pub fn split(&self, file: FileId, items: u64) -> Result<(Split<'_>, usize), NotItems> {
        let room = Room::unbounded();
        let mut split = split::split_in_bulk(file, &self.text, usize::MAX, &room);
        let behind = self.begin + self.what.placeholder().len();
        let first = split.documents.first().ok_or(NotItems)?;
        let in_list = (self.what != Around::Values).then_some(0);
        let begins: Vec<u64> = split.documents.iter().map(|it| it.offset).collect();
        if begins[0] != self.begin as u64 || first.list != in_list || first.json != b"{}" {
            return Err(NotItems);
        }
        let alone = split.lists.len() == 1 && split.foreign.is_empty();
        let fits = match self.what {
            Around::List => alone && begins.len() == 1 && split.breaks.is_empty(),
            Around::OpenList => {
                let own = split.documents.iter().all(|it| it.list == Some(0));
                alone && own && [begins[0], behind as u64].starts_with(&begins)
            }
            Around::Values => true,
        };
        if !fits {
            return Err(NotItems);
        }
        if let Some(list) = split.lists.first_mut().filter(|_| in_list.is_some()) {
            list.objects = (list.objects + items).saturating_sub(1);
        }
        let place = |it: u64| self.base + if it < behind as u64 { it } else { it + self.shift };
        split.documents.remove(0);
        split.documents.iter_mut().for_each(|it| it.offset = place(it.offset));
        split.lists.iter_mut().for_each(|it| it.offset = place(it.offset));
        split.breaks.iter_mut().for_each(|it| it.offset = place(it.offset));
        split.foreign.iter_mut().for_each(|it| it.offset = place(it.offset));
        Ok((split, room.taken().saturating_sub(1)))
    }

    /// What stands before a place behind the empty object.
    pub fn text_before(&self, offset: u64) -> &[u8] {
        let at = offset.saturating_sub(self.base + self.shift);
        self.text.get(..usize::try_from(at).unwrap_or(usize::MAX)).unwrap_or_default()
    }
}

/// What is known of a list whose text is gone.
#[derive(Clone, Debug)]
pub struct KeptList {
    kind: Option<Box<str>>,
    api_version: Option<Box<str>>,
    hint: Option<Box<str>>,
    list: List<'static>,
}

impl KeptList {
    /// Keeps a list.
    pub fn of(list: &List<'_>) -> Self {
        let kept = |text: Option<&str>| text.map(Box::from);
        let &List { offset, kind, api_version, objects, continued, remaining, broken, nested, hint } = list;
        let (kind, api_version, hint) = (kept(kind), kept(api_version), kept(hint));
        let [no_kind, no_version, no_hint] = [None; 3];
        let list = List {
            offset,
            kind: no_kind,
            api_version: no_version,
            objects,
            continued,
            remaining,
            broken,
            nested,
            hint: no_hint,
        };
        KeptList { kind, api_version, hint, list }
    }

    /// The list.
    pub fn list(&self) -> List<'_> {
        let (kind, api_version, hint) = (self.kind.as_deref(), self.api_version.as_deref(), self.hint.as_deref());
        List { kind, api_version, hint, ..self.list }
    }
}
