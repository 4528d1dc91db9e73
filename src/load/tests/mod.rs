//! What loading promises.

mod damage;
mod defaults;
mod layouts;
mod quick;
pub(super) mod sample;
mod sequences;
mod streamed;

use super::*;
use crate::model::cluster::{Cluster, Origin};
use crate::problem::ProblemCode;
use serde_json::{Value, json};

fn load_texts(files: &[(&str, &str)]) -> Loaded {
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
    let loaded = load(&FileTable::from_bytes(files.iter().map(file).collect()));
    for problem in &loaded.problems {
        assert!(problem.path.is_some() && problem.help.is_some(), "without place or remedy: {problem:?}");
    }
    loaded
}

fn load_cut(files: &FileTable, cut: Cut) -> Loaded {
    load_part(files, &Wanted::default(), cut, &Meter::default())
}

fn load_objects(objects: Vec<Value>) -> Loaded {
    load_texts(&[("cluster.json", &list(objects).to_string())])
}

fn list(objects: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": objects})
}

/// A minimal pod with this spec.
fn pod(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": spec})
}

/// The cluster without what tells where objects stood.
fn placeless(mut cluster: Cluster) -> Cluster {
    cluster.nodes.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster.pods.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster.pdbs.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster.priority_classes.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster.storage.claims.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster.storage.volumes.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster.storage.classes.iter_mut().for_each(|it| it.origin = Origin::NONE);
    cluster
}

fn codes(loaded: &Loaded) -> Vec<ProblemCode> {
    loaded.problems.iter().map(|problem| problem.code).collect()
}
