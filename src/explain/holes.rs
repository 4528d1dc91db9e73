//! Kinds that the dump lacks: who reads them, and why one cannot matter to a pod.

use crate::engine::cycle;
use crate::engine::framework::PodCycle;
use crate::engine::outcome::{Disposition, Eligibility, Outcome};
use crate::kube::plugin::Plugin;
use crate::model::affinity::PodAffinityTerm;
use crate::model::cluster::{Cluster, Kind};
use crate::model::pod::Pod;
use crate::model::resources::ResourceName;
use crate::model::selector::LabelSelector;

/// Plugins that count the volumes of a node.
const VOLUME_LIMITS: [Plugin; 5] =
    [Plugin::NodeVolumeLimits, Plugin::EBSLimits, Plugin::GCEPDLimits, Plugin::AzureDiskLimits, Plugin::CinderLimits];

/// Who reads a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Whatever is decided.
    Everybody,
    /// These plugins.
    Plugins(Vec<Plugin>),
    /// No filter, and not preemption.
    Nobody,
}

/// The plugins that read a kind, of whichever release.
pub fn readers(kind: Kind) -> Readers {
    let with_limits = |others: &[Plugin]| Readers::Plugins(others.iter().copied().chain(VOLUME_LIMITS).collect());
    match kind {
        Kind::Node | Kind::Pod => Readers::Everybody,
        Kind::PodDisruptionBudget => Readers::Plugins(vec![Plugin::DefaultPreemption]),
        Kind::Namespace => Readers::Plugins(vec![Plugin::InterPodAffinity]),
        Kind::PersistentVolumeClaim => {
            with_limits(&[Plugin::VolumeBinding, Plugin::VolumeZone, Plugin::VolumeRestrictions])
        }
        Kind::PersistentVolume | Kind::StorageClass => with_limits(&[Plugin::VolumeBinding, Plugin::VolumeZone]),
        Kind::CsiNode => with_limits(&[Plugin::VolumeBinding]),
        Kind::CsiDriver => Readers::Plugins(vec![Plugin::VolumeBinding, Plugin::NodeVolumeLimits]),
        Kind::CsiStorageCapacity => Readers::Plugins(vec![Plugin::VolumeBinding]),
        Kind::VolumeAttachment => Readers::Plugins(vec![Plugin::NodeVolumeLimits]),
        Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
            Readers::Plugins(vec![Plugin::PodTopologySpread])
        }
        Kind::ResourceClaim | Kind::ResourceSlice | Kind::DeviceTaintRule => {
            Readers::Plugins(vec![Plugin::DynamicResources])
        }
        // Extended resources may be handed over to devices.
        Kind::DeviceClass => Readers::Plugins(vec![Plugin::DynamicResources, Plugin::NodeResourcesFit]),
        Kind::PriorityClass | Kind::PodGroup | Kind::Event => Readers::Nobody,
    }
}

/// Why a kind that the dump lacks cannot change the answer for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Harmless {
    /// No filter and no preemption reads it.
    NotRead,
    /// Nothing is decided about the pod: it has a node, is finished, is held back, is another scheduler's.
    NotTried,
    /// The profile runs none of the plugins that read it.
    NoPlugin,
    /// The pod's preemptionPolicy is Never.
    NeverPreempts,
    /// No pod that has a node is of lower priority.
    NobodyLower,
    /// The pod fits without preemption.
    Fits,
    /// The pod may not preempt now.
    Ineligible,
    /// Preemption frees no node, budgets or not.
    NoCandidates,
    /// Neither its affinity terms nor the anti-affinity of other pods select namespaces by label.
    NoNamespaceSelector,
    /// The pod has no volume that a filter looks at.
    NoVolumes,
    /// The profile has no default spread constraint that filters.
    NoDefaultSpread,
    /// The pod has spread constraints of its own, so that default ones do not apply.
    OwnSpread,
    /// The pod claims no devices.
    NoDevices,
    /// Every node was decided without it.
    NotAsked,
}

