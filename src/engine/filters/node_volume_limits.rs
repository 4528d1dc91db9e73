//! Rejects a node that cannot attach as many volumes of a CSI driver as the pod would bring it to.
//! Upstream: `plugins/nodevolumelimits/csi.go`.
//!
//! Volumes are counted per driver, each once. Evicting a pod helps where it alone uses a volume, and since 1.32 only where
//! no VolumeAttachment says that the volume is attached: attachments stay as they are in a dry run.

use crate::engine::claims::{self, PodClaim};
use crate::engine::framework::{
    Code, Fault, FilterPlugin, GapEffect, GapSet, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::migration::{self, InTreePlugin};
use crate::engine::node_view::NodeView;
use crate::engine::snapshot::NodeInfo;
use crate::kube::behavior::{
    CsiLimits, DriverInstalled, EphemeralLimits, InlineVolumes, LimitsMissingClaim, VolumeAttachments, VolumesBehavior,
};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::{NamespaceId, PodId, Symbol};
use crate::model::pod::Pod;
use crate::model::volume::{Claim, CsiNode, PodVolume, PodVolumeSource, VolumeSource};
use std::borrow::Cow;

const PLUGIN: Plugin = Plugin::NodeVolumeLimits;
const LIMIT_PREFIX: &str = "attachable-volumes-";
const CSI_LIMIT_PREFIX: &str = "attachable-volumes-csi-";

/// The plugin.
pub(crate) struct NodeVolumeLimits;

impl FilterPlugin for NodeVolumeLimits {
    fn plugin(&self) -> Plugin {
        PLUGIN
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let cluster = cycle.cluster();
        let behavior = &cycle.snapshot.behavior.volumes;
        if !cycle.incoming().spec.volumes.iter().any(|volume| may_count(behavior, &volume.source)) {
            return PreFilter::Skip;
        }
        let gaps = LimitGaps::note(cluster, behavior, gaps);
        PreFilter::Run { filter: Box::new(Filter { cluster, behavior, pod: cycle.pod, gaps }), nodes: None }
    }
}

/// Whether a volume of the pod can count at all.
fn may_count(behavior: &VolumesBehavior, source: &PodVolumeSource) -> bool {
    match source {
        PodVolumeSource::Claim(_) => true,
        PodVolumeSource::Ephemeral(_) => match behavior.ephemeral_limits {
            EphemeralLimits::Counted => true,
            EphemeralLimits::Uncounted => false,
        },
        PodVolumeSource::GcePersistentDisk { .. }
        | PodVolumeSource::AwsElasticBlockStore { .. }
        | PodVolumeSource::AzureDisk { .. }
        | PodVolumeSource::Cinder { .. }
        | PodVolumeSource::Portworx { .. } => match behavior.inline_volumes {
            InlineVolumes::OnlyClaims => false,
            InlineVolumes::CountedOrCrash | InlineVolumes::CountedToo => true,
        },
        PodVolumeSource::AzureFile { .. }
        | PodVolumeSource::Vsphere { .. }
        | PodVolumeSource::Iscsi { .. }
        | PodVolumeSource::Rbd { .. } => false,
    }
}

/// The filter of one pod.
#[derive(Clone)]
struct Filter<'a> {
    cluster: &'a Cluster,
    behavior: &'a VolumesBehavior,
    pod: PodId,
    gaps: LimitGaps,
}

/// What the dump may lack that the limits read.
#[derive(Clone, Copy)]
struct LimitGaps {
    claims: GapSet,
    volumes: GapSet,
    classes: GapSet,
    csi_nodes: GapSet,
    drivers: GapSet,
    /// Attachments that may take places.
    attachments: GapSet,
    /// Attachments that may outlive a victim.
    attachments_stay: GapSet,
}

