//! What each release writes after a choice, and how it tells it.

use super::effects::{self, Effect};
use crate::engine::framework::Rejection;
use crate::kube::behavior::{Behavior, VictimDeletions};
use crate::kube::gates::Gates;
use crate::kube::release::Release;
use crate::model::id::NodeId;
use crate::testkit::{Scene, scene_at};
use crate::wording::{Words, victim_condition, victim_event};

const FULL: &str = "node n1 cpu=2
    pod x on=n1 prio=10 cpu=1
    pod y on=n1 prio=5 cpu=1
    want p prio=100 cpu=2
    want low prio=1 cpu=1 nominated=n1";

/// The writes of a release in their order: a letter each, lower-case for the pod's own.
fn writes(release: Release, text: &str) -> String {
    let scene = scene_at(release, text);
    let outcome = scene.outcome();
    let preemption = outcome.post_filter.as_ref().and_then(|it| it.preemption.as_ref());
    let choice = preemption.and_then(|it| it.choice.as_ref());
    let chosen = choice.and_then(|choice| {
        let candidate = preemption?.candidates.iter().find(|it| it.node == choice.node)?;
        Some((choice, candidate))
    });
    let letter = |effect: &Effect| match effect {
        Effect::ClearNomination(_) => 'C',
        Effect::MarkVictim(_) => 'M',
        Effect::Delete(_) => 'D',
        Effect::VictimEvent(_) => 'E',
        Effect::FailedScheduling => 'f',
        Effect::Nominate(_) => 'n',
    };
    effects::of(&scene.cycle(), &outcome, chosen).iter().map(letter).collect()
}

#[test]
fn the_nomination_is_written_before_the_victims_only_in_1_18() {
    assert_eq!(writes(Release::new(18, 2), FULL), "nDEDECf");
    assert_eq!(writes(Release::new(20, 15), FULL), "DEDECfn");
}

#[test]
fn lower_nominations_are_cleared_first_since_preemption_is_asynchronous() {
    assert_eq!(writes(Release::new(32, 2), FULL), "MDEMDECfn");
    assert_eq!(writes(Release::new(33, 0), FULL), "CMDEMDEfn");
}

#[test]
fn terminating_victims_are_let_be_since_1_35() {
    let text = FULL.replace("pod x on=n1", "pod x deleting on=n1");
    assert_eq!(writes(Release::new(34, 4), &text), "CMDEMDEfn");
    assert_eq!(writes(Release::new(35, 4), &text), "CMDEfn");
    let text = text.replace("pod y on=n1", "pod y deleting on=n1");
    assert_eq!(writes(Release::new(35, 4), &text), "fn");
}

#[test]
fn victims_are_deleted_in_turn_then_at_once_then_all_but_the_last() {
    let deletions = |minor| {
        let release = Release::of_minor(minor);
        Behavior::of(release, &Gates::defaults(release)).effects.deletions
    };
    let distinct: Vec<VictimDeletions> = [25, 26, 33].into_iter().map(deletions).collect();
    assert_eq!((deletions(18), deletions(32), deletions(37)), (distinct[0], distinct[1], distinct[2]));
    assert!(distinct[0] != distinct[1] && distinct[1] != distinct[2] && distinct[0] != distinct[2]);
}

fn event(scene: &Scene) -> String {
    victim_event(&scene.cycle().snapshot.behavior.texts, scene.cycle().cluster(), scene.cycle().pod, NodeId(0))
}

#[test]
fn the_victims_event_names_the_preemptor_less_and_less() {
    assert_eq!(event(&scene_at(Release::new(25, 2), FULL)), "Preempted by default/p on node n1");
    assert_eq!(event(&scene_at(Release::new(28, 3), FULL)), "Preempted by a pod on node n1");
    let by_uid = event(&scene_at(Release::new(29, 1), FULL));
    assert!(by_uid.starts_with("Preempted by pod ") && by_uid.ends_with(" on node n1"), "{by_uid}");
    assert!(!by_uid.contains("default/p"), "{by_uid}");
}

#[test]
fn the_victims_condition_names_the_scheduler_since_1_27() {
    let reason = |minor| {
        let scene = scene_at(Release::of_minor(minor), FULL);
        let cycle = scene.cycle();
        victim_condition(&cycle.snapshot.behavior.texts, cycle.cluster(), cycle.pod).map(|it| it.reason)
    };
    assert_eq!(reason(24), None);
    assert_eq!(reason(26), Some("PreemptionByKubeScheduler"));
    assert_eq!(reason(27), Some("PreemptionByScheduler"));
    assert_eq!(reason(37), Some("PreemptionByScheduler"));
}

#[test]
fn the_chosen_node_is_told_since_1_37() {
    let told = |minor| {
        let scene = scene_at(Release::of_minor(minor), FULL);
        let outcome = scene.outcome();
        Words::new(scene.cycle().snapshot, &outcome).failed_scheduling().unwrap_or_default()
    };
    assert_eq!(told(36), "0/1 nodes are available: 1 Insufficient cpu.");
    assert_eq!(
        told(37),
        "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, \
         preempting 2 victims"
    );
}

#[test]
fn another_node_name_was_called_a_hostname_up_to_1_20() {
    let reasons = |minor| {
        let scene = scene_at(Release::of_minor(minor), FULL);
        let outcome = scene.outcome();
        Words::new(scene.cycle().snapshot, &outcome).reasons(&Rejection::OtherNodeName, Some(NodeId(0)))
    };
    assert_eq!(reasons(20), ["node(s) didn't match the requested hostname"]);
    assert_eq!(reasons(21), ["node(s) didn't match the requested node name"]);
}
