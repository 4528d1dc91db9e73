//! The command line.

mod answers;
mod args;
mod capture;
mod catalogue;
mod compare;
pub mod exit;
mod explain;
mod failure;
mod fleet;
mod input;
mod inspect;
pub mod io;
mod outfile;
mod progress;
mod scheduler;
mod shard;
mod target;
mod versions;

use crate::report::escape::safe_lines;
use crate::report::problems;
use args::{Cli, Command, When};
use clap::{CommandFactory, FromArgMatches};
use exit::Exit;
use failure::Failure;
use io::Io;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Runs one command line.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = command(args.first()).try_get_matches_from(args).and_then(|it| Cli::from_arg_matches(&it));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, io),
    };
    let done = match &cli.command {
        Command::Explain(args) => explain::run(args, io),
        Command::Inspect(args) => inspect::run(args, io),
        Command::Capture(args) => capture::run(args, io),
        Command::Versions(args) => versions::run(args, io),
        Command::ExplainCode { code } => catalogue::explain_code(code.as_deref(), io),
        Command::Schema { report } => catalogue::schema(*report, io),
        Command::Completions { shell } => catalogue::completions(*shell, io),
    };
    let flushed = io.stdout.flush();
    match done.and_then(|exit| io.written(flushed).map(|()| exit)) {
        Ok(exit) => exit,
        Err(failure) => fail(&failure, io),
    }
}

/// The command line; as kubectl names it where kubectl runs it.
fn command(program: Option<&OsString>) -> clap::Command {
    let name = program.map(|it| Path::new(it).file_stem().unwrap_or_default().to_string_lossy());
    let command = Cli::command();
    match name {
        Some(name) if name.starts_with("kubectl-") => command.bin_name("kubectl preempt-audit"),
        _ => command,
    }
}

fn refuse(error: &clap::Error, io: &mut Io<'_>) -> Exit {
    let text = error.render();
    // Help and version were asked for: they are the answer.
    if error.use_stderr() {
        let _ = write!(io.stderr, "{text}");
        return Exit::Unusable;
    }
    let _ = write!(io.stdout, "{text}");
    let _ = io.stdout.flush();
    Exit::Clean
}

fn fail(failure: &Failure, io: &mut Io<'_>) -> Exit {
    let _ = io.stdout.flush();
    if !failure.problems.is_empty() {
        let color = io.paints(When::Auto, io.stderr_is_terminal);
        let text = problems::render(&failure.problems, &[], io.columns(), color);
        let _ = io.stderr.write_all(text.as_bytes());
        return Exit::Unusable;
    }
    let _ = writeln!(io.stderr, "error: {}", safe_lines(&failure.message));
    if let Some(help) = &failure.help {
        let _ = writeln!(io.stderr, "help: {}", safe_lines(help));
    }
    Exit::Unusable
}