impl LimitGaps {
    fn note(cluster: &Cluster, behavior: &VolumesBehavior, gaps: &mut Gaps) -> Self {
        let mut note = |kind, effect| claims::note_missing(gaps, cluster, PLUGIN, kind, None, effect);
        let (attachments, attachments_stay) = match behavior.volume_attachments {
            VolumeAttachments::NotLookedAt => (GapSet::NONE, GapSet::NONE),
            VolumeAttachments::CountedAsWell => (
                note(Kind::VolumeAttachment, GapEffect::MayReject),
                note(Kind::VolumeAttachment, GapEffect::MayFreeLess),
            ),
        };
        LimitGaps {
            claims: note(Kind::PersistentVolumeClaim, GapEffect::MayDiffer),
            volumes: note(Kind::PersistentVolume, GapEffect::MayDiffer),
            classes: note(Kind::StorageClass, GapEffect::MayDiffer),
            csi_nodes: note(Kind::CsiNode, GapEffect::MayReject),
            drivers: match behavior.driver_installed {
                DriverInstalled::NotRequired => GapSet::NONE,
                DriverInstalled::RequiredOfAll | DriverInstalled::RequiredOnDemand => {
                    note(Kind::CsiDriver, GapEffect::MayReject)
                }
            },
            attachments,
            attachments_stay,
        }
    }
}

/// A volume that is attached to a node, or would be.
#[derive(Clone, PartialEq, Eq)]
struct Attachable<'a> {
    driver: &'a str,
    handle: Handle<'a>,
}

/// What tells a volume of a driver from its others.
#[derive(Clone, PartialEq, Eq)]
enum Handle<'a> {
    /// `volumeHandle`.
    Known(Cow<'a, str>),
    /// The volume that a claim is going to have.
    Pending(NamespaceId, Symbol),
}

/// Why volumes cannot be counted.
enum Trouble {
    Rejects(Rejection),
    Faults(Fault),
}

impl PodFilter for Filter<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        let node = self.cluster.storage.csi_node(view.node().name);
        match self.judge(view, node) {
            Ok(()) => Verdict::Fits,
            Err(Trouble::Rejects(rejection @ Rejection::LimitsClaimMissing { .. })) => {
                Verdict::Rejects(rejection, Code::Unresolvable)
            }
            Err(Trouble::Rejects(rejection)) => Verdict::Rejects(rejection, Code::Unschedulable),
            Err(Trouble::Faults(fault)) => Verdict::Faults(fault),
        }
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        let node = self.cluster.storage.csi_node(view.node().name);
        let verdict = self.judge(view, node);
        let new = self.of_incoming(node).unwrap_or_default();
        let mut gaps = GapSet::NONE;
        if node.is_none() {
            gaps = gaps.with(self.gaps.csi_nodes);
        }
        let has_object = |driver: &str| {
            let driver = self.cluster.symbols.get(driver);
            driver.is_some_and(|it| self.cluster.storage.csi_driver(it).is_some())
        };
        if verdict.is_ok() && !new.iter().all(|volume| has_object(volume.driver)) {
            gaps = gaps.with(self.gaps.drivers);
        }
        let limited = new.iter().any(|volume| self.limit(view.info, node, volume.driver).is_some());
        if verdict.is_ok() && limited {
            let frees = view.pod_count() < view.info.pods.len();
            gaps = gaps.with(if frees { self.gaps.attachments_stay } else { self.gaps.attachments });
        }
        let others = view.pods().filter(|_| limited);
        std::iter::once(self.pod)
            .chain(others)
            .fold(gaps, |gaps, pod| gaps.with(self.unresolved(self.cluster.pod(pod))))
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

