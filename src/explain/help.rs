//! What would help a pod that stays pending: small changes, each tried out on the cluster as it is, with the pod as it
//! would be. A pending pod stands on no node, so that nothing else of the snapshot changes with it.

use super::numbers;
use crate::engine::cycle;
use crate::engine::framework::{NodeStatus, PodCycle, Rejection, Verdict};
use crate::engine::outcome::{Disposition, DryRunFailure, Eligibility, Outcome, Preemption};
use crate::model::affinity::{Taint, Toleration, TolerationOperator};
use crate::model::id::{NodeId, PodId};
use crate::model::pod::{ContainerRequests, Pod, RequestParts};
use crate::model::quantity::Quantity;
use crate::model::resources::{ResourceName, Resources};
use std::sync::Arc;

/// A change to the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has this priority, the lowest that helps.
    Priority(i32),
    /// Its preemptionPolicy is not Never.
    MayPreempt,
    /// It tolerates this taint.
    Tolerates(Taint),
    /// It asks for no more than this of a resource.
    AsksFor(ResourceName, i64),
}

/// What comes of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Would {
    /// It fits without preemption on these nodes.
    Fit(Vec<NodeId>),
    /// It preempts.
    Preempt {
        /// The canonical node.
        node: NodeId,
        /// How many pods.
        victims: usize,
        /// How many evictions violate a budget.
        pdb_violations: i64,
    },
}

/// Taints of most nodes that are worth a try.
const TAINTS: usize = 3;

/// Changes that help, each by itself. Only for pods that no node takes.
pub fn of(cycle: &PodCycle<'_>, outcome: &Outcome) -> Vec<(Change, Would)> {
    let mut helps = Vec::new();
    if outcome.disposition != Disposition::Unschedulable {
        return helps;
    }
    let preemption = outcome.post_filter.as_ref().and_then(|it| it.preemption.as_ref());
    let mut keep = |change: Change| {
        let would = attempt(cycle, change);
        let helps_now = would.is_some();
        helps.extend(would.map(|it| (change, it)));
        helps_now
    };
    match preemption {
        Some(it) if it.choice.is_some() => return Vec::new(),
        Some(it) if it.eligibility == Eligibility::PolicyNever => {
            keep(Change::MayPreempt);
        }
        Some(it) if it.eligibility == Eligibility::Eligible => {
            lowest_priority(cycle, it, &mut keep);
            for (resource, amount) in smaller_requests(cycle, it) {
                keep(Change::AsksFor(resource, amount));
            }
        }
        Some(_) | None => {}
    }
    for taint in taints(cycle, outcome) {
        keep(Change::Tolerates(taint));
    }
    helps
}

/// Looks for the lowest priority that helps: one above that of some pod in the way.
fn lowest_priority(cycle: &PodCycle<'_>, preemption: &Preemption, keep: &mut impl FnMut(Change) -> bool) {
    let own = cycle.incoming().priority();
    let cluster = cycle.cluster();
    let mut steps: Vec<i32> = preemption
        .failures
        .iter()
        .flat_map(|(node, _)| &cycle.snapshot.info(*node).pods)
        .map(|pod| cluster.pod(*pod).priority())
        .filter(|priority| *priority >= own)
        .filter_map(|priority| priority.checked_add(1))
        .collect();
    steps.sort_unstable();
    steps.dedup();
    // The higher the priority, the more pods are in reach: the first that helps is found by halving.
    let helps = |priority: i32| attempt(cycle, Change::Priority(priority)).is_some();
    if steps.last().is_none_or(|highest| !helps(*highest)) {
        return;
    }
    let first = steps.partition_point(|priority| !helps(*priority));
    if let Some(priority) = steps.get(first) {
        keep(Change::Priority(*priority));
    }
}

/// For each resource that alone stands in the way somewhere, what is free there at best.
fn smaller_requests(cycle: &PodCycle<'_>, preemption: &Preemption) -> Vec<(ResourceName, i64)> {
    let mut best: Vec<(ResourceName, i64)> = Vec::new();
    for (node, failure) in &preemption.failures {
        let DryRunFailure::Rejected(status) = failure else { continue };
        let view = numbers::without_lower(cycle, *node);
        let [short] = numbers::shortfalls(cycle, &view, status)[..] else { continue };
        if short.resource == ResourceName::Pods || short.free() <= 0 || short.free() >= short.asked {
            continue;
        }
        match best.iter_mut().find(|it| it.0 == short.resource) {
            Some(known) => known.1 = known.1.max(short.free()),
            None => best.push((short.resource, short.free())),
        }
    }
    best
}

