//! The FailedScheduling text. Upstream: `types.go` FitError, `preemption.go`, `schedule_one.go`.

use super::reasons::state_missing;
use super::{StatusWords, Words, names_its_node};
use crate::engine::framework::{NodeStatus, Rejection, Verdict};
use crate::engine::outcome::{Disposition, DryRunFailure, DynamicResourcesPostFilter, Eligibility, Gated, Preemption};
use crate::kube::behavior::{
    EmptyHistogramText, NarrowedOut, NoVictimsText, NominationText, PostFilterText, PreFilterText,
};
use crate::model::id::NodeId;
use std::collections::BTreeMap;

impl Words<'_> {
    /// The FailedScheduling text before the part of PostFilter: of a held pod what holds it, of a failed attempt its error.
    /// `None` where nothing failed.
    pub fn message(&self) -> Option<String> {
        match &self.outcome.disposition {
            Disposition::Bound
            | Disposition::Terminal
            | Disposition::Deleting
            | Disposition::OtherScheduler
            | Disposition::Feasible(_) => None,
            Disposition::Gated(gated) => Some(self.gated(gated)),
            Disposition::Error(fault) => Some(self.fault(fault)),
            Disposition::Unschedulable => Some(self.fit_error()),
        }
    }

    /// The part of PostFilter, where the release tells it.
    pub fn post_filter_message(&self) -> Option<String> {
        if self.behavior().texts.post_filter == PostFilterText::Untold {
            return None;
        }
        let post_filter = self.outcome.post_filter.as_ref()?;
        let own = post_filter.preemption.as_ref().map(|it| self.preemption(it));
        let before = match post_filter.dynamic_resources {
            DynamicResourcesPostFilter::Silent => None,
            DynamicResourcesPostFilter::NoNewClaims => Some("no new claims to deallocate"),
            DynamicResourcesPostFilter::StillNotSchedulable => Some("still not schedulable"),
            DynamicResourcesPostFilter::NotFound => return Some("not found".to_owned()),
        };
        match (before, own) {
            (_, Some(PreemptionText::Alone(text))) => text,
            (Some(before), Some(PreemptionText::Rejected(text))) => Some(format!("{before}, {text}")),
            (None, Some(PreemptionText::Rejected(text))) => Some(text),
            (before, None) => before.map(str::to_owned),
        }
    }

    /// The whole FailedScheduling text, as the PodScheduled condition has it; an event has it cut
    /// ([`event_text`](super::event_text)).
    pub fn failed_scheduling(&self) -> Option<String> {
        let mut text = self.message()?;
        if let Some(part) = self.post_filter_message() {
            text.push(' ');
            text.push_str(&part);
            if self.behavior().texts.post_filter == PostFilterText::AppendedWithStop {
                text.push('.');
            }
        }
        Some(text)
    }

    /// Why the pod may not preempt, as DefaultPreemption says it; `None` where it may, or was not asked.
    pub fn ineligible_reason(&self) -> Option<&'static str> {
        let preemption = self.outcome.post_filter.as_ref()?.preemption.as_ref()?;
        ineligible(preemption.eligibility)
    }

    fn gated(&self, gated: &Gated) -> String {
        let cluster = self.cluster();
        let spec = &cluster.pod(self.pod).spec;
        match gated {
            Gated::SchedulingGates => {
                let gates: Vec<&str> = spec.scheduling_gates.iter().map(|gate| cluster.text(*gate)).collect();
                format!("waiting for scheduling gates: [{}]", gates.join(" "))
            }
            Gated::ResourceClaims => {
                let namespace = self.pod_namespace();
                match spec.resource_claims.iter().find_map(|it| it.claim) {
                    Some(claim) => format!("could not find ResourceClaim \"{namespace}/{}\"", cluster.text(claim)),
                    None => format!("pod \"{namespace}/{}\": ResourceClaim not created yet", self.pod_name()),
                }
            }
        }
    }

    fn fit_error(&self) -> String {
        let all = self.cluster().nodes.len();
        let mut counts = BTreeMap::new();
        if let Some(rejected) = &self.outcome.pre_filter {
            let reasons = self.reasons(&rejected.rejection, None);
            match self.behavior().texts.pre_filter {
                PreFilterText::Alone => return format!("0/{all} nodes are available: {}.", reasons.join(", ")),
                PreFilterText::CountedPerNode => count(&mut counts, reasons, all),
            }
        } else {
            let told = self
                .cluster()
                .node_range()
                .filter_map(|node| Some((node, self.outcome.nodes.get(node.index())?.as_ref()?)));
            for (node, status, nodes) in alike(told.filter(|(_, status)| self.is_counted(status))) {
                count(&mut counts, self.status(status, node).reasons, nodes);
            }
        }
        self.none_available(&counts)
    }

    fn is_counted(&self, status: &NodeStatus) -> bool {
        match status.verdict {
            Verdict::Rejects(Rejection::NotSelectedByPreFilter, _) => {
                self.behavior().frame.narrowed_out == NarrowedOut::AbsentUnresolvable
            }
            Verdict::Rejects(..) => true,
            Verdict::Fits | Verdict::Faults(_) => false,
        }
    }

    fn none_available(&self, counts: &BTreeMap<String, usize>) -> String {
        let all = self.cluster().nodes.len();
        let mut entries: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        entries.sort_unstable();
        match self.behavior().texts.empty_histogram {
            EmptyHistogramText::Nothing if entries.is_empty() => format!("0/{all} nodes are available:"),
            EmptyHistogramText::Nothing | EmptyHistogramText::LoneStop => {
                format!("0/{all} nodes are available: {}.", entries.join(", "))
            }
        }
    }

    fn preemption(&self, preemption: &Preemption) -> PreemptionText {
        if let Some(choice) = &preemption.choice {
            return PreemptionText::Alone(match self.behavior().texts.nomination {
                NominationText::Untold => None,
                NominationText::FoundPlacement => {
                    let chosen = preemption.candidates.iter().find(|it| it.node == choice.node);
                    let victims = chosen.map_or(0, |it| it.victims.len());
                    let node = self.cluster().text(self.cluster().node(choice.node).name);
                    Some(found_placement(node, victims))
                }
            });
        }
        if let Some(reason) = ineligible(preemption.eligibility) {
            return PreemptionText::Rejected(format!("preemption: {reason}"));
        }
        if !preemption.candidates.is_empty() {
            return PreemptionText::Rejected("preemption: no candidate node for preemption".to_owned());
        }
        if let Some(error) = self.dry_run_errors(preemption) {
            return PreemptionText::Alone(Some(format!("preemption: {error}")));
        }
        let mut counts = BTreeMap::new();
        let mut rejected: Vec<(NodeId, &NodeStatus)> = Vec::new();
        for (node, failure) in &preemption.failures {
            match failure {
                DryRunFailure::Rejected(status) if self.behavior().texts.no_victims != NoVictimsText::Untold => {
                    rejected.push((*node, status));
                }
                _ => count(&mut counts, self.dry_run(failure, *node).reasons, 1),
            }
        }
        for (node, status, nodes) in alike(rejected.into_iter()) {
            count(&mut counts, self.status(status, node).reasons, nodes);
        }
        let others = self.cluster().nodes.len().saturating_sub(preemption.potential.len());
        if others > 0 {
            count(&mut counts, vec!["Preemption is not helpful for scheduling".to_owned()], others);
        }
        PreemptionText::Rejected(format!("preemption: {}", self.none_available(&counts)))
    }

    /// The errors of the dry run, each once. Upstream: `utilerrors.Aggregate`.
    fn dry_run_errors(&self, preemption: &Preemption) -> Option<String> {
        let mut errors: Vec<String> = Vec::new();
        // What rejects is no error.
        let rejected = |failure: &DryRunFailure| matches!(failure, DryRunFailure::Rejected(status) if matches!(status.verdict, Verdict::Rejects(..)));
        for (node, failure) in preemption.failures.iter().filter(|(_, failure)| !rejected(failure)) {
            let StatusWords { code, reasons, .. } = self.dry_run(failure, *node);
            for reason in reasons {
                if code == "Error" && !errors.contains(&reason) {
                    errors.push(reason);
                }
            }
        }
        match errors.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        }
    }

    pub(super) fn dry_run_error(&self, failure: &DryRunFailure, node: NodeId) -> String {
        match failure {
            DryRunFailure::UnpreparedHook(plugin) => {
                let cause = state_missing(*plugin);
                format!("running RemovePod on PreFilter plugin \"{}\": {cause}", plugin.name())
            }
            DryRunFailure::NoVictims | DryRunFailure::Rejected(_) | DryRunFailure::NoVictimNeeded => {
                let node = self.cluster().text(self.cluster().node(node).name);
                format!("expected at least one victim pod on node \"{node}\"")
            }
        }
    }
}

