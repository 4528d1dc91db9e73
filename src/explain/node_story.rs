//! The dry run of one node, with the sums behind each of its steps.

use super::numbers::{self, Shortfall};
use crate::engine::cycle;
use crate::engine::framework::{NodeStatus, PodCycle};
use crate::engine::node_view::NodeView;
use crate::engine::nominated;
use crate::engine::outcome::{PutBack, Trace};
use crate::model::id::NodeId;

/// What happened to one node.
#[derive(Clone, Debug)]
pub struct NodeStory {
    /// The steps.
    pub trace: Trace,
    /// What the node is short of as it is.
    pub at_first: Vec<Shortfall>,
    /// What it is short of without the pods of lower priority.
    pub emptied: Vec<Shortfall>,
    /// For each pod put back, what the node is short of with it.
    pub put_back: Vec<Vec<Shortfall>>,
}

/// Runs a node's dry run once more and does its sums. `status` is what Filter said of the node.
pub fn of(cycle: &PodCycle<'_>, node: NodeId, status: &NodeStatus) -> NodeStory {
    let trace = cycle::trace(cycle, node);
    let mut view = NodeView::new(cycle.snapshot, node);
    let at_first = short(cycle, &view, status);
    for pod in &trace.removed {
        view.remove(*pod);
    }
    let emptied = trace.emptied.as_ref().map_or_else(Vec::new, |status| short(cycle, &view, status));
    let mut put_back = Vec::new();
    for PutBack { pod, status, .. } in &trace.put_back {
        view.add(*pod);
        put_back.push(short(cycle, &view, status));
        if !status.fits() {
            view.remove(*pod);
        }
    }
    NodeStory { trace, at_first, emptied, put_back }
}

/// The shortfalls of a status. Where there is room enough, pods that are nominated to the node take it.
fn short(cycle: &PodCycle<'_>, view: &NodeView<'_>, status: &NodeStatus) -> Vec<Shortfall> {
    let plain = numbers::shortfalls(cycle, view, status);
    if plain.iter().all(|it| it.free() < it.asked) {
        return plain;
    }
    let mut crowded = view.clone();
    for pod in nominated::respected(cycle, view.node_id()) {
        crowded.add(pod);
    }
    let mut all = numbers::shortfalls(cycle, &crowded, status);
    for (with, without) in all.iter_mut().zip(&plain) {
        with.nominated = with.used.saturating_sub(without.used);
        with.used = without.used;
    }
    all
}
