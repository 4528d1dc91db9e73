//! Nodes.

use super::meta::Meta;
use super::primitive::{Pairs, Seen, Text, filled};
use super::tables::Tables;
use crate::model::affinity::{Effect, Taint};
use crate::model::cluster::Origin;
use crate::model::node::Node;
use crate::model::quantity::Quantity;
use crate::model::time::Time;
use serde::Deserialize;

/// `v1.Node`, as far as anything reads it.
#[derive(Debug, Deserialize)]
pub(super) struct RawNode<'a> {
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
    pub(super) spec: Option<RawNodeSpec<'a>>,
    #[serde(borrow, default)]
    pub(super) status: Option<RawNodeStatus<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawNodeSpec<'a> {
    #[serde(borrow, default)]
    pub(super) taints: Option<Vec<RawTaint<'a>>>,
    #[serde(default)]
    pub(super) unschedulable: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawTaint<'a> {
    #[serde(borrow, default)]
    pub(super) key: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) value: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) effect: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawNodeStatus<'a> {
    #[serde(borrow, default)]
    pub(super) capacity: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    pub(super) allocatable: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    pub(super) declared_features: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    pub(super) node_info: Option<RawNodeInfo<'a>>,
    #[serde(default)]
    pub(super) conditions: Option<Vec<RawNodeCondition>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawNodeInfo<'a> {
    #[serde(borrow, default)]
    pub(super) kubelet_version: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawNodeCondition {
    #[serde(default)]
    pub(super) last_heartbeat_time: Option<Time>,
    #[serde(default)]
    pub(super) last_transition_time: Option<Time>,
}

impl RawNode<'_> {
    /// The newest time that the object carries.
    pub(super) fn newest(&self) -> Option<Time> {
        let metadata = self.metadata.as_ref().and_then(Meta::newest);
        let conditions = self.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.map(|it| it.last_heartbeat_time.max(it.last_transition_time)).max().flatten().max(metadata)
    }

    /// The node.
    pub(super) fn convert(&self, origin: Origin, tables: &mut Tables) -> Node {
        let default = Meta::default();
        let metadata = self.metadata.as_ref().unwrap_or(&default);
        let status = self.status.as_ref();
        let taints = self.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        // The API server copies the capacity where a manifest names no allocatable.
        let allocatable = status.and_then(|status| status.allocatable.as_ref().or(status.capacity.as_ref()));
        let features = status.iter().flat_map(|status| status.declared_features.iter().flatten());
        let kubelet = status.and_then(|status| status.node_info.as_ref()?.kubelet_version.as_ref());
        Node {
            name: tables.or_empty(metadata.name.as_ref()),
            uid: tables.uid(metadata.uid.as_ref()),
            labels: tables.labels(metadata.labels.as_ref()),
            taints: taints.map(|taint| taint.convert(tables)).collect(),
            unschedulable: self.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false),
            allocatable: allocatable.map(|list| tables.resource_list(list)).unwrap_or_default(),
            declared_features: features.map(|feature| tables.symbol(feature)).collect(),
            kubelet_version: tables.filled(kubelet),
            created: metadata.creation_timestamp,
            status_missing: status.is_none(),
            origin,
        }
    }
}

impl RawTaint<'_> {
    fn convert(&self, tables: &mut Tables) -> Taint {
        Taint {
            key: tables.or_empty(self.key.as_ref()),
            value: tables.or_empty(self.value.as_ref()),
            effect: effect(self.effect.as_ref()).unwrap_or(Effect::Other),
        }
    }
}

/// The effect of a taint or toleration; `None` where there is none.
pub(super) fn effect(text: Option<&Text<'_>>) -> Option<Effect> {
    Some(match filled(text)? {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Other,
    })
}
