//! JSON texts to documents: one object each, with its place.

use crate::model::id::FileId;

/// One object's JSON text. Invariant: `json` lies in the file's bytes at `offset`.
#[derive(Clone, Copy, Debug)]
pub struct Document<'b> {
    /// The file.
    pub file: FileId,
    /// Offset of the text in the file's bytes.
    pub offset: u64,
    /// The text, one JSON object.
    pub json: &'b [u8],
    /// Kind of the items of the list around it (`PodList` gives `Pod`), for items that do not name their own.
    pub list_kind: Option<&'b str>,
    /// apiVersion of the list around it.
    pub list_api_version: Option<&'b str>,
}
