//! `inspect`.

use super::answers::{Answer, Desk};
use super::args::{Form, Inspect};
use super::exit::Exit;
use super::explain::{self, write_json};
use super::failure::Failure;
use super::input::Input;
use super::io::Io;
use super::scheduler::{self, Scheduler};
use super::target::{self, Target};
use crate::explain::holes::{self as facts, Background, Bearing, Harmless};
use crate::kube::served;
use crate::model::cluster::{Cluster, Coverage, Kind};
use crate::model::id::PodId;
use crate::report::inspect::{self, HarmlessRow, Hole, InspectReport, InspectedPod, MomentRow, SkippedRow};
use crate::report::json::{API_VERSION, Level, PodOutcome, Tool};
use crate::report::story::Detail;
use crate::report::{holes, problems, view};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs `inspect`.
pub(crate) fn run(args: &Inspect, io: &mut Io<'_>) -> Result<Exit, Failure> {
    if args.output.form() == Form::Ndjson {
        return Err(Failure::new("the ledger is one report, not lines for tables").help("use -o json"));
    }
    let mut input = explain::read(&args.input, args.output.color, &explain::pool(None)?, io)?;
    if input.loaded.held.is_empty() {
        return Err(input.nothing_found());
    }
    let scheduler = scheduler::resolve(&args.scheduler, &mut input)?;
    input.tell_some(&scheduler.notes, io, args.output.color);
    let cluster = Arc::new(std::mem::take(&mut input.loaded.cluster));
    let desk = Desk::new(&cluster, &scheduler);
    let inspection =
        Inspection { args, input: &input, scheduler: &scheduler, background: Background::of(&cluster), desk };
    let holes = inspection.holes();
    let report = inspection.report(&holes);
    match args.output.form() {
        Form::Json => write_json(&report, io)?,
        form => {
            let detail = if form == Form::Wide { Detail::Wide } else { Detail::Screen };
            let mut page = io.page(args.output.color);
            inspect::tell(&mut page, &report, &holes, &scheduler.source, detail);
            io.print(page.text())?;
        }
    }
    Ok(judge(args, &report, &holes))
}

fn judge(args: &Inspect, report: &InspectReport, holes: &[Hole]) -> Exit {
    if report.pods.iter().any(|it| it.outcome == PodOutcome::NotFound) {
        return Exit::Unusable;
    }
    let matters = match report.pods.as_slice() {
        [] => holes.iter().any(|it| it.pods > 0 || matches!(it.coverage.kind, Kind::Node | Kind::Pod)),
        pods => pods.iter().any(|it| it.certainty == Some(Level::Undetermined) || !it.gaps.is_empty()),
    };
    if args.strict && matters { Exit::Inconclusive } else { Exit::Clean }
}

struct Inspection<'a> {
    args: &'a Inspect,
    input: &'a Input,
    scheduler: &'a Scheduler,
    background: Background,
    desk: Desk<'a>,
}

