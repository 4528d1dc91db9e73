//! Slim structs against k8s-openapi's types: every fixture is read both ways and has to give the same facts, so that a
//! misspelled or misplaced field cannot hide.

use super::*;
use crate::load::fault;
use crate::load::meta::{ManagedFields, RawOwner};
use crate::load::node::{RawNode, RawNodeCondition, RawNodeInfo, RawNodeSpec, RawNodeStatus, RawTaint};
use crate::load::selectors::{RawNodeSelectorTerm, RawRequirement};
use crate::load::tests::sample;
use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use proptest::prelude::*;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

fn text(it: &str) -> Option<Text<'_>> {
    Some(Text(Cow::Borrowed(it)))
}

fn opt(it: Option<&String>) -> Option<Text<'_>> {
    it.and_then(|it| text(it))
}

fn int(it: Option<i32>) -> Option<Int> {
    it.map(|it| Int(it.into()))
}

fn texts(it: Option<&Vec<String>>) -> Option<Vec<Text<'_>>> {
    it.map(|it| it.iter().filter_map(|it| text(it)).collect())
}

fn time(it: Option<&meta::Time>) -> Option<Time> {
    it.map(|it| Time(i64::try_from(it.0.as_nanosecond()).unwrap()))
}

fn pairs(it: Option<&BTreeMap<String, String>>) -> Option<Pairs<'_, Text<'_>>> {
    Some(Pairs(it?.iter().filter_map(|(key, value)| text(key).zip(text(value))).collect()))
}

fn amounts(it: Option<&BTreeMap<String, resource::Quantity>>) -> Option<Pairs<'_, Quantity>> {
    let amount = |it: &resource::Quantity| Quantity::parse(&it.0).unwrap();
    Some(Pairs(it?.iter().filter_map(|(key, value)| text(key).map(|key| (key, amount(value)))).collect()))
}

fn each<'k, T, R>(it: Option<&'k Vec<T>>, of: impl Fn(&'k T) -> R) -> Option<Vec<R>> {
    it.map(|it| it.iter().map(of).collect())
}

fn metadata(it: &meta::ObjectMeta) -> Meta<'_> {
    Meta {
        name: opt(it.name.as_ref()),
        namespace: opt(it.namespace.as_ref()),
        uid: opt(it.uid.as_ref()),
        resource_version: opt(it.resource_version.as_ref()),
        creation_timestamp: time(it.creation_timestamp.as_ref()),
        deletion_timestamp: time(it.deletion_timestamp.as_ref()),
        deletion_grace_period_seconds: it.deletion_grace_period_seconds.map(Int),
        labels: pairs(it.labels.as_ref()),
        annotations: pairs(it.annotations.as_ref()),
        owner_references: each(it.owner_references.as_ref(), |it| RawOwner {
            kind: text(&it.kind),
            name: text(&it.name),
            uid: text(&it.uid),
            controller: it.controller,
        }),
        managed_fields: each(it.managed_fields.as_ref(), |it| ManagedFields { time: time(it.time.as_ref()) }),
    }
}

fn pod(it: &v1::Pod) -> RawPod<'_> {
    RawPod {
        kind: text("Pod"),
        api_version: Seen(true),
        python: Seen(false),
        metadata: Some(metadata(&it.metadata)),
        spec: it.spec.as_ref().map(spec),
        status: it.status.as_ref().map(status),
    }
}

