//! Profiles: which plugins run, in which order, with which arguments.

use super::gates::Gates;
use super::plugin::Plugin;
use super::plugin_set::{self, ResolvedPlugins};
use super::release::Release;
use crate::model::affinity::InclusionPolicy;
use crate::model::id::Symbol;
use crate::model::selector::NodeSelector;

/// A scheduler profile, resolved against a release and compiled against a cluster's symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Filter plugins that fail on every node, because the profile leaves out their PreFilter.
    pub unprepared: Vec<Plugin>,
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
        Profile::with_plugins(DEFAULT_SCHEDULER, plugin_set::default_plugins(release, gates))
    }

    /// A profile with these plugins and every argument at its default.
    pub fn with_plugins(scheduler_name: &str, plugins: ResolvedPlugins) -> Self {
        Profile {
            scheduler_name: scheduler_name.to_owned(),
            filters: plugins.filters,
            pre_filters: plugins.pre_filters,
            post_filters: plugins.post_filters,
            pre_enqueues: plugins.pre_enqueues,
            unprepared: plugins.unprepared,
            added_affinity: None,
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            default_spread: Vec::new(),
            preemption: PreemptionArgs::default(),
        }
    }
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
