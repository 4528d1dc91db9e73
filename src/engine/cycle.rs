//! One pod's scheduling cycle: PreFilter, Filter on every node, PostFilter. Upstream: `schedule_one.go`.

use super::chain::{CycleFilters, Phase};
use super::claims;
use super::framework::{Code, Fault, Gap, GapSet, Gaps, NarrowedNode, NodeStatus, PodCycle, Rejection, Verdict};
use super::node_view::NodeView;
use super::nominated;
use super::outcome::{
    Certainty, Disposition, DynamicResourcesPostFilter, Gated, Nomination, Outcome, PostFilter, Trace,
};
use super::pre_filter::{self, PreFilterEnd, Prepared};
use super::preemption::{self, statuses::Statuses};
use crate::kube::behavior::{
    ClaimsPostFilter, MissingNarrowedName, NarrowedOut, NominatedNodeTried, NominationAfterError,
    NominationWithoutPostFilter, SchedulingGatesEffect,
};
use crate::kube::plugin::Plugin;
use crate::model::id::NodeId;
use rayon::prelude::*;

/// Nodes so quickly filtered that fewer are not worth sharing out.
const NODES_PER_TASK: usize = 128;

/// What the scheduler decides about one pod.
pub fn schedule(cycle: &PodCycle<'_>) -> Outcome {
    let mut outcome = Outcome {
        pod: cycle.pod,
        disposition: Disposition::Unschedulable,
        nodes: vec![None; cycle.cluster().nodes.len()],
        pre_filter: None,
        narrowed_by: Vec::new(),
        post_filter: None,
        nomination: Nomination::Kept,
        certainty: Certainty::Certain,
        gaps: Vec::new(),
    };
    if let Some(disposition) = never_tried(cycle) {
        outcome.disposition = disposition;
        return outcome;
    }
    if cycle.cluster().nodes.is_empty() {
        fail(cycle, &mut outcome, Fault::NoNodes);
        return outcome;
    }
    let mut prepared = pre_filter::run(cycle);
    outcome.narrowed_by.clone_from(&prepared.narrowed_by);
    let mut met = prepared.end_gaps;
    match prepared.end {
        Some(PreFilterEnd::Faulted(fault)) => fail(cycle, &mut outcome, fault),
        Some(PreFilterEnd::Rejected(rejected)) => {
            outcome.pre_filter = Some(rejected);
            met = met.with(post_filter(cycle, &prepared, &mut outcome));
        }
        None if let Some((fault, gaps)) = claims::basic_check(cycle, &mut prepared.gaps) => {
            // The attempt ends before any node is looked at; what the nodes would have said is told nonetheless.
            let _ = filter(cycle, &prepared, &mut outcome.nodes);
            fail(cycle, &mut outcome, fault);
            met = gaps;
        }
        None => match filter(cycle, &prepared, &mut outcome.nodes) {
            Err(fault) => fail(cycle, &mut outcome, fault),
            Ok(fitting) if !fitting.is_empty() => outcome.disposition = Disposition::Feasible(fitting),
            Ok(_) => met = post_filter(cycle, &prepared, &mut outcome),
        },
    }
    let met = outcome.nodes.iter().flatten().fold(met, |all, status| all.with(status.gaps));
    outcome.gaps.splice(0..0, gaps_of(&prepared.gaps, met));
    if !outcome.gaps.is_empty() {
        outcome.certainty = Certainty::Undetermined;
    }
    outcome
}

/// The dry run of one node, step by step. For a pod whose outcome is known to have one there.
pub fn trace(cycle: &PodCycle<'_>, node: NodeId) -> Trace {
    let prepared = pre_filter::run(cycle);
    preemption::trace(cycle, &prepared.filters, node)
}

