//! Mapping of files: the one place of the crate with an unsafe call.

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps a file for reading. A file of no bytes cannot be mapped on every system: read it instead.
#[expect(unsafe_code, reason = "mapping is the only way to read gigabytes without a copy; reviewed here")]
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only, and it lives as long as the `Mmap`. What Rust cannot rule out is
    // another process that writes to or shortens the file meanwhile. Every reader of the bytes treats them as untrusted
    // (bounds-checked, UTF-8 checked), so changed bytes give a damaged object; a shortened file ends the program with
    // SIGBUS, as it does for every program that maps files.
    unsafe { Mmap::map(file) }
}
