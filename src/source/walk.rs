//! Which files an argument names.

use super::names;
use crate::problem::{Problem, ProblemCode};
use rustc_hash::FxHashSet;
use std::io;
use std::path::{Path, PathBuf};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// An argument names the file itself, not a folder around it.
    pub(crate) named: bool,
    /// Its size; 0 where nobody knows, as of a pipe.
    pub(crate) size: u64,
}

/// Walks folders. A file that can be reached in two ways (a link, an argument given twice) is found once.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) found: Vec<Found>,
    pub(crate) problems: Vec<Problem>,
    /// Hidden files and logs.
    pub(crate) passed_over: u64,
    seen: FxHashSet<Identity>,
}

impl Walk {
    /// Adds what an argument names, sorted by name within each folder.
    pub(crate) fn add(&mut self, path: &Path) {
        if !path.is_dir() {
            if let Some(size) = self.size_if_new(path) {
                self.found.push(Found { path: path.to_owned(), named: true, size });
            }
            return;
        }
        let mut entries = walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name().into_iter();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // A link to a folder around it: everything there is found anyway.
                Err(error) if error.loop_ancestor().is_some() => continue,
                Err(error) => {
                    let place = error.path().unwrap_or(path).to_owned();
                    self.problems.push(unreadable(&place, &error.into()));
                    continue;
                }
            };
            if entry.depth() > 0 && names::is_passed_over(&entry.file_name().to_string_lossy()) {
                self.passed_over += 1;
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
            } else if entry.file_type().is_file()
                && let Some(size) = self.size_if_new(entry.path())
            {
                self.found.push(Found { path: entry.into_path(), named: false, size });
            }
        }
    }

    /// The size of a file that was not found before; 0 of a pipe, which is read each time.
    fn size_if_new(&mut self, path: &Path) -> Option<u64> {
        let is_new = identity(path).is_none_or(|identity| self.seen.insert(identity));
        is_new.then(|| path.metadata().map_or(0, |it| if it.is_file() { it.len() } else { 0 }))
    }
}

#[cfg(unix)]
pub(crate) type Identity = (u64, u64);

/// What makes a regular file the same file; `None` for pipes, each of which is read.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata().ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(crate) type Identity = PathBuf;

#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok()
}

/// The problem of a file or folder that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let path = path.display().to_string();
    let mut problem = Problem::new(ProblemCode::Unreadable, format!("`{path}` cannot be read: {}", reason(error)));
    problem.help = match error.kind() {
        io::ErrorKind::NotFound => {
            Some("check the spelling; a file that another program removes meanwhile is lost".to_owned())
        }
        io::ErrorKind::PermissionDenied => Some("give yourself the right to read it, or pass a copy".to_owned()),
        _ => problem.help,
    };
    problem.path = Some(path);
    problem
}

/// The system's words, without the number that Rust adds.
fn reason(error: &io::Error) -> String {
    let text = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_says_so() {
        let error = std::fs::metadata("/no/such/file").expect_err("it is not there");
        let problem = unreadable(Path::new("/no/such/file"), &error);
        assert_eq!(problem.message, "`/no/such/file` cannot be read: no such file or folder");
        assert!(problem.help.is_some());
    }
}
