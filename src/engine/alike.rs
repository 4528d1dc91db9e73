//! Pods that the scheduler cannot tell apart: of a hundred replicas that wait, one is tried.

use crate::model::cluster::Cluster;
use crate::model::id::{LabelSetId, NamespaceId, PodId};
use crate::model::pod::{Owner, PodSpec, RequestParts};
use std::sync::Arc;

/// All that a cycle reads of its own pod, where that pod's name decides nothing. Two pods of one snapshot with equal looks
/// have the same [`Outcome`](super::outcome::Outcome), but for [`Outcome::pod`](super::outcome::Outcome::pod).
///
/// A cycle reads of the incoming pod:
///
/// * its spec: the profile's name, gates, and what every filter asks for;
/// * what its containers request (NodeResourcesFit);
/// * its namespace and labels (InterPodAffinity, PodTopologySpread), and its owner (default spread constraints);
/// * its priority (preemption, nominated pods);
/// * phase, node, deletion and its own nomination, which [`Look::of`] wants empty: a nominated pod is one that others see,
///   and itself does not;
/// * its name and UID, by which generic ephemeral volumes and claims are found: a pod with volumes that a filter looks at, or
///   with resource claims, has no look.
///
/// A pending pod stands on no node, so the counts of other pods never hold it, and budgets, importance and start time are
/// read of victims alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look<'c> {
    namespace: NamespaceId,
    labels: LabelSetId,
    priority: i32,
    owner: Option<Owner>,
    requests: &'c Arc<RequestParts>,
    spec: &'c Arc<PodSpec>,
}

impl<'c> Look<'c> {
    /// The look of a pod, where it may share its outcome.
    pub fn of(cluster: &'c Cluster, pod: PodId) -> Option<Self> {
        let pod = cluster.pod(pod);
        let is_itself = pod.node_name.is_some()
            || pod.nominated_node_name.is_some()
            || pod.deleted.is_some()
            || pod.is_terminal()
            || !pod.spec.volumes.is_empty()
            || !pod.spec.resource_claims.is_empty();
        (!is_itself).then(|| Look {
            namespace: pod.namespace,
            labels: pod.labels,
            priority: pod.priority(),
            owner: pod.owner,
            requests: &pod.requests,
            spec: &pod.spec,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scene;

    fn alike(one: &str, other: &str) -> bool {
        let scene = scene(37, &format!("node a cpu=1\npod x on=a prio=1 cpu=1\nwant {one}\nwant {other}"));
        let cluster = &scene.snapshot.cluster;
        let look = |name: &str| {
            let name = name.split(' ').next().unwrap_or_default();
            Look::of(cluster, cluster.find_pod("default", name).unwrap())
        };
        let one = look(one);
        one.is_some() && one == look(other)
    }

    #[test]
    fn only_what_the_scheduler_reads_tells_pods_apart() {
        assert!(alike("w prio=9 cpu=1 label:app=web", "v prio=9 cpu=1 label:app=web"));
        assert!(!alike("w prio=9 cpu=1", "v prio=8 cpu=1"));
        assert!(!alike("w prio=9 cpu=1", "v prio=9 cpu=2"));
        assert!(!alike("w prio=9 label:app=web", "v prio=9 label:app=db"));
        assert!(!alike("w prio=9", "v prio=9 select:pool=x"));
        assert!(!alike("w prio=9 nominated=a", "v prio=9 nominated=a"));
    }
}
