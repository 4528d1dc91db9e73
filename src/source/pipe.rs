//! What comes through pipes and devices, and how bytes are kept: a long text is folded as it comes, which is to say
//! compressed in memory, since nobody can ask for it a second time.

use super::files::Bytes;
use super::given::ContentDigest;
use super::meter::Meter;
use super::sniff::{self, Content};
use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rayon::prelude::*;
use std::io::{self, Read, Write};

/// What is read of a pipe or a device, which may never end; a regular file is mapped, whatever its size.
const MAX_STREAM: u64 = 8 << 30;
/// How much is read at a time, and folded by itself.
const PIECE: usize = 1 << 20;
/// How much is folded while as much is read.
const BATCH: usize = 8 * PIECE;

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
    /// Piece by piece.
    pages: Vec<Vec<u8>>,
    /// Its length.
    size: u64,
    /// Its beginning.
    head: Vec<u8>,
}

impl Folded {
    /// Reads the text.
    pub(super) fn reader(&self) -> impl Read + '_ {
        Unfolding { pages: self.pages.iter(), page: None }
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
        match self {
            Store::Bytes(bytes) => sniff::head(bytes),
            Store::Folded(folded) => &folded.head,
        }
    }

    /// Shows all of them, piece by piece.
    pub(super) fn show(&self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Store::Bytes(bytes) => take(bytes),
            Store::Folded(folded) => each_piece(&mut folded.reader(), take),
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

/// Reads a text piece by piece, to its end or to where it breaks off.
pub(super) fn each_piece(reader: &mut dyn Read, take: &mut dyn FnMut(&[u8])) {
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        piece.clear();
        let read = (&mut *reader).take(PIECE as u64).read_to_end(&mut piece);
        if !piece.is_empty() {
            take(&piece);
        }
        if !matches!(read, Ok(1..)) {
            return;
        }
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
    let is_packed = matches!(sniff::sniff(sniff::head(&bytes)), Content::Compressed(_) | Content::Zip);
    let store = if size < whole as u64 || is_packed {
        // A terminal that was asked for more after its end would wait for it.
        if size == whole as u64 {
            size += reader.read(&mut bytes, u64::MAX)?;
        }
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

/// Folds a text, of which some bytes were read: by all processors, and while more of it comes.
fn fold(begun: Vec<u8>, reader: &mut Pieces<'_>) -> io::Result<Folded> {
    let mut folded = Folded { pages: Vec::new(), size: 0, head: Vec::new() };
    let mut batch = begun;
    while !batch.is_empty() {
        folded.size += batch.len() as u64;
        folded.head.extend(batch.iter().take(sniff::HEAD - folded.head.len()));
        let mut next = Vec::new();
        let mut pages = Ok(Vec::new());
        let read = rayon::in_place_scope(|scope| {
            scope.spawn(|_| pages = batch.par_chunks(PIECE).map(fold_piece).collect());
            next.try_reserve_exact(BATCH)?;
            reader.read(&mut next, BATCH as u64)
        });
        read?;
        folded.pages.append(&mut pages?);
        batch = next;
    }
    Ok(folded)
}

/// Dumps shrink to a tenth by the least effort already.
fn fold_piece(piece: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Growing(Vec::new()), Compression::fast());
    encoder.write_all(piece)?;
    let Growing(mut page) = encoder.finish()?;
    page.shrink_to_fit();
    Ok(page)
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

/// Bytes that grow as far as there is memory.
struct Growing(Vec<u8>);

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A folded text that is read.
struct Unfolding<'f> {
    /// What was not begun yet.
    pages: std::slice::Iter<'f, Vec<u8>>,
    page: Option<DeflateDecoder<&'f [u8]>>,
}

impl Read for Unfolding<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.page.as_mut().map_or(Ok(0), |page| page.read(buffer))?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(page) = self.pages.next() else { return Ok(0) };
            self.page = Some(DeflateDecoder::new(page));
        }
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
        let text = text.repeat(2 * BATCH / text.len() + 1);
        for end in [0, 1, 999, 1000, 1001, 70_000, PIECE, PIECE + 1000, 5 << 20, BATCH + 1000, 9 << 20, text.len()] {
            let store = read_all(&text[..end], 1000);
            assert_eq!(matches!(store, Store::Folded(_)), end >= 1000, "{end}");
            assert_eq!((store.size(), store.head()), (end as u64, sniff::head(&text[..end])));
            let plain = Store::Bytes(Bytes::Owned(text[..end].to_vec()));
            assert_eq!(store.content_digest(), plain.content_digest());
            if let Store::Folded(folded) = &store {
                assert!(end < 70_000 || folded.pages.iter().map(Vec::len).sum::<usize>() < end / 4);
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
