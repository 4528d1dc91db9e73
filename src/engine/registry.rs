//! The static registry of filter plugins.

use super::filters::dynamic_resources::DynamicResources;
use super::filters::inter_pod_affinity::InterPodAffinity;
use super::filters::legacy_volume_limits::{AZURE_DISK_LIMITS, CINDER_LIMITS, EBS_LIMITS, GCE_PD_LIMITS};
use super::filters::node_affinity::NodeAffinity;
use super::filters::node_declared_features::NodeDeclaredFeatures;
use super::filters::node_name::NodeName;
use super::filters::node_ports::NodePorts;
use super::filters::node_resources_fit::NodeResourcesFit;
use super::filters::node_unschedulable::NodeUnschedulable;
use super::filters::node_volume_limits::NodeVolumeLimits;
use super::filters::pod_topology_spread::PodTopologySpread;
use super::filters::taint_toleration::TaintToleration;
use super::filters::volume_binding::VolumeBinding;
use super::filters::volume_restrictions::VolumeRestrictions;
use super::filters::volume_zone::VolumeZone;
use super::framework::FilterPlugin;
use crate::kube::plugin::Plugin;

/// Every filter plugin that is computed, in the default order of the newest release.
pub static FILTERS: &[&dyn FilterPlugin] = &[
    &NodeName,
    &NodeUnschedulable,
    &TaintToleration,
    &NodeAffinity,
    &NodePorts,
    &NodeResourcesFit,
    &VolumeRestrictions,
    &EBS_LIMITS,
    &GCE_PD_LIMITS,
    &NodeVolumeLimits,
    &AZURE_DISK_LIMITS,
    &CINDER_LIMITS,
    &VolumeBinding,
    &VolumeZone,
    &PodTopologySpread,
    &InterPodAffinity,
    &DynamicResources,
    &NodeDeclaredFeatures,
];

/// The plugin's code, if it has a PreFilter or a Filter.
pub fn find(plugin: Plugin) -> Option<&'static dyn FilterPlugin> {
    FILTERS.iter().copied().find(|it| it.plugin() == plugin)
}
