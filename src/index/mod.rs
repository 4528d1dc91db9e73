//! A loaded dump on disk: the second question about a dump need not read it again.
//!
//! An index is believed only where everything agrees: the program that wrote it, what it was asked to load, the list of
//! files, and of each file its size, inode and times, or where those do not tell, the digest of its bytes. Its own bytes
//! have a digest as well. Anything else is a [`Miss`], and the dump is loaded anew.
//!
//! An index is a cache, not a document: only the same program on the same kind of machine reads it.

mod cluster;
mod records;
mod wire;

use crate::kube::detect::SchedulerContainer;
use crate::load::Loaded;
use crate::problem::Problem;
use crate::source::files::{Bytes, FileTable, Kept, SourceFile};
use crate::source::given::{self, Given, Seen};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wire::{In, Sizes, Wire, put_length};

/// What every index begins with.
const MAGIC: &[u8; 20] = b"preempt-audit index\n";
/// The layout that this code writes and reads.
const FORMAT: u32 = 2;
/// Bytes of the digest at the end.
const DIGEST: usize = 32;
/// A larger file is no index: as many objects as are read at all take less.
const MAX_BYTES: u64 = 8 << 30;
/// Facts, and the sections of the cluster.
const SECTIONS: usize = cluster::SECTIONS + 1;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Damaged;

/// What loading a dump gave.
#[derive(Debug, Default)]
pub struct Content {
    /// The files; of those from an index, without their bytes.
    pub files: FileTable,
    /// What they hold. Its problems are among the others.
    pub loaded: Loaded,
    /// Trouble with files and with what they hold.
    pub problems: Vec<Problem>,
    /// What the containers of kube-scheduler say.
    pub schedulers: Vec<SchedulerContainer>,
}

/// What an index has to agree with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Whatever else than the files decides about what is loaded.
    pub options: String,
    /// Whether every file's SHA-256 is wanted, and not only those of [`Question::small`] ones.
    pub digests: bool,
    /// Up to this size, files have their SHA-256 given in any case.
    pub small: u64,
    listing: Listing,
}

/// The files as they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listing {
    /// Path and whether it is named itself; no path is standard input.
    files: Vec<(Option<Vec<u8>>, bool)>,
    problems: Vec<Problem>,
    passed_over: u64,
}

impl Question {
    /// The question about these files.
    pub fn new(given: &Given, options: String, digests: bool, small: u64) -> Self {
        let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        let files = given.files().map(|(path, named)| (path.map(bytes), named)).collect();
        let listing = Listing { files, problems: given.problems().to_vec(), passed_over: given.passed_over() };
        Question { options, digests, small, listing }
    }
}

/// Why an index is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// It is not there.
    Absent,
    /// What is there is no index: it must not be overwritten.
    Foreign,
    /// What is there cannot be read, so that nobody can tell whether it is an index: it must not be overwritten.
    Closed,
    /// It is of no use, and may be overwritten.
    Unusable(Reason),
}

/// Why an index is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It cannot be read.
    Unreadable,
    /// Others than its owner may have written it.
    Exposed,
    /// Another program or another release wrote it.
    OtherProgram,
    /// Its bytes are not those that were written.
    Damaged,
    /// It is of other files, or was asked something else.
    OtherDump,
    /// A file changed.
    Changed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Unreadable => "cannot be read",
            Reason::Exposed => "may have been written by others",
            Reason::OtherProgram => "is of another release of this program",
            Reason::Damaged => "is damaged",
            Reason::OtherDump => "is of other files or other options",
            Reason::Changed => "is older than the dump",
        })
    }
}

/// An index that agrees.
#[derive(Debug)]
pub struct Hit {
    /// What it holds.
    pub content: Content,
    /// The files as they are now, where that is worth writing down: their times have changed, not their bytes.
    pub renewed: Option<Vec<Seen>>,
}

/// What stands before the sections.
struct Header {
    options: String,
    digests: bool,
    small: u64,
    listing: Listing,
    seen: Vec<Seen>,
    sizes: Sizes,
    sections: Vec<u64>,
}

/// The program and the kind of machine; builds of one version are told apart by their size.
fn program() -> String {
    let size = std::env::current_exe().and_then(|it| it.metadata()).map_or(0, |it| it.len());
    let order = if cfg!(target_endian = "little") { "little" } else { "big" };
    format!("{} {size} {} {order}", env!("CARGO_PKG_VERSION"), usize::BITS)
}

/// Reads an index.
pub fn read(path: &Path, question: &Question, given: &Given) -> Result<Hit, Miss> {
    let bytes = open(path)?;
    if bytes.is_empty() {
        return Err(Miss::Absent);
    }
    if !bytes.starts_with(MAGIC) {
        return Err(Miss::Foreign);
    }
    if is_exposed(path) {
        return Err(Miss::Unusable(Reason::Exposed));
    }
    read_bytes(&bytes, question, given).map_err(Miss::Unusable)
}

