//! Rejects a node where a disk that the pod names without a claim is in use, and every node while one of the pod's
//! ReadWriteOncePod claims is. Upstream: `plugins/volumerestrictions`.
//!
//! Evicting whoever holds the disk or the claim helps. The claim's holder is only looked for by name when a pod comes or
//! goes, so that a pod of another namespace with a claim of the same name counts as well, and a pod that names the claim
//! in two volumes counts twice: both as upstream has it.

use crate::engine::claims;
use crate::engine::framework::{Code, FilterPlugin, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict};
use crate::engine::node_view::NodeView;
use crate::engine::snapshot::Snapshot;
use crate::kube::behavior::{ReadWriteOncePod, UnusedClaims};
use crate::kube::plugin::Plugin;
use crate::model::cluster::Cluster;
use crate::model::id::{NamespaceId, PodId, Symbol};
use crate::model::pod::Pod;
use crate::model::volume::PodVolumeSource;

/// The plugin.
pub(crate) struct VolumeRestrictions;

impl FilterPlugin for VolumeRestrictions {
    fn plugin(&self) -> Plugin {
        Plugin::VolumeRestrictions
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let (cluster, pod) = (cycle.cluster(), cycle.incoming());
        let behavior = &cycle.snapshot.behavior.volumes;
        let claims = match behavior.read_write_once_pod {
            ReadWriteOncePod::Ignored => Ok(Vec::new()),
            ReadWriteOncePod::PreFilterAfterLookups | ReadWriteOncePod::PreFilter | ReadWriteOncePod::Filter => {
                exclusive_claims(cycle, gaps)
            }
        };
        let claims = match claims {
            Ok(claims) => claims,
            Err(rejection) => return PreFilter::Reject(rejection, Code::Unresolvable),
        };
        let used = claims.iter().filter(|&&claim| is_used(cycle.snapshot, pod.namespace, claim)).count();
        let watch = match behavior.read_write_once_pod {
            ReadWriteOncePod::Ignored => false,
            ReadWriteOncePod::PreFilterAfterLookups | ReadWriteOncePod::PreFilter => {
                if used > 0 {
                    return PreFilter::Reject(Rejection::ReadWriteOncePodConflict, Code::Unresolvable);
                }
                false
            }
            ReadWriteOncePod::Filter => !claims.is_empty(),
        };
        let has_disk = pod.spec.volumes.iter().any(|volume| is_disk(&volume.source));
        let skips = match behavior.unused_claims {
            UnusedClaims::Watched => !watch,
            UnusedClaims::Skipped => used == 0,
        };
        if !has_disk && skips {
            return PreFilter::Skip;
        }
        let claims = if watch { claims } else { Vec::new() };
        let in_use = if watch { i64::try_from(used).unwrap_or(i64::MAX) } else { 0 };
        PreFilter::Run { filter: Box::new(Filter { cluster, pod, claims, in_use }), nodes: None }
    }
}

/// The pod's ReadWriteOncePod claims, each once; the first claim that is missing, or, in the releases that stop there,
/// in use, rejects the pod.
fn exclusive_claims(cycle: &PodCycle<'_>, gaps: &mut Gaps) -> Result<Vec<Symbol>, Rejection> {
    let (cluster, pod) = (cycle.cluster(), cycle.incoming());
    let mut exclusive = Vec::new();
    for one in claims::of_pod(cluster, pod).filter(|one| !one.ephemeral) {
        let Some(claim) = one.claim else {
            claims::note_missing_claim(gaps, cluster, Plugin::VolumeRestrictions, one.name);
            return Err(Rejection::ClaimMissing { plugin: Plugin::VolumeRestrictions, claim: one.name });
        };
        if !claim.access_modes.read_write_once_pod || exclusive.contains(&one.name) {
            continue;
        }
        match cycle.snapshot.behavior.volumes.read_write_once_pod {
            ReadWriteOncePod::PreFilter if is_used(cycle.snapshot, pod.namespace, one.name) => {
                return Err(Rejection::ReadWriteOncePodConflict);
            }
            ReadWriteOncePod::PreFilter
            | ReadWriteOncePod::Ignored
            | ReadWriteOncePod::PreFilterAfterLookups
            | ReadWriteOncePod::Filter => exclusive.push(one.name),
        }
    }
    Ok(exclusive)
}

