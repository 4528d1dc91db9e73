//! The order in which the scheduler walks the nodes: zones in turn. Upstream: `backend/cache/node_tree.go`.

use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, Symbol};
use rustc_hash::FxHashMap;

const ZONE_KEYS: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
const REGION_KEYS: [&str; 2] = ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];

/// Nodes of a cluster in the scheduler's order, for nodes that arrived by name: round robin over the zones, zones in the
/// order of their first node. The beta label is preferred wherever its key is present, even with an empty value.
pub(super) fn of(cluster: &Cluster) -> Vec<NodeId> {
    let keys = |names: [&str; 2]| names.map(|name| cluster.symbols.get(name));
    let (zone_keys, region_keys) = (keys(ZONE_KEYS), keys(REGION_KEYS));
    let empty = cluster.symbols.get("");
    let value = |node: NodeId, keys: &[Option<Symbol>; 2]| {
        let set = cluster.node(node).labels;
        let found = keys.iter().flatten().find_map(|key| cluster.label_sets.value(set, *key));
        found.filter(|it| Some(*it) != empty)
    };
    let mut zones: Vec<Vec<NodeId>> = Vec::new();
    let mut zone_ids: FxHashMap<(Option<Symbol>, Option<Symbol>), usize> = FxHashMap::default();
    for node in cluster.node_range() {
        let zone = *zone_ids.entry((value(node, &region_keys), value(node, &zone_keys))).or_insert(zones.len());
        if zone == zones.len() {
            zones.push(Vec::new());
        }
        zones[zone].push(node);
    }
    let longest = zones.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|pass| zones.iter().filter_map(move |nodes| nodes.get(pass).copied())).collect()
}