fn open(path: &Path) -> Result<Bytes, Miss> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Miss::Absent,
        _ => Miss::Closed,
    };
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Miss::Foreign);
    }
    let bytes = given::mapped(path).map_err(failed)?;
    match bytes.len() as u64 {
        ..=MAX_BYTES => Ok(bytes),
        _ if bytes.starts_with(MAGIC) => Err(Miss::Unusable(Reason::Unreadable)),
        _ => Err(Miss::Foreign),
    }
}

/// Whether others than the user, and the administrator, may have written the file: what it says is believed.
#[cfg(unix)]
fn is_exposed(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    path.metadata().is_ok_and(|it| it.mode() & 0o022 != 0 || ![user, 0].contains(&it.uid()))
}

#[cfg(not(unix))]
fn is_exposed(_path: &Path) -> bool {
    false
}

fn read_bytes(bytes: &[u8], question: &Question, given: &Given) -> Result<Hit, Reason> {
    let (signed, digest) = bytes.split_at_checked(bytes.len().saturating_sub(DIGEST)).ok_or(Reason::Damaged)?;
    let mut from = In::new(signed, Sizes::default());
    let damaged = |Damaged| Reason::Damaged;
    from.bytes(MAGIC.len()).map_err(damaged)?;
    if from.take::<u32>().map_err(damaged)? != FORMAT || from.take::<String>().map_err(damaged)? != program() {
        return Err(Reason::OtherProgram);
    }
    if given::content_digest(signed) != digest {
        return Err(Reason::Damaged);
    }
    let header: Header = from.take().map_err(damaged)?;
    let asked = (&question.options, question.small, &question.listing);
    if asked != (&header.options, header.small, &header.listing) || question.digests && !header.digests {
        return Err(Reason::OtherDump);
    }
    let now = seen_now(&header, given)?;
    let mut sections = [&[][..]; SECTIONS];
    for (at, section) in sections.iter_mut().enumerate() {
        let length = header.sections.get(at).and_then(|it| usize::try_from(*it).ok()).ok_or(Reason::Damaged)?;
        *section = from.bytes(length).map_err(damaged)?;
    }
    from.end().map_err(damaged)?;
    let [facts, cluster @ ..] = sections;
    let (content, cluster) = rayon::join(|| take_facts(facts, header.sizes), || cluster::take(cluster, header.sizes));
    let mut content = content.map_err(damaged)?;
    content.loaded.cluster = cluster.map_err(damaged)?;
    let renewed = renew(&header, now, &mut content)?;
    Ok(Hit { content, renewed })
}

/// A file that is what it was, or one of other times and the same bytes, and whether it is packed.
enum Now {
    Same,
    Touched(Seen, bool),
}

fn seen_now(header: &Header, given: &Given) -> Result<Vec<Now>, Reason> {
    if header.seen.len() != header.listing.files.len() {
        return Err(Reason::Damaged);
    }
    let now = |(at, (then, (path, _))): (usize, (&Seen, (Option<&Path>, bool)))| {
        let Some(path) = path else {
            let same = given.stdin_digest(at).is_some_and(|digest| digest == then.digest);
            return if same { Ok(Now::Same) } else { Err(Reason::Changed) };
        };
        let stamp = given::stamp(path).ok_or(Reason::Changed)?;
        let known = then.stamp.ok_or(Reason::Changed)?;
        if then.settled && stamp == known {
            return Ok(Now::Same);
        }
        if stamp.size != known.size {
            return Err(Reason::Changed);
        }
        let (seen, packed) = given::see(path).ok().ok_or(Reason::Changed)?;
        if seen.digest == then.digest { Ok(Now::Touched(seen, packed)) } else { Err(Reason::Changed) }
    };
    header.seen.iter().zip(given.files()).enumerate().map(now).collect()
}

/// Takes over the times of files that were touched.
fn renew(header: &Header, now: Vec<Now>, content: &mut Content) -> Result<Option<Vec<Seen>>, Reason> {
    if now.iter().all(|it| matches!(it, Now::Same)) {
        return Ok(None);
    }
    let mut seen = header.seen.clone();
    for ((seen, (path, _)), now) in seen.iter_mut().zip(&header.listing.files).zip(now) {
        let Now::Touched(new, packed) = now else { continue };
        let (Some(path), Some(was), Some(is)) = (path, seen.stamp, new.stamp) else { return Err(Reason::Changed) };
        *seen = new;
        if was.modified == is.modified {
            continue;
        }
        // What is packed has a time of its own, or the file's: nobody remembers which.
        if packed {
            return Err(Reason::Changed);
        }
        let path = String::from_utf8_lossy(path);
        let modified = time_of(is.modified);
        content.files.files.iter_mut().filter(|it| it.path == path).for_each(|it| it.modified = modified);
    }
    // What is changed too recently for its times to tell, and is looked at again, tells no more than before.
    Ok((seen != header.seen).then_some(seen))
}

fn time_of(nanos: i128) -> Option<SystemTime> {
    let span = Duration::from_nanos(u64::try_from(nanos.unsigned_abs()).ok()?);
    let epoch = SystemTime::UNIX_EPOCH;
    if nanos < 0 { epoch.checked_sub(span) } else { epoch.checked_add(span) }
}