fn spec(it: &v1::PodSpec) -> RawPodSpec<'_> {
    RawPodSpec {
        containers: Some(it.containers.iter().map(container).collect()),
        init_containers: each(it.init_containers.as_ref(), container),
        ephemeral_containers: each(it.ephemeral_containers.as_ref(), |it| RawContainer {
            volume_mounts: each(it.volume_mounts.as_ref(), mount),
            ..RawContainer::default()
        }),
        overhead: amounts(it.overhead.as_ref()),
        resources: it.resources.as_ref().map(resources),
        priority: int(it.priority),
        priority_class_name: opt(it.priority_class_name.as_ref()),
        preemption_policy: opt(it.preemption_policy.as_ref()),
        node_name: opt(it.node_name.as_ref()),
        scheduler_name: opt(it.scheduler_name.as_ref()),
        termination_grace_period_seconds: it.termination_grace_period_seconds.map(Int),
        node_selector: pairs(it.node_selector.as_ref()),
        affinity: it.affinity.as_ref().map(affinity),
        tolerations: each(it.tolerations.as_ref(), |it| RawToleration {
            key: opt(it.key.as_ref()),
            operator: opt(it.operator.as_ref()),
            value: opt(it.value.as_ref()),
            effect: opt(it.effect.as_ref()),
        }),
        topology_spread_constraints: each(it.topology_spread_constraints.as_ref(), spread),
        volumes: each(it.volumes.as_ref(), volumes::typed::pod_volume),
        scheduling_gates: each(it.scheduling_gates.as_ref(), |it| RawNamed { name: text(&it.name) }),
        resource_claims: each(it.resource_claims.as_ref(), |it| RawResourceClaim {
            name: text(&it.name),
            resource_claim_name: opt(it.resource_claim_name.as_ref()),
            resource_claim_template_name: opt(it.resource_claim_template_name.as_ref()),
            source: None,
        }),
        scheduling_group: it
            .scheduling_group
            .as_ref()
            .map(|it| RawSchedulingGroup { pod_group_name: opt(it.pod_group_name.as_ref()) }),
        workload_ref: None,
        host_network: it.host_network,
        host_users: it.host_users,
    }
}

fn container(it: &v1::Container) -> RawContainer<'_> {
    RawContainer {
        name: text(&it.name),
        resources: it.resources.as_ref().map(resources),
        restart_policy: opt(it.restart_policy.as_ref()),
        restart_policy_rules: each(it.restart_policy_rules.as_ref(), |it| RawRestartRule { action: text(&it.action) }),
        ports: each(it.ports.as_ref(), |it| RawPort {
            host_port: int(it.host_port),
            container_port: int(Some(it.container_port)),
            host_ip: opt(it.host_ip.as_ref()),
            protocol: opt(it.protocol.as_ref()),
        }),
        volume_mounts: each(it.volume_mounts.as_ref(), mount),
    }
}

fn mount(it: &v1::VolumeMount) -> RawMount {
    RawMount { bind_mount_options: each(it.bind_mount_options.as_ref(), |_| serde::de::IgnoredAny) }
}

fn resources(it: &v1::ResourceRequirements) -> RawResources<'_> {
    RawResources { requests: amounts(it.requests.as_ref()), limits: amounts(it.limits.as_ref()) }
}

fn affinity(it: &v1::Affinity) -> RawAffinity<'_> {
    RawAffinity {
        node_affinity: it.node_affinity.as_ref().map(|it| RawNodeAffinity {
            required: it.required_during_scheduling_ignored_during_execution.as_ref().map(node_selector),
        }),
        pod_affinity: it.pod_affinity.as_ref().map(|it| RawPodAffinity {
            required: each(it.required_during_scheduling_ignored_during_execution.as_ref(), term),
        }),
        pod_anti_affinity: it.pod_anti_affinity.as_ref().map(|it| RawPodAffinity {
            required: each(it.required_during_scheduling_ignored_during_execution.as_ref(), term),
        }),
    }
}

fn node_selector(it: &v1::NodeSelector) -> RawNodeSelector<'_> {
    RawNodeSelector {
        node_selector_terms: each(Some(&it.node_selector_terms), |it| RawNodeSelectorTerm {
            match_expressions: each(it.match_expressions.as_ref(), node_requirement),
            match_fields: each(it.match_fields.as_ref(), node_requirement),
        }),
    }
}