impl<'a> Filter<'a> {
    /// The gaps behind claims of a pod that lead to no driver.
    fn unresolved(&self, pod: &Pod) -> GapSet {
        let claims = pod.spec.volumes.iter().filter_map(|volume| self.claim_of(pod, &volume.source));
        let gap = |one: PodClaim<'_>| {
            let Some(claim) = one.claim else {
                return self.gaps.claims;
            };
            if claim.volume_name.is_some_and(|name| self.cluster.storage.volume(name).is_some()) {
                return GapSet::NONE;
            }
            let volumes = if claim.volume_name.is_some() { self.gaps.volumes } else { GapSet::NONE };
            let class = claims::class_name(self.cluster, claim);
            let known = class.is_none_or(|class| self.cluster.storage.class(class).is_some());
            if known { volumes } else { volumes.with(self.gaps.classes) }
        };
        claims.fold(GapSet::NONE, |gaps, one| gaps.with(gap(one)))
    }

    fn judge(&self, view: &NodeView<'_>, node: Option<&CsiNode>) -> Result<(), Trouble> {
        let mut new = self.of_incoming(node)?;
        if new.is_empty() {
            return Ok(());
        }
        self.require_drivers(&new, node)?;
        if !self.has_limits(view.info, node) {
            return Ok(());
        }
        let mut attached = Vec::new();
        for id in view.pods() {
            self.add_existing(id, node, &mut attached)?;
        }
        new.retain(|volume| !attached.contains(volume));
        match self.behavior.volume_attachments {
            VolumeAttachments::NotLookedAt => {}
            VolumeAttachments::CountedAsWell => self.add_attachments(view, &mut attached),
        }
        let count = |volumes: &[Attachable<'_>], driver: &str| volumes.iter().filter(|it| it.driver == driver).count();
        let exceeds = |driver: &str| {
            let total = i64::try_from(count(&attached, driver) + count(&new, driver)).unwrap_or(i64::MAX);
            self.limit(view.info, node, driver).is_some_and(|limit| total > limit)
        };
        if new.iter().any(|volume| exceeds(volume.driver)) {
            return Err(Trouble::Rejects(Rejection::MaxVolumeCount { plugin: PLUGIN }));
        }
        Ok(())
    }

    /// The pod's own volumes; a claim that is missing is trouble.
    fn of_incoming(&self, node: Option<&CsiNode>) -> Result<Vec<Attachable<'a>>, Trouble> {
        let mut volumes = Vec::new();
        let pod = self.cluster.pod(self.pod);
        for volume in &pod.spec.volumes {
            if let Some(one) = self.claim_of(pod, &volume.source)
                && one.claim.is_none()
            {
                match self.behavior.limits_missing_claim {
                    LimitsMissingClaim::NotCounted => {}
                    LimitsMissingClaim::Error => {
                        return Err(Trouble::Faults(Fault::ClaimMissing { plugin: PLUGIN, claim: one.name }));
                    }
                    LimitsMissingClaim::Rejects => {
                        let rejection = Rejection::LimitsClaimMissing { plugin: PLUGIN, claim: one.name };
                        return Err(Trouble::Rejects(rejection));
                    }
                }
            }
            self.add(self.pod, volume, node, &mut volumes)?;
        }
        Ok(volumes)
    }

    fn add_existing(
        &self,
        pod: PodId,
        node: Option<&CsiNode>,
        volumes: &mut Vec<Attachable<'a>>,
    ) -> Result<(), Trouble> {
        let mut own = self.cluster.pod(pod).spec.volumes.iter();
        own.try_for_each(|volume| self.add(pod, volume, node, volumes))
    }

    /// Adds a volume of a pod, if it counts and is not there yet.
    fn add(
        &self,
        pod: PodId,
        volume: &PodVolume,
        node: Option<&CsiNode>,
        volumes: &mut Vec<Attachable<'a>>,
    ) -> Result<(), Trouble> {
        let owner = self.cluster.pod(pod);
        let found = match self.claim_of(owner, &volume.source) {
            Some(one) if one.is_foreign(owner) => {
                return Err(Trouble::Faults(Fault::ClaimNotOwned { plugin: PLUGIN, claim: one.name, pod }));
            }
            Some(one) => one.claim.and_then(|claim| self.of_claim(claim, node)),
            None => self.inline(volume, node)?,
        };
        if let Some(found) = found
            && !volumes.contains(&found)
        {
            volumes.push(found);
        }
        Ok(())
    }

    fn claim_of(&self, pod: &Pod, source: &PodVolumeSource) -> Option<PodClaim<'a>> {
        let one = claims::of_volume(self.cluster, pod, source)?;
        match self.behavior.ephemeral_limits {
            EphemeralLimits::Counted => Some(one),
            EphemeralLimits::Uncounted => (!one.ephemeral).then_some(one),
        }
    }

    /// A migrated volume that the pod names without a claim.
    fn inline(&self, volume: &PodVolume, node: Option<&CsiNode>) -> Result<Option<Attachable<'a>>, Trouble> {
        let Some(plugin) = InTreePlugin::of(&volume.source) else {
            return Ok(None);
        };
        match self.behavior.inline_volumes {
            InlineVolumes::OnlyClaims => return Ok(None),
            InlineVolumes::CountedOrCrash if node.is_none() => return Err(Trouble::Faults(Fault::Panics)),
            InlineVolumes::CountedOrCrash | InlineVolumes::CountedToo => {}
        }
        if !plugin.is_migrated_for_limits(self.behavior, self.cluster, node) {
            return Ok(None);
        }
        match migration::inline_handle(self.cluster, &volume.source) {
            Some(handle) => Ok(Some(Attachable { driver: plugin.driver(), handle: Handle::Known(handle) })),
            None => Err(Trouble::Faults(Fault::UntranslatableVolume { plugin: PLUGIN, volume: volume.name })),
        }
    }

    /// The volume of a claim, or the one that its class is going to make. Upstream: `getCSIDriverInfo`.
    fn of_claim(&self, claim: &Claim, node: Option<&CsiNode>) -> Option<Attachable<'a>> {
        let Some(volume) = claim.volume_name.and_then(|name| self.cluster.storage.volume(name)) else {
            return self.of_class(claim, node);
        };
        match &volume.source {
            VolumeSource::Csi { driver, handle } => {
                let handle = Handle::Known(Cow::Borrowed(self.cluster.text(*handle)));
                Some(Attachable { driver: self.cluster.text(*driver), handle })
            }
            VolumeSource::InTree(source) => {
                let plugin = InTreePlugin::of(source)?;
                if !plugin.is_migrated_for_limits(self.behavior, self.cluster, node) {
                    return None;
                }
                let handle = migration::volume_handle(self.cluster, volume, source)?;
                Some(Attachable { driver: plugin.driver(), handle: Handle::Known(handle) })
            }
            VolumeSource::Other => None,
        }
    }

    fn of_class(&self, claim: &Claim, node: Option<&CsiNode>) -> Option<Attachable<'a>> {
        let class = self.cluster.storage.class(claims::class_name(self.cluster, claim)?)?;
        let provisioner = self.cluster.text(class.provisioner);
        let driver = match InTreePlugin::by_name(provisioner) {
            Some(plugin) if plugin.is_migrated_for_limits(self.behavior, self.cluster, node) => plugin.driver(),
            Some(_) => return None,
            None => provisioner,
        };
        (!driver.is_empty()).then_some(Attachable { driver, handle: Handle::Pending(claim.namespace, claim.name) })
    }

    /// Whether the drivers are installed on the node, where that is asked for. Of several that are not, upstream names
    /// any; this names the first.
    fn require_drivers(&self, new: &[Attachable<'a>], node: Option<&CsiNode>) -> Result<(), Trouble> {
        let is_required = |driver: Symbol| match self.behavior.driver_installed {
            DriverInstalled::NotRequired => false,
            DriverInstalled::RequiredOfAll => self.cluster.storage.csi_driver(driver).is_some(),
            DriverInstalled::RequiredOnDemand => {
                let object = self.cluster.storage.csi_driver(driver);
                object.is_some_and(|it| it.prevent_pod_scheduling_if_missing)
            }
        };
        let is_installed =
            |driver: Symbol| node.is_some_and(|node| node.drivers.iter().any(|(name, _)| *name == driver));
        let mut drivers = new.iter().filter_map(|volume| self.cluster.symbols.get(volume.driver));
        match drivers.find(|&driver| is_required(driver) && !is_installed(driver)) {
            Some(driver) => Err(Trouble::Rejects(Rejection::DriverNotInstalled { driver })),
            None => Ok(()),
        }
    }

    /// Whether the node has any limit; without one, the pods on it are not looked at.
    fn has_limits(&self, info: &NodeInfo, node: Option<&CsiNode>) -> bool {
        let limited = node.is_some_and(|node| node.drivers.iter().any(|(_, count)| count.is_some()));
        limited
            || match self.behavior.csi_limits {
                CsiLimits::CsiNode => false,
                CsiLimits::CsiNodeAndNode => {
                    let mut scalars = info.allocatable.scalars.iter();
                    scalars.any(|(id, _)| self.cluster.resource_name(*id).starts_with(LIMIT_PREFIX))
                }
            }
    }

    /// How many volumes of a driver the node can attach.
    fn limit(&self, info: &NodeInfo, node: Option<&CsiNode>, driver: &str) -> Option<i64> {
        // Of a driver listed twice the last count stands, as in upstream's map.
        let counts = node.into_iter().flat_map(|node| node.drivers.iter().rev());
        let mut counts = counts.filter(|(name, _)| self.cluster.text(*name) == driver).filter_map(|(_, count)| *count);
        counts.next().or_else(|| match self.behavior.csi_limits {
            CsiLimits::CsiNode => None,
            CsiLimits::CsiNodeAndNode => {
                let mut scalars = info.allocatable.scalars.iter();
                let found = scalars.find(|(id, _)| is_limit_of(self.cluster.resource_name(*id), driver));
                found.map(|(_, limit)| *limit)
            }
        })
    }

    /// Adds what is attached to the node though no pod on it uses it.
    fn add_attachments(&self, view: &NodeView<'_>, attached: &mut Vec<Attachable<'a>>) {
        for attachment in self.cluster.storage.attachments_of_node(view.node().name) {
            let volume = attachment.volume_name.and_then(|name| self.cluster.storage.volume(name));
            let driver = self.cluster.text(attachment.attacher);
            if let Some(VolumeSource::Csi { handle, .. }) = volume.map(|it| &it.source)
                && !driver.is_empty()
            {
                let handle = Handle::Known(Cow::Borrowed(self.cluster.text(*handle)));
                let found = Attachable { driver, handle };
                if !attached.contains(&found) {
                    attached.push(found);
                }
            }
        }
    }
}

