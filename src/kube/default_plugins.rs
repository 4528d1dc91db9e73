//! The plugins of a scheduler without a configuration file, and what each implements. Upstream:
//! `algorithmprovider/registry.go` up to 1.21, `apis/config/v1*/default_plugins.go` since.

use super::gates::{Gate, Gates};
use super::plugin::Plugin;
use super::release::Release;

/// An extension point that decides where a pod may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Before the queue.
    PreEnqueue,
    /// Once a pod.
    PreFilter,
    /// Once a node.
    Filter,
    /// Once no node fits: preemption.
    PostFilter,
}

impl Point {
    /// All of them.
    pub const ALL: [Point; 4] = [Point::PreEnqueue, Point::PreFilter, Point::Filter, Point::PostFilter];

    /// Its name in a configuration file.
    pub const fn field(self) -> &'static str {
        match self {
            Point::PreEnqueue => "preEnqueue",
            Point::PreFilter => "preFilter",
            Point::Filter => "filter",
            Point::PostFilter => "postFilter",
        }
    }

    /// The name of its Go interface, which upstream's errors name.
    pub const fn interface(self) -> &'static str {
        match self {
            Point::PreEnqueue => "PreEnqueuePlugin",
            Point::PreFilter => "PreFilterPlugin",
            Point::Filter => "FilterPlugin",
            Point::PostFilter => "PostFilterPlugin",
        }
    }
}

/// Whether a plugin implements an extension point in a release.
pub fn implements(plugin: Plugin, point: Point, release: Release) -> bool {
    match point {
        Point::PreEnqueue => match plugin {
            Plugin::SchedulingGates | Plugin::DynamicResources => release.since(26),
            // It waits for its own evictions, of which a dump knows nothing.
            Plugin::DefaultPreemption => release.since(32),
            _ => false,
        },
        Point::PreFilter => has_pre_filter(plugin, release),
        Point::Filter => !matches!(plugin, Plugin::SchedulingGates | Plugin::DefaultPreemption),
        Point::PostFilter => matches!(plugin, Plugin::DefaultPreemption | Plugin::DynamicResources),
    }
}

/// Whether a release has a plugin.
pub(super) fn is_in(plugin: Plugin, release: Release) -> bool {
    match plugin {
        // 1.18 preempts without a plugin; it stands here for that.
        Plugin::DefaultPreemption => true,
        Plugin::EBSLimits | Plugin::GCEPDLimits | Plugin::AzureDiskLimits | Plugin::CinderLimits => !release.since(31),
        Plugin::DynamicResources | Plugin::SchedulingGates => release.since(26),
        Plugin::NodeDeclaredFeatures => release.since(35),
        Plugin::NodeUnschedulable
        | Plugin::NodeName
        | Plugin::TaintToleration
        | Plugin::NodeAffinity
        | Plugin::NodePorts
        | Plugin::NodeResourcesFit
        | Plugin::VolumeRestrictions
        | Plugin::NodeVolumeLimits
        | Plugin::VolumeBinding
        | Plugin::VolumeZone
        | Plugin::PodTopologySpread
        | Plugin::InterPodAffinity => true,
    }
}

/// Matters for the order in which PreFilter rejections are met.
fn has_pre_filter(plugin: Plugin, release: Release) -> bool {
    match plugin {
        Plugin::NodeResourcesFit | Plugin::NodePorts | Plugin::InterPodAffinity | Plugin::PodTopologySpread => true,
        Plugin::VolumeBinding => release.since(19),
        Plugin::NodeAffinity => release.since(21),
        Plugin::VolumeRestrictions => release.since(22),
        Plugin::DynamicResources => release.since(26),
        Plugin::VolumeZone => release.since(27),
        Plugin::EBSLimits
        | Plugin::GCEPDLimits
        | Plugin::NodeVolumeLimits
        | Plugin::AzureDiskLimits
        | Plugin::CinderLimits => release.since(28),
        Plugin::NodeDeclaredFeatures => release.since(35),
        Plugin::NodeName | Plugin::NodeUnschedulable | Plugin::TaintToleration => release.since(37),
        Plugin::SchedulingGates | Plugin::DefaultPreemption => false,
    }
}

/// Whether a plugin's Filter fails where its PreFilter did not run; the others work out then what they need.
pub(super) fn needs_pre_filter(plugin: Plugin, release: Release) -> bool {
    match plugin {
        Plugin::NodeResourcesFit | Plugin::NodePorts | Plugin::InterPodAffinity | Plugin::PodTopologySpread => true,
        Plugin::VolumeBinding => release.since(19),
        Plugin::DynamicResources => release.since(26),
        Plugin::VolumeRestrictions => release.since(27),
        Plugin::NodeDeclaredFeatures => release.since(35),
        Plugin::NodeName
        | Plugin::NodeUnschedulable
        | Plugin::TaintToleration
        | Plugin::NodeAffinity
        | Plugin::NodeVolumeLimits
        | Plugin::EBSLimits
        | Plugin::GCEPDLimits
        | Plugin::AzureDiskLimits
        | Plugin::CinderLimits
        | Plugin::VolumeZone
        | Plugin::SchedulingGates
        | Plugin::DefaultPreemption => false,
    }
}

