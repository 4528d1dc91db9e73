//! Sentences that users see.

use super::behaviors;

behaviors! {
    /// Sentences that users see.
    pub struct TextsBehavior {
        /// How an untolerated taint is told. Upstream: `tainttoleration/taint_toleration.go` (#135023).
        taint: TaintText {
            /// `node(s) had taint {KEY: VALUE}, that the pod didn't tolerate`.
            HadTaint,
            /// `node(s) had untolerated taint {KEY: VALUE}`.
            Untolerated,
            /// `node(s) had untolerated taint(s)`.
            WithoutKey,
        } = |r, _g| if r.since_patched(35, &[(34, 2)]) { WithoutKey } else if r.since(24) { Untolerated } else { HadTaint },
            proof "";
    }
}
