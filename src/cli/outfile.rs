//! Files that are written whole or not at all.

use super::failure::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file being written. It takes its name once it is finished; dropped before, it leaves nothing behind. What is there
/// already and is no file, such as a pipe, is written to as it goes.
pub(crate) struct OutFile {
    path: PathBuf,
    writer: BufWriter<File>,
    unfinished: Option<NamedTempFile>,
}

impl OutFile {
    /// Begins a file.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        Self::begin(path).map_err(|error| failure(path, &error))
    }

    fn begin(path: &Path) -> io::Result<Self> {
        let special = path.metadata().is_ok_and(|it| !it.is_file());
        if special {
            let writer = BufWriter::new(File::options().write(true).open(path)?);
            return Ok(OutFile { path: path.to_owned(), writer, unfinished: None });
        }
        // A link stays one: what it leads to is written.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".preempt-audit-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let unfinished = builder.tempfile_in(folder)?;
        let writer = BufWriter::new(unfinished.reopen()?);
        Ok(OutFile { path, writer, unfinished: Some(unfinished) })
    }

    /// A second hand that writes to the same file, for as long as this one does not.
    pub(crate) fn hand(&self) -> Result<BufWriter<File>, Failure> {
        self.writer.get_ref().try_clone().map(BufWriter::new).map_err(|error| failure(&self.path, &error))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let written = self.writer.flush();
        let kept = written.and_then(|()| match self.unfinished.take() {
            Some(it) => it.persist(&self.path).map(drop).map_err(|it| it.error),
            None => Ok(()),
        });
        kept.map_err(|error| failure(&self.path, &error))
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`: {}", path.display(), reason(error)))
}

/// What the system says, without the name of the temporary file, which nobody asked for.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path \"").map_or(text.as_str(), |it| it.0).to_owned()
}
