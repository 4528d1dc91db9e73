//! The pods on all nodes, with what dry runs compare of them: looked up once, for in a large cluster the pods of a node lie
//! far apart.

use super::super::node_view::Seat;
use super::super::snapshot::Snapshot;
use super::importance::{self, Importance};
use super::lineup;
use crate::model::id::{NodeId, PdbId};
use rayon::prelude::*;

/// A pod on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) importance: Importance,
    pub(crate) seat: Seat,
}

/// The pods on nodes: node by node in the order in which the scheduler walks them, on each the most important first. Dry
/// runs read them in about this order.
#[derive(Debug, Default)]
pub(crate) struct Members {
    all: Vec<Member>,
    /// Where the pods of each node begin and end, by [`NodeId`].
    ranges: Vec<(u32, u32)>,
    /// The budgets that match each, in canonical order; by place, and few pods have any.
    budgets: Vec<(u32, PdbId)>,
}

/// How many nodes are worth a thread's while.
pub(super) const NODES_PER_TASK: usize = 256;

impl Members {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let parts: Vec<Members> =
            snapshot.order.par_chunks(NODES_PER_TASK).map(|nodes| Members::part(snapshot, nodes)).collect();
        let mut members = Members { ranges: vec![(0, 0); snapshot.nodes.len()], ..Members::default() };
        members.all.reserve_exact(parts.iter().map(|it| it.all.len()).sum());
        for (nodes, part) in snapshot.order.chunks(NODES_PER_TASK).zip(parts) {
            let before = u32::try_from(members.all.len()).expect("fewer pods than ids");
            for (node, (begin, end)) in nodes.iter().zip(part.ranges) {
                members.ranges[node.index()] = (before + begin, before + end);
            }
            members.budgets.extend(part.budgets.into_iter().map(|(place, pdb)| (before + place, pdb)));
            members.all.extend(part.all);
        }
        members
    }

    /// Those of some nodes, whose ranges stand in the order of the nodes.
    fn part(snapshot: &Snapshot, nodes: &[NodeId]) -> Self {
        let (cluster, behavior) = (&snapshot.cluster, &snapshot.behavior.preemption);
        let (all, now) = (lineup::budgets(snapshot), lineup::now(snapshot));
        let mut part = Members::default();
        let mut pods = Vec::new();
        for node in nodes {
            let own = snapshot.info(*node).pods.iter().enumerate();
            pods.clear();
            pods.extend(own.map(|(position, id)| Importance::of(*id, cluster.pod(*id), position)));
            importance::sort(&mut pods, behavior, now);
            let begin = part.end();
            for importance in &pods {
                let place = part.end();
                part.budgets.extend(all.of(cluster, importance.pod).iter().map(|pdb| (place, *pdb)));
                let seat = Seat::of(snapshot, importance.pod, importance.position);
                part.all.push(Member { importance: *importance, seat });
            }
            part.ranges.push((begin, part.end()));
        }
        part
    }

    fn end(&self) -> u32 {
        u32::try_from(self.all.len()).expect("fewer pods than ids")
    }

    /// The pod of a place.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> &Member {
        &self.all[place as usize]
    }

    /// The priorities that pods have, each once, ascending.
    pub(crate) fn priorities(&self) -> Vec<i32> {
        let mut priorities: Vec<i32> = self.all.iter().map(|it| it.importance.priority).collect();
        priorities.dedup();
        priorities.sort_unstable();
        priorities.dedup();
        priorities
    }

    /// The places of a node's pods.
    pub(crate) fn places(&self, node: NodeId) -> std::ops::Range<u32> {
        let (begin, end) = self.ranges[node.index()];
        begin..end
    }

    /// The budgets that match the pod of a place, in canonical order.
    pub(crate) fn budgets(&self, place: u32) -> impl Iterator<Item = PdbId> + '_ {
        let begin = self.budgets.partition_point(|it| it.0 < place);
        self.budgets[begin..].iter().take_while(move |it| it.0 == place).map(|it| it.1)
    }
}
