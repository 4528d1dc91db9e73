//! Which files are read, and what is said of them.

use super::args::{InputArgs, When};
use super::failure::Failure;
use super::io::Io;
use crate::load::{self, Loaded, Wanted};
use crate::model::time::Time;
use crate::problem::{self, Problem, ProblemCode, Severity};
use crate::report::json::Input as InputRow;
use crate::report::{problems, view};
use crate::source::files::FileTable;
use crate::source::meter::Meter;
use std::path::PathBuf;

/// Names the dump where no PATH is given and nothing is piped in.
pub(crate) const DUMP_VARIABLE: &str = "PREEMPT_AUDIT_DUMP";

/// Of larger files a digest costs more than reading them.
const DIGEST_UP_TO: u64 = 64 << 20;

/// What was read.
pub(crate) struct Input {
    /// The files.
    pub(crate) files: FileTable,
    /// What they hold.
    pub(crate) loaded: Loaded,
    /// Trouble with files and with what they hold.
    pub(crate) problems: Vec<Problem>,
}

impl Input {
    /// Opens and loads what the arguments name.
    pub(crate) fn read(
        args: &InputArgs,
        stdin_is_piped: bool,
        dump: Option<String>,
        meter: &Meter,
    ) -> Result<Self, Failure> {
        let as_of = args.as_of.as_deref().map(time).transpose()?;
        let wanted = Wanted { cluster: args.cluster.clone(), at: args.at.as_deref().map(time).transpose()? };
        let (files, mut problems) = open(args, stdin_is_piped, dump, meter);
        let mut loaded = load::load_metered(&files, &wanted, meter);
        problems.append(&mut loaded.problems);
        problems.extend(files.changed());
        let problems = problem::cap(problems);
        if as_of.is_some() {
            loaded.cluster.as_of = as_of;
        }
        Ok(Input { files, loaded, problems })
    }

    /// Whether there is nothing to answer from.
    pub(crate) fn is_empty(&self) -> bool {
        self.loaded.cluster.nodes.is_empty() && self.loaded.cluster.pods.is_empty()
    }

    /// Fails where there is nothing to answer from.
    pub(crate) fn checked(&self) -> Result<(), Failure> {
        if self.is_empty() { Err(self.nothing_found()) } else { Ok(()) }
    }

    /// Why there is no answer from an input that is empty.
    pub(crate) fn nothing_found(&self) -> Failure {
        if self.loaded.refused {
            return Failure::new("nothing to answer from: the input does not tell which part of it is meant");
        }
        let message = "nothing to answer from: no node and no pod was read";
        Failure::of_problems(vec![Problem::new(ProblemCode::NothingFound, message)])
    }

    /// Prints the problems, grouped.
    pub(crate) fn tell_problems(&self, io: &mut Io<'_>, color: When) {
        let told: Vec<Problem> =
            self.problems.iter().filter(|it| it.code.severity() > Severity::Note).cloned().collect();
        if told.is_empty() {
            return;
        }
        let color = io.paints(color, io.stderr_is_terminal);
        let text = problems::render(&told, &self.files.files, io.columns(), color);
        io.complain(&text);
    }

    /// The files, for a report.
    pub(crate) fn rows(&self, digest: bool) -> Vec<InputRow> {
        let row = |it: &crate::source::files::SourceFile| InputRow {
            path: it.path.clone(),
            bytes: it.size,
            modified: it.modified.map(view::system_time_text),
            sha256: (digest || it.size <= DIGEST_UP_TO).then(|| it.digest()).flatten(),
        };
        self.files.files.iter().map(row).collect()
    }
}

fn open(args: &InputArgs, stdin_is_piped: bool, dump: Option<String>, meter: &Meter) -> (FileTable, Vec<Problem>) {
    if !args.paths.is_empty() {
        return FileTable::open_metered(&args.paths, meter);
    }
    if stdin_is_piped {
        let (files, problems) = FileTable::open_metered(&[PathBuf::from("-")], meter);
        // A pipe that nobody writes to says nothing: a job runner's, say.
        if files.files.iter().any(|it| it.size > 0) {
            return (files, problems);
        }
    }
    FileTable::open_metered(&[dump.map_or_else(|| PathBuf::from("."), PathBuf::from)], meter)
}

fn time(text: &str) -> Result<Time, Failure> {
    let time: jiff::Timestamp = text.parse().map_err(|error| {
        Failure::new(format!("`{text}` is no time: {error}")).help("write it as 2026-11-29T19:14:28Z")
    })?;
    Ok(Time(i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)))
}
