//! Outcomes with names in place of ids: the rows of the report for programs, and what the tables share with them.

use super::json::{
    CandidateRow, CertaintyRow, CriterionName, GapRow, Level, NominatedRow, PdbChargeRow, PdbViolationRow, PodOutcome,
    PodReport, PossibleRow, Status, VictimRow,
};
use super::words;
use crate::engine::framework::{Code, Gap, GapEffect, NodeStatus, PodCycle, Verdict};
use crate::engine::outcome::{
    Candidate, Cause, Certainty, Choice, Criterion, Disposition, DryRunFailure, Eligibility, Outcome, PdbCharge,
    Preemption, Victim,
};
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PdbId, PodId};
use crate::model::time::Time;
use std::collections::BTreeMap;

/// One pod's outcome with everything that gives its ids names.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The cycle that was run.
    pub cycle: PodCycle<'a>,
    /// What came of it.
    pub outcome: &'a Outcome,
}

impl<'a> View<'a> {
    /// The cluster.
    pub fn cluster(&self) -> &'a Cluster {
        self.cycle.cluster()
    }

    /// What DefaultPreemption did.
    pub fn preemption(&self) -> Option<&'a Preemption> {
        self.outcome.post_filter.as_ref()?.preemption.as_ref()
    }

    /// The candidate of the nominated node.
    pub fn chosen(&self) -> Option<(&'a Choice, &'a Candidate)> {
        let preemption = self.preemption()?;
        let choice = preemption.choice.as_ref()?;
        preemption.candidates.iter().find(|it| it.node == choice.node).map(|it| (choice, it))
    }

    /// A node's name.
    pub fn node_name(&self, id: NodeId) -> &'a str {
        self.cluster().text(self.cluster().node(id).name)
    }

    /// What came of the pod, in one word.
    pub fn pod_outcome(&self) -> PodOutcome {
        match &self.outcome.disposition {
            Disposition::Bound => PodOutcome::Bound,
            Disposition::Terminal => PodOutcome::Terminal,
            Disposition::Deleting => PodOutcome::Deleting,
            Disposition::OtherScheduler => PodOutcome::OtherScheduler,
            Disposition::Gated(_) => PodOutcome::Gated,
            Disposition::Feasible(_) => PodOutcome::Feasible,
            Disposition::Error(_) => PodOutcome::Error,
            Disposition::Unschedulable => match self.preemption() {
                // Without DefaultPreemption in the profile, no node can be freed.
                None => PodOutcome::NoPotentialNodes,
                Some(it) if it.eligibility != Eligibility::Eligible => PodOutcome::Ineligible,
                Some(it) if it.choice.is_some() => PodOutcome::Nominated,
                Some(it) if it.potential.is_empty() => PodOutcome::NoPotentialNodes,
                Some(_) => PodOutcome::NoCandidates,
            },
        }
    }

    /// A node's status as upstream would print it.
    pub fn status(&self, node: NodeId, status: &NodeStatus) -> Status {
        let (code, plugin) = match status.verdict {
            Verdict::Fits => return Status { code: "Success", plugin: None, reasons: Vec::new() },
            Verdict::Rejects(rejection, code) => (code_name(code), Some(rejection.plugin())),
            Verdict::Faults(_) => ("Error", None),
        };
        // Several merged rejections name no single plugin.
        let merged = status.more.iter().any(|it| Some(it.plugin()) != plugin);
        let plugin = if merged { None } else { plugin.map(|it| it.map_or("PreFilter", |it| it.name())) };
        Status { code, plugin, reasons: words::reasons(self, node, status) }
    }

    /// The full report.
    pub fn report(&self) -> PodReport {
        let mut report = self.head();
        report.message = words::message(self);
        report.post_filter_message = words::post_filter_message(self);
        report.nodes = self.nodes();
        if let Some(preemption) = self.preemption() {
            report.eligible = Some(preemption.eligibility == Eligibility::Eligible);
            report.ineligible_reason = words::ineligible_reason(preemption.eligibility).map(str::to_owned);
            report.potential_nodes = preemption.potential.iter().map(|it| self.node_name(*it).to_owned()).collect();
            report.candidates = self.candidates(preemption);
            report.dry_run = self.dry_run(preemption);
        }
        if let Some((choice, candidate)) = self.chosen() {
            report.nominated = Some(self.nominated(choice));
            report.victims = self.victims(candidate);
            report.pdbs_violated = self.pdbs_violated(candidate);
            report.cleared_nominations = self.pod_keys(&choice.cleared);
            report.cleared_nominations.sort();
        }
        report
    }

    fn head(&self) -> PodReport {
        let pod = self.cycle.incoming();
        PodReport {
            pod: self.cluster().pod_key(self.outcome.pod),
            priority: Some(pod.priority()),
            outcome: self.pod_outcome(),
            message: None,
            post_filter_message: None,
            error: match self.outcome.disposition {
                Disposition::Error(fault) => Some(words::fault(self, fault)),
                _ => None,
            },
            eligible: None,
            ineligible_reason: None,
            node: pod.node_name.map(|it| self.cluster().text(it).to_owned()),
            suggestions: Vec::new(),
            nodes: BTreeMap::new(),
            potential_nodes: Vec::new(),
            candidates: Vec::new(),
            dry_run: BTreeMap::new(),
            nominated: None,
            victims: Vec::new(),
            pdbs_violated: Vec::new(),
            cleared_nominations: Vec::new(),
            actions: Vec::new(),
            certainty: Some(self.certainty()),
            gaps: self.outcome.gaps.iter().map(|it| self.gap(it)).collect(),
        }
    }

    fn nodes(&self) -> BTreeMap<String, Status> {
        // A node that a PreFilterResult left out has no status in some releases.
        let none = || Status { code: "", plugin: Some("PreFilter"), reasons: Vec::new() };
        let ran = self.outcome.nodes.iter().any(Option::is_some);
        let all = self.outcome.nodes.iter().enumerate().filter(|_| ran);
        all.map(|(at, status)| {
            let node = NodeId::at(at);
            (self.node_name(node).to_owned(), status.as_ref().map_or_else(none, |it| self.status(node, it)))
        })
        .collect()
    }

    fn candidates(&self, preemption: &Preemption) -> Vec<CandidateRow> {
        let lost_on = |at: usize| preemption.choice.as_ref().and_then(|it| it.lost_on.get(at).copied().flatten());
        let row = |(at, it): (usize, &Candidate)| CandidateRow {
            node: self.node_name(it.node).to_owned(),
            pdb_violations: it.pdb_violations,
            highest_victim_priority: it.score.highest_priority,
            priority_sum: it.score.priority_sum,
            earliest_start_time: it.score.earliest_start.map(time_text),
            victims: self.victims(it),
            reprieved: self.pod_keys(&it.reprieved),
            lost_on: lost_on(at).map(criterion_name),
        };
        preemption.candidates.iter().enumerate().map(row).collect()
    }

    fn dry_run(&self, preemption: &Preemption) -> BTreeMap<String, Status> {
        let failures = preemption.failures.iter();
        failures.map(|(node, failure)| (self.node_name(*node).to_owned(), self.failure(*node, failure))).collect()
    }

    fn failure(&self, node: NodeId, failure: &DryRunFailure) -> Status {
        match failure {
            DryRunFailure::Rejected(status) => self.status(node, status),
            DryRunFailure::NoVictims => Status {
                code: code_name(Code::Unresolvable),
                plugin: None,
                reasons: vec![words::no_victims(self, node)],
            },
            DryRunFailure::NoVictimNeeded | DryRunFailure::UnpreparedHook(_) => {
                Status { code: "Error", plugin: None, reasons: vec![words::dry_run_error(self, node, failure)] }
            }
        }
    }

    fn nominated(&self, choice: &Choice) -> NominatedRow {
        let possible = choice.outcomes.iter().map(|it| PossibleRow {
            node: self.node_name(it.node).to_owned(),
            share: it.share,
            victims: it.variant.as_deref().map(|other| self.victims(other)),
            pdb_violations: it.variant.as_deref().map(|other| other.pdb_violations),
        });
        NominatedRow {
            node: self.node_name(choice.node).to_owned(),
            one_of: choice.tied.iter().map(|it| self.node_name(*it).to_owned()).collect(),
            decided_by: choice.decided_by.map(criterion_name),
            outcomes: possible.collect(),
        }
    }

    fn victims(&self, candidate: &Candidate) -> Vec<VictimRow> {
        candidate.victims.iter().map(|it| self.victim(candidate.node, it)).collect()
    }

    fn victim(&self, node: NodeId, victim: &Victim) -> VictimRow {
        let (first, group) = victim.pods.split_first().expect("a victim has at least one pod");
        let pod = self.cluster().pod(*first);
        let kept_out = victim.kept_out_by.as_ref().map(|it| words::reasons(self, node, it).join(", "));
        VictimRow {
            pod: self.cluster().pod_key(*first),
            priority: pod.priority(),
            start_time: pod.started.map(time_text),
            owner: self.owner(*first),
            pdbs: victim.pdbs.iter().map(|it| self.charge(it)).collect(),
            kept_out_by: kept_out,
            terminating: pod.deleted.is_some(),
            equals: self.pod_keys(&victim.equals),
            group: self.pod_keys(group),
        }
    }

    /// `Kind/name` of a pod's controller.
    pub fn owner(&self, pod: PodId) -> Option<String> {
        let owner = self.cluster().pod(pod).owner?;
        Some(format!("{}/{}", self.cluster().text(owner.kind), self.cluster().text(owner.name)))
    }

    /// `namespace/name` of a budget.
    pub fn pdb_key(&self, id: PdbId) -> String {
        let pdb = self.cluster().pdb(id);
        format!("{}/{}", self.cluster().namespace_name(pdb.namespace), self.cluster().text(pdb.name))
    }

    fn charge(&self, charge: &PdbCharge) -> PdbChargeRow {
        PdbChargeRow {
            name: self.pdb_key(charge.pdb),
            allowed: charge.allowed,
            violated: charge.violated,
            already_disrupted: charge.already_disrupted,
        }
    }

    fn pdbs_violated(&self, candidate: &Candidate) -> Vec<PdbViolationRow> {
        let mut rows: BTreeMap<PdbId, PdbViolationRow> = BTreeMap::new();
        for victim in &candidate.victims {
            for charge in victim.pdbs.iter().filter(|it| it.violated) {
                let row = rows.entry(charge.pdb).or_insert_with(|| PdbViolationRow {
                    name: self.pdb_key(charge.pdb),
                    allowed: charge.allowed,
                    victims: Vec::new(),
                    by: 0,
                });
                row.victims.extend(victim.pods.first().map(|it| self.cluster().pod_key(*it)));
                row.by += 1;
            }
        }
        rows.into_values().collect()
    }

    /// `namespace/name` of pods.
    pub fn pod_keys(&self, pods: &[PodId]) -> Vec<String> {
        pods.iter().map(|it| self.cluster().pod_key(*it)).collect()
    }

    fn certainty(&self) -> CertaintyRow {
        let (level, causes) = match &self.outcome.certainty {
            Certainty::Certain => (Level::Certain, Vec::new()),
            Certainty::OneOf(causes) => (Level::OneOf, causes.iter().map(|it| cause_text(*it).to_owned()).collect()),
            Certainty::Undetermined => (Level::Undetermined, Vec::new()),
        };
        CertaintyRow { level, causes }
    }

    fn gap(&self, gap: &Gap) -> GapRow {
        GapRow {
            kind: gap.kind.name(),
            plugin: gap.plugin.name(),
            object: gap.object.map(|it| self.cluster().text(it).to_owned()),
            effect: gap_text(gap.effect).to_owned(),
        }
    }
}