/// Whether a resource of a node is the limit of a driver. Upstream shortens names beyond the length of a resource's to 23
/// letters and a hash; the letters have to do here. Upstream: `volume/util/attach_limit.go` GetCSIAttachLimitKey.
fn is_limit_of(resource: &str, driver: &str) -> bool {
    const LONGEST: usize = 63;
    const KEPT: usize = 23;
    const HASH: usize = 16;
    let Some(name) = resource.strip_prefix(CSI_LIMIT_PREFIX) else {
        return false;
    };
    if CSI_LIMIT_PREFIX.len() + driver.len() < LONGEST {
        return name == driver;
    }
    name.len() == KEPT + HASH && driver.get(..KEPT).is_some_and(|kept| name.starts_with(kept))
}

#[cfg(test)]
mod tests {
    use crate::engine::framework::{Gap, GapEffect, Rejection, Verdict};
    use crate::kube::plugin::Plugin;
    use crate::model::cluster::Kind;
    use crate::testkit::{Scene, check, scene, scene_without};

    const FULL: &str = "
        node a
        csinode a driver=csi.a:1
        claim held volume=pv-1
        claim data volume=pv-2
        volume pv-1
        volume pv-2
        pod x on=a claim=held
        want w prio=9 claim=data";

    #[test]
    fn a_victims_place_is_free_unless_its_volume_stays_attached() {
        check(37, FULL, "a: evict default/x");
        let attached = format!("{FULL}\nattachment va on=a volume=pv-1");
        check(31, &attached, "a: evict default/x");
        check(32, &attached, "no candidates");
    }

