//! A node during one pass of filters: the snapshot's node, with pods put on and taken off.

use super::framework::Taken;
use super::snapshot::{NodeInfo, PortKey, Snapshot};
use crate::model::cluster::Cluster;
use crate::model::id::{LabelSetId, NodeId, PodId};
use crate::model::labels::LabelPairs;
use crate::model::node::Node;
use crate::model::resources::Resources;

/// A node during one dry run or one filter pass. Invariant: `requested` is the sum over the pods present; without edits
/// the view owns nothing.
#[derive(Clone, Debug)]
pub struct NodeView<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// The snapshot's node.
    pub info: &'a NodeInfo,
    edits: Option<Box<Edits>>,
    spare: Spare,
}

/// A pod on a node of the snapshot, with what a view needs of it close together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// The pod.
    pub(crate) pod: PodId,
    /// Position among the pods of its node.
    pub(crate) position: u32,
    milli_cpu: i64,
    memory: i64,
    /// Whether it asks for anything else, or takes host ports.
    pub(crate) more: bool,
}

impl Seat {
    /// Of no pod, where one is still to come.
    pub(crate) const NOBODY: Seat = Seat { pod: PodId(0), position: 0, milli_cpu: 0, memory: 0, more: false };

    /// The seat of a pod that stands at this position of its node.
    pub(crate) fn of(snapshot: &Snapshot, pod: PodId, position: u32) -> Self {
        let ask = snapshot.footprint(pod);
        let more = ask.ephemeral_storage != 0 || !ask.scalars.is_empty() || snapshot.ports(pod).next().is_some();
        Seat { pod, position, milli_cpu: ask.milli_cpu, memory: ask.memory, more }
    }

    /// Adds what the pod asks for.
    pub(crate) fn add_to(&self, snapshot: &Snapshot, sum: &mut Resources) {
        if self.more {
            sum.add(snapshot.footprint(self.pod));
            return;
        }
        sum.milli_cpu = sum.milli_cpu.wrapping_add(self.milli_cpu);
        sum.memory = sum.memory.wrapping_add(self.memory);
    }

    /// What is taken once this pod, which takes nothing more, stands beside the others.
    #[inline]
    pub(crate) fn beside(&self, others: &Taken) -> Taken {
        Taken {
            milli_cpu: others.milli_cpu.wrapping_add(self.milli_cpu),
            memory: others.memory.wrapping_add(self.memory),
            pods: others.pods + 1,
        }
    }
}

/// Room for the edits of a view, which one view leaves to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spare(Option<Box<Edits>>);

#[derive(Clone, Debug, Default)]
struct Edits {
    requested: Resources,
    /// A bit per position in `info.pods`.
    removed: Vec<u64>,
    removed_count: usize,
    added: Vec<PodId>,
    used_ports: Vec<PortKey>,
}

impl<'a> NodeView<'a> {
    /// The node as the snapshot has it.
    pub fn new(snapshot: &'a Snapshot, node: NodeId) -> Self {
        NodeView { snapshot, info: snapshot.info(node), edits: None, spare: Spare(None) }
    }

    /// The same, in the room that another view left.
    pub(crate) fn within(spare: Spare, snapshot: &'a Snapshot, node: NodeId) -> Self {
        NodeView { spare, ..NodeView::new(snapshot, node) }
    }

    /// Leaves the room to the next.
    pub(crate) fn leave(self) -> Spare {
        if self.edits.is_some() { Spare(self.edits) } else { self.spare }
    }

    /// The node.
    #[inline]
    pub fn node_id(&self) -> NodeId {
        self.info.node
    }

