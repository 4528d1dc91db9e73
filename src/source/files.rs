//! The table of input files.

use crate::model::id::FileId;
use std::ops::Deref;
use std::time::SystemTime;

/// The bytes of one file: mapped or in memory.
#[derive(Debug)]
pub enum Bytes {
    /// In memory: standard input, members of archives, converted text.
    Owned(Vec<u8>),
    /// A file mapped into memory.
    Mapped(memmap2::Mmap),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(bytes) => bytes,
        }
    }
}

/// One file of the input, or one member of an archive.
#[derive(Debug)]
pub struct SourceFile {
    /// The path as the user would name it; a member is `archive.tar.gz!folder/file.json`.
    pub path: String,
    /// Its text, as JSON in UTF-8 (converted where the file was something else).
    pub bytes: Bytes,
    /// Size of the file as it lies on disk.
    pub size: u64,
    /// When it was written.
    pub modified: Option<SystemTime>,
}

/// All files of the input, in the order they were found: sorted by path within each folder.
#[derive(Debug, Default)]
pub struct FileTable {
    /// By [`FileId`].
    pub files: Vec<SourceFile>,
}

impl FileTable {
    /// A file.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.index()]
    }
}
