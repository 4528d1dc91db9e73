//! Compressed files and containers, read in place: nothing is ever written to a disk, so a member's path cannot do harm.
//!
//! An archive may say it holds more than any machine has room for. [`Limits`] bound what one of them may unfold to.

use super::cutter;
use super::decoders::{Counted, Steady, Tail, XzStreams, ZstdFrames};
use super::meter::{Share, Watched};
use super::names;
use super::pipe::Store;
use super::sniff::{self, Compression, Content, Foreign};
use std::cell::Cell;
use std::io::{self, BufReader, Cursor, Read, Seek};

/// What one file of the input may unfold to, whatever lies inside of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep archives may lie in archives; the outermost counts as one.
    pub depth: u32,
    /// How many members are looked at.
    pub members: u64,
    /// How many bytes may come out of decompression, on every level together.
    pub bytes: u64,
    /// How many times its size on disk a file may unfold to.
    pub ratio: u64,
    /// What a file may unfold to whatever its ratio.
    pub always: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { depth: 4, members: 2_000_000, bytes: 8 << 30, ratio: 200, always: 256 << 20 }
    }
}

/// A member that may hold objects.
#[derive(Debug)]
pub(crate) struct Member {
    /// `archive.tar.gz!folder/file.json`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    /// It is a long text of objects, which was not kept, but for [`revisit`].
    pub(crate) long: Option<Text>,
    /// Seconds since 1970, if the container says.
    pub(crate) modified: Option<u64>,
}

/// A text among those that a file unfolds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text {
    /// Counted in the order in which they come.
    pub(crate) number: u64,
    /// How long it is; nobody knows of the one text of a compressed file, which is not read to its end for that.
    pub(crate) length: Option<u64>,
}

/// A file that was not read to its end, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) path: String,
    pub(crate) what: FlawKind,
}

/// What is wrong with an archive or a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlawKind {
    /// It is damaged or cut; what came before was used.
    Damaged(String),
    /// It unfolds to more than is allowed.
    TooLarge,
    /// It has more members than are looked at.
    TooMany,
    /// Archives lie too deep in archives.
    TooDeep,
    /// It is something else, and known.
    Foreign(Foreign),
    /// It is encrypted.
    Encrypted,
    /// It is compressed in a way that is not read: which.
    Method(String),
}

/// What came out of an archive.
#[derive(Debug, Default)]
pub(crate) struct Unfolded {
    pub(crate) members: Vec<Member>,
    pub(crate) flaws: Vec<Flaw>,
    /// Members of other kinds: logs, images, programs.
    pub(crate) others: u64,
}

/// Unfolds a file that is an archive, a compressed stream, or text. Lists and sequences of objects of at least
/// `whole` bytes are not kept.
pub(crate) fn unfold(path: &str, store: &Store, limits: Limits, whole: usize, share: &Share<'_>) -> Unfolded {
    go_through(path, store, limits, Purpose::Keep { whole }, share)
}

/// Unfolds once more, and shows some texts as they come, in the order of their numbers. Gives what is wrong with them.
pub(crate) fn revisit(
    (path, store): (&str, &Store),
    limits: Limits,
    texts: &[Text],
    visitor: &mut Visitor<'_>,
    share: &Share<'_>,
) -> Vec<Flaw> {
    go_through(path, store, limits, Purpose::Show { texts, visitor }, share).flaws
}

/// Reads the text of a number to its end, or as far as it is wanted.
pub(crate) type Visitor<'v> = dyn FnMut(u64, &mut dyn Read) -> io::Result<()> + 'v;

fn go_through(path: &str, store: &Store, limits: Limits, purpose: Purpose<'_, '_>, share: &Share<'_>) -> Unfolded {
    let allowance = limits.bytes.min(store.size().saturating_mul(limits.ratio).max(limits.always));
    let budget = Budget { left: Cell::new(allowance), spent: Cell::new(false) };
    let out = Unfolded::default();
    let mut unfolding = Unfolding { limits, purpose, budget: &budget, members: 0, texts: 0, out };
    match store {
        Store::Bytes(bytes) if sniff::sniff(store.head()) == Content::Zip => {
            unfolding.zip(path, Watched { inner: Cursor::new(&bytes[..]), share }, 1);
        }
        Store::Bytes(bytes) => unfolding.stream(path, &mut Watched { inner: &bytes[..], share }, None, 1),
        Store::Folded(folded) => unfolding.stream(path, &mut Watched { inner: folded.reader(), share }, None, 1),
    }
    unfolding.out
}

