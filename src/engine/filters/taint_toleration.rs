//! Rejects a node whose `NoSchedule` or `NoExecute` taints the pod does not tolerate.
//! Upstream: `tainttoleration/taint_toleration.go`. Preemption cannot help, so the code is unresolvable.

use crate::engine::framework::{Code, FilterPlugin, Gaps, Minds, PodCycle, PodFilter, PreFilter, Rejection, Verdict};
use crate::engine::node_match;
use crate::engine::node_view::NodeView;
use crate::kube::behavior::AffinityBehavior;
use crate::kube::plugin::Plugin;
use crate::model::pod::PodSpec;

/// The plugin.
pub(crate) struct TaintToleration;

impl FilterPlugin for TaintToleration {
    fn plugin(&self) -> Plugin {
        Plugin::TaintToleration
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, _gaps: &mut Gaps) -> PreFilter<'a> {
        let spec = &*cycle.incoming().spec;
        let behavior = &cycle.snapshot.behavior.affinity;
        PreFilter::Run { filter: Box::new(Tolerations { spec, behavior }), nodes: None }
    }
}

#[derive(Clone, Copy)]
struct Tolerations<'a> {
    spec: &'a PodSpec,
    behavior: &'a AffinityBehavior,
}

impl PodFilter for Tolerations<'_> {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        match node_match::first_untolerated_taint(self.spec, view.node(), view.cluster(), self.behavior) {
            None => Verdict::Fits,
            Some(at) => {
                let taint = u32::try_from(at).unwrap_or(u32::MAX);
                Verdict::Rejects(Rejection::UntoleratedTaint { taint }, Code::Unresolvable)
            }
        }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{check, scene};

    #[test]
    fn the_first_taint_that_keeps_the_pod_out_is_told() {
        let text = "
            node a taint:soft=x:PreferNoSchedule taint:gpu=only:NoSchedule taint:down:NoExecute
            want w tolerate:gpu=only:NoSchedule";
        let verdict = scene(34, text).status("a").unwrap().verdict;
        assert_eq!(verdict, Verdict::Rejects(Rejection::UntoleratedTaint { taint: 2 }, Code::Unresolvable));
    }

    #[test]
    fn a_toleration_without_an_effect_tolerates_every_effect() {
        check(34, "node a taint:gpu=only:NoSchedule taint:gpu=only:NoExecute\nwant w tolerate:gpu=only", "fits a");
    }
}
