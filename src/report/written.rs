//! What reports say of a pod wherever it is a victim or may stay, as JSON text that is made once: of a large cluster, the
//! report of every pending pod names most pods again.

use super::json::VictimRow;
use super::pretty::{line_at, text_at};
use crate::engine::snapshot::Snapshot;
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use memchr::memmem;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lists and objects around a node's status in a report.
pub(super) const AROUND_STATUS: usize = 4;

/// Lists and objects around a candidate's victims, and around the pods that may stay there.
pub(super) const AROUND_VICTIM: usize = 6;

/// How many bytes of victims are kept; further ones are written anew each time.
const MOST_KEPT: usize = 64 << 20;

/// How many pods are looked through before a pod is searched among all of its node.
const NEAR: usize = 32;

/// Texts about the pods of a snapshot, as far as any report needed them.
#[derive(Debug)]
pub struct Written {
    nodes: Box<[OnceLock<OnNode>]>,
    /// Bytes of victims.
    kept: AtomicUsize,
}

/// Texts about the pods of one node.
#[derive(Debug)]
pub(super) struct OnNode {
    /// The most important first, about as dry runs put them back: keys that follow each other are copied together.
    pods: Box<[PodId]>,
    /// Where each pod stands among them, by [`PodId`].
    places: Box<[(PodId, usize)]>,
    /// The keys, each with the comma and the new line before it.
    keys: Box<[u8]>,
    /// Where each key ends.
    ends: Box<[usize]>,
    victims: Box<[OnceLock<Head>]>,
}

/// What a victim says up to the budgets that match it.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) text: Box<[u8]>,
    /// It is being deleted already.
    pub(super) terminating: bool,
}

impl Written {
    /// None yet.
    pub fn new(cluster: &Cluster) -> Self {
        Written { nodes: cluster.nodes.iter().map(|_| OnceLock::new()).collect(), kept: AtomicUsize::new(0) }
    }

    pub(super) fn on_node(&self, snapshot: &Snapshot, node: NodeId) -> &OnNode {
        self.nodes[node.index()].get_or_init(|| OnNode::of(&snapshot.cluster, &snapshot.info(node).pods))
    }

    /// The beginning of a victim; `make` makes its row, for which budgets, reasons and other pods do not matter.
    pub(super) fn head<'w>(
        &'w self,
        on_node: &'w OnNode,
        pod: PodId,
        make: impl FnOnce() -> VictimRow<'w>,
    ) -> Option<Cow<'w, Head>> {
        let slot = &on_node.victims[on_node.place(pod, 0)?];
        if let Some(head) = slot.get() {
            return Some(Cow::Borrowed(head));
        }
        let row = make();
        let head = Head { terminating: row.terminating, text: halves(row).0.into() };
        if self.kept.fetch_add(head.text.len(), Ordering::Relaxed) > MOST_KEPT {
            return Some(Cow::Owned(head));
        }
        Some(Cow::Borrowed(slot.get_or_init(|| head)))
    }
}

impl OnNode {
    fn of(cluster: &Cluster, pods: &[PodId]) -> Self {
        let mut pods: Box<[PodId]> = pods.into();
        pods.sort_by_key(|it| {
            let pod = cluster.pod(*it);
            (Reverse(pod.priority()), pod.started.is_none(), pod.started)
        });
        let mut places: Box<[(PodId, usize)]> = pods.iter().enumerate().map(|(at, pod)| (*pod, at)).collect();
        places.sort_unstable();
        let mut keys = Vec::new();
        let mut ends = Vec::with_capacity(pods.len());
        for pod in &pods {
            keys.extend_from_slice(&key_line(cluster, *pod));
            ends.push(keys.len());
        }
        let victims = pods.iter().map(|_| OnceLock::new()).collect();
        OnNode { pods, places, keys: keys.into(), ends: ends.into(), victims }
    }

    /// Where a pod stands, if it is on the node; perhaps near behind the place guessed.
    fn place(&self, pod: PodId, guess: usize) -> Option<usize> {
        let near = &self.pods[guess..self.pods.len().min(guess + NEAR)];
        if let Some(steps) = near.iter().position(|it| *it == pod) {
            return Some(guess + steps);
        }
        self.places.binary_search_by_key(&pod, |it| it.0).ok().map(|at| self.places[at].1)
    }