/// What texts are looked for.
enum Purpose<'p, 'v> {
    /// All, to keep them, but for lists and sequences of objects of at least so many bytes.
    Keep { whole: usize },
    /// Some, to show them: those that were not yet.
    Show { texts: &'p [Text], visitor: &'p mut Visitor<'v> },
}

/// How much may still come out.
struct Budget {
    left: Cell<u64>,
    spent: Cell<bool>,
}

/// A stream whose bytes count against a budget.
struct Metered<'b, R> {
    inner: R,
    budget: &'b Budget,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let Some(left) = self.budget.left.get().checked_sub(count as u64) else {
            self.budget.spent.set(true);
            return Err(io::Error::other("unfolds to more than is allowed"));
        };
        self.budget.left.set(left);
        Ok(count)
    }
}

struct Unfolding<'b, 'p, 'v> {
    limits: Limits,
    purpose: Purpose<'p, 'v>,
    budget: &'b Budget,
    members: u64,
    /// Texts that were found.
    texts: u64,
    out: Unfolded,
}

impl Unfolding<'_, '_, '_> {
    fn flaw(&mut self, path: &str, what: FlawKind) {
        self.out.flaws.push(Flaw { path: path.to_owned(), what });
    }

    /// An error while reading: the budget's, or damage.
    fn failed(&mut self, path: &str, error: &impl ToString) {
        let what = if self.budget.spent.get() {
            if self.out.flaws.iter().any(|flaw| flaw.what == FlawKind::TooLarge) {
                return;
            }
            FlawKind::TooLarge
        } else {
            FlawKind::Damaged(error.to_string())
        };
        // The rest of a stream breaks for the reason that its beginning broke for.
        if self.out.flaws.last().is_none_or(|last| last.path != path || last.what != what) {
            self.flaw(path, what);
        }
    }

    /// Looks at a stream and takes it apart, or keeps it.
    fn stream(&mut self, path: &str, mut reader: &mut dyn Read, modified: Option<u64>, depth: u32) {
        let mut head = Vec::with_capacity(sniff::HEAD);
        if let Err(error) = (&mut reader).take(sniff::HEAD as u64).read_to_end(&mut head) {
            self.failed(path, &error);
        }
        let content = sniff::sniff(&head);
        if matches!(content, Content::Compressed(_) | Content::Tar | Content::Zip) && depth > self.limits.depth {
            return self.flaw(path, FlawKind::TooDeep);
        }
        let mut whole = Cursor::new(head).chain(reader);
        match content {
            Content::Compressed(compression) => self.compressed(path, compression, &mut whole, modified, depth),
            Content::Tar => self.tar(path, &mut whole, depth),
            Content::Zip => {
                // The list of a zip's members stands at its end.
                let mut bytes = Vec::new();
                match whole.read_to_end(&mut bytes) {
                    Ok(_) => self.zip(path, Cursor::new(bytes), depth),
                    Err(error) => self.failed(path, &error),
                }
            }
            Content::Utf16(_) | Content::Json | Content::Yaml | Content::Text | Content::Blank => {
                self.text(path, content == Content::Json, &mut whole, modified);
            }
            Content::Foreign(foreign) => self.flaw(path, FlawKind::Foreign(foreign)),
            Content::Binary => self.out.others += 1,
        }
    }

    /// Keeps a text, or shows it.
    fn text(&mut self, path: &str, json: bool, reader: &mut dyn Read, modified: Option<u64>) {
        let number = self.texts;
        self.texts += 1;
        let whole = match &mut self.purpose {
            Purpose::Keep { whole } => *whole as u64,
            Purpose::Show { texts, visitor } => {
                if let Some((text, rest)) = texts.split_first().filter(|(text, _)| text.number == number) {
                    *texts = rest;
                    let mut reader = reader.take(text.length.unwrap_or(u64::MAX));
                    if let Err(error) = visitor(number, &mut reader) {
                        self.failed(path, &error);
                    }
                }
                return;
            }
        };
        let mut bytes = Vec::new();
        let begun = (&mut *reader).take(whole).read_to_end(&mut bytes);
        let long = json && bytes.len() as u64 == whole && cutter::is_cut(&bytes);
        let mut length = None;
        let read = match begun {
            Ok(_) if long => {
                bytes = Vec::new();
                // Other members follow, and what is wrong with the container is told now.
                if self.members > 0 { pass(reader, &mut length, whole) } else { Ok(0) }
            }
            Ok(_) => reader.read_to_end(&mut bytes).map(|count| count as u64),
            Err(error) => Err(error),
        };
        if let Err(error) = read {
            self.failed(path, &error);
        }
        let long = long.then_some(Text { number, length });
        self.out.members.push(Member { path: path.to_owned(), bytes, long, modified });
    }

    fn compressed(
        &mut self,
        path: &str,
        compression: Compression,
        reader: &mut dyn Read,
        modified: Option<u64>,
        depth: u32,
    ) {
        let budget = self.budget;
        match compression {
            Compression::Gzip => {
                let inner = flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, reader));
                self.stream(path, &mut Steady::new(Metered { inner, budget }), modified, depth + 1);
            }
            Compression::Zstd => {
                let inner = ZstdFrames::new(BufReader::with_capacity(1 << 16, reader));
                self.stream(path, &mut Steady::new(Metered { inner, budget }), modified, depth + 1);
            }
            Compression::Xz => {
                let inner = XzStreams::new(BufReader::with_capacity(1 << 16, reader));
                self.stream(path, &mut Steady::new(Metered { inner, budget }), modified, depth + 1);
            }
        }
    }

    fn tar(&mut self, path: &str, reader: &mut dyn Read, depth: u32) {
        let mut archive = tar::Archive::new(Tail { inner: reader, zeros: 0 });
        let entries = match archive.entries() {
            Ok(entries) => entries,
            Err(error) => return self.failed(path, &error),
        };
        for entry in entries {
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.failed(path, &error),
            };
            if self.one_more(path) {
                return;
            }
            if !matches!(entry.header().entry_type(), tar::EntryType::Regular | tar::EntryType::Continuous) {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if names::is_passed_over(&name) {
                self.out.others += 1;
                continue;
            }
            let modified = entry.header().mtime().ok().filter(|seconds| *seconds > 0);
            let size = entry.size();
            let mut counted = Counted { inner: &mut entry, count: 0 };
            let member = format!("{path}!{name}");
            self.stream(&member, &mut counted, modified, depth + 1);
            let rest = io::copy(&mut counted, &mut io::sink());
            if rest.is_ok() && counted.count < size && !self.budget.spent.get() {
                return self.flaw(path, FlawKind::Damaged("the archive breaks off".to_owned()));
            }
        }
        // A whole archive ends with blocks of zeros; without them, members may be missing.
        if archive.into_inner().zeros < 512 && !self.budget.spent.get() {
            self.flaw(path, FlawKind::Damaged("the archive breaks off".to_owned()));
        }
    }

    fn zip<R: Read + Seek>(&mut self, path: &str, reader: R, depth: u32) {
        let mut archive = match zip::ZipArchive::new(reader) {
            Ok(archive) => archive,
            Err(error) => return self.failed(path, &error),
        };
        for index in 0..archive.len() {
            if self.one_more(path) {
                return;
            }
            let entry = match archive.by_index(index) {
                Ok(entry) => entry,
                Err(zip::result::ZipError::UnsupportedArchive(text)) if text.to_lowercase().contains("password") => {
                    self.flaw(path, FlawKind::Encrypted);
                    continue;
                }
                Err(error) => {
                    self.failed(path, &error);
                    continue;
                }
            };
            if !entry.is_file() {
                continue;
            }
            let name = String::from_utf8_lossy(entry.name_raw()).replace('\\', "/");
            if names::is_passed_over(&name) {
                self.out.others += 1;
                continue;
            }
            if !matches!(entry.compression(), zip::CompressionMethod::Stored | zip::CompressionMethod::Deflated) {
                let method = entry.compression().to_string();
                self.flaw(&format!("{path}!{name}"), FlawKind::Method(method));
                continue;
            }
            let modified = entry.last_modified().and_then(seconds);
            let member = format!("{path}!{name}");
            let metered = Metered { inner: entry, budget: self.budget };
            self.stream(&member, &mut Steady::new(metered), modified, depth + 1);
            if self.budget.spent.get() {
                return;
            }
        }
    }

    /// Counts a member, and says whether that was one too many.
    fn one_more(&mut self, path: &str) -> bool {
        if matches!(self.purpose, Purpose::Show { texts: [], .. }) {
            return true;
        }
        self.members += 1;
        if self.members > self.limits.members {
            self.flaw(path, FlawKind::TooMany);
            return true;
        }
        self.budget.spent.get()
    }
}

