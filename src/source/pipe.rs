//! What comes through pipes and devices, and how bytes are kept: a long text is folded as it comes, which is to say
//! compressed in memory, since nobody can ask for it a second time.

use super::files::Bytes;
use super::given::ContentDigest;
use super::meter::Meter;
use super::sniff::{self, Content};
use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{self, BufRead, Read, Write};

/// What is read of a pipe or a device, which may never end; a regular file is mapped, whatever its size.
const MAX_STREAM: u64 = 8 << 30;
/// How much is read at a time.
const PIECE: usize = 1 << 20;

/// The bytes of a file: at hand, or folded.
#[derive(Debug)]
pub(crate) enum Store {
    /// As they are.
    Bytes(Bytes),
    /// A long text that came through a pipe.
    Folded(Folded),
}

/// A text in memory, compressed by this program.
#[derive(Debug)]
pub(crate) struct Folded {
    packed: Pages,
    /// Its length.
    size: u64,
    /// Its beginning.
    head: Vec<u8>,
}

impl Folded {
    /// Reads the text.
    pub(super) fn reader(&self) -> impl Read + '_ {
        DeflateDecoder::new(Turning { pages: &self.packed.0, at: 0 })
    }
}

impl Store {
    /// How many bytes there are.
    pub(super) fn size(&self) -> u64 {
        match self {
            Store::Bytes(bytes) => bytes.len() as u64,
            Store::Folded(folded) => folded.size,
        }
    }

    /// The first of them.
    pub(super) fn head(&self) -> &[u8] {
        let all: &[u8] = match self {
            Store::Bytes(bytes) => bytes,
            Store::Folded(folded) => &folded.head,
        };
        &all[..all.len().min(sniff::HEAD)]
    }

    /// Shows all of them, piece by piece.
    pub(super) fn show(&self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Store::Bytes(bytes) => take(bytes),
            Store::Folded(folded) => {
                let mut reader = folded.reader();
                let mut piece = Vec::with_capacity(PIECE);
                while matches!((&mut reader).take(PIECE as u64).read_to_end(&mut piece), Ok(1..)) {
                    take(&piece);
                    piece.clear();
                }
            }
        }
    }

    /// All of them at hand.
    pub(super) fn unfold(self) -> io::Result<Bytes> {
        let folded = match self {
            Store::Bytes(bytes) => return Ok(bytes),
            Store::Folded(folded) => folded,
        };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(folded.size).map_err(io::Error::other)?)?;
        folded.reader().read_to_end(&mut bytes)?;
        Ok(Bytes::Owned(bytes))
    }

    /// Their digest.
    pub(super) fn content_digest(&self) -> ContentDigest {
        digest_of(|take| self.show(take))
    }
}

/// The digest of bytes that are shown piece by piece, computed by all processors where there are many.
pub(super) fn digest_of(show: impl FnOnce(&mut dyn FnMut(&[u8]))) -> ContentDigest {
    const PAYS: usize = 1 << 17;
    let mut hasher = blake3::Hasher::new();
    show(&mut |piece| {
        if piece.len() < PAYS {
            hasher.update(piece);
        } else {
            hasher.update_rayon(piece);
        }
    });
    *hasher.finalize().as_bytes()
}

/// Reads a stream to its end, which has to come. A text that is longer than `whole` is folded; what is compressed already
/// is kept as it is.
pub(super) fn read(reader: &mut dyn Read, whole: usize, meter: &Meter) -> io::Result<Store> {
    let mut reader = Pieces { reader, left: MAX_STREAM + 1, meter };
    let mut bytes: Vec<u8> = Vec::new();
    let mut size = reader.read(&mut bytes, whole as u64)?;
    let is_packed = matches!(sniff::sniff(head(&bytes)), Content::Compressed(_) | Content::Zip);
    let store = if size < whole as u64 || is_packed {
        size += reader.read(&mut bytes, u64::MAX)?;
        // There may be a million of these.
        bytes.shrink_to_fit();
        Store::Bytes(Bytes::Owned(bytes))
    } else {
        let folded = fold(bytes, &mut reader)?;
        size = folded.size;
        Store::Folded(folded)
    };
    if size > MAX_STREAM {
        return Err(io::Error::other(format!(
            "more than {} GiB came and no end; give a regular file",
            MAX_STREAM >> 30
        )));
    }
    // Nobody knew before how much it is: what was read, and what it is taken for next.
    meter.expect(2 * size);
    Ok(store)
}

fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(sniff::HEAD)]
}

/// Folds a text, of which some bytes were read.
fn fold(begun: Vec<u8>, reader: &mut Pieces<'_>) -> io::Result<Folded> {
    let mut head = head(&begun).to_vec();
    // Dumps shrink to a tenth by this already, and quicker than any pipe brings more.
    let mut encoder = DeflateEncoder::new(Pages(Vec::new()), Compression::fast());
    encoder.write_all(&begun)?;
    let mut size = begun.len() as u64;
    drop(begun);
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        piece.clear();
        let count = reader.read(&mut piece, PIECE as u64)?;
        if count == 0 {
            break;
        }
        encoder.write_all(&piece)?;
        head.extend(piece.iter().take(sniff::HEAD - head.len()));
        size += count;
    }
    Ok(Folded { packed: encoder.finish()?, size, head })
}

/// A stream that may not end.
struct Pieces<'r> {
    reader: &'r mut dyn Read,
    /// How much more is read at most.
    left: u64,
    meter: &'r Meter,
}

impl Pieces<'_> {
    /// Reads so many bytes more, or up to the end.
    fn read(&mut self, bytes: &mut Vec<u8>, more: u64) -> io::Result<u64> {
        const FIRST: usize = 8 << 10;
        let mut read = 0;
        while read < more && self.left > 0 {
            // Where there is no more memory, reading into a full vector ends the program; this is an error.
            if bytes.len() == bytes.capacity() {
                bytes.try_reserve(bytes.len().max(FIRST))?;
            }
            let room = (bytes.capacity() - bytes.len()).min(PIECE) as u64;
            let room = room.min(more - read).min(self.left);
            let count = (&mut self.reader).take(room).read_to_end(bytes)? as u64;
            self.meter.advance(count);
            self.left -= count;
            read += count;
            if count == 0 {
                break;
            }
        }
        Ok(read)
    }
}

/// Bytes that grow as far as there is memory, and stay where they are.
#[derive(Debug)]
struct Pages(Vec<Vec<u8>>);

impl Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.last().is_none_or(|last| last.len() == PIECE) {
            let mut page = Vec::new();
            page.try_reserve_exact(PIECE)?;
            self.0.try_reserve(1)?;
            self.0.push(page);
        }
        let Some(last) = self.0.last_mut() else { return Ok(0) };
        let count = bytes.len().min(PIECE - last.len());
        last.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pages that are read.
struct Turning<'p> {
    pages: &'p [Vec<u8>],
    /// How much of the first one was read.
    at: usize,
}

impl BufRead for Turning<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.pages.first().map_or(&[], |page| &page[self.at..]))
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
        if self.pages.first().is_some_and(|page| self.at == page.len()) {
            (self.pages, self.at) = (&self.pages[1..], 0);
        }
    }
}

impl Read for Turning<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8], whole: usize) -> Store {
        read(&mut &*bytes, whole, &Meter::default()).expect("memory does not break off")
    }

    #[test]
    fn a_long_text_is_folded_and_comes_back() {
        let text: Vec<u8> = (0..50_000_u32).flat_map(|at| format!("{{\"a\": {at}}}\n").into_bytes()).collect();
        for end in [0, 1, 999, 1000, 1001, 70_000, text.len()] {
            let store = read_all(&text[..end], 1000);
            assert_eq!(matches!(store, Store::Folded(_)), end >= 1000, "{end}");
            assert_eq!((store.size(), store.head()), (end as u64, head(&text[..end])));
            let plain = Store::Bytes(Bytes::Owned(text[..end].to_vec()));
            assert_eq!(store.content_digest(), plain.content_digest());
            if let Store::Folded(folded) = &store {
                assert!(end < 70_000 || folded.packed.0.iter().map(Vec::len).sum::<usize>() < end / 4);
            }
            assert_eq!(*store.unfold().expect("it was folded here"), text[..end]);
        }
    }

    #[test]
    fn what_is_compressed_stays_so() {
        for magic in [&b"\x1f\x8b\x08"[..], b"PK\x03\x04", b"\x28\xb5\x2f\xfd"] {
            let bytes = [magic, &[7; 3000]].concat();
            assert!(matches!(read_all(&bytes, 1000), Store::Bytes(it) if *it == *bytes));
        }
    }
}