/// Why nothing was written.
#[derive(Debug)]
pub enum Unwritten {
    /// A file cannot be told again: a pipe, or one that could not be read or changed meanwhile.
    Unsteady,
    /// The system says no.
    Failed(io::Error),
}

/// Writes an index, whole or not at all, for its owner alone. `seen` is how the files were when they were read.
pub fn write(path: &Path, question: Question, seen: &[Option<Seen>], content: &Content) -> Result<(), Unwritten> {
    let seen: Option<Vec<Seen>> = seen.iter().copied().collect();
    let seen = seen.filter(|all| is_steady(all, &question)).ok_or(Unwritten::Unsteady)?;
    let sizes = cluster::sizes(&content.loaded.cluster, content.files.files.len());
    let (facts, [symbols, labels, tables, pods, rest]) =
        rayon::join(|| put_facts(content, &question), || cluster::put(&content.loaded.cluster));
    let sections: [Vec<u8>; SECTIONS] = [facts, symbols, labels, tables, pods, rest];
    let Question { options, digests, small, listing } = question;
    let lengths = sections.iter().map(|it| it.len() as u64).collect();
    let header = Header { options, digests, small, listing, seen, sizes, sections: lengths };
    let mut bytes = MAGIC.to_vec();
    FORMAT.put(&mut bytes);
    program().put(&mut bytes);
    header.put(&mut bytes);
    sections.iter().for_each(|it| bytes.extend_from_slice(it));
    let digest = given::content_digest(&bytes);
    bytes.extend_from_slice(&digest);
    save(path, &bytes).map_err(Unwritten::Failed)
}

/// Whether every file is still as it was when it was read.
fn is_steady(seen: &[Seen], question: &Question) -> bool {
    let steady = |(seen, (path, _)): (&Seen, &(Option<Vec<u8>>, bool))| match path {
        None => seen.stamp.is_none(),
        Some(path) => {
            let path = path_of(path);
            seen.stamp.is_some() && path.is_some_and(|it| given::stamp(&it) == seen.stamp)
        }
    };
    seen.len() == question.listing.files.len() && seen.iter().zip(&question.listing.files).all(steady)
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A temporary file is its owner's alone, and so is what it becomes.
    let mut file = tempfile::Builder::new().prefix(".preempt-audit-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|it| it.error)
}

fn put_facts(content: &Content, question: &Question) -> Vec<u8> {
    let mut out = Vec::new();
    let FileTable { files, passed_over } = &content.files;
    let mut kept: Vec<Kept> = files.iter().map(|file| kept(file, question)).collect();
    for problem in &content.problems {
        let (Some(path), Some(offset)) = (&problem.path, problem.offset) else { continue };
        let Some(at) = files.iter().position(|it| it.path == *path) else { continue };
        if let Some(around) = files[at].around(offset) {
            kept[at].excerpts.insert(offset, around);
        }
    }
    put_length(files.len(), &mut out);
    for (file, kept) in files.iter().zip(kept) {
        let SourceFile { path, bytes: _, form, size, modified, kept: _ } = file;
        path.put(&mut out);
        form.put(&mut out);
        size.put(&mut out);
        modified.put(&mut out);
        kept.put(&mut out);
    }
    passed_over.put(&mut out);
    let Loaded { cluster: _, problems: _, held, skipped, server_version, clusters, moments, refused } = &content.loaded;
    held.put(&mut out);
    skipped.put(&mut out);
    server_version.put(&mut out);
    clusters.put(&mut out);
    moments.put(&mut out);
    refused.put(&mut out);
    content.problems.put(&mut out);
    content.schedulers.put(&mut out);
    out
}

fn kept(file: &SourceFile, question: &Question) -> Kept {
    let wanted = question.digests || file.size <= question.small;
    Kept { sha256: wanted.then(|| file.digest()).flatten(), ..Kept::default() }
}

fn take_facts(bytes: &[u8], sizes: Sizes) -> Result<Content, Damaged> {
    let mut from = In::new(bytes, sizes);
    let mut files = Vec::new();
    for _ in 0..from.take::<u32>()? {
        files.push(SourceFile {
            path: from.take()?,
            bytes: Bytes::Owned(Vec::new()),
            form: from.take()?,
            size: from.take()?,
            modified: from.take()?,
            kept: Some(from.take()?),
        });
    }
    if files.len() != sizes.files as usize {
        return Err(Damaged);
    }
    let files = FileTable { files, passed_over: from.take()? };
    let loaded = Loaded {
        held: from.take()?,
        skipped: from.take()?,
        server_version: from.take()?,
        clusters: from.take()?,
        moments: from.take()?,
        refused: from.take()?,
        ..Loaded::default()
    };
    let content = Content { files, loaded, problems: from.take()?, schedulers: from.take()? };
    from.end()?;
    Ok(content)
}

wire::records! {
    Header { options, digests, small, listing, seen, sizes, sections }
    Listing { files, problems, passed_over }
    Sizes { symbols, label_sets, namespaces, nodes, pods, resources, files }
}

#[cfg(test)]
mod scenarios;
