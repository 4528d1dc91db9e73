//! An answer is of one cluster; what is one cluster is never taken for two.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Scratch, run, unpack};
use preempt_audit::load::{self, Loaded, Wanted};
use preempt_audit::problem::ProblemCode;
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;
use serde_json::{Value, json};

/// A small cluster: its nodes, their UIDs and when they came; one pod on each.
struct Cluster<'a> {
    name: &'a str,
    nodes: &'a [&'a str],
    came: &'a str,
    taken: &'a str,
}

impl Cluster<'_> {
    fn object(&self, kind: &str, name: &str, time: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "uid": format!("{}-{kind}-{name}", self.name),
            "resourceVersion": "7", "creationTimestamp": time}})
    }

    fn nodes(&self) -> Vec<Value> {
        let node = |name: &&str| {
            let mut node = self.object("Node", name, self.came);
            node["status"] = json!({"allocatable": {"cpu": "4", "pods": "110"}});
            node
        };
        self.nodes.iter().map(node).collect()
    }

    fn pods(&self) -> Vec<Value> {
        let pod = |node: &&str| {
            let mut pod = self.object("Pod", &format!("on-{node}"), self.taken);
            pod["metadata"]["namespace"] = json!("shop");
            pod["spec"] = json!({"containers": [{"name": "c"}], "nodeName": node});
            pod["status"] = json!({"phase": "Running", "startTime": self.taken});
            pod
        };
        self.nodes.iter().map(pod).collect()
    }

    fn namespace(&self) -> Vec<Value> {
        vec![self.object("Namespace", "kube-system", "2026-01-01T00:00:00Z")]
    }
}

fn read(files: &[(&str, Vec<Value>)], cluster: Option<&str>) -> Loaded {
    let file = |(path, items): &(&str, Vec<Value>)| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        ((*path).to_owned(), list.to_string().into_bytes())
    };
    let (table, _) = FileTable::from_memory(files.iter().map(file).collect(), Limits::default());
    load::load_wanted(&table, &Wanted { cluster: cluster.map(str::to_owned), ..Wanted::default() })
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.clusters.iter().map(|it| it.name.as_str()).collect()
}

const PROD: Cluster<'_> =
    Cluster { name: "prod", nodes: &["p1", "p2"], came: "2026-02-01T00:00:00Z", taken: "2026-03-01T10:00:00Z" };
const STAGING: Cluster<'_> =
    Cluster { name: "staging", nodes: &["s1"], came: "2026-02-03T00:00:00Z", taken: "2026-03-01T10:20:00Z" };

#[test]
fn clusters_of_other_kube_systems_are_refused_and_can_be_chosen() {
    let twin = Cluster { name: "twin", ..PROD };
    let files = [
        ("d/prod/nodes.json", PROD.nodes()),
        ("d/prod/pods.json", PROD.pods()),
        ("d/prod/ns/namespaces.json", PROD.namespace()),
        ("d/twin.tar.gz!all.json", [twin.nodes(), twin.pods(), twin.namespace()].concat()),
    ];
    let both = read(&files, None);
    assert!(both.refused && both.cluster.nodes.is_empty());
    assert_eq!(names(&both), ["prod", "twin"]);
    assert_eq!(both.clusters[0].objects, (2, 2));
    assert_eq!(both.problems.iter().map(|it| it.code).collect::<Vec<_>>(), [ProblemCode::SeveralClusters]);
    for (name, uid) in [("prod", "prod-Node-p1"), ("twin", "twin-Node-p1"), ("d/twin.tar.gz", "twin-Node-p1")] {
        let one = read(&files, Some(name));
        assert!(!one.refused && one.problems.is_empty(), "{name}: {:?}", one.problems);
        assert_eq!(one.cluster.nodes[0].uid.map(|it| one.cluster.uid(it)).as_deref(), Some(uid));
        assert_eq!((one.cluster.nodes.len(), one.cluster.pods.len()), (2, 2));
    }
    let none = read(&files, Some("test"));
    assert!(none.refused && none.problems[0].message.contains("`test`"));
}

#[test]
fn nodes_that_stood_and_are_not_shown_tell_clusters_apart() {
    let files = [
        ("d/prod.json", [PROD.nodes(), PROD.pods()].concat()),
        ("d/staging.json", [STAGING.nodes(), STAGING.pods()].concat()),
    ];
    assert_eq!(names(&read(&files, None)), ["prod", "staging"]);
    assert_eq!(read(&files, Some("staging")).cluster.nodes.len(), 1);
}

#[test]
fn one_cluster_is_never_refused() {
    // Nodes that were replaced.
    let later = Cluster { came: "2026-03-01T10:10:00Z", ..STAGING };
    let whole = |cluster: &Cluster<'_>| [cluster.nodes(), cluster.pods()].concat();
    assert!(read(&[("d/1/all.json", whole(&PROD)), ("d/2/all.json", whole(&later))], None).clusters.is_empty());
    // Whatever nodes say, the same namespace is the same cluster.
    let files = [
        ("d/1/all.json", [whole(&PROD), PROD.namespace()].concat()),
        ("d/2/all.json", [whole(&STAGING), PROD.namespace()].concat()),
    ];
    assert!(read(&files, None).clusters.is_empty());
    // Parts that do not show both nodes and pods of their own.
    assert!(read(&[("d/1/pods.json", PROD.pods()), ("d/2/pods.json", STAGING.pods())], None).clusters.is_empty());
    assert!(read(&[("d/1/nodes.json", PROD.nodes()), ("d/2/nodes.json", STAGING.nodes())], None).clusters.is_empty());
    let crossed =
        [("d/1/all.json", [PROD.nodes(), STAGING.pods(), PROD.pods()].concat()), ("d/2/all.json", whole(&STAGING))];
    assert!(read(&crossed, None).clusters.is_empty());
}

#[test]
fn two_clusters_in_one_file_are_refused() {
    let twin = Cluster { name: "twin", ..PROD };
    let loaded = read(&[("all.json", [PROD.namespace(), PROD.nodes(), twin.namespace()].concat())], None);
    assert!(loaded.refused && loaded.problems[0].message.contains("more than one cluster"), "{:?}", loaded.problems);
}

#[test]
fn recordings_beside_each_other_are_clusters() {
    let scratch = Scratch::new("clusters");
    unpack("live.tar.gz", &scratch.0);
    let folder = scratch.0.to_str().unwrap();
    let refused = run(&["explain", folder]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("PA0214") && said.contains("dumps of 26 clusters"), "{said}");
    let chosen = run(&["explain", folder, "--cluster", "20-tie", "-o", "json"]);
    let alone = run(&["explain", scratch.path("20-tie").to_str().unwrap(), "-o", "json"]);
    let pods = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap()["pods"].clone();
    assert_eq!(pods(&chosen.stdout), pods(&alone.stdout));
}
