//! Pods: exactly the fields that a scheduler, or a person asking about it, reads.

use super::meta::Meta;
use super::node::effect;
use super::primitive::{Int, Pairs, Seen, Text, filled};
use super::remap::Links;
use super::resources::{self, Defaults, RawResources};
use super::selectors::{RawLabelSelector, RawNodeSelector};
use super::tables::Tables;
use super::volumes::RawPodVolume;
use super::{affinity, volumes};
use crate::model::affinity::{Toleration, TolerationOperator};
use crate::model::cluster::Origin;
use crate::model::id::Symbol;
use crate::model::pod::{Disruption, FeatureNeeds, HostPort, Owner, Phase, Pod, PodResourceClaim, PodSpec};
use crate::model::quantity::Quantity;
use crate::model::time::Time;
use serde::Deserialize;
use std::sync::Arc;

/// `v1.Pod`.
#[derive(Debug, Deserialize)]
pub(super) struct RawPod<'a> {
    #[serde(borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[expect(dead_code, reason = "here so that a second one is noticed")]
    #[serde(rename = "apiVersion", default)]
    pub(super) api_version: Seen,
    /// Only Python's client spells so.
    #[serde(rename = "api_version", default)]
    pub(super) python: Seen,
    #[serde(borrow, default)]
    pub(super) metadata: Option<Meta<'a>>,
    #[serde(borrow, default)]
    spec: Option<RawPodSpec<'a>>,
    #[serde(borrow, default)]
    status: Option<RawPodStatus<'a>>,
}

/// `v1.PodSpec`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPodSpec<'a> {
    #[serde(borrow, default)]
    pub(super) containers: Option<Vec<RawContainer<'a>>>,
    #[serde(borrow, default)]
    pub(super) init_containers: Option<Vec<RawContainer<'a>>>,
    #[serde(borrow, default)]
    pub(super) ephemeral_containers: Option<Vec<RawContainer<'a>>>,
    #[serde(borrow, default)]
    pub(super) overhead: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    pub(super) resources: Option<RawResources<'a>>,
    #[serde(default)]
    priority: Option<Int>,
    #[serde(borrow, default)]
    priority_class_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    preemption_policy: Option<Text<'a>>,
    #[serde(borrow, default)]
    node_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    scheduler_name: Option<Text<'a>>,
    #[serde(default)]
    termination_grace_period_seconds: Option<Int>,
    #[serde(borrow, default)]
    node_selector: Option<Pairs<'a, Text<'a>>>,
    #[serde(borrow, default)]
    affinity: Option<RawAffinity<'a>>,
    #[serde(borrow, default)]
    tolerations: Option<Vec<RawToleration<'a>>>,
    #[serde(borrow, default)]
    topology_spread_constraints: Option<Vec<RawSpread<'a>>>,
    #[serde(borrow, default)]
    volumes: Option<Vec<RawPodVolume<'a>>>,
    #[serde(borrow, default)]
    scheduling_gates: Option<Vec<RawNamed<'a>>>,
    #[serde(borrow, default)]
    resource_claims: Option<Vec<RawResourceClaim<'a>>>,
    #[serde(borrow, default)]
    scheduling_group: Option<RawSchedulingGroup<'a>>,
    #[serde(borrow, default)]
    workload_ref: Option<RawNamed<'a>>,
    #[serde(default)]
    host_network: Option<bool>,
    #[serde(default)]
    host_users: Option<bool>,
}

/// `v1.Container`, also an init container or an ephemeral one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawContainer<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) resources: Option<RawResources<'a>>,
    #[serde(borrow, default)]
    restart_policy: Option<Text<'a>>,
    #[serde(borrow, default)]
    restart_policy_rules: Option<Vec<RawRestartRule<'a>>>,
    #[serde(borrow, default)]
    ports: Option<Vec<RawPort<'a>>>,
    #[serde(default)]
    volume_mounts: Option<Vec<RawMount>>,
}

#[derive(Debug, Deserialize)]
struct RawRestartRule<'a> {
    #[serde(borrow, default)]
    action: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPort<'a> {
    #[serde(default)]
    host_port: Option<Int>,
    #[serde(default)]
    container_port: Option<Int>,
    #[serde(rename = "hostIP", borrow, default)]
    host_ip: Option<Text<'a>>,
    #[serde(borrow, default)]
    protocol: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMount {
    #[serde(default)]
    bind_mount_options: Option<Vec<serde::de::IgnoredAny>>,
}

/// `v1.Affinity`; preferred terms only score.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawAffinity<'a> {
    #[serde(borrow, default)]
    node_affinity: Option<RawNodeAffinity<'a>>,
    #[serde(borrow, default)]
    pod_affinity: Option<RawPodAffinity<'a>>,
    #[serde(borrow, default)]
    pod_anti_affinity: Option<RawPodAffinity<'a>>,
}

