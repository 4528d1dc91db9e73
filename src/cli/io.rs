//! The world as the command line sees it, handed in so that a test can stand in for it.

use super::args::When;
use super::failure::Failure;
use crate::report::page::{DEFAULT_WIDTH, Page, Paint};
use std::io::{self, IsTerminal, Write};

/// Streams, environment and terminal.
pub struct Io<'w> {
    /// Whether somebody pipes something into standard input: a pipe or a file, not a terminal or `/dev/null`.
    pub stdin_is_piped: bool,
    /// Answers.
    pub stdout: Box<dyn Write + 'w>,
    /// Everything else.
    pub stderr: Box<dyn Write + 'w>,
    /// Whether answers go to a terminal.
    pub stdout_is_terminal: bool,
    /// Whether everything else goes to a terminal.
    pub stderr_is_terminal: bool,
    /// Columns of the terminal.
    pub width: Option<u16>,
    /// Environment variables, by name; an empty one counts as unset.
    pub env: Box<dyn Fn(&str) -> Option<String> + 'w>,
}

impl Io<'static> {
    /// The process's own.
    pub fn of_process() -> Self {
        Io {
            stdin_is_piped: stdin_is_piped(),
            stdout: Box::new(io::BufWriter::with_capacity(1 << 16, io::stdout())),
            stderr: Box::new(io::stderr()),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            width: terminal_size::terminal_size().map(|(width, _)| width.0),
            env: Box::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
        }
    }
}

#[cfg(unix)]
fn stdin_is_piped() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let kind = io::stdin().as_fd().try_clone_to_owned().and_then(|fd| std::fs::File::from(fd).metadata());
    kind.is_ok_and(|it| it.file_type().is_fifo() || it.file_type().is_socket() || it.is_file())
}

#[cfg(not(unix))]
fn stdin_is_piped() -> bool {
    !io::stdin().is_terminal()
}

impl Io<'_> {
    /// An environment variable; an empty one counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name)
    }

    /// Columns to fill.
    pub(crate) fn columns(&self) -> u16 {
        self.width.filter(|_| self.stdout_is_terminal).unwrap_or(DEFAULT_WIDTH)
    }

    /// Whether to paint on a stream.
    pub(crate) fn paints(&self, when: When, terminal: bool) -> bool {
        match when {
            When::Always => true,
            When::Never => false,
            When::Auto if self.variable("NO_COLOR").is_some() => false,
            When::Auto if self.variable("CLICOLOR_FORCE").is_some_and(|it| it != "0") => true,
            When::Auto => terminal && self.variable("TERM").is_none_or(|it| it != "dumb"),
        }
    }

    /// A page for standard output.
    pub(crate) fn page(&self, color: When) -> Page {
        let paint = if self.paints(color, self.stdout_is_terminal) { Paint::Color } else { Paint::Plain };
        Page::new(paint, self.columns())
    }

    /// Writes an answer.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.stdout.write_all(text.as_bytes());
        self.written(written)
    }

    /// Writes anything else.
    pub(crate) fn complain(&mut self, text: &str) {
        // Nobody is left to be told that standard error is closed.
        let _ = self.stderr.write_all(text.as_bytes());
    }

    /// A write that failed because the reader went away is no error of ours.
    pub(crate) fn written(&self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("cannot write the answer: {error}")))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
