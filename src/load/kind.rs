//! Which kind an object is: by group and kind, since other groups have kinds of the same name.

use crate::model::cluster::Kind;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The kind of an object or list that may not name its group: then the kind's own name has to do.
pub(super) fn of_spelling(kind: &str, api_version: Option<&str>) -> Option<Kind> {
    match api_version {
        Some(api_version) => of(api_version, kind),
        None => Kind::ALL.iter().copied().find(|known| known.name() == kind),
    }
}

/// The kind of an object that says so itself; `None` is one that the program does not need.
fn of(api_version: &str, kind: &str) -> Option<Kind> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some(match (group, kind) {
        ("", "Node") => Kind::Node,
        ("", "Pod") => Kind::Pod,
        ("", "Namespace") => Kind::Namespace,
        ("", "PersistentVolume") => Kind::PersistentVolume,
        ("", "PersistentVolumeClaim") => Kind::PersistentVolumeClaim,
        ("", "Service") => Kind::Service,
        ("", "ReplicationController") => Kind::ReplicationController,
        ("" | "events.k8s.io", "Event") => Kind::Event,
        ("policy", "PodDisruptionBudget") => Kind::PodDisruptionBudget,
        ("scheduling.k8s.io", "PriorityClass") => Kind::PriorityClass,
        ("scheduling.k8s.io", "PodGroup") => Kind::PodGroup,
        ("storage.k8s.io", "StorageClass") => Kind::StorageClass,
        ("storage.k8s.io", "CSINode") => Kind::CsiNode,
        ("storage.k8s.io", "CSIDriver") => Kind::CsiDriver,
        ("storage.k8s.io", "CSIStorageCapacity") => Kind::CsiStorageCapacity,
        ("storage.k8s.io", "VolumeAttachment") => Kind::VolumeAttachment,
        ("apps" | "extensions", "ReplicaSet") => Kind::ReplicaSet,
        ("apps", "StatefulSet") => Kind::StatefulSet,
        ("resource.k8s.io", "ResourceClaim") => Kind::ResourceClaim,
        ("resource.k8s.io", "ResourceSlice") => Kind::ResourceSlice,
        ("resource.k8s.io", "DeviceClass") => Kind::DeviceClass,
        ("resource.k8s.io", "DeviceTaintRule") => Kind::DeviceTaintRule,
        _ => return None,
    })
}

/// The kind that a file's name promises, such as `pdb.json` or `pod-disruption-budgets/shop.json`: for lists without
/// items, which do not say what they are lists of.
pub(super) fn hinted(path: &str) -> Option<Kind> {
    let mut parts = path.rsplit(['/', '\\', '!']);
    let file = parts.next().and_then(|file| of_plural(file.split('.').next().unwrap_or(file)));
    file.or_else(|| parts.next().and_then(of_plural))
}

/// The kind of an object that says none and stands in no list that does, by fields that only one kind has: what is left
/// of a list that was read with `--raw` and taken apart with jq.
pub(super) fn guessed(json: &[u8]) -> Option<Kind> {
    #[derive(Deserialize)]
    struct Shape {
        #[serde(rename = "metadata")]
        _metadata: Named,
        spec: Option<Spec>,
        status: Option<Status>,
        value: Option<i64>,
    }
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "name")]
        _name: IgnoredAny,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Spec {
        containers: Option<Vec<IgnoredAny>>,
        min_available: Option<IgnoredAny>,
        max_unavailable: Option<IgnoredAny>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Status {
        allocatable: Option<IgnoredAny>,
        node_info: Option<IgnoredAny>,
        disruptions_allowed: Option<IgnoredAny>,
    }
    let Shape { _metadata, spec, status, value } = serde_json::from_slice(json).ok()?;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let budget = spec.min_available.or(spec.max_unavailable).or(status.disruptions_allowed);
    if spec.containers.is_some() {
        Some(Kind::Pod)
    } else if status.node_info.and(status.allocatable).is_some() {
        Some(Kind::Node)
    } else if budget.is_some() {
        Some(Kind::PodDisruptionBudget)
    } else {
        value.map(|_| Kind::PriorityClass)
    }
}

