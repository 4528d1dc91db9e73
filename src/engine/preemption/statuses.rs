//! What the filter phase told the nodes, as PostFilter sees it. Upstream: `framework/interface.go` NodeToStatus.

use super::super::chain;
use super::super::framework::{Code, NodeStatus, PodCycle, Rejection, Verdict};
use super::super::outcome::PreFilterRejection;
use crate::kube::behavior::{Behavior, NarrowedOut, PotentialNodes, PreFilterRejected};
use crate::model::id::NodeId;

/// The statuses of the nodes.
pub(crate) struct Statuses<'o> {
    behavior: &'o Behavior,
    nodes: &'o [Option<NodeStatus>],
    pre_filter: Option<PreFilterRejection>,
}

/// A node's status code, where it is a rejection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// The node has a status of its own.
    Own(Code),
    /// The node shares the status of those that have none.
    Shared(Code),
    /// No status, or one that is no rejection.
    Nothing,
}

impl<'o> Statuses<'o> {
    pub(crate) fn new(
        behavior: &'o Behavior,
        nodes: &'o [Option<NodeStatus>],
        pre_filter: Option<PreFilterRejection>,
    ) -> Self {
        Statuses { behavior, nodes, pre_filter }
    }

    /// Whether preemption takes the node for one where it might help.
    pub(crate) fn is_potential(&self, node: NodeId) -> bool {
        let told = self.told(node);
        match self.behavior.frame.potential_nodes {
            PotentialNodes::NotUnresolvable => {
                !matches!(told, Told::Own(Code::Unresolvable) | Told::Shared(Code::Unresolvable))
            }
            PotentialNodes::OnlyUnschedulable => {
                matches!(told, Told::Own(Code::Unschedulable) | Told::Shared(Code::Unschedulable))
            }
        }
    }

    /// Whether the node's own status is unresolvable.
    pub(crate) fn is_told_unresolvable(&self, node: NodeId) -> bool {
        self.told(node) == Told::Own(Code::Unresolvable)
    }

    /// Whether the node's status, own or shared, is unresolvable.
    pub(crate) fn is_unresolvable(&self, node: NodeId) -> bool {
        matches!(self.told(node), Told::Own(Code::Unresolvable) | Told::Shared(Code::Unresolvable))
    }

    /// Whether the nodes without a status of their own are potential ones, which keeps them in the snapshot's order.
    pub(crate) fn absent_are_potential(&self) -> bool {
        self.pre_filter.is_some_and(|it| it.code == Code::Unschedulable)
    }

    fn told(&self, node: NodeId) -> Told {
        if let Some(rejected) = self.pre_filter {
            return match (self.behavior.frame.pre_filter_rejection, self.behavior.frame.narrowed_out) {
                (PreFilterRejected::Error | PreFilterRejected::ForgetNodes, _) => Told::Nothing,
                (PreFilterRejected::CopyToNodes, NarrowedOut::AbsentUnresolvable) => Told::Shared(rejected.code),
                (
                    PreFilterRejected::CopyToNodes,
                    NarrowedOut::NoStatus | NarrowedOut::FilteredOut | NarrowedOut::Absent,
                ) => Told::Own(rejected.code),
            };
        }
        let Some(status) = &self.nodes[node.index()] else { return Told::Nothing };
        match status.verdict {
            Verdict::Rejects(Rejection::NotSelectedByPreFilter, code) => match self.behavior.frame.narrowed_out {
                NarrowedOut::AbsentUnresolvable => Told::Shared(code),
                NarrowedOut::NoStatus | NarrowedOut::FilteredOut | NarrowedOut::Absent => Told::Nothing,
            },
            verdict => chain::rejection(verdict).map_or(Told::Nothing, |(_, code)| Told::Own(code)),
        }
    }
}

/// Nodes where preemption might help, in the order of the snapshot.
pub(crate) fn potential(cycle: &PodCycle<'_>, statuses: &Statuses<'_>) -> Vec<NodeId> {
    cycle.snapshot.order.iter().copied().filter(|node| statuses.is_potential(*node)).collect()
}
