//! One pod's scheduling cycle: PreFilter, Filter on every node, PostFilter. Upstream: `schedule_one.go`.

use super::framework::PodCycle;
use super::outcome::Outcome;

/// What the scheduler decides about one pod.
pub fn schedule(_cycle: &PodCycle<'_>) -> Outcome {
    unimplemented!()
}