/// Whether any pod on any node uses the claim.
fn is_used(snapshot: &Snapshot, namespace: NamespaceId, claim: Symbol) -> bool {
    let mut pods = snapshot.nodes.iter().flat_map(|node| &node.pods).map(|&id| snapshot.cluster.pod(id));
    pods.any(|pod| pod.namespace == namespace && uses_of(pod, claim) > 0)
}

/// How many volumes of a pod name a claim of this name.
fn uses_of(pod: &Pod, claim: Symbol) -> usize {
    pod.spec.volumes.iter().filter(|volume| volume.source == PodVolumeSource::Claim(claim)).count()
}

/// The filter of one pod.
#[derive(Clone)]
struct Filter<'a> {
    cluster: &'a Cluster,
    pod: &'a Pod,
    /// The pod's ReadWriteOncePod claims, by name.
    claims: Vec<Symbol>,
    /// How many of them are in use; below zero where upstream counts a pod twice.
    in_use: i64,
}

impl Filter<'_> {
    fn uses(&self, pod: PodId) -> i64 {
        let pod = self.cluster.pod(pod);
        let uses: usize = self.claims.iter().map(|&claim| uses_of(pod, claim)).sum();
        i64::try_from(uses).unwrap_or(i64::MAX)
    }
}

impl PodFilter for Filter<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        let disks = || self.pod.spec.volumes.iter().map(|volume| &volume.source).filter(|source| is_disk(source));
        let is_taken = |id: PodId| {
            let others = &self.cluster.pod(id).spec.volumes;
            disks().any(|disk| others.iter().any(|other| excludes(disk, &other.source)))
        };
        if disks().next().is_some() && view.pods().any(is_taken) {
            return Verdict::Rejects(Rejection::DiskConflict, Code::Unschedulable);
        }
        if self.in_use > 0 {
            return Verdict::Rejects(Rejection::ReadWriteOncePodConflict, Code::Unschedulable);
        }
        Verdict::Fits
    }

    fn has_hooks(&self) -> bool {
        !self.claims.is_empty()
    }

    fn add_pod(&mut self, pod: PodId, _view: &NodeView<'_>) {
        self.in_use = self.in_use.saturating_add(self.uses(pod));
    }

    fn remove_pod(&mut self, pod: PodId, _view: &NodeView<'_>) {
        self.in_use = self.in_use.saturating_sub(self.uses(pod));
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

/// Whether the volume is a disk that is compared with other pods' disks.
fn is_disk(source: &PodVolumeSource) -> bool {
    match source {
        PodVolumeSource::GcePersistentDisk { .. }
        | PodVolumeSource::AwsElasticBlockStore { .. }
        | PodVolumeSource::Iscsi { .. }
        | PodVolumeSource::Rbd { .. } => true,
        PodVolumeSource::Claim(_)
        | PodVolumeSource::Ephemeral(_)
        | PodVolumeSource::AzureDisk { .. }
        | PodVolumeSource::Cinder { .. }
        | PodVolumeSource::Portworx { .. }
        | PodVolumeSource::AzureFile { .. }
        | PodVolumeSource::Vsphere { .. } => false,
    }
}

/// Whether two pods cannot mount these disks on one node. Upstream: `isVolumeConflict`.
fn excludes(one: &PodVolumeSource, other: &PodVolumeSource) -> bool {
    match (one, other) {
        (
            PodVolumeSource::GcePersistentDisk { pd_name, read_only },
            PodVolumeSource::GcePersistentDisk { pd_name: other_name, read_only: other_reads },
        ) => pd_name == other_name && !(*read_only && *other_reads),
        (
            PodVolumeSource::AwsElasticBlockStore { volume_id },
            PodVolumeSource::AwsElasticBlockStore { volume_id: other_id },
        ) => volume_id == other_id,
        (
            PodVolumeSource::Iscsi { iqn, read_only },
            PodVolumeSource::Iscsi { iqn: other_iqn, read_only: other_reads },
        ) => iqn == other_iqn && !(*read_only && *other_reads),
        (
            PodVolumeSource::Rbd { monitors, pool, image, read_only },
            PodVolumeSource::Rbd { monitors: others, pool: other_pool, image: other_image, read_only: other_reads },
        ) => {
            let same_image = pool == other_pool && image == other_image;
            same_image && monitors.iter().any(|it| others.contains(it)) && !(*read_only && *other_reads)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    #[test]
    fn whoever_holds_an_exclusive_claim_is_evicted_since_1_27() {
        let text = "
            node a
            node b
            claim data volume=pv exclusive
            volume pv
            pod holder on=a claim=data
            want w prio=9 claim=data";
        check(27, text, "a: evict default/holder");
        check(37, text, "a: evict default/holder");
        check(26, text, "fits a, b");
    }

    #[test]
    fn a_claim_of_the_same_name_elsewhere_is_taken_for_the_pods_own() {
        let text = "
            node a
            node b
            claim data volume=pv exclusive
            volume pv
            pod holder on=a prio=20 claim=data
            pod other/stranger on=b claim=data
            want w prio=9 claim=data";
        check(34, text, "b: evict other/stranger");
    }

    #[test]
    fn a_holder_with_the_claim_in_two_volumes_frees_it_twice() {
        let text = "
            node a
            claim data volume=pv-1 exclusive
            claim more volume=pv-2 exclusive
            volume pv-1
            volume pv-2
            pod twice on=a claim=data claim=data
            pod once on=a prio=20 claim=more
            want w prio=9 claim=data claim=more";
        check(34, text, "a: evict default/twice");
    }

    #[test]
    fn a_nominated_pod_holds_an_exclusive_claim_in_1_27_alone() {
        let text = "
            node a
            claim data volume=pv exclusive
            volume pv
            want w prio=9 claim=data
            want first prio=10 nominated=a claim=data";
        check(27, text, "no candidates");
        check(28, text, "fits a");
    }

    #[test]
    fn disks_are_shared_by_readers_only() {
        let pd = |reads: bool| format!(r#"spec.volumes:[{{"gcePersistentDisk":{{"pdName":"d","readOnly":{reads}}}}}]"#);
        let text = |held, wanted| format!("node a\npod x on=a {}\nwant w prio=9 {}", pd(held), pd(wanted));
        check(34, &text(true, true), "fits a");
        check(34, &text(true, false), "a: evict default/x");
        check(34, &text(false, true), "a: evict default/x");
    }

    #[test]
    fn an_ebs_disk_is_never_shared() {
        let disk = r#"spec.volumes:[{"awsElasticBlockStore":{"volumeID":"vol-1","readOnly":true}}]"#;
        check(34, &format!("node a\npod x on=a {disk}\nwant w prio=9 {disk}"), "a: evict default/x");
    }

    #[test]
    fn rbd_images_conflict_where_a_monitor_is_shared() {
        let rbd = |monitor: &str| format!(r#"spec.volumes:[{{"rbd":{{"monitors":["m","{monitor}"],"image":"i"}}}}]"#);
        let text = |held: &str, wanted: &str| format!("node a\npod x on=a {held}\nwant w prio=9 {wanted}");
        check(34, &text(&rbd("x"), &rbd("y")), "a: evict default/x");
        let other = rbd("y").replace("\"m\",", "");
        check(34, &text(&rbd("x"), &other), "fits a");
    }
}
