//! The table of input files.

use super::map;
use crate::model::id::FileId;
use crate::problem::{Problem, ProblemCode};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
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

    /// A table of texts in memory, each with its name.
    pub fn from_bytes(files: Vec<(String, Vec<u8>)>) -> Self {
        let file = |(path, bytes): (String, Vec<u8>)| SourceFile {
            path,
            size: bytes.len() as u64,
            bytes: Bytes::Owned(bytes),
            modified: None,
        };
        FileTable { files: files.into_iter().map(file).collect() }
    }

    /// Opens files and folders; `-` is standard input. What cannot be opened is a problem and the rest goes on.
    pub fn open(paths: &[PathBuf]) -> (Self, Vec<Problem>) {
        let mut table = FileTable::default();
        let mut problems = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                table.keep(read_stdin(), "standard input", &mut problems);
            } else if path.is_dir() {
                table.open_folder(path, &mut problems);
            } else {
                table.keep(open_file(path), &path.display().to_string(), &mut problems);
            }
        }
        (table, problems)
    }

    fn open_folder(&mut self, folder: &Path, problems: &mut Vec<Problem>) {
        for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    self.keep(open_file(entry.path()), &entry.path().display().to_string(), problems);
                }
                Ok(_) => {}
                Err(error) => {
                    let path = error.path().unwrap_or(folder).display().to_string();
                    problems.push(unreadable(path, &error.to_string()));
                }
            }
        }
    }

    fn keep(&mut self, file: io::Result<SourceFile>, path: &str, problems: &mut Vec<Problem>) {
        match file {
            Ok(file) => self.files.push(file),
            Err(error) => problems.push(unreadable(path.to_owned(), &error.to_string())),
        }
    }
}

fn unreadable(path: String, error: &str) -> Problem {
    let mut problem = Problem::new(ProblemCode::Unreadable, format!("`{path}` cannot be read: {error}"));
    problem.path = Some(path);
    problem
}

fn open_file(path: &Path) -> io::Result<SourceFile> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    // A pipe or an empty file cannot be mapped; a small one is not worth it.
    let bytes = if metadata.is_file() && metadata.len() > 64 * 1024 {
        Bytes::Mapped(map::map(&file)?)
    } else {
        let mut bytes = Vec::new();
        let mut file = file;
        file.read_to_end(&mut bytes)?;
        Bytes::Owned(bytes)
    };
    let path = path.display().to_string();
    Ok(SourceFile { path, size: bytes.len() as u64, bytes, modified: metadata.modified().ok() })
}

fn read_stdin() -> io::Result<SourceFile> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(SourceFile {
        path: "standard input".to_owned(),
        size: bytes.len() as u64,
        bytes: Bytes::Owned(bytes),
        modified: None,
    })
}