/// What a cluster says to the question whichever pod it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    /// The lowest priority of a pod that has a node; `None` where no pod has one.
    lowest_priority: Option<i32>,
    /// Some pod has an anti-affinity term that selects namespaces by label.
    selected_by_namespace: bool,
}

impl Background {
    /// Looks at every pod once.
    pub fn of(cluster: &Cluster) -> Self {
        let placed = cluster.pods.iter().filter(|pod| pod.node_name.is_some() && !pod.is_terminal());
        let selects = |pod: &Pod| pod.spec.pod_anti_affinity.iter().any(selects_namespaces);
        Background {
            lowest_priority: placed.map(Pod::priority).min(),
            selected_by_namespace: cluster.pods.iter().any(selects),
        }
    }
}

/// Why a kind cannot matter to a pod, whatever it is that the dump lacks of it; `None` says that it may.
pub fn harmless(cycle: &PodCycle<'_>, background: &Background, kind: Kind) -> Option<Harmless> {
    let Readers::Plugins(plugins) = readers(kind) else {
        return match readers(kind) {
            Readers::Nobody => Some(Harmless::NotRead),
            Readers::Everybody | Readers::Plugins(_) => {
                cycle::never_tried(cycle).is_some().then_some(Harmless::NotTried)
            }
        };
    };
    if cycle::never_tried(cycle).is_some() {
        return Some(Harmless::NotTried);
    }
    let profile = cycle.profile;
    let runs =
        |it: &Plugin| [&profile.filters, &profile.pre_filters, &profile.post_filters].iter().any(|at| at.contains(it));
    if !plugins.iter().any(runs) {
        return Some(Harmless::NoPlugin);
    }
    let (pod, spec) = (cycle.incoming(), &cycle.incoming().spec);
    let when = |is: bool, why: Harmless| is.then_some(why);
    match kind {
        Kind::PodDisruptionBudget => when(spec.never_preempts, Harmless::NeverPreempts).or_else(|| {
            let lower = background.lowest_priority.is_some_and(|it| it < pod.priority());
            when(!lower && !cycle.cluster().may_lack(Kind::Pod), Harmless::NobodyLower)
        }),
        Kind::Namespace => {
            let own = spec.pod_affinity.iter().chain(&spec.pod_anti_affinity).any(selects_namespaces);
            when(!own && !background.selected_by_namespace, Harmless::NoNamespaceSelector)
        }
        Kind::PersistentVolume
        | Kind::PersistentVolumeClaim
        | Kind::StorageClass
        | Kind::CsiNode
        | Kind::CsiDriver
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment => when(spec.volumes.is_empty(), Harmless::NoVolumes),
        Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
            when(profile.default_spread.is_empty(), Harmless::NoDefaultSpread)
                .or(when(!spec.spread.is_empty(), Harmless::OwnSpread))
        }
        Kind::ResourceClaim | Kind::ResourceSlice | Kind::DeviceTaintRule => {
            when(spec.resource_claims.is_empty(), Harmless::NoDevices)
        }
        Kind::DeviceClass => when(spec.resource_claims.is_empty() && !asks_scalars(pod), Harmless::NoDevices),
        Kind::Node | Kind::Pod | Kind::PriorityClass | Kind::PodGroup | Kind::Event => None,
    }
}

/// What a kind that the dump lacks is to the answer for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// It is among the answer's gaps.
    Gap,
    /// No rule came to it, but one may once the answer's gaps are filled.
    MayFollow,
    /// It cannot change the answer.
    Harmless(Harmless),
}

