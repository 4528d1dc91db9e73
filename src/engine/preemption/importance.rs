//! Which of two victims is more important. Upstream: `util/utils.go` MoreImportantPod, `preemption/util.go`.

use super::super::go_sort;
use crate::kube::behavior::{MissingStart, PreemptionBehavior};
use crate::model::id::PodId;
use crate::model::pod::Pod;
use crate::model::time::Time;

/// What the order of victims compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Importance {
    /// The pod.
    pub(crate) pod: PodId,
    /// Its priority.
    pub(crate) priority: i32,
    /// Its start; `None` counts as now.
    pub(crate) started: Option<Time>,
    /// Position among the pods of its node.
    pub(crate) position: u32,
}

impl Importance {
    /// Of no pod, where one is still to come.
    pub(crate) const NOBODY: Importance = Importance { pod: PodId(0), priority: 0, started: None, position: 0 };

    pub(crate) fn of(id: PodId, pod: &Pod, position: u32) -> Self {
        Importance { pod: id, priority: pod.priority(), started: pod.started, position }
    }

    /// Whether nothing but their places in the scheduler's memory tells two pods apart.
    pub(crate) fn equals(&self, other: &Importance) -> bool {
        self.priority == other.priority && self.started == other.started
    }
}

/// Sorts the most important first, as the release does.
pub(crate) fn sort(pods: &mut [Importance], behavior: &PreemptionBehavior, now: Time) {
    match behavior.missing_start {
        MissingStart::NowAtEachComparison => {
            go_sort::sort(pods, behavior.sort, |one, other| more_important(one, other, now, |_, _| true));
        }
        MissingStart::NowOnce => {
            let earlier = |one: &Importance, other: &Importance| one.position < other.position;
            go_sort::sort(pods, behavior.sort, |one, other| more_important(one, other, now, earlier));
        }
    }
}

/// Higher priority first, then the earlier start. A pod without start time counts as started now, and `unstarted` tells
/// which of two such pods is asked to be the earlier one.
fn more_important(
    one: &Importance,
    other: &Importance,
    now: Time,
    unstarted: impl Fn(&Importance, &Importance) -> bool,
) -> bool {
    if one.priority != other.priority {
        return one.priority > other.priority;
    }
    match (one.started, other.started) {
        (Some(one), Some(other)) => one < other,
        (Some(one), None) => one <= now,
        (None, Some(other)) => now < other,
        (None, None) => unstarted(one, other),
    }
}
