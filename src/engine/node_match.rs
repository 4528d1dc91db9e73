//! What a pod says of nodes, held against one node: node selector, required node affinity, tolerations.
//! Several filters ask this; upstream: `component-helpers/scheduling/corev1`.

use crate::kube::behavior::{AffinityBehavior, TolerationComparisons};
use crate::model::affinity::{Effect, Taint};
use crate::model::cluster::Cluster;
use crate::model::labels;
use crate::model::node::Node;
use crate::model::pod::PodSpec;

/// Whether the node meets the pod's `nodeSelector` and its required node affinity. A profile's added affinity is no part
/// of it.
pub(crate) fn matches_node_affinity(spec: &PodSpec, node: &Node, cluster: &Cluster) -> bool {
    let on_node = cluster.label_sets.pairs(node.labels);
    spec.node_selector.iter().all(|&(key, value)| labels::value(on_node, key) == Some(value))
        && spec.node_affinity.as_ref().is_none_or(|terms| terms.matches(&cluster.symbols, node.name, on_node))
}

/// Whether one of the pod's tolerations tolerates the taint.
pub(crate) fn tolerates(spec: &PodSpec, taint: &Taint, cluster: &Cluster, behavior: &AffinityBehavior) -> bool {
    let number = |symbol| canonical_int(cluster.text(symbol));
    let comparisons: Option<&dyn Fn(_) -> _> = match behavior.toleration_comparisons {
        TolerationComparisons::Unknown => None,
        TolerationComparisons::Integers => Some(&number),
    };
    spec.tolerations.iter().any(|toleration| toleration.tolerates(taint, comparisons))
}

/// The position of the first taint of effect `NoSchedule` or `NoExecute` that the pod does not tolerate.
pub(crate) fn first_untolerated_taint(
    spec: &PodSpec,
    node: &Node,
    cluster: &Cluster,
    behavior: &AffinityBehavior,
) -> Option<usize> {
    node.taints.iter().position(|taint| keeps_out(taint.effect) && !tolerates(spec, taint, cluster, behavior))
}

/// Whether a taint of this effect keeps new pods out.
fn keeps_out(effect: Effect) -> bool {
    match effect {
        Effect::NoSchedule | Effect::NoExecute => true,
        Effect::PreferNoSchedule | Effect::Other => false,
    }
}

/// A decimal 64-bit integer in the one form that the API accepts: no plus sign, no leading zero, no minus zero.
fn canonical_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::canonical_int;

    #[test]
    fn only_canonical_integers_are_compared() {
        assert_eq!(canonical_int("0"), Some(0));
        assert_eq!(canonical_int("-12"), Some(-12));
        assert_eq!(canonical_int("9223372036854775807"), Some(i64::MAX));
        for text in ["", "-", "-0", "+1", "01", "1.0", "9223372036854775808", " 1"] {
            assert_eq!(canonical_int(text), None, "{text:?}");
        }
    }
}
