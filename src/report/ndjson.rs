//! Lines for tables: one JSON object a line, as DuckDB and Spark read them. A contract like the reports of `json`.
//!
//! Every line has every column, null where there is nothing to say, and no column ever changes its type. Lists are lists
//! of strings, so that a file in which all of them are empty has the same columns as any other.

use super::json::{API_VERSION, Level, PodOutcome, Tool, VersionFrom};
use super::problems;
use super::view::{View, cause_text, gap_text};
use crate::engine::outcome::{Certainty, Disposition, Eligibility, Victim};
use crate::problem::{Problem, Severity};
use schemars::JsonSchema;
use serde::Serialize;

/// What `explain -o ndjson` prints: a line for each pod of each dump. A dump that cannot be answered, or that has no
/// pending pod, has one line without a pod.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodLine {
    /// `preempt-audit/v1`.
    pub api_version: &'static str,
    /// `PodLine`.
    pub kind: &'static str,
    /// The program's version.
    pub tool_version: &'static str,
    /// The dump: the path that was given, or found in the folder that was given.
    pub dump: String,
    /// Bytes of its files as they lie on disk.
    pub dump_bytes: u64,
    /// The release of kube-scheduler, such as `1.34.1`; null where the dump cannot be answered.
    pub scheduler_version: Option<String>,
    /// Where the release comes from.
    pub scheduler_version_from: Option<VersionFrom>,
    /// `schedulerName` of the first profile.
    pub scheduler_profile: Option<String>,
    /// Time of the dump, RFC 3339.
    pub as_of: Option<String>,
    /// Problems of the dump that cost something.
    pub problem_errors: u64,
    /// Problems of the dump that may affect answers.
    pub problem_warnings: u64,
    /// The codes of both, each once.
    pub problem_codes: Vec<&'static str>,
    /// `namespace/name`; null where the line is about the dump as a whole.
    pub pod: Option<String>,
    /// `metadata.namespace`.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: Option<String>,
    /// The pod's priority, as the scheduler reads it.
    pub priority: Option<i32>,
    /// What came of the pod; null where the line is about the dump as a whole.
    pub outcome: Option<PodOutcome>,
    /// The node of a pod that has one.
    pub node: Option<String>,
    /// How many nodes a pod fits on without preemption; null unless it does.
    pub feasible_nodes: Option<u64>,
    /// The node nominated: of several that are equal, the first in the scheduler's order.
    pub nominated_node: Option<String>,
    /// Nodes that are equal to the last criterion when every potential node is tried, by name.
    pub nominated_one_of: Vec<String>,
    /// Every node that a scheduling cycle may nominate, most likely first.
    pub nominated_possible: Vec<String>,
    /// `namespace/name` of the victims on the nominated node, in the scheduler's order.
    pub victims: Vec<String>,
    /// How many evictions violate a budget there; null where no node is nominated.
    pub pdb_violations: Option<i64>,
    /// Budgets that are violated there, each once.
    pub pdbs_violated: Vec<String>,
    /// Priority of the first victim; null where no node is nominated.
    pub highest_victim_priority: Option<i64>,
    /// Pods of lower priority that lose their nomination.
    pub cleared_nominations: Vec<String>,
    /// Whether the pod may preempt; null where nobody asked.
    pub eligible: Option<bool>,
    /// Why it may not, in upstream's words.
    pub ineligible_reason: Option<String>,
    /// The text of FailedScheduling before the preemption part, or why the pod is held.
    pub message: Option<String>,
    /// The preemption part of FailedScheduling, when no node is nominated.
    pub post_filter_message: Option<String>,
    /// How sure the answer is.
    pub certainty: Option<Level>,
    /// Why every run of the scheduler does not answer so.
    pub causes: Vec<&'static str>,
    /// What the dump lacks and the answer touches, such as `StorageClass disk-late (VolumeBinding): it may reject any node`.
    pub gaps: Vec<String>,
    /// The oldest patch of the minor release, where the patch is not known and that one answers differently.
    pub other_patch: Option<String>,
    /// The exit status that this line alone would give.
    pub exit_status: u8,
    /// Why the dump, or the pod, has no answer.
    pub error: Option<String>,
}

impl PodLine {
    /// A line about a dump as a whole.
    pub fn of_dump(dump: String, dump_bytes: u64, problems: &[Problem]) -> Self {
        let told = |severity: Severity| problems.iter().filter(move |it| it.code.severity() == severity);
        let number = |severity| told(severity).fold(0, |sum: u64, it| sum.saturating_add(1).saturating_add(it.more));
        let mut codes: Vec<&'static str> =
            told(Severity::Error).chain(told(Severity::Warning)).map(|it| it.code.text()).collect();
        codes.sort_unstable();
        codes.dedup();
        PodLine {
            api_version: API_VERSION,
            kind: "PodLine",
            tool_version: Tool::THIS.version,
            dump,
            dump_bytes,
            scheduler_version: None,
            scheduler_version_from: None,
            scheduler_profile: None,
            as_of: None,
            problem_errors: number(Severity::Error),
            problem_warnings: number(Severity::Warning),
            problem_codes: codes,
            pod: None,
            namespace: None,
            name: None,
            priority: None,
            outcome: None,
            node: None,
            feasible_nodes: None,
            nominated_node: None,
            nominated_one_of: Vec::new(),
            nominated_possible: Vec::new(),
            victims: Vec::new(),
            pdb_violations: None,
            pdbs_violated: Vec::new(),
            highest_victim_priority: None,
            cleared_nominations: Vec::new(),
            eligible: None,
            ineligible_reason: None,
            message: None,
            post_filter_message: None,
            certainty: None,
            causes: Vec::new(),
            gaps: Vec::new(),
            other_patch: None,
            exit_status: 0,
            error: None,
        }
    }

