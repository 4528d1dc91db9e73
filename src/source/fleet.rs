//! Which dumps a fleet has: one a path, or one for each entry of a folder.

use super::names;
use super::sniff::{self, Content};
use super::walk::{Walk, identity};
use rustc_hash::FxHashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The dumps of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// One path a dump, sorted; `-` is standard input.
    pub dumps: Vec<PathBuf>,
    /// Entries of the folder that are no dumps by content or name: notes, programs, hidden files, logs.
    pub passed_over: usize,
}

/// Endings of files that are dumps whatever they hold: one that holds something else is broken, not a note.
const ENDINGS: [&str; 12] = ["json", "jsonl", "ndjson", "yaml", "yml", "tar", "tgz", "txz", "gz", "xz", "zst", "zip"];

impl Fleet {
    /// Every path is a dump of its own; of one folder alone, every folder, archive and file that lies directly in it.
    pub fn of(paths: &[PathBuf]) -> io::Result<Self> {
        match paths {
            [folder] if folder.is_dir() => Self::in_folder(folder),
            paths => Ok(Self::of_dumps(paths.to_vec(), 0)),
        }
    }

    fn in_folder(folder: &Path) -> io::Result<Self> {
        let entries: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect::<io::Result<_>>()?;
        let all = entries.len();
        let dumps: Vec<PathBuf> = entries.into_iter().filter(|path| is_dump(path)).collect();
        let passed_over = all - dumps.len();
        Ok(Self::of_dumps(dumps, passed_over))
    }

    /// Sorts by path; what two paths reach, by a link or because it is given twice, is one dump.
    fn of_dumps(mut dumps: Vec<PathBuf>, passed_over: usize) -> Self {
        dumps.sort();
        dumps.dedup();
        let mut seen = FxHashSet::default();
        dumps.retain(|path| {
            let resolved = || path.canonicalize().unwrap_or_else(|_| path.clone());
            seen.insert(identity(path).ok_or_else(resolved))
        });
        Fleet { dumps, passed_over }
    }
}

fn is_dump(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if names::is_passed_over(&name) {
        return false;
    }
    let ending = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if path.is_dir() || ENDINGS.contains(&ending.as_str()) {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|it| it.take(sniff::HEAD as u64).read_to_end(&mut head));
    // What cannot be opened may be a dump, and then its loss has to be told.
    read.is_err() || !matches!(sniff::sniff(&head), Content::Text | Content::Binary)
}

/// Bytes on disk of what a dump's path reaches, as far as it can be read: a measure of the work.
pub fn bytes(dump: &Path) -> u64 {
    let mut walk = Walk::default();
    walk.add(dump);
    walk.found.iter().filter_map(|it| it.path.metadata().ok()).map(|it| it.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_dump_for_each_entry_and_notes_are_none() {
        let folder = std::env::temp_dir().join(format!("preempt-audit-fleet-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("b/deeper")).expect("the folder for temporary files can be written");
        for (name, text) in [
            ("c.json", "not JSON at all"),
            ("a", "{\"kind\": \"List\"}"),
            ("empty", ""),
            ("README.md", "notes"),
            (".hidden.json", "{}"),
            ("b/deeper/pods.json", "{}"),
        ] {
            fs::write(folder.join(name), text).expect("the folder is there");
        }
        let fleet = Fleet::of(std::slice::from_ref(&folder)).expect("the folder can be read");
        let dumps = ["a", "b", "c.json", "empty"].map(|name| folder.join(name));
        assert_eq!(fleet, Fleet { dumps: dumps.to_vec(), passed_over: 2 });
        assert_eq!(bytes(&folder.join("b")), 2);
        let twice = [folder.join("c.json"), folder.join("b"), folder.join("b/../c.json"), folder.join("gone")];
        let fleet = Fleet::of(&twice).expect("nothing is listed");
        assert_eq!(fleet.dumps, [folder.join("b"), folder.join("b/../c.json"), folder.join("gone")]);
        fs::remove_dir_all(&folder).expect("it was made above");
    }
}
