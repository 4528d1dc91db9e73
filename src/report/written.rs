//! What reports say of a pod wherever it is a victim or may stay, as JSON text that is made once: of a large cluster, the
//! report of every pending pod names most pods again.

use super::candidates::victim_row;
use super::json::VictimRow;
use super::pretty::{add_line, one_line};
use crate::engine::snapshot::Snapshot;
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use memchr::memmem;
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What stands between two victims of a candidate.
pub(super) const VICTIM_BREAK: &[u8] = b",\n            ";

/// What stands behind the last one; of no victims, its last byte.
pub(super) const VICTIMS_END: &[u8] = b"\n          ]";

/// What stands between two keys.
pub(super) const BETWEEN_KEYS: &[u8] = b", ";

/// The budgets of a victim that has none.
pub(super) const NO_BUDGETS: &[u8] = b"[]";

/// How many bytes are kept; of further nodes all is written anew each time.
const MOST_KEPT: usize = 96 << 20;

/// How many pods are looked through before a pod is searched among all of its node.
const NEAR: usize = 32;

/// Texts about the pods of a snapshot, as far as any report needed them.
#[derive(Debug)]
pub struct Written {
    nodes: Box<[OnceLock<Option<OnNode>>]>,
    /// Bytes of texts.
    kept: AtomicUsize,
}

/// Texts about the pods of one node.
#[derive(Debug)]
pub(super) struct OnNode {
    /// The most important first, about as dry runs put them back: keys that follow each other are copied together.
    pods: Box<[PodId]>,
    /// Where each pod stands among them, by [`PodId`].
    places: Box<[(PodId, u32)]>,
    /// The keys, each behind [`BETWEEN_KEYS`].
    keys: Texts,
    /// What each says as a victim up to the budgets that match it, behind [`VICTIM_BREAK`].
    heads: Texts,
    /// Which are being deleted already.
    terminating: Box<[bool]>,
}

/// Texts, one behind the other.
#[derive(Debug)]
struct Texts {
    all: Vec<u8>,
    ends: Vec<u32>,
}

impl Texts {
    /// Room for so many texts of about so many bytes each.
    fn of(texts: usize, each: usize) -> Self {
        Texts { all: Vec::with_capacity(texts * each), ends: Vec::with_capacity(texts) }
    }

    /// `None` where there is no room for more.
    fn push(&mut self, before: &[u8], value: &impl Serialize, left_out: usize) -> Option<()> {
        self.all.extend_from_slice(before);
        add_line(&mut self.all, value);
        self.all.truncate(self.all.len() - left_out);
        self.ends.push(u32::try_from(self.all.len()).ok().filter(|_| self.all.len() <= MOST_KEPT)?);
        Some(())
    }

    fn some(&self, from: usize, to: usize) -> &[u8] {
        let begin = from.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[begin as usize..self.ends[to - 1] as usize]
    }
}

impl Written {
    /// None yet.
    pub fn new(cluster: &Cluster) -> Self {
        Written { nodes: cluster.nodes.iter().map(|_| OnceLock::new()).collect(), kept: AtomicUsize::new(0) }
    }

    /// The texts of a node, if there is room for them.
    pub(super) fn on_node(&self, snapshot: &Snapshot, node: NodeId) -> Option<&OnNode> {
        let make = || {
            if self.kept.load(Ordering::Relaxed) > MOST_KEPT {
                return None;
            }
            let on_node = OnNode::of(&snapshot.cluster, &snapshot.info(node).pods)?;
            self.kept.fetch_add(on_node.keys.all.capacity() + on_node.heads.all.capacity(), Ordering::Relaxed);
            Some(on_node)
        };
        self.nodes[node.index()].get_or_init(make).as_ref()
    }
}

