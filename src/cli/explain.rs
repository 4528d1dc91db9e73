//! `explain`.

use super::answers::{Answer, Desk};
use super::args::{Explain, FailOn, Form, InputArgs, StatusArgs, When};
use super::compare;
use super::exit::Exit;
use super::failure::Failure;
use super::fleet;
use super::input::{self, Input};
use super::io::Io;
use super::outfile::OutFile;
use super::progress::Progress;
use super::scheduler::{self, Scheduler};
use super::shard::Shard;
use super::target::{self, Target};
use crate::engine::outcome::Certainty;
use crate::model::cluster::{Cluster, Coverage, CoverageState, Kind};
use crate::model::id::{NodeId, PodId};
use crate::model::pod::Pod;
use crate::report::escape::safe;
use crate::report::json::{self, API_VERSION, ExplainReport, PodOutcome, PodReport, Tool};
use crate::report::ndjson::PodLine;
use crate::report::page::{Ink, Page, TableRow};
use crate::report::story::{self, Detail};
use crate::report::view::{self, View};
use crate::report::written::Written;
use crate::report::{node_story, pretty, problems, summary};
use crate::source::meter::Meter;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// Pods that are answered together: enough for every processor, few enough to hold what came of them in memory.
pub(crate) const BATCH: usize = 32;

/// How many batches are answered before they are printed.
const AHEAD: usize = 1;

/// Runs `explain`.
pub(crate) fn run(args: &Explain, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let Some(path) = &args.output_file else { return answer(args, io) };
    let file = OutFile::create(path)?;
    let mut into = Io {
        stdout: Box::new(file.hand()?),
        stderr: Box::new(&mut io.stderr),
        stdout_is_terminal: false,
        env: Box::new(&io.env),
        ..*io
    };
    let exit = answer(args, &mut into)?;
    let flushed = into.stdout.flush();
    into.written(flushed)?;
    drop(into);
    file.finish()?;
    Ok(exit)
}

fn answer(args: &Explain, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let releases = compare::releases(args)?;
    let shard = Shard::of(args.fleet.shard, io)?;
    let pool = pool(args.jobs)?;
    if fleet::is_asked(args) {
        return fleet::run(args, shard, &pool, io);
    }
    let mut input = read(&args.input, args.output.color, &pool, io)?;
    input.checked()?;
    let targets = share(targets(args, &input.loaded.cluster), shard);
    if !releases.is_empty() {
        return compare::run(args, &releases, &targets, input, &pool, io);
    }
    let scheduler = scheduler::resolve(&args.scheduler, &mut input)?;
    input.tell_some(&scheduler.notes, io, args.output.color);
    let run = Run::new(args, &mut input, &scheduler, &pool)?;
    run.print(&targets, io)?;
    let exit = run.exit();
    // The program ends: to give back what 150,000 pods hold takes longer than to read them from an index.
    std::mem::forget(run);
    Ok(exit)
}

/// Reads a dump and tells its problems.
pub(crate) fn read(args: &InputArgs, color: When, pool: &Pool, io: &mut Io<'_>) -> Result<Input, Failure> {
    let (piped, dump) = (io.stdin_is_piped, io.variable(input::DUMP_VARIABLE));
    let meter = Arc::new(Meter::default());
    let progress = Progress::of(&meter, io);
    let input = pool.install_or_here(|| Input::read(args, piped, dump, &meter));
    drop(progress);
    let input = input?;
    input.tell_problems(io, color);
    Ok(input)
}

/// What is to be said before any pod is answered: where the dump lacks pods, others may be pending.
pub(crate) fn before_answers(args: &Explain, cluster: &Cluster) -> Exit {
    let all = args.pods.is_empty() && args.fleet.shard.is_none();
    let open = all && args.status.strict && !has_all_pods(cluster);
    if open { Exit::Inconclusive } else { Exit::Clean }
}

/// The pods that are asked for.
pub(crate) fn targets(args: &Explain, cluster: &Cluster) -> Vec<Target> {
    let namespace = args.namespace.as_deref();
    if args.pods.is_empty() {
        let pending = target::pending(cluster).into_iter();
        let here = |pod: &PodId| namespace.is_none_or(|it| cluster.namespace_name(cluster.pod(*pod).namespace) == it);
        return pending.filter(here).map(Target::Pod).collect();
    }
    args.pods.iter().map(|asked| target::find(cluster, asked, namespace)).collect()
}

