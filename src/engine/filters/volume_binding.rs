//! Rejects a node that the volumes of the pod's claims cannot reach: bound ones by their node affinity, unbound ones for
//! want of a volume or of storage to make one. Upstream: `plugins/volumebinding`.
//!
//! Preemption never helps: nothing here depends on the pods of a node.

use crate::engine::claims::{self, PodClaim};
use crate::engine::framework::{
    Code, Fault, FilterPlugin, GapEffect, GapSet, Gaps, Minds, NarrowedNode, PodCycle, PodFilter, PreFilter, Rejection,
    Verdict,
};
use crate::engine::migration::{self, InTreePlugin};
use crate::engine::node_view::NodeView;
use crate::engine::volume_match::{self, DelayedClaims, Offer};
use crate::kube::behavior::{
    ClaimProblems, EphemeralClaims, LocalVolumes, LostClaims, MissingBoundVolume, VolumesBehavior,
};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::Symbol;
use crate::model::selector::{NodeSelector, NodeSelectorTerm, Operator};
use crate::model::volume::{BindingMode, Claim, StorageClass, Volume, VolumeSource};

const PLUGIN: Plugin = Plugin::VolumeBinding;

/// The plugin.
pub(crate) struct VolumeBinding;

impl FilterPlugin for VolumeBinding {
    fn plugin(&self) -> Plugin {
        PLUGIN
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let (cluster, behavior) = (cycle.cluster(), &cycle.snapshot.behavior.volumes);
        let all = claims::of_pod(cluster, cycle.incoming());
        let pod_claims: Vec<PodClaim<'a>> = all.filter(|one| claims::is_bound_with_pod(behavior, one)).collect();
        if pod_claims.is_empty() {
            return PreFilter::Skip;
        }
        let missing = pod_claims.iter().filter(|one| one.claim.is_none());
        let mut blind = missing
            .fold(GapSet::NONE, |blind, one| blind.with(claims::note_missing_claim(gaps, cluster, PLUGIN, one.name)));
        let on_nodes = match behavior.claim_problems {
            ClaimProblems::ErrorOnNodes => true,
            ClaimProblems::ErrorFirst => false,
            ClaimProblems::Rejected => {
                if let Some(problem) = claim_problem(cycle, &pod_claims) {
                    return PreFilter::Reject(problem, Code::Unresolvable);
                }
                false
            }
        };
        match sort(cycle, &pod_claims, gaps, &mut blind) {
            Ok(sorted) if sorted.immediate && on_nodes => broken(Fault::UnboundImmediateClaims, blind),
            Ok(sorted) if sorted.immediate => PreFilter::Reject(Rejection::UnboundImmediateClaims, Code::Unresolvable),
            Ok(sorted) => {
                let nodes = narrowed(cluster, behavior, &sorted.bound);
                PreFilter::Run { filter: Box::new(Filter::new(cluster, behavior, &sorted, gaps)), nodes }
            }
            Err(fault) if on_nodes => broken(fault, blind),
            Err(fault) => PreFilter::Fault(fault),
        }
    }
}

fn broken<'a>(fault: Fault, blind: GapSet) -> PreFilter<'a> {
    PreFilter::Run { filter: Box::new(Broken { fault, blind }), nodes: None }
}

/// The first claim that rejects the pod as it is. Upstream: `podHasPVCs`.
fn claim_problem(cycle: &PodCycle<'_>, pod_claims: &[PodClaim<'_>]) -> Option<Rejection> {
    let behavior = &cycle.snapshot.behavior.volumes;
    pod_claims.iter().find_map(|one| {
        let claim = one.name;
        let Some(object) = one.claim else {
            return Some(match behavior.ephemeral_claims {
                EphemeralClaims::BoundOrAwaited if one.ephemeral => Rejection::EphemeralClaimMissing { claim },
                EphemeralClaims::BoundOrAwaited | EphemeralClaims::Bound | EphemeralClaims::NotBound => {
                    Rejection::ClaimMissing { plugin: PLUGIN, claim }
                }
            });
        };
        match behavior.lost_claims {
            LostClaims::RejectsPod if object.lost => {
                return Some(Rejection::ClaimLost { claim, volume: object.volume_name });
            }
            LostClaims::RejectsPod | LostClaims::AsBound => {}
        }
        if object.deleted.is_some() {
            return Some(Rejection::ClaimDeleted { claim });
        }
        one.is_foreign(cycle.incoming()).then_some(Rejection::ClaimNotOwned { claim })
    })
}