    /// The lines of pods in a list, with a comma before each.
    pub(super) fn lines<'n>(&'n self, cluster: &'n Cluster, pods: &'n [PodId]) -> impl Iterator<Item = Cow<'n, [u8]>> {
        let (mut rest, mut next) = (pods, 0);
        std::iter::from_fn(move || {
            let first = *rest.first()?;
            let Some(begin) = self.place(first, next) else {
                rest = &rest[1..];
                return Some(Cow::Owned(key_line(cluster, first)));
            };
            let run = rest.iter().zip(&self.pods[begin..]).take_while(|(one, other)| one == other).count();
            (rest, next) = (&rest[run..], begin + run);
            let from = begin.checked_sub(1).map_or(0, |before| self.ends[before]);
            Some(Cow::Borrowed(&self.keys[from..self.ends[next - 1]]))
        })
    }
}

fn key_line(cluster: &Cluster, pod: PodId) -> Vec<u8> {
    let mut line = vec![b','];
    line.extend_from_slice(&line_at(AROUND_VICTIM));
    line.extend_from_slice(&text_at(AROUND_VICTIM, &cluster.pod_key(pod)));
    line
}

/// What a victim says before and after the list of budgets that match it, without other pods.
pub(super) fn halves(row: VictimRow<'_>) -> (Vec<u8>, Vec<u8>) {
    const NO_BUDGETS: &[u8] = b"\"pdbs\": []";
    let alone = VictimRow { pdbs: Vec::new(), equals: Vec::new(), ..row };
    let mut head = text_at(AROUND_VICTIM, &alone);
    // In a text that is a value, a quote stands behind a backslash.
    let list = memmem::rfind(&head, NO_BUDGETS).expect("a victim has budgets") + NO_BUDGETS.len();
    let ending = head.split_off(list);
    head.truncate(list - "[]".len());
    (head, ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cycle;
    use crate::engine::framework::PodCycle;
    use crate::report::json::PodReport;
    use crate::report::pretty;
    use crate::report::view::View;
    use crate::testkit::scene;
    use std::collections::BTreeMap;

    const SCENE: &str = r#"
        node a cpu=4
        node b cpu=4
        node c cpu=4 taint:gpu=only:NoSchedule
        node d cpu=1
        node e cpu=4
        pod shop/z on=a prio=5 cpu=1 label:app=web start=10:00 owner=ReplicaSet/x"pdbs":[]
        pod shop/"pdbs":[] on=a prio=1 cpu=1 start=11:00
        pod shop/y on=a prio=1 cpu=1 label:app=web start=09:00 deleting
        pod shop/x on=a prio=1 cpu=1 start=11:00
        pod db/one on=b prio=100 cpu=1 start=10:00
        pod db/two on=b prio=1 cpu=1 label:app=web
        pod shop/two on=b prio=1 cpu=2 label:app=web
        pod shop/three on=e prio=1 cpu=2 label:app=web start=10:00
        pod shop/four on=e prio=0 cpu=2 label:app=web start=10:00
        want w/small prio=10 cpu=1
        want w/big prio=1000 cpu=3
        want w/bigger prio=100 cpu=4
        want w/again prio=10 cpu=1
        pdb shop/web label:app=web allowed=1
        pdb shop/also label:app=web allowed=0
    "#;

    #[test]
    fn a_report_says_the_same_whether_or_not_others_named_its_pods_before() {
        for minor in [18, 26, 37] {
            let scene = scene(minor, SCENE);
            let cluster = &scene.snapshot.cluster;
            let written = Written::new(cluster);
            let text = |report: PodReport<'_>| {
                let mut text = Vec::new();
                pretty::write(&BTreeMap::from([("pods", [report])]), &mut text).unwrap();
                String::from_utf8(text).unwrap()
            };
            let mut candidates = 0;
            let pending: Vec<PodId> = cluster.pod_range().filter(|it| cluster.pod(*it).node.is_none()).collect();
            for &pod in pending.iter().chain(&pending) {
                let cycle = PodCycle { pod, ..scene.cycle() };
                let outcome = cycle::schedule(&cycle);
                let view = View { cycle, outcome: &outcome };
                candidates += view.preemption().map_or(0, |it| it.candidates.len());
                assert_eq!(text(view.report_with(&written)), text(view.report()));
            }
            assert!(candidates > 9);
        }
    }

    #[test]
    fn pods_that_are_not_on_the_node_or_stand_in_another_order_have_lines_as_well() {
        let scene = scene(37, SCENE);
        let cluster = &scene.snapshot.cluster;
        let on_node = OnNode::of(cluster, &scene.snapshot.info(NodeId::at(0)).pods);
        let mut pods: Vec<PodId> = cluster.pod_range().collect();
        pods.extend(cluster.pod_range().map(|it| PodId::at(cluster.pods.len() - 1 - it.index())));
        let lines: Vec<u8> = on_node.lines(cluster, &pods).flat_map(|it| it.to_vec()).collect();
        let each: Vec<u8> = pods.iter().flat_map(|it| key_line(cluster, *it)).collect();
        assert_eq!(lines, each);
    }
}
