//! The reasons of rejections and the texts of faults.

use super::Words;
use crate::engine::framework::{Fault, Rejection};
use crate::engine::requests;
use crate::kube::behavior::{
    ClaimNotOwnedText, FilterErrorText, MissingFeaturesText, MissingVolumeText, NodeAffinityText, NodeNameText,
    PodAffinityText, ReadWriteOncePodText, SpreadMissingLabel, TaintText, VolumeAffinityText,
};
use crate::kube::plugin::Plugin;
use crate::model::id::{NodeId, PodId, Symbol};

const SPREAD: &str = "node(s) didn't match pod topology spread constraints";
const UNBOUND_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

pub(super) fn of(words: &Words<'_>, rejection: &Rejection, node: Option<NodeId>) -> Vec<String> {
    let texts = &words.behavior().texts;
    let text = |symbol: Symbol| words.cluster().text(symbol);
    let one = match rejection {
        Rejection::Insufficient { mask } => return insufficient(words, *mask),
        Rejection::VolumeBinding { mask } => return volume_binding(words, *mask),
        Rejection::PodAffinity => return pod_affinity(words, "node(s) didn't match pod affinity rules"),
        Rejection::PodAntiAffinity => return pod_affinity(words, "node(s) didn't match pod anti-affinity rules"),
        Rejection::ExistingPodAntiAffinity => {
            return pod_affinity(words, "node(s) didn't satisfy existing pods anti-affinity rules");
        }
        Rejection::Cordoned => "node(s) were unschedulable".to_owned(),
        Rejection::OtherNodeName => match texts.node_name {
            NodeNameText::Hostname => "node(s) didn't match the requested hostname",
            NodeNameText::NodeName => "node(s) didn't match the requested node name",
        }
        .to_owned(),
        Rejection::UntoleratedTaint { taint } => untolerated_taint(words, *taint, node),
        Rejection::AddedNodeAffinity => "node(s) didn't match scheduler-enforced node affinity".to_owned(),
        Rejection::NodeAffinity => match texts.node_affinity {
            NodeAffinityText::Selector => "node(s) didn't match node selector",
            NodeAffinityText::Affinity => "node(s) didn't match Pod's node affinity",
            NodeAffinityText::AffinitySelector => "node(s) didn't match Pod's node affinity/selector",
        }
        .to_owned(),
        Rejection::AffinityTermsConflict => "pod affinity terms conflict".to_owned(),
        Rejection::HostPorts => "node(s) didn't have free ports for the requested pod ports".to_owned(),
        Rejection::SidecarsDisabled => {
            "Pod has a restartable init container and the SidecarContainers feature is disabled".to_owned()
        }
        Rejection::DiskConflict => "node(s) had no available disk".to_owned(),
        Rejection::ReadWriteOncePodConflict => match texts.read_write_once_pod {
            ReadWriteOncePodText::SameName => {
                "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
            }
            ReadWriteOncePodText::InUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
        }
        .to_owned(),
        Rejection::MaxVolumeCount { .. } => "node(s) exceed max volume count".to_owned(),
        Rejection::DriverNotInstalled { driver } => format!("{} CSI driver is not installed on the node", text(*driver)),
        Rejection::LimitsClaimMissing { claim, .. } => {
            let (namespace, claim) = (words.pod_namespace(), text(*claim));
            format!("looking up PVC {namespace}/{claim}: persistentvolumeclaim {} not found", quoted(claim))
        }
        Rejection::ClaimMissing { claim, .. } => claim_missing(text(*claim)),
        Rejection::EphemeralClaimMissing { claim } => format!(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim {}",
            quoted(text(*claim))
        ),
        Rejection::ClaimLost { claim, volume } => format!(
            "persistentvolumeclaim {} bound to non-existent persistentvolume {}",
            quoted(text(*claim)),
            quoted(volume.map_or("", text))
        ),
        Rejection::ClaimDeleted { claim } => claim_deleted(text(*claim)),
        Rejection::ClaimNotOwned { claim } => claim_not_owned(words, text(*claim), words.pod),
        Rejection::UnboundImmediateClaims => UNBOUND_IMMEDIATE.to_owned(),
        Rejection::VolumeZone => "node(s) had no available volume zone".to_owned(),
        Rejection::VolumeMissing { volume } => volume_missing(text(*volume)),
        Rejection::ClaimWithoutClass => "PersistentVolumeClaim had no pv name and storageClass name".to_owned(),
        Rejection::ClassMissing { class } => class_missing(text(*class)),
        Rejection::ClassWithoutMode { class } => class_without_mode(text(*class)),
        Rejection::ClaimWithoutVolume => "PersistentVolume had no name".to_owned(),
        Rejection::SpreadMissingLabel => match words.behavior().spread.missing_label {
            SpreadMissingLabel::Unschedulable => SPREAD.to_owned(),
            SpreadMissingLabel::Unresolvable => format!("{SPREAD} (missing required label)"),
        },
        Rejection::SpreadSkew { .. } => SPREAD.to_owned(),
        Rejection::UnparsableAffinity => "parsing pod".to_owned(),
        Rejection::MissingFeatures => match texts.missing_features {
            MissingFeaturesText::Listed => "node declared features check failed - unsatisfied requirements",
            MissingFeaturesText::DidntMatch => "node(s) didn't match Pod's required features",
        }
        .to_owned(),
        Rejection::CannotAllocateClaims => "cannot allocate all claims".to_owned(),
        Rejection::ClaimNotAvailableOnNode => "resourceclaim not available on the node".to_owned(),
        Rejection::NotSelectedByPreFilter => {
            let mut names = plugin_names(words);
            names.sort_unstable();
            format!("node(s) didn't satisfy plugin(s) [{}]", names.join(" "))
        }
        Rejection::FilteredOutByPreFilter => "node is filtered out by the prefilter result".to_owned(),
        Rejection::NoNodeInCommon => match plugin_names(words).as_slice() {
            [only] => format!("node(s) didn't satisfy plugin {only}"),
            names => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", names.join(" ")),
        },
    };
    vec![one]
}