/// The claims of a pod, by what becomes of them.
#[derive(Default)]
struct Sorted<'a> {
    /// Bound for good.
    bound: Vec<&'a Claim>,
    /// Bound once the pod is placed.
    delayed: Vec<(&'a Claim, &'a StorageClass)>,
    /// Some claim ought to be bound already.
    immediate: bool,
}

/// Upstream: `GetPodVolumeClaims`.
fn sort<'a>(
    cycle: &PodCycle<'a>,
    pod_claims: &[PodClaim<'a>],
    gaps: &mut Gaps,
    blind: &mut GapSet,
) -> Result<Sorted<'a>, Fault> {
    let cluster = cycle.cluster();
    let mut sorted = Sorted::default();
    for one in pod_claims {
        let claim = one.claim.ok_or(Fault::ClaimMissing { plugin: PLUGIN, claim: one.name })?;
        if one.is_foreign(cycle.incoming()) {
            return Err(Fault::ClaimNotOwned { plugin: PLUGIN, claim: one.name, pod: cycle.pod });
        }
        if claim.volume_name.is_some() && claim.bind_completed {
            sorted.bound.push(claim);
            continue;
        }
        let name = claims::class_name(cluster, claim);
        let class = name.and_then(|name| cluster.storage.class(name));
        if name.is_some() && class.is_none() && claim.volume_name.is_none() {
            let gap = claims::note_missing(gaps, cluster, PLUGIN, Kind::StorageClass, name, GapEffect::MayDiffer);
            *blind = blind.with(gap);
        }
        match class.map(|class| (class, class.binding_mode)) {
            Some((class, None)) => return Err(Fault::Class { plugin: PLUGIN, class: Some(class.name) }),
            // A claim that names a volume before it is bound is taken for one that binds at once.
            Some((class, Some(BindingMode::WaitForFirstConsumer))) if claim.volume_name.is_none() => {
                sorted.delayed.push((claim, class));
            }
            Some((_, Some(BindingMode::WaitForFirstConsumer | BindingMode::Immediate | BindingMode::Other))) | None => {
                sorted.immediate = true;
            }
        }
    }
    Ok(sorted)
}

/// The hostnames that bound local volumes ask for, taken for node names. Upstream: `GetEligibleNodes`.
fn narrowed(cluster: &Cluster, behavior: &VolumesBehavior, bound: &[&Claim]) -> Option<Vec<NarrowedNode>> {
    match behavior.local_volumes {
        LocalVolumes::MatchedByAffinity => return None,
        LocalVolumes::NarrowNodes => {}
    }
    let hostname = cluster.symbols.get("kubernetes.io/hostname")?;
    let mut common: Option<Vec<Symbol>> = None;
    for claim in bound {
        let volume = claim.volume_name.and_then(|name| cluster.storage.volume(name))?;
        let names = hostnames(volume, hostname);
        if !names.is_empty() {
            common = Some(match common {
                None => names,
                Some(before) => before.into_iter().filter(|name| names.contains(name)).collect(),
            });
        }
    }
    let mut nodes: Vec<NarrowedNode> =
        common?.into_iter().map(|name| NarrowedNode { name, node: cluster.node_of(name) }).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Some(nodes)
}

/// The hostnames of a volume's node affinity. Upstream: `GetLocalPersistentVolumeNodeNames`.
fn hostnames(volume: &Volume, hostname: Symbol) -> Vec<Symbol> {
    let of_term = |term: &NodeSelectorTerm| {
        let asked = term.expressions.iter().map(|one| &one.requirement);
        let mut lists = asked.filter(|one| one.key == hostname && one.operator == Operator::In).map(|one| &one.values);
        let first = lists.next().map_or(Vec::new(), |values| values.to_vec());
        lists.fold(first, |names, values| names.into_iter().filter(|name| values.contains(name)).collect())
    };
    volume.node_affinity.iter().flat_map(|affinity| &affinity.terms).flat_map(of_term).collect()
}

/// The filter of one pod.
#[derive(Clone)]
struct Filter<'a> {
    cluster: &'a Cluster,
    behavior: &'a VolumesBehavior,
    bound: Vec<BoundClaim<'a>>,
    delayed: DelayedClaims<'a>,
    gaps: BindingGaps,
}