/// The plugins in the order in which MultiPoint has them (1.23 and newer, configurations v1beta3 and v1).
pub(super) fn multi_point(release: Release, gates: &Gates) -> Vec<Plugin> {
    use Plugin::*;
    let held = gates.on(Gate::PodSchedulingReadiness);
    let mut all = Vec::with_capacity(24);
    all.extend((held && release.since(30)).then_some(SchedulingGates));
    all.extend(filters(release, gates).into_iter().filter(|plugin| *plugin != NodeDeclaredFeatures));
    all.push(DefaultPreemption);
    all.extend((held && !release.since(30)).then_some(SchedulingGates));
    all.extend(gates.on(Gate::NodeDeclaredFeatures).then_some(NodeDeclaredFeatures));
    all
}

/// The plugins of one extension point where each has a list of its own (up to 1.22, and v1beta2 as long as it was read).
pub(super) fn at_point(point: Point, release: Release, gates: &Gates) -> Vec<Plugin> {
    match point {
        Point::PreEnqueue => {
            gates.on(Gate::PodSchedulingReadiness).then_some(Plugin::SchedulingGates).into_iter().collect()
        }
        Point::PreFilter => pre_filters(release, gates),
        Point::Filter => filters(release, gates).into_iter().filter(|it| *it != Plugin::DynamicResources).collect(),
        Point::PostFilter => vec![Plugin::DefaultPreemption],
    }
}

fn filters(release: Release, gates: &Gates) -> Vec<Plugin> {
    use Plugin::*;
    let mut all = match release.minor {
        ..=19 => vec![
            NodeUnschedulable,
            NodeResourcesFit,
            NodeName,
            NodePorts,
            NodeAffinity,
            VolumeRestrictions,
            TaintToleration,
        ],
        20..=36 => vec![
            NodeUnschedulable,
            NodeName,
            TaintToleration,
            NodeAffinity,
            NodePorts,
            NodeResourcesFit,
            VolumeRestrictions,
        ],
        37.. => vec![
            NodeName,
            NodeUnschedulable,
            TaintToleration,
            NodeAffinity,
            NodePorts,
            NodeResourcesFit,
            VolumeRestrictions,
        ],
    };
    if release.since(31) {
        all.push(NodeVolumeLimits);
    } else {
        all.extend([EBSLimits, GCEPDLimits, NodeVolumeLimits, AzureDiskLimits]);
    }
    all.extend([VolumeBinding, VolumeZone]);
    if release.since(19) {
        all.extend([PodTopologySpread, InterPodAffinity]);
    } else {
        all.push(InterPodAffinity);
        all.extend(gates.on(Gate::EvenPodsSpread).then_some(PodTopologySpread));
    }
    all.extend(gates.on(Gate::DynamicResourceAllocation).then_some(DynamicResources));
    all.extend(gates.on(Gate::NodeDeclaredFeatures).then_some(NodeDeclaredFeatures));
    all
}

fn pre_filters(release: Release, gates: &Gates) -> Vec<Plugin> {
    use Plugin::*;
    let mut all = vec![NodeResourcesFit, NodePorts];
    match release.minor {
        ..=18 => {
            all.push(InterPodAffinity);
            all.extend(gates.on(Gate::EvenPodsSpread).then_some(PodTopologySpread));
        }
        19 | 20 => all.extend([PodTopologySpread, InterPodAffinity, VolumeBinding]),
        21 => all.extend([PodTopologySpread, InterPodAffinity, VolumeBinding, NodeAffinity]),
        22..=26 => all.extend([VolumeRestrictions, PodTopologySpread, InterPodAffinity, VolumeBinding, NodeAffinity]),
        27.. => {
            all.extend([
                VolumeRestrictions,
                PodTopologySpread,
                InterPodAffinity,
                VolumeBinding,
                VolumeZone,
                NodeAffinity,
            ]);
        }
    }
    all
}

/// Names of upstream's plugins that change no verdict and no victim: they sort, score or bind.
const HARMLESS: [&str; 12] = [
    "PrioritySort",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesLeastAllocated",
    "NodeResourcesMostAllocated",
    "RequestedToCapacityRatio",
    "ImageLocality",
    "SelectorSpread",
    "DefaultPodTopologySpread",
    "NodePreferAvoidPods",
    "DefaultBinder",
    "TopologyPlacementGenerator",
    "PodGroupPodsCount",
];

/// Whether a plugin of this name changes no verdict and no victim, though this program does not model it.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}
