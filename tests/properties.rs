//! What holds of every answer, whatever the cluster: threads and the order of a file change nothing, victims are less
//! important than the preemptor, and the preemptor fits once they are gone.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::ndjson;
use preempt_audit::engine::alike::Look;
use preempt_audit::engine::cycle;
use preempt_audit::engine::framework::PodCycle;
use preempt_audit::engine::outcome::Outcome;
use preempt_audit::engine::snapshot::Snapshot;
use preempt_audit::kube::behavior::Behavior;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::profile::Profile;
use preempt_audit::kube::release::Release;
use preempt_audit::load;
use preempt_audit::model::affinity::{Toleration, TolerationOperator};
use preempt_audit::model::cluster::Cluster;
use preempt_audit::report::view::View;
use preempt_audit::source::files::FileTable;
use serde_json::Value;
use std::sync::Arc;

fn release() -> Release {
    Release::new(34, 4)
}

/// Every third case, so that each category is there ten times.
fn cases() -> Vec<Value> {
    let all = ndjson("tests/conformance/cases.ndjson.gz");
    all.into_iter().filter(|case| case.get("config").is_none()).step_by(3).collect()
}

/// Runs something on the cycle of each pod of a case, on this dump.
fn for_each_pod(case: &Value, dump: &Value, mut run: impl FnMut(&PodCycle<'_>)) {
    let bytes = serde_json::to_vec(dump).unwrap();
    let loaded = load::load(&FileTable::from_bytes(vec![("dump.json".to_owned(), bytes)]));
    let gates = Gates::defaults(release());
    let snapshot = Snapshot::new(Arc::new(loaded.cluster), Arc::new(Behavior::of(release(), &gates)));
    let profile = Profile::default_for(release(), &gates);
    for name in case["pods"].as_array().unwrap() {
        let (namespace, pod) = name.as_str().unwrap().split_once('/').unwrap();
        let pod = snapshot.cluster.find_pod(namespace, pod).unwrap();
        run(&PodCycle { snapshot: &snapshot, pod, profile: &profile, changed: None });
    }
}

/// The answers of a case whose dump is this one, as the JSON report has them.
fn answers(case: &Value, dump: &Value) -> Vec<Value> {
    let mut answers = Vec::new();
    for_each_pod(case, dump, |cycle| {
        let outcome = cycle::schedule(cycle);
        answers.push(serde_json::to_value(View { cycle: *cycle, outcome: &outcome }.report()).unwrap());
    });
    answers
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn one_thread_answers_as_many_do() {
    for case in cases() {
        let alone = with_threads(1, || answers(&case, &case["dump"]));
        let together = with_threads(7, || answers(&case, &case["dump"]));
        assert_eq!(alone, together, "{}", case["id"]);
    }
}

#[test]
fn the_order_of_objects_in_a_dump_changes_nothing() {
    for case in cases() {
        let mut shuffled = case["dump"].clone();
        let items = shuffled["items"].as_array_mut().unwrap();
        let half = items.len() / 2;
        items.rotate_left(half);
        items[..half].reverse();
        assert_eq!(answers(&case, &case["dump"]), answers(&case, &shuffled), "{}", case["id"]);
    }
}

#[test]
fn every_victim_has_a_lower_priority_than_the_preemptor() {
    let mut victims = 0;
    for case in cases() {
        for answer in answers(&case, &case["dump"]) {
            let own = answer["priority"].as_i64().unwrap();
            for candidate in answer["candidates"].as_array().into_iter().flatten() {
                for victim in candidate["victims"].as_array().unwrap() {
                    assert!(victim["priority"].as_i64().unwrap() < own, "{} {}: {victim}", case["id"], answer["pod"]);
                    victims += 1;
                }
            }
        }
    }
    assert!(victims > 500, "only {victims} victims were looked at");
}

/// A traced dry run does every step as the scheduler does it; the others leave out what cannot change the answer.
#[test]
fn every_dry_run_ends_as_the_one_that_leaves_nothing_out() {
    let (mut candidates, mut failures) = (0, 0);
    for case in cases() {
        for_each_pod(&case, &case["dump"], |cycle| {
            let outcome = cycle::schedule(cycle);
            let Some(preemption) = outcome.post_filter.as_ref().and_then(|it| it.preemption.as_ref()) else { return };
            for candidate in &preemption.candidates {
                let Some(Ok(again)) = cycle::trace(cycle, candidate.node).result else {
                    panic!("{}: a traced candidate is none", case["id"]);
                };
                // Stand-ins are looked for once the nodes are tried.
                let mut alone = candidate.clone();
                alone.victims.iter_mut().for_each(|it| it.set_equals(Vec::new()));
                assert_eq!(again, alone, "{}", case["id"]);
                candidates += 1;
            }
            for (node, failure) in &preemption.failures {
                let again = cycle::trace(cycle, *node).result;
                assert_eq!(again, Some(Err(failure.clone())), "{}", case["id"]);
                failures += 1;
            }
        });
    }
    assert!(candidates > 500 && failures > 500, "only {candidates} candidates and {failures} failures were traced");
}

/// What one pod's answer leaves in the snapshot for the next changes nothing, in whatever order they are asked.
#[test]
fn a_pod_is_answered_the_same_after_others_as_by_itself() {
    for case in cases() {
        let together = answers(&case, &case["dump"]);
        let mut turned = case.clone();
        turned["pods"].as_array_mut().unwrap().reverse();
        let mut reversed = answers(&turned, &case["dump"]);
        reversed.reverse();
        assert_eq!(together, reversed, "{}", case["id"]);
        for (pod, together) in case["pods"].as_array().unwrap().iter().zip(&together) {
            let mut alone = case.clone();
            alone["pods"] = serde_json::json!([pod]);
            assert_eq!(&answers(&alone, &case["dump"])[0], together, "{} {pod}", case["id"]);
        }
    }
}

/// Pods with equal looks share one outcome, so a pod that differs in its name alone must have the same.
#[test]
fn a_pod_that_looks_like_another_has_its_outcome() {
    let mut shared = 0;
    for case in cases() {
        let mut dump = case["dump"].clone();
        let items = dump["items"].as_array_mut().unwrap();
        let is_pending = |it: &&Value| it["kind"] == "Pod" && it["spec"]["nodeName"].is_null();
        let mut twins: Vec<Value> = items.iter().filter(is_pending).cloned().collect();
        for twin in &mut twins {
            let meta = twin["metadata"].as_object_mut().unwrap();
            meta.insert("name".to_owned(), format!("{}-twin", meta["name"].as_str().unwrap()).into());
            meta.remove("uid");
        }
        items.extend(twins);
        for_each_pod(&case, &dump, |cycle| {
            let cluster = cycle.cluster();
            let (namespace, name) =
                cluster.pod_key(cycle.pod).split_once('/').map(|it| (it.0.to_owned(), it.1.to_owned())).unwrap();
            let twin = cluster.find_pod(&namespace, &format!("{name}-twin")).unwrap();
            let Some(look) = Look::of(cluster, cycle.pod) else { return };
            assert_eq!(Some(look), Look::of(cluster, twin), "{}", case["id"]);
            let own = cycle::schedule(&PodCycle { pod: twin, ..*cycle });
            assert_eq!(Outcome { pod: twin, ..cycle::schedule(cycle) }, own, "{}", case["id"]);
            shared += 1;
        });
    }
    assert!(shared > 300, "only {shared} pods looked like another");
}

/// What a changed pod would meet is tried on the snapshot as it is, which must be what a dump with that pod says.
#[test]
fn a_pod_that_is_changed_for_a_try_meets_what_it_meets_in_a_dump_that_says_so() {
    let mut tried = 0;
    for case in cases().into_iter().step_by(2) {
        for_each_pod(&case, &case["dump"], |cycle| {
            let mut important = cycle.incoming().clone();
            important.spec_priority = Some(important.priority().saturating_add(1000));
            let mut modest = cycle.incoming().clone();
            modest.requests = Arc::default();
            let mut tolerant = cycle.incoming().clone();
            let spec = Arc::make_mut(&mut tolerant.spec);
            let everything = Toleration {
                key: None,
                operator: TolerationOperator::Exists,
                value: cycle.incoming().name,
                effect: None,
            };
            spec.tolerations = [everything].into();
            spec.never_preempts = false;
            for changed in [important, modest, tolerant] {
                let mut cluster = Cluster::clone(cycle.cluster());
                cluster.pods[cycle.pod.index()] = changed.clone();
                let snapshot = Snapshot::new(Arc::new(cluster), Arc::clone(&cycle.snapshot.behavior));
                let said = cycle::schedule(&PodCycle { snapshot: &snapshot, ..*cycle });
                let supposed = cycle::schedule(&PodCycle { changed: Some(&changed), ..*cycle });
                assert_eq!(supposed, said, "{}", case["id"]);
                tried += 1;
            }
        });
    }
    assert!(tried > 300, "only {tried} changes were tried");
}

/// Volumes, spread and host ports are left out: there upstream's dry run forgets what another pod still holds, and so
/// does this one.
#[test]
fn the_preemptor_fits_once_the_victims_are_gone() {
    let categories = ["resources", "pdb", "pods_count", "extended", "taints", "nodeaffinity", "nominated", "ties"];
    let mut checked = 0;
    for case in cases() {
        let id = case["id"].as_str().unwrap();
        if !categories.iter().any(|it| id.starts_with(it)) {
            continue;
        }
        for (at, answer) in
            answers(&case, &case["dump"]).iter().enumerate().filter(|(_, it)| it["outcome"] == "nominated")
        {
            let victims: Vec<&str> =
                answer["victims"].as_array().unwrap().iter().map(|it| it["pod"].as_str().unwrap()).collect();
            let mut dump = case["dump"].clone();
            dump["items"].as_array_mut().unwrap().retain(|it| {
                let meta = &it["metadata"];
                let key = format!("{}/{}", meta["namespace"].as_str().unwrap_or(""), meta["name"].as_str().unwrap());
                it["kind"] != "Pod" || !victims.contains(&key.as_str())
            });
            let after = &answers(&case, &dump)[at];
            let node = answer["nominated"]["node"].as_str().unwrap();
            assert_eq!(after["outcome"], "feasible", "{id} {} on {node}", answer["pod"]);
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} nominations were tried");
}
