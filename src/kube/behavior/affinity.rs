//! InterPodAffinity, NodeAffinity, tolerations.

use super::behaviors;

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
    }
}
