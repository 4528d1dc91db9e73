//! preempt-audit: see the library's documentation.

use preempt_audit::cli;
use std::process::ExitCode;

/// Hundreds of thousands of small objects are made on all threads and live as long as the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(std::env::args_os(), &mut cli::io::Io::of_process()).into()
}
