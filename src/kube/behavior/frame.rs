//! The frame around the plugins.

use super::behaviors;

behaviors! {
    /// The frame around the plugins: order of checks, PreFilter rejections, narrowing.
    pub struct FrameBehavior {
        /// How many Filter plugins judge a node. Upstream: `runtime/framework.go` RunFilterPlugins (#114518).
        filter_run: FilterRun {
            /// The first that rejects ends the evaluation.
            FirstFailure,
            /// All run, and all rejections are merged.
            MergeAll,
        } = |r, _g| if r.since(24) && !r.since_patched(27, &[(24, 10), (25, 6), (26, 1)]) { MergeAll } else { FirstFailure },
            proof "";
    }
}