/// What keeps a pod from being tried at all.
pub fn never_tried(cycle: &PodCycle<'_>) -> Option<Disposition> {
    let pod = cycle.incoming();
    let pre_enqueues = &cycle.profile.pre_enqueues;
    let ours = cycle.cluster().text(pod.spec.scheduler_name) == cycle.profile.scheduler_name;
    if pod.is_terminal() {
        Some(Disposition::Terminal)
    } else if pod.node_name.is_some() {
        Some(Disposition::Bound)
    } else if !ours {
        Some(Disposition::OtherScheduler)
    } else if pod.deleted.is_some() {
        Some(Disposition::Deleting)
    } else if pre_enqueues.contains(&Plugin::SchedulingGates)
        && cycle.snapshot.behavior.frame.scheduling_gates == SchedulingGatesEffect::HoldBack
        && !pod.spec.scheduling_gates.is_empty()
    {
        Some(Disposition::Gated(Gated::SchedulingGates))
    } else if pre_enqueues.contains(&Plugin::DynamicResources)
        && pod.spec.resource_claims.iter().any(|claim| claim.claim.is_none())
    {
        Some(Disposition::Gated(Gated::ResourceClaims))
    } else {
        None
    }
}

fn fail(cycle: &PodCycle<'_>, outcome: &mut Outcome, fault: Fault) {
    outcome.disposition = Disposition::Error(fault);
    outcome.nomination = match cycle.snapshot.behavior.frame.nomination_after_error {
        NominationAfterError::Clears => Nomination::Cleared,
        NominationAfterError::Stays => Nomination::Kept,
    };
}

/// Filters every node that PreFilter left, and gives those that fit.
fn filter(
    cycle: &PodCycle<'_>,
    prepared: &Prepared<'_>,
    nodes: &mut [Option<NodeStatus>],
) -> Result<Vec<NodeId>, Fault> {
    let judge =
        |node: NodeId| nominated::judge(cycle, &prepared.filters, &NodeView::new(cycle.snapshot, node), Phase::Filter);
    let own = own_nominated_node(cycle);
    let mut taken = None;
    if let Some(node) = own {
        let status = judge(node);
        taken = status.fits().then_some(node);
        // An error here is only logged; the node comes again with the others.
        if !matches!(status.verdict, Verdict::Faults(_)) {
            nodes[node.index()] = Some(status);
        }
    }
    let (wanted, mut fault) = narrowed(cycle, prepared.narrowed.as_deref(), nodes);
    let judged: Vec<NodeStatus> = wanted.par_iter().with_min_len(NODES_PER_TASK).map(|node| judge(*node)).collect();
    let mut fitting = Vec::new();
    for (node, status) in wanted.into_iter().zip(judged) {
        match status.verdict {
            Verdict::Fits => fitting.push(node),
            Verdict::Rejects(..) => {}
            Verdict::Faults(first) => fault = fault.or(Some(first)),
        }
        nodes[node.index()] = Some(status);
    }
    // Where the pod's own nominated node takes it, upstream never asks the others: their verdicts are for people.
    match (taken, fault) {
        (Some(node), _) => Ok(vec![node]),
        (None, Some(fault)) => Err(fault),
        (None, None) => Ok(fitting),
    }
}

/// The node to which the pod is nominated, where the release tries it before any other.
fn own_nominated_node(cycle: &PodCycle<'_>) -> Option<NodeId> {
    match cycle.snapshot.behavior.frame.nominated_node {
        NominatedNodeTried::First => cycle.cluster().node_of(cycle.incoming().nominated_node_name?),
        NominatedNodeTried::WithOthers => None,
    }
}

/// The nodes to filter, in the order of the snapshot, and the fault that a name without a node is; the others get the status
/// that the release gives them, unless they have one already.
fn narrowed(
    cycle: &PodCycle<'_>,
    narrowed: Option<&[NarrowedNode]>,
    nodes: &mut [Option<NodeStatus>],
) -> (Vec<NodeId>, Option<Fault>) {
    let Some(names) = narrowed else { return (cycle.snapshot.order.clone(), None) };
    let frame = &cycle.snapshot.behavior.frame;
    let fault = names.iter().find(|name| name.node.is_none()).and_then(|missing| match frame.missing_narrowed_name {
        MissingNarrowedName::Fault => Some(Fault::NodeInfoNotFound { name: missing.name }),
        MissingNarrowedName::PanicIfNoneLeft => names.iter().all(|name| name.node.is_none()).then_some(Fault::Panics),
        MissingNarrowedName::Ignored => None,
    });
    let mut chosen = vec![false; nodes.len()];
    for node in names.iter().filter_map(|name| name.node) {
        chosen[node.index()] = true;
    }
    let outside = match frame.narrowed_out {
        NarrowedOut::NoStatus => None,
        NarrowedOut::FilteredOut => Some(Rejection::FilteredOutByPreFilter),
        NarrowedOut::Absent | NarrowedOut::AbsentUnresolvable => Some(Rejection::NotSelectedByPreFilter),
    };
    if let Some(outside) = outside {
        for (_, status) in nodes.iter_mut().enumerate().filter(|(node, status)| !chosen[*node] && status.is_none()) {
            *status = Some(NodeStatus::of(Verdict::Rejects(outside, Code::Unresolvable)));
        }
    }
    (cycle.snapshot.order.iter().copied().filter(|node| chosen[node.index()]).collect(), fault)
}

