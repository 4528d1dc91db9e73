//! `metadata`, as every kind has it.

use super::primitive::{Int, Pairs, Text, filled};
use super::tables::DEFAULT_NAMESPACE;
use crate::model::time::Time;
use serde::Deserialize;

/// `metav1.ObjectMeta`, as far as anything reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) uid: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) resource_version: Option<Text<'a>>,
    #[serde(default)]
    pub(super) creation_timestamp: Option<Time>,
    #[serde(default)]
    pub(super) deletion_timestamp: Option<Time>,
    #[serde(default)]
    pub(super) deletion_grace_period_seconds: Option<Int>,
    #[serde(borrow, default)]
    pub(super) labels: Option<Pairs<'a, Text<'a>>>,
    #[serde(borrow, default)]
    pub(super) annotations: Option<Pairs<'a, Text<'a>>>,
    #[serde(borrow, default)]
    pub(super) owner_references: Option<Vec<RawOwner<'a>>>,
    #[serde(default)]
    pub(super) managed_fields: Option<Vec<ManagedFields>>,
}

/// `metav1.OwnerReference`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RawOwner<'a> {
    #[serde(borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) uid: Option<Text<'a>>,
    #[serde(default)]
    pub(super) controller: Option<bool>,
}

/// `metav1.ManagedFieldsEntry`: only when.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct ManagedFields {
    #[serde(default)]
    pub(super) time: Option<Time>,
}

impl Meta<'_> {
    /// Written by a person: no API server has stored the object, which would have filled in its defaults.
    pub(super) fn is_hand_made(&self) -> bool {
        filled(self.uid.as_ref()).is_none() && filled(self.resource_version.as_ref()).is_none()
    }

    /// The namespace; `default` where the object names none.
    pub(super) fn namespace(&self) -> &str {
        filled(self.namespace.as_ref()).unwrap_or(DEFAULT_NAMESPACE)
    }

    /// An annotation, also an empty one.
    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(|text| &*text.0)
    }

    /// The controlling owner. Upstream: `metav1.GetControllerOf`.
    pub(super) fn controller(&self) -> Option<&RawOwner<'_>> {
        self.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
    }

    /// `resourceVersion`, where it is a number: the API server gives out ever higher ones.
    pub(super) fn version(&self) -> Option<u64> {
        filled(self.resource_version.as_ref())?.parse().ok()
    }

    /// The newest time in the metadata. A deletion's time lies in the future by its grace period.
    pub(super) fn newest(&self) -> Option<Time> {
        let grace = self.deletion_grace_period_seconds.map_or(0, |seconds| seconds.0);
        let deleted = self.deletion_timestamp.map(|at| Time(at.0.saturating_sub(grace.saturating_mul(1_000_000_000))));
        let managed = self.managed_fields.iter().flatten().filter_map(|entry| entry.time).max();
        self.creation_timestamp.max(deleted).max(managed)
    }
}