    #[test]
    fn a_volume_that_is_there_already_takes_no_place() {
        let same = FULL.replace("claim=data", "claim=held");
        check(37, &same, "fits a");
    }

    #[test]
    fn a_volume_that_only_its_attachment_names_is_counted_twice() {
        let text = "
            node a
            csinode a driver=csi.a:1
            claim data volume=pv-1
            volume pv-1
            attachment va on=a volume=pv-1
            want w prio=9 claim=data";
        check(31, text, "fits a");
        check(32, text, "no candidates");
    }

    #[test]
    fn claims_without_a_volume_count_for_their_class() {
        let text = "
            node a
            csinode a driver=csi.a:1
            class fast
            claim one
            claim two
            pod x on=a claim=one
            want w prio=9 claim=two";
        check(37, text, "a: evict default/x");
    }

    #[test]
    fn limits_of_the_node_itself_count_until_1_31() {
        let silent = FULL.replace("csinode a driver=csi.a:1", "");
        let text = silent.replace("node a", "node a attachable-volumes-csi-csi.a=1");
        check(31, &text, "a: evict default/x");
        check(32, &text, "fits a");
    }

    #[test]
    fn a_driver_that_asks_for_it_must_be_installed_since_1_37() {
        let driver = r#"{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"csi.a"},"spec":{"preventPodSchedulingIfMissing":true}}"#;
        let text = format!("node a\nclaim data volume=pv\nvolume pv\n{driver}\npod x on=a\nwant w prio=9 claim=data");
        check(36, &text, "fits a");
        check(37, &text, "no candidates");
        let rejection = scene(37, &text).status("a").unwrap().verdict;
        assert!(matches!(rejection, Verdict::Rejects(Rejection::DriverNotInstalled { .. }, _)));
        check(37, &format!("{text}\ncsinode a driver=csi.a:5"), "fits a");
    }