/// Those of the pods that this process answers.
pub(crate) fn share(targets: Vec<Target>, shard: Shard) -> Vec<Target> {
    targets.into_iter().enumerate().filter(|(at, _)| shard.takes(*at)).map(|(_, it)| it).collect()
}

/// A pool of as many threads as asked for; the processors' number without.
pub(crate) struct Pool(Option<rayon::ThreadPool>);

pub(crate) fn pool(jobs: Option<u16>) -> Result<Pool, Failure> {
    let Some(jobs) = jobs else { return Ok(Pool(None)) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs)).build();
    pool.map(|it| Pool(Some(it))).map_err(|error| Failure::new(format!("cannot start {jobs} threads: {error}")))
}

impl Pool {
    pub(crate) fn install_or_here<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// A dump with a scheduler in front of it.
pub(crate) struct Run<'a> {
    args: &'a Explain,
    input: &'a Input,
    scheduler: &'a Scheduler,
    desk: Desk<'a>,
    node: Option<NodeId>,
    pool: &'a Pool,
    exit: Cell<Exit>,
    /// Counts pods as they are answered.
    meter: Arc<Meter>,
}

impl<'a> Run<'a> {
    /// Puts the scheduler in front of the dump.
    pub(crate) fn new(
        args: &'a Explain,
        input: &'a mut Input,
        scheduler: &'a Scheduler,
        pool: &'a Pool,
    ) -> Result<Self, Failure> {
        let cluster = Arc::new(std::mem::take(&mut input.loaded.cluster));
        let desk = pool.install_or_here(|| Desk::new(&cluster, scheduler));
        let node = args.node.as_deref().map(|it| target::node(desk.cluster(), it)).transpose()?;
        let exit = Cell::new(before_answers(args, desk.cluster()));
        Ok(Run { args, input, scheduler, desk, node, pool, exit, meter: Arc::default() })
    }

    /// The worst of what was answered so far.
    pub(crate) fn exit(&self) -> Exit {
        self.exit.get()
    }

    /// Answers in the form asked for.
    pub(crate) fn print(&self, targets: &[Target], io: &mut Io<'_>) -> Result<(), Failure> {
        let _progress = Progress::of_answers(&self.meter, targets.len(), io);
        match self.args.output.form() {
            Form::Json => self.json(targets, io),
            Form::Ndjson | Form::Table => self.text(targets, Detail::Screen, io),
            Form::Wide => self.text(targets, Detail::Wide, io),
        }
    }