/// The kind of a resource name or short name, in any spelling.
pub(super) fn of_plural(name: &str) -> Option<Kind> {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    Some(match letters.collect::<String>().as_str() {
        "no" | "node" | "nodes" => Kind::Node,
        "po" | "pod" | "pods" => Kind::Pod,
        "pdb" | "pdbs" | "poddisruptionbudget" | "poddisruptionbudgets" => Kind::PodDisruptionBudget,
        "pc" | "pcs" | "priorityclass" | "priorityclasses" => Kind::PriorityClass,
        "ns" | "namespace" | "namespaces" => Kind::Namespace,
        "pv" | "pvs" | "persistentvolume" | "persistentvolumes" => Kind::PersistentVolume,
        "pvc" | "pvcs" | "persistentvolumeclaim" | "persistentvolumeclaims" => Kind::PersistentVolumeClaim,
        "sc" | "storageclass" | "storageclasses" => Kind::StorageClass,
        "csinode" | "csinodes" => Kind::CsiNode,
        "csidriver" | "csidrivers" => Kind::CsiDriver,
        "csistoragecapacity" | "csistoragecapacities" => Kind::CsiStorageCapacity,
        "volumeattachment" | "volumeattachments" => Kind::VolumeAttachment,
        "svc" | "service" | "services" => Kind::Service,
        "rc" | "replicationcontroller" | "replicationcontrollers" => Kind::ReplicationController,
        "rs" | "replicaset" | "replicasets" => Kind::ReplicaSet,
        "sts" | "statefulset" | "statefulsets" => Kind::StatefulSet,
        "resourceclaim" | "resourceclaims" => Kind::ResourceClaim,
        "resourceslice" | "resourceslices" => Kind::ResourceSlice,
        "deviceclass" | "deviceclasses" => Kind::DeviceClass,
        "devicetaintrule" | "devicetaintrules" => Kind::DeviceTaintRule,
        "podgroup" | "podgroups" => Kind::PodGroup,
        "ev" | "event" | "events" => Kind::Event,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_decides() {
        assert_eq!(of("v1", "Node"), Some(Kind::Node));
        assert_eq!(of("longhorn.io/v1beta2", "Node"), None);
        assert_eq!(of("metrics.k8s.io/v1beta1", "PodMetrics"), None);
        assert_eq!(of("policy/v1beta1", "PodDisruptionBudget"), Some(Kind::PodDisruptionBudget));
    }

    #[test]
    fn objects_without_a_kind_are_known_by_their_fields() {
        for (json, kind) in [
            (r#"{"metadata":{"name":"a"},"spec":{"containers":[{}]}}"#, Some(Kind::Pod)),
            (r#"{"metadata":{"name":"a"},"status":{"allocatable":{},"nodeInfo":{}}}"#, Some(Kind::Node)),
            (r#"{"metadata":{"name":"a"},"spec":{"minAvailable":1}}"#, Some(Kind::PodDisruptionBudget)),
            (r#"{"metadata":{"name":"a"},"value":1000}"#, Some(Kind::PriorityClass)),
            (r#"{"metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[]}}}}"#, None),
            (r#"{"metadata":{},"spec":{"containers":[{}]}}"#, None),
            (r#"{"spec":{"containers":[{}]}}"#, None),
        ] {
            assert_eq!(guessed(json.as_bytes()), kind, "{json}");
        }
    }

    #[test]
    fn file_names_hint_at_kinds() {
        assert_eq!(hinted("dump/pdb.json"), Some(Kind::PodDisruptionBudget));
        assert_eq!(
            hinted("b.tar.gz!cluster-resources/pod-disruption-budgets/shop.json"),
            Some(Kind::PodDisruptionBudget)
        );
        assert_eq!(hinted("dump/cluster.json"), None);
    }
}
