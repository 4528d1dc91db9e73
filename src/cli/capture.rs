//! `capture`.

use super::args::Capture;
use super::exit::Exit;
use super::failure::Failure;
use super::io::Io;
use super::progress::{CLEAR, bar};
use crate::capture::{self, CaptureError, KindRecord, KindState, Manifest, Options, Progress};
use crate::model::cluster::Kind;
use crate::report::escape::safe;
use std::ffi::OsString;
use std::io::Write;

/// Runs `capture`.
pub(crate) fn run(args: &Capture, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let options = Options {
        folder: args.output.clone(),
        kubectl: args.kubectl.clone(),
        arguments: arguments(args),
        chunk_size: args.chunk_size,
    };
    let terminal = io.stderr_is_terminal;
    let mut shown = None;
    let taken = capture::capture(&options, &mut |progress| {
        let step = (progress.at, progress.bytes >> 20);
        if terminal && shown.replace(step) != Some(step) {
            let _ = write!(io.stderr, "{CLEAR}{}", line(&progress));
            let _ = io.stderr.flush();
        }
    });
    if terminal {
        let _ = write!(io.stderr, "{CLEAR}");
    }
    let manifest = taken.map_err(|error| failure(&error))?;
    io.complain(&gaps(&manifest));
    io.print(&summary(&manifest, args))?;
    let needed = |record: &KindRecord| [Kind::Node, Kind::Pod].iter().any(|kind| kind.name() == record.kind);
    Ok(if manifest.failed().any(needed) { Exit::Unusable } else { Exit::Clean })
}

fn arguments(args: &Capture) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut add = |flag: &str, value: Option<OsString>| {
        if let Some(value) = value {
            arguments.extend([OsString::from(flag), value]);
        }
    };
    add("--context", args.context.clone());
    add("--kubeconfig", args.kubeconfig.clone().map(Into::into));
    add("--request-timeout", args.request_timeout.clone());
    arguments
}

/// `[########------------] 9/22 replicasets.apps, 3 MB`
fn line(progress: &Progress) -> String {
    let size = match progress.bytes >> 20 {
        0 => String::new(),
        megabytes => format!(", {megabytes} MB"),
    };
    let bar = bar(progress.at as u64, progress.of as u64);
    format!("{bar} {}/{} {}{size}", progress.at, progress.of, progress.kind.resource())
}

fn failure(error: &CaptureError) -> Failure {
    let (message, help) = error.words();
    let failure = Failure::new(message);
    match help {
        Some(help) => failure.help(help),
        None => failure,
    }
}

fn gaps(manifest: &Manifest) -> String {
    let gap = |record: &KindRecord| {
        let said = record.error.as_deref().unwrap_or("kubectl failed without a word");
        format!("warning: {} could not be read: {}\n", record.resource, safe(said))
    };
    let gaps: String = manifest.failed().map(gap).collect();
    if gaps.is_empty() {
        return gaps;
    }
    let denied = manifest.failed().any(|record| record.error.as_deref().is_none_or(capture::is_denied));
    let remedy = if denied {
        "the account needs the right to `list` them in all namespaces"
    } else {
        "mend what kubectl says and take the dump again"
    };
    gaps + &format!("help: what depends on these kinds will be answered as unknown; {remedy}\n")
}

fn summary(manifest: &Manifest, args: &Capture) -> String {
    let folder = args.output.display();
    let read = manifest.kinds.iter().filter(|record| record.state == KindState::Read).count();
    let (objects, failed) = (manifest.objects(), manifest.failed().count());
    let server = manifest.server_version.as_deref().map(|version| format!(" of {}", safe(version))).unwrap_or_default();
    let context = manifest.context.as_deref().map(|context| format!(" ({})", safe(context))).unwrap_or_default();
    let gaps = if failed == 0 { String::new() } else { format!(", {failed} could not be read") };
    format!(
        "{objects} objects of {read} kinds{server}{context} are in {folder}{gaps}. No Secrets were read; pods may hold secrets \
         in their environment.\nNext: preempt-audit explain {folder}\n"
    )
}