    /// The cluster.
    #[inline]
    pub fn cluster(&self) -> &'a Cluster {
        &self.snapshot.cluster
    }

    /// The node object.
    #[inline]
    pub fn node(&self) -> &'a Node {
        self.cluster().node(self.info.node)
    }

    /// Labels of the node.
    #[inline]
    pub fn labels(&self) -> &'a LabelPairs {
        self.cluster().node_labels(self.info.node)
    }

    /// The label set of the node.
    pub fn label_set(&self) -> LabelSetId {
        self.node().labels
    }

    /// What the pods present ask for.
    #[inline]
    pub fn requested(&self) -> &Resources {
        self.edits.as_ref().map_or(&self.info.requested, |edits| &edits.requested)
    }

    /// How many pods are present.
    pub fn pod_count(&self) -> usize {
        self.edits
            .as_ref()
            .map_or(self.info.pods.len(), |edits| self.info.pods.len() - edits.removed_count + edits.added.len())
    }

    /// The part of what is taken that every pod takes of.
    #[inline]
    pub fn taken(&self) -> Taken {
        let requested = self.requested();
        Taken { milli_cpu: requested.milli_cpu, memory: requested.memory, pods: self.pod_count() }
    }

    /// The pods present: those of the snapshot in its order, then those put on.
    pub fn pods(&self) -> impl Iterator<Item = PodId> + '_ {
        let edits = self.edits.as_deref();
        let stays = move |at: usize| edits.is_none_or(|it| !it.is_removed(at));
        let kept = self.info.pods.iter().enumerate().filter(move |(at, _)| stays(*at)).map(|(_, pod)| *pod);
        kept.chain(edits.map_or(&[][..], |it| &it.added).iter().copied())
    }

    /// The host ports in use.
    pub fn used_ports(&self) -> &[PortKey] {
        self.edits.as_ref().map_or(&self.info.used_ports, |edits| &edits.used_ports)
    }

    /// Puts a pod on the node: one taken off before comes back to its place, any other is put at the end.
    pub fn add(&mut self, pod: PodId) {
        let snapshot = self.snapshot;
        let slot = self.slot(pod);
        let edits = self.edits();
        match slot {
            Some(at) if edits.is_removed(at) => edits.mark_present(at),
            Some(_) | None => edits.added.push(pod),
        }
        edits.requested.add(snapshot.footprint(pod));
        edits.take_ports(snapshot, pod);
    }

    /// Takes a pod off the node. A host port that another pod holds as well is free then, as upstream's set has it.
    pub fn remove(&mut self, pod: PodId) {
        let snapshot = self.snapshot;
        let slot = self.slot(pod);
        let edits = self.edits();
        if let Some(at) = edits.added.iter().position(|it| *it == pod) {
            edits.added.remove(at);
        } else if let Some(at) = slot
            && !edits.is_removed(at)
        {
            edits.mark_removed(at);
        } else {
            return;
        }
        edits.requested.subtract(snapshot.footprint(pod));
        edits.free_ports(snapshot, pod);
    }

    /// Takes off pods of the snapshot's node that are all there; `ask` is what they ask for together.
    pub(crate) fn take_off_all<'s>(&mut self, seats: impl Iterator<Item = &'s Seat>, ask: &Resources) {
        let snapshot = self.snapshot;
        let edits = self.edits();
        for seat in seats {
            edits.mark_removed(seat.position as usize);
            if seat.more {
                edits.free_ports(snapshot, seat.pod);
            }
        }
        edits.requested.subtract(ask);
    }

    /// [`NodeView::remove`] for a pod of the snapshot's node that is there.
    pub(crate) fn take_off(&mut self, seat: &Seat) {
        let snapshot = self.snapshot;
        let edits = self.edits();
        edits.mark_removed(seat.position as usize);
        if seat.more {
            edits.requested.subtract(snapshot.footprint(seat.pod));
            edits.free_ports(snapshot, seat.pod);
            return;
        }
        let asked = &mut edits.requested;
        asked.milli_cpu = asked.milli_cpu.wrapping_sub(seat.milli_cpu);
        asked.memory = asked.memory.wrapping_sub(seat.memory);
    }

    /// [`NodeView::add`] for a pod of the snapshot's node that was taken off.
    pub(crate) fn put_back(&mut self, seat: &Seat) {
        let snapshot = self.snapshot;
        let edits = self.edits();
        edits.mark_present(seat.position as usize);
        seat.add_to(snapshot, &mut edits.requested);
        if seat.more {
            edits.take_ports(snapshot, seat.pod);
        }
    }

    /// The pod's position in the snapshot's list, which is sorted until a pod joins a node after others.
    fn slot(&self, pod: PodId) -> Option<usize> {
        let pods = &self.info.pods;
        pods.binary_search(&pod).ok().or_else(|| pods.iter().position(|it| *it == pod))
    }

    fn edits(&mut self) -> &mut Edits {
        let (info, spare) = (self.info, &mut self.spare);
        self.edits.get_or_insert_with(|| {
            let mut edits = spare.0.take().unwrap_or_default();
            edits.requested.copy_from(&info.requested);
            edits.removed.clear();
            edits.removed.resize(info.pods.len().div_ceil(64), 0);
            edits.removed_count = 0;
            edits.added.clear();
            edits.used_ports.clone_from(&info.used_ports);
            edits
        })
    }
}

impl Edits {
    fn is_removed(&self, at: usize) -> bool {
        self.removed[at / 64] & (1 << (at % 64)) != 0
    }

    fn mark_removed(&mut self, at: usize) {
        debug_assert!(!self.is_removed(at), "a pod leaves once");
        self.removed[at / 64] |= 1 << (at % 64);
        self.removed_count += 1;
    }

    fn mark_present(&mut self, at: usize) {
        debug_assert!(self.is_removed(at), "a pod comes back that left");
        self.removed[at / 64] &= !(1 << (at % 64));
        self.removed_count -= 1;
    }

    fn take_ports(&mut self, snapshot: &Snapshot, pod: PodId) {
        for key in snapshot.ports(pod) {
            if !self.used_ports.contains(&key) {
                self.used_ports.push(key);
            }
        }
    }

    fn free_ports(&mut self, snapshot: &Snapshot, pod: PodId) {
        for key in snapshot.ports(pod) {
            self.used_ports.retain(|it| *it != key);
        }
    }
}
