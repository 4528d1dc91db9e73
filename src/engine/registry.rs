//! The static registry of filter plugins.

use super::filters::dynamic_resources::DynamicResources;
use super::filters::inter_pod_affinity::InterPodAffinity;
use super::filters::pod_topology_spread::PodTopologySpread;
use super::framework::FilterPlugin;
use crate::kube::plugin::Plugin;

/// Every filter plugin that is computed, in the default order of the newest release.
pub static FILTERS: &[&dyn FilterPlugin] = &[&PodTopologySpread, &InterPodAffinity, &DynamicResources];

/// The plugin's code, if it has a PreFilter or a Filter.
pub fn find(plugin: Plugin) -> Option<&'static dyn FilterPlugin> {
    FILTERS.iter().copied().find(|it| it.plugin() == plugin)
}