/// Whether a rejection makes a merged status UnschedulableAndUnresolvable, in the releases that merge.
pub(super) fn unresolvable_when_merged(rejection: &Rejection) -> bool {
    match rejection.plugin() {
        Some(
            Plugin::NodeUnschedulable
            | Plugin::NodeName
            | Plugin::TaintToleration
            | Plugin::NodeAffinity
            | Plugin::VolumeBinding
            | Plugin::VolumeZone
            | Plugin::DynamicResources
            | Plugin::NodeDeclaredFeatures,
        )
        | None => true,
        Some(
            Plugin::NodePorts
            | Plugin::NodeResourcesFit
            | Plugin::VolumeRestrictions
            | Plugin::EBSLimits
            | Plugin::GCEPDLimits
            | Plugin::NodeVolumeLimits
            | Plugin::AzureDiskLimits
            | Plugin::CinderLimits
            | Plugin::SchedulingGates
            | Plugin::DefaultPreemption,
        ) => false,
        Some(Plugin::PodTopologySpread) => *rejection == Rejection::SpreadMissingLabel,
        Some(Plugin::InterPodAffinity) => *rejection == Rejection::PodAffinity,
    }
}

pub(super) fn fault(words: &Words<'_>, fault: &Fault) -> String {
    let text = |symbol: Symbol| words.cluster().text(symbol);
    match fault {
        Fault::NoNodes => "no nodes available to schedule pods".to_owned(),
        Fault::NodeInfoNotFound { name } => format!("nodeinfo not found for node name {}", quoted(text(*name))),
        Fault::PreFilterRejected { rejection } => {
            let plugin = super::plugin_name(rejection);
            let reason = of(words, rejection, None).join(", ");
            format!(
                "error while running {} prefilter plugin for pod {}: {reason}",
                quoted(plugin),
                quoted(words.pod_name())
            )
        }
        Fault::ClaimMissing { claim, .. } => claim_missing(text(*claim)),
        Fault::ClaimDeleted { claim } => claim_deleted(text(*claim)),
        Fault::ClaimNotOwned { claim, pod, .. } => claim_not_owned(words, text(*claim), *pod),
        Fault::VolumeMissing { volume, .. } => volume_missing(text(*volume)),
        Fault::Class { class: Some(class), .. } => class_missing(text(*class)),
        Fault::Class { class: None, .. } => "PersistentVolumeClaim had no pv name and storageClass name".to_owned(),
        Fault::UnboundImmediateClaims => UNBOUND_IMMEDIATE.to_owned(),
        Fault::UnparsableClaimSelector { claim } => {
            let key = format!("{}/{}", words.pod_namespace(), text(*claim));
            format!("error creating internal label selector for claim: {key}")
        }
        Fault::VolumeAttributesClassOff { claim } => format!(
            "unsupported volumeAttributesClassName is set on claim {}/{} when the feature-gate VolumeAttributesClass is disabled",
            words.pod_namespace(),
            text(*claim)
        ),
        Fault::UntranslatableVolume { volume, .. } => format!("could not translate pv: {}", text(*volume)),
        Fault::UnparsableAffinity => "parsing pod".to_owned(),
        Fault::UnparsableSpread => "obtaining pod's hard topology spread constraints".to_owned(),
        Fault::StateMissing { plugin } => state_missing(*plugin),
        Fault::Panics => "the scheduler of this release crashes here".to_owned(),
    }
}

