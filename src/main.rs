//! preempt-audit: see the library's documentation.

use preempt_audit::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os(), &mut cli::io::Io::of_process()).into()
}
