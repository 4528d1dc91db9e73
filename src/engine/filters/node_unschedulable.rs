//! Rejects a cordoned node, unless the pod tolerates the taint that stands for cordoning.
//! Upstream: `nodeunschedulable/node_unschedulable.go`. Preemption cannot help, so the code is unresolvable.

use crate::engine::framework::{Code, FilterPlugin, Gaps, Minds, PodCycle, PodFilter, PreFilter, Rejection, Verdict};
use crate::engine::node_view::NodeView;
use crate::kube::plugin::Plugin;
use crate::model::affinity::{Effect, Toleration, TolerationOperator};
use crate::model::cluster::Cluster;
use crate::model::id::Symbol;

/// The plugin.
pub(crate) struct NodeUnschedulable;

/// The taint `node.kubernetes.io/unschedulable:NoSchedule`, without a value. The node need not carry it.
const CORDON_KEY: &str = "node.kubernetes.io/unschedulable";

impl FilterPlugin for NodeUnschedulable {
    fn plugin(&self) -> Plugin {
        Plugin::NodeUnschedulable
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, _gaps: &mut Gaps) -> PreFilter<'a> {
        let cluster = cycle.cluster();
        let key = cluster.symbols.get(CORDON_KEY);
        if cycle.incoming().spec.tolerations.iter().any(|it| tolerates_cordon(it, key, cluster)) {
            return PreFilter::Skip;
        }
        PreFilter::Run { filter: Box::new(Intolerant), nodes: None }
    }
}

fn tolerates_cordon(toleration: &Toleration, key: Option<Symbol>, cluster: &Cluster) -> bool {
    if toleration.effect.is_some_and(|effect| effect != Effect::NoSchedule) {
        return false;
    }
    if toleration.key.is_some() && toleration.key != key {
        return false;
    }
    match toleration.operator {
        TolerationOperator::Exists => true,
        TolerationOperator::Equal => cluster.text(toleration.value).is_empty(),
        // The taint has no value, which is not a number.
        TolerationOperator::Lt | TolerationOperator::Gt | TolerationOperator::Unknown => false,
    }
}

#[derive(Clone, Copy)]
struct Intolerant;

impl PodFilter for Intolerant {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        if view.node().unschedulable {
            Verdict::Rejects(Rejection::Cordoned, Code::Unresolvable)
        } else {
            Verdict::Fits
        }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    #[test]
    fn a_cordoned_node_takes_pods_that_tolerate_its_taint_even_without_it() {
        let cordoned = |word: &str| format!("node a cordoned\nnode b\nwant w {word}");
        check(34, &cordoned(""), "fits b");
        check(34, &cordoned("tolerate:node.kubernetes.io/unschedulable:NoSchedule"), "fits a, b");
        check(34, &cordoned("tolerate:node.kubernetes.io/unschedulable:NoExecute"), "fits b");
        check(34, &cordoned("tolerate:node.kubernetes.io/unschedulable=x:NoSchedule"), "fits b");
    }
}