#[derive(Debug, Deserialize)]
struct RawNodeAffinity<'a> {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution", borrow, default)]
    required: Option<RawNodeSelector<'a>>,
}

#[derive(Debug, Deserialize)]
struct RawPodAffinity<'a> {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution", borrow, default)]
    required: Option<Vec<RawPodAffinityTerm<'a>>>,
}

/// `v1.PodAffinityTerm`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPodAffinityTerm<'a> {
    #[serde(borrow, default)]
    pub(super) label_selector: Option<RawLabelSelector<'a>>,
    #[serde(borrow, default)]
    pub(super) namespaces: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    pub(super) namespace_selector: Option<RawLabelSelector<'a>>,
    #[serde(borrow, default)]
    pub(super) topology_key: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) match_label_keys: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    pub(super) mismatch_label_keys: Option<Vec<Text<'a>>>,
}

#[derive(Debug, Deserialize)]
struct RawToleration<'a> {
    #[serde(borrow, default)]
    key: Option<Text<'a>>,
    #[serde(borrow, default)]
    operator: Option<Text<'a>>,
    #[serde(borrow, default)]
    value: Option<Text<'a>>,
    #[serde(borrow, default)]
    effect: Option<Text<'a>>,
}

/// `v1.TopologySpreadConstraint`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawSpread<'a> {
    #[serde(default)]
    pub(super) max_skew: Option<Int>,
    #[serde(borrow, default)]
    pub(super) topology_key: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) when_unsatisfiable: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) label_selector: Option<RawLabelSelector<'a>>,
    #[serde(default)]
    pub(super) min_domains: Option<Int>,
    #[serde(borrow, default)]
    pub(super) node_affinity_policy: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) node_taints_policy: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) match_label_keys: Option<Vec<Text<'a>>>,
}

#[derive(Debug, Deserialize)]
struct RawNamed<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSchedulingGroup<'a> {
    #[serde(borrow, default)]
    pod_group_name: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResourceClaim<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    resource_claim_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    resource_claim_template_name: Option<Text<'a>>,
    /// Where the two names stood up to 1.30.
    #[serde(borrow, default)]
    source: Option<RawClaimSource<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawClaimSource<'a> {
    #[serde(borrow, default)]
    resource_claim_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    resource_claim_template_name: Option<Text<'a>>,
}

/// `v1.PodStatus`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPodStatus<'a> {
    #[serde(borrow, default)]
    phase: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) conditions: Option<Vec<RawCondition<'a>>>,
    #[serde(borrow, default)]
    nominated_node_name: Option<Text<'a>>,
    #[serde(default)]
    start_time: Option<Time>,
    #[serde(borrow, default)]
    pub(super) container_statuses: Option<Vec<RawContainerStatus<'a>>>,
    #[serde(borrow, default)]
    pub(super) init_container_statuses: Option<Vec<RawContainerStatus<'a>>>,
    #[serde(borrow, default)]
    pub(super) resize: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) allocated_resources: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    pub(super) resources: Option<RawResources<'a>>,
    #[serde(borrow, default)]
    resource_claim_statuses: Option<Vec<RawResourceClaim<'a>>>,
}

/// `v1.PodCondition`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawCondition<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    status: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    message: Option<Text<'a>>,
    #[serde(default)]
    last_transition_time: Option<Time>,
}

/// `v1.ContainerStatus`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawContainerStatus<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) allocated_resources: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    pub(super) resources: Option<RawResources<'a>>,
}

impl RawContainer<'_> {
    pub(super) fn is_sidecar(&self) -> bool {
        filled(self.restart_policy.as_ref()) == Some("Always")
    }
}