/// The PostFilter plugins, in the profile's order; gives the gaps that preemption met.
fn post_filter(cycle: &PodCycle<'_>, prepared: &Prepared<'_>, outcome: &mut Outcome) -> GapSet {
    let plugins = &cycle.profile.post_filters;
    if plugins.is_empty() {
        outcome.nomination = match cycle.snapshot.behavior.frame.nomination_without_post_filter {
            NominationWithoutPostFilter::Vanishes => Nomination::Cleared,
            NominationWithoutPostFilter::Remains => Nomination::Kept,
        };
        return GapSet::NONE;
    }
    let mut phase = PostFilter { dynamic_resources: DynamicResourcesPostFilter::Silent, preemption: None };
    let mut met = GapSet::NONE;
    for plugin in plugins {
        if *plugin == Plugin::DynamicResources {
            phase.dynamic_resources = dynamic_resources(cycle, prepared);
            if phase.dynamic_resources == DynamicResourcesPostFilter::NotFound {
                break;
            }
        } else if *plugin == Plugin::DefaultPreemption {
            met = preempt(cycle, &prepared.filters, outcome, &mut phase);
        }
    }
    outcome.post_filter = Some(phase);
    met
}

fn preempt(cycle: &PodCycle<'_>, filters: &CycleFilters<'_>, outcome: &mut Outcome, phase: &mut PostFilter) -> GapSet {
    let statuses = Statuses::new(&cycle.snapshot.behavior, &outcome.nodes, outcome.pre_filter);
    let preempted = preemption::run(cycle, filters, &statuses);
    outcome.nomination = preempted.nomination;
    if let Some(fault) = preempted.crash {
        outcome.disposition = Disposition::Error(fault);
    }
    phase.preemption = Some(preempted.preemption);
    outcome.gaps = preempted.gaps;
    if !preempted.causes.is_empty() {
        outcome.certainty = Certainty::OneOf(preempted.causes);
    }
    preempted.met
}

/// What DynamicResources says when it cannot free a claim for the pod.
fn dynamic_resources(cycle: &PodCycle<'_>, prepared: &Prepared<'_>) -> DynamicResourcesPostFilter {
    let claims = !cycle.incoming().spec.resource_claims.is_empty();
    let reply = cycle.snapshot.behavior.frame.claims_post_filter;
    let speaks = match reply {
        ClaimsPostFilter::GivesReason | ClaimsPostFilter::Silent => true,
        ClaimsPostFilter::GivesReasonToClaimants => claims,
    };
    if !speaks {
        return DynamicResourcesPostFilter::Silent;
    }
    let stands = cycle.profile.pre_filters.contains(&Plugin::DynamicResources);
    if prepared.end.is_some() && stands && !prepared.ran.contains(&Plugin::DynamicResources) {
        return DynamicResourcesPostFilter::NotFound;
    }
    match reply {
        ClaimsPostFilter::Silent => DynamicResourcesPostFilter::Silent,
        ClaimsPostFilter::GivesReason | ClaimsPostFilter::GivesReasonToClaimants if claims => {
            DynamicResourcesPostFilter::StillNotSchedulable
        }
        ClaimsPostFilter::GivesReason | ClaimsPostFilter::GivesReasonToClaimants => {
            DynamicResourcesPostFilter::NoNewClaims
        }
    }
}

/// The gaps of a set, in the order found.
fn gaps_of(gaps: &Gaps, met: GapSet) -> Vec<Gap> {
    let is_met = |at: usize| met.0 & (1 << at.min(31)) != 0;
    gaps.list.iter().enumerate().filter(|(at, _)| is_met(*at)).map(|(_, gap)| *gap).collect()
}
