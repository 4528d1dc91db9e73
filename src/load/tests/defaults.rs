//! What the API server would have filled in.

use super::*;
use crate::model::affinity::PodAffinityTerm;
use crate::model::pod::Pod;
use crate::model::quantity::Quantity;
use crate::model::resources::{ResourceList, ResourceName};
use crate::model::selector::LabelSelector;

fn load_pod(spec: &Value) -> (Cluster, Pod) {
    let mut object = pod("web-0", spec);
    object["metadata"]["labels"] = json!({"app": "web", "hash": "h1"});
    let loaded = load_objects(vec![object]);
    assert_eq!(loaded.problems, []);
    let pod = loaded.cluster.pods[0].clone();
    (loaded.cluster, pod)
}

fn amount(list: &ResourceList, name: ResourceName) -> Option<Quantity> {
    list.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

fn quantity(text: &str) -> Option<Quantity> {
    Quantity::parse(text)
}

#[test]
fn limits_stand_in_for_missing_requests() {
    let resources = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}});
    let (_, pod) = load_pod(&json!({"containers": [{"name": "a", "resources": resources}]}));
    let requests = &pod.requests.containers[0].requests;
    assert_eq!(amount(requests, ResourceName::Cpu), quantity("1"));
    assert_eq!(amount(requests, ResourceName::Memory), quantity("1Gi"));
}

#[test]
fn pod_level_limits_fill_in_pod_level_requests() {
    let container = json!({"name": "a", "resources": {"requests": {"cpu": "100m"}}});
    let level = |resources: Value| {
        load_pod(&json!({"resources": resources, "containers": [container, container]})).1.requests.pod_level.clone()
    };
    assert_eq!(level(json!({})), None);
    let requests = level(json!({"requests": {"memory": "1Gi"}})).unwrap();
    assert_eq!(amount(&requests, ResourceName::Cpu), None);
    // The containers ask for cpu, nobody asks for memory.
    let requests = level(json!({"limits": {"cpu": "1", "memory": "2Gi"}})).unwrap();
    assert_eq!(amount(&requests, ResourceName::Cpu), quantity("200m"));
    assert_eq!(amount(&requests, ResourceName::Memory), quantity("2Gi"));
}

#[test]
fn ports_on_the_hosts_network_are_host_ports() {
    let ports = json!([{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081, "protocol": "UDP"}]);
    let numbers = |host_network: bool| {
        let spec = json!({"hostNetwork": host_network, "containers": [{"name": "a", "ports": ports}]});
        let (cluster, pod) = load_pod(&spec);
        let port = |it: &crate::model::pod::HostPort| {
            (it.port, cluster.text(it.protocol).to_owned(), cluster.text(it.ip).to_owned())
        };
        pod.spec.host_ports.iter().map(port).collect::<Vec<_>>()
    };
    let udp = (8081, "UDP".to_owned(), "0.0.0.0".to_owned());
    assert_eq!(numbers(false), [udp.clone()]);
    assert_eq!(numbers(true), [(80, "TCP".to_owned(), "0.0.0.0".to_owned()), udp]);
}

#[test]
fn the_scheduler_has_a_default_name() {
    let (cluster, pod) = load_pod(&json!({}));
    assert_eq!(cluster.text(pod.spec.scheduler_name), "default-scheduler");
    assert!(pod.status_missing);
    let without_namespace = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
    assert!(load_objects(vec![without_namespace]).cluster.find_pod("default", "a").is_some());
}

fn anti_affinity(term: &Value) -> PodAffinityTerm {
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    load_pod(&json!({"affinity": {"podAntiAffinity": required}})).1.spec.pod_anti_affinity[0].clone()
}

#[test]
fn label_keys_of_affinity_terms_join_the_selector() {
    let keys = json!({"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["hash", "absent"],
        "mismatchLabelKeys": ["app"]});
    let stored = json!({"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [
        {"key": "hash", "operator": "In", "values": ["h1"]}, {"key": "app", "operator": "NotIn", "values": ["web"]}]},
        "matchLabelKeys": ["hash", "absent"], "mismatchLabelKeys": ["app"]});
    let plain = json!({"topologyKey": "z", "labelSelector": stored["labelSelector"]});
    assert_eq!(anti_affinity(&keys), anti_affinity(&plain));
    assert_eq!(anti_affinity(&stored), anti_affinity(&plain), "as the API server stores it");
    let nothing = json!({"topologyKey": "z", "matchLabelKeys": ["hash"]});
    assert_eq!(anti_affinity(&nothing).selector, LabelSelector::Absent);
}

#[test]
fn capacity_stands_in_for_missing_allocatable() {
    let node = |status: Value| {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status});
        load_objects(vec![node]).cluster.nodes[0].allocatable.clone()
    };
    assert_eq!(amount(&node(json!({"capacity": {"cpu": 4}})), ResourceName::Cpu), quantity("4"));
    assert_eq!(
        amount(&node(json!({"capacity": {"cpu": 4}, "allocatable": {"cpu": 3}})), ResourceName::Cpu),
        quantity("3")
    );
    assert_eq!(amount(&node(json!({"capacity": {"cpu": 4}, "allocatable": {}})), ResourceName::Cpu), None);
}

#[test]
fn pods_of_one_template_share_a_spec() {
    let objects = (0..3).map(|number| pod(&format!("p{number}"), &json!({"tolerations": [{"operator": "Exists"}]})));
    let cluster = load_objects(objects.collect()).cluster;
    assert!(std::sync::Arc::ptr_eq(&cluster.pods[0].spec, &cluster.pods[2].spec));
}

#[test]
fn pods_of_one_template_share_what_they_ask_for() {
    let asks = |name: &str, memory: &str| {
        let requests = json!({"memory": memory, "nvidia.com/gpu": "1"});
        pod(name, &json!({"containers": [{"name": "main", "resources": {"requests": requests}}]}))
    };
    let plain = |name: &str, memory: &str| {
        pod(name, &json!({"containers": [{"name": "main", "resources": {"requests": {"memory": memory}}}]}))
    };
    let objects =
        vec![plain("a", "1Gi"), plain("b", "1Gi"), plain("c", "1073741824"), asks("d", "1Gi"), asks("e", "1Gi")];
    let pods = load_objects(objects).cluster.pods;
    let share = |a: usize, b: usize| std::sync::Arc::ptr_eq(&pods[a].requests, &pods[b].requests);
    assert!(share(0, 1) && !share(1, 2), "another word for an amount stays");
    assert_eq!((&pods[1].requests, &pods[3].requests), (&pods[2].requests, &pods[4].requests));
}
