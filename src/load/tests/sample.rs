//! A cluster with something of every kind, and pods that use every field.

use serde_json::{Value, json};

/// The objects, in the order in which kubectl would not print them.
pub(super) fn objects() -> Vec<Value> {
    let mut objects = vec![full_pod(), full_node(), pdb()];
    objects.extend((0..12).map(small_pod));
    objects.extend((0..4).map(|number| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": meta(&format!("small-{number}"), None, 20 + number),
            "status": {"capacity": {"cpu": number + 1, "memory": "8Gi", "pods": 110}}})
    }));
    objects.extend(others());
    objects
}

fn meta(name: &str, namespace: Option<&str>, version: u64) -> Value {
    let mut meta = json!({
        "name": name, "uid": format!("uid-{name}-{}", namespace.unwrap_or_default()), "resourceVersion": version.to_string(),
        "creationTimestamp": "2026-06-01T00:00:00Z", "labels": {"app": name, "tier": "back"},
    });
    if let Some(namespace) = namespace {
        meta["namespace"] = json!(namespace);
    }
    meta
}

fn small_pod(number: u64) -> Value {
    let name = format!("web-{number}");
    let app = ["red", "green", "blue"][usize::try_from(number % 3).unwrap()];
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": app, "uid": format!("u{number}"), "resourceVersion": "7",
            "labels": {"zebra": app, "app": app, "hash": "x"}, "creationTimestamp": "2026-06-01T00:00:00Z"},
        "spec": {
            "nodeName": format!("small-{}", number % 4), "priority": number, "nodeSelector": {"b": "1", "a": "2"},
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "100m", "nvidia.com/gpu": 1, "b.io/x": "2"}}}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchExpressions": [
                    {"key": "app", "operator": "In", "values": ["red", "blue", "green"]}]}}]}},
        },
        "status": {"phase": "Running", "startTime": "2026-06-01T01:00:00Z"},
    })
}

/// A pod with every field that the loader reads.
pub(in crate::load) fn full_pod() -> Value {
    let term = |key: &str| {
        json!({"topologyKey": key, "namespaces": ["red", "blue"], "matchLabelKeys": ["tier"], "mismatchLabelKeys": ["app", "none"],
            "namespaceSelector": {"matchLabels": {"team": "a"}},
            "labelSelector": {"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["z", "y"]}]}})
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "full", "namespace": "shop", "uid": "uid-full", "resourceVersion": "99",
            "labels": {"tier": "front", "app": "full", "note": "tab\there \"quoted\" \u{e9}"},
            "annotations": {"kubernetes.io/config.mirror": "abc", "other": "x"},
            "creationTimestamp": "2026-06-01T00:00:00Z", "deletionTimestamp": "2026-06-02T00:00:30Z", "deletionGracePeriodSeconds": 30,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Widget", "name": "w", "uid": "uid-w"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "full-rs", "uid": "uid-rs", "controller": true}],
        },
        "spec": {
            "schedulerName": "my-scheduler", "priority": 1000, "priorityClassName": "high", "preemptionPolicy": "Never",
            "nodeName": "big", "terminationGracePeriodSeconds": 60, "hostNetwork": true, "hostUsers": false,
            "overhead": {"cpu": "10m", "memory": "1Mi"},
            "resources": {"requests": {"cpu": "3", "hugepages-2Mi": "4Mi"}, "limits": {"memory": "6Gi"}},
            "nodeSelector": {"disk": "ssd", "arch": "amd64"},
            "tolerations": [
                {"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"}, {"key": "b", "value": "c"},
                {"key": "n", "operator": "Gt", "value": "5"}, {"key": "n", "operator": "Lt", "value": "5", "effect": "NoExecute"}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}, {"key": "x", "operator": "Exists"}],
                         "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["big"]}]},
                        {"matchExpressions": [{"key": "cores", "operator": "Lt", "values": ["many"]}]}]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]},
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("zone")]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term("host"), {"topologyKey": "rack"}]},
            },
            "topologySpreadConstraints": [
                {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, "minDomains": 3,
                 "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["hash"]},
                {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"}],
            "schedulingGates": [{"name": "wait.example.com/a"}, {"name": "b"}],
            "schedulingGroup": {"podGroupName": "gang"},
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-1"}, {"name": "tpl", "resourceClaimTemplateName": "t"}],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}, {"name": "tmp", "emptyDir": {}},
                {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "gce", "gcePersistentDisk": {"pdName": "pd", "readOnly": true}},
                {"name": "aws", "awsElasticBlockStore": {"volumeID": "vol-1"}},
                {"name": "azd", "azureDisk": {"diskName": "d", "diskURI": "uri"}},
                {"name": "cin", "cinder": {"volumeID": "c1"}}, {"name": "pwx", "portworxVolume": {"volumeID": "p1"}},
                {"name": "azf", "azureFile": {"shareName": "s", "secretName": "k"}},
                {"name": "vsp", "vsphereVolume": {"volumePath": "[ds] v.vmdk"}},
                {"name": "isc", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.1", "lun": 0, "readOnly": true}},
                {"name": "rbd", "rbd": {"monitors": ["m2", "m1"], "image": "i", "pool": "p", "readOnly": false}}],
            "initContainers": [
                {"name": "setup", "resources": {"requests": {"cpu": "2"}}, "ports": [{"containerPort": 1}]},
                {"name": "proxy", "restartPolicy": "Always", "ports": [{"containerPort": 15001}],
                 "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}],
            "containers": [
                {"name": "main", "image": "i", "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}],
                 "ports": [{"containerPort": 8080, "hostPort": 80, "hostIP": "10.0.0.1", "protocol": "UDP"}, {"containerPort": 9090}],
                 "volumeMounts": [{"name": "data", "mountPath": "/d", "bindMountOptions": ["noexec"]}],
                 "resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "1", "ephemeral-storage": "1G", "example": "3"},
                               "limits": {"memory": "2Gi", "hugepages-2Mi": "2Mi"}}},
                {"name": "bare"}],
            "ephemeralContainers": [{"name": "debug", "image": "i"}],
        },
        "status": {
            "phase": "Running", "startTime": "2026-06-01T00:00:10Z", "nominatedNodeName": "small-1", "resize": "Infeasible",
            "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/5 nodes are available.",
                 "lastTransitionTime": "2026-06-03T00:00:00Z"},
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
                {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
            "allocatedResources": {"cpu": "4"}, "resources": {"requests": {"cpu": "5"}},
            "resourceClaimStatuses": [{"name": "tpl", "resourceClaimName": "full-tpl-x"}],
            "containerStatuses": [
                {"name": "bare", "ready": true, "restartCount": 0, "image": "i", "imageID": "i", "resources": {}},
                {"name": "main", "ready": true, "restartCount": 0, "image": "i", "imageID": "i",
                 "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1200m"}, "limits": {"cpu": "9"}}}],
            "initContainerStatuses": [
                {"name": "proxy", "ready": true, "restartCount": 0, "image": "i", "imageID": "i", "allocatedResources": {"memory": "70Mi"}}],
        },
    })
}