    /// The line of a pod that the dump does not hold.
    #[must_use]
    pub fn not_found(&self, asked: &str) -> Self {
        let mut line = self.clone();
        line.pod = Some(asked.to_owned());
        let (namespace, name) = asked.split_once('/').map_or((None, asked), |(space, name)| (Some(space), name));
        (line.namespace, line.name) = (namespace.map(str::to_owned), Some(name.to_owned()));
        line.outcome = Some(PodOutcome::NotFound);
        line
    }

    /// The line of an answered pod, from the line of its dump.
    #[must_use]
    pub fn of_pod(&self, view: &View<'_>) -> Self {
        let (cluster, outcome, words) = (view.cluster(), view.outcome, view.words());
        let pod = cluster.pod(view.cycle.pod);
        let text = |it| cluster.text(it).to_owned();
        let mut line = self.clone();
        line.pod = Some(cluster.pod_key(view.cycle.pod));
        line.namespace = Some(cluster.namespace_name(pod.namespace).to_owned());
        line.name = Some(text(pod.name));
        line.priority = Some(pod.priority());
        line.outcome = Some(view.pod_outcome());
        line.node = pod.node_name.map(text);
        match &outcome.disposition {
            Disposition::Error(fault) => line.error = Some(words.fault(fault)),
            Disposition::Feasible(nodes) => line.feasible_nodes = Some(nodes.len() as u64),
            Disposition::Bound
            | Disposition::Terminal
            | Disposition::Deleting
            | Disposition::OtherScheduler
            | Disposition::Gated(_)
            | Disposition::Unschedulable => {}
        }
        line.message = words.message();
        line.post_filter_message = words.post_filter_message();
        line.eligible = view.preemption().map(|it| it.eligibility == Eligibility::Eligible);
        line.ineligible_reason = words.ineligible_reason().map(str::to_owned);
        line.nominate(view);
        (line.certainty, line.causes) = match &outcome.certainty {
            Certainty::Certain => (Some(Level::Certain), Vec::new()),
            Certainty::OneOf(causes) => (Some(Level::OneOf), causes.iter().map(|it| cause_text(*it)).collect()),
            Certainty::Undetermined => (Some(Level::Undetermined), Vec::new()),
        };
        let gap = |it: &crate::engine::framework::Gap| {
            let object = it.object.map_or_else(String::new, |object| format!(" {}", text(object)));
            format!("{}{object} ({}): {}", it.kind.name(), it.plugin.name(), gap_text(it.effect))
        };
        line.gaps = outcome.gaps.iter().map(gap).collect();
        line
    }

    fn nominate(&mut self, view: &View<'_>) {
        let Some((choice, candidate)) = view.chosen() else { return };
        let names = |nodes: &mut dyn Iterator<Item = _>| nodes.map(|it| view.node_name(it).to_owned()).collect();
        self.nominated_node = Some(view.node_name(choice.node).to_owned());
        self.nominated_one_of = names(&mut choice.tied.iter().copied());
        self.nominated_possible = names(&mut choice.possible_nodes().into_iter().map(|it| it.0));
        self.victims = view.victim_keys(candidate);
        self.pdb_violations = Some(candidate.pdb_violations);
        self.highest_victim_priority = Some(candidate.score.highest_priority);
        let violated = candidate.victims.iter().flat_map(Victim::pdbs).filter(|it| it.violated);
        self.pdbs_violated = violated.map(|it| view.pdb_key(it.pdb)).collect();
        self.pdbs_violated.sort();
        self.pdbs_violated.dedup();
        self.cleared_nominations = view.pod_keys(&choice.cleared);
        self.cleared_nominations.sort();
    }
}

/// What `explain --problems FILE` writes: a line for each problem of each dump.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemLine {
    /// `preempt-audit/v1`.
    pub api_version: &'static str,
    /// `ProblemLine`.
    pub kind: &'static str,
    /// The dump, as the pods' lines name it.
    pub dump: String,
    /// Such as `PA0107`: see `explain-code`.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// The file.
    pub path: Option<String>,
    /// Byte in the file.
    pub offset: Option<u64>,
    /// Line in the file, from 1.
    pub line: Option<u64>,
    /// The object.
    pub object: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// How many further problems of this code there are, which have no lines: of each code the first 1000 have.
    pub more: u64,
}

impl ProblemLine {
    /// The line of a problem.
    pub fn of(dump: &str, problem: &Problem) -> Self {
        let row = problems::row(problem);
        ProblemLine {
            api_version: API_VERSION,
            kind: "ProblemLine",
            dump: dump.to_owned(),
            code: row.code,
            severity: row.severity,
            message: row.message,
            path: row.path,
            offset: row.offset,
            line: row.line,
            object: row.object,
            help: row.help,
            more: problem.more,
        }
    }
}
