//! InterPodAffinity, NodeAffinity, tolerations.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// InterPodAffinity, NodeAffinity, tolerations.
    pub struct AffinityBehavior {
        /// Which check of InterPodAffinity comes first. Upstream: `interpodaffinity/filtering.go`.
        check_order: AffinityCheckOrder {
            /// Existing pods' anti-affinity, affinity, anti-affinity.
            ExistingFirst,
            /// Affinity, anti-affinity, existing pods' anti-affinity.
            AffinityFirst,
        } = |r, _g| if r.since(19) { AffinityFirst } else { ExistingFirst },
            proof "";
        /// What the toleration operators `Lt` and `Gt` do. Upstream: `api/core/v1/toleration.go`.
        toleration_comparisons: TolerationComparisons {
            /// Nothing: such a toleration tolerates no taint.
            Unknown,
            /// They compare integers.
            Integers,
        } = |_r, g| if g.on(Gate::TaintTolerationComparisonOperators) { Integers } else { Unknown },
            proof "";
    }
}
