//! `explain --compare`: one pod under several releases, and what makes the difference.

use super::answers::{Desk, profile_of};
use super::args::{Explain, Form, StatusArgs};
use super::exit::Exit;
use super::explain::{self, Pool, write_json};
use super::failure::Failure;
use super::input::Input;
use super::io::Io;
use super::scheduler::{self, Scheduler, Settings};
use super::target::Target;
use super::versions::one_line;
use crate::engine::cycle;
use crate::engine::framework::PodCycle;
use crate::engine::snapshot::Snapshot;
use crate::explain::compare::{self, Difference, Setup};
use crate::kube::behavior::Behavior;
use crate::kube::gates::Gates;
use crate::kube::profile::Profile;
use crate::kube::release::Release;
use crate::model::cluster::Cluster;
use crate::model::id::PodId;
use crate::problem::Problem;
use crate::report::compare::tell;
use crate::report::json::{API_VERSION, BecauseRow, CompareReport, ComparedAnswer, ComparedPod, Decision, Level, Tool};
use crate::report::view::View;
use crate::report::{problems, view};
use std::sync::Arc;

/// Neighbouring releases that are compared as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    first: Release,
    last: Release,
}

/// The releases to compare, oldest first; none where nothing is to be compared. Of all releases, those that differ in
/// nothing from the one before are not asked again.
pub(crate) fn releases(args: &Explain) -> Result<Vec<Run>, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    if args.compare_all {
        let mut last = None;
        for release in Release::known().flat_map(|it| (0..=it.patch).map(move |patch| Release::new(it.minor, patch))) {
            let gates = Gates::defaults(release);
            let setup = (Behavior::of(release, &gates), Profile::default_for(release, &gates));
            match runs.last_mut() {
                Some(run) if last.as_ref() == Some(&setup) => run.last = release,
                _ => runs.push(Run { first: release, last: release }),
            }
            last = Some(setup);
        }
        return Ok(runs);
    }
    for asked in &args.compare {
        let release = scheduler::parse(asked)?.release;
        runs.push(Run { first: release, last: release });
    }
    runs.sort();
    runs.dedup();
    Ok(runs)
}

/// Compares.
pub(crate) fn run(
    args: &Explain,
    releases: &[Run],
    targets: &[Target],
    mut input: Input,
    pool: &Pool,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let settings = Settings::read(&args.scheduler)?;
    let symbols = &mut input.loaded.cluster.symbols;
    let schedulers: Vec<Scheduler> =
        releases.iter().map(|it| settings.at(it.first, symbols)).collect::<Result<_, _>>()?;
    tell_notes(&schedulers, &input, args, io);
    let cluster = Arc::new(std::mem::take(&mut input.loaded.cluster));
    let decide = |it| pool.install_or_here(|| decide(&Desk::new(&cluster, it), targets, &args.status));
    let decisions: Vec<Vec<Decided>> = schedulers.iter().map(decide).collect();
    let mut compared = Vec::new();
    let exits = decisions.iter().flatten().map(|it| it.exit);
    let mut exit = exits.max().unwrap_or(Exit::Clean).max(explain::before_answers(args, &cluster));
    let mut next = 0;
    for target in targets {
        if let Target::Pod(pod) = target {
            let decided = decisions.iter().map(|it| &it[next]);
            compared.push(one(&cluster, *pod, releases, &schedulers, decided));
            next += 1;
        } else {
            let asked = target.not_found().0.to_owned();
            compared.push(ComparedPod { pod: asked, same: true, answers: Vec::new() });
            exit = Exit::Unusable;
        }
    }
    if args.output.form() == Form::Json {
        let report = CompareReport {
            api_version: API_VERSION,
            kind: "CompareReport",
            tool: Tool::THIS,
            inputs: input.rows(args.input.digest),
            coverage: view::coverage(&cluster),
            problems: input.problems.iter().map(problems::row).collect(),
            pods: compared,
        };
        write_json(&report, io)?;
    } else {
        let mut page = io.page(args.output.color);
        if compared.is_empty() {
            page.sentence(0, &explain::none_pending(&cluster, args.namespace.as_deref()));
        }
        for pod in &compared {
            tell(&mut page, pod);
        }
        io.print(&page.take())?;
    }
    Ok(exit)
}

