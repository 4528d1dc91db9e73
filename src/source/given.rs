//! What the arguments name, before anybody opens it, and how to tell later that it has not changed.

use super::files::{Bytes, READ_UP_TO, WHOLE};
use super::map;
use super::meter::{Meter, Step};
use super::pipe::{self, Store};
use super::sniff::{self, Content};
use super::walk::{self, Found, Walk};
use crate::problem::Problem;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The files that the arguments name, found but not opened, and standard input, which is read at once.
#[derive(Debug, Default)]
pub struct Given {
    pub(super) items: Vec<Item>,
    /// Folders that cannot be read, and the like.
    pub(super) problems: Vec<Problem>,
    /// Hidden files and logs.
    pub(super) passed_over: u64,
}

/// A file to open, or what came through standard input.
#[derive(Debug)]
pub(super) enum Item {
    File(Found),
    Stdin(io::Result<Store>),
}

impl Given {
    /// Walks the paths; `-` is the process's standard input.
    pub fn of_process(paths: &[PathBuf], meter: &Meter) -> Self {
        if let [path] = paths
            && path.as_os_str() == "-"
            && let Some(mapped) = redirected_stdin().and_then(|file| map::map(&file).ok())
        {
            meter.begin(Step::Opening, mapped.len() as u64);
            return Given { items: vec![Item::Stdin(Ok(Store::Bytes(Bytes::Mapped(mapped))))], ..Given::default() };
        }
        Given::of(paths, &mut io::stdin().lock(), meter)
    }

    /// Walks the paths; `-` is the given standard input.
    pub fn of(paths: &[PathBuf], stdin: &mut dyn Read, meter: &Meter) -> Self {
        meter.begin(Step::Opening, 0);
        let mut walk = Walk::default();
        let mut items = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                items.extend(std::mem::take(&mut walk.found).into_iter().map(Item::File));
                items.push(Item::Stdin(pipe::read(stdin, WHOLE, meter)));
            } else {
                walk.add(path);
            }
        }
        let Walk { found, problems, passed_over, .. } = walk;
        items.extend(found.into_iter().map(Item::File));
        Given { items, problems, passed_over }
    }

    /// Folders that cannot be read, and the like.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Hidden files and logs that the walk passed over.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Path and whether it is named itself, of each file; no path is standard input.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (Option<&Path>, bool)> {
        self.items.iter().map(|item| match item {
            Item::File(found) => (Some(found.path.as_path()), found.named),
            Item::Stdin(_) => (None, true),
        })
    }

    /// Leaves a file out, if it was found in a folder: it is none of the dump's.
    pub fn leave_out(&mut self, path: &Path) {
        let Some(it) = walk::identity(path) else { return };
        self.items.retain(|item| match item {
            Item::File(found) => found.named || walk::identity(&found.path).as_ref() != Some(&it),
            Item::Stdin(_) => true,
        });
    }

    /// Whether standard input gave a byte.
    pub fn has_stdin(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Stdin(Ok(store)) if store.size() > 0))
    }

    /// The digest of what the standard input at this position gave.
    pub fn stdin_digest(&self, position: usize) -> Option<ContentDigest> {
        match self.items.get(position)? {
            Item::Stdin(store) => store.as_ref().ok().map(Store::content_digest),
            Item::File(_) => None,
        }
    }
}

/// Standard input as a file, where it is a regular one that nobody has read from: it is mapped like any other.
#[cfg(unix)]
fn redirected_stdin() -> Option<File> {
    use std::io::Seek;
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.len() > READ_UP_TO && file.stream_position().ok()? == 0).then_some(file)
}

#[cfg(not(unix))]
fn redirected_stdin() -> Option<File> {
    None
}

/// What makes a file on disk the same file with the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Device and inode.
    pub inode: (u64, u64),
    /// Nanoseconds since 1970 of the last change of content.
    pub modified: i128,
    /// Nanoseconds since 1970 of the last change of content, name or rights; nobody can set it.
    pub changed: i128,
}

/// The coarsest clock of a file system in use is FAT's.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

impl Stamp {
    /// The stamp of a regular file; `None` of pipes, and on systems that do not tell when a file was changed.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        metadata.is_file().then(|| Stamp {
            size: metadata.len(),
            inode: (metadata.dev(), metadata.ino()),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// The stamp of a regular file; `None` of pipes, and on systems that do not tell when a file was changed.
    #[cfg(not(unix))]
    pub fn of(_metadata: &Metadata) -> Option<Self> {
        None
    }

    /// Whether the stamp, taken at this time, would be another if the file had been changed since: a change within one
    /// tick of the file system's clock leaves none.
    pub fn is_settled(&self, taken: SystemTime) -> bool {
        let last = self.modified.max(self.changed);
        let Ok(taken) = taken.duration_since(SystemTime::UNIX_EPOCH) else { return false };
        let nanos = |it: Duration| i128::try_from(it.as_nanos()).unwrap_or(i128::MAX);
        last.saturating_add(nanos(COARSEST_CLOCK)) < nanos(taken)
    }
}

/// BLAKE3 of a file's bytes.
pub type ContentDigest = [u8; 32];

/// The digest of bytes.
pub fn content_digest(bytes: &[u8]) -> ContentDigest {
    pipe::digest_of(|take| take(bytes))
}

/// A file as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its stamp when it was opened; `None` of what has none, standard input among them.
    pub stamp: Option<Stamp>,
    /// Whether a change after that shows in the stamp.
    pub settled: bool,
    /// The digest of what was read.
    pub digest: ContentDigest,
}

/// A file as it is now, and whether it is packed: compressed, or a container.
pub fn see(path: &Path) -> io::Result<(Seen, bool)> {
    let file = File::open(path)?;
    let taken = SystemTime::now();
    let stamp = Stamp::of(&file.metadata()?);
    let bytes =
        if stamp.is_some_and(|it| it.size > 0) { Bytes::Mapped(map::map(&file)?) } else { Bytes::Owned(Vec::new()) };
    let packed = matches!(sniff::sniff(sniff::head(&bytes)), Content::Compressed(_) | Content::Tar | Content::Zip);
    let settled = stamp.is_some_and(|it| it.is_settled(taken));
    Ok((Seen { stamp, settled, digest: content_digest(&bytes) }, packed))
}

/// The stamp of a path, if it has one.
pub fn stamp(path: &Path) -> Option<Stamp> {
    Stamp::of(&path.metadata().ok()?)
}

/// A file of this program, mapped.
pub fn mapped(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 { Ok(Bytes::Owned(Vec::new())) } else { map::map(&file).map(Bytes::Mapped) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_that_is_just_made_tells_nothing() {
        let second = 1_000_000_000;
        let stamp = Stamp { size: 1, inode: (1, 1), modified: 5 * second, changed: 7 * second };
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(!stamp.is_settled(at(7)));
        assert!(!stamp.is_settled(at(9)));
        assert!(stamp.is_settled(at(10)));
        assert!(!Stamp { modified: 20 * second, ..stamp }.is_settled(at(10)), "a time to come");
    }
}