impl OnNode {
    /// `None` where there is no room for them.
    fn of(cluster: &Cluster, pods: &[PodId]) -> Option<Self> {
        let mut pods: Box<[PodId]> = pods.into();
        pods.sort_by_key(|it| {
            let pod = cluster.pod(*it);
            (Reverse(pod.priority()), pod.started.is_none(), pod.started)
        });
        let mut places: Box<[(PodId, u32)]> = pods.iter().zip(0..).map(|(pod, at)| (*pod, at)).collect();
        places.sort_unstable();
        let (mut keys, mut heads) = (Texts::of(pods.len(), 48), Texts::of(pods.len(), 192));
        let endings = [false, true].map(|terminating| ending(None, terminating).len());
        for pod in &pods {
            let row = victim_row(cluster, *pod);
            keys.push(BETWEEN_KEYS, &row.pod, 0)?;
            heads.push(VICTIM_BREAK, &row, endings[usize::from(row.terminating)])?;
        }
        let terminating = pods.iter().map(|pod| cluster.pod(*pod).deleted.is_some()).collect();
        Some(OnNode { pods, places, keys, heads, terminating })
    }

    /// Where a pod stands, if it is on the node; perhaps near behind the place guessed.
    pub(super) fn place(&self, pod: PodId, guess: usize) -> Option<usize> {
        let near = &self.pods[guess..self.pods.len().min(guess + NEAR)];
        if let Some(steps) = near.iter().position(|it| *it == pod) {
            return Some(guess + steps);
        }
        self.places.binary_search_by_key(&pod, |it| it.0).ok().map(|at| self.places[at].1 as usize)
    }

    /// What the pod of a place says as a victim, up to its budgets.
    pub(super) fn head(&self, place: usize) -> &[u8] {
        self.heads.some(place, place + 1)
    }

    /// Whether the pod of a place is being deleted already.
    pub(super) fn is_terminating(&self, place: usize) -> bool {
        self.terminating[place]
    }

    /// The keys of pods, behind [`BETWEEN_KEYS`] each.
    pub(super) fn keys<'n>(&'n self, cluster: &'n Cluster, pods: &'n [PodId]) -> impl Iterator<Item = Cow<'n, [u8]>> {
        let (mut rest, mut next) = (pods, 0);
        std::iter::from_fn(move || {
            let first = *rest.first()?;
            let Some(begin) = self.place(first, next) else {
                rest = &rest[1..];
                return Some(Cow::Owned([BETWEEN_KEYS, &one_line(&cluster.pod_key(first))].concat()));
            };
            let run = rest.iter().zip(&self.pods[begin..]).take_while(|(one, other)| one == other).count();
            (rest, next) = (&rest[run..], begin + run);
            Some(Cow::Borrowed(self.keys.some(begin, next)))
        })
    }
}

/// What a victim without budgets and other pods says from its budgets on.
pub(super) fn ending(kept_out_by: Option<Rc<str>>, terminating: bool) -> Vec<u8> {
    // A victim of which nothing else is known: its text begins alike, whatever it says in the end.
    const KEY: &[u8] = b"\"pdbs\": ";
    let mut text = one_line(&VictimRow { kept_out_by, terminating, ..VictimRow::default() });
    let list = memmem::find(&text, KEY).expect("a victim has budgets") + KEY.len();
    text.split_off(list)
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
            // One with room for all texts, one without any, and one that has room for the first pod's.
            let [written, full, filled] = [0, 1, 2].map(|_| Written::new(cluster));
            full.kept.store(MOST_KEPT + 1, Ordering::Relaxed);
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
                for written in [&written, &full, &filled] {
                    assert_eq!(text(view.report_with(written)), text(view.report()));
                }
                filled.kept.store(MOST_KEPT + 1, Ordering::Relaxed);
            }
            assert!(candidates > 9);
        }
    }

    #[test]
    fn pods_that_are_not_on_the_node_or_stand_in_another_order_have_keys_as_well() {
        let scene = scene(37, SCENE);
        let cluster = &scene.snapshot.cluster;
        let on_node = OnNode::of(cluster, &scene.snapshot.info(NodeId::at(0)).pods).unwrap();
        let mut pods: Vec<PodId> = cluster.pod_range().collect();
        pods.extend(cluster.pod_range().map(|it| PodId::at(cluster.pods.len() - 1 - it.index())));
        let keys: Vec<u8> = on_node.keys(cluster, &pods).flat_map(|it| it.to_vec()).collect();
        let each: String = pods.iter().map(|it| format!(", {:?}", cluster.pod_key(*it))).collect();
        assert_eq!(String::from_utf8(keys).unwrap(), each);
    }
}
