//! Many dumps, one behind the other, and answers as lines for tables.

use super::args::{Explain, Form};
use super::compare;
use super::exit::Exit;
use super::explain::{self, Pool, Run};
use super::failure::Failure;
use super::input::{DUMP_VARIABLE, Input};
use super::io::Io;
use super::outfile::OutFile;
use super::scheduler::{self, Settings};
use super::shard::Shard;
use super::target::Target;
use crate::problem::Problem;
use crate::report::amount;
use crate::report::escape::{SafeJson, safe, safe_lines};
use crate::report::ndjson::{PodLine, ProblemLine};
use crate::source::fleet::{self, Fleet};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether a run is one of many dumps or of lines.
pub(crate) fn is_asked(args: &Explain) -> bool {
    args.fleet.each || args.fleet.problems.is_some() || args.output.form() == Form::Ndjson
}

/// Runs `explain` for a fleet, or for lines. A dump that cannot be answered does not stop the others.
pub(crate) fn run(args: &Explain, shard: Shard, pool: &Pool, io: &mut Io<'_>) -> Result<Exit, Failure> {
    refuse(args)?;
    // What is wrong with the command line is wrong for every dump.
    Settings::read(&args.scheduler)?;
    let problems = args.fleet.problems.as_deref().map(OutFile::create).transpose()?;
    let mut asked = Asked { args, pool, shard, problems };
    let mut exit = Exit::Clean;
    for dump in asked.dumps(io)? {
        match asked.dump(dump.as_deref(), io) {
            Ok(it) => exit = exit.max(it),
            Err(Stop::Reader) => break,
            Err(Stop::Failure(failure)) => return Err(failure),
        }
    }
    asked.problems.map(OutFile::finish).transpose()?;
    Ok(exit)
}

fn refuse(args: &Explain) -> Result<(), Failure> {
    let lines = args.output.form() == Form::Ndjson;
    if args.fleet.each && args.output.form() == Form::Json {
        return Err(Failure::new("-o json is one report of one dump").help("ask for lines: --each -o ndjson"));
    }
    if args.fleet.each && args.input.index.is_some() {
        return Err(Failure::new("--index keeps one dump").help("give each dump an index of its own, without --each"));
    }
    if !compare::releases(args)?.is_empty() {
        let help = "compare one dump at a time, as text or with -o json";
        return Err(Failure::new("--compare does not go with --each, --problems or -o ndjson").help(help));
    }
    if lines && args.node.is_some() {
        return Err(Failure::new("--node tells a story, which does not fit into a line").help("use -o json"));
    }
    if args.fleet.problems.is_some() && !lines {
        return Err(Failure::new("--problems goes with -o ndjson").help("other forms tell problems themselves"));
    }
    Ok(())
}

/// Why no further dump is answered.
enum Stop {
    /// Nobody reads any more.
    Reader,
    /// The answer cannot be written.
    Failure(Failure),
}

fn stop(error: io::Error) -> Stop {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Stop::Reader,
        _ => Stop::Failure(Failure::new(format!("cannot write the answer: {error}"))),
    }
}

/// What is asked of every dump.
struct Asked<'a> {
    args: &'a Explain,
    pool: &'a Pool,
    /// The share of the pods of each dump.
    shard: Shard,
    /// Where lines about problems go.
    problems: Option<OutFile>,
}

