//! Whether a pod may preempt. Upstream: `defaultpreemption/default_preemption.go` PodEligibleToPreemptOthers.

use super::super::framework::PodCycle;
use super::super::outcome::Eligibility;
use super::statuses::Statuses;
use crate::kube::behavior::{GuardLifted, PolicyNever, TerminatingGuard};
use crate::model::id::{NodeId, PodId};
use crate::model::pod::{Disruption, Pod};

/// Whether the pod of the cycle may preempt, given what this cycle told the nodes.
pub(crate) fn of(cycle: &PodCycle<'_>, statuses: &Statuses<'_>) -> Eligibility {
    let behavior = &cycle.snapshot.behavior.preemption;
    let never = match behavior.policy_never {
        PolicyNever::Honoured => cycle.incoming().spec.never_preempts,
        PolicyNever::Ignored => false,
    };
    if never {
        return Eligibility::PolicyNever;
    }
    let nominated = cycle.incoming().nominated_node_name.and_then(|name| cycle.cluster().node_of(name));
    let Some(node) = nominated else { return Eligibility::Eligible };
    let lifted = match behavior.guard_lifted {
        GuardLifted::Never => false,
        GuardLifted::ToldUnresolvable => statuses.is_told_unresolvable(node),
        GuardLifted::Unresolvable => statuses.is_unresolvable(node),
    };
    match terminating_pod(cycle, node, behavior.terminating_guard) {
        Some(pod) if !lifted => Eligibility::TerminatingPod { pod, node },
        Some(_) | None => Eligibility::Eligible,
    }
}

/// The first pod of lower priority that is going from the node already, and so will make room.
fn terminating_pod(cycle: &PodCycle<'_>, node: NodeId, guard: TerminatingGuard) -> Option<PodId> {
    let priority = cycle.incoming().priority();
    let goes = |pod: &Pod| pod.deleted.is_some() && pod.priority() < priority && counts(pod, guard);
    cycle.snapshot.info(node).pods.iter().copied().find(|pod| goes(cycle.cluster().pod(*pod)))
}

fn counts(pod: &Pod, guard: TerminatingGuard) -> bool {
    match guard {
        TerminatingGuard::AnyLowerPriority => true,
        TerminatingGuard::PreemptedByScheduler => match pod.disruption {
            Disruption::PreemptionByScheduler => true,
            // 1.26 wrote this reason, and no later release knows it.
            Disruption::PreemptionByKubeScheduler | Disruption::None | Disruption::Other => false,
        },
    }
}
