//! Profiles: which plugins run, in which order, with which arguments.

use super::plugin::Plugin;
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

/// A default spread constraint; its selector is derived from what owns the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultSpreadConstraint {
    /// `maxSkew`.
    pub max_skew: i64,
    /// `topologyKey`.
    pub topology_key: Symbol,
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
