//! The selector that default spread constraints take over from what owns a pod. Upstream: `plugins/helper/spread.go`.

use crate::kube::behavior::SpreadDefaultSelector;
use crate::model::cluster::{Cluster, Kind, SelectorOwner, SelectorOwnerKind};
use crate::model::id::{PodId, Symbol};
use crate::model::pod::Pod;
use crate::model::selector::{LabelSelector, Operator, Requirement};

/// What the Services, and controllers, of a pod say of its peers.
pub(crate) struct DefaultSelector {
    /// The selector; without any requirement, default constraints do not apply.
    pub(crate) selector: LabelSelector,
    /// Kinds that the dump lacks and that may say more.
    pub(crate) missing: Vec<Kind>,
}

/// Derives the selector of a pod.
pub(crate) fn of(cluster: &Cluster, pod: PodId, behavior: SpreadDefaultSelector) -> DefaultSelector {
    let owners = cluster.selector_owners.iter().filter(|it| it.namespace == cluster.pod(pod).namespace);
    let labels = cluster.pod_labels(pod);
    let mut of_kind: [Vec<&SelectorOwner>; 4] = Default::default();
    for owner in owners {
        let speaks = match (owner.kind, behavior) {
            (SelectorOwnerKind::Service, _) => owner.selector.matches(labels),
            (_, SpreadDefaultSelector::MatchingControllers) => {
                // A controller's empty selector matches nothing here, and a pod without labels has no controller.
                !labels.is_empty() && !owner.selector.is_empty() && owner.selector.matches(labels)
            }
            (_, SpreadDefaultSelector::OwnController) => is_own_controller(cluster, cluster.pod(pod), owner),
        };
        if speaks {
            of_kind[owner.kind as usize].push(owner);
        }
    }
    let [services, replication_controllers, replica_sets, stateful_sets] = of_kind;
    let mut requirements = Vec::new();
    // Services and replication controllers select by a map each, and the maps are merged: a later value replaces an earlier.
    for owner in services.into_iter().chain(replication_controllers) {
        for requirement in requirements_of(owner) {
            requirements.retain(|it: &Requirement| it.key != requirement.key);
            requirements.push(requirement.clone());
        }
    }
    for owner in replica_sets.into_iter().chain(stateful_sets) {
        requirements.extend(requirements_of(owner).iter().cloned());
    }
    let selector = LabelSelector::Requirements(requirements.into());
    DefaultSelector { selector, missing: missing_kinds(cluster, cluster.pod(pod), behavior) }
}

fn requirements_of(owner: &SelectorOwner) -> &[Requirement] {
    match &owner.selector {
        LabelSelector::Requirements(all) => all,
        LabelSelector::Absent | LabelSelector::Invalid => &[],
    }
}

fn is_own_controller(cluster: &Cluster, pod: &Pod, owner: &SelectorOwner) -> bool {
    pod.owner.is_some_and(|it| it.name == owner.name && kind_of(cluster.text(it.kind)) == Some(owner.kind))
}

fn kind_of(name: &str) -> Option<SelectorOwnerKind> {
    match name {
        "ReplicationController" => Some(SelectorOwnerKind::ReplicationController),
        "ReplicaSet" => Some(SelectorOwnerKind::ReplicaSet),
        "StatefulSet" => Some(SelectorOwnerKind::StatefulSet),
        _ => None,
    }
}

fn missing_kinds(cluster: &Cluster, pod: &Pod, behavior: SpreadDefaultSelector) -> Vec<Kind> {
    let asked = match behavior {
        SpreadDefaultSelector::MatchingControllers => {
            vec![Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet]
        }
        SpreadDefaultSelector::OwnController => {
            let own = pod.owner.and_then(|owner| kind_of(cluster.text(owner.kind))).map(|kind| match kind {
                SelectorOwnerKind::Service => Kind::Service,
                SelectorOwnerKind::ReplicationController => Kind::ReplicationController,
                SelectorOwnerKind::ReplicaSet => Kind::ReplicaSet,
                SelectorOwnerKind::StatefulSet => Kind::StatefulSet,
            });
            [Kind::Service].into_iter().chain(own).collect()
        }
    };
    asked.into_iter().filter(|kind| cluster.may_lack(*kind)).collect()
}

/// A requirement that a label has one value.
pub(crate) fn has_value(key: Symbol, value: Symbol) -> Requirement {
    Requirement { key, operator: Operator::In, values: [value].into() }
}
