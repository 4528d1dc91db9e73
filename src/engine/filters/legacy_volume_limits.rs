//! Rejects a node that holds more disks of one cloud than a fixed number: EBSLimits, GCEPDLimits, AzureDiskLimits and
//! CinderLimits. Upstream: `plugins/nodevolumelimits/non_csi.go`, gone since 1.32.
//!
//! Disks that moved to a CSI driver on the node are left to NodeVolumeLimits. Evicting a pod helps where it alone uses a
//! disk. The scheduler's environment variable `KUBE_MAX_PD_VOLS`, which no dump shows, is taken to be unset.

use crate::engine::claims::{self, PodClaim};
use crate::engine::framework::{
    Code, Fault, FilterPlugin, GapEffect, GapSet, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::migration::InTreePlugin;
use crate::engine::node_view::NodeView;
use crate::kube::behavior::{EphemeralLimits, LimitsMissingClaim, VolumesBehavior};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::{NamespaceId, PodId, Symbol};
use crate::model::labels;
use crate::model::pod::Pod;
use crate::model::volume::{Claim, PodVolumeSource, VolumeSource};

/// One of the four plugins.
pub(crate) struct LegacyVolumeLimits {
    plugin: Plugin,
    disks: InTreePlugin,
    /// The resource of a node that overrides the number.
    resource: &'static str,
}

/// AWS EBS.
pub(crate) static EBS_LIMITS: LegacyVolumeLimits = LegacyVolumeLimits {
    plugin: Plugin::EBSLimits,
    disks: InTreePlugin::AwsEbs,
    resource: "attachable-volumes-aws-ebs",
};

/// GCE persistent disk.
pub(crate) static GCE_PD_LIMITS: LegacyVolumeLimits = LegacyVolumeLimits {
    plugin: Plugin::GCEPDLimits,
    disks: InTreePlugin::GcePd,
    resource: "attachable-volumes-gce-pd",
};

/// Azure disk.
pub(crate) static AZURE_DISK_LIMITS: LegacyVolumeLimits = LegacyVolumeLimits {
    plugin: Plugin::AzureDiskLimits,
    disks: InTreePlugin::AzureDisk,
    resource: "attachable-volumes-azure-disk",
};

/// OpenStack Cinder; in no default profile.
pub(crate) static CINDER_LIMITS: LegacyVolumeLimits = LegacyVolumeLimits {
    plugin: Plugin::CinderLimits,
    disks: InTreePlugin::Cinder,
    resource: "attachable-volumes-cinder",
};

impl FilterPlugin for LegacyVolumeLimits {
    fn plugin(&self) -> Plugin {
        self.plugin
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let (cluster, pod) = (cycle.cluster(), cycle.incoming());
        let filter = Filter {
            plugin: self.plugin,
            disks: self.disks,
            resource: cluster.symbols.get(self.resource),
            cluster,
            behavior: &cycle.snapshot.behavior.volumes,
            pod: cycle.pod,
            claim_gaps: GapSet::NONE,
            migration_gap: GapSet::NONE,
        };
        let counts = |source: &PodVolumeSource| filter.disk(source).is_some() || filter.claim_of(pod, source).is_some();
        if !pod.spec.volumes.iter().any(|volume| counts(&volume.source)) {
            return PreFilter::Skip;
        }
        let mut note = |kind| claims::note_missing(gaps, cluster, self.plugin, kind, None, GapEffect::MayDiffer);
        let kinds = [Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::StorageClass];
        let claim_gaps = kinds.map(&mut note).into_iter().fold(GapSet::NONE, GapSet::with);
        let may_migrate = self.disks.may_be_migrated(filter.behavior);
        let migration_gap = if may_migrate { note(Kind::CsiNode) } else { GapSet::NONE };
        PreFilter::Run { filter: Box::new(Filter { claim_gaps, migration_gap, ..filter }), nodes: None }
    }
}

/// The filter of one pod.
#[derive(Clone)]
struct Filter<'a> {
    plugin: Plugin,
    disks: InTreePlugin,
    resource: Option<Symbol>,
    cluster: &'a Cluster,
    behavior: &'a VolumesBehavior,
    pod: PodId,
    claim_gaps: GapSet,
    migration_gap: GapSet,
}

/// What tells a disk from the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disk {
    /// The cloud's name of it.
    Known(Symbol),
    /// The disk that a claim has, or is going to have.
    Pending(NamespaceId, Symbol),
}