fn node_requirement(it: &v1::NodeSelectorRequirement) -> RawRequirement<'_> {
    RawRequirement { key: text(&it.key), operator: text(&it.operator), values: texts(it.values.as_ref()) }
}

fn label_selector(it: &meta::LabelSelector) -> RawLabelSelector<'_> {
    RawLabelSelector {
        match_labels: pairs(it.match_labels.as_ref()),
        match_expressions: each(it.match_expressions.as_ref(), |it| RawRequirement {
            key: text(&it.key),
            operator: text(&it.operator),
            values: texts(it.values.as_ref()),
        }),
    }
}

fn term(it: &v1::PodAffinityTerm) -> RawPodAffinityTerm<'_> {
    RawPodAffinityTerm {
        label_selector: it.label_selector.as_ref().map(label_selector),
        namespaces: texts(it.namespaces.as_ref()),
        namespace_selector: it.namespace_selector.as_ref().map(label_selector),
        topology_key: text(&it.topology_key),
        match_label_keys: texts(it.match_label_keys.as_ref()),
        mismatch_label_keys: texts(it.mismatch_label_keys.as_ref()),
    }
}

fn spread(it: &v1::TopologySpreadConstraint) -> RawSpread<'_> {
    RawSpread {
        max_skew: int(Some(it.max_skew)),
        topology_key: text(&it.topology_key),
        when_unsatisfiable: text(&it.when_unsatisfiable),
        label_selector: it.label_selector.as_ref().map(label_selector),
        min_domains: int(it.min_domains),
        node_affinity_policy: opt(it.node_affinity_policy.as_ref()),
        node_taints_policy: opt(it.node_taints_policy.as_ref()),
        match_label_keys: texts(it.match_label_keys.as_ref()),
    }
}

fn status(it: &v1::PodStatus) -> RawPodStatus<'_> {
    RawPodStatus {
        phase: opt(it.phase.as_ref()),
        conditions: each(it.conditions.as_ref(), |it| RawCondition {
            kind: text(&it.type_),
            status: text(&it.status),
            reason: opt(it.reason.as_ref()),
            message: opt(it.message.as_ref()),
            last_transition_time: time(it.last_transition_time.as_ref()),
        }),
        nominated_node_name: opt(it.nominated_node_name.as_ref()),
        start_time: time(it.start_time.as_ref()),
        container_statuses: each(it.container_statuses.as_ref(), container_status),
        init_container_statuses: each(it.init_container_statuses.as_ref(), container_status),
        resize: opt(it.resize.as_ref()),
        allocated_resources: amounts(it.allocated_resources.as_ref()),
        resources: it.resources.as_ref().map(resources),
        resource_claim_statuses: each(it.resource_claim_statuses.as_ref(), |it| RawResourceClaim {
            name: text(&it.name),
            resource_claim_name: opt(it.resource_claim_name.as_ref()),
            resource_claim_template_name: None,
            source: None,
        }),
    }
}

fn container_status(it: &v1::ContainerStatus) -> RawContainerStatus<'_> {
    RawContainerStatus {
        name: text(&it.name),
        allocated_resources: amounts(it.allocated_resources.as_ref()),
        resources: it.resources.as_ref().map(resources),
    }
}

fn node(it: &v1::Node) -> RawNode<'_> {
    RawNode {
        kind: text("Node"),
        api_version: Seen(true),
        python: Seen(false),
        metadata: Some(metadata(&it.metadata)),
        spec: it.spec.as_ref().map(|it| RawNodeSpec {
            taints: each(it.taints.as_ref(), |it| RawTaint {
                key: text(&it.key),
                value: opt(it.value.as_ref()),
                effect: text(&it.effect),
            }),
            unschedulable: it.unschedulable,
        }),
        status: it.status.as_ref().map(|it| RawNodeStatus {
            capacity: amounts(it.capacity.as_ref()),
            allocatable: amounts(it.allocatable.as_ref()),
            declared_features: texts(it.declared_features.as_ref()),
            node_info: it.node_info.as_ref().map(|it| RawNodeInfo { kubelet_version: text(&it.kubelet_version) }),
            conditions: each(it.conditions.as_ref(), |it| RawNodeCondition {
                last_heartbeat_time: time(it.last_heartbeat_time.as_ref()),
                last_transition_time: time(it.last_transition_time.as_ref()),
            }),
        }),
    }
}

