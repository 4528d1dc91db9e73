//! PodTopologySpread.

use super::behaviors;

behaviors! {
    /// PodTopologySpread.
    pub struct SpreadBehavior {
        /// The code of a node without a constraint's topology label. Upstream: `podtopologyspread/filtering.go`.
        missing_label: SpreadMissingLabel {
            /// Unschedulable, with the words of a skew.
            Unschedulable,
            /// UnschedulableAndUnresolvable, with words of its own.
            Unresolvable,
        } = |r, _g| if r.since(19) { Unresolvable } else { Unschedulable },
            proof "";
    }
}