/// The untolerated taints of most nodes.
fn taints(cycle: &PodCycle<'_>, outcome: &Outcome) -> Vec<Taint> {
    let mut counts: Vec<(Taint, usize)> = Vec::new();
    for (at, status) in outcome.nodes.iter().enumerate() {
        let Some(NodeStatus { verdict: Verdict::Rejects(Rejection::UntoleratedTaint { taint }, _), .. }) = status
        else {
            continue;
        };
        let node = cycle.cluster().node(NodeId::at(at));
        let Some(taint) = usize::try_from(*taint).ok().and_then(|at| node.taints.get(at)) else { continue };
        match counts.iter_mut().find(|it| it.0 == *taint) {
            Some(known) => known.1 += 1,
            None => counts.push((*taint, 1)),
        }
    }
    counts.sort_by_key(|it| std::cmp::Reverse(it.1));
    counts.into_iter().take(TAINTS).map(|it| it.0).collect()
}

/// Tries a change; `None` where the pod stays pending.
fn attempt(cycle: &PodCycle<'_>, change: Change) -> Option<Would> {
    let asked = numbers::incoming(cycle);
    let mut pod = cycle.incoming().clone();
    apply(&mut pod, change, &asked);
    let outcome = cycle::schedule(&PodCycle { changed: Some(&pod), ..*cycle });
    if let Disposition::Feasible(nodes) = outcome.disposition {
        return Some(Would::Fit(nodes));
    }
    let preemption = outcome.post_filter?.preemption?;
    let choice = preemption.choice?;
    let candidate = preemption.candidates.iter().find(|it| it.node == choice.node)?;
    let victims: Vec<PodId> = candidate.victims.iter().map(|it| it.pod).collect();
    Some(Would::Preempt { node: choice.node, victims: victims.len(), pdb_violations: candidate.pdb_violations })
}

fn apply(pod: &mut Pod, change: Change, asked: &Resources) {
    match change {
        Change::Priority(priority) => pod.spec_priority = Some(priority),
        Change::MayPreempt => Arc::make_mut(&mut pod.spec).never_preempts = false,
        Change::Tolerates(taint) => {
            let spec = Arc::make_mut(&mut pod.spec);
            let mut tolerations = spec.tolerations.to_vec();
            tolerations.push(Toleration {
                key: Some(taint.key),
                operator: TolerationOperator::Equal,
                value: taint.value,
                effect: Some(taint.effect),
            });
            spec.tolerations = tolerations.into();
        }
        Change::AsksFor(resource, amount) => pod.requests = Arc::new(requests_of(asked, resource, amount)),
    }
}

/// One container that asks for all the pod asks for, but for no more than `amount` of `resource`.
fn requests_of(asked: &Resources, resource: ResourceName, amount: i64) -> RequestParts {
    let mut list = vec![
        (ResourceName::Cpu, asked.milli_cpu),
        (ResourceName::Memory, asked.memory),
        (ResourceName::EphemeralStorage, asked.ephemeral_storage),
    ];
    let kind = |id| if resource == ResourceName::HugePages(id) { resource } else { ResourceName::Scalar(id) };
    list.extend(asked.scalars.iter().map(|(id, amount)| (kind(*id), *amount)));
    list.sort_by_key(|it| it.0);
    let quantity = |name, value| match name {
        ResourceName::Cpu => Quantity::parse(&format!("{value}m")).unwrap_or(Quantity::ZERO),
        _ => Quantity::from_int(value),
    };
    let capped = |(name, value)| (name, quantity(name, if name == resource { amount } else { value }));
    let requests = list.into_iter().map(capped).collect();
    let container = ContainerRequests { requests, ..ContainerRequests::default() };
    RequestParts { containers: [container].into(), ..RequestParts::default() }
}
