//! Small clusters as text, for tests. One object a line; what a word means depends on the kind:
//!
//! ```text
//! node a cpu=4 mem=8Gi pods=110 zone=z1 label:disk=ssd taint:gpu=only:NoSchedule cordoned example.com/gpu=2
//! pod db/pg-0 on=a prio=1000 cpu=2 mem=1Gi label:app=pg start=10:00 port=8080 deleting owner=StatefulSet/pg claim=data
//! want batch/train prio=2000 cpu=3 select:disk=ssd tolerate:gpu=only:NoSchedule nominated=a never
//! pdb db/pg label:app=pg allowed=0
//! class fast provisioner=csi.a immediate
//! claim db/data class=fast volume=pv-1 size=10Gi exclusive selected=a
//! volume pv-1 class=fast size=10Gi on=a label:topology.kubernetes.io/zone=z1
//! csinode a driver=csi.a:2 migrated=kubernetes.io/aws-ebs
//! attachment va-1 on=a volume=pv-1
//! ```
//!
//! `want` is a pod without a node; the first is the pod to decide about. A name without a slash is in `default`. A `field:`
//! and a JSON value sets any field of the object: `spec.affinity:{"podAntiAffinity":{…}}` (no blanks within). Other kinds
//! are lines of JSON. Kinds that no line names count as empty lists: nothing is unknown.

use crate::engine::cycle;
use crate::engine::framework::{NodeStatus, PodCycle};
use crate::engine::outcome::{Disposition, Outcome, Preemption};
use crate::engine::snapshot::Snapshot;
use crate::explain::holes::{self, Background};
use crate::kube::behavior::Behavior;
use crate::kube::gates::Gates;
use crate::kube::profile::Profile;
use crate::kube::release::Release;
use crate::load;
use crate::model::cluster::{Cluster, Coverage, CoverageState, Kind};
use crate::model::id::PodId;
use crate::source::files::{Bytes, FileTable, Form, SourceFile};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// The cluster that a text describes.
pub(crate) fn cluster(text: &str) -> Cluster {
    let file = SourceFile {
        path: "testkit".to_owned(),
        bytes: Bytes::Owned(list(text).to_string().into_bytes()),
        form: Form::AsIs,
        kept: None,
        size: 0,
        modified: None,
    };
    let loaded = load::load(&FileTable { files: vec![file], ..FileTable::default() });
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let mut cluster = loaded.cluster;
    for kind in Kind::ALL {
        if cluster.coverage_of(*kind) == CoverageState::Absent {
            cluster.coverage.retain(|it| it.kind != *kind);
            let state = CoverageState::Empty;
            cluster.coverage.push(Coverage { kind: *kind, state, objects: 0, rejected: 0, doubtful: false });
        }
    }
    cluster
}

/// A cluster as the scheduler of one release sees it, and the pod to decide about.
pub(crate) struct Scene {
    pub(crate) snapshot: Snapshot,
    pub(crate) profile: Profile,
    pub(crate) pod: PodId,
}

/// The scene of a text at the newest patch of `1.minor`, with default gates and profile.
pub(crate) fn scene(minor: u16, text: &str) -> Scene {
    scene_without(minor, text, &[])
}

/// The scene of a text at one patch release.
pub(crate) fn scene_at(release: Release, text: &str) -> Scene {
    build(release, text, &[])
}

/// The scene at the newest patch of `1.minor`, of a dump that lacks some kinds.
pub(crate) fn scene_without(minor: u16, text: &str, lacking: &[Kind]) -> Scene {
    build(Release::of_minor(minor), text, lacking)
}

fn build(release: Release, text: &str, lacking: &[Kind]) -> Scene {
    let gates = Gates::defaults(release);
    let mut cluster = cluster(text);
    for coverage in cluster.coverage.iter_mut().filter(|it| lacking.contains(&it.kind)) {
        coverage.state = CoverageState::Absent;
    }
    let wanted = text.lines().find_map(|line| line.trim().strip_prefix("want "));
    let (namespace, name) = split_name(wanted.expect("a `want` line").split(' ').next().unwrap());
    let pod = cluster.find_pod(namespace, name).unwrap();
    let profile = Profile::default_for(release, &gates);
    let snapshot = Snapshot::new(Arc::new(cluster), Arc::new(Behavior::of(release, &gates)));
    Scene { snapshot, profile, pod }
}

