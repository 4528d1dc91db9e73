//! What a node is short of.

use crate::engine::framework::{NodeStatus, PodCycle, Rejection, Verdict};
use crate::engine::node_view::NodeView;
use crate::engine::requests;
use crate::model::id::{NodeId, PodId};
use crate::model::resources::{ResourceName, Resources};

/// One resource of one node, beside what a pod asks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The resource.
    pub resource: ResourceName,
    /// What the pods that stay take.
    pub used: i64,
    /// What pods take that are nominated to the node; counted only where the others leave room enough.
    pub nominated: i64,
    /// What the pod asks for.
    pub asked: i64,
    /// What the node has.
    pub allocatable: i64,
}

impl Shortfall {
    /// What is left for the pod.
    pub fn free(&self) -> i64 {
        self.allocatable.saturating_sub(self.used).saturating_sub(self.nominated)
    }
}

/// The shortfalls that a status speaks of, on a node as `view` has it.
pub fn shortfalls(cycle: &PodCycle<'_>, view: &NodeView<'_>, status: &NodeStatus) -> Vec<Shortfall> {
    let first = match status.verdict {
        Verdict::Rejects(rejection, _) => Some(rejection),
        Verdict::Fits | Verdict::Faults(_) => None,
    };
    let asked = incoming(cycle);
    let mut all = Vec::new();
    for rejection in first.into_iter().chain(status.more.iter().copied()) {
        if let Rejection::Insufficient { mask } = rejection {
            let bits = (0..64).filter(|bit| mask & (1 << bit) != 0);
            all.extend(bits.filter_map(|bit| shortfall(bit, &asked, view)));
        }
    }
    all
}

/// What the pod of the cycle asks for.
pub fn incoming(cycle: &PodCycle<'_>) -> Resources {
    requests::incoming(&cycle.incoming().requests, &cycle.snapshot.behavior.requests)
}

fn shortfall(bit: usize, asked: &Resources, view: &NodeView<'_>) -> Option<Shortfall> {
    let (used, has) = (view.requested(), &view.info.allocatable);
    let of = |resource, used, asked, allocatable| Some(Shortfall { resource, used, nominated: 0, asked, allocatable });
    match bit {
        0 => of(ResourceName::Pods, i64::try_from(view.pod_count()).unwrap_or(i64::MAX), 1, has.pods),
        1 => of(ResourceName::Cpu, used.milli_cpu, asked.milli_cpu, has.milli_cpu),
        2 => of(ResourceName::Memory, used.memory, asked.memory, has.memory),
        3 => of(ResourceName::EphemeralStorage, used.ephemeral_storage, asked.ephemeral_storage, has.ephemeral_storage),
        _ => {
            let (id, amount) = *asked.scalars.get(bit - 4)?;
            of(ResourceName::Scalar(id), used.scalar(id), amount, has.scalar(id))
        }
    }
}

/// The node with every pod of lower priority gone.
pub fn without_lower<'a>(cycle: &PodCycle<'a>, node: NodeId) -> NodeView<'a> {
    let mut view = NodeView::new(cycle.snapshot, node);
    for pod in lower(cycle, node) {
        view.remove(pod);
    }
    view
}

/// The pods of lower priority on a node.
pub fn lower<'a>(cycle: &PodCycle<'a>, node: NodeId) -> impl Iterator<Item = PodId> + use<'a> {
    let cluster = cycle.cluster();
    let below = cycle.incoming().priority();
    cycle.snapshot.info(node).pods.iter().copied().filter(move |pod| cluster.pod(*pod).priority() < below)
}

/// The lowest priority on a node; `None` for an empty one.
pub fn lowest_priority(cycle: &PodCycle<'_>, node: NodeId) -> Option<i32> {
    let cluster = cycle.cluster();
    cycle.snapshot.info(node).pods.iter().map(|pod| cluster.pod(*pod).priority()).min()
}