/// The code as upstream writes it.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Unschedulable => "Unschedulable",
        Code::Unresolvable => "UnschedulableAndUnresolvable",
    }
}

fn criterion_name(criterion: Criterion) -> CriterionName {
    match criterion {
        Criterion::PdbViolations => CriterionName::PdbViolations,
        Criterion::HighestPriority => CriterionName::HighestPriority,
        Criterion::PrioritySum => CriterionName::PrioritySum,
        Criterion::VictimCount => CriterionName::VictimCount,
        Criterion::LatestStart => CriterionName::LatestStart,
    }
}

/// Why there is more than one answer.
pub fn cause_text(cause: Cause) -> &'static str {
    match cause {
        Cause::RandomOffset => {
            "more potential nodes than the scheduler tries: it starts from a random one and stops when it has enough"
        }
        Cause::EqualCandidates => "nodes that are equal in every criterion: the scheduler takes any of them",
        Cause::EqualImportance => {
            "pods equal in priority and start time: which of them is evicted depends on their order in the scheduler's memory"
        }
        Cause::PdbOrder => "a pod matches several budgets, which the scheduler lists in random order",
        Cause::MissingStartTime => "pods without a start time count as started at the moment of the decision",
        Cause::UnknownPatch => "the patch release is not known, and patches differ here",
    }
}

/// What a gap does to the answer.
pub fn gap_text(effect: GapEffect) -> &'static str {
    match effect {
        GapEffect::MayReject => "it may reject any node",
        GapEffect::MayDiffer => "it may reject nodes that this answer takes, or take nodes that this answer rejects",
        GapEffect::MayFreeLess => "victims may free less than this answer counts on",
        GapEffect::NotModelled => "this program does not compute the rule",
    }
}

/// A time as Kubernetes writes it: UTC, to the second, or finer where the time is.
pub fn time_text(time: Time) -> String {
    let exact = jiff::Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    exact.to_string()
}
