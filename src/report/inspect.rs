//! The coverage ledger by itself: what a dump holds, what it lacks, and what that could change.

use super::amount::count;
use super::holes;
use super::json::{GapRow, Input, Level, PodOutcome, ProblemRow, Scheduler, State, Tool};
use super::page::{Ink, Page, TableRow, numbers, words};
use super::story::Detail;
use super::view;
use crate::explain::holes::Harmless;
use crate::load::{Held, Moment};
use crate::model::cluster::{Coverage, CoverageState, Kind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `inspect -o json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InspectReport {
    /// `preempt-audit/v1`.
    pub api_version: &'static str,
    /// `InspectReport`.
    pub kind: &'static str,
    /// The program.
    pub tool: Tool,
    /// The scheduler by which it is judged what matters.
    pub scheduler: Scheduler,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// The API server's version; absent where the dump does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// Time of the dump: a manifest's, the one given, else the newest time that any object carries. RFC 3339.
    pub as_of: Option<String>,
    /// The moments of which the input holds dumps, oldest first; none where it holds one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<MomentRow>,
    /// What the files hold of each kind of object.
    pub coverage: Vec<LedgerRow>,
    /// Objects of kinds that are not read.
    pub skipped: Vec<SkippedRow>,
    /// Trouble in the input.
    pub problems: Vec<ProblemRow>,
    /// How many pods wait for a node.
    pub pending_pods: usize,
    /// The pods asked for, and what the holes change for them.
    pub pods: Vec<InspectedPod>,
    /// Commands that get what is missing; of pods that are asked for, what is missing for them.
    pub remedies: Vec<String>,
}

/// A moment of which the input holds a dump.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MomentRow {
    /// When it was, RFC 3339; null where nothing tells.
    pub time: Option<String>,
    /// Its folders and files.
    pub paths: Vec<String>,
    /// How many nodes it shows.
    pub nodes: u64,
    /// How many pods it shows.
    pub pods: u64,
    /// The ledger is of this moment.
    pub used: bool,
}

impl MomentRow {
    /// The row of a moment.
    pub fn of(moment: &Moment) -> Self {
        let (nodes, pods) = moment.objects;
        let time = moment.time.map(view::time_text);
        MomentRow { time, paths: moment.paths.clone(), nodes, pods, used: moment.used }
    }
}

/// What the files hold of one kind, and what a hole in it could change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerRow {
    /// The kind.
    pub kind: &'static str,
    /// Whether it is there.
    pub state: State,
    /// How many objects were read.
    pub objects: u64,
    /// How many objects were damaged and left out.
    pub rejected: u64,
    /// What each file holds of it.
    pub files: Vec<HeldRow>,
    /// The plugins of the scheduler that read it; none where every decision does, or no decision.
    pub plugins: Vec<&'static str>,
    /// What the hole could change; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// To how many pending pods the hole could matter; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub could_matter_to: Option<usize>,
    /// Why it cannot matter to the other pending pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub harmless_because: Vec<&'static str>,
}

/// What one file holds of one kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldRow {
    /// The file, as it was given or found.
    pub path: String,
    /// What it holds.
    pub state: State,
    /// How many objects in it are used.
    pub objects: u64,
    /// How many objects in it were damaged and left out.
    pub rejected: u64,
}

/// Objects of a kind that is not read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SkippedRow {
    /// `apiVersion` and kind, such as `apps/v1 Deployment`.
    pub kind: String,
    /// How many.
    pub objects: u64,
}

/// What the holes change for one pod.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InspectedPod {
    /// `namespace/name`.
    pub pod: String,
    /// What came of it.
    pub outcome: PodOutcome,
    /// How sure that is; absent of a pod that is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Level>,
    /// What the dump lacks and the answer touches.
    pub gaps: Vec<GapRow>,
    /// Kinds that the dump lacks as well, and that the answer may touch once the gaps are filled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub may_follow: Vec<&'static str>,
    /// Kinds that the dump lacks and that cannot change the answer.
    pub harmless: Vec<HarmlessRow>,
    /// The command that gets what `gaps` and `mayFollow` lack, where one can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Names near the one asked for, of a pod that is not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
    /// The gaps in sentences, for people.
    #[serde(skip)]
    pub sentences: Vec<String>,
    /// Some gap is something that the dump lacks, as opposed to something that is not computed.
    #[serde(skip)]
    pub lacking: bool,
}

/// A kind that cannot matter to a pod.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HarmlessRow {
    /// The kind.
    pub kind: &'static str,
    /// Why not.
    pub why: &'static str,
}

/// A hole in a kind, held against the pending pods.
#[derive(Clone, Debug)]
pub struct Hole {
    /// What the dump holds of the kind.
    pub coverage: Coverage,
    /// How many pending pods it could matter to.
    pub pods: usize,
    /// Why it cannot matter to the others.
    pub harmless: Vec<Harmless>,
}

/// The rows of all kinds.
pub fn ledger(
    coverage: &[Coverage],
    held: &[Held],
    path: impl Fn(&Held) -> String,
    holes: &[Hole],
    plugins: impl Fn(Kind) -> Vec<&'static str>,
) -> Vec<LedgerRow> {
    let row = |it: &Coverage| {
        let files = held.iter().filter(|held| held.kind == it.kind).map(|held| HeldRow {
            path: path(held),
            state: view::state(held.state),
            objects: held.objects,
            rejected: held.rejected,
        });
        let hole = holes.iter().find(|hole| hole.coverage.kind == it.kind);
        LedgerRow {
            kind: it.kind.name(),
            state: view::state(it.state),
            objects: it.objects,
            rejected: it.rejected,
            files: files.collect(),
            plugins: plugins(it.kind),
            changes: hole.map(|_| holes::changes(it)),
            could_matter_to: hole.map(|hole| hole.pods),
            harmless_because: hole
                .map(|hole| hole.harmless.iter().map(|why| holes::harmless_text(*why)).collect())
                .unwrap_or_default(),
        }
    };
    coverage.iter().map(row).collect()
}

/// Tells the whole report.
pub fn tell(page: &mut Page, report: &InspectReport, holes: &[Hole], source: &str, detail: Detail) {
    head(page, report);
    moments(page, &report.moments);
    table(page, &report.coverage, detail);
    skipped(page, &report.skipped, detail);
    if report.pods.is_empty() {
        could_change(page, report, holes);
    }
    for pod in &report.pods {
        tell_pod(page, pod);
    }
    commands(page, &report.remedies);
    page.gap();
    let scheduler = &report.scheduler;
    let text = format!("Judged by kube-scheduler {} ({source}), profile {}.", scheduler.version, scheduler.profile);
    page.painted(0, Some(Ink::Faint), &text);
}

fn head(page: &mut Page, report: &InspectReport) {
    let time = report.as_of.as_ref().map_or_else(|| "of an unknown time".to_owned(), |it| format!("of {it}"));
    let server = report
        .server_version
        .as_ref()
        .map_or_else(|| "the API server's version is not in the dump".to_owned(), |it| format!("API server {it}"));
    let text = format!("{} {time}; {server}.", count(report.inputs.len(), "file"));
    page.painted(0, Some(Ink::Heading), &text);
    page.gap();
}

fn moments(page: &mut Page, moments: &[MomentRow]) {
    const SHOWN: usize = 8;
    if moments.is_empty() {
        return;
    }
    // The newest are the likeliest to be meant, and the one that is used is never left out.
    let first = moments.len().saturating_sub(SHOWN);
    let number = |many: u64, what: &str| count(usize::try_from(many).unwrap_or(usize::MAX), what);
    page.sentence(2, &format!("The input holds {}; --at chooses another:", count(moments.len(), "moment")));
    for (at, it) in moments.iter().enumerate().filter(|(at, it)| *at >= first || it.used) {
        let mark = if it.used { "→" } else { " " };
        let time = it.time.as_deref().unwrap_or("unknown time");
        let gap = if it.used && at < first { " …" } else { "" };
        let paths = it.paths.first().map_or("", String::as_str);
        let text = format!("{mark} {time}  {}, {}  {paths}{gap}", number(it.nodes, "node"), number(it.pods, "pod"));
        page.verbatim(4, &text);
    }
    page.gap();
}

/// How many files of a kind are named on a screen.
const FILES: usize = 3;

fn table(page: &mut Page, coverage: &[LedgerRow], detail: Detail) {
    let damaged = coverage.iter().any(|it| it.rejected > 0);
    let mut columns = vec![words("KIND"), words("STATE"), numbers("OBJECTS")];
    if damaged {
        columns.push(numbers("DAMAGED"));
    }
    columns.push(words("FROM"));
    let row = |it: &LedgerRow| {
        let mut cells = vec![it.kind.to_owned(), state_text(it.state).to_owned(), it.objects.to_string()];
        if damaged {
            cells.push(it.rejected.to_string());
        }
        cells.push(from(&it.files, detail));
        let ink = match it.state {
            State::Present if it.rejected == 0 => None,
            State::Empty => None,
            State::Absent => Some(Ink::Faint),
            State::Present | State::Truncated | State::Rejected => Some(Ink::Careful),
        };
        let row = TableRow::new(cells);
        match ink {
            Some(ink) => row.painted(ink),
            None => row,
        }
    };
    page.table(&columns, coverage.iter().map(row).collect());
}

fn state_text(state: State) -> &'static str {
    match state {
        State::Present => "present",
        State::Empty => "empty",
        State::Absent => "absent",
        State::Truncated => "truncated",
        State::Rejected => "rejected",
    }
}

fn from(files: &[HeldRow], detail: Detail) -> String {
    let name = |it: &HeldRow| match detail {
        Detail::Wide => it.path.clone(),
        Detail::Screen => it.path.rsplit(['/', '\\', '!']).next().unwrap_or_default().to_owned(),
    };
    let shown = match detail {
        Detail::Wide => usize::MAX,
        Detail::Screen => FILES,
    };
    let mut names: Vec<String> = files.iter().take(shown).map(name).collect();
    if files.len() > shown {
        names.push(format!("and {} more", files.len() - shown));
    }
    names.join(", ")
}

fn skipped(page: &mut Page, skipped: &[SkippedRow], detail: Detail) {
    const SHOWN: usize = 6;
    let shown = if detail == Detail::Wide { usize::MAX } else { SHOWN };
    let (configs, skipped): (Vec<&SkippedRow>, Vec<&SkippedRow>) =
        skipped.iter().partition(|it| it.kind.ends_with("KubeSchedulerConfiguration"));
    if !configs.is_empty() {
        let text = "A KubeSchedulerConfiguration lies there, which is not used: give its file with --scheduler-config.";
        page.painted(2, Some(Ink::Careful), text);
    }
    let mut parts: Vec<String> = skipped.iter().take(shown).map(|it| format!("{} {}", it.objects, it.kind)).collect();
    if parts.is_empty() {
        return;
    }
    if skipped.len() > shown {
        parts.push(format!("{} further kinds", skipped.len() - shown));
    }
    page.painted(2, Some(Ink::Faint), &format!("Skipped, for no scheduler reads them: {}.", parts.join(", ")));
}

fn could_change(page: &mut Page, report: &InspectReport, holes: &[Hole]) {
    let pending = report.pending_pods;
    let (some, none): (Vec<&Hole>, Vec<&Hole>) =
        holes.iter().partition(|it| it.pods > 0 || matches!(it.coverage.kind, Kind::Node | Kind::Pod));
    if !some.is_empty() {
        page.heading("What the holes could change");
    }
    for hole in some {
        let row = report.coverage.iter().find(|it| it.kind == hole.coverage.kind.name());
        let plugins = row.map(|it| it.plugins.join(", ")).unwrap_or_default();
        let who = match (hole.pods == pending, plugins.as_str()) {
            (true, "") => String::new(),
            (true, plugins) => format!(" ({plugins})"),
            (false, "") => format!(" ({} of {})", hole.pods, count(pending, "pending pod")),
            (false, plugins) => format!(" ({plugins}; {} of {})", hole.pods, count(pending, "pending pod")),
        };
        let text = format!("W{}{who}.", holes::changes(&hole.coverage).trim_start_matches('w'));
        page.painted(2, Some(Ink::Careful), &text);
    }
    if none.is_empty() {
        return;
    }
    if pending == 0 {
        let kinds: Vec<&str> = none.iter().map(|it| it.coverage.kind.name()).collect();
        page.heading("No pod is pending, so that nothing rests on");
        page.sentence(2, &format!("{}.", kinds.join(", ")));
        return;
    }
    page.heading(match pending {
        1 => "What is not there and cannot matter to the pending pod",
        _ => "What is not there and cannot matter to any pending pod",
    });
    let mut reasons: BTreeMap<&[Harmless], Vec<&'static str>> = BTreeMap::new();
    for hole in none {
        reasons.entry(&hole.harmless).or_default().push(hole.coverage.kind.name());
    }
    for (why, kinds) in reasons {
        let why: Vec<&str> = why.iter().map(|it| holes::harmless_text(*it)).collect();
        page.sentence(2, &format!("{}: {}.", kinds.join(", "), why.join(", or ")));
    }
}

fn tell_pod(page: &mut Page, pod: &InspectedPod) {
    page.gap();
    let (ink, text) = match pod.certainty {
        None => {
            let near = match pod.suggestions.as_slice() {
                [] => ".".to_owned(),
                some => format!(". Did you mean {}?", some.join(", ")),
            };
            (Ink::Careful, format!("{} is not in the dump{near}", pod.pod))
        }
        Some(Level::Undetermined) if !pod.lacking => (
            Ink::Careful,
            format!(
                "{}: nothing that is missing could change the answer; something that is not computed could.",
                pod.pod
            ),
        ),
        Some(_) if !pod.lacking => {
            (Ink::Good, format!("{}: nothing that is missing could change the answer.", pod.pod))
        }
        Some(_) => (Ink::Careful, format!("{}: what is missing could change the answer.", pod.pod)),
    };
    page.painted(0, Some(ink), &text);
    for sentence in &pod.sentences {
        page.painted(2, Some(Ink::Careful), sentence);
    }
    if !pod.may_follow.is_empty() {
        let text = format!("Once that is known, {} may matter as well.", pod.may_follow.join(", "));
        page.painted(2, Some(Ink::Careful), &text);
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in &pod.harmless {
        reasons.entry(row.why).or_default().push(row.kind);
    }
    for (why, kinds) in reasons {
        page.sentence(2, &format!("Without effect: {} ({why}).", kinds.join(", ")));
    }
}

fn commands(page: &mut Page, commands: &[String]) {
    if commands.is_empty() {
        return;
    }
    page.heading(match commands.len() {
        1 => "To fill the holes, run this and give its file as well",
        _ => "To fill the holes, run these and give their files as well",
    });
    for command in commands {
        page.verbatim(2, command);
    }
}

/// The kinds of holes that are worth getting: those that anything reads, and that an API server is sure to have.
pub fn worth_getting(coverage: &[Coverage], is_served: impl Fn(Kind) -> bool) -> Vec<Kind> {
    let read = |kind: Kind| !matches!(kind, Kind::Event | Kind::PodGroup);
    let holes = coverage.iter().filter(|it| it.has_hole() && it.state != CoverageState::Empty);
    holes.map(|it| it.kind).filter(|kind| read(*kind) && is_served(*kind)).collect()
}
