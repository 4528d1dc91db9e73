//! The pods on all nodes, with what dry runs compare of them: looked up once, for in a large cluster the pods of a node lie
//! far apart.

use super::super::node_view::Seat;
use super::super::snapshot::Snapshot;
use super::importance::{self, Importance};
use super::lineup;
use crate::model::id::NodeId;

/// A pod on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) importance: Importance,
    pub(crate) seat: Seat,
}

impl Member {
    const NOBODY: Member = Member { importance: Importance::NOBODY, seat: Seat::NOBODY };
}

/// The pods on nodes: node by node in the order in which the scheduler walks them, on each the most important first. Dry
/// runs read them in about this order.
#[derive(Debug, Default)]
pub(crate) struct Members {
    all: Vec<Member>,
    /// Where the pods of each node begin and end, by [`NodeId`].
    ranges: Vec<(u32, u32)>,
    /// The places of pods that some budget may match, ascending: few pods have any.
    with_budgets: Vec<u32>,
}

impl Members {
    /// Those of a snapshot. All by one thread: whoever else needs them waits, and may not be handed other work meanwhile.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let (mut all, ranges) = seated(snapshot);
        let (behavior, now) = (&snapshot.behavior.preemption, lineup::now(snapshot));
        let (mut rest, mut order, mut seats) = (all.as_mut_slice(), Vec::new(), Vec::new());
        for node in &snapshot.order {
            let (own, others) = rest.split_at_mut(snapshot.info(*node).pods.len());
            rest = others;
            order.clear();
            order.extend(own.iter().map(|it| it.importance));
            importance::sort(&mut order, behavior, now);
            seats.clear();
            seats.extend(own.iter().map(|it| it.seat));
            for (member, importance) in own.iter_mut().zip(&order) {
                *member = Member { importance: *importance, seat: seats[importance.position as usize] };
            }
        }
        let (budgets, cluster) = (lineup::budgets(snapshot), &snapshot.cluster);
        let may_match = |it: &(u32, &Member)| budgets.may_match(cluster.pod(it.1.importance.pod));
        let with_budgets = (0..).zip(&all).filter(may_match).map(|it| it.0).collect();
        Members { all, ranges, with_budgets }
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

    /// Whether some budget may match the pod of a place.
    pub(crate) fn may_have_budgets(&self, place: u32) -> bool {
        self.with_budgets.binary_search(&place).is_ok()
    }
}

/// The pods on nodes, node by node and in the order of each, and where those of each node begin and end, by [`NodeId`].
///
/// Pods are read as they lie in memory and written where they belong: the other way round, each would be waited for.
fn seated(snapshot: &Snapshot) -> (Vec<Member>, Vec<(u32, u32)>) {
    let cluster = &snapshot.cluster;
    let mut ranges = vec![(0, 0); snapshot.nodes.len()];
    // Of each pod, its place and its position on its node; a pod stands on one node.
    let mut places: Vec<Option<(u32, u32)>> = vec![None; cluster.pods.len()];
    let mut end = 0;
    for node in &snapshot.order {
        let begin = end;
        for pod in &snapshot.info(*node).pods {
            places[pod.index()] = Some((end, end - begin));
            end += 1;
        }
        ranges[node.index()] = (begin, end);
    }
    let mut all = vec![Member::NOBODY; end as usize];
    for (pod, (place, position)) in cluster.pod_range().zip(places).filter_map(|(pod, it)| Some((pod, it?))) {
        let importance = Importance::of(pod, cluster.pod(pod), position);
        all[place as usize] = Member { importance, seat: Seat::of(snapshot, pod, position) };
    }
    (all, ranges)
}
