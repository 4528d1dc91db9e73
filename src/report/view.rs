//! Outcomes with names in place of ids: the rows of the report for programs, and what the tables share with them.

use super::amount::{arithmetic, of_resource};
use super::holes;
use super::json::{
    Action, CandidateRow, CertaintyRow, CoverageRow, CriterionName, Decision, GapRow, Level, NominatedRow,
    PdbChargeRow, PdbViolationRow, PodOutcome, PodReport, PossibleRow, State, Status, VictimRow,
};
use crate::engine::framework::{Gap, GapEffect, NodeStatus, PodCycle, Verdict};
use crate::engine::outcome::{
    Candidate, Cause, Certainty, Choice, Criterion, Disposition, Eligibility, Outcome, PdbCharge, Preemption, Victim,
};
use crate::explain::effects::{self, Effect};
use crate::explain::node_story::{self, NodeStory};
use crate::explain::numbers::Shortfall;
use crate::model::cluster::{Cluster, Coverage, CoverageState};
use crate::model::id::{NodeId, PdbId, PodId};
use crate::model::time::Time;
use crate::wording::{self, StatusWords, Words};
use std::collections::BTreeMap;
use std::time::SystemTime;

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

    /// Upstream's sentences about the outcome.
    pub fn words(&self) -> Words<'a> {
        Words::new(self.cycle.snapshot, self.outcome)
    }

    /// One node's dry run again, with its sums.
    pub fn node_story(&self, node: NodeId) -> NodeStory {
        let fits = NodeStatus::of(Verdict::Fits);
        let status = self.outcome.nodes.get(node.index()).and_then(Option::as_ref).unwrap_or(&fits);
        node_story::of(&self.cycle, node, status)
    }

    /// The arithmetic that keeps a pod out that was put back, such as
    /// `cpu 1500m others + 1900m its own + 1900m asked > 4`.
    pub fn sums(&self, story: &NodeStory, pod: PodId) -> String {
        let Some(at) = story.trace.put_back.iter().position(|it| it.pod == pod) else { return String::new() };
        story.put_back[at].iter().map(|it| self.sum(it, Some(pod))).collect::<Vec<_>>().join(", ")
    }

    /// The arithmetic of one shortfall; the part of a pod that was put back stands by itself.
    pub fn sum(&self, it: &Shortfall, own: Option<PodId>) -> String {
        let own = own.map(|pod| of_resource(self.cycle.snapshot.footprint(pod), it.resource));
        arithmetic(self.cluster(), it, own)
    }

    /// What the scheduler writes next.
    pub fn effects(&self) -> Vec<Effect> {
        effects::of(&self.cycle, self.outcome, self.chosen())
    }

    fn actions(&self) -> Vec<Action> {
        let cluster = self.cluster();
        let texts = &self.cycle.snapshot.behavior.texts;
        let own = || cluster.pod_key(self.outcome.pod);
        let action = |effect: Effect| match effect {
            Effect::ClearNomination(pod) => Action::Clear { pod: cluster.pod_key(pod) },
            Effect::MarkVictim(pod) => Action::Patch {
                pod: cluster.pod_key(pod),
                what: wording::victim_condition(texts, cluster, self.outcome.pod).map_or(String::new(), |it| {
                    format!("condition {}=True, reason {}, message {}", it.kind, it.reason, it.message)
                }),
            },
            Effect::Delete(pod) => {
                Action::Delete { pod: cluster.pod_key(pod), grace_period_seconds: cluster.pod(pod).grace_seconds }
            }
            Effect::VictimEvent(pod) => Action::Event {
                pod: cluster.pod_key(pod),
                reason: "Preempted",
                message: self.chosen().map_or(String::new(), |(choice, _)| {
                    wording::victim_event(texts, cluster, self.outcome.pod, choice.node)
                }),
            },
            Effect::FailedScheduling => Action::Event {
                pod: own(),
                reason: "FailedScheduling",
                message: wording::event_text(&self.words().failed_scheduling().unwrap_or_default()),
            },
            Effect::Nominate(node) => Action::Nomination { pod: own(), node: self.node_name(node).to_owned() },
        };
        self.effects().into_iter().map(action).collect()
    }

    /// What was decided, without sentences and sums: what releases are compared by.
    pub fn decision(&self) -> Decision {
        let mut decision = Decision {
            outcome: self.pod_outcome(),
            nodes: Vec::new(),
            victims: Vec::new(),
            pdb_violations: 0,
            cleared_nominations: Vec::new(),
        };
        if let Disposition::Feasible(nodes) = &self.outcome.disposition {
            decision.nodes = nodes.iter().map(|it| self.node_name(*it).to_owned()).collect();
            decision.nodes.sort();
        }
        if let Some((choice, candidate)) = self.chosen() {
            decision.nodes = choice.tied.iter().map(|it| self.node_name(*it).to_owned()).collect();
            decision.victims = candidate.victims.iter().flat_map(|it| self.pod_keys(&it.pods)).collect();
            // The order among victims is told by the report, and decides nothing.
            decision.victims.sort();
            decision.pdb_violations = candidate.pdb_violations;
            decision.cleared_nominations = self.pod_keys(&choice.cleared);
            decision.cleared_nominations.sort();
        }
        decision
    }

    /// The full report.
    pub fn report(&self) -> PodReport {
        let mut report = self.head();
        let words = self.words();
        report.message = words.message();
        report.post_filter_message = words.post_filter_message();
        report.nodes = self.nodes();
        if let Some(preemption) = self.preemption() {
            report.eligible = Some(preemption.eligibility == Eligibility::Eligible);
            report.ineligible_reason = words.ineligible_reason().map(str::to_owned);
            report.potential_nodes = preemption.potential.iter().map(|it| self.node_name(*it).to_owned()).collect();
            report.candidates = self.candidates(preemption);
            report.candidate_variants = preemption.variants.iter().map(|it| self.candidate(it, None)).collect();
            report.dry_run = self.dry_run(preemption);
        }
        report.actions = self.actions();
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
            priority: Some(pod.priority()),
            error: match &self.outcome.disposition {
                Disposition::Error(fault) => Some(self.words().fault(fault)),
                Disposition::Bound
                | Disposition::Terminal
                | Disposition::Deleting
                | Disposition::OtherScheduler
                | Disposition::Gated(_)
                | Disposition::Feasible(_)
                | Disposition::Unschedulable => None,
            },
            node: pod.node_name.map(|it| self.cluster().text(it).to_owned()),
            certainty: Some(self.certainty()),
            gaps: self.outcome.gaps.iter().map(|it| self.gap(it)).collect(),
            remedy: holes::command_for(&self.outcome.gaps),
            ..PodReport::bare(self.cluster().pod_key(self.outcome.pod), self.pod_outcome())
        }
    }

    fn nodes(&self) -> BTreeMap<String, Status> {
        let words = self.words();
        let ran = self.outcome.nodes.iter().any(Option::is_some) || !self.outcome.narrowed_by.is_empty();
        let all = self.cluster().node_range().filter(|_| ran);
        all.map(|it| (self.node_name(it).to_owned(), status_row(words.node(it)))).collect()
    }

    fn candidates(&self, preemption: &Preemption) -> Vec<CandidateRow> {
        let lost_on = |at: usize| preemption.choice.as_ref().and_then(|it| it.lost_on.get(at).copied().flatten());
        preemption.candidates.iter().enumerate().map(|(at, it)| self.candidate(it, lost_on(at))).collect()
    }

    fn candidate(&self, it: &Candidate, lost_on: Option<Criterion>) -> CandidateRow {
        CandidateRow {
            node: self.node_name(it.node).to_owned(),
            pdb_violations: it.pdb_violations,
            highest_victim_priority: it.score.highest_priority,
            priority_sum: it.score.priority_sum,
            earliest_start_time: it.score.earliest_start.map(time_text),
            victims: self.victims(it),
            reprieved: self.pod_keys(&it.reprieved),
            lost_on: lost_on.map(criterion_name),
        }
    }

    fn dry_run(&self, preemption: &Preemption) -> BTreeMap<String, Status> {
        let words = self.words();
        let row = |node, failure| (self.node_name(node).to_owned(), status_row(words.dry_run(failure, node)));
        preemption.failures.iter().map(|(node, failure)| row(*node, failure)).collect()
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
        let kept_out = victim.kept_out_by.as_ref().map(|it| self.words().status(it, node).reasons.join(", "));
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

    /// What a victim costs a budget.
    pub fn charge(&self, charge: &PdbCharge) -> PdbChargeRow {
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

    /// How sure the answer is.
    pub fn certainty(&self) -> CertaintyRow {
        let (level, causes) = match &self.outcome.certainty {
            Certainty::Certain => (Level::Certain, Vec::new()),
            Certainty::OneOf(causes) => (Level::OneOf, causes.iter().map(|it| cause_text(*it).to_owned()).collect()),
            Certainty::Undetermined => (Level::Undetermined, Vec::new()),
        };
        CertaintyRow { level, causes }
    }

    /// What the dump lacks, with names.
    pub fn gap(&self, gap: &Gap) -> GapRow {
        GapRow {
            kind: gap.kind.name(),
            plugin: gap.plugin.name(),
            object: gap.object.map(|it| self.cluster().text(it).to_owned()),
            effect: gap_text(gap.effect).to_owned(),
        }
    }
}

/// A status for programs.
pub fn status_row(words: StatusWords) -> Status {
    let plugin = Some(words.plugin).filter(|it| !it.is_empty());
    Status { code: words.code, plugin, plugin_one_of: words.one_of, reasons: words.reasons }
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

/// What the dump holds of each kind.
pub fn coverage(cluster: &Cluster) -> Vec<CoverageRow> {
    let row = |it: &Coverage| CoverageRow {
        kind: it.kind.name(),
        state: state(it.state),
        objects: it.objects,
        rejected: it.rejected,
    };
    cluster.coverage.iter().map(row).collect()
}

/// What a dump holds of a kind, for programs.
pub fn state(state: CoverageState) -> State {
    match state {
        CoverageState::Present => State::Present,
        CoverageState::Empty => State::Empty,
        CoverageState::Absent => State::Absent,
        CoverageState::Truncated => State::Truncated,
        CoverageState::Rejected => State::Rejected,
    }
}

/// A file's time.
pub fn system_time_text(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// A time as Kubernetes writes it: UTC, to the second, or finer where the time is.
pub fn time_text(time: Time) -> String {
    let exact = jiff::Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    exact.to_string()
}