impl RawPod<'_> {
    /// The newest time that the object carries.
    pub(super) fn newest(&self) -> Option<Time> {
        let metadata = self.metadata.as_ref().and_then(Meta::newest);
        let status = self.status.as_ref();
        let conditions = status.iter().flat_map(|status| status.conditions.iter().flatten());
        let transition = conditions.filter_map(|condition| condition.last_transition_time).max();
        metadata.max(transition).max(status.and_then(|status| status.start_time))
    }

    /// The pod and its links. Its `node` is left open: nodes are numbered elsewhere. Of the pod's namespace and
    /// name the caller knows the symbols.
    pub(super) fn convert(
        &self,
        (namespace, name): (Symbol, Symbol),
        origin: Origin,
        tables: &mut Tables,
    ) -> (Pod, Links) {
        let (no_metadata, no_spec) = (Meta::default(), RawPodSpec::default());
        let metadata = self.metadata.as_ref().unwrap_or(&no_metadata);
        let spec = self.spec.as_ref().unwrap_or(&no_spec);
        let status = self.status.as_ref();
        let shared = spec.convert(metadata, status, tables);
        let spec_id = tables.spec(shared);
        let requests = resources::parts(spec, status, Defaults::of(metadata), tables);
        let links = Links { spec: spec_id, scalars: requests.name_scalars() };
        let grace = metadata.deletion_grace_period_seconds.or(spec.termination_grace_period_seconds);
        let pod = Pod {
            namespace: tables.namespace_named(namespace),
            name,
            uid: tables.uid(metadata.uid.as_ref()),
            labels: tables.labels(metadata.labels.as_ref()),
            spec_priority: spec.priority.map(Int::clamped),
            priority_class: tables.filled(spec.priority_class_name.as_ref()),
            node_name: tables.filled(spec.node_name.as_ref()),
            node: None,
            nominated_node_name: tables.filled(status.and_then(|status| status.nominated_node_name.as_ref())),
            phase: status.map_or(Phase::Pending, RawPodStatus::phase),
            created: metadata.creation_timestamp,
            deleted: metadata.deletion_timestamp,
            grace_seconds: grace.map(|seconds| seconds.0),
            started: status.and_then(|status| status.start_time),
            disruption: status.map_or(Disruption::None, RawPodStatus::disruption),
            owner: metadata.controller().map(|owner| Owner {
                kind: tables.or_empty(owner.kind.as_ref()),
                name: tables.or_empty(owner.name.as_ref()),
                uid: tables.filled(owner.uid.as_ref()),
            }),
            requests: tables.requests(spec_id, requests),
            spec: Arc::clone(&tables.specs[spec_id as usize]),
            mirror: metadata.annotation("kubernetes.io/config.mirror").is_some(),
            status_missing: status.is_none(),
            scheduled_message: status.and_then(RawPodStatus::scheduled_message).map(Arc::from),
            origin,
        };
        (pod, links)
    }
}

impl RawPodStatus<'_> {
    fn phase(&self) -> Phase {
        match filled(self.phase.as_ref()) {
            None | Some("Pending") => Phase::Pending,
            Some("Running") => Phase::Running,
            Some("Succeeded") => Phase::Succeeded,
            Some("Failed") => Phase::Failed,
            Some(_) => Phase::Unknown,
        }
    }

    fn condition(&self, kind: &str) -> Option<&RawCondition<'_>> {
        self.conditions.iter().flatten().find(|condition| filled(condition.kind.as_ref()) == Some(kind))
    }

    fn disruption(&self) -> Disruption {
        let Some(condition) = self.condition("DisruptionTarget") else { return Disruption::None };
        match (filled(condition.status.as_ref()), filled(condition.reason.as_ref())) {
            (Some("True"), Some("PreemptionByScheduler")) => Disruption::PreemptionByScheduler,
            (Some("True"), Some("PreemptionByKubeScheduler")) => Disruption::PreemptionByKubeScheduler,
            _ => Disruption::Other,
        }
    }

    fn scheduled_message(&self) -> Option<&str> {
        let condition = self.condition("PodScheduled")?;
        (filled(condition.status.as_ref()) == Some("False")).then(|| filled(condition.message.as_ref())).flatten()
    }
}

