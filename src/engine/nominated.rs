//! Pods nominated to nodes. Upstream: `backend/queue/nominator.go`.

use crate::kube::behavior::Behavior;
use crate::model::cluster::Cluster;
use crate::model::id::PodId;

/// Pending pods by the node they are nominated to, in the order they became known.
pub fn by_node(cluster: &Cluster, _behavior: &Behavior) -> Vec<Vec<PodId>> {
    let nodes = vec![Vec::new(); cluster.nodes.len()];
    nodes
}