/// What a kind is to the answer, once it is known what came of the pod.
pub fn bearing(cycle: &PodCycle<'_>, background: &Background, outcome: &Outcome, kind: Kind) -> Bearing {
    if outcome.gaps.iter().any(|gap| gap.kind == kind) {
        return Bearing::Gap;
    }
    if let Some(why) = harmless(cycle, background, kind) {
        return Bearing::Harmless(why);
    }
    if !outcome.gaps.is_empty() {
        return Bearing::MayFollow;
    }
    let preemption = outcome.post_filter.as_ref().and_then(|it| it.preemption.as_ref());
    Bearing::Harmless(match (kind, &outcome.disposition, preemption) {
        (Kind::PodDisruptionBudget, Disposition::Feasible(_), _) => Harmless::Fits,
        (Kind::PodDisruptionBudget, _, Some(it)) if it.eligibility != Eligibility::Eligible => Harmless::Ineligible,
        (Kind::PodDisruptionBudget, _, _) => Harmless::NoCandidates,
        _ => Harmless::NotAsked,
    })
}

fn selects_namespaces(term: &PodAffinityTerm) -> bool {
    term.namespace_selector != LabelSelector::Absent
}

fn asks_scalars(pod: &Pod) -> bool {
    let parts = &pod.requests;
    let containers = parts.containers.iter().chain(&parts.init_containers).flat_map(|it| &it.requests);
    let is_scalar = |name: &ResourceName| matches!(name, ResourceName::Scalar(_));
    containers.chain(parts.pod_level.iter().flatten()).chain(&parts.overhead).any(|(name, _)| is_scalar(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Scene, scene, scene_without};

    fn bearing_of(scene: &Scene, kind: Kind) -> Bearing {
        let background = Background::of(&scene.snapshot.cluster);
        bearing(&scene.cycle(), &background, &scene.outcome(), kind)
    }

    #[test]
    fn budgets_matter_to_whoever_evicts() {
        let lacking = |text| scene_without(34, text, &[Kind::PodDisruptionBudget]);
        let of = |text| bearing_of(&lacking(text), Kind::PodDisruptionBudget);
        assert_eq!(of("node a cpu=1\npod x on=a prio=1 cpu=1\nwant w prio=2 cpu=1"), Bearing::Gap);
        for (text, why) in [
            ("node a cpu=2\npod x on=a prio=1 cpu=1\nwant w prio=2 cpu=1", Harmless::Fits),
            ("node a cpu=1\npod x on=a prio=1 cpu=1\nwant w prio=2 cpu=1 never", Harmless::NeverPreempts),
            ("node a cpu=1\npod x on=a prio=2 cpu=1\nwant w prio=2 cpu=1", Harmless::NobodyLower),
            ("node a cpu=1\npod x on=a prio=1 cpu=1\nwant w prio=2 cpu=3", Harmless::NoCandidates),
        ] {
            assert_eq!(of(text), Bearing::Harmless(why), "{text}");
        }
    }

    #[test]
    fn a_kind_matters_to_pods_that_lead_to_it() {
        let kinds = [Kind::StorageClass, Kind::CsiStorageCapacity, Kind::Service, Kind::ResourceClaim, Kind::Namespace];
        let of = |text| kinds.map(|kind| bearing_of(&scene_without(34, text, &kinds), kind));
        let rest = [Harmless::NoDefaultSpread, Harmless::NoDevices, Harmless::NoNamespaceSelector];
        let rest = rest.map(Bearing::Harmless);
        let plain = of("node a cpu=1\nwant w cpu=1");
        assert_eq!(plain[..2], [Bearing::Harmless(Harmless::NoVolumes); 2]);
        assert_eq!(plain[2..], rest);
        // With its class the claim may wait for a node, and then capacities are asked.
        let claim = of("node a cpu=1\nclaim data class=fast\nwant w cpu=1 claim=data");
        assert_eq!(claim[..2], [Bearing::Gap, Bearing::MayFollow]);
        assert_eq!(claim[2..], rest);
        let event = bearing_of(&scene(34, "node a cpu=1\nwant v"), Kind::Event);
        assert_eq!(event, Bearing::Harmless(Harmless::NotRead));
    }
}
