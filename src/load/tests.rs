//! What loading promises.

use super::*;
use crate::model::cluster::{CoverageState, Kind};

fn load_texts(files: &[(&str, &str)]) -> Loaded {
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
    load(&FileTable::from_bytes(files.iter().map(file).collect()))
}

#[test]
fn a_broken_list_is_truncated_and_its_objects_are_used() {
    let text = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"na"#;
    let loaded = load_texts(&[("pods.json", text)]);
    assert_eq!(loaded.cluster.pods.len(), 1);
    assert_eq!(loaded.cluster.coverage_of(Kind::Pod), CoverageState::Truncated);
    assert_eq!((loaded.problems[0].line, loaded.problems[0].column), (Some(1), Some(text.len() as u64 + 1)));
}
