//! Profiles: which plugins run, in which order, with which arguments.

use super::gates::{Gate, Gates};
use super::plugin::Plugin;
use super::release::Release;
use crate::model::affinity::InclusionPolicy;
use crate::model::id::Symbol;
use crate::model::selector::NodeSelector;

/// A scheduler profile, resolved against a release and compiled against a cluster's symbols.
#[derive(Clone, Debug)]
pub struct Profile {
    /// `schedulerName` of the pods it schedules.
    pub scheduler_name: String,
    /// Filter plugins in order.
    pub filters: Vec<Plugin>,
    /// PreFilter plugins in order.
    pub pre_filters: Vec<Plugin>,
    /// PostFilter plugins in order.
    pub post_filters: Vec<Plugin>,
    /// PreEnqueue plugins in order.
    pub pre_enqueues: Vec<Plugin>,
    /// NodeAffinityArgs.addedAffinity.
    pub added_affinity: Option<NodeSelector>,
    /// NodeResourcesFitArgs.ignoredResources.
    pub ignored_resources: Vec<String>,
    /// NodeResourcesFitArgs.ignoredResourceGroups.
    pub ignored_resource_groups: Vec<String>,
    /// PodTopologySpreadArgs.defaultConstraints of kind DoNotSchedule, for pods without any constraint of their own.
    pub default_spread: Vec<DefaultSpreadConstraint>,
    /// DefaultPreemptionArgs.
    pub preemption: PreemptionArgs,
}

/// The name of the scheduler that schedules pods which name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

impl Profile {
    /// The profile of a scheduler without a configuration file.
    pub fn default_for(release: Release, gates: &Gates) -> Self {
        Profile {
            scheduler_name: DEFAULT_SCHEDULER.to_owned(),
            filters: default_filters(release, gates),
            pre_filters: default_pre_filters(release, gates),
            post_filters: default_post_filters(release, gates),
            pre_enqueues: default_pre_enqueues(gates),
            added_affinity: None,
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            default_spread: Vec::new(),
            preemption: PreemptionArgs::default(),
        }
    }
}

/// Upstream: `algorithmprovider/registry.go` up to 1.21, `apis/config/v1beta2/default_plugins.go` in 1.22,
/// `apis/config/v1/default_plugins.go` since.
fn default_filters(release: Release, gates: &Gates) -> Vec<Plugin> {
    use Plugin::*;
    if !release.since(20) {
        let mut all = vec![
            NodeUnschedulable,
            NodeResourcesFit,
            NodeName,
            NodePorts,
            NodeAffinity,
            VolumeRestrictions,
            TaintToleration,
            EBSLimits,
            GCEPDLimits,
            NodeVolumeLimits,
            AzureDiskLimits,
            VolumeBinding,
            VolumeZone,
        ];
        if release.since(19) {
            all.extend([PodTopologySpread, InterPodAffinity]);
        } else {
            all.push(InterPodAffinity);
            all.extend(gates.on(Gate::EvenPodsSpread).then_some(PodTopologySpread));
        }
        return all;
    }
    let mut all = if release.since(37) { vec![NodeName, NodeUnschedulable] } else { vec![NodeUnschedulable, NodeName] };
    all.extend([TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions]);
    if release.since(31) {
        all.push(NodeVolumeLimits);
    } else {
        all.extend([EBSLimits, GCEPDLimits, NodeVolumeLimits, AzureDiskLimits]);
    }
    all.extend([VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity]);
    all.extend(gates.on(Gate::DynamicResourceAllocation).then_some(DynamicResources));
    all.extend(gates.on(Gate::NodeDeclaredFeatures).then_some(NodeDeclaredFeatures));
    all
}

fn default_pre_filters(release: Release, gates: &Gates) -> Vec<Plugin> {
    use Plugin::*;
    if release.since(23) {
        // Every extension point follows one list; a plugin stands at those it implements.
        return default_filters(release, gates).into_iter().filter(|plugin| has_pre_filter(*plugin, release)).collect();
    }
    let mut all = vec![NodeResourcesFit, NodePorts];
    match release.minor {
        ..=18 => {
            all.push(InterPodAffinity);
            all.extend(gates.on(Gate::EvenPodsSpread).then_some(PodTopologySpread));
        }
        19 | 20 => all.extend([PodTopologySpread, InterPodAffinity, VolumeBinding]),
        21 => all.extend([PodTopologySpread, InterPodAffinity, VolumeBinding, NodeAffinity]),
        22.. => all.extend([VolumeRestrictions, PodTopologySpread, InterPodAffinity, VolumeBinding, NodeAffinity]),
    }
    all
}

/// Whether a plugin has a PreFilter upstream. Matters for the order in which PreFilter rejections are met.
pub fn has_pre_filter(plugin: Plugin, release: Release) -> bool {
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

/// Upstream: up to 1.18 preemption is no plugin; it runs all the same unless `disablePreemption` is set.
fn default_post_filters(release: Release, gates: &Gates) -> Vec<Plugin> {
    let claims = gates.on(Gate::DynamicResourceAllocation) && release.since(26);
    claims.then_some(Plugin::DynamicResources).into_iter().chain([Plugin::DefaultPreemption]).collect()
}

fn default_pre_enqueues(gates: &Gates) -> Vec<Plugin> {
    let held = gates.on(Gate::PodSchedulingReadiness).then_some(Plugin::SchedulingGates);
    let claims = gates.on(Gate::DynamicResourceAllocation).then_some(Plugin::DynamicResources);
    held.into_iter().chain(claims).collect()
}

/// A default spread constraint; its selector is derived from what owns the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultSpreadConstraint {
    /// `maxSkew`.
    pub max_skew: i64,
    /// `topologyKey`.
    pub topology_key: Symbol,
    /// `minDomains`.
    pub min_domains: Option<i64>,
    /// `nodeAffinityPolicy`.
    pub node_affinity_policy: Option<InclusionPolicy>,
    /// `nodeTaintsPolicy`.
    pub node_taints_policy: Option<InclusionPolicy>,
}

/// DefaultPreemptionArgs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptionArgs {
    /// `minCandidateNodesPercentage`.
    pub min_candidate_nodes_percentage: i32,
    /// `minCandidateNodesAbsolute`.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for PreemptionArgs {
    fn default() -> Self {
        PreemptionArgs { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}
