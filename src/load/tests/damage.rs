//! What is broken costs as little as it can, and is told with its place.

use super::*;
use crate::model::cluster::{CoverageState, Kind};
use crate::problem::KEPT;

#[test]
fn a_broken_list_is_truncated_and_its_objects_are_used() {
    let text = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"na"#;
    let loaded = load_texts(&[("pods.json", text)]);
    assert_eq!(loaded.cluster.pods.len(), 1);
    assert_eq!(loaded.cluster.coverage_of(Kind::Pod), CoverageState::Truncated);
    assert_eq!(codes(&loaded), [ProblemCode::BrokenJson]);
    assert_eq!((loaded.problems[0].line, loaded.problems[0].column), (Some(1), Some(text.len() as u64 + 1)));
}

#[test]
fn a_text_cut_anywhere_never_panics_and_says_so() {
    let text = serde_json::to_string_pretty(&list(sample::objects())).unwrap();
    let whole = load_texts(&[("x.json", &text)]).cluster.pods.len();
    for end in (1..text.len() - 2).step_by(97).filter(|end| text.is_char_boundary(*end)) {
        let loaded = load_texts(&[("x.json", &text[..end])]);
        assert!(codes(&loaded).contains(&ProblemCode::BrokenJson), "{end}");
        assert!(loaded.cluster.pods.len() <= whole);
    }
}

#[test]
fn a_list_that_goes_on_is_truncated() {
    let text = r#"{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":"abc","remainingItemCount":7},"items":[{"metadata":{"name":"a"}}]}"#;
    let loaded = load_texts(&[("x.json", text)]);
    assert_eq!(codes(&loaded), [ProblemCode::TruncatedList]);
    assert!(loaded.problems[0].message.contains("7 more"));
    assert_eq!(loaded.cluster.coverage_of(Kind::Node), CoverageState::Truncated);
}

#[test]
fn a_damaged_object_costs_that_object() {
    let mut damaged = pod("bad", &json!({"priority": "high"}));
    damaged["metadata"]["uid"] = json!("u");
    let text = serde_json::to_string_pretty(&list(vec![pod("good", &json!({})), damaged])).unwrap();
    let loaded = load_texts(&[("x.json", &text)]);
    assert_eq!(loaded.cluster.pods.len(), 1);
    assert_eq!(codes(&loaded), [ProblemCode::DamagedObject]);
    let problem = &loaded.problems[0];
    let line = text.lines().position(|line| line.contains("high")).unwrap() as u64 + 1;
    assert_eq!((problem.object.as_deref(), problem.line), (Some("Pod shop/bad"), Some(line)));
    assert!(problem.message.contains("invalid type"), "{}", problem.message);
    let coverage = loaded.cluster.coverage.iter().find(|it| it.kind == Kind::Pod).unwrap();
    assert_eq!((coverage.objects, coverage.rejected, coverage.state), (1, 1, CoverageState::Present));
}

#[test]
fn a_bad_quantity_is_told_at_its_line() {
    let bad = pod("bad", &json!({"containers": [{"name": "c", "resources": {"requests": {"memory": "8Gb"}}}]}));
    let text = serde_json::to_string_pretty(&bad).unwrap();
    let loaded = load_texts(&[("pod.json", &text)]);
    assert_eq!(codes(&loaded), [ProblemCode::BadQuantity]);
    let line = text.lines().position(|line| line.contains("8Gb")).unwrap() as u64 + 1;
    assert_eq!(loaded.problems[0].line, Some(line));
    assert!(loaded.problems[0].message.contains("`8Gb`"));
    assert!(loaded.problems[0].help.is_some());
    assert_eq!(loaded.cluster.coverage_of(Kind::Pod), CoverageState::Rejected);
}

#[test]
fn a_broken_status_does_not_lose_a_budgets_spec() {
    let pdb = json!({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "a", "namespace": "b"},
        "spec": {"selector": {}}, "status": {"disruptionsAllowed": "one"}});
    let loaded = load_objects(vec![pdb]);
    assert_eq!(codes(&loaded), [ProblemCode::DamagedObject]);
    let pdb = &loaded.cluster.pdbs[0];
    assert!(pdb.status_missing && pdb.v1beta1 && pdb.selector.is_empty());
}

#[test]
fn an_object_without_a_name_is_damaged() {
    let loaded = load_texts(&[("x.json", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a"}}"#)]);
    assert_eq!(codes(&loaded), [ProblemCode::DamagedObject]);
    assert_eq!(loaded.cluster.pods.len(), 0);
}

#[test]
fn a_key_that_comes_twice_is_read_as_the_last() {
    let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priority":1,"priority":2}}"#;
    let loaded = load_texts(&[("x.json", text)]);
    assert_eq!(codes(&loaded), []);
    assert_eq!(loaded.cluster.pods[0].priority(), 2);
}

#[test]
fn a_bracket_out_of_place_ends_a_list_but_not_the_file() {
    let text = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":]]\n\
                {\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}";
    let loaded = load_texts(&[("x.json", text)]);
    assert_eq!((loaded.cluster.pods.len(), loaded.cluster.nodes.len()), (1, 1));
    assert_eq!(codes(&loaded), [ProblemCode::BrokenJson]);
}

#[test]
fn a_list_of_broken_items_keeps_the_first_problems_and_a_number() {
    const ITEMS: usize = 30_000;
    // Long enough for several batches, short enough for a test.
    let cut = Cut { batch: Some(1 << 18), min_bulk: 1 << 20, ..Cut::default() };
    let item = |at: usize| pod(&format!("p{at:05}"), &json!({"priority": "high"}));
    let text = serde_json::to_string_pretty(&list((0..ITEMS).map(item).collect())).unwrap();
    let table = FileTable::from_bytes(vec![("x.json".to_owned(), text.into_bytes())]);
    let loaded = load_cut(&table, cut);
    assert_eq!(loaded.problems.len(), KEPT);
    assert_eq!(loaded.problems.iter().map(|it| it.more).sum::<u64>(), (ITEMS - KEPT) as u64);
    for (at, problem) in loaded.problems.iter().enumerate() {
        assert_eq!(problem.object, Some(format!("Pod shop/p{at:05}")), "the first by place are kept");
    }
    let coverage = loaded.cluster.coverage.iter().find(|it| it.kind == Kind::Pod).unwrap();
    assert_eq!((coverage.rejected, coverage.state), (ITEMS as u64, CoverageState::Rejected));
}

#[test]
fn more_objects_than_there_is_room_for_are_refused_whole() {
    let pod = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n"}}"#;
    let documents = format!("{pod}\n").repeat(20);
    let list = format!(r#"{{"kind":"List","items":[{}]}}"#, vec![pod; 20].join(","));
    for (what, text) in [("documents", documents), ("list", list)] {
        for min_bulk in [0, usize::MAX] {
            let load = |objects| {
                load_cut(
                    &FileTable::from_bytes(vec![("x.json".to_owned(), text.clone().into_bytes())]),
                    Cut { batch: Some(100), min_bulk, objects, ..Cut::default() },
                )
            };
            let full = load(10);
            assert_eq!(full.cluster.pods.len(), 0, "{what}");
            assert_eq!(full.problems.iter().map(|it| it.code).collect::<Vec<_>>(), [ProblemCode::TooManyObjects]);
            assert_eq!(load(30).cluster.pods.len(), 1, "{what}");
        }
    }
}