/// A bound claim's volume.
#[derive(Clone)]
struct BoundClaim<'a> {
    name: Symbol,
    volume: Option<&'a Volume>,
    /// Where a node takes the volume for its CSI driver's.
    migrated: Option<Migrated>,
}

#[derive(Clone)]
struct Migrated {
    plugin: InTreePlugin,
    /// The required node affinity then; an error where upstream fails to translate the volume.
    affinity: Result<Option<NodeSelector>, Fault>,
}

/// What the dump may lack that the binding reads.
#[derive(Clone, Copy)]
struct BindingGaps {
    volumes: GapSet,
    csi_nodes: GapSet,
    drivers: GapSet,
    capacities: GapSet,
}

/// Reasons of [`Rejection::VolumeBinding`].
const AFFINITY: u8 = 1;
const NO_VOLUME: u8 = 1 << 1;
const NO_ROOM: u8 = 1 << 2;
const MISSING: u8 = 1 << 3;

impl<'a> Filter<'a> {
    fn new(cluster: &'a Cluster, behavior: &'a VolumesBehavior, claims: &Sorted<'a>, gaps: &mut Gaps) -> Self {
        let bound = claims.bound.iter().filter_map(|claim| claim.volume_name);
        let bound: Vec<_> = bound.map(|name| BoundClaim::new(cluster, behavior, name)).collect();
        let mut note = |kind, effect| claims::note_missing(gaps, cluster, PLUGIN, kind, None, effect);
        let mut note_if = |wanted: bool, kind| if wanted { note(kind, GapEffect::MayDiffer) } else { GapSet::NONE };
        let waits = !claims.delayed.is_empty();
        let gaps = BindingGaps {
            volumes: note_if(waits || bound.iter().any(|one| one.volume.is_none()), Kind::PersistentVolume),
            csi_nodes: note_if(bound.iter().any(|one| one.migrated.is_some()), Kind::CsiNode),
            capacities: note_if(waits, Kind::CsiStorageCapacity),
            drivers: if waits { note(Kind::CsiDriver, GapEffect::MayReject) } else { GapSet::NONE },
        };
        Filter { cluster, behavior, bound, delayed: DelayedClaims::new(cluster, behavior, &claims.delayed), gaps }
    }

    /// The reasons against a node, and what of the dump they rest on. Upstream: `FindPodVolumes`.
    fn judge(&self, view: &NodeView<'_>) -> Result<(u8, GapSet), Fault> {
        let (mut reasons, mut gaps) = self.bound_reasons(view)?;
        if self.delayed.is_empty() {
            return Ok((reasons, gaps));
        }
        match self.delayed.offer(self.cluster, self.behavior, view)? {
            Offer::Enough => {}
            Offer::EnoughIfUntracked => gaps = gaps.with(self.gaps.drivers),
            Offer::NoVolume => {
                reasons |= NO_VOLUME;
                gaps = gaps.with(self.gaps.volumes);
            }
            Offer::NoRoom => {
                reasons |= NO_ROOM;
                gaps = gaps.with(self.gaps.volumes).with(self.gaps.capacities);
            }
        }
        Ok((reasons, gaps))
    }

    /// The first bound claim that cannot reach the node ends the search. Upstream: `checkBoundClaims`.
    fn bound_reasons(&self, view: &NodeView<'_>) -> Result<(u8, GapSet), Fault> {
        let node = self.cluster.storage.csi_node(view.node().name);
        let mut gaps = GapSet::NONE;
        for claim in &self.bound {
            let Some(volume) = claim.volume else {
                return match self.behavior.missing_volume {
                    MissingBoundVolume::IsError => Err(Fault::VolumeMissing { plugin: PLUGIN, volume: claim.name }),
                    MissingBoundVolume::RejectsNodes => Ok((MISSING, gaps.with(self.gaps.volumes))),
                };
            };
            if claim.migrated.is_some() && node.is_none() {
                gaps = gaps.with(self.gaps.csi_nodes);
            }
            let affinity = match &claim.migrated {
                Some(it) if it.plugin.is_migrated_for_binding(self.behavior, self.cluster, node) => {
                    it.affinity.as_ref().map_err(|fault| *fault)?
                }
                Some(_) | None => &volume.node_affinity,
            };
            if !volume_match::admits(self.cluster, self.behavior, affinity.as_ref(), view.labels()) {
                return Ok((AFFINITY, gaps));
            }
        }
        Ok((0, gaps))
    }
}