/// Reads over the rest of a text, and tells how long it was.
fn pass(reader: &mut dyn Read, length: &mut Option<u64>, begun: u64) -> io::Result<u64> {
    let mut counted = Counted { inner: reader, count: 0 };
    let passed = io::copy(&mut counted, &mut io::sink());
    *length = Some(begun + counted.count);
    passed
}

/// A zip's time of a member, which has no zone, as if it were UTC.
fn seconds(time: zip::DateTime) -> Option<u64> {
    let date = jiff::civil::DateTime::new(
        i16::try_from(time.year()).ok()?,
        i8::try_from(time.month()).ok()?,
        i8::try_from(time.day()).ok()?,
        i8::try_from(time.hour()).ok()?,
        i8::try_from(time.minute()).ok()?,
        i8::try_from(time.second()).ok()?.min(59),
        0,
    );
    u64::try_from(date.ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::files::Bytes;
    use crate::source::meter::Meter;
    use std::io::Write;

    fn unfold(path: &str, bytes: &[u8], limits: Limits) -> Unfolded {
        let store = Store::Bytes(Bytes::Owned(bytes.to_vec()));
        super::unfold(path, &store, limits, usize::MAX, &Meter::default().share(0))
    }

    pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).expect("a vector takes all");
        encoder.finish().expect("a vector takes all")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).expect("options");
        writer.write_all(bytes).expect("a vector takes all");
        writer.finish().expect("a vector takes all")
    }

    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            builder.append(&header, *bytes).expect("a vector takes all");
        }
        builder.into_inner().expect("a vector takes all")
    }

    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).expect("a vector takes all");
            writer.write_all(bytes).expect("a vector takes all");
        }
        writer.finish().expect("a vector takes all").into_inner()
    }

    fn paths(unfolded: &Unfolded) -> Vec<&str> {
        unfolded.members.iter().map(|member| member.path.as_str()).collect()
    }

    const DOCUMENT: &[u8] = b"{\"kind\": \"Pod\"}\n";

    fn tight() -> Limits {
        Limits { depth: 3, members: 10, bytes: 1 << 20, ratio: 100, always: 1 << 16 }
    }

    #[test]
    fn every_compression_and_container_is_read_in_place() {
        let tarred = tar(&[("a/pods.json", DOCUMENT), ("../../etc/passwd.json", DOCUMENT), ("a/logs.txt", DOCUMENT)]);
        let packed = [("x.json.gz", gzip(DOCUMENT)), ("x.zst", zstd(DOCUMENT)), ("x.xz", xz(DOCUMENT))];
        for (path, bytes) in &packed {
            let unfolded = unfold(path, bytes, tight());
            assert_eq!((paths(&unfolded), &unfolded.flaws), (vec![*path], &vec![]));
            assert_eq!(unfolded.members[0].bytes, DOCUMENT);
        }
        for bytes in [tarred.clone(), gzip(&tarred), zstd(&tarred), xz(&tarred)] {
            let unfolded = unfold("b", &bytes, tight());
            assert_eq!(paths(&unfolded), ["b!a/pods.json", "b!../../etc/passwd.json"]);
            assert_eq!((unfolded.others, &unfolded.flaws), (1, &vec![]));
        }
        let nested = zip(&[("in/b.tar.gz", &gzip(&tarred)), ("pods.json", DOCUMENT)]);
        let unfolded = unfold("z.zip", &nested, Limits::default());
        assert_eq!(
            paths(&unfolded),
            ["z.zip!in/b.tar.gz!a/pods.json", "z.zip!in/b.tar.gz!../../etc/passwd.json", "z.zip!pods.json"]
        );
        assert_eq!(unfolded.flaws, []);
    }

    #[test]
    fn joined_streams_are_read_to_the_end() {
        for (first, second) in [(gzip(b"[1,"), gzip(b"2]")), (zstd(b"[1,"), zstd(b"2]")), (xz(b"[1,"), xz(b"2]"))] {
            let unfolded = unfold("x", &[first, second].concat(), tight());
            assert_eq!(unfolded.members.first().map(|it| it.bytes.as_slice()), Some(&b"[1,2]"[..]));
        }
    }

    #[test]
    fn a_method_that_is_not_read_is_named_once() {
        let mut bytes = zip(&[("a.json", DOCUMENT)]);
        for (mark, method) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
            let at = memchr::memmem::find(&bytes, mark).expect("a zip has both headers") + method;
            bytes[at..at + 2].copy_from_slice(&12_u16.to_le_bytes());
        }
        let unfolded = unfold("z.zip", &bytes, tight());
        assert!(matches!(&unfolded.flaws[..], [Flaw { path, what: FlawKind::Method(_) }] if path == "z.zip!a.json"));
    }

    #[test]
    fn bombs_stop_at_their_bounds() {
        let large = |flaws: &[Flaw]| flaws.iter().any(|flaw| flaw.what == FlawKind::TooLarge);
        let mut bomb = b"{\"a\": \"".to_vec();
        bomb.resize(8 << 20, b'x');
        for bytes in [gzip(&bomb), xz(&bomb), zstd(&bomb), gzip(&tar(&[("a.json", &bomb)])), zip(&[("a.json", &bomb)])]
        {
            let unfolded = unfold("bomb", &bytes, tight());
            assert!(large(&unfolded.flaws), "{:?}", unfolded.flaws);
            let kept: usize = unfolded.members.iter().map(|member| member.bytes.len()).sum();
            assert!(kept <= 1 << 20);
        }
        let deep = (0..6).fold(DOCUMENT.to_vec(), |inner, _| gzip(&inner));
        assert_eq!(unfold("deep", &deep, tight()).flaws[0].what, FlawKind::TooDeep);
        let many: Vec<(String, &[u8])> = (0..20).map(|at| (format!("{at}.json"), DOCUMENT)).collect();
        let many: Vec<(&str, &[u8])> = many.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        for bytes in [tar(&many), zip(&many)] {
            let unfolded = unfold("many", &bytes, tight());
            assert_eq!((unfolded.members.len(), &unfolded.flaws[0].what), (10, &FlawKind::TooMany));
        }
    }

    #[test]
    fn a_cut_archive_is_never_taken_for_a_whole_one() {
        let tarred = tar(&[("a.json", DOCUMENT), ("b.json", DOCUMENT)]);
        let archives = [
            tarred.clone(),
            gzip(&tarred),
            zstd(&tarred),
            xz(&tarred),
            zip(&[("a.json", DOCUMENT), ("b.json", DOCUMENT)]),
            gzip(DOCUMENT),
            zstd(DOCUMENT),
            xz(DOCUMENT),
        ];
        for whole in archives {
            assert_eq!(unfold("whole", &whole, tight()).flaws, []);
            for end in 520.min(whole.len() / 2)..whole.len() {
                let unfolded = unfold("cut", &whole[..end], tight());
                // The last of the blocks of zeros behind a tar archive are no loss.
                let complete = whole == tarred && end >= tarred.len() - 512;
                assert!(complete || !unfolded.flaws.is_empty(), "{end} of {}", whole.len());
            }
        }
    }
}