impl Inspection<'_> {
    fn cluster(&self) -> &Cluster {
        self.desk.cluster()
    }

    /// Every hole, held against every pending pod.
    fn holes(&self) -> Vec<Hole> {
        let pending = target::pending(self.cluster());
        let coverage = self.cluster().coverage.iter().filter(|it| it.has_hole());
        let hole = |it: &Coverage| {
            let mut hole = Hole { coverage: *it, pods: 0, harmless: Vec::new() };
            let mut reasons = BTreeSet::new();
            for pod in &pending {
                match self.harmless(*pod, hole.coverage.kind) {
                    None => hole.pods += 1,
                    Some(why) => {
                        reasons.insert(why);
                    }
                }
            }
            // Pods that are not tried say nothing about those that are.
            if reasons.len() > 1 {
                reasons.remove(&Harmless::NotTried);
            }
            hole.harmless = reasons.into_iter().collect();
            hole
        };
        coverage.map(hole).collect()
    }

    fn harmless(&self, pod: PodId, kind: Kind) -> Option<Harmless> {
        facts::harmless(&self.desk.cycle(pod), &self.background, kind)
    }

    fn report(&self, holes: &[Hole]) -> InspectReport {
        let cluster = self.cluster();
        let files = &self.input.files;
        let path = |it: &crate::load::Held| files.file(it.file).path.clone();
        let runs = |plugin| {
            let profiles = &self.scheduler.profiles;
            profiles
                .iter()
                .any(|it| [&it.filters, &it.pre_filters, &it.post_filters].iter().any(|at| at.contains(&plugin)))
        };
        let plugins = |kind| holes::plugin_names(&facts::readers(kind), runs);
        let pods = self.pods();
        InspectReport {
            api_version: API_VERSION,
            kind: "InspectReport",
            tool: Tool::THIS,
            scheduler: self.scheduler.row(),
            inputs: self.input.rows(self.args.input.digest),
            server_version: self.input.loaded.server_version.clone(),
            as_of: cluster.as_of.map(view::time_text),
            moments: self.input.loaded.moments.iter().map(MomentRow::of).collect(),
            coverage: inspect::ledger(&cluster.coverage, &self.input.loaded.held, path, holes, plugins),
            skipped: self.skipped(),
            problems: self.input.problems.iter().map(problems::row).collect(),
            pending_pods: target::pending(cluster).len(),
            remedies: self.remedies(&pods),
            pods: pods.into_iter().map(|(pod, _)| pod).collect(),
        }
    }

    /// The most numerous first.
    fn skipped(&self) -> Vec<SkippedRow> {
        let row = |(kind, objects): (&String, &u64)| SkippedRow { kind: kind.clone(), objects: *objects };
        let mut rows: Vec<SkippedRow> = self.input.loaded.skipped.iter().map(row).collect();
        rows.sort_by_key(|it| Reverse(it.objects));
        rows
    }

    fn remedies(&self, pods: &[(InspectedPod, BTreeSet<Kind>)]) -> Vec<String> {
        let asked = !self.args.pods.is_empty();
        let release = self.scheduler.release;
        let kinds: Vec<Kind> = match asked {
            true => pods.iter().flat_map(|(_, kinds)| kinds).copied().collect(),
            false => inspect::worth_getting(&self.cluster().coverage, |kind| served::by_default(kind, release)),
        };
        let version = (!asked && self.input.loaded.server_version.is_none()).then(|| holes::VERSION_COMMAND.to_owned());
        holes::command(kinds).into_iter().chain(version).collect()
    }

    /// The pods asked for, and the kinds that would fill their gaps.
    fn pods(&self) -> Vec<(InspectedPod, BTreeSet<Kind>)> {
        let namespace = self.args.namespace.as_deref();
        let targets: Vec<Target> =
            self.args.pods.iter().map(|asked| target::find(self.cluster(), asked, namespace)).collect();
        self.desk.answers(&targets).iter().map(|it| self.pod(it)).collect()
    }

    fn pod(&self, answer: &Answer<'_>) -> (InspectedPod, BTreeSet<Kind>) {
        let cluster = self.cluster();
        let Some(view) = self.desk.view_of(answer) else {
            let (asked, near) = answer.target.not_found();
            let pod = InspectedPod {
                pod: asked.to_owned(),
                outcome: PodOutcome::NotFound,
                certainty: None,
                gaps: Vec::new(),
                may_follow: Vec::new(),
                harmless: Vec::new(),
                remedy: None,
                suggestions: near.iter().map(|it| cluster.pod_key(*it)).collect(),
                sentences: Vec::new(),
                lacking: false,
            };
            return (pod, BTreeSet::new());
        };
        let outcome = view.outcome;
        let mut kinds = holes::kinds_for(&outcome.gaps);
        let lacking = !kinds.is_empty();
        let (mut may_follow, mut harmless) = (Vec::new(), Vec::new());
        for kind in cluster.coverage.iter().filter(|it| it.has_hole()).map(|it| it.kind) {
            match facts::bearing(&view.cycle, &self.background, outcome, kind) {
                Bearing::Gap => {}
                Bearing::MayFollow => {
                    may_follow.push(kind.name());
                    kinds.insert(kind);
                }
                Bearing::Harmless(why) => {
                    harmless.push(HarmlessRow { kind: kind.name(), why: holes::harmless_text(why) });
                }
            }
        }
        let pod = InspectedPod {
            pod: cluster.pod_key(view.cycle.pod),
            outcome: view.pod_outcome(),
            certainty: Some(view.certainty().level),
            gaps: outcome.gaps.iter().map(|it| view.gap(it)).collect(),
            may_follow,
            harmless,
            remedy: holes::command(kinds.iter().copied()),
            suggestions: Vec::new(),
            sentences: outcome.gaps.iter().map(|it| holes::gap_sentence(cluster, it)).collect(),
            lacking,
        };
        (pod, kinds)
    }
}
