//! The world as the command line sees it, handed in so that a test can stand in for it.

use std::io::{self, IsTerminal, Read, Write};

/// Streams, environment and terminal.
pub struct Io<'w> {
    /// Standard input.
    pub stdin: Box<dyn Read + 'w>,
    /// Whether somebody pipes something into it: a pipe or a file, not a terminal or `/dev/null`.
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
            stdin: Box::new(io::stdin()),
            stdin_is_piped: stdin_is_piped(),
            stdout: Box::new(io::BufWriter::with_capacity(1 << 16, io::stdout())),
            stderr: Box::new(io::stderr()),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            width: terminal_size::terminal_size().map(|(width, _)| width.0),
            env: Box::new(|name| {
                #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
                std::env::var(name).ok().filter(|value| !value.is_empty())
            }),
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

/// Whether a write failed because the reader went away, which is no error of ours.
pub(crate) fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}
