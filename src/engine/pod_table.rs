//! What filters compare of each pod, close together: to look at 150,000 pods one by one costs a cache miss each.

use crate::model::affinity::PodAffinityTerm;
use crate::model::cluster::Cluster;
use crate::model::id::{LabelSetId, NamespaceId, PodId};
use rustc_hash::FxHashMap;

/// A pod's namespace and labels, and the group of its anti-affinity.
#[derive(Clone, Copy, Debug)]
pub struct PodRow {
    /// `metadata.namespace`.
    pub namespace: NamespaceId,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// Position among [`PodTable::groups`], or [`PodRow::NO_GROUP`].
    group: u32,
    /// Whether the pod has a deletion timestamp.
    pub terminating: bool,
}

impl PodRow {
    const NO_GROUP: u32 = u32::MAX;

    /// The group of pods with the same required anti-affinity; `None` without any.
    #[inline]
    pub fn anti_affinity_group(&self) -> Option<usize> {
        (self.group != Self::NO_GROUP).then_some(self.group as usize)
    }
}

/// All pods' rows, and the groups of pods whose required anti-affinity is the same: same terms, same namespace.
#[derive(Clone, Debug)]
pub struct PodTable {
    rows: Vec<PodRow>,
    /// One pod of each group.
    pub groups: Vec<PodId>,
}

impl PodTable {
    /// The rows of a cluster's pods.
    pub fn new(cluster: &Cluster) -> Self {
        let mut groups = Vec::new();
        let mut known: FxHashMap<(NamespaceId, &[PodAffinityTerm]), u32> = FxHashMap::default();
        let mut row = |id: PodId| {
            let pod = cluster.pod(id);
            let terms = &*pod.spec.pod_anti_affinity;
            let group = if terms.is_empty() {
                PodRow::NO_GROUP
            } else {
                *known.entry((pod.namespace, terms)).or_insert_with(|| {
                    groups.push(id);
                    PodId::at(groups.len() - 1).0
                })
            };
            PodRow { namespace: pod.namespace, labels: pod.labels, group, terminating: pod.deleted.is_some() }
        };
        let rows = cluster.pod_range().map(&mut row).collect();
        PodTable { rows, groups }
    }

    /// A pod's row.
    #[inline]
    pub fn row(&self, pod: PodId) -> &PodRow {
        &self.rows[pod.index()]
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::scene;

    #[test]
    fn pods_of_one_template_share_a_group_within_a_namespace() {
        let apart = r#"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution:[{"topologyKey":"x","labelSelector":{}}]"#;
        let scene = scene(37, &format!("pod a {apart}\npod b {apart}\npod c\npod shop/a {apart}\nwant w"));
        let cluster = &scene.snapshot.cluster;
        let group = |name: &str| {
            let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
            scene.snapshot.pods.row(cluster.find_pod(namespace, name).unwrap()).anti_affinity_group()
        };
        assert!(group("a").is_some());
        assert_eq!(group("a"), group("b"));
        assert_eq!(group("c"), None);
        assert_ne!(group("a"), group("shop/a"));
        assert_eq!(scene.snapshot.pods.groups.len(), 2);
    }
}
