//! Budgets, priority classes, namespaces, and the owners of selectors.

use super::fault::{self, Fault};
use super::meta::Meta;
use super::primitive::{Int, Pairs, Text, filled};
use super::selectors::{self, RawLabelSelector};
use super::tables::Tables;
use crate::model::cluster::{Origin, SelectorOwner, SelectorOwnerKind};
use crate::model::pdb::{Pdb, PdbHealth, PriorityClass};
use crate::model::selector::LabelSelector;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of an object, unread: a fault in one does not lose the others.
#[derive(Debug, Deserialize)]
pub(super) struct Parts<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: Option<Meta<'a>>,
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

impl<'a> Parts<'a> {
    /// `spec`, or its empty form where there is none.
    pub(super) fn spec<T: Deserialize<'a> + Default>(&self, json: &'a [u8]) -> Result<T, Fault> {
        part(json, self.spec).map(Option::unwrap_or_default)
    }

    /// `status`, if there is one.
    pub(super) fn status<T: Deserialize<'a>>(&self, json: &'a [u8]) -> Result<Option<T>, Fault> {
        part(json, self.status)
    }
}

/// Reads a part of `json`; a fault's place is in `json`.
fn part<'a, T: Deserialize<'a>>(json: &'a [u8], part: Option<&'a RawValue>) -> Result<Option<T>, Fault> {
    let Some(part) = part.map(|part| part.get().as_bytes()).filter(|part| *part != b"null") else { return Ok(None) };
    let begin = (part.as_ptr() as usize).saturating_sub(json.as_ptr() as usize);
    let moved = |fault: Fault| Fault { offset: fault.offset + begin, ..fault };
    fault::read(part).map(Some).map_err(moved)
}

#[derive(Default, Deserialize)]
struct RawPdbSpec<'a> {
    #[serde(borrow, default)]
    selector: Option<RawLabelSelector<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPdbStatus<'a> {
    #[serde(default)]
    disruptions_allowed: Option<Int>,
    #[serde(borrow, default)]
    disrupted_pods: Option<Pairs<'a, serde::de::IgnoredAny>>,
    #[serde(default)]
    current_healthy: Option<Int>,
    #[serde(default)]
    desired_healthy: Option<Int>,
    #[serde(default)]
    expected_pods: Option<Int>,
}

/// A PodDisruptionBudget, and what is wrong with its status.
pub(super) fn pdb(
    parts: &Parts<'_>,
    json: &[u8],
    v1beta1: bool,
    origin: Origin,
    tables: &mut Tables,
) -> Result<(Pdb, Option<Fault>), Fault> {
    let default = Meta::default();
    let metadata = parts.metadata.as_ref().unwrap_or(&default);
    let spec: RawPdbSpec<'_> = parts.spec(json)?;
    let (status, fault) = match parts.status::<RawPdbStatus<'_>>(json) {
        Ok(status) => (status, None),
        Err(fault) => (None, Some(fault)),
    };
    let disrupted = status.iter().flat_map(|status| status.disrupted_pods.iter().flat_map(|pods| &pods.0));
    let mut disrupted: Vec<_> = disrupted.map(|(name, _)| tables.symbol(name)).collect();
    disrupted.sort_unstable();
    disrupted.dedup();
    let number = |number: Option<Int>| number.map_or(0, |number| number.0);
    let pdb = Pdb {
        namespace: tables.namespace(metadata.namespace()),
        name: tables.or_empty(metadata.name.as_ref()),
        selector: RawLabelSelector::compile(spec.selector.as_ref(), tables),
        disruptions_allowed: number(status.as_ref().and_then(|status| status.disruptions_allowed)),
        disrupted_pods: disrupted.into(),
        health: status.as_ref().map(|status| PdbHealth {
            current: number(status.current_healthy),
            desired: number(status.desired_healthy),
            expected: number(status.expected_pods),
        }),
        // kubectl writes what is healthy first: without what is allowed, the object was cut there.
        status_missing: status.as_ref().is_none_or(|status| {
            status.disruptions_allowed.is_none()
                && (status.current_healthy.is_some() || status.desired_healthy.is_some())
        }),
        v1beta1,
        origin,
    };
    Ok((pdb, fault))
}

/// `scheduling.k8s.io` PriorityClass: its fields stand at the top.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPriorityClass<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: Option<Meta<'a>>,
    #[serde(default)]
    value: Option<Int>,
    #[serde(default)]
    global_default: Option<bool>,
    #[serde(borrow, default)]
    preemption_policy: Option<Text<'a>>,
}

impl RawPriorityClass<'_> {
    pub(super) fn convert(&self, origin: Origin, tables: &mut Tables) -> PriorityClass {
        PriorityClass {
            name: tables.or_empty(self.metadata.as_ref().and_then(|metadata| metadata.name.as_ref())),
            value: self.value.map_or(0, Int::clamped),
            global_default: self.global_default.unwrap_or(false),
            never_preempts: filled(self.preemption_policy.as_ref()) == Some("Never"),
            origin,
        }
    }
}

/// `status` of owners of pods: how many there are.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawReplicas {
    #[serde(default)]
    replicas: Option<Int>,
    /// A DaemonSet's.
    #[serde(default)]
    current_number_scheduled: Option<Int>,
}

/// How many pods an owner says it has.
pub(super) fn replicas(parts: &Parts<'_>, json: &[u8]) -> u64 {
    let status: Option<RawReplicas> = parts.status(json).ok().flatten();
    let count = status.and_then(|status| status.replicas.or(status.current_number_scheduled));
    count.and_then(|count| u64::try_from(count.0).ok()).unwrap_or(0)
}

/// Namespace, name and number of pods of an owner.
pub(super) fn owner(json: &[u8]) -> Option<(String, String, u64)> {
    let parts: Parts<'_> = serde_json::from_slice(json).ok()?;
    let metadata = parts.metadata.as_ref()?;
    let name = filled(metadata.name.as_ref())?.to_owned();
    Some((metadata.namespace().to_owned(), name, replicas(&parts, json)))
}

#[derive(Default, Deserialize)]
struct RawMapSelector<'a> {
    #[serde(borrow, default)]
    selector: Option<Pairs<'a, Text<'a>>>,
}

#[derive(Default, Deserialize)]
struct RawSelector<'a> {
    #[serde(borrow, default)]
    selector: Option<RawLabelSelector<'a>>,
}

/// A Service, ReplicationController, ReplicaSet or StatefulSet.
pub(super) fn selector_owner(
    parts: &Parts<'_>,
    json: &[u8],
    kind: SelectorOwnerKind,
    tables: &mut Tables,
) -> Result<SelectorOwner, Fault> {
    let default = Meta::default();
    let metadata = parts.metadata.as_ref().unwrap_or(&default);
    let selector = match kind {
        SelectorOwnerKind::Service | SelectorOwnerKind::ReplicationController => {
            match parts.spec::<RawMapSelector<'_>>(json)?.selector {
                None => LabelSelector::Absent,
                Some(map) => match selectors::from_map(&map, tables) {
                    Some(requirements) => LabelSelector::Requirements(requirements.into()),
                    None => LabelSelector::Invalid,
                },
            }
        }
        SelectorOwnerKind::ReplicaSet | SelectorOwnerKind::StatefulSet => {
            let spec: RawSelector<'_> = parts.spec(json)?;
            RawLabelSelector::compile(spec.selector.as_ref(), tables)
        }
    };
    let namespace = tables.namespace(metadata.namespace());
    Ok(SelectorOwner { namespace, name: tables.or_empty(metadata.name.as_ref()), kind, selector })
}