impl RawPodSpec<'_> {
    fn convert(&self, metadata: &Meta<'_>, status: Option<&RawPodStatus<'_>>, tables: &mut Tables) -> PodSpec {
        let affinity = self.affinity.as_ref();
        let required = affinity.and_then(|it| it.node_affinity.as_ref()?.required.as_ref());
        let together = affinity.and_then(|it| it.pod_affinity.as_ref()?.required.as_ref());
        let apart = affinity.and_then(|it| it.pod_anti_affinity.as_ref()?.required.as_ref());
        let labels = metadata.labels.as_ref();
        let name = filled(metadata.name.as_ref()).unwrap_or_default();
        let mut terms = |terms: Option<&Vec<RawPodAffinityTerm<'_>>>| {
            terms.into_iter().flatten().map(|term| affinity::term(term, labels, tables)).collect()
        };
        let (pod_affinity, pod_anti_affinity) = (terms(together), terms(apart));
        PodSpec {
            scheduler_name: tables.symbol(filled(self.scheduler_name.as_ref()).unwrap_or("default-scheduler")),
            never_preempts: filled(self.preemption_policy.as_ref()) == Some("Never"),
            node_selector: tables.pairs(self.node_selector.as_ref()).into(),
            node_affinity: required.map(|selector| selector.compile(tables)),
            pod_affinity,
            pod_anti_affinity,
            tolerations: self.tolerations.iter().flatten().map(|it| it.convert(tables)).collect(),
            spread: self.topology_spread_constraints.iter().flatten().map(|it| affinity::spread(it, tables)).collect(),
            host_ports: self.host_ports(tables),
            volumes: self.volumes.iter().flatten().filter_map(|it| volumes::pod_volume(it, name, tables)).collect(),
            scheduling_gates: self
                .scheduling_gates
                .iter()
                .flatten()
                .map(|it| tables.or_empty(it.name.as_ref()))
                .collect(),
            resource_claims: self.resource_claims.iter().flatten().map(|it| it.convert(status, tables)).collect(),
            pod_group: self.pod_group(tables),
            needs: self.needs(),
        }
    }

    fn host_ports(&self, tables: &mut Tables) -> Box<[HostPort]> {
        let containers = self.containers.iter().flatten().map(|container| (container, false));
        let sidecars = self.init_containers.iter().flatten().filter(|it| it.is_sidecar()).map(|it| (it, true));
        let ports = containers.chain(sidecars);
        let ports = ports.flat_map(|(it, sidecar)| it.ports.iter().flatten().map(move |port| (port, sidecar)));
        let mut wanted = Vec::new();
        for (port, sidecar) in ports {
            let own = port.host_port.map_or(0, Int::clamped);
            // On the host's network a container's port is the host's, as the API server fills in.
            let on_host = || port.container_port.filter(|_| self.host_network == Some(true)).map_or(0, Int::clamped);
            let number = if own == 0 { on_host() } else { own };
            if number > 0 {
                wanted.push(HostPort {
                    ip: tables.symbol(filled(port.host_ip.as_ref()).unwrap_or("0.0.0.0")),
                    protocol: tables.symbol(filled(port.protocol.as_ref()).unwrap_or("TCP")),
                    port: number,
                    sidecar,
                });
            }
        }
        wanted.into()
    }

    fn pod_group(&self, tables: &mut Tables) -> Option<Symbol> {
        let group = self.scheduling_group.as_ref().and_then(|group| group.pod_group_name.as_ref());
        tables.filled(group.or_else(|| self.workload_ref.as_ref()?.name.as_ref()))
    }

    fn needs(&self) -> FeatureNeeds {
        let main = self.containers.iter().chain(&self.init_containers).flatten();
        let mounting = self.containers.iter().chain(&self.init_containers).chain(&self.ephemeral_containers).flatten();
        let restarts_all = |rule: &RawRestartRule<'_>| filled(rule.action.as_ref()) == Some("RestartAllContainers");
        FeatureNeeds {
            restart_all_containers: main.flat_map(|it| it.restart_policy_rules.iter().flatten()).any(restarts_all),
            user_namespaces_host_network: self.host_network == Some(true) && self.host_users == Some(false),
            volume_bind_mount_options: mounting
                .flat_map(|it| it.volume_mounts.iter().flatten())
                .any(|mount| mount.bind_mount_options.as_ref().is_some_and(|options| !options.is_empty())),
        }
    }
}

impl RawToleration<'_> {
    fn convert(&self, tables: &mut Tables) -> Toleration {
        Toleration {
            key: tables.filled(self.key.as_ref()),
            operator: match filled(self.operator.as_ref()) {
                None | Some("Equal") => TolerationOperator::Equal,
                Some("Exists") => TolerationOperator::Exists,
                Some("Lt") => TolerationOperator::Lt,
                Some("Gt") => TolerationOperator::Gt,
                Some(_) => TolerationOperator::Unknown,
            },
            value: tables.or_empty(self.value.as_ref()),
            effect: effect(self.effect.as_ref()),
        }
    }
}

impl RawResourceClaim<'_> {
    fn claim_name(&self) -> Option<&Text<'_>> {
        self.resource_claim_name.as_ref().or_else(|| self.source.as_ref()?.resource_claim_name.as_ref())
    }

    fn template_name(&self) -> Option<&Text<'_>> {
        let source = || self.source.as_ref()?.resource_claim_template_name.as_ref();
        self.resource_claim_template_name.as_ref().or_else(source)
    }

    fn convert(&self, status: Option<&RawPodStatus<'_>>, tables: &mut Tables) -> PodResourceClaim {
        let statuses = status.iter().flat_map(|status| status.resource_claim_statuses.iter().flatten());
        let generated = statuses.filter(|it| it.name == self.name).find_map(|it| it.resource_claim_name.as_ref());
        PodResourceClaim {
            name: tables.or_empty(self.name.as_ref()),
            claim: tables.filled(self.claim_name().or(generated)),
            from_template: self.template_name().is_some(),
        }
    }
}

#[cfg(test)]
mod typed;