    fn answers<'t>(&self, targets: &'t [Target]) -> Vec<Answer<'t>> {
        let desk = &self.desk;
        let answers = self.pool.install_or_here(|| desk.answers(targets));
        answers.iter().for_each(|it| self.told(it));
        answers
    }

    /// Hands over the answers in turn, while other threads make the next ones: one thread less than there are, for whoever
    /// takes them has work as well.
    fn answered<'t, E>(
        &self,
        targets: &'t [Target],
        mut take: impl FnMut(&[Answer<'t>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (desk, pool) = (&self.desk, self.pool);
        let make = |pool: &Pool, batch: &'t [Target]| pool.install_or_here(|| desk.answers(batch));
        let (first, rest) = targets.split_at(targets.len().min(self.batch()));
        let threads = pool.install_or_here(rayon::current_num_threads);
        let pays = threads > 1 && !rest.is_empty();
        let others = pays.then(|| rayon::ThreadPoolBuilder::new().num_threads(threads - 1).build());
        let Some(Ok(others)) = others else {
            return targets.chunks(self.batch()).try_for_each(|batch| take(&make(pool, batch)));
        };
        let others = Pool(Some(others));
        let rest = rest.chunks((threads - 1).min(BATCH));
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                // While nothing is there to be printed, no thread is left out.
                let made = std::iter::once(make(pool, first)).chain(rest.map(|batch| make(&others, batch)));
                made.map(|answers| sender.send(answers)).take_while(Result::is_ok).for_each(drop);
            });
            receiver.into_iter().try_for_each(|answers| take(&answers))
        })
    }

    /// Counts an answer.
    fn told(&self, answer: &Answer<'_>) {
        self.meter.advance(1);
        self.exit.set(self.exit.get().max(self.judge(answer)));
    }

    fn judge(&self, answer: &Answer<'_>) -> Exit {
        match self.desk.view_of(answer) {
            Some(view) => judge(&view, &self.args.status),
            None => Exit::Unusable,
        }
    }

    fn scheduler_row(&self) -> json::Scheduler {
        self.scheduler.row()
    }

    // ---- for tables

    /// The line of a dump, with what is known of its scheduler and its time.
    pub(crate) fn dump_line(&self, line: PodLine) -> PodLine {
        let scheduler = self.scheduler_row();
        PodLine {
            scheduler_version: Some(scheduler.version),
            scheduler_version_from: Some(scheduler.version_from),
            scheduler_profile: Some(scheduler.profile),
            as_of: self.desk.cluster().as_of.map(view::time_text),
            ..line
        }
    }

    /// The lines of pods.
    pub(crate) fn pod_lines(&self, dump: &PodLine, targets: &[Target]) -> Vec<PodLine> {
        let line = |answer: &Answer<'_>| {
            let line = match self.desk.view_of(answer) {
                Some(view) => dump.of_pod(&view),
                None => dump.not_found(answer.target.not_found().0),
            };
            let other_patch = answer.other_patch().map(|it| it.version.clone());
            PodLine { other_patch, exit_status: self.judge(answer).code(), ..line }
        };
        self.answers(targets).iter().map(line).collect()
    }

    // ---- for programs

    fn json(&self, targets: &[Target], io: &mut Io<'_>) -> Result<(), Failure> {
        let report = ExplainReport {
            api_version: API_VERSION,
            kind: "ExplainReport",
            tool: Tool::THIS,
            scheduler: self.scheduler_row(),
            inputs: self.input.rows(self.args.input.digest),
            coverage: view::coverage(self.desk.cluster()),
            as_of: self.desk.cluster().as_of.map(view::time_text),
            problems: self.input.problems.iter().map(problems::row).collect(),
            pods: Streamed { run: self, targets },
        };
        write_json(&report, io)
    }

    /// Pods that are answered together: enough for every processor. Fewer leave their memory warm for the next.
    fn batch(&self) -> usize {
        self.pool.install_or_here(rayon::current_num_threads).clamp(2, BATCH)
    }

    fn keys(&self, pods: &[PodId]) -> Vec<String> {
        pods.iter().map(|it| self.desk.cluster().pod_key(*it)).collect()
    }

    // ---- for people

    fn text(&self, targets: &[Target], detail: Detail, io: &mut Io<'_>) -> Result<(), Failure> {
        let mut page = io.page(self.args.output.color);
        let asked = !self.args.pods.is_empty();
        if targets.is_empty() && self.args.fleet.shard.is_some() {
            page.sentence(0, "No pod is pending, or none falls to this shard.");
        } else if targets.is_empty() {
            page.sentence(0, &none_pending(self.desk.cluster(), self.args.namespace.as_deref()));
        } else if targets.len() > 1 && !asked && self.node.is_none() && detail == Detail::Screen {
            let mut rows: Vec<TableRow> = Vec::new();
            // Nothing is printed before all is answered, so that a terminal can show both.
            let progress = io.stdout_is_terminal.then(|| Progress::of(&self.meter, io));
            for batch in targets.chunks(self.batch()) {
                let answers = self.answers(batch);
                rows.extend(answers.iter().filter_map(|it| self.desk.view_of(it)).map(|it| summary::line(&it)));
            }
            drop(progress);
            summary::overview(&mut page, rows);
        } else {
            for batch in targets.chunks(self.batch()) {
                for answer in &self.answers(batch) {
                    self.tell(&mut page, answer, detail);
                    io.print(&page.take())?;
                    page.resume();
                }
            }
        }
        summary::footer(&mut page, self.desk.cluster(), &self.scheduler_row(), &self.scheduler.source, detail);
        io.print(&page.take())
    }

    fn tell(&self, page: &mut Page, answer: &Answer<'_>, detail: Detail) {
        if let Some(view) = self.desk.view_of(answer) {
            story::tell(page, &view, answer.other_patch(), detail);
            if let Some(node) = self.node {
                node_story::tell(page, &view, node);
            }
            return;
        }
        let (asked, near) = answer.target.not_found();
        page.gap();
        let more = match (answer.target, near) {
            (_, []) if self.desk.cluster().pods.is_empty() => ", which holds no pods.".to_owned(),
            (_, []) => ".".to_owned(),
            (Target::Ambiguous { .. }, near) => {
                format!(" by that name alone: it may be {}.", self.keys(near).join(", "))
            }
            (_, near) => format!(". Did you mean {}?", self.keys(near).join(", ")),
        };
        page.painted(0, Some(Ink::Careful), &format!("{asked} is not in the dump{more}"));
    }
}

