//! The reports for programs: a contract. Fields may be added, never renamed or given another type.

use super::candidates::{Keys, Victims};
use super::pretty::splice;
use super::rows::{Named, OwnerText, Rows, TimeText};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What every report's `apiVersion` says.
pub const API_VERSION: &str = "preempt-audit/v1";

/// What `explain -o json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainReport<Pods> {
    /// `preempt-audit/v1`.
    pub api_version: &'static str,
    /// `ExplainReport`.
    pub kind: &'static str,
    /// The program.
    pub tool: Tool,
    /// The scheduler whose decisions these are.
    pub scheduler: Scheduler,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// What the files hold of each kind of object.
    pub coverage: Vec<CoverageRow>,
    /// Time of the dump: a manifest's, the one given, else the newest time that any object carries. RFC 3339.
    pub as_of: Option<String>,
    /// Trouble in the input.
    pub problems: Vec<ProblemRow>,
    /// One answer for each pod asked for, in the order asked.
    pub pods: Pods,
}

/// The program that made the report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tool {
    /// `preempt-audit`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Tool {
    /// This program.
    pub const THIS: Tool = Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") };
}

/// The scheduler whose decisions a report tells.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scheduler {
    /// The release, such as `1.34.1`.
    pub version: String,
    /// Where the release comes from.
    pub version_from: VersionFrom,
    /// `schedulerName` of the profile.
    pub profile: String,
    /// What was taken for granted.
    pub assumptions: Vec<String>,
}

/// Where a release comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VersionFrom {
    /// The command line.
    Flag,
    /// A scheduler configuration.
    Config,
    /// The dump.
    Dump,
    /// Nowhere: the newest known release.
    Default,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Input {
    /// As it was given or found.
    pub path: String,
    /// Its size on disk.
    pub bytes: u64,
    /// When it was written, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// Of files up to 64 MB, and of larger ones where `--digest` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What the files hold of one kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CoverageRow {
    /// The kind.
    pub kind: &'static str,
    /// Whether it is there.
    pub state: State,
    /// How many objects were read.
    pub objects: u64,
    /// How many objects were damaged and left out.
    pub rejected: u64,
}

/// What the files hold of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// At least one object.
    Present,
    /// An empty list: the cluster had none.
    Empty,
    /// Nothing: the cluster may have any number.
    Absent,
    /// A list that goes on elsewhere.
    Truncated,
    /// Objects that could not be read.
    Rejected,
}

/// Trouble in the input.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProblemRow {
    /// Such as `PA0107`: see `explain-code`.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Byte in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// How many further problems of this code there are: a report holds the first 1000 of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

/// What came of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PodOutcome {
    /// It fits without preemption.
    Feasible,
    /// It gets a nominated node; victims are evicted there.
    Nominated,
    /// Preemption might help on some nodes, and does on none.
    NoCandidates,
    /// Preemption cannot help on any node.
    NoPotentialNodes,
    /// It may not preempt.
    Ineligible,
    /// It is held before the queue.
    Gated,
    /// No profile of this scheduler schedules it.
    OtherScheduler,
    /// It is being deleted.
    Deleting,
    /// It is finished.
    Terminal,
    /// It has a node.
    Bound,
    /// The attempt ends with an error.
    Error,
    /// The input does not hold it.
    NotFound,
}