/// What a plugin says whose PreFilter did not run.
pub(super) fn state_missing(plugin: Plugin) -> String {
    let name = plugin.name();
    match plugin {
        Plugin::InterPodAffinity | Plugin::NodeResourcesFit => {
            format!("error reading \"PreFilter{name}\" from cycleState: not found")
        }
        Plugin::NodeDeclaredFeatures => format!("error reading \"PreFilter{name}\" from cycle-state: not found"),
        Plugin::VolumeRestrictions => format!("cannot read \"PreFilter{name}\" from cycleState"),
        Plugin::VolumeBinding | Plugin::DynamicResources => "not found".to_owned(),
        Plugin::NodePorts
        | Plugin::PodTopologySpread
        | Plugin::NodeUnschedulable
        | Plugin::NodeName
        | Plugin::TaintToleration
        | Plugin::NodeAffinity
        | Plugin::EBSLimits
        | Plugin::GCEPDLimits
        | Plugin::NodeVolumeLimits
        | Plugin::AzureDiskLimits
        | Plugin::CinderLimits
        | Plugin::VolumeZone
        | Plugin::SchedulingGates
        | Plugin::DefaultPreemption => format!("reading \"PreFilter{name}\" from cycleState: not found"),
    }
}

/// What is said of a node on which a Filter plugin fails.
pub(super) fn fault_on_node(words: &Words<'_>, on_node: &Fault) -> String {
    let said = match on_node {
        Fault::ClaimMissing { plugin: Plugin::VolumeBinding, claim } => {
            let key = quoted(&format!("{}/{}", words.pod_namespace(), words.cluster().text(*claim)));
            format!("error getting PVC {key}: could not find v1.PersistentVolumeClaim {key}")
        }
        Fault::ClaimMissing { plugin, claim } if *plugin != Plugin::VolumeZone => {
            let (namespace, claim) = (words.pod_namespace(), words.cluster().text(*claim));
            format!("looking up PVC {namespace}/{claim}: {}", claim_missing(claim))
        }
        other => fault(words, other),
    };
    let Some(plugin) = on_node.plugin() else { return said };
    match words.behavior().texts.filter_error {
        FilterErrorText::PodNamed => {
            format!("running {} filter plugin for pod {}: {said}", quoted(plugin.name()), quoted(words.pod_name()))
        }
        FilterErrorText::PluginOnly => format!("running {} filter plugin: {said}", quoted(plugin.name())),
    }
}

fn class_without_mode(class: &str) -> String {
    format!("VolumeBindingMode not set for StorageClass {}", quoted(class))
}

