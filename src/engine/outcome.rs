//! What a scheduling cycle decided: facts and ids, no words.

use super::framework::{Fault, Gap, NodeStatus, Rejection};
use crate::kube::plugin::Plugin;
use crate::model::id::{NodeId, PdbId, PodId};
use crate::model::time::Time;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Everything that was decided about one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The pod that was tried; others like it may share the outcome ([`Look`](super::alike::Look)).
    pub pod: PodId,
    /// What came of it.
    pub disposition: Disposition,
    /// What each node said, by [`NodeId`]: `None` where the release records no status, or Filter did not run.
    pub nodes: Vec<Option<NodeStatus>>,
    /// The PreFilter rejection that ended the filter phase.
    pub pre_filter: Option<PreFilterRejection>,
    /// The plugins that narrowed the nodes in PreFilter, in order.
    pub narrowed_by: Vec<Plugin>,
    /// The part that PostFilter played; `None` where it did not run.
    pub post_filter: Option<PostFilter>,
    /// What happens to the pod's own nomination.
    pub nomination: Nomination,
    /// How sure the answer is.
    pub certainty: Certainty,
    /// What the dump lacks and the answer touches.
    pub gaps: Vec<Gap>,
}

impl Outcome {
    /// Whether the scheduler tried and failed, which it says with an event.
    pub fn is_failure(&self) -> bool {
        match self.disposition {
            Disposition::Error(_) | Disposition::Unschedulable => true,
            Disposition::Bound
            | Disposition::Terminal
            | Disposition::Deleting
            | Disposition::OtherScheduler
            | Disposition::Gated(_)
            | Disposition::Feasible(_) => false,
        }
    }
}

/// What came of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It has a node already.
    Bound,
    /// It is finished.
    Terminal,
    /// It is being deleted, so the scheduler passes it over.
    Deleting,
    /// No profile schedules it.
    OtherScheduler,
    /// It is held before the queue.
    Gated(Gated),
    /// It fits without preemption on these nodes.
    Feasible(Vec<NodeId>),
    /// The attempt ended with an error, before preemption.
    Error(Fault),
    /// It fits nowhere; [`Outcome::post_filter`] tells the rest.
    Unschedulable,
}

/// What holds a pod before the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gated {
    /// `spec.schedulingGates`.
    SchedulingGates,
    /// A ResourceClaim that does not exist yet.
    ResourceClaims,
}

/// A rejection in PreFilter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreFilterRejection {
    /// Who rejected; `None` for the framework itself (no node in common).
    pub plugin: Option<Plugin>,
    /// Why.
    pub rejection: Rejection,
    /// With which code.
    pub code: super::framework::Code,
}

/// The PostFilter phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PostFilter {
    /// What DynamicResources said before DefaultPreemption.
    pub dynamic_resources: DynamicResourcesPostFilter,
    /// What DefaultPreemption did; `None` where it was not called.
    pub preemption: Option<Preemption>,
}

/// What the DynamicResources PostFilter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicResourcesPostFilter {
    /// It is not in the profile, or says nothing.
    Silent,
    /// `no new claims to deallocate`.
    NoNewClaims,
    /// `still not schedulable`.
    StillNotSchedulable,
    /// Its state is missing: an error that ends the phase, `not found`.
    NotFound,
}

/// What DefaultPreemption did.
#[derive(Clone, Debug, PartialEq)]
pub struct Preemption {
    /// Whether the pod may preempt.
    pub eligibility: Eligibility,
    /// Nodes where preemption might help, in the order of the snapshot.
    pub potential: Vec<NodeId>,
    /// Nodes where it does help, in the order of the snapshot: every potential node is tried.
    pub candidates: Vec<Candidate>,
    /// Candidates as they are under other orders of the budgets, where they differ; none where the order does not matter.
    pub variants: Vec<Candidate>,
    /// Potential nodes where it does not, in the order of the snapshot.
    pub failures: Vec<(NodeId, DryRunFailure)>,
    /// The nomination; `None` without candidates.
    pub choice: Option<Choice>,
}

/// Whether a pod may preempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eligibility {
    /// It may.
    Eligible,
    /// `preemptionPolicy: Never`.
    PolicyNever,
    /// A pod is still terminating on its nominated node.
    TerminatingPod {
        /// That pod.
        pod: PodId,
        /// The nominated node.
        node: NodeId,
    },
}

/// Why the dry run of a potential node gave no candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRunFailure {
    /// No pod of lower priority there.
    NoVictims,
    /// The pod does not fit even with all of them gone.
    Rejected(NodeStatus),
    /// Every pod could stay: an internal error of upstream's (1.22 and newer).
    NoVictimNeeded,
    /// A hook of a plugin whose PreFilter never ran failed.
    UnpreparedHook(Plugin),
}

/// A node together with the victims that make room on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// Victims in the scheduler's order.
    pub victims: Vec<Victim>,
    /// Potential victims that were put back, in the order they were.
    pub reprieved: Vec<PodId>,
    /// How many victims' evictions violate a budget.
    pub pdb_violations: i64,
    /// What the choice of a node compares.
    pub score: Score,
}

/// What the choice of a node compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Priority of the first victim, which the scheduler takes for the highest.
    pub highest_priority: i64,
    /// Sum over the victims of priority + 2^31.
    pub priority_sum: i64,
    /// Earliest start among the victims of the highest priority; `None` is a pod that has not started, which counts as now.
    pub earliest_start: Option<Time>,
}

/// A victim. There are tens of thousands of them in one outcome of a large cluster, so it is small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The pod.
    pub pod: PodId,
    /// Whether its eviction counts as a violation.
    pub violates: bool,
    /// What rejected the preemptor when this victim was put back.
    pub kept_out_by: Arc<NodeStatus>,
    seldom: Option<Box<Seldom>>,
}