impl PodFilter for Filter<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        if let Some(missing) = self.missing_claim() {
            return missing;
        }
        let mut new = Vec::new();
        if let Err(fault) = self.add_pod_disks(self.pod, &mut new) {
            return Verdict::Faults(fault);
        }
        let node = self.cluster.storage.csi_node(view.node().name);
        if new.is_empty() || self.disks.is_migrated_for_limits(self.behavior, self.cluster, node) {
            return Verdict::Fits;
        }
        let mut existing = Vec::new();
        for id in view.pods() {
            if let Err(fault) = self.add_pod_disks(id, &mut existing) {
                return Verdict::Faults(fault);
            }
        }
        let added = new.iter().filter(|disk| !existing.contains(disk)).count();
        if i64::try_from(existing.len() + added).unwrap_or(i64::MAX) > self.limit(view) {
            return Verdict::Rejects(Rejection::MaxVolumeCount { plugin: self.plugin }, Code::Unschedulable);
        }
        Verdict::Fits
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        let pods = std::iter::once(self.pod).chain(view.pods()).map(|id| self.cluster.pod(id));
        let mut claims = pods.flat_map(|pod| pod.spec.volumes.iter().filter_map(|it| self.claim_of(pod, &it.source)));
        let claim_gaps = if claims.any(|one| self.is_unresolved(one)) { self.claim_gaps } else { GapSet::NONE };
        // A node that rejects may have the disks moved to a driver.
        let known = self.filter(view) == Verdict::Fits || self.cluster.storage.csi_node(view.node().name).is_some();
        if known { claim_gaps } else { claim_gaps.with(self.migration_gap) }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

impl Filter<'_> {
    /// What the first claim of the pod does that does not exist.
    fn missing_claim(&self) -> Option<Verdict> {
        let pod = self.cluster.pod(self.pod);
        let claims = pod.spec.volumes.iter().filter_map(|it| self.claim_of(pod, &it.source));
        let claim = claims.into_iter().find(|one| one.claim.is_none())?.name;
        match self.behavior.limits_missing_claim {
            LimitsMissingClaim::NotCounted => None,
            LimitsMissingClaim::Error => Some(Verdict::Faults(Fault::ClaimMissing { plugin: self.plugin, claim })),
            LimitsMissingClaim::Rejects => {
                let rejection = Rejection::LimitsClaimMissing { plugin: self.plugin, claim };
                Some(Verdict::Rejects(rejection, Code::Unresolvable))
            }
        }
    }

    fn add_pod_disks(&self, id: PodId, disks: &mut Vec<Disk>) -> Result<(), Fault> {
        let pod = self.cluster.pod(id);
        for volume in &pod.spec.volumes {
            let disk = match self.disk(&volume.source) {
                Some(name) => Some(Disk::Known(name)),
                None => match self.claim_of(pod, &volume.source) {
                    Some(one) if one.is_foreign(pod) => {
                        return Err(Fault::ClaimNotOwned { plugin: self.plugin, claim: one.name, pod: id });
                    }
                    Some(one) => one.claim.and_then(|claim| self.disk_of_claim(claim)),
                    None => None,
                },
            };
            if let Some(disk) = disk
                && !disks.contains(&disk)
            {
                disks.push(disk);
            }
        }
        Ok(())
    }

    /// The name of a disk of this cloud.
    fn disk(&self, source: &PodVolumeSource) -> Option<Symbol> {
        if InTreePlugin::of(source) != Some(self.disks) {
            return None;
        }
        match source {
            PodVolumeSource::GcePersistentDisk { pd_name, .. } => Some(*pd_name),
            PodVolumeSource::AwsElasticBlockStore { volume_id } | PodVolumeSource::Cinder { volume_id } => {
                Some(*volume_id)
            }
            PodVolumeSource::AzureDisk { disk_name, .. } => Some(*disk_name),
            PodVolumeSource::Claim(_)
            | PodVolumeSource::Ephemeral(_)
            | PodVolumeSource::Portworx { .. }
            | PodVolumeSource::AzureFile { .. }
            | PodVolumeSource::Vsphere { .. }
            | PodVolumeSource::Iscsi { .. }
            | PodVolumeSource::Rbd { .. } => None,
        }
    }

    fn claim_of<'s>(&'s self, pod: &Pod, source: &PodVolumeSource) -> Option<PodClaim<'s>> {
        let one = claims::of_volume(self.cluster, pod, source)?;
        match self.behavior.ephemeral_limits {
            EphemeralLimits::Counted => Some(one),
            EphemeralLimits::Uncounted => (!one.ephemeral).then_some(one),
        }
    }

    /// The disk of a claim's volume. A claim whose volume is not known counts if its class makes disks of this cloud.
    fn disk_of_claim(&self, claim: &Claim) -> Option<Disk> {
        match claim.volume_name.and_then(|name| self.cluster.storage.volume(name)).map(|volume| &volume.source) {
            Some(VolumeSource::InTree(source)) => self.disk(source).map(Disk::Known),
            Some(VolumeSource::Csi { .. } | VolumeSource::Other) => None,
            None => {
                let class = self.cluster.storage.class(claims::class_name(self.cluster, claim)?)?;
                let ours = self.cluster.text(class.provisioner) == self.disks.name();
                ours.then_some(Disk::Pending(claim.namespace, claim.name))
            }
        }
    }

    /// Whether the dump lacks what would tell the claim's disk.
    fn is_unresolved(&self, one: PodClaim<'_>) -> bool {
        let Some(claim) = one.claim else {
            return self.cluster.may_lack(Kind::PersistentVolumeClaim);
        };
        match claim.volume_name {
            Some(name) if self.cluster.storage.volume(name).is_some() => false,
            Some(_) if self.cluster.may_lack(Kind::PersistentVolume) => true,
            Some(_) | None => {
                let class = claims::class_name(self.cluster, claim);
                let known = class.is_none_or(|class| self.cluster.storage.class(class).is_some());
                !known && self.cluster.may_lack(Kind::StorageClass)
            }
        }
    }

    /// How many disks the node may hold.
    fn limit(&self, view: &NodeView<'_>) -> i64 {
        let mut scalars = view.info.allocatable.scalars.iter();
        let own = scalars.find(|(id, _)| Some(self.cluster.resources[id.index()]) == self.resource);
        own.map_or_else(|| self.default_limit(view), |(_, limit)| *limit)
    }

    fn default_limit(&self, view: &NodeView<'_>) -> i64 {
        match self.disks {
            InTreePlugin::AwsEbs if is_nitro(self.instance_type(view)) => 25,
            InTreePlugin::AwsEbs => 39,
            InTreePlugin::GcePd | InTreePlugin::AzureDisk => 16,
            InTreePlugin::Cinder | InTreePlugin::Portworx => 256,
        }
    }

    /// The machine type of the node. Upstream takes either label where both are there; they never differ.
    fn instance_type(&self, view: &NodeView<'_>) -> &str {
        let value = |key: &str| labels::value(view.labels(), self.cluster.symbols.get(key)?);
        let found = value("node.kubernetes.io/instance-type").or_else(|| value("beta.kubernetes.io/instance-type"));
        found.map_or("", |it| self.cluster.text(it))
    }
}

