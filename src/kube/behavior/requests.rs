//! What pods ask for and what a node's resources reject.

use super::behaviors;

behaviors! {
    /// What pods ask for and what a node's resources reject.
    pub struct RequestsBehavior {
        /// When fractions are rounded up. Upstream: `types.go`, `fit.go` up to 1.26; `resource/helpers.go` since.
        rounding: RequestRounding {
            /// Each container's amount, before they are summed.
            PerContainer,
            /// The exact sum, once.
            Once,
        } = |r, _g| if r.since(27) { Once } else { PerContainer },
            proof "";
    }
}