/// The answer for one pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodReport<'a> {
    /// `namespace/name`.
    pub pod: String,
    /// Its priority, as the scheduler reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// What came of it.
    pub outcome: PodOutcome,
    /// The text of FailedScheduling before the preemption part, or why the pod is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The preemption part of FailedScheduling, when no node is nominated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_filter_message: Option<String>,
    /// The internal error that ended the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it may preempt; absent where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eligible: Option<bool>,
    /// Why it may not, in upstream's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ineligible_reason: Option<String>,
    /// The node of a pod that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Names near the one asked for, of a pod that is not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
    /// What each node said, by name.
    #[serde(skip_serializing_if = "Named::is_empty")]
    #[schemars(with = "BTreeMap<String, Status>")]
    pub nodes: Named<'a, SharedStatus>,
    /// Nodes where preemption might help, in the scheduler's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub potential_nodes: Vec<&'a str>,
    /// Nodes where it does, in the scheduler's order.
    #[serde(skip_serializing_if = "Rows::is_empty")]
    #[schemars(with = "Vec<CandidateRow<'static>>")]
    pub candidates: Rows<'a, CandidateRow<'a>>,
    /// Candidates as they are under other orders of the budgets, where they differ.
    #[serde(skip_serializing_if = "Rows::is_empty")]
    #[schemars(with = "Vec<CandidateRow<'static>>")]
    pub candidate_variants: Rows<'a, CandidateRow<'a>>,
    /// Potential nodes where it does not, and why, by name.
    #[serde(skip_serializing_if = "Named::is_empty")]
    #[schemars(with = "BTreeMap<String, Status>")]
    pub dry_run: Named<'a, SharedStatus>,
    /// The nomination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated: Option<NominatedRow<'a>>,
    /// Victims of the nominated node, in the scheduler's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<VictimRow<'a>>,
    /// Budgets that the victims of the nominated node violate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pdbs_violated: Vec<PdbViolationRow>,
    /// Pods of lower priority that lose their nomination.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleared_nominations: Vec<String>,
    /// What the scheduler does next, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// How sure the answer is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<CertaintyRow>,
    /// What the dump lacks and the answer touches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapRow>,
    /// The kubectl command that gets what `gaps` lack; absent where none can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The dry run of the node asked for, step by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_steps: Option<NodeSteps>,
    /// What the oldest patch of the minor release answers, where the patch is not known and this differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_patch: Option<OtherPatch>,
}

/// The dry run of one node, step by step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSteps {
    /// The node.
    pub node: String,
    /// The pods of lower priority, which are taken off first.
    pub removed: Vec<String>,
    /// The verdict on the node without them; null where the node is not tried.
    pub emptied: Option<Status>,
    /// The sums behind that verdict, or where there is none, behind that on the node as it is.
    pub sums: Vec<String>,
    /// Pods put back in turn.
    pub put_back: Vec<PutBackRow>,
}

/// A pod that is put back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PutBackRow {
    /// The pod.
    pub pod: String,
    /// Its priority.
    pub priority: i32,
    /// Budgets that match it.
    pub pdbs: Vec<PdbChargeRow>,
    /// Whether it may stay; otherwise it is a victim.
    pub stays: bool,
    /// The verdict on the node with it.
    pub verdict: Status,
    /// The sums behind it.
    pub sums: Vec<String>,
}

/// The answer of another patch of the same minor release.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OtherPatch {
    /// The release.
    pub version: String,
    /// What it decides.
    pub decision: Decision,
}

impl PodReport<'_> {
    /// A report that says nothing but what came of the pod.
    pub fn bare(pod: String, outcome: PodOutcome) -> Self {
        PodReport {
            pod,
            priority: None,
            outcome,
            message: None,
            post_filter_message: None,
            error: None,
            eligible: None,
            ineligible_reason: None,
            node: None,
            suggestions: Vec::new(),
            nodes: Named::none(),
            potential_nodes: Vec::new(),
            candidates: Rows::none(),
            candidate_variants: Rows::none(),
            dry_run: Named::none(),
            nominated: None,
            victims: Vec::new(),
            pdbs_violated: Vec::new(),
            cleared_nominations: Vec::new(),
            actions: Vec::new(),
            certainty: None,
            gaps: Vec::new(),
            remedy: None,
            node_steps: None,
            other_patch: None,
        }
    }
}

/// A node's status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `Success`, `Unschedulable`, `UnschedulableAndUnresolvable`, `Error`; empty where the release records none.
    pub code: &'static str,
    /// The plugin; absent where the framework speaks or several are merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<&'static str>,
    /// Where the release merges several plugins' rejections: those it may name, one of them drawn at random.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugin_one_of: Vec<&'static str>,
    /// Upstream's sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A status that many nodes have.
#[derive(Clone, Debug)]
pub enum SharedStatus {
    /// The status.
    Row(Rc<Status>),
    /// Its text, as it stands in an [`ExplainReport`].
    Written(Rc<[u8]>),
}