/// Upstream: the regular expression `^[cmr]5.*|t3|z1d`, whose last two alternatives may stand anywhere.
fn is_nitro(instance_type: &str) -> bool {
    ["c5", "m5", "r5"].iter().any(|family| instance_type.starts_with(family))
        || instance_type.contains("t3")
        || instance_type.contains("z1d")
}

#[cfg(test)]
mod tests {
    use super::is_nitro;
    use crate::testkit::check;

    fn disk(id: &str) -> String {
        format!(r#"spec.volumes:[{{"awsElasticBlockStore":{{"volumeID":"{id}"}}}}]"#)
    }

    #[test]
    fn the_nodes_own_number_limits_disks_until_1_30() {
        let node = "node a attachable-volumes-aws-ebs=1";
        let text = format!("{node}\npod x on=a {}\nwant w prio=9 {}", disk("vol-1"), disk("vol-2"));
        check(18, &text, "a: evict default/x");
        check(30, &text, "a: evict default/x");
        check(31, &text, "fits a");
    }

    #[test]
    fn disks_that_moved_to_a_driver_are_left_alone() {
        let node = "node a attachable-volumes-aws-ebs=1\ncsinode a migrated=kubernetes.io/aws-ebs";
        let text = format!("{node}\npod x on=a {}\nwant w prio=9 {}", disk("vol-1"), disk("vol-2"));
        check(22, &text, "a: evict default/x");
        check(23, &text, "fits a");
    }

    #[test]
    fn a_machine_of_the_nitro_kind_holds_fewer_disks() {
        assert!(is_nitro("m5.large") && is_nitro("at3") && is_nitro("z1d.metal"));
        assert!(!is_nitro("m4.large") && !is_nitro("am5"));
    }

    #[test]
    fn a_claim_counts_for_the_provisioner_of_its_class() {
        let text = format!(
            "node a attachable-volumes-aws-ebs=1\nclass ebs provisioner=kubernetes.io/aws-ebs\nclaim data class=ebs\n\
             pod x on=a {}\nwant w prio=9 claim=data",
            disk("vol-1"),
        );
        check(22, &text, "a: evict default/x");
    }
}