impl Asked<'_> {
    /// The dumps to answer, by path; one without a path is what the arguments name altogether. Several dumps are shared
    /// out among shards, and each is answered whole.
    fn dumps(&mut self, io: &mut Io<'_>) -> Result<Vec<Option<PathBuf>>, Failure> {
        if !self.args.fleet.each {
            return Ok(vec![None]);
        }
        let dumps = fleet(self.args, io)?;
        if dumps.len() == 1 {
            return Ok(dumps.into_iter().map(Some).collect());
        }
        let shard = std::mem::replace(&mut self.shard, Shard::WHOLE);
        if shard == Shard::WHOLE {
            return Ok(dumps.into_iter().map(Some).collect());
        }
        let sizes: Vec<u64> = dumps.iter().map(|it| fleet::bytes(it)).collect();
        Ok(shard.of_sizes(&sizes).into_iter().map(|at| Some(dumps[at].clone())).collect())
    }

    fn form(&self) -> Form {
        self.args.output.form()
    }

    /// Answers one dump. It is gone from memory before the next is read.
    fn dump(&mut self, path: Option<&Path>, io: &mut Io<'_>) -> Result<Exit, Stop> {
        if let Some(path) = path.filter(|_| self.form() != Form::Ndjson) {
            let heading = format!("==> {} <==\n", safe(&path.display().to_string()));
            io.stdout.write_all(heading.as_bytes()).map_err(stop)?;
        }
        let exit = self.answer(path, io)?;
        if path.is_some() && self.form() != Form::Ndjson {
            io.stdout.write_all(b"\n").map_err(stop)?;
        }
        io.stdout.flush().map_err(stop)?;
        Ok(exit)
    }

    fn answer(&mut self, path: Option<&Path>, io: &mut Io<'_>) -> Result<Exit, Stop> {
        let mut arguments = self.args.input.clone();
        if let Some(path) = path {
            arguments.paths = vec![path.to_owned()];
        }
        let mut input = match explain::read(&arguments, self.args.output.color, self.pool, io) {
            Ok(input) => input,
            Err(failure) => {
                let name = path.map_or_else(String::new, |it| it.display().to_string());
                return self.fail(PodLine::of_dump(name, 0, &[]), &failure, io);
            }
        };
        let name = path.map_or_else(|| name(self.args, &input), |it| it.display().to_string());
        let bytes = input.files.files.iter().map(|it| it.size).sum();
        let prepared = input.checked().and_then(|()| {
            let targets = explain::targets(self.args, &input.loaded.cluster);
            Ok((targets, scheduler::resolve(&self.args.scheduler, &mut input)?))
        });
        let line = PodLine::of_dump(name, bytes, &input.problems);
        if self.shard.takes(0) {
            self.tell_problems(&line.dump, &input.problems).map_err(Stop::Failure)?;
        }
        let (targets, scheduler) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return self.fail(line, &failure, io),
        };
        match Run::new(self.args, &mut input, &scheduler, self.pool) {
            Ok(run) => self.tell(&run, line, targets, io),
            Err(failure) => self.fail(line, &failure, io),
        }
    }

    fn tell(&self, run: &Run<'_>, line: PodLine, targets: Vec<Target>, io: &mut Io<'_>) -> Result<Exit, Stop> {
        let none = targets.is_empty();
        let mine = explain::share(targets, self.shard);
        if self.form() != Form::Ndjson {
            run.print(&mine, io).map_err(Stop::Failure)?;
            return Ok(run.exit());
        }
        let dump = run.dump_line(line);
        if none && self.shard.takes(0) {
            let alone = PodLine { exit_status: run.exit().code(), ..dump.clone() };
            write_line(&alone, &mut io.stdout).map_err(stop)?;
        }
        for batch in mine.chunks(explain::BATCH) {
            for line in run.pod_lines(&dump, batch) {
                write_line(&line, &mut io.stdout).map_err(stop)?;
            }
        }
        Ok(run.exit())
    }

    /// A dump without an answer: the others are answered all the same.
    fn fail(&self, line: PodLine, failure: &Failure, io: &mut Io<'_>) -> Result<Exit, Stop> {
        let (message, help) = match failure.problems.first() {
            Some(problem) => (&problem.message, &problem.help),
            None => (&failure.message, &failure.help),
        };
        let place = if line.dump.is_empty() { String::new() } else { format!("{}: ", line.dump) };
        io.complain(&format!("error: {}\n", safe_lines(&format!("{place}{message}"))));
        if let Some(help) = help {
            io.complain(&format!("help: {}\n", safe_lines(help)));
        }
        if self.form() == Form::Ndjson && self.shard.takes(0) {
            let line = PodLine { error: Some(message.clone()), exit_status: Exit::Unusable.code(), ..line };
            write_line(&line, &mut io.stdout).map_err(stop)?;
        }
        Ok(Exit::Unusable)
    }

    fn tell_problems(&mut self, dump: &str, problems: &[Problem]) -> Result<(), Failure> {
        let Some(file) = &mut self.problems else { return Ok(()) };
        for problem in problems {
            write_line(&ProblemLine::of(dump, problem), file)
                .map_err(|error| Failure::new(format!("cannot write the problems: {error}")))?;
        }
        Ok(())
    }
}

/// The dumps that the arguments name, each for itself.
fn fleet(args: &Explain, io: &mut Io<'_>) -> Result<Vec<PathBuf>, Failure> {
    let here = || vec![io.variable(DUMP_VARIABLE).map_or_else(|| PathBuf::from("."), PathBuf::from)];
    let paths = if args.input.paths.is_empty() { here() } else { args.input.paths.clone() };
    let name = safe(&paths[0].display().to_string()).into_owned();
    let fleet =
        Fleet::of(&paths).map_err(|error| Failure::new(format!("the folder `{name}` cannot be read: {error}")))?;
    if fleet.dumps.is_empty() {
        let help = "give dumps, or a folder that holds a folder, an archive or a file for each";
        return Err(Failure::new(format!("there is no dump in `{name}`")).help(help));
    }
    if fleet.passed_over > 0 {
        io.complain(&format!(
            "passed over in `{name}`, for it is no dump: {}\n",
            amount::count(fleet.passed_over, "entry")
        ));
    }
    Ok(fleet.dumps)
}

/// What the dump is called where it is not one of several.
fn name(args: &Explain, input: &Input) -> String {
    if !args.input.paths.is_empty() {
        return args.input.paths.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" ");
    }
    match input.files.files.as_slice() {
        [file] => file.path.clone(),
        _ => ".".to_owned(),
    }
}

fn write_line(line: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    line.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, SafeJson::compact()))?;
    out.write_all(b"\n")
}
