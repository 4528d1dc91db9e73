//! Small clusters that tell the releases apart, one rule each.

use super::framework::{Code, Fault, Rejection};
use super::outcome::{
    Cause, Certainty, Choice, Criterion, Disposition, DryRunFailure, Eligibility, Nomination, Outcome, Preemption,
};
use crate::kube::behavior::{Behavior, NoVictimNeeded, PotentialNodes, PreFilterRejected};
use crate::kube::plugin::Plugin;
use crate::kube::release::Release;
use crate::model::id::NodeId;
use crate::testkit::{Scene, check, scene, scene_at};
use std::fmt::Write as _;
use std::sync::Arc;

const ALL: std::ops::RangeInclusive<u16> = 18..=37;

/// The same answer in every release.
#[track_caller]
fn always(text: &str, expected: &str) {
    for minor in ALL {
        check(minor, text, expected);
    }
}

/// One answer up to a release, another since.
#[track_caller]
fn changes(text: &str, before: &str, since: u16, after: &str) {
    for minor in ALL {
        check(minor, text, if minor < since { before } else { after });
    }
}

fn preemption(outcome: Outcome) -> Preemption {
    outcome.post_filter.unwrap().preemption.unwrap()
}

fn choice(scene: &Scene) -> Choice {
    preemption(scene.outcome()).choice.unwrap()
}

fn node(scene: &Scene, name: &str) -> NodeId {
    scene.snapshot.cluster.node_of(scene.snapshot.cluster.symbols.get(name).unwrap()).unwrap()
}

fn name(scene: &Scene, node: NodeId) -> String {
    scene.snapshot.cluster.text(scene.snapshot.cluster.node(node).name).to_owned()
}

fn tied(scene: &Scene) -> Vec<String> {
    choice(scene).tied.iter().map(|it| name(scene, *it)).collect()
}

// Victims on one node.

#[test]
fn a_pod_of_lower_priority_goes() {
    always("node n1 cpu=1\n pod low on=n1 prio=0 cpu=1\n want p prio=100 cpu=1", "n1: evict default/low");
}

#[test]
fn equal_priority_protects() {
    always("node n1 cpu=1\n pod x on=n1 prio=100 cpu=1\n want p prio=100 cpu=1", "no candidates");
    always("node n1 cpu=1\n pod x on=n1 cpu=1\n want p cpu=1", "no candidates");
    always("node n1 cpu=1\n pod x on=n1 prio=-1 cpu=1\n want p cpu=1", "n1: evict default/x");
}

#[test]
fn the_least_important_go_and_the_list_begins_with_the_most_important() {
    let text = "node n1 cpu=4
        pod a on=n1 prio=10 cpu=1
        pod b on=n1 prio=20 cpu=1
        pod c on=n1 prio=30 cpu=1
        pod d on=n1 prio=40 cpu=1
        want p prio=100 cpu=2";
    always(text, "n1: evict default/b, default/a");
}

#[test]
fn a_smaller_pod_is_spared_after_a_more_important_one_was_not() {
    let text = "node n1 cpu=4
        pod a on=n1 prio=20 cpu=3
        pod b on=n1 prio=10 cpu=1
        want p prio=100 cpu=2";
    always(text, "n1: evict default/a");
}

const BUDGETED: &str = "node n1 cpu=3
    pod x on=n1 prio=30 cpu=1 label:app=web
    pod y on=n1 prio=20 cpu=1 label:app=web
    pod z on=n1 prio=10 cpu=1 label:app=web
    want p prio=100 cpu=1\n";

#[test]
fn a_budget_is_spent_on_the_most_important_pod_which_therefore_goes() {
    always(&format!("{BUDGETED} pdb web label:app=web allowed=1"), "n1: evict default/x");
}

#[test]
fn an_exhausted_budget_makes_every_pod_violate_it() {
    always(&format!("{BUDGETED} pdb web label:app=web allowed=0"), "n1: evict default/z; violations 1");
}

#[test]
fn an_empty_selector_protects_nobody() {
    always(&format!("{BUDGETED} pdb web spec.selector:{{}} allowed=0"), "n1: evict default/z");
}

