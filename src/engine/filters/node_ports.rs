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

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    #[test]
    fn a_host_port_is_free_once_its_holder_is_evicted() {
        let text = "
            node a
            pod x on=a port=80
            want w port=80 prio=9";
        check(34, text, "a: evict default/x");
    }

    #[test]
    fn addresses_conflict_if_equal_or_if_one_is_every_address() {
        let ports =
            |ip: &str| format!(r#"spec.containers.0.ports:[{{"containerPort":80,"hostPort":80,"hostIP":"{ip}"}}]"#);
        let held = |held: &str, wanted: &str| format!("node a\npod x on=a {}\nwant w {}", ports(held), ports(wanted));
        check(34, &held("10.0.0.1", "10.0.0.2"), "fits a");
        check(34, &held("10.0.0.1", "10.0.0.1"), "no candidates");
        check(34, &held("10.0.0.1", "0.0.0.0"), "no candidates");
        check(34, &held("::", "10.0.0.1"), "fits a");
    }

    #[test]
    fn ports_of_sidecars_count_from_1_34_on() {
        let sidecar = r#"spec.initContainers:[{"name":"s","restartPolicy":"Always","ports":[{"containerPort":80,"hostPort":80}]}]"#;
        let text = format!("node a\npod x on=a {sidecar}\nwant w port=80");
        check(32, &text, "fits a");
        check(34, &text, "no candidates");
    }

    #[test]
    fn one_of_two_holders_of_a_port_frees_it_for_both() {
        let text = "
            node a
            pod high on=a port=80 prio=100
            pod low on=a port=80
            want w port=80 prio=9";
        check(34, text, "a: evict default/low");
    }
}
