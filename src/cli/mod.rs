//! The command line.

mod args;
pub mod exit;
pub mod io;

use clap::Parser;
use exit::Exit;
use io::Io;
use std::ffi::OsString;

/// Runs one command line.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let cli = match args::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(_) => return Exit::Unusable,
    };
    let _ = (cli, io);
    Exit::Clean
}