#[test]
fn a_pod_whose_eviction_is_counted_already_costs_its_budget_nothing() {
    let text = "node n1 cpu=2
        pod y on=n1 prio=20 cpu=1 label:app=web
        pod z on=n1 prio=10 cpu=1 label:app=web
        pdb web label:app=web allowed=0 status.disruptedPods:{\"z\":\"2025-01-01T00:00:00Z\"}
        want p prio=100 cpu=1";
    changes(text, "n1: evict default/z; violations 1", 19, "n1: evict default/z");
}

const TWO_BUDGETS: &str = "node n1 cpu=2
    pod q on=n1 prio=20 cpu=1 label:a=x label:b=x
    pod r on=n1 prio=10 cpu=1 label:b=x
    want p prio=100 cpu=2\n";

#[test]
fn the_walk_over_budgets_ends_at_the_first_that_is_spent() {
    let text = format!("{TWO_BUDGETED_A} {TWO_BUDGETS}");
    for minor in ALL {
        let one = minor == 18 || minor == 37;
        check(
            minor,
            &text,
            if one {
                "n1: evict default/q, default/r; violations 1"
            } else {
                "n1: evict default/q, default/r; violations 2"
            },
        );
    }
}

const TWO_BUDGETED_A: &str = "pdb a label:a=x allowed=0\n pdb b label:b=x allowed=1\n";

#[test]
fn where_the_walk_ends_early_the_order_of_budgets_gives_other_answers() {
    let text = format!("{TWO_BUDGETED_A} {TWO_BUDGETS}");
    for minor in ALL {
        let outcome = scene(minor, &text).outcome();
        let random = minor == 18 || minor == 37;
        let expected = if random { Certainty::OneOf(vec![Cause::PdbOrder]) } else { Certainty::Certain };
        assert_eq!(outcome.certainty, expected, "at 1.{minor}");
        let choice = preemption(outcome).choice.unwrap();
        let found: Vec<Option<i64>> =
            choice.outcomes.iter().map(|it| it.variant.as_ref().map(|variant| variant.pdb_violations)).collect();
        assert_eq!(found, if random { vec![None, Some(2)] } else { vec![None] }, "at 1.{minor}");
        assert!(choice.pdb_orders.all);
    }
}

#[test]
fn a_terminating_pod_is_a_potential_victim_like_any_other() {
    let text = "node n1 cpu=2
        pod a on=n1 prio=10 cpu=1 start=10:00 deleting
        pod b on=n1 prio=10 cpu=1 start=11:00
        want p prio=100 cpu=1";
    always(text, "n1: evict default/b");
}

#[test]
fn pods_without_a_start_stand_the_other_way_round_until_1_37() {
    let text = "node n1 cpu=3
        pod a on=n1 prio=10 cpu=1
        pod b on=n1 prio=10 cpu=1
        pod c on=n1 prio=10 cpu=1
        want p prio=100 cpu=1";
    changes(text, "n1: evict default/a", 37, "n1: evict default/c");
}

#[test]
fn pods_started_together_keep_the_order_of_the_node() {
    let text = "node n1 cpu=3
        pod a on=n1 prio=10 cpu=1 start=10:00
        pod b on=n1 prio=10 cpu=1 start=10:00
        pod c on=n1 prio=10 cpu=1 start=10:00
        want p prio=100 cpu=1";
    always(text, "n1: evict default/c");
    let outcome = scene(34, text).outcome();
    assert_eq!(outcome.certainty, Certainty::OneOf(vec![Cause::EqualImportance]));
    assert_eq!(preemption(outcome).candidates[0].victims[0].equals().len(), 2, "a and b may stand in");
}

#[test]
fn a_pod_that_would_not_go_in_the_victims_place_is_no_stand_in() {
    // In c's place b is too small to make room, so c goes whichever of the two stands last.
    let text = "node n1 cpu=4
        pod b on=n1 prio=10 cpu=1 start=10:00
        pod c on=n1 prio=10 cpu=3 start=10:00
        want p prio=100 cpu=3";
    always(text, "n1: evict default/c");
    let outcome = scene(34, text).outcome();
    assert_eq!(outcome.certainty, Certainty::Certain);
}

#[test]
fn pods_without_a_start_are_the_least_important_of_their_priority() {
    let text = "node n1 cpu=2
        pod a on=n1 prio=10 cpu=1
        pod b on=n1 prio=10 cpu=1 start=10:00
        want p prio=100 cpu=1";
    always(text, "n1: evict default/a");
}

#[test]
fn re_sorting_turns_pods_without_a_start_once_more() {
    let text = "node n1 cpu=5
        pod a on=n1 prio=10 cpu=1
        pod b on=n1 prio=10 cpu=1 label:app=web
        pod c on=n1 prio=10 cpu=1
        pod d on=n1 prio=10 cpu=1 label:app=web
        pod e on=n1 prio=10 cpu=1
        pdb web label:app=web allowed=0
        want p prio=100 cpu=4";
    for minor in 32..37 {
        check(minor, text, "n1: evict default/a, default/c, default/e, default/b; violations 1");
    }
    check(37, text, "n1: evict default/a, default/c, default/d, default/e; violations 1");
}

#[test]
fn anti_affinity_of_a_pod_keeps_it_from_coming_back() {
    let anti = r#"spec.affinity:{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"p"}}}]}}"#;
    let text = format!(
        "node n1 cpu=3
        pod a on=n1 prio=10 cpu=1 start=10:00
        pod b on=n1 prio=10 cpu=1 start=11:00 {anti}
        want p prio=100 cpu=1 label:app=p"
    );
    always(&text, "n1: evict default/b");
}

#[test]
fn affinity_that_only_a_victim_meets_makes_the_node_useless() {
    let affinity = r#"spec.affinity:{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"x"}}}]}}"#;
    let text = format!("node n1 cpu=1\n pod low on=n1 prio=10 cpu=1 label:app=x\n want p prio=100 cpu=1 {affinity}");
    always(&text, "no candidates");
}

#[test]
fn only_its_priority_protects_a_pod() {
    let text = "node n1 cpu=2
        pod ds on=n1 prio=0 cpu=1 owner=DaemonSet/agent start=10:00
        pod mirror on=n1 prio=0 cpu=1 start=11:00
        want p prio=100 cpu=2";
    always(text, "n1: evict default/ds, default/mirror");
}

// Nominated pods.

fn with_nominated(priority: i32, nominated: &str) -> String {
    format!(
        "node n1 cpu=2
        pod a on=n1 prio=0 cpu=1 start=10:00
        pod b on=n1 prio=0 cpu=1 start=11:00
        want p prio={priority} cpu=1
        want x prio=50 cpu=1 nominated=n1 {nominated}"
    )
}

#[test]
fn a_nominated_pod_of_at_least_the_same_priority_keeps_its_room() {
    always(&with_nominated(40, ""), "n1: evict default/a, default/b");
    always(&with_nominated(50, ""), "n1: evict default/a, default/b");
    always(&with_nominated(60, ""), "n1: evict default/b");
    for (priority, lost) in [(40, 0), (50, 0), (60, 1)] {
        assert_eq!(choice(&scene(34, &with_nominated(priority, ""))).cleared.len(), lost);
    }
}

#[test]
fn a_pod_of_another_scheduler_reserves_nothing() {
    always(&with_nominated(40, "spec.schedulerName:\"other\""), "n1: evict default/b");
}

#[test]
fn gated_pods_reserve() {
    let text = with_nominated(40, "spec.schedulingGates:[{\"name\":\"wait\"}]");
    for minor in ALL {
        let counts = !(27..37).contains(&minor);
        check(minor, &text, if counts { "n1: evict default/a, default/b" } else { "n1: evict default/b" });
    }
}

#[test]
fn a_nominated_pod_that_repels_the_preemptor_closes_the_node() {
    let anti = r#"spec.affinity:{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"p"}}}]}}"#;
    let text = format!(
        "node n1 cpu=2
        pod low on=n1 prio=0 cpu=2
        want p prio=40 cpu=1 label:app=p
        want x prio=50 nominated=n1 {anti}"
    );
    // Since 1.27 InterPodAffinity skips a pod that no affinity of the pods on nodes concerns, and so never hears of x.
    changes(&text, "no candidates", 27, "n1: evict default/low");
    always(&format!("{text}\n pod y on=n1 prio=0 {anti}"), "no candidates");
}

// The choice of a node.

/// The node taken, and the criterion that told it from the others.
#[track_caller]
fn decides(minor: u16, text: &str, expected: &str, by: Option<Criterion>) {
    let scene = scene(minor, text);
    let choice = choice(&scene);
    assert_eq!((tied(&scene).join(" ").as_str(), choice.decided_by), (expected, by), "at 1.{minor}");
}

#[test]
fn the_criteria_come_in_their_order() {
    let cases = [
        // Fewest violations.
        (
            "pod a on=n1 prio=10 cpu=2 label:app=web\n pdb web label:app=web\n pod b on=n2 prio=50 cpu=1\n pod c on=n2 prio=50 cpu=1",
            "n2",
            Some(Criterion::PdbViolations),
        ),
        // Lowest priority of the most important victim.
        (
            "pod a on=n1 prio=50 cpu=2\n pod b on=n2 prio=10 cpu=1\n pod c on=n2 prio=10 cpu=1",
            "n2",
            Some(Criterion::HighestPriority),
        ),
        // Smallest sum, to which every victim adds 2^31: more victims are worse even below zero.
        (
            "pod a on=n1 prio=10 cpu=1\n pod b on=n1 prio=5 cpu=1\n pod c on=n2 prio=10 cpu=2",
            "n2",
            Some(Criterion::PrioritySum),
        ),
        (
            "pod a on=n1 prio=-10 cpu=1\n pod b on=n1 prio=-10 cpu=1\n pod c on=n2 prio=-10 cpu=2",
            "n2",
            Some(Criterion::PrioritySum),
        ),
        // Fewest victims, where one adds nothing to the sum.
        (
            "pod a on=n1 prio=10 cpu=2\n pod b on=n2 prio=10 cpu=1\n pod c on=n2 prio=-2147483648 cpu=1",
            "n1",
            Some(Criterion::VictimCount),
        ),
        // Latest start of the most important victims; those of lower priority do not matter.
        (
            "pod a on=n1 prio=10 cpu=2 start=10:00\n pod b on=n2 prio=10 cpu=2 start=11:00",
            "n2",
            Some(Criterion::LatestStart),
        ),
        (
            "pod a on=n1 prio=10 cpu=1 start=10:00\n pod b on=n1 prio=5 cpu=1 start=09:00
             pod c on=n2 prio=10 cpu=1 start=09:30\n pod d on=n2 prio=5 cpu=1 start=12:00",
            "n1",
            Some(Criterion::LatestStart),
        ),
        // A pod that has not started counts as started now.
        ("pod a on=n1 prio=10 cpu=2 start=10:00\n pod b on=n2 prio=10 cpu=2", "n2", Some(Criterion::LatestStart)),
        ("pod a on=n1 prio=10 cpu=2 start=10:00\n pod b on=n2 prio=10 cpu=2 start=10:00", "n1 n2", None),
    ];
    for (pods, expected, by) in cases {
        let text = format!("node n1 cpu=2\n node n2 cpu=2\n {pods}\n want p prio=100 cpu=2");
        for minor in ALL {
            decides(minor, &text, expected, by);
        }
    }
}

#[test]
fn a_violating_victim_hid_a_more_important_one_until_victims_were_sorted_again() {
    let text = "node n1 cpu=2
        node n2 cpu=2
        pod v on=n1 prio=5 cpu=1 label:app=web
        pod w on=n1 prio=50 cpu=1
        pod u on=n2 prio=20 cpu=2 label:app=web
        pdb web label:app=web allowed=0
        want p prio=100 cpu=2";
    for minor in ALL {
        // The newest patches of 1.29, 1.30 and 1.31 have it too.
        decides(minor, text, if minor < 29 { "n1" } else { "n2" }, Some(Criterion::HighestPriority));
    }
}

#[test]
fn a_tie_is_told() {
    let text = "node n1 cpu=2
        node n2 cpu=2
        pod a on=n1 prio=10 cpu=2 start=10:00
        pod b on=n2 prio=10 cpu=2 start=10:00
        want p prio=100 cpu=2";
    assert_eq!(scene(37, text).outcome().certainty, Certainty::OneOf(vec![Cause::EqualCandidates]));
    let shares: Vec<f64> = choice(&scene(37, text)).outcomes.iter().map(|it| it.share).collect();
    assert_eq!(shares, [0.5, 0.5]);
}

/// Nodes with one victim each, whose priorities are given in the order of the nodes.
fn many_nodes(priorities: &[i32]) -> String {
    let mut text = String::from("want p prio=100 cpu=1\n");
    for (at, priority) in priorities.iter().enumerate() {
        writeln!(text, "node n{at:03} cpu=1\n pod v{at:03} on=n{at:03} prio={priority} cpu=1 start=10:00").unwrap();
    }
    text
}

#[test]
fn candidate_limit() {
    let mut priorities = vec![10; 150];
    priorities[120] = 1;
    for minor in ALL {
        let scene = scene(minor, &many_nodes(&priorities));
        let outcomes = choice(&scene).outcomes;
        let best = outcomes.iter().find(|it| it.node == node(&scene, "n120")).unwrap();
        let share = if minor < 20 { 1.0 } else { 100.0 / 150.0 };
        assert!((best.share - share).abs() < 1e-9, "{} at 1.{minor}", best.share);
        assert_eq!(outcomes.len() == 1, minor < 20, "at 1.{minor}");
    }
}

#[test]
fn a_hundred_potential_nodes_are_all_tried() {
    let mut priorities = vec![10; 100];
    priorities[70] = 1;
    for minor in ALL {
        let scene = scene(minor, &many_nodes(&priorities));
        assert_eq!(choice(&scene).outcomes.len(), 1, "at 1.{minor}");
        assert_eq!(scene.outcome().certainty, Certainty::Certain);
    }
}

#[test]
fn potential_order() {
    // The two best are neighbours: a cycle that starts at a random place of the circle finds both or neither, but for the
    // two places between them; in the random order of a map, each is found or not.
    let mut priorities: Vec<i32> = vec![10; 200];
    priorities[50] = 1;
    priorities[51] = 2;
    let share_of_second = |minor| {
        let scene = scene(minor, &many_nodes(&priorities));
        let outcomes = choice(&scene).outcomes;
        outcomes.iter().find(|it| it.node == node(&scene, "n051")).unwrap().share
    };
    assert!((share_of_second(31) - 1.0 / 200.0).abs() < 1e-9);
    let found_without_the_best = (100.0 / 200.0) * (100.0 / 199.0);
    assert!((share_of_second(32) - found_without_the_best).abs() < 1e-9);
}

#[test]
fn the_search_goes_on_while_every_candidate_violates_a_budget() {
    let mut text = many_nodes(&[10; 150]);
    text.push_str("node zz cpu=1\n pod last on=zz prio=90 cpu=1\n pdb web label:app=web allowed=0\n");
    let text = text.replace("prio=10 cpu=1", "prio=10 cpu=1 label:app=web");
    for minor in 20..=37 {
        let scene = scene(minor, &text);
        let outcomes = choice(&scene).outcomes;
        assert_eq!(outcomes.len(), 1, "at 1.{minor}");
        assert_eq!(name(&scene, outcomes[0].node), "zz");
    }
}

#[test]
fn no_candidate_is_looked_for_where_the_arguments_allow_none() {
    let mut scene = scene(34, &many_nodes(&[10; 50]));
    scene.profile.preemption.min_candidate_nodes_percentage = 1;
    scene.profile.preemption.min_candidate_nodes_absolute = 0;
    assert_eq!(scene.answer(), "no candidates");
}

// Eligibility, potential nodes and the pod's own nomination.

fn nomination(minor: u16, text: &str) -> Nomination {
    scene(minor, text).outcome().nomination
}

#[test]
fn policy_never() {
    let text = "node n1 cpu=1\n pod low on=n1 prio=0 cpu=1\n want p prio=100 cpu=1 never";
    for minor in ALL {
        let eligibility = preemption(scene(minor, text).outcome()).eligibility;
        let expected = if minor < 19 { Eligibility::Eligible } else { Eligibility::PolicyNever };
        assert_eq!(eligibility, expected, "at 1.{minor}");
    }
}

fn terminating(condition: &str) -> String {
    format!(
        "node n1 cpu=1
        node n2 cpu=1
        pod t on=n1 prio=0 cpu=1 deleting {condition}
        pod low on=n2 prio=0 cpu=1
        want p prio=100 cpu=1 nominated=n1"
    )
}

fn is_eligible(minor: u16, text: &str) -> bool {
    preemption(scene(minor, text).outcome()).eligibility == Eligibility::Eligible
}

#[test]
fn a_pod_waits_for_the_victims_of_its_last_preemption() {
    let preempted = |reason: &str| {
        format!(r#"status.conditions:[{{"type":"DisruptionTarget","status":"True","reason":"{reason}"}}]"#)
    };
    for minor in ALL {
        assert_eq!(is_eligible(minor, &terminating("")), minor >= 27, "at 1.{minor}");
        let scheduler = terminating(&preempted("PreemptionByScheduler"));
        assert!(!is_eligible(minor, &scheduler), "at 1.{minor}");
        let old_scheduler = terminating(&preempted("PreemptionByKubeScheduler"));
        assert_eq!(is_eligible(minor, &old_scheduler), minor >= 27, "at 1.{minor}");
    }
}

#[test]
fn a_pod_does_not_wait_for_a_node_that_is_closed_to_it() {
    let condition =
        r#"status.conditions:[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]"#;
    let text = terminating(condition).replacen("node n1 cpu=1", "node n1 cpu=1 cordoned", 1);
    for minor in ALL {
        assert_eq!(is_eligible(minor, &text), minor >= 19, "at 1.{minor}");
    }
}

#[test]
fn nomination_without_candidate() {
    let text = "node n1 cpu=1\n pod x on=n1 prio=100 cpu=1\n want p prio=100 cpu=1 nominated=n1";
    for minor in ALL {
        let expected = if minor < 23 { Nomination::Kept } else { Nomination::Cleared };
        assert_eq!(nomination(minor, text), expected, "at 1.{minor}");
    }
}

#[test]
fn without_a_potential_node_the_nomination_goes() {
    let text = "node n1 cpu=1 cordoned\n pod x on=n1 prio=0 cpu=1\n want p prio=100 cpu=1 nominated=n1";
    for minor in ALL {
        assert_eq!(nomination(minor, text), Nomination::Cleared, "at 1.{minor}");
    }
}

#[test]
fn nomination_after_error() {
    let text = "want p prio=100 cpu=1 nominated=n1";
    for minor in ALL {
        let outcome = scene(minor, text).outcome();
        assert_eq!(outcome.disposition, Disposition::Error(Fault::NoNodes), "at 1.{minor}");
        let expected = if minor < 23 { Nomination::Kept } else { Nomination::Cleared };
        assert_eq!(outcome.nomination, expected, "at 1.{minor}");
    }
}

#[test]
fn nomination_without_post_filter() {
    let text = "node n1 cpu=1\n pod low on=n1 prio=0 cpu=1\n want p prio=100 cpu=1 nominated=n1";
    for minor in ALL {
        let mut scene = scene(minor, text);
        scene.profile.post_filters.clear();
        let outcome = scene.outcome();
        assert_eq!(outcome.post_filter, None);
        let expected = if minor < 35 { Nomination::Kept } else { Nomination::Cleared };
        assert_eq!(outcome.nomination, expected, "at 1.{minor}");
    }
}

#[test]
fn own_nominated_node_is_taken_first() {
    let text = "node n1 cpu=1\n node n2 cpu=1\n want p prio=100 cpu=1 nominated=n2";
    changes(text, "fits n1, n2", 22, "fits n2");
}

#[test]
fn a_missing_claim_ends_the_attempt_before_or_after_preemption() {
    let text = "node n1 cpu=1\n pod low on=n1 prio=0 cpu=1\n want p prio=100 cpu=1 nominated=n1 claim=c";
    for minor in ALL {
        let outcome = scene(minor, text).outcome();
        let failed = matches!(outcome.disposition, Disposition::Error(_));
        assert_eq!(failed, minor < 20, "at 1.{minor}");
        // Since 1.34 DynamicResources ends PostFilter first, because its PreFilter never ran.
        let cleared = (20..34).contains(&minor);
        assert_eq!(outcome.nomination == Nomination::Cleared, cleared, "at 1.{minor}");
        let called = outcome.post_filter.is_some_and(|it| it.preemption.is_some());
        assert_eq!(called, cleared, "at 1.{minor}");
    }
}

#[test]
fn a_request_no_victim_can_free_makes_no_potential_node_since_1_34() {
    let text = "node n1 cpu=1\n pod low on=n1 prio=0 cpu=1\n want p prio=100 cpu=2";
    for minor in ALL {
        let preemption = preemption(scene(minor, text).outcome());
        assert_eq!(preemption.potential.is_empty(), minor >= 34, "at 1.{minor}");
    }
}

const PINNED: &str = r#"spec.affinity:{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}"#;

#[test]
fn nodes_outside_of_the_pods_pin_were_potential_ones_for_a_while() {
    let text = format!(
        "node n1 cpu=1
        node n2 cpu=1
        pod a on=n1 prio=0 cpu=1
        pod b on=n2 prio=0 cpu=1
        want p prio=100 cpu=1 {PINNED}"
    );
    always(&text, "n1: evict default/a");
    for minor in ALL {
        // Before 1.20 the nodes' resources were looked at first. The newest patches of 1.27, 1.28 and 1.29 leave n2 out.
        let potential = preemption(scene(minor, &text).outcome()).potential.len();
        assert_eq!(potential, if minor < 20 || (24..27).contains(&minor) { 2 } else { 1 }, "at 1.{minor}");
    }
}

/// A pod pinned to one node by its affinity and to another by its local volume, in a release where both narrow the nodes:
/// none is left.
fn pinned_apart(release: Release) -> Outcome {
    let text = format!(
        "node n1 cpu=1
        node n2 cpu=1
        pod a on=n1 prio=0 cpu=1
        claim c volume=v
        volume v on=n2 spec.csi:null spec.local:{{\"path\":\"/x\"}}
        want p prio=100 cpu=1 nominated=n1 claim=c {PINNED}"
    );
    scene_at(release, &text).outcome()
}

#[test]
fn empty_intersection() {
    for (release, code) in [(Release::new(29, 1), Code::Unschedulable), (Release::new(30, 1), Code::Unresolvable)] {
        let rejected = pinned_apart(release).pre_filter.unwrap();
        assert_eq!((rejected.plugin, rejected.rejection), (None, Rejection::NoNodeInCommon), "at {release}");
        assert_eq!(rejected.code, code, "at {release}");
    }
}

#[test]
fn dry_run_error() {
    // PreFilter stopped before PodTopologySpread, whose hook then fails wherever a pod is taken off.
    let outcome = pinned_apart(Release::new(29, 1));
    assert_eq!(outcome.nomination, Nomination::Kept, "an error ends the phase");
    let failures: Vec<DryRunFailure> = preemption(outcome).failures.into_iter().map(|(_, failure)| failure).collect();
    assert_eq!(failures, [DryRunFailure::UnpreparedHook(Plugin::PodTopologySpread), DryRunFailure::NoVictims]);
}

/// A cluster in which the pod fits, of a scheduler that does not know: what an extender's rejection comes to.
fn nothing_in_the_way(minor: u16, change: impl Fn(&mut Behavior)) -> Outcome {
    let text = "node n1 cpu=2\n node n2 cpu=2\n pod a on=n1 prio=0 cpu=1\n pod b on=n2 prio=0 cpu=1\n want p prio=9 cpu=1 claim=c";
    let mut scene = scene(minor, text);
    let behavior = Arc::make_mut(&mut scene.snapshot.behavior);
    behavior.frame.pre_filter_rejection = PreFilterRejected::ForgetNodes;
    behavior.frame.potential_nodes = PotentialNodes::NotUnresolvable;
    change(behavior);
    scene.profile.filters = vec![Plugin::NodeResourcesFit];
    scene.profile.pre_filters = vec![Plugin::NodeResourcesFit, Plugin::VolumeBinding];
    scene.profile.post_filters = vec![Plugin::DefaultPreemption];
    scene.outcome()
}

#[test]
fn no_victim_needed() {
    for minor in 22..=37 {
        let failures = preemption(nothing_in_the_way(minor, |_| ())).failures;
        assert!(failures.iter().all(|(_, it)| *it == DryRunFailure::NoVictimNeeded), "{failures:?} at 1.{minor}");
        assert_eq!(failures.len(), 2);
    }
    for minor in [20, 21] {
        let crashed = nothing_in_the_way(minor, |_| ()).disposition;
        assert_eq!(crashed, Disposition::Error(Fault::Panics), "two candidates without victims, at 1.{minor}");
    }
    let wins = |behavior: &mut Behavior| behavior.preemption.no_victim_needed = NoVictimNeeded::Wins;
    let choice = preemption(nothing_in_the_way(20, wins)).choice.unwrap();
    assert_eq!(choice.tied.len(), 2);
}
