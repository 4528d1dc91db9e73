//! What pods ask for, and what nodes have, in integers. Upstream: `component-helpers/resource/helpers.go`.

use crate::kube::behavior::RequestsBehavior;
use crate::model::node::Node;
use crate::model::pod::RequestParts;
use crate::model::resources::Resources;

/// What the incoming pod asks for: its status is never looked at.
pub fn incoming(_parts: &RequestParts, _behavior: &RequestsBehavior) -> Resources {
    Resources::default()
}

/// What a pod on a node takes.
pub fn footprint(_parts: &RequestParts, _behavior: &RequestsBehavior) -> Resources {
    Resources::default()
}

/// What a node has.
pub fn allocatable(_node: &Node) -> Resources {
    Resources::default()
}

/// Whether host ports of sidecars count.
pub fn sidecar_ports_count(_behavior: &RequestsBehavior) -> bool {
    true
}