    #[test]
    fn a_migrated_disk_counts_for_its_driver_where_the_node_says_so() {
        let disk = |id: &str| format!(r#"spec.volumes:[{{"awsElasticBlockStore":{{"volumeID":"{id}"}}}}]"#);
        let text = format!(
            "node a\ncsinode a driver=ebs.csi.aws.com:1 migrated=kubernetes.io/aws-ebs\npod x on=a {}\nwant w prio=9 {}",
            disk("vol-1"),
            disk("aws://zone/vol-2"),
        );
        check(25, &text, "a: evict default/x");
        check(24, &text, "fits a");
        let silent = text.replace(" migrated=kubernetes.io/aws-ebs", "");
        check(26, &silent, "fits a");
        check(27, &silent, "a: evict default/x");
    }

    fn gaps(scene: &Scene) -> Vec<(Kind, GapEffect)> {
        let of_limits = |gap: &Gap| gap.plugin == Plugin::NodeVolumeLimits;
        scene.outcome().gaps.iter().filter(|gap| of_limits(gap)).map(|gap| (gap.kind, gap.effect)).collect()
    }

    #[test]
    fn a_dump_without_attachments_may_promise_too_much() {
        let lacking = scene_without(32, FULL, &[Kind::VolumeAttachment]);
        assert_eq!(lacking.answer(), "a: evict default/x");
        assert_eq!(gaps(&lacking), [(Kind::VolumeAttachment, GapEffect::MayFreeLess)]);
        assert_eq!(gaps(&scene_without(31, FULL, &[Kind::VolumeAttachment])), []);
        let unlimited = FULL.replace("driver=csi.a:1", "driver=csi.b:1");
        assert_eq!(gaps(&scene_without(32, &unlimited, &[Kind::VolumeAttachment])), []);
    }

    #[test]
    fn a_dump_without_csi_nodes_knows_no_limits() {
        let text = FULL.replace("csinode a driver=csi.a:1", "");
        assert_eq!(gaps(&scene_without(34, &text, &[Kind::CsiNode])), [(Kind::CsiNode, GapEffect::MayReject)]);
        assert_eq!(gaps(&scene(34, &text)), []);
        let claimless = text.replace("claim=data", "");
        assert_eq!(gaps(&scene_without(34, &claimless, &[Kind::CsiNode])), []);
    }
}