/// What few victims have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seldom {
    pdbs: Vec<PdbCharge>,
    equals: Vec<PodId>,
}

impl Victim {
    /// A victim without stand-ins; `pdbs` are the budgets that match it, in canonical order.
    pub fn new(pod: PodId, pdbs: Vec<PdbCharge>, violates: bool, kept_out_by: Arc<NodeStatus>) -> Self {
        let seldom = (!pdbs.is_empty()).then(|| Box::new(Seldom { pdbs, equals: Vec::new() }));
        Victim { pod, violates, kept_out_by, seldom }
    }

    /// Budgets that match the pod, in canonical order.
    pub fn pdbs(&self) -> &[PdbCharge] {
        self.seldom.as_ref().map_or(&[], |it| &it.pdbs)
    }

    /// Pods of the node, equal in importance, that may stand in its place: the order in the scheduler's memory decides.
    /// Looked for on the nodes that are most likely to be nominated.
    pub fn equals(&self) -> &[PodId] {
        self.seldom.as_ref().map_or(&[], |it| &it.equals)
    }

    /// Names the pods that may stand in its place.
    pub fn set_equals(&mut self, equals: Vec<PodId>) {
        self.seldom.get_or_insert_default().equals = equals;
        self.seldom.take_if(|it| **it == Seldom::default());
    }
}

/// The dry run of one node, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The pods of lower priority, which are taken off first, in the node's order.
    pub removed: Vec<PodId>,
    /// The verdict on the node without them; `None` where it was not reached.
    pub emptied: Option<NodeStatus>,
    /// The pods that are put back in turn: those first whose eviction violates a budget, the most important first.
    pub put_back: Vec<PutBack>,
    /// What comes of it.
    pub result: Option<Result<Candidate, DryRunFailure>>,
}

/// A pod that is put back on the node, to see whether the preemptor fits beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// The pod.
    pub pod: PodId,
    /// Budgets that match it.
    pub pdbs: Vec<PdbCharge>,
    /// Whether its eviction violates a budget.
    pub violates: bool,
    /// The verdict on the node with it. Where it rejects, the pod is taken off again: it is a victim.
    pub status: NodeStatus,
}

/// What a victim costs a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdbCharge {
    /// The budget.
    pub pdb: PdbId,
    /// Disruptions it allows, before any victim.
    pub allowed: i64,
    /// Whether this victim takes it below zero.
    pub violated: bool,
    /// The pod is listed in `disruptedPods`: the budget has counted it already.
    pub already_disrupted: bool,
}

/// The criteria by which a node is chosen, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Criterion {
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
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The canonical answer: the first of `tied` in the order of the snapshot.
    pub node: NodeId,
    /// Nodes that are equal to the last criterion when every potential node is tried, by name.
    pub tied: Vec<NodeId>,
    /// The criterion that left the tied nodes alone; `None` for an only candidate or a tie over all.
    pub decided_by: Option<Criterion>,
    /// Per candidate, in their order: the criterion on which it lost, `None` for the tied.
    pub lost_on: Vec<Option<Criterion>>,
    /// Every node that a scheduling cycle may nominate, most likely first.
    pub outcomes: Vec<PossibleNomination>,
    /// How many orders of the budgets `outcomes` were drawn over; the canonical one alone where the order does not matter.
    pub pdb_orders: PdbOrders,
    /// Pods of lower priority that lose their nomination to the canonical node.
    pub cleared: Vec<PodId>,
    /// Nobody is evicted anew: every victim is terminating already.
    pub all_terminating: bool,
}

impl Choice {
    /// The nodes that a scheduling cycle may nominate, with the share of each whoever its victims are, most likely first.
    pub fn possible_nodes(&self) -> Vec<(NodeId, f64)> {
        let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut nodes: Vec<(NodeId, f64)> = Vec::new();
        for it in &self.outcomes {
            let place = *places.entry(it.node).or_insert(nodes.len());
            match nodes.get_mut(place) {
                Some(node) => node.1 += it.share,
                None => nodes.push((it.node, it.share)),
            }
        }
        nodes.sort_by(|one, other| other.1.total_cmp(&one.1));
        nodes
    }
}

/// The orders of budgets that were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdbOrders {
    /// How many.
    pub tried: usize,
    /// Whether these are all that can matter; if not, they are a systematic sample.
    pub all: bool,
}

/// One possible nomination.
#[derive(Clone, Debug, PartialEq)]
pub struct PossibleNomination {
    /// The node.
    pub node: NodeId,
    /// In which share of the draws; 0 where only workers that overshoot the limit reach it, or only another order of the
    /// pods in the scheduler's memory makes it the best.
    pub share: f64,
    /// The victims and violations where they differ from the candidate's: another order of budgets, or of equal victims.
    pub variant: Option<Box<Candidate>>,
}

/// What happens to `status.nominatedNodeName` of the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nomination {
    /// It stays as it is.
    Kept,
    /// It is cleared.
    Cleared,
    /// It is set.
    Set(NodeId),
}

/// How sure an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Every run of the scheduler answers so.
    Certain,
    /// One of several answers, all of which are given.
    OneOf(Vec<Cause>),
    /// The dump lacks something on which the answer depends: [`Outcome::gaps`].
    Undetermined,
}

/// Why there is more than one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// More potential nodes than the scheduler tries, from a random place.
    RandomOffset,
    /// Nodes equal to the last criterion.
    EqualCandidates,
    /// Victims equal in importance: the order of pods in the scheduler's memory decides.
    EqualImportance,
    /// A pod matches several budgets, whose order is random.
    PdbOrder,
    /// Pods without start time count as started now.
    MissingStartTime,
    /// The patch release is not known, and patches differ.
    UnknownPatch,
}
