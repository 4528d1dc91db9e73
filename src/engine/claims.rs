//! The claims behind a pod's volumes. Upstream: `component-helpers/storage/{ephemeral,volume}`.

use super::framework::{Fault, Gap, GapEffect, GapSet, Gaps, PodCycle};
use crate::kube::behavior::{ClaimProblems, EphemeralClaims, VolumesBehavior};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::Symbol;
use crate::model::pod::Pod;
use crate::model::volume::{Claim, PodVolumeSource};

/// A volume of a pod that stands for a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodClaim<'a> {
    /// The claim's name, in the pod's namespace.
    pub(crate) name: Symbol,
    /// The volume is a generic ephemeral one, so that the claim must be the pod's own.
    pub(crate) ephemeral: bool,
    /// The claim, if the dump holds it.
    pub(crate) claim: Option<&'a Claim>,
}

impl PodClaim<'_> {
    /// Whether the claim is an ephemeral volume's and was made for somebody else.
    pub(crate) fn is_foreign(&self, pod: &Pod) -> bool {
        let controller = |claim: &Claim| claim.controller_uid.is_some() && claim.controller_uid == pod.uid;
        self.ephemeral && self.claim.is_some_and(|claim| !controller(claim))
    }
}

/// The claim that a volume of the pod stands for.
pub(crate) fn of_volume<'a>(cluster: &'a Cluster, pod: &Pod, source: &PodVolumeSource) -> Option<PodClaim<'a>> {
    let (name, ephemeral) = match source {
        PodVolumeSource::Claim(name) => (*name, false),
        PodVolumeSource::Ephemeral(name) => (*name, true),
        PodVolumeSource::GcePersistentDisk { .. }
        | PodVolumeSource::AwsElasticBlockStore { .. }
        | PodVolumeSource::AzureDisk { .. }
        | PodVolumeSource::Cinder { .. }
        | PodVolumeSource::Portworx { .. }
        | PodVolumeSource::AzureFile { .. }
        | PodVolumeSource::Vsphere { .. }
        | PodVolumeSource::Iscsi { .. }
        | PodVolumeSource::Rbd { .. } => return None,
    };
    Some(PodClaim { name, ephemeral, claim: cluster.storage.claim(pod.namespace, name) })
}

/// The claims of the pod, in the order of its volumes; one that two volumes name comes twice.
pub(crate) fn of_pod<'a>(cluster: &'a Cluster, pod: &'a Pod) -> impl Iterator<Item = PodClaim<'a>> {
    pod.spec.volumes.iter().filter_map(move |volume| of_volume(cluster, pod, &volume.source))
}

/// Whether VolumeBinding looks at the claim.
pub(crate) fn is_bound_with_pod(behavior: &VolumesBehavior, one: &PodClaim<'_>) -> bool {
    match behavior.ephemeral_claims {
        EphemeralClaims::NotBound => !one.ephemeral,
        EphemeralClaims::Bound | EphemeralClaims::BoundOrAwaited => true,
    }
}

/// What the claims of the pod fail before its cycle begins, in the releases that ask then.
/// Upstream: `generic_scheduler.go` podPassesBasicChecks.
pub(crate) fn basic_check(cycle: &PodCycle<'_>, gaps: &mut Gaps) -> Option<(Fault, GapSet)> {
    let (cluster, pod) = (cycle.cluster(), cycle.incoming());
    let behavior = &cycle.snapshot.behavior.volumes;
    match behavior.claim_problems {
        ClaimProblems::Rejected => return None,
        ClaimProblems::ErrorFirst | ClaimProblems::ErrorOnNodes => {}
    }
    let fault = |one: PodClaim<'_>| match one.claim {
        None => Some(Fault::ClaimMissing { plugin: Plugin::VolumeBinding, claim: one.name }),
        Some(claim) if claim.deleted.is_some() => Some(Fault::ClaimDeleted { claim: one.name }),
        Some(_) => one.is_foreign(pod).then_some(Fault::ClaimNotOwned {
            plugin: Plugin::VolumeBinding,
            claim: one.name,
            pod: cycle.pod,
        }),
    };
    let fault = of_pod(cluster, pod).filter(|one| is_bound_with_pod(behavior, one)).find_map(fault)?;
    let blind = match fault {
        Fault::ClaimMissing { claim, .. } => note_missing_claim(gaps, cluster, Plugin::VolumeBinding, claim),
        _ => GapSet::NONE,
    };
    Some((fault, blind))
}

/// The class that a claim asks for, if it asks for one. Upstream: `GetPersistentVolumeClaimClass`.
pub(crate) fn class_name(cluster: &Cluster, claim: &Claim) -> Option<Symbol> {
    claim.storage_class.filter(|&class| !cluster.text(class).is_empty())
}

/// Notes that an object was looked for in vain, if the dump may lack it.
pub(crate) fn note_missing(
    gaps: &mut Gaps,
    cluster: &Cluster,
    plugin: Plugin,
    kind: Kind,
    object: Option<Symbol>,
    effect: GapEffect,
) -> GapSet {
    if cluster.may_lack(kind) { gaps.note(Gap { kind, plugin, object, effect }) } else { GapSet::NONE }
}

/// Notes that a claim of the pod was looked for in vain, if the dump may lack it.
pub(crate) fn note_missing_claim(gaps: &mut Gaps, cluster: &Cluster, plugin: Plugin, claim: Symbol) -> GapSet {
    note_missing(gaps, cluster, plugin, Kind::PersistentVolumeClaim, Some(claim), GapEffect::MayDiffer)
}