/// What the caller of a pod's conversion takes from it.
fn names<'a>(it: &RawPod<'a>) -> (Option<Text<'a>>, Option<Text<'a>>) {
    it.metadata.as_ref().map(|it| (it.namespace.clone(), it.name.clone())).unwrap_or_default()
}

/// Reads a Pod or Node both ways and compares the facts.
fn check(object: &Value) {
    let json = object.to_string();
    let mut tables = Tables::default();
    if object["kind"] == "Pod" {
        let typed: v1::Pod = serde_json::from_str(&json).unwrap();
        let slim: RawPod<'_> = fault::read(json.as_bytes()).unwrap();
        let id = (tables.symbol("ns"), tables.symbol("name"));
        let facts = slim.convert(id, Origin::NONE, &mut tables);
        assert!(facts == pod(&typed).convert(id, Origin::NONE, &mut tables), "{json}");
        assert_eq!(names(&slim), names(&pod(&typed)), "{json}");
        assert_eq!(slim.newest(), pod(&typed).newest());
    } else {
        let typed: v1::Node = serde_json::from_str(&json).unwrap();
        let slim: RawNode<'_> = fault::read(json.as_bytes()).unwrap();
        let facts = slim.convert(Origin::NONE, &mut tables);
        assert!(facts == node(&typed).convert(Origin::NONE, &mut tables), "{json}");
        assert_eq!(slim.newest(), node(&typed).newest());
    }
}

/// Takes away what `random` says of an object's fields and a list's items; what k8s-openapi requires stays.
fn thinned(value: &Value, random: &mut dyn FnMut() -> bool) -> Value {
    match value {
        Value::Object(fields) => {
            let required = |key: &str| matches!(key, "kind" | "apiVersion" | "metadata" | "name");
            let kept = fields.iter().filter(|(key, _)| random() || required(key));
            let kept: Vec<_> = kept.collect();
            kept.into_iter().map(|(key, value)| (key.clone(), thinned(value, random))).collect()
        }
        Value::Array(items) => {
            let kept: Vec<_> = items.iter().filter(|_| random()).collect();
            kept.into_iter().map(|item| thinned(item, random)).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn both_ways_of_reading_give_the_same_facts() {
    check(&sample::full_pod());
    check(&sample::full_node());
}

#[test]
fn the_sample_uses_every_field() {
    // What the comparison would pass over if the sample lacked it.
    let json = sample::full_pod().to_string();
    let mut tables = Tables::default();
    let id = (tables.symbol("ns"), tables.symbol("name"));
    let (pod, _) = fault::read::<RawPod<'_>>(json.as_bytes()).unwrap().convert(id, Origin::NONE, &mut tables);
    let spec = &pod.spec;
    assert!(pod.mirror && pod.owner.is_some() && pod.scheduled_message.is_some() && spec.never_preempts);
    assert_eq!(pod.disruption, Disruption::PreemptionByScheduler);
    assert!(spec.needs.restart_all_containers && spec.needs.user_namespaces_host_network);
    assert!(spec.needs.volume_bind_mount_options);
    assert_eq!((spec.volumes.len(), spec.host_ports.len(), spec.tolerations.len(), spec.spread.len()), (11, 3, 5, 2));
    assert!(pod.requests.resize.as_ref().is_some_and(|it| it.infeasible && it.allocated.is_some()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fields_may_be_missing(seed in any::<u64>(), keep in 40u64..100) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < keep
        };
        check(&thinned(&sample::full_pod(), &mut random));
        check(&thinned(&sample::full_node(), &mut random));
    }
}