impl<'a> BoundClaim<'a> {
    fn new(cluster: &'a Cluster, behavior: &VolumesBehavior, name: Symbol) -> Self {
        let volume = cluster.storage.volume(name);
        let migrated = volume.and_then(|volume| match &volume.source {
            VolumeSource::InTree(source) => {
                let plugin = InTreePlugin::of(source).filter(|plugin| plugin.may_be_migrated(behavior))?;
                let affinity = match migration::volume_handle(cluster, volume, source) {
                    Some(_) => Ok(migration::translated_affinity(cluster, volume, plugin)),
                    None => Err(Fault::UntranslatableVolume { plugin: PLUGIN, volume: volume.name }),
                };
                Some(Migrated { plugin, affinity })
            }
            VolumeSource::Csi { .. } | VolumeSource::Other => None,
        });
        BoundClaim { name, volume, migrated }
    }
}

impl PodFilter for Filter<'_> {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        match self.judge(view) {
            Ok((0, _)) => Verdict::Fits,
            Ok((mask, _)) => Verdict::Rejects(Rejection::VolumeBinding { mask }, Code::Unresolvable),
            Err(fault) => Verdict::Faults(fault),
        }
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        self.judge(view).map_or(self.gaps.volumes, |(_, gaps)| gaps)
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

/// Claims that fail on every node that gets as far as this plugin (1.18).
#[derive(Clone, Copy)]
struct Broken {
    fault: Fault,
    blind: GapSet,
}

