//! Rejects every node but the one that the pod names in `spec.nodeName`. Upstream: `nodename/node_name.go`.
//!
//! A pod that waits for a node names none. 1.37 narrows the nodes in PreFilter as well, which no such pod can show.

use crate::engine::framework::{Code, FilterPlugin, Gaps, Minds, PodCycle, PodFilter, PreFilter, Rejection, Verdict};
use crate::engine::node_view::NodeView;
use crate::kube::plugin::Plugin;
use crate::model::id::Symbol;

/// The plugin.
pub(crate) struct NodeName;

impl FilterPlugin for NodeName {
    fn plugin(&self) -> Plugin {
        Plugin::NodeName
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, _gaps: &mut Gaps) -> PreFilter<'a> {
        match cycle.incoming().node_name {
            None => PreFilter::Skip,
            Some(name) => PreFilter::Run { filter: Box::new(Named { name }), nodes: None },
        }
    }
}

#[derive(Clone, Copy)]
struct Named {
    name: Symbol,
}

impl PodFilter for Named {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        if view.node().name == self.name {
            Verdict::Fits
        } else {
            Verdict::Rejects(Rejection::OtherNodeName, Code::Unresolvable)
        }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(*self)
    }
}