impl Serialize for SharedStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SharedStatus::Row(row) => row.serialize(serializer),
            SharedStatus::Written(text) => splice(serializer, |add| add(text)),
        }
    }
}

#[expect(clippy::ref_option, reason = "serde hands over a reference")]
fn shared_text<S: Serializer>(text: &Option<Rc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(serializer)
}

/// A node together with its victims.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateRow<'a> {
    /// The node.
    pub node: &'a str,
    /// How many evictions violate a budget.
    pub pdb_violations: i64,
    /// Priority of the first victim, which the scheduler takes for the highest.
    pub highest_victim_priority: i64,
    /// Sum over the victims of priority + 2^31.
    pub priority_sum: i64,
    /// Earliest start among the victims of the highest priority; null is a pod that has not started.
    #[schemars(with = "Option<String>")]
    pub earliest_start_time: Option<TimeText>,
    /// In the scheduler's order.
    #[schemars(with = "Vec<VictimRow<'static>>")]
    pub victims: Victims<'a>,
    /// Pods of lower priority that may stay.
    #[schemars(with = "Vec<String>")]
    pub reprieved: Keys<'a>,
    /// The criterion on which it lost; null for the nominated node and its equals.
    pub lost_on: Option<CriterionName>,
}

/// A victim.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VictimRow<'a> {
    /// `namespace/name`.
    pub pod: String,
    /// Its priority.
    pub priority: i32,
    /// When it started; null if it has not.
    #[schemars(with = "Option<String>")]
    pub start_time: Option<TimeText>,
    /// `Kind/name` of its controller.
    #[schemars(with = "Option<String>")]
    pub owner: Option<OwnerText<'a>>,
    /// Budgets that match it.
    pub pdbs: Vec<PdbChargeRow>,
    /// What rejected the pod when this victim was put back, in upstream's words.
    #[serde(serialize_with = "shared_text")]
    #[schemars(with = "Option<String>")]
    pub kept_out_by: Option<Rc<str>>,
    /// It is being deleted already.
    pub terminating: bool,
    /// Pods, equal in importance, that may stand in its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<String>,
}

/// What a victim costs a budget.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PdbChargeRow {
    /// `namespace/name`.
    pub name: String,
    /// Disruptions it allows, before any victim.
    pub allowed: i64,
    /// Whether this victim takes it below zero.
    pub violated: bool,
    /// The budget has counted this pod's disruption already (`disruptedPods`).
    pub already_disrupted: bool,
}

/// A budget that is violated.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PdbViolationRow {
    /// `namespace/name`.
    pub name: String,
    /// Disruptions it allows.
    pub allowed: i64,
    /// The victims it does not cover.
    pub victims: Vec<String>,
    /// By how many it is exceeded.
    pub by: i64,
}

/// The criteria by which the scheduler chooses among candidates, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionName {
    /// Fewest PDB violations.
    PdbViolations,
    /// Lowest priority of the most important victim.
    HighestPriority,
    /// Smallest sum of priorities.
    PrioritySum,
    /// Fewest victims.
    VictimCount,
    /// Latest start of the most important victim.
    LatestStart,
}

/// The nomination.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NominatedRow<'a> {
    /// The canonical answer: the first of the tied nodes in the scheduler's order.
    pub node: &'a str,
    /// Nodes that are equal to the last criterion when every potential node is tried, by name.
    pub one_of: Vec<String>,
    /// What left them alone; null for an only candidate, or where all are equal.
    pub decided_by: Option<CriterionName>,
    /// Every node that a scheduling cycle may nominate, most likely first.
    pub outcomes: Vec<PossibleRow<'a>>,
}

/// One possible nomination.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PossibleRow<'a> {
    /// The node.
    pub node: &'a str,
    /// In which share of the draws; 0 where only parallel workers that overshoot the limit reach it.
    pub share: f64,
    /// The victims where they differ from the candidate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victims: Option<Vec<VictimRow<'a>>>,
    /// The violations where they differ from the candidate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdb_violations: Option<i64>,
}

