//! Nodes that are no candidates, told together where the reason is the same.

use super::view::View;
use crate::engine::framework::{Code, NodeStatus, Verdict};
use crate::engine::outcome::DryRunFailure;
use crate::model::id::NodeId;
use std::collections::BTreeMap;

/// What keeps preemption from freeing a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// The rejection is one that preemption cannot cure.
    CannotHelp,
    /// Nothing was tried there.
    NotTried,
    /// No pod of lower priority is there.
    NoVictims,
    /// The pod does not fit even with all of them gone.
    EvenWithout,
    /// The dry run failed with an error.
    Error,
    /// PreFilter left the node out, and the release records nothing.
    Unrecorded,
}

/// Nodes with one reason.
#[derive(Clone, Debug)]
pub struct Group {
    /// What stands in the way.
    pub obstacle: Obstacle,
    /// Upstream's sentences.
    pub reason: String,
    /// The nodes, by name.
    pub nodes: Vec<NodeId>,
    /// The status of the first of them, where there is one.
    pub status: Option<NodeStatus>,
}

/// All nodes that are neither candidates nor fit, largest group first.
pub fn of(view: &View<'_>) -> Vec<Group> {
    let words = view.words();
    let mut groups: BTreeMap<(Obstacle, String), Group> = BTreeMap::new();
    let mut put = |obstacle, reasons: &[String], node, status: Option<&NodeStatus>| {
        let reason = reasons.join(", ");
        let fresh = || Group { obstacle, reason: reason.clone(), nodes: Vec::new(), status: status.cloned() };
        groups.entry((obstacle, reason.clone())).or_insert_with(fresh).nodes.push(node);
    };
    let mut decided = vec![false; view.outcome.nodes.len()];
    if let Some(preemption) = view.preemption() {
        for candidate in &preemption.candidates {
            decided[candidate.node.index()] = true;
        }
        for (node, failure) in &preemption.failures {
            decided[node.index()] = true;
            match failure {
                DryRunFailure::NoVictims => put(Obstacle::NoVictims, &words.node(*node).reasons, *node, None),
                DryRunFailure::Rejected(status) => {
                    put(Obstacle::EvenWithout, &words.status(status, *node).reasons, *node, Some(status));
                }
                DryRunFailure::NoVictimNeeded | DryRunFailure::UnpreparedHook(_) => {
                    put(Obstacle::Error, &words.dry_run(failure, *node).reasons, *node, None);
                }
            }
        }
    }
    for (at, status) in view.outcome.nodes.iter().enumerate() {
        let node = NodeId::at(at);
        match status {
            _ if decided[at] => {}
            None => put(Obstacle::Unrecorded, &[], node, None),
            Some(status) => match status.verdict {
                Verdict::Fits => {}
                Verdict::Rejects(_, code) => {
                    let obstacle = match code {
                        Code::Unresolvable => Obstacle::CannotHelp,
                        Code::Unschedulable => Obstacle::NotTried,
                    };
                    put(obstacle, &words.status(status, node).reasons, node, Some(status));
                }
                Verdict::Faults(_) => put(Obstacle::Error, &words.status(status, node).reasons, node, None),
            },
        }
    }
    let mut all: Vec<Group> = groups.into_values().collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.nodes.len()));
    all
}
