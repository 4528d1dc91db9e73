//! Pods nominated to nodes, and the rule that a pod must fit both with and without them.
//! Upstream: `backend/queue/nominator.go`, `runtime/framework.go` RunFilterPluginsWithNominatedPods.

use super::chain::{CycleFilters, Phase};
use super::framework::{GapSet, NodeStatus, PodCycle};
use super::node_view::NodeView;
use crate::kube::behavior::{Behavior, GatedNomination};
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use crate::model::pod::Pod;

/// Pending pods by the node they are nominated to, in the order they became known: for want of better, by namespace and
/// name. Which schedulers know them is asked of each cycle.
pub fn by_node(cluster: &Cluster, behavior: &Behavior) -> Vec<Vec<PodId>> {
    let mut nodes = vec![Vec::new(); cluster.nodes.len()];
    for id in cluster.pod_range() {
        let pod = cluster.pod(id);
        if let Some(name) = pod.nominated_node_name
            && let Some(node) = cluster.node_of(name)
            && is_registered(pod, behavior)
        {
            nodes[node.index()].push(id);
        }
    }
    nodes
}

/// Whether the queue keeps the pod's nomination: it is pending, and if a gate holds it, the release counts such pods.
fn is_registered(pod: &Pod, behavior: &Behavior) -> bool {
    let counted = match behavior.frame.gated_nomination {
        GatedNomination::Reserves => true,
        GatedNomination::Unregistered => pod.spec.scheduling_gates.is_empty(),
    };
    pod.node_name.is_none() && !pod.is_terminal() && counted
}

/// Pods nominated to the node that the scheduler of this cycle knows, other than its own pod.
pub(crate) fn others<'a>(cycle: &PodCycle<'a>, node: NodeId) -> impl Iterator<Item = PodId> + use<'a> {
    let (cluster, incoming, profile) = (cycle.cluster(), cycle.pod, cycle.profile);
    let known = move |pod: &PodId| {
        *pod != incoming && cluster.text(cluster.pod(*pod).spec.scheduler_name) == profile.scheduler_name
    };
    cycle.snapshot.nominated[node.index()].iter().copied().filter(known)
}

/// Nominated pods of at least the incoming pod's priority: the room they take is not there.
pub(crate) fn respected<'a>(cycle: &PodCycle<'a>, node: NodeId) -> impl Iterator<Item = PodId> + use<'a> {
    let (cluster, priority) = (cycle.cluster(), cycle.incoming().priority());
    others(cycle, node).filter(move |pod| cluster.pod(*pod).priority() >= priority)
}

/// Judges a node: where pods are nominated to it, first with them, then without, and both must pass. They may take the
/// room, and they may also be what the pod's affinity rests on, which they cannot be before they are there.
pub(crate) fn judge(cycle: &PodCycle<'_>, filters: &CycleFilters<'_>, view: &NodeView<'_>, phase: Phase) -> NodeStatus {
    match with_nominated(cycle, filters, view, phase) {
        Some(status) if !status.fits() => status,
        with => {
            let mut without = filters.judge(view, phase);
            without.gaps = without.gaps.with(with.map_or(GapSet::NONE, |status| status.gaps));
            without
        }
    }
}

/// [`judge`] in the dry run of a node that fitted with fewer pods on it.
pub(crate) fn judge_again(cycle: &PodCycle<'_>, filters: &CycleFilters<'_>, view: &NodeView<'_>) -> NodeStatus {
    if cycle.snapshot.nominated[view.node_id().index()].is_empty() {
        return filters.judge_again(view);
    }
    judge(cycle, filters, view, Phase::DryRun)
}

/// The verdict with the nominated pods on the node; `None` where there is none.
fn with_nominated(
    cycle: &PodCycle<'_>,
    filters: &CycleFilters<'_>,
    view: &NodeView<'_>,
    phase: Phase,
) -> Option<NodeStatus> {
    let mut pods = respected(cycle, view.node_id()).peekable();
    pods.peek()?;
    let (mut crowded, mut forked) = (view.clone(), filters.fork());
    for pod in pods {
        crowded.add(pod);
        if let Err(failed) = forked.add_pod(pod, &crowded) {
            return Some(failed.status());
        }
    }
    Some(forked.judge(&crowded, phase))
}
