//! Rejects a node on which the devices that a pod's resource claims ask for are not to be had.
//! Upstream: `plugins/dynamicresources`, in default profiles since 1.34.
//!
//! Allocation is not computed: a pod with claims gets a gap on every node, which makes its answer undetermined.

use crate::engine::framework::{
    FilterPlugin, Gap, GapEffect, GapSet, Gaps, Minds, PodCycle, PodFilter, PreFilter, Verdict,
};
use crate::engine::node_view::NodeView;
use crate::kube::plugin::Plugin;
use crate::model::cluster::Kind;

/// The plugin.
pub(crate) struct DynamicResources;

impl FilterPlugin for DynamicResources {
    fn plugin(&self) -> Plugin {
        Plugin::DynamicResources
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        if cycle.incoming().spec.resource_claims.is_empty() {
            return PreFilter::Skip;
        }
        let gap = gaps.note(Gap {
            kind: Kind::ResourceClaim,
            plugin: Plugin::DynamicResources,
            object: None,
            effect: GapEffect::NotModelled,
        });
        PreFilter::Run { filter: Box::new(Unallocated { gap }), nodes: None }
    }
}

/// Claims that nobody allocated.
struct Unallocated {
    gap: GapSet,
}

impl PodFilter for Unallocated {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, _view: &NodeView<'_>) -> Verdict {
        Verdict::Fits
    }

    fn gaps_at(&self, _view: &NodeView<'_>) -> GapSet {
        self.gap
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(Unallocated { gap: self.gap })
    }
}