/// What one release says of one pod.
struct Decided {
    decision: Decision,
    certainty: Level,
    /// The exit status that it asks for.
    exit: Exit,
}

impl Decided {
    fn of(view: &View<'_>, status: &StatusArgs) -> Self {
        let exit = explain::judge(view, status);
        Decided { decision: view.decision(), certainty: view.certainty().level, exit }
    }
}

/// What a release says of the pods that are there, in order.
fn decide(desk: &Desk<'_>, targets: &[Target], status: &StatusArgs) -> Vec<Decided> {
    let batches = targets.chunks(explain::BATCH);
    let decided = |batch| {
        let answers = desk.answers(batch);
        answers.iter().filter_map(|it| desk.view_of(it)).map(|it| Decided::of(&it, status)).collect::<Vec<_>>()
    };
    batches.flat_map(decided).collect()
}

/// Tells once what of the configuration and the gates is not computed, and which releases are taken for others.
fn tell_notes(schedulers: &[Scheduler], input: &Input, args: &Explain, io: &mut Io<'_>) {
    let mut notes: Vec<Problem> = Vec::new();
    for note in schedulers.iter().flat_map(|it| &it.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    input.tell_some(&notes, io, args.output.color);
    for asked in &args.compare {
        if let Some(note) = scheduler::parse(asked).ok().and_then(scheduler::stands_in) {
            io.complain(&format!("note: {note}\n"));
        }
    }
}

fn one<'d>(
    cluster: &Arc<Cluster>,
    pod: PodId,
    releases: &[Run],
    schedulers: &[Scheduler],
    decisions: impl Iterator<Item = &'d Decided>,
) -> ComparedPod {
    let mut answers: Vec<ComparedAnswer> = Vec::new();
    let mut last = None;
    for ((run, scheduler), Decided { decision, certainty, exit: _ }) in releases.iter().zip(schedulers).zip(decisions) {
        match answers.last_mut() {
            Some(answer) if answer.decision == *decision => {
                answer.to = run.last.to_string();
                answer.certainty = answer.certainty.max(*certainty);
            }
            _ => {
                let because = last.map_or_else(Vec::new, |last| because(cluster, pod, last, scheduler));
                answers.push(ComparedAnswer {
                    from: run.first.to_string(),
                    to: run.last.to_string(),
                    decision: decision.clone(),
                    certainty: *certainty,
                    because,
                });
            }
        }
        last = Some(scheduler);
    }
    ComparedPod { pod: cluster.pod_key(pod), same: answers.len() <= 1, answers }
}

fn because(cluster: &Arc<Cluster>, pod: PodId, before: &Scheduler, after: &Scheduler) -> Vec<BecauseRow> {
    let setup = |it: &Scheduler| Setup {
        behavior: Arc::clone(&it.behavior),
        profile: Arc::clone(profile_of(pod, cluster, &it.profiles)),
    };
    let answer = |it: &Setup| {
        let snapshot = Snapshot::new(Arc::clone(cluster), Arc::clone(&it.behavior));
        let cycle = PodCycle { snapshot: &snapshot, pod, profile: &it.profile, changed: None };
        View { cycle, outcome: &cycle::schedule(&cycle) }.decision()
    };
    let fields = Behavior::fields();
    let row = |it: Difference| match it {
        Difference::Profile => BecauseRow {
            field: "profile".to_owned(),
            before: before.release.to_string(),
            after: after.release.to_string(),
            doc: "The default plugins and their order.".to_owned(),
        },
        Difference::Field(at) => {
            let (group, field) = fields[at];
            let variant = |it: &Behavior| field.variants[it.get(at)].0.to_owned();
            BecauseRow {
                field: format!("{group}.{}", field.name),
                before: variant(&before.behavior),
                after: variant(&after.behavior),
                doc: one_line(field.doc),
            }
        }
    };
    compare::causes(&setup(before), &setup(after), answer).into_iter().map(row).collect()
}