/// Whether the dump holds all pods, as far as can be told.
fn has_all_pods(cluster: &Cluster) -> bool {
    let whole = |it: &Coverage| it.state == CoverageState::Present && it.rejected == 0 && !it.doubtful;
    cluster.coverage.iter().any(|it| it.kind == Kind::Pod && whole(it))
}

/// What a dump says in which no pod is pending: no more than it holds.
pub(crate) fn none_pending(cluster: &Cluster, namespace: Option<&str>) -> String {
    let of = namespace.map_or_else(String::new, |it| format!(" of namespace {}", safe(it)));
    let here = |pod: &Pod| namespace.is_none_or(|it| cluster.namespace_name(pod.namespace) == it);
    if !cluster.pods.iter().any(here) {
        format!("No pod{of} was read: whether any is pending is not known.")
    } else if !has_all_pods(cluster) {
        format!("None of the pods{of} that were read is pending; the dump does not hold all Pods.")
    } else if namespace.is_some() {
        format!("No pod{of} is pending: every one in the dump has a node or is finished.")
    } else {
        "No pod is pending: every pod of the dump has a node or is finished.".to_owned()
    }
}

/// The report of a pod; of several, it copies what another one says alike.
fn report<'r>(
    desk: &'r Desk<'_>,
    node: Option<NodeId>,
    answer: &'r Answer<'_>,
    written: Option<&'r Written>,
) -> PodReport<'r> {
    match desk.view_of(answer) {
        Some(view) => {
            let report = written.map_or_else(|| view.report(), |written| view.report_with(written));
            let node_steps = node.filter(|_| view.preemption().is_some());
            PodReport {
                other_patch: answer.other_patch().cloned(),
                node_steps: node_steps.map(|node| node_story::row(&view, node)),
                ..report
            }
        }
        None => {
            let (asked, near) = answer.target.not_found();
            let suggestions = near.iter().map(|it| desk.cluster().pod_key(*it)).collect();
            PodReport { suggestions, ..PodReport::bare(asked.to_owned(), PodOutcome::NotFound) }
        }
    }
}

/// The pods of a report, answered while they are printed.
struct Streamed<'r, 'a> {
    run: &'r Run<'a>,
    targets: &'r [Target],
}

impl Serialize for Streamed<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.targets.len()))?;
        let (run, desk) = (self.run, &self.run.desk);
        let written = (self.targets.len() > 1).then(|| Written::new(desk.cluster()));
        let mut print = |answer: &Answer<'_>| {
            run.told(answer);
            list.serialize_element(&report(desk, run.node, answer, written.as_ref()))
        };
        run.answered(self.targets, |answers| answers.iter().try_for_each(&mut print))?;
        list.end()
    }
}

/// Prints a report for programs.
pub(crate) fn write_json(report: &impl Serialize, io: &mut Io<'_>) -> Result<(), Failure> {
    let written = pretty::write(report, &mut io.stdout).and_then(|()| writeln!(io.stdout));
    io.written(written)
}

/// The exit status that an answer asks for.
pub(crate) fn judge(view: &View<'_>, status: &StatusArgs) -> Exit {
    let outcome = view.pod_outcome();
    let certainty = &view.outcome.certainty;
    if status.strict && (*certainty == Certainty::Undetermined || !view.outcome.gaps.is_empty()) {
        return Exit::Inconclusive;
    }
    let found = |what: &FailOn| match what {
        FailOn::Unplaced => matches!(
            outcome,
            PodOutcome::NoCandidates | PodOutcome::NoPotentialNodes | PodOutcome::Ineligible | PodOutcome::Error
        ),
        FailOn::Preemption => outcome == PodOutcome::Nominated,
        FailOn::PdbViolation => view.chosen().is_some_and(|(_, it)| it.pdb_violations > 0),
        FailOn::Uncertain => *certainty != Certainty::Certain,
    };
    if !status.exit_zero && status.fail_on.iter().any(found) { Exit::Findings } else { Exit::Clean }
}