impl PodFilter for Broken {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, _view: &NodeView<'_>) -> Verdict {
        Verdict::Faults(self.fault)
    }

    fn gaps_at(&self, _view: &NodeView<'_>) -> GapSet {
        self.blind
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{check, scene, scene_without};

    #[test]
    fn a_missing_claim_rejects_the_pod_or_is_an_error_until_1_19() {
        let text = "node a\nwant w claim=gone";
        let scene_34 = scene(34, text);
        let claim = scene_34.snapshot.cluster.symbols.get("gone").unwrap();
        let outcome = scene_34.outcome();
        let missing = Rejection::ClaimMissing { plugin: Plugin::VolumeRestrictions, claim };
        assert_eq!(outcome.pre_filter.map(|it| it.rejection), Some(missing));
        assert_eq!(outcome.gaps, []);
        for minor in [18, 19] {
            assert!(scene(minor, text).answer().starts_with("Error(ClaimMissing"));
        }
    }

    #[test]
    fn a_dump_without_claims_says_so() {
        let outcome = scene_without(22, "node a\nwant w claim=gone", &[Kind::PersistentVolumeClaim]).outcome();
        let [gap] = outcome.gaps[..] else { panic!("{:?}", outcome.gaps) };
        assert_eq!((gap.kind, gap.plugin, gap.effect), (Kind::PersistentVolumeClaim, PLUGIN, GapEffect::MayDiffer));
        assert!(gap.object.is_some());
    }

    #[test]
    fn a_claim_that_ought_to_be_bound_rejects_the_pod() {
        let text = "node a\nclass now immediate\nclaim data class=now\nwant w claim=data";
        for minor in [19, 37] {
            let rejection = scene(minor, text).outcome().pre_filter.map(|it| it.rejection);
            assert_eq!(rejection, Some(Rejection::UnboundImmediateClaims));
        }
        check(18, text, "Error(UnboundImmediateClaims)");
    }

    #[test]
    fn a_dump_without_classes_cannot_tell_when_a_claim_is_bound() {
        let text = "node a\nclaim data\nwant w claim=data";
        let outcome = scene_without(34, text, &[Kind::StorageClass]).outcome();
        assert_eq!(outcome.pre_filter.map(|it| it.rejection), Some(Rejection::UnboundImmediateClaims));
        assert_eq!(outcome.gaps.iter().map(|gap| gap.kind).collect::<Vec<_>>(), [Kind::StorageClass]);
    }

    #[test]
    fn a_bound_volume_holds_the_pod_to_its_nodes() {
        let text = "node a\nnode b\nclaim data volume=pv\nvolume pv on=b\nwant w claim=data";
        check(34, text, "fits b");
        let status = scene(34, text).status("a").unwrap();
        assert_eq!(status.verdict, Verdict::Rejects(Rejection::VolumeBinding { mask: AFFINITY }, Code::Unresolvable));
    }

    #[test]
    fn a_hostname_is_taken_for_a_nodes_name_from_1_27_to_1_31() {
        let text = "node n1 label:kubernetes.io/hostname=h1\nclaim data volume=pv\nvolume pv on=h1\nwant w claim=data";
        check(26, text, "fits n1");
        let release = |minor, patch| {
            let release = crate::kube::release::Release::new(minor, patch);
            VolumesBehavior::of(release, &crate::kube::gates::Gates::defaults(release)).local_volumes
        };
        let scene = scene(28, text);
        let PreFilter::Run { nodes: Some(nodes), .. } = VolumeBinding.pre_filter(&scene.cycle(), &mut Gaps::default())
        else {
            panic!()
        };
        assert_eq!(nodes.iter().map(|it| it.node).collect::<Vec<_>>(), [None]);
        for (minor, last) in [(29, 10), (30, 6), (31, 2)] {
            assert_eq!(release(minor, last), LocalVolumes::NarrowNodes);
            assert_eq!(release(minor, last + 1), LocalVolumes::MatchedByAffinity);
        }
    }

    #[test]
    fn a_claim_that_waits_takes_a_free_volume_or_a_new_one() {
        let text = "
            node a
            node b
            class fast
            class local provisioner=kubernetes.io/no-provisioner
            volume pv class=local on=b
            claim data class=local
            claim new
            want w claim=data";
        check(34, text, "fits b");
        check(34, &text.replace("w claim=data", "w claim=new"), "fits a, b");
        check(34, &text.replace("claim data class=local", "claim data class=local size=11Gi"), "no candidates");
        check(34, &text.replace("claim new", "claim new selected=b").replace("w claim=data", "w claim=new"), "fits b");
    }

    #[test]
    fn two_claims_take_two_volumes_the_smaller_first() {
        let text = "
            node a
            class local provisioner=kubernetes.io/no-provisioner
            volume large class=local size=20Gi on=a
            volume small class=local size=10Gi on=a
            claim much class=local size=15Gi
            claim little class=local size=5Gi
            want w claim=much claim=little";
        check(34, text, "fits a");
        check(34, &text.replace("size=10Gi on=a", "size=4Gi on=a"), "no candidates");
    }

    #[test]
    fn a_new_volume_must_fit_into_the_storage_that_its_driver_tracks() {
        let driver = r#"{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"csi.a"},"spec":{"storageCapacity":true}}"#;
        let pool = r#"{"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"c","namespace":"x"},"storageClassName":"fast","capacity":"100Gi","maximumVolumeSize":"10Gi","nodeTopology":{"matchLabels":{"kubernetes.io/hostname":"a"}}}"#;
        let text = format!("node a\nnode b\nclass fast\nclaim data\n{driver}\n{pool}\nwant w claim=data");
        check(21, &text, "fits a");
        check(20, &text, "fits a, b");
        check(34, &text.replace("claim data", "claim data size=11Gi"), "no candidates");
        let blind = scene_without(34, "node a\nclass fast\nclaim data\nwant w claim=data", &[Kind::CsiDriver]);
        assert_eq!(blind.outcome().gaps.iter().map(|gap| gap.kind).collect::<Vec<_>>(), [Kind::CsiDriver]);
    }

    #[test]
    fn the_zone_of_a_migrated_volume_is_asked_of_the_drivers_label() {
        let volume = r#"{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv","labels":{"topology.kubernetes.io/zone":"z1"}},"spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteOnce"],"awsElasticBlockStore":{"volumeID":"vol-1"}}}"#;
        let text = format!(
            "node a zone=z1 label:topology.ebs.csi.aws.com/zone=z1\nnode b zone=z1\nclaim data volume=pv\n{volume}\n\
             csinode a migrated=kubernetes.io/aws-ebs\ncsinode b migrated=kubernetes.io/aws-ebs\nwant w claim=data"
        );
        check(34, &text, "fits a");
        check(22, &text, "fits a, b");
        check(34, &text.replace("csinode b migrated=kubernetes.io/aws-ebs", ""), "fits a, b");
    }
}