/// Something the scheduler does.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Writes a condition or a field of a pod's status.
    Patch {
        /// The pod.
        pod: String,
        /// What it writes.
        what: String,
    },
    /// Deletes a victim.
    Delete {
        /// The pod.
        pod: String,
        /// Its grace period in seconds.
        #[serde(rename = "gracePeriodSeconds")]
        grace_period_seconds: Option<i64>,
    },
    /// Writes an event.
    Event {
        /// The pod it is about.
        pod: String,
        /// Its reason.
        reason: &'static str,
        /// Its text.
        message: String,
    },
    /// Sets `status.nominatedNodeName`.
    Nomination {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
    },
    /// Clears `status.nominatedNodeName`.
    Clear {
        /// The pod.
        pod: String,
    },
}

/// How sure an answer is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CertaintyRow {
    /// Whether every run of the scheduler answers so.
    pub level: Level,
    /// Why not.
    pub causes: Vec<String>,
}

/// How sure an answer is, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Every run of the scheduler answers so.
    Certain,
    /// One of several answers, all of which are given.
    OneOf,
    /// The dump lacks something on which the answer depends.
    Undetermined,
}

/// Something that the dump lacks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GapRow {
    /// The kind of object that is missing.
    pub kind: &'static str,
    /// The plugin that it blinds.
    pub plugin: &'static str,
    /// The object, if it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What it changes.
    pub effect: String,
}

/// What `versions -o json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionsReport {
    /// `preempt-audit/v1`.
    pub api_version: &'static str,
    /// `VersionsReport`.
    pub kind: &'static str,
    /// The program.
    pub tool: Tool,
    /// The releases asked about.
    pub releases: Vec<String>,
    /// What may differ between them, with default feature gates.
    pub fields: Vec<FieldRow>,
}

/// Something in which releases differ.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FieldRow {
    /// Its group and name, such as `preemption.terminating_guard`.
    pub name: String,
    /// What it decides, and upstream's file.
    pub doc: String,
    /// Its variants, in use or not.
    pub variants: Vec<VariantRow>,
    /// A vector of the real scheduler that proves it, as `case@release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<&'static str>,
}

/// What releases may do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariantRow {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub meaning: String,
    /// The releases that do it, as ranges: `1.18 – 1.26`, `1.27.0 – 1.27.3`.
    pub releases: Vec<String>,
}

/// What `explain --compare … -o json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompareReport<Pods> {
    /// `preempt-audit/v1`.
    pub api_version: &'static str,
    /// `CompareReport`.
    pub kind: &'static str,
    /// The program.
    pub tool: Tool,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// What the files hold of each kind of object.
    pub coverage: Vec<CoverageRow>,
    /// Trouble in the input.
    pub problems: Vec<ProblemRow>,
    /// One comparison for each pod asked for, in the order asked.
    pub pods: Pods,
}

/// One pod under several releases.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedPod {
    /// `namespace/name`.
    pub pod: String,
    /// Whether every release decides alike.
    pub same: bool,
    /// The answers, oldest release first; neighbours that answer alike stand together.
    pub answers: Vec<ComparedAnswer>,
}

/// The answer of neighbouring releases.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedAnswer {
    /// The oldest of them.
    pub from: String,
    /// The newest.
    pub to: String,
    /// What they decide.
    pub decision: Decision,
    /// How sure that is, of the least sure of them.
    pub certainty: Level,
    /// What makes the difference to the answer before; empty for the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<BecauseRow>,
}

/// What a release decides about a pod, without its sentences.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What came of the pod.
    pub outcome: PodOutcome,
    /// The nodes that it fits on, or that may be nominated when every potential node is tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Victims on the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<String>,
    /// How many evictions violate a budget.
    pub pdb_violations: i64,
    /// Pods of lower priority that lose their nomination.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleared_nominations: Vec<String>,
}

/// A behaviour that makes a difference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BecauseRow {
    /// The field, such as `preemption.terminating_guard`; `profile` for the default plugins and their order.
    pub field: String,
    /// What the releases before do.
    pub before: String,
    /// What these do.
    pub after: String,
    /// What the field decides.
    pub doc: String,
}
