//! PodDisruptionBudgets.

use super::cluster::Origin;
use super::id::{NamespaceId, Symbol};
use super::selector::LabelSelector;

/// A PodDisruptionBudget, with the status that preemption reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Pdb {
    /// `metadata.namespace`; only pods of it match.
    pub namespace: NamespaceId,
    /// `metadata.name`.
    pub name: Symbol,
    /// `spec.selector`.
    pub selector: LabelSelector,
    /// `status.disruptionsAllowed`; may be negative.
    pub disruptions_allowed: i64,
    /// Names of pods whose eviction the budget has already counted: `status.disruptedPods`, sorted.
    pub disrupted_pods: Box<[Symbol]>,
    /// `status.currentHealthy`, `status.desiredHealthy`, `status.expectedPods`, for people only.
    pub health: Option<PdbHealth>,
    /// The object has no `status`: the budget counts as 0, and the answer has a gap.
    pub status_missing: bool,
    /// The group-version was `policy/v1beta1`.
    pub v1beta1: bool,
    /// Where the object was read.
    pub origin: Origin,
}

/// How many pods of a budget are healthy and have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdbHealth {
    /// Healthy pods.
    pub current: i64,
    /// Healthy pods that the budget wants.
    pub desired: i64,
    /// Pods that the budget counts.
    pub expected: i64,
}

/// A PriorityClass; the scheduler never reads it, people do.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityClass {
    /// `metadata.name`.
    pub name: Symbol,
    /// `value`.
    pub value: i32,
    /// `globalDefault`.
    pub global_default: bool,
    /// `preemptionPolicy: Never`.
    pub never_preempts: bool,
    /// Where the object was read.
    pub origin: Origin,
}