impl Scene {
    /// What a plugin is given.
    pub(crate) fn cycle(&self) -> PodCycle<'_> {
        PodCycle { snapshot: &self.snapshot, pod: self.pod, profile: &self.profile, changed: None }
    }

    /// What the scheduler decides.
    pub(crate) fn outcome(&self) -> Outcome {
        let outcome = cycle::schedule(&self.cycle());
        let background = Background::of(&self.snapshot.cluster);
        for gap in &outcome.gaps {
            let harmless = holes::harmless(&self.cycle(), &background, gap.kind);
            assert_eq!(harmless, None, "a gap is never taken for harmless: {gap:?}");
        }
        outcome
    }

    /// The decision in one line: `fits a, b`, `a: evict db/pg-0, db/pg-1; violations 0`, `no candidates`, …
    pub(crate) fn answer(&self) -> String {
        let outcome = self.outcome();
        match &outcome.disposition {
            Disposition::Feasible(nodes) => {
                let names = nodes.iter().map(|it| self.node_name(*it));
                format!("fits {}", names.collect::<Vec<_>>().join(", "))
            }
            Disposition::Unschedulable => {
                outcome.post_filter.and_then(|it| it.preemption).map_or_else(String::new, |it| self.preemption(&it))
            }
            other => format!("{other:?}"),
        }
    }

    fn preemption(&self, preemption: &Preemption) -> String {
        let Some(choice) = &preemption.choice else { return "no candidates".to_owned() };
        let chosen = preemption.candidates.iter().find(|it| it.node == choice.node).unwrap();
        let victims = chosen.victims.iter().map(|it| self.snapshot.cluster.pod_key(it.pod));
        let victims = victims.collect::<Vec<_>>().join(", ");
        let mut line = format!("{}: evict {victims}", self.node_name(choice.node));
        if chosen.pdb_violations != 0 {
            write!(line, "; violations {}", chosen.pdb_violations).unwrap();
        }
        line
    }

    fn node_name(&self, node: crate::model::id::NodeId) -> &str {
        self.snapshot.cluster.text(self.snapshot.cluster.node(node).name)
    }

    /// What a node says of the pod.
    pub(crate) fn status(&self, node: &str) -> Option<NodeStatus> {
        let cluster = &self.snapshot.cluster;
        let node = cluster.node_of(cluster.symbols.get(node)?)?;
        self.outcome().nodes[node.index()].clone()
    }
}

/// Holds the answer of one release on a cluster against what is expected.
#[track_caller]
pub(crate) fn check(minor: u16, text: &str, expected: &str) {
    assert_eq!(scene(minor, text).answer(), expected, "at 1.{minor}");
}

fn split_name(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or(("default", name))
}

fn list(text: &str) -> Value {
    let objects = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    json!({ "apiVersion": "v1", "kind": "List", "items": objects.map(object).collect::<Vec<_>>() })
}

fn object(line: &str) -> Value {
    if line.starts_with('{') {
        return serde_json::from_str(line).unwrap();
    }
    let mut words = line.split_whitespace();
    let (kind, name) = (words.next().unwrap(), words.next().unwrap());
    let mut object = match kind {
        "node" => new_node(name),
        "pod" | "want" => new_pod(name),
        "pdb" => new_pdb(name),
        "class" | "claim" | "volume" | "csinode" | "attachment" => storage::new(kind, name),
        other => panic!("no kind `{other}`"),
    };
    for word in words {
        match kind {
            "node" => set_node(&mut object, word),
            "pdb" => set_pdb(&mut object, word),
            "class" | "claim" | "volume" | "csinode" | "attachment" => storage::set(kind, &mut object, word),
            _ => set_pod(&mut object, word),
        }
    }
    object
}

fn new_node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "spec": {}, "status": { "allocatable": { "cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110" } },
    })
}

fn new_pod(name: &str) -> Value {
    let (namespace, name) = split_name(name);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "namespace": namespace, "name": name, "uid": name, "labels": {} },
        "spec": { "containers": [{ "name": "c", "resources": { "requests": {} } }] },
        "status": { "phase": "Pending" },
    })
}

fn new_pdb(name: &str) -> Value {
    let (namespace, name) = split_name(name);
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "namespace": namespace, "name": name },
        "spec": { "selector": { "matchLabels": {} } }, "status": { "disruptionsAllowed": 0 },
    })
}

fn set_node(node: &mut Value, word: &str) {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match key {
        "zone" => node["metadata"]["labels"]["topology.kubernetes.io/zone"] = value.into(),
        "cordoned" => node["spec"]["unschedulable"] = true.into(),
        _ if key.starts_with("taint:") => push(&mut node["spec"]["taints"], taint(&word["taint:".len()..])),
        _ => set_common(node, word, "/status/allocatable"),
    }
}

fn set_pod(pod: &mut Value, word: &str) {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match key {
        "on" => {
            pod["spec"]["nodeName"] = value.into();
            pod["status"]["phase"] = "Running".into();
        }
        "prio" => pod["spec"]["priority"] = number(value),
        "start" => pod["status"]["startTime"] = format!("2025-01-01T{value}:00Z").into(),
        "never" => pod["spec"]["preemptionPolicy"] = "Never".into(),
        "nominated" => pod["status"]["nominatedNodeName"] = value.into(),
        "deleting" => pod["metadata"]["deletionTimestamp"] = "2025-01-01T12:00:00Z".into(),
        "port" => push(
            &mut pod["spec"]["containers"][0]["ports"],
            json!({ "containerPort": number(value), "hostPort": number(value), "protocol": "TCP" }),
        ),
        "claim" => {
            push(
                &mut pod["spec"]["volumes"],
                json!({ "name": value, "persistentVolumeClaim": { "claimName": value } }),
            );
        }
        "owner" => {
            let (kind, name) = value.split_once('/').unwrap();
            let owner = json!({ "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": true });
            push(&mut pod["metadata"]["ownerReferences"], owner);
        }
        _ if key.starts_with("select:") => pod["spec"]["nodeSelector"][&key["select:".len()..]] = value.into(),
        _ if key.starts_with("tolerate:") => {
            let mut toleration = taint(&word["tolerate:".len()..]);
            let operator = if toleration["value"] == "" { "Exists" } else { "Equal" };
            toleration["operator"] = operator.into();
            push(&mut pod["spec"]["tolerations"], toleration);
        }
        _ => set_common(pod, word, "/spec/containers/0/resources/requests"),
    }
}

