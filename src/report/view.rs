//! Outcomes with names in place of ids: the rows of the report for programs, and what the tables share with them.

use super::amount::{arithmetic, of_resource};
use super::candidates::{Candidates, criterion_name};
use super::holes;
use super::json::{
    Action, CertaintyRow, CoverageRow, Decision, GapRow, Level, NominatedRow, PdbChargeRow, PdbViolationRow,
    PodOutcome, PodReport, PossibleRow, SharedStatus, State, VictimRow,
};
use super::rows::{Named, OwnerText, Rows, TimeText};
use super::said::Said;
use super::written::Written;
use crate::engine::framework::{Gap, GapEffect, NodeStatus, PodCycle, Verdict};
use crate::engine::outcome::{
    Candidate, Cause, Certainty, Choice, Disposition, Eligibility, Outcome, PdbCharge, Preemption,
};
use crate::explain::effects::{self, Effect};
use crate::explain::node_story::{self, NodeStory};
use crate::explain::numbers::Shortfall;
use crate::model::cluster::{Cluster, Coverage, CoverageState};
use crate::model::id::{NodeId, PdbId, PodId};
use crate::model::time::Time;
use crate::wording::{self, Words};
use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

/// `Kind/name` of a pod's controller.
pub(super) fn owner_text(cluster: &Cluster, pod: PodId) -> Option<OwnerText<'_>> {
    let owner = cluster.pod(pod).owner?;
    Some(OwnerText { kind: cluster.text(owner.kind), name: cluster.text(owner.name) })
}