/// A node with every field that the loader reads.
pub(in crate::load) fn full_node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "big", "uid": "uid-big", "resourceVersion": "5", "creationTimestamp": "2026-05-01T00:00:00Z",
            "labels": {"zone": "z1", "cores": "16", "kubernetes.io/hostname": "big"}},
        "spec": {"unschedulable": true, "taints": [
            {"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}, {"key": "d", "effect": "PreferNoSchedule"}]},
        "status": {
            "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"},
            "allocatable": {"cpu": "15900m", "memory": "60Gi", "pods": "100", "ephemeral-storage": "90Gi", "nvidia.com/gpu": "4",
                "hugepages-2Mi": "0", "example": "7"},
            "declaredFeatures": ["A", "B"], "nodeInfo": {"kubeletVersion": "v1.36.1", "architecture": "amd64", "bootID": "",
                "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "linux",
                "osImage": "", "systemUUID": ""},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-06-03T00:00:00Z"}],
        },
    })
}

fn pdb() -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta("guard", Some("shop"), 3),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "full"}}},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3,
            "disruptedPods": {"z-0": "2026-06-01T00:00:00Z", "a-0": "2026-06-01T00:00:00Z"}}})
}

fn others() -> Vec<Value> {
    let storage = "storage.k8s.io/v1";
    vec![
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta("high", None, 1), "value": 1000,
            "globalDefault": true, "preemptionPolicy": "Never"}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": meta("shop", None, 1)}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": meta("empty", None, 1)}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta("pv-1", None, 1),
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Block",
                "claimRef": {"namespace": "shop", "name": "data-0", "uid": "uid-data-0-shop"},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z2", "z1"]}]}]}}},
            "status": {"phase": "Available"}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta("pv-2", None, 1),
            "spec": {"capacity": {"storage": 5}, "awsElasticBlockStore": {"volumeID": "vol-2"}}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta("data-0", Some("shop"), 1),
            "spec": {"volumeName": "pv-1", "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"], "storageClassName": "fast",
                "resources": {"requests": {"storage": "8Gi"}}, "volumeMode": "Block", "selector": {"matchLabels": {"a": "b"}}},
            "status": {"phase": "Bound"}}),
        json!({"apiVersion": storage, "kind": "StorageClass", "metadata": meta("fast", None, 1), "provisioner": "ebs.csi.aws.com",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["z2", "z1"]}]}]}),
        json!({"apiVersion": storage, "kind": "CSINode", "metadata": meta("big", None, 1),
            "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": "i-1", "topologyKeys": ["zone"], "allocatable": {"count": 25}}]}}),
        json!({"apiVersion": storage, "kind": "CSIDriver", "metadata": meta("ebs.csi.aws.com", None, 1), "spec": {"storageCapacity": true}}),
        json!({"apiVersion": storage, "kind": "CSIStorageCapacity", "metadata": meta("cap", Some("kube-system"), 1),
            "storageClassName": "fast", "capacity": "100Gi", "maximumVolumeSize": "50Gi", "nodeTopology": {"matchLabels": {"zone": "z1"}}}),
        json!({"apiVersion": storage, "kind": "VolumeAttachment", "metadata": meta("att", None, 1),
            "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "big", "source": {"persistentVolumeName": "pv-1"}}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": meta("web", Some("shop"), 1), "spec": {"selector": {"b": "1", "app": "full"}}}),
        json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": meta("rc", Some("shop"), 1), "spec": {"selector": {"app": "full"}}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta("full-rs", Some("shop"), 1),
            "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["full", "empty"]}]}}}),
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta("db", Some("red"), 1), "spec": {"selector": {"matchLabels": {"a": "b"}}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("full", Some("shop"), 1)}),
        json!({"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": meta("big", None, 1), "status": {"conditions": {}}}),
        json!({"apiVersion": "v1", "kind": "Event", "metadata": meta("e", Some("shop"), 1), "lastTimestamp": "2026-06-05T00:00:00Z"}),
    ]
}