fn set_pdb(pdb: &mut Value, word: &str) {
    match word.split_once('=').unwrap_or((word, "")) {
        ("allowed", value) => pdb["status"]["disruptionsAllowed"] = number(value),
        (key, value) if key.starts_with("label:") => {
            pdb["spec"]["selector"]["matchLabels"][&key["label:".len()..]] = value.into();
        }
        _ => set_common(pdb, word, ""),
    }
}

/// Labels, resources, and fields by path.
fn set_common(object: &mut Value, word: &str, resources: &str) {
    if let Some(label) = word.strip_prefix("label:") {
        let (key, value) = label.split_once('=').unwrap();
        object["metadata"]["labels"][key] = value.into();
    } else if let Some((path, value)) = word.split_once(':') {
        let field = path.split('.').fold(object, |at, key| match key.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[key],
        });
        *field = serde_json::from_str(value).unwrap();
    } else {
        let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("no word `{word}`"));
        let name = match key {
            "mem" => "memory",
            "disk" => "ephemeral-storage",
            other => other,
        };
        object.pointer_mut(resources).unwrap()[name] = value.into();
    }
}

/// `key=value:Effect`, `key:Effect` or `key=value`.
fn taint(text: &str) -> Value {
    let (pair, effect) = text.split_once(':').unwrap_or((text, ""));
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let mut taint = Map::new();
    taint.insert("key".to_owned(), key.into());
    taint.insert("value".to_owned(), value.into());
    if !effect.is_empty() {
        taint.insert("effect".to_owned(), effect.into());
    }
    taint.into()
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

/// Storage objects.
mod storage {
    use super::{number, push, set_common, split_name};
    use serde_json::{Value, json};

    pub(super) fn new(kind: &str, name: &str) -> Value {
        let gib = json!({ "storage": "10Gi" });
        match kind {
            "class" => json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": name },
                "provisioner": "csi.a", "volumeBindingMode": "WaitForFirstConsumer",
            }),
            "claim" => {
                let (namespace, name) = split_name(name);
                json!({
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "metadata": { "namespace": namespace, "name": name, "uid": name, "annotations": {} },
                    "spec": {
                        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": gib },
                    },
                    "status": { "phase": "Pending" },
                })
            }
            "volume" => json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name, "labels": {} },
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "capacity": gib,
                    "csi": { "driver": "csi.a", "volumeHandle": name },
                },
                "status": { "phase": "Available" },
            }),
            "csinode" => json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
                "metadata": { "name": name, "annotations": {} }, "spec": { "drivers": [] },
            }),
            _ => json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": { "name": name },
                "spec": { "attacher": "csi.a", "nodeName": "", "source": {} }, "status": { "attached": true },
            }),
        }
    }

    pub(super) fn set(kind: &str, object: &mut Value, word: &str) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match (kind, key) {
            ("class", "provisioner") => object["provisioner"] = value.into(),
            ("class", "immediate") => object["volumeBindingMode"] = "Immediate".into(),
            ("claim" | "volume", "class") => object["spec"]["storageClassName"] = value.into(),
            ("claim", "size") => object["spec"]["resources"]["requests"]["storage"] = value.into(),
            ("claim", "selected") => {
                object["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = value.into();
            }
            ("claim", "exclusive") => object["spec"]["accessModes"] = json!(["ReadWriteOncePod"]),
            ("claim", "volume") => {
                object["spec"]["volumeName"] = value.into();
                object["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes".into();
                object["status"]["phase"] = "Bound".into();
            }
            ("volume", "size") => object["spec"]["capacity"]["storage"] = value.into(),
            ("volume", "on") => {
                let host = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": [value] });
                object["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] =
                    json!([{ "matchExpressions": [host] }]);
            }
            ("csinode", "driver") => {
                let (name, count) = value.split_once(':').unwrap();
                let driver = json!({ "name": name, "nodeID": name, "allocatable": { "count": number(count) } });
                push(&mut object["spec"]["drivers"], driver);
            }
            ("csinode", "migrated") => {
                object["metadata"]["annotations"]["storage.alpha.kubernetes.io/migrated-plugins"] = value.into();
            }
            ("attachment", "on") => object["spec"]["nodeName"] = value.into(),
            ("attachment", "volume") => object["spec"]["source"]["persistentVolumeName"] = value.into(),
            _ => set_common(object, word, ""),
        }
    }
}

fn number(text: &str) -> Value {
    text.parse::<i64>().unwrap().into()
}
