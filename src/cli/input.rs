//! Which files are read, and what is said of them.

use super::args::{InputArgs, When};
use super::failure::Failure;
use super::io::Io;
use super::outfile;
use crate::index::{self, Content, Hit, Miss, Question, Unwritten};
use crate::kube::detect::SchedulerContainer;
use crate::load::{self, Loaded, Wanted, schedulers};
use crate::model::time::Time;
use crate::problem::{self, Problem, ProblemCode, Severity};
use crate::report::escape::safe;
use crate::report::json::Input as InputRow;
use crate::report::{problems, view};
use crate::source::archive::Limits;
use crate::source::files::{Digests, FileTable};
use crate::source::given::{Given, Seen};
use crate::source::meter::Meter;
use std::path::{Path, PathBuf};

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
    /// What the containers of kube-scheduler say.
    pub(crate) schedulers: Vec<SchedulerContainer>,
    /// What is to be told about standard input and the index.
    notes: Vec<String>,
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
        let (given, instead) = given(args, stdin_is_piped, dump, meter);
        let (content, note) = match &args.index {
            None => (load(given, &wanted, Digests::Skip, meter).0, None),
            Some(index) => indexed(index, args, given, &wanted, meter)?,
        };
        let Content { files, mut loaded, problems, schedulers } = content;
        if as_of.is_some() {
            loaded.cluster.as_of = as_of;
        }
        let notes = instead.into_iter().chain(note).collect();
        Ok(Input { files, loaded, problems, schedulers, notes })
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
        let mut message = "nothing to answer from: no node and no pod was read".to_owned();
        let mut others: Vec<(&String, &u64)> = self.loaded.skipped.iter().collect();
        others.sort_by_key(|it| std::cmp::Reverse(it.1));
        let others: Vec<String> =
            others.iter().take(3).map(|(kind, count)| format!("{count} of {}", safe(kind))).collect();
        if !others.is_empty() {
            message.push_str("; the input holds objects of other kinds, such as ");
            message.push_str(&others.join(", "));
        }
        Failure::of_problems(vec![Problem::new(ProblemCode::NothingFound, message)])
    }

    /// Prints the problems, grouped.
    pub(crate) fn tell_problems(&self, io: &mut Io<'_>, color: When) {
        for note in &self.notes {
            io.complain(&format!("note: {}\n", safe(note)));
        }
        self.tell_some(&self.problems, io, color);
    }

    /// Prints some of the problems, grouped.
    pub(crate) fn tell_some(&self, problems: &[Problem], io: &mut Io<'_>, color: When) {
        let told: Vec<Problem> = problems.iter().filter(|it| it.code.severity() > Severity::Note).cloned().collect();
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

/// What to read; and what is to be told where that is not what somebody may think.
fn given(args: &InputArgs, stdin_is_piped: bool, dump: Option<String>, meter: &Meter) -> (Given, Option<String>) {
    let of = |paths: &[PathBuf]| Given::of_process(paths, meter);
    if !args.paths.is_empty() {
        return (of(&args.paths), None);
    }
    let folder = dump.map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut instead = None;
    if stdin_is_piped {
        let given = of(&[PathBuf::from("-")]);
        // A pipe that nobody writes to says nothing: a job runner's, say.
        if given.has_stdin() {
            return (given, None);
        }
        instead = Some(format!("standard input gave nothing: `{}` is read instead", folder.display()));
    }
    (of(&[folder]), instead)
}

/// Opens and loads.
fn load(given: Given, wanted: &Wanted, digests: Digests, meter: &Meter) -> (Content, Vec<Option<Seen>>) {
    let (files, mut problems, seen) = FileTable::open_given(given, Limits::default(), digests, meter);
    let mut loaded = load::load_metered(&files, wanted, meter);
    problems.append(&mut loaded.problems);
    problems.extend(load::without_nodes(&loaded.cluster));
    problems.extend(load::without_pods(&loaded.cluster));
    problems.extend(files.changed());
    let problems = problem::cap(problems);
    let schedulers = schedulers::schedulers(&files, &loaded.cluster);
    (Content { files, loaded, problems, schedulers }, seen)
}

/// Takes from the index, or loads and writes it; and what is to be told about that.
fn indexed(
    path: &Path,
    args: &InputArgs,
    mut given: Given,
    wanted: &Wanted,
    meter: &Meter,
) -> Result<(Content, Option<String>), Failure> {
    given.leave_out(path);
    // Whatever else decides about what is loaded has to stand here.
    let options = format!("{wanted:?}");
    let question = Question::new(&given, options, args.digest, DIGEST_UP_TO);
    let name = path.display();
    let mut note = None;
    match index::read(path, &question, &given) {
        Ok(Hit { content, renewed: None }) => return Ok((content, None)),
        Ok(Hit { content, renewed: Some(seen) }) => {
            let seen: Vec<Option<Seen>> = seen.into_iter().map(Some).collect();
            let note = unwritten(path, index::write(path, question, &seen, &content));
            return Ok((content, note));
        }
        Err(Miss::Absent) => {}
        Err(Miss::Foreign) => {
            let help = "name a file that is not there yet; it is made";
            return Err(Failure::new(format!("`{name}` is there and is no index of this program")).help(help));
        }
        Err(Miss::Closed) => {
            let note = format!("the index `{name}` cannot be read: it is left as it is");
            return Ok((load(given, wanted, Digests::Skip, meter).0, Some(note)));
        }
        Err(Miss::Unusable(reason)) => note = Some(format!("the index `{name}` {reason}: it is made anew")),
    }
    let (content, seen) = load(given, wanted, Digests::Take, meter);
    let failed = unwritten(path, index::write(path, question, &seen, &content));
    Ok((content, failed.or(note)))
}

fn unwritten(path: &Path, written: Result<(), Unwritten>) -> Option<String> {
    let why = match written {
        Ok(()) => return None,
        Err(Unwritten::Unsteady) => "a file is a pipe, could not be read, or changed while it was read".to_owned(),
        Err(Unwritten::Failed(error)) => outfile::reason(&error),
    };
    Some(format!("the index `{}` is not written: {why}", path.display()))
}

fn time(text: &str) -> Result<Time, Failure> {
    let time: jiff::Timestamp = text.parse().map_err(|error| {
        Failure::new(format!("`{text}` is no time: {error}")).help("write it as 2026-11-29T19:14:28Z")
    })?;
    Ok(Time(i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)))
}