/// What DefaultPreemption says.
enum PreemptionText {
    /// Together with what the plugins before it said.
    Rejected(String),
    /// A success or an error: whatever was said before is dropped.
    Alone(Option<String>),
}

fn found_placement(node: &str, victims: usize) -> String {
    format!("preemption: found a potential placement for pod on node {node}, preempting {victims} victims")
}

fn ineligible(eligibility: Eligibility) -> Option<&'static str> {
    match eligibility {
        Eligibility::Eligible => None,
        Eligibility::PolicyNever => Some("not eligible due to preemptionPolicy=Never."),
        Eligibility::TerminatingPod { .. } => Some("not eligible due to a terminating pod on the nominated node."),
    }
}

/// Statuses that many nodes have, each with the first of them and how many they are. Statuses that speak of their node stay
/// by themselves, and so do those past the first few kinds.
fn alike<'o>(statuses: impl Iterator<Item = (NodeId, &'o NodeStatus)>) -> Vec<(NodeId, &'o NodeStatus, usize)> {
    const KINDS: usize = 16;
    let mut all: Vec<(NodeId, &NodeStatus, usize)> = Vec::new();
    for (node, status) in statuses {
        let alone = names_its_node(status);
        match all.iter_mut().take(KINDS).find(|it| !alone && it.1 == status) {
            Some(known) => known.2 += 1,
            None => all.push((node, status, 1)),
        }
    }
    all
}

fn count(counts: &mut BTreeMap<String, usize>, reasons: Vec<String>, nodes: usize) {
    for reason in reasons {
        *counts.entry(reason).or_default() += nodes;
    }
}
