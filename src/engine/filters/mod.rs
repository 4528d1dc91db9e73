//! Filter plugins, one file each under upstream's name. A filter never imports another.

pub(crate) mod dynamic_resources;
pub(crate) mod inter_pod_affinity;
pub(crate) mod pod_topology_spread;
