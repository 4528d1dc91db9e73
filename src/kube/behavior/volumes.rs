//! Volumes.

use super::behaviors;
use crate::kube::gates::Gate;

behaviors! {
    /// Volumes.
    pub struct VolumesBehavior {
        /// What a ReadWriteOncePod claim in use does. Upstream: `volumerestrictions/volume_restrictions.go`.
        read_write_once_pod: ReadWriteOncePod {
            /// Nothing.
            Ignored,
            /// PreFilter rejects the pod: preemption cannot help.
            PreFilter,
            /// Filter rejects every node, and preemption of the holder helps.
            Filter,
        } = |r, g| if !g.on(Gate::ReadWriteOncePod) { Ignored } else if r.since(27) { Filter } else { PreFilter },
            proof "";
    }
}