fn plugin_names(words: &Words<'_>) -> Vec<&'static str> {
    words.outcome.narrowed_by.iter().map(|plugin| plugin.name()).collect()
}

fn insufficient(words: &Words<'_>, mask: u64) -> Vec<String> {
    const FIXED: [&str; 4] =
        ["Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"];
    let has = |bit: usize| mask & (1 << bit.min(63)) != 0;
    let mut all: Vec<String> = (0..FIXED.len()).filter(|&bit| has(bit)).map(|bit| FIXED[bit].to_owned()).collect();
    let pod = words.cluster().pod(words.pod);
    let asked = requests::incoming(&pod.requests, &words.behavior().requests);
    let scalars = asked.scalars.iter().enumerate().filter(|(at, _)| has(FIXED.len() + at));
    let mut scalars: Vec<String> =
        scalars.map(|(_, (id, _))| format!("Insufficient {}", words.cluster().resource_name(*id))).collect();
    // Upstream's order is that of a Go map.
    scalars.sort_unstable();
    all.append(&mut scalars);
    all
}

fn volume_binding(words: &Words<'_>, mask: u8) -> Vec<String> {
    let texts = &words.behavior().texts;
    let all = [
        match texts.volume_affinity {
            VolumeAffinityText::Conflict => "node(s) had volume node affinity conflict",
            VolumeAffinityText::DidntMatch => "node(s) didn't match PersistentVolume's node affinity",
        },
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        match texts.missing_volume {
            MissingVolumeText::Claims => "pvc(s) bound to non-existent pv(s)",
            MissingVolumeText::Nodes => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        },
    ];
    all.iter().enumerate().filter(|(bit, _)| mask & (1 << bit) != 0).map(|(_, text)| (*text).to_owned()).collect()
}

fn pod_affinity(words: &Words<'_>, own: &str) -> Vec<String> {
    let general = match words.behavior().texts.pod_affinity {
        PodAffinityText::General => Some("node(s) didn't match pod affinity/anti-affinity"),
        PodAffinityText::GeneralRules => Some("node(s) didn't match pod affinity/anti-affinity rules"),
        PodAffinityText::OwnOnly => None,
    };
    general.into_iter().chain([own]).map(str::to_owned).collect()
}

fn untolerated_taint(words: &Words<'_>, position: u32, node: Option<NodeId>) -> String {
    let cluster = words.cluster();
    let taint = node.and_then(|node| cluster.node(node).taints.get(position as usize));
    let (key, value) = taint.map_or(("", ""), |taint| (cluster.text(taint.key), cluster.text(taint.value)));
    match words.behavior().texts.taint {
        TaintText::HadTaint => format!("node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate"),
        TaintText::Untolerated => format!("node(s) had untolerated taint {{{key}: {value}}}"),
        TaintText::WithoutKey => "node(s) had untolerated taint(s)".to_owned(),
    }
}

fn claim_missing(claim: &str) -> String {
    format!("persistentvolumeclaim {} not found", quoted(claim))
}

fn claim_deleted(claim: &str) -> String {
    format!("persistentvolumeclaim {} is being deleted", quoted(claim))
}

fn claim_not_owned(words: &Words<'_>, claim: &str, pod: PodId) -> String {
    match words.behavior().texts.claim_not_owned {
        ClaimNotOwnedText::NotForThePod => {
            format!("persistentvolumeclaim {} was not created for the pod", quoted(claim))
        }
        ClaimNotOwnedText::NotOwner => {
            let (namespace, pod) = (words.cluster().pod(pod).namespace, words.cluster().pod_key(pod));
            let namespace = words.cluster().namespace_name(namespace);
            format!("PVC {namespace}/{claim} was not created for pod {pod} (pod is not owner)")
        }
    }
}

fn volume_missing(volume: &str) -> String {
    format!("persistentvolume {} not found", quoted(volume))
}

fn class_missing(class: &str) -> String {
    format!("storageclass.storage.k8s.io {} not found", quoted(class))
}

/// Go's `%q` for the names Kubernetes allows.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
