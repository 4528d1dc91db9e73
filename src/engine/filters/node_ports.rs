//! Rejects a node where another pod holds a host port that the pod wants. Upstream: `nodeports/node_ports.go`,
//! `types.go` HostPortInfo.

use crate::engine::framework::{Code, FilterPlugin, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict};
use crate::engine::node_view::NodeView;
use crate::engine::snapshot::PortKey;
use crate::kube::plugin::Plugin;
use crate::model::id::Symbol;

/// The plugin.
pub(crate) struct NodePorts;

/// The address that stands for all of a node's; its counterpart of IPv6 is a text like any other.
const ANY_ADDRESS: &str = "0.0.0.0";

impl FilterPlugin for NodePorts {
    fn plugin(&self) -> Plugin {
        Plugin::NodePorts
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, _gaps: &mut Gaps) -> PreFilter<'a> {
        let snapshot = cycle.snapshot;
        let ports: Vec<PortKey> = snapshot.ports(cycle.pod).collect();
        if ports.is_empty() {
            return PreFilter::Skip;
        }
        let any_address = snapshot.cluster.symbols.get(ANY_ADDRESS);
        PreFilter::Run { filter: Box::new(Wanted { ports, any_address }), nodes: None }
    }
}

#[derive(Clone)]
struct Wanted {
    ports: Vec<PortKey>,
    any_address: Option<Symbol>,
}

impl Wanted {
    fn conflicts(&self, wanted: &PortKey, used: &PortKey) -> bool {
        let any = |key: &PortKey| Some(key.ip) == self.any_address;
        wanted.protocol == used.protocol
            && wanted.port == used.port
            && (wanted.ip == used.ip || any(wanted) || any(used))
    }
}

impl PodFilter for Wanted {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        let used = view.used_ports();
        if self.ports.iter().any(|wanted| used.iter().any(|key| self.conflicts(wanted, key))) {
            Verdict::Rejects(Rejection::HostPorts, Code::Unschedulable)
        } else {
            Verdict::Fits
        }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}
