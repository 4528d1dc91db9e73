//! The pods on all nodes, with what dry runs compare of them: looked up once, for in a large cluster the pods of a node lie
//! far apart.

use super::super::node_view::Seat;
use super::super::snapshot::Snapshot;
use super::importance::{self, Importance};
use super::lineup;
use crate::kube::behavior::PreemptionBehavior;
use crate::model::id::{NodeId, PdbId};
use crate::model::time::Time;
use rayon::prelude::*;

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
    /// The budgets that match each, in canonical order; by place, and few pods have any.
    budgets: Vec<(u32, PdbId)>,
}

/// How many nodes are worth a thread's while.
pub(super) const NODES_PER_TASK: usize = 256;

impl Members {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let (mut all, ranges) = seated(snapshot);
        let (behavior, now) = (&snapshot.behavior.preemption, lineup::now(snapshot));
        let mut nodes: Vec<&mut [Member]> = Vec::with_capacity(snapshot.order.len());
        let mut rest = all.as_mut_slice();
        for node in &snapshot.order {
            let (own, others) = rest.split_at_mut(snapshot.info(*node).pods.len());
            nodes.push(own);
            rest = others;
        }
        nodes.par_chunks_mut(NODES_PER_TASK).for_each(|nodes| {
            let mut order = Vec::new();
            nodes.iter_mut().for_each(|pods| sort(pods, behavior, now, &mut order));
        });
        let budgets = lineup::budgets(snapshot);
        let of_pod = |(place, member): (u32, &Member)| {
            budgets.of(&snapshot.cluster, member.importance.pod).iter().map(move |pdb| (place, *pdb))
        };
        let budgets = (0..).zip(&all).flat_map(of_pod).collect();
        Members { all, ranges, budgets }
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

/// Sorts the pods of a node, the most important first; `order` is room for it.
fn sort(pods: &mut [Member], behavior: &PreemptionBehavior, now: Time, order: &mut Vec<Importance>) {
    order.clear();
    order.extend(pods.iter().map(|it| it.importance));
    importance::sort(order, behavior, now);
    let seats: Vec<Seat> = pods.iter().map(|it| it.seat).collect();
    for (member, importance) in pods.iter_mut().zip(order) {
        *member = Member { importance: *importance, seat: seats[importance.position as usize] };
    }
}
