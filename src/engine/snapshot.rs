//! The snapshot: what a scheduler of one release makes of a cluster. Upstream: `backend/cache`.

use super::pod_table::PodTable;
use super::preemption::lineup::Lineups;
use super::requests;
use crate::kube::behavior::Behavior;
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId, Symbol};
use crate::model::resources::Resources;
use rayon::prelude::*;
use std::sync::Arc;

/// Nodes with the pods on them, as the scheduling cycle sees them.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What the dump says.
    pub cluster: Arc<Cluster>,
    /// What the scheduler does.
    pub behavior: Arc<Behavior>,
    /// Every node, by [`NodeId`].
    pub nodes: Vec<NodeInfo>,
    /// The order in which the scheduler walks the nodes.
    pub order: Vec<NodeId>,
    /// What each pod asks for on a node, by [`PodId`]: with in-place resize where the release looks at it.
    pub footprints: Vec<Resources>,
    /// Pending pods nominated to each node, by [`NodeId`], in the order they became known.
    pub nominated: Vec<Vec<PodId>>,
    /// What filters compare of each pod.
    pub pods: PodTable,
    /// A bit per [`PodId`]: the pod takes host ports. Few do, and to look at each pod's spec costs more than all the rest.
    takes_ports: Vec<u64>,
    /// What dry runs of one node have in common.
    pub(crate) lineups: Lineups,
}

/// A node and the pods on it. Upstream: `framework.NodeInfo`.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// The node.
    pub node: NodeId,
    /// What it has. `pods` is the number of pods it may hold.
    pub allocatable: Resources,
    /// What the pods on it ask for.
    pub requested: Resources,
    /// The pods on it, in the scheduler's order (canonical: by namespace and name).
    pub pods: Vec<PodId>,
    /// Those of `pods` that have required pod affinity or anti-affinity.
    pub pods_with_affinity: Vec<PodId>,
    /// Those of `pods` that have required anti-affinity.
    pub pods_with_anti_affinity: Vec<PodId>,
    /// Host ports in use: a set, as upstream keeps it.
    pub used_ports: Vec<PortKey>,
}

/// A host port in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortKey {
    /// Address.
    pub ip: Symbol,
    /// Protocol.
    pub protocol: Symbol,
    /// Port.
    pub port: i32,
}

impl Snapshot {
    /// What a scheduler of this behaviour makes of the cluster.
    pub fn new(cluster: Arc<Cluster>, behavior: Arc<Behavior>) -> Self {
        let footprints: Vec<Resources> =
            cluster.pods.par_iter().map(|pod| requests::footprint(&pod.requests, &behavior.requests)).collect();
        let mut nodes: Vec<NodeInfo> = cluster
            .node_range()
            .map(|id| NodeInfo::empty(id, requests::allocatable(cluster.node(id), &behavior.requests)))
            .collect();
        for id in cluster.pod_range() {
            let pod = cluster.pod(id);
            if let Some(node) = pod.node
                && !pod.is_terminal()
            {
                nodes[node.index()].place(id, &cluster, &footprints[id.index()], &behavior);
            }
        }
        let order = super::node_order::of(&cluster);
        let nominated = super::nominated::by_node(&cluster, &behavior);
        let takes_ports = pods_with_ports(&cluster);
        let pods = PodTable::new(&cluster);
        let lineups = Lineups::default();
        Snapshot { cluster, behavior, nodes, order, footprints, nominated, pods, takes_ports, lineups }
    }

    /// A node with its pods.
    #[inline]
    pub fn info(&self, node: NodeId) -> &NodeInfo {
        &self.nodes[node.index()]
    }

    /// The host ports that a pod takes on its node.
    pub fn ports(&self, pod: PodId) -> impl Iterator<Item = PortKey> + use<'_> {
        let takes = self.takes_ports[pod.index() / 64] & (1 << (pod.index() % 64)) != 0;
        takes.then(|| ports_of(&self.cluster, pod, &self.behavior)).into_iter().flatten()
    }

    /// What a pod asks for on a node.
    #[inline]
    pub fn footprint(&self, pod: PodId) -> &Resources {
        &self.footprints[pod.index()]
    }
}

impl NodeInfo {
    fn empty(node: NodeId, allocatable: Resources) -> Self {
        NodeInfo {
            node,
            allocatable,
            requested: Resources::default(),
            pods: Vec::new(),
            pods_with_affinity: Vec::new(),
            pods_with_anti_affinity: Vec::new(),
            used_ports: Vec::new(),
        }
    }

    fn place(&mut self, id: PodId, cluster: &Cluster, footprint: &Resources, behavior: &Behavior) {
        let spec = &cluster.pod(id).spec;
        self.pods.push(id);
        self.requested.add(footprint);
        if !spec.pod_affinity.is_empty() || !spec.pod_anti_affinity.is_empty() {
            self.pods_with_affinity.push(id);
        }
        if !spec.pod_anti_affinity.is_empty() {
            self.pods_with_anti_affinity.push(id);
        }
        for key in ports_of(cluster, id, behavior) {
            if !self.used_ports.contains(&key) {
                self.used_ports.push(key);
            }
        }
    }
}

fn pods_with_ports(cluster: &Cluster) -> Vec<u64> {
    let mut bits = vec![0; cluster.pods.len().div_ceil(64)];
    for (at, pod) in cluster.pods.iter().enumerate() {
        if !pod.spec.host_ports.is_empty() {
            bits[at / 64] |= 1 << (at % 64);
        }
    }
    bits
}

/// The host ports that a pod takes on its node.
fn ports_of<'c>(cluster: &'c Cluster, pod: PodId, behavior: &Behavior) -> impl Iterator<Item = PortKey> + use<'c> {
    let sidecars = requests::sidecar_ports_count(&behavior.requests);
    let ports = cluster.pod(pod).spec.host_ports.iter();
    ports.filter(move |port| sidecars || !port.sidecar).map(|port| PortKey {
        ip: port.ip,
        protocol: port.protocol,
        port: port.port,
    })
}
