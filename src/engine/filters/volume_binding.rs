//! Rejects a node that the volumes of the pod's claims cannot reach: bound ones by their node affinity, unbound ones for
//! want of a volume or of storage to make one. Upstream: `plugins/volumebinding`.
//!
//! Preemption never helps: nothing here depends on the pods of a node.

use crate::engine::claims::{self, PodClaim};
use crate::engine::framework::{
    Code, Fault, FilterPlugin, GapEffect, GapSet, Gaps, NarrowedNode, PodCycle, PodFilter, PreFilter, Rejection,
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
        let lost = match behavior.lost_claims {
            // A claim can only lose a volume that it had.
            LostClaims::RejectsPod if object.lost => object.volume_name,
            LostClaims::RejectsPod | LostClaims::AsBound => None,
        };
        if let Some(volume) = lost {
            return Some(Rejection::ClaimLost { claim, volume });
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
        let claim = one.claim.ok_or(Fault::ClaimMissing { claim: one.name })?;
        if one.is_foreign(cycle.incoming()) {
            return Err(Fault::ClaimNotOwned { claim: one.name });
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
            Some((class, None)) => return Err(Fault::Class { class: Some(class.name) }),
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
                    MissingBoundVolume::IsError => Err(Fault::VolumeMissing { volume: claim.name }),
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
                    None => Err(Fault::UntranslatableVolume { volume: volume.name }),
                };
                Some(Migrated { plugin, affinity })
            }
            VolumeSource::Csi { .. } | VolumeSource::Other => None,
        });
        BoundClaim { name, volume, migrated }
    }
}

impl PodFilter for Filter<'_> {
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