/// One pod's outcome with everything that gives its ids names.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The cycle that was run.
    pub cycle: PodCycle<'a>,
    /// What came of it, or of a pod just like it.
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
        Words::new(self.cycle.snapshot, self.outcome).of_pod(self.cycle.pod)
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
        let own = || cluster.pod_key(self.cycle.pod);
        let action = |effect: Effect| match effect {
            Effect::ClearNomination(pod) => Action::Clear { pod: cluster.pod_key(pod) },
            Effect::MarkVictim(pod) => Action::Patch {
                pod: cluster.pod_key(pod),
                what: wording::victim_condition(texts, cluster, self.cycle.pod).map_or(String::new(), |it| {
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
                    wording::victim_event(texts, cluster, self.cycle.pod, choice.node)
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
            decision.victims = self.victim_keys(candidate);
            // The order among victims is told by the report, and decides nothing.
            decision.victims.sort();
            decision.pdb_violations = candidate.pdb_violations;
            decision.cleared_nominations = self.pod_keys(&choice.cleared);
            decision.cleared_nominations.sort();
        }
        decision
    }

    /// The full report.
    pub fn report(&self) -> PodReport<'a> {
        self.report_in(None)
    }

    /// The same for [`pretty`](super::pretty), faster where other reports named the same pods.
    pub fn report_with(&self, written: &'a Written) -> PodReport<'a> {
        self.report_in(Some(written))
    }

    fn report_in(&self, written: Option<&'a Written>) -> PodReport<'a> {
        let mut report = self.head();
        let words = self.words();
        report.message = words.message();
        report.post_filter_message = words.post_filter_message();
        report.nodes = self.nodes(written.is_some());
        if let Some(preemption) = self.preemption() {
            report.eligible = Some(preemption.eligibility == Eligibility::Eligible);
            report.ineligible_reason = words.ineligible_reason().map(str::to_owned);
            report.potential_nodes = preemption.potential.iter().map(|it| self.node_name(*it)).collect();
            let rows = Candidates::new(*self, written);
            report.candidates = rows.clone().all(preemption);
            report.candidate_variants = rows.variants(preemption);
            report.dry_run = self.dry_run(preemption, written.is_some());
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

    fn head(&self) -> PodReport<'a> {
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
            ..PodReport::bare(self.cluster().pod_key(self.cycle.pod), self.pod_outcome())
        }
    }

    fn nodes(&self, written: bool) -> Named<'a, SharedStatus> {
        let ran = self.outcome.nodes.iter().any(Option::is_some) || !self.outcome.narrowed_by.is_empty();
        if !ran || self.cluster().nodes.is_empty() {
            return Named::none();
        }
        let view = *self;
        Named(Rows::made(move || {
            let mut said = Said::new(written);
            let order = view.by_name(view.cluster().node_range().collect());
            Box::new(order.into_iter().map(move |it| (view.node_name(it), said.of_node(&view, it))))
        }))
    }

    /// Nodes in the order of their names.
    fn by_name(&self, mut nodes: Vec<NodeId>) -> Vec<NodeId> {
        if !nodes.is_sorted_by_key(|it| self.node_name(*it)) {
            nodes.sort_by_key(|it| self.node_name(*it));
        }
        nodes
    }

    fn dry_run(&self, preemption: &'a Preemption, written: bool) -> Named<'a, SharedStatus> {
        let failures = &preemption.failures;
        if failures.is_empty() {
            return Named::none();
        }
        let view = *self;
        Named(Rows::made(move || {
            let mut said = Said::new(written);
            let mut order: Vec<usize> = (0..failures.len()).collect();
            order.sort_by_key(|at| view.node_name(failures[*at].0));
            Box::new(order.into_iter().map(move |at| {
                let (node, failure) = &failures[at];
                (view.node_name(*node), said.of_dry_run(&view, failure, *node))
            }))
        }))
    }

    fn nominated(&self, choice: &'a Choice) -> NominatedRow<'a> {
        let possible = choice.outcomes.iter().map(|it| PossibleRow {
            node: self.node_name(it.node),
            share: it.share,
            victims: it.variant.as_deref().map(|other| self.victims(other)),
            pdb_violations: it.variant.as_deref().map(|other| other.pdb_violations),
        });
        NominatedRow {
            node: self.node_name(choice.node),
            one_of: choice.tied.iter().map(|it| self.node_name(*it).to_owned()).collect(),
            decided_by: choice.decided_by.map(criterion_name),
            outcomes: possible.collect(),
        }
    }

    fn victims(&self, candidate: &Candidate) -> Vec<VictimRow<'a>> {
        Candidates::new(*self, None).victims(candidate)
    }

    /// `Kind/name` of a pod's controller.
    pub fn owner(&self, pod: PodId) -> Option<String> {
        owner_text(self.cluster(), pod).map(|it| it.to_string())
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
            for charge in victim.pdbs().iter().filter(|it| it.violated) {
                let row = rows.entry(charge.pdb).or_insert_with(|| PdbViolationRow {
                    name: self.pdb_key(charge.pdb),
                    allowed: charge.allowed,
                    victims: Vec::new(),
                    by: 0,
                });
                row.victims.push(self.cluster().pod_key(victim.pod));
                row.by += 1;
            }
        }
        rows.into_values().collect()
    }

    /// `namespace/name` of the victims.
    pub(super) fn victim_keys(&self, candidate: &Candidate) -> Vec<String> {
        candidate.victims.iter().map(|it| self.cluster().pod_key(it.pod)).collect()
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
    TimeText(time).to_string()
}

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = whole_second(self.0) {
            return f.write_str(std::str::from_utf8(&text).unwrap_or_default());
        }
        let exact = jiff::Timestamp::from_nanosecond(i128::from(self.0.0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        exact.fmt(f)
    }
}

/// The text of a whole second of the years 1000 to 9999; reports about large clusters have many.
fn whole_second(time: Time) -> Option<[u8; 20]> {
    if time.subsecond_nanos() != 0 {
        return None;
    }
    let (days, second) = (time.seconds().div_euclid(86_400), time.seconds().rem_euclid(86_400));
    // Years that begin in March, in cycles of 400 years, which have 146,097 days.
    let shifted = days + 719_468;
    let (cycle, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let year = year + 400 * cycle;
    if !(1_000..10_000).contains(&year) {
        return None;
    }
    let mut text = *b"0000-00-00T00:00:00Z";
    let mut put = |at: usize, number: i64| {
        for (digit, place) in [(number / 10, at), (number % 10, at + 1)] {
            text[place] += u8::try_from(digit).unwrap_or(0);
        }
    };
    put(0, year / 100);
    put(2, year % 100);
    put(5, month);
    put(8, day);
    put(11, second / 3_600);
    put(14, second / 60 % 60);
    put(17, second % 60);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_second_is_written_as_any_time_is() {
        let exact = |time: Time| jiff::Timestamp::from_nanosecond(i128::from(time.0)).unwrap().to_string();
        let mut seconds: Vec<i64> = (-9_223_372_036..9_223_372_036).step_by(7_777_777).collect();
        for year_end in [951_782_399, 1_582_934_400, 4_107_542_400, 1_709_164_800, 0] {
            seconds.extend((-2..=2).map(|day| year_end + day * 86_400));
            seconds.extend((-2..=2).map(|second| year_end + second));
        }
        for second in seconds {
            let time = Time(second * 1_000_000_000);
            assert_eq!(time_text(time), exact(time));
            assert!(whole_second(time).is_some());
        }
        assert_eq!(time_text(Time(1)), exact(Time(1)));
    }
}
