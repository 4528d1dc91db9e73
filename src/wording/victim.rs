//! What a victim is told: its event and its condition. Upstream: `preemption.go` prepareCandidate.

use crate::kube::behavior::{TextsBehavior, VictimCondition, VictimEventText};
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use std::borrow::Cow;

/// The longest note of an event, in bytes. Upstream: `validation.NoteLengthLimit`.
const NOTE_LIMIT: usize = 1024;

/// A condition of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: &'static str,
    /// Its reason.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

/// The note of the event `Preempted` on a victim.
pub fn victim_event(texts: &TextsBehavior, cluster: &Cluster, preemptor: PodId, node: NodeId) -> String {
    let on = cluster.text(cluster.node(node).name);
    match texts.victim_event {
        VictimEventText::ByName => format!("Preempted by {} on node {on}", cluster.pod_key(preemptor)),
        VictimEventText::ByAPod => format!("Preempted by a pod on node {on}"),
        VictimEventText::ByUid => {
            let uid = cluster.pod(preemptor).uid.map_or(Cow::Borrowed(""), |uid| cluster.uid(uid));
            format!("Preempted by pod {uid} on node {on}")
        }
    }
}

/// The condition that a victim gets before it is deleted.
pub fn victim_condition(texts: &TextsBehavior, cluster: &Cluster, preemptor: PodId) -> Option<Condition> {
    let accommodate = || {
        let scheduler = cluster.text(cluster.pod(preemptor).spec.scheduler_name);
        format!("{scheduler}: preempting to accommodate a higher priority pod")
    };
    let (reason, message) = match texts.victim_condition {
        VictimCondition::None => return None,
        VictimCondition::KubeSchedulerPreempting => {
            ("PreemptionByKubeScheduler", "Kube-scheduler: preempting".to_owned())
        }
        VictimCondition::ByKubeScheduler => ("PreemptionByKubeScheduler", accommodate()),
        VictimCondition::ByScheduler => ("PreemptionByScheduler", accommodate()),
    };
    Some(Condition { kind: "DisruptionTarget", reason, message })
}

/// A text as an event carries it: cut to 1024 bytes, and marked where it is cut. Upstream: `truncateMessage`.
pub fn event_text(text: &str) -> String {
    const MARK: &str = " ...";
    if text.len() <= NOTE_LIMIT {
        return text.to_owned();
    }
    let mut end = NOTE_LIMIT - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}
