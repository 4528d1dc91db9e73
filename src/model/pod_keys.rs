//! `namespace/name` of every pod of a cluster.

use super::cluster::Cluster;
use super::id::PodId;
use std::sync::OnceLock;

/// The keys of all pods, made together when somebody first asks: a report about a large cluster names most of them.
///
/// They are no part of what a dump says: a copy of a cluster makes its own, and equality passes over them.
#[derive(Debug, Default)]
pub struct PodKeys(OnceLock<Texts>);

#[derive(Debug)]
struct Texts {
    /// The keys one behind the other, those of one node together, as reports name them.
    text: String,
    /// By [`PodId`], which of the keys it is.
    places: Vec<u32>,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl PodKeys {
    pub(super) fn get(&self, cluster: &Cluster, pod: PodId) -> &str {
        let Texts { text, places, ends } = self.0.get_or_init(|| Texts::of(cluster));
        let place = places[pod.index()] as usize;
        let begin = place.checked_sub(1).map_or(0, |before| ends[before]);
        &text[begin..ends[place]]
    }
}

impl Texts {
    fn of(cluster: &Cluster) -> Self {
        let mut order: Vec<PodId> = cluster.pod_range().collect();
        order.sort_by_key(|pod| cluster.pod(*pod).node.map_or(usize::MAX, super::id::NodeId::index));
        let mut texts = Texts { text: String::new(), places: vec![0; order.len()], ends: Vec::new() };
        for (place, id) in (0..).zip(&order) {
            let pod = cluster.pod(*id);
            texts.text.push_str(cluster.namespace_name(pod.namespace));
            texts.text.push('/');
            texts.text.push_str(cluster.text(pod.name));
            texts.places[id.index()] = place;
            texts.ends.push(texts.text.len());
        }
        texts
    }
}

impl Clone for PodKeys {
    fn clone(&self) -> Self {
        PodKeys::default()
    }
}

impl PartialEq for PodKeys {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::scene;

    #[test]
    fn every_pod_has_the_key_that_it_has_by_itself() {
        let text =
            "node a\nnode b\npod shop/z on=a\npod shop/b on=b\npod db/a on=a\npod c on=b\nwant w\npod x/late on=gone";
        let cluster = &scene(37, text).snapshot.cluster;
        assert!(cluster.pods.len() == 6);
        for pod in cluster.pod_range() {
            assert_eq!(cluster.pod_key_text(pod), cluster.pod_key(pod));
        }
    }
}
