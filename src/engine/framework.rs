//! The scheduling framework: what a plugin is asked, and what it may answer.

use super::node_view::NodeView;
use super::snapshot::Snapshot;
use crate::kube::plugin::Plugin;
use crate::kube::profile::Profile;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::{NodeId, PodId, Symbol};
use crate::model::pod::Pod;

/// One pod's scheduling cycle: everything a plugin may look at.
#[derive(Clone, Copy, Debug)]
pub struct PodCycle<'a> {
    /// The snapshot, untouched for the whole cycle.
    pub snapshot: &'a Snapshot,
    /// The pod to place: the incoming pod, in preemption the preemptor.
    pub pod: PodId,
    /// Plugins and their arguments.
    pub profile: &'a Profile,
    /// The pod as it would be with another priority, policy, requests or tolerations, which are read of
    /// [`PodCycle::incoming`] alone; `None` as the dump has it.
    pub changed: Option<&'a Pod>,
}

impl<'a> PodCycle<'a> {
    /// The cluster.
    pub fn cluster(&self) -> &'a Cluster {
        &self.snapshot.cluster
    }

    /// The pod to place.
    pub fn incoming(&self) -> &'a Pod {
        self.changed.unwrap_or_else(|| self.cluster().pod(self.pod))
    }
}

/// A plugin with a PreFilter or a Filter.
pub trait FilterPlugin: Send + Sync {
    /// Which plugin this is.
    fn plugin(&self) -> Plugin;

    /// Looks at the pod once. Called at the plugin's place in the PreFilter order, and for a plugin that has no PreFilter
    /// upstream, just before the first Filter. What the dump lacks goes to `gaps`; a gap that blinds a node's verdict is
    /// named there by [`PodFilter::gaps_at`].
    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a>;
}

/// What PreFilter answers.
pub enum PreFilter<'a> {
    /// The pod does not concern the plugin: Filter and the hooks are not called.
    Skip,
    /// The pod cannot be placed anywhere.
    Reject(Rejection, Code),
    /// An internal error: the attempt ends.
    Fault(Fault),
    /// Go on with this filter, on these nodes only where some are given (`None`: on all).
    Run {
        /// The filter, which knows the pod.
        filter: Box<dyn PodFilter + 'a>,
        /// PreFilterResult: the names to which the pod is narrowed. A name without a node is kept here, because some
        /// releases fail on it.
        nodes: Option<Vec<NarrowedNode>>,
    },
}

/// A node name of a PreFilterResult, with its node if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NarrowedNode {
    /// The name.
    pub name: Symbol,
    /// The node.
    pub node: Option<NodeId>,
}

/// A plugin's filter for one pod.
///
/// The hooks are upstream's PreFilterExtensions: they change the filter's own state when a pod is put on, or taken from,
/// a node, and are called after the [`NodeView`] itself changed.
pub trait PodFilter: Send + Sync {
    /// Judges a node.
    fn filter(&self, view: &NodeView<'_>) -> Verdict;

    /// The gaps that make this plugin's verdict on the node a guess.
    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        let _ = view;
        GapSet::NONE
    }

    /// What of the pods on nodes the verdict depends on.
    fn minds(&self) -> Minds {
        Minds::Pods
    }

    /// [`PodFilter::filter`] of the node were so much taken of it. Only called where [`PodFilter::minds`] says that this
    /// alone decides, or nothing of the pods.
    fn filter_taken(&self, view: &NodeView<'_>, taken: &Taken) -> Verdict {
        let _ = taken;
        debug_assert_eq!(self.minds(), Minds::Nothing, "a filter that minds pods looks at them");
        self.filter(view)
    }

    /// Where [`Minds::Taken`], how much may be taken of a node that fits with less: while there is room, the verdict stays.
    /// `None` tells nothing.
    fn room(&self, view: &NodeView<'_>) -> Option<Room> {
        let _ = view;
        None
    }

    /// Whether the hooks do anything; if not, the filter is never forked.
    fn has_hooks(&self) -> bool {
        false
    }

    /// A pod joined the node of the view.
    fn add_pod(&mut self, pod: PodId, view: &NodeView<'_>) {
        let _ = (pod, view);
    }

    /// A pod left the node of the view.
    fn remove_pod(&mut self, pod: PodId, view: &NodeView<'_>) {
        let _ = (pod, view);
    }

    /// The internal error that a hook met, if one did: the attempt ends with it. To be asked after the hooks.
    fn hook_fault(&self) -> Option<Fault> {
        None
    }

    /// A copy with state of its own, for one node's dry run. Only called where [`PodFilter::has_hooks`] is true.
    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's>;
}

/// What of the pods on nodes a filter's verdict depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minds {
    /// Nothing: the verdict is a matter of the node alone.
    Nothing,
    /// [`Taken`] alone, where the pods that join and leave ask for nothing else.
    Taken,
    /// Anything.
    Pods,
}

/// What the pods of a node take of that of which every pod takes some. Summed as [`Resources`] are.
///
/// [`Resources`]: crate::model::resources::Resources
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// CPU, in thousandths.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// How many pods there are.
    pub pods: usize,
}

/// What a node may have taken of it while the pod fits, of what [`Taken`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// CPU, in thousandths.
    pub milli_cpu: Bound,
    /// Bytes.
    pub memory: Bound,
    /// How many other pods there may be.
    pub pods: i64,
}

/// What is asked of a resource, and how much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// By the pod.
    pub asked: i64,
    /// On the node, in all.
    pub allocatable: i64,
}

impl Bound {
    /// Of what is not asked for.
    pub const NONE: Bound = Bound { asked: i64::MIN, allocatable: 0 };

    /// Whether more is asked for than is left. The sum of what is taken wraps as Go's does.
    #[inline]
    pub fn is_short(self, taken: i64) -> bool {
        self.asked > self.allocatable.wrapping_sub(taken)
    }
}

impl Room {
    /// Whether so much may be taken.
    #[inline]
    pub fn holds(&self, taken: &Taken) -> bool {
        !self.milli_cpu.is_short(taken.milli_cpu)
            && !self.memory.is_short(taken.memory)
            && i64::try_from(taken.pods).is_ok_and(|pods| pods <= self.pods)
    }
}

/// A status code that says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Preemption may help.
    Unschedulable,
    /// Preemption cannot help: `UnschedulableAndUnresolvable`.
    Unresolvable,
}

/// What a filter says of a node. Upstream: `framework.Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pod fits.
    Fits,
    /// It does not.
    Rejects(Rejection, Code),
    /// An internal error: the attempt ends.
    Faults(Fault),
}

/// A set of gaps, as bits of a [`Gaps`] list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapSet(pub u32);

impl GapSet {
    /// No gap.
    pub const NONE: GapSet = GapSet(0);

    /// Both.
    #[must_use]
    pub fn with(self, other: GapSet) -> GapSet {
        GapSet(self.0 | other.0)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The gaps found in one cycle. The 32nd and later share a bit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// In the order found, each once.
    pub list: Vec<Gap>,
}

impl Gaps {
    /// Notes a gap; the set holds just it.
    pub fn note(&mut self, gap: Gap) -> GapSet {
        let at = self.list.iter().position(|known| *known == gap).unwrap_or_else(|| {
            self.list.push(gap);
            self.list.len() - 1
        });
        GapSet(1 << at.min(31))
    }
}

/// Something a rule needs and the dump lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// The kind of object that is missing.
    pub kind: Kind,
    /// The plugin that it blinds.
    pub plugin: Plugin,
    /// The object, if it has a name.
    pub object: Option<Symbol>,
    /// What it changes.
    pub effect: GapEffect,
}

/// What a gap changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapEffect {
    /// The plugin may reject any node.
    MayReject,
    /// The plugin may reject nodes that the answer takes, or take nodes that it rejects.
    MayDiffer,
    /// Victims may not free what the answer says they free.
    MayFreeLess,
    /// The rule is not computed by this program.
    NotModelled,
}

/// Why a plugin rejects a node, or a pod; the arguments are what upstream puts into its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// NodeUnschedulable: the node is cordoned.
    Cordoned,
    /// NodeName: the pod asks for another node.
    OtherNodeName,
    /// TaintToleration.
    UntoleratedTaint {
        /// Position in the node's list of taints.
        taint: u32,
    },
    /// NodeAffinity: the profile's addedAffinity.
    AddedNodeAffinity,
    /// NodeAffinity: the pod's own selector or affinity.
    NodeAffinity,
    /// NodeAffinity, PreFilter: terms name no node in common.
    AffinityTermsConflict,
    /// NodePorts.
    HostPorts,
    /// NodeResourcesFit. Bit 0: too many pods; 1: cpu; 2: memory; 3: ephemeral-storage; 4 and on: the pod's scalar
    /// requests, in order of the pod's effective request list; scalars past the 60th share the last bit.
    Insufficient {
        /// Which resources.
        mask: u64,
    },
    /// NodeResourcesFit: the pod has a sidecar and the feature is off.
    SidecarsDisabled,
    /// VolumeRestrictions: an inline disk is in use.
    DiskConflict,
    /// VolumeRestrictions: a ReadWriteOncePod claim is in use.
    ReadWriteOncePodConflict,
    /// NodeVolumeLimits and the legacy limits.
    MaxVolumeCount {
        /// Which of the limit plugins.
        plugin: Plugin,
    },
    /// NodeVolumeLimits: the driver is not installed on the node.
    DriverNotInstalled {
        /// The driver.
        driver: Symbol,
    },
    /// NodeVolumeLimits and the legacy limits: `looking up PVC ns/name: persistentvolumeclaim "name" not found`.
    LimitsClaimMissing {
        /// Which of the limit plugins.
        plugin: Plugin,
        /// The claim, in the pod's namespace.
        claim: Symbol,
    },
    /// VolumeBinding on a node. Bit 0: a bound volume's node affinity; 1: no volume to bind; 2: not enough storage;
    /// 3: a bound claim's volume does not exist.
    VolumeBinding {
        /// Which reasons.
        mask: u8,
    },
    /// VolumeBinding or VolumeRestrictions, PreFilter: a claim does not exist.
    ClaimMissing {
        /// Which plugin says it.
        plugin: Plugin,
        /// The claim.
        claim: Symbol,
    },
    /// VolumeBinding, PreFilter: the claim of a generic ephemeral volume does not exist yet.
    EphemeralClaimMissing {
        /// The claim.
        claim: Symbol,
    },
    /// VolumeBinding, PreFilter: the claim lost its volume.
    ClaimLost {
        /// The claim.
        claim: Symbol,
        /// Its volume, if it names one.
        volume: Option<Symbol>,
    },
    /// VolumeBinding, PreFilter: the claim is being deleted.
    ClaimDeleted {
        /// The claim.
        claim: Symbol,
    },
    /// VolumeBinding, PreFilter: the claim of a generic ephemeral volume belongs to somebody else.
    ClaimNotOwned {
        /// The claim.
        claim: Symbol,
    },
    /// VolumeBinding, PreFilter: unbound claims that are not bound late.
    UnboundImmediateClaims,
    /// VolumeZone on a node.
    VolumeZone,
    /// VolumeZone: the claim's volume does not exist.
    VolumeMissing {
        /// The volume.
        volume: Symbol,
    },
    /// VolumeZone: the claim has no class.
    ClaimWithoutClass,
    /// VolumeZone: the claim's class does not exist.
    ClassMissing {
        /// The class.
        class: Symbol,
    },
    /// VolumeZone: the claim's class says no binding mode: `VolumeBindingMode not set for StorageClass "name"`.
    ClassWithoutMode {
        /// The class.
        class: Symbol,
    },
    /// VolumeZone: the claim has no volume though its class binds at once.
    ClaimWithoutVolume,
    /// PodTopologySpread: the node lacks a constraint's label.
    SpreadMissingLabel,
    /// PodTopologySpread: the skew would be too large.
    SpreadSkew {
        /// Position among the constraints the filter uses.
        constraint: u32,
    },
    /// InterPodAffinity: the pod's affinity is not met.
    PodAffinity,
    /// InterPodAffinity: the pod's anti-affinity is not met.
    PodAntiAffinity,
    /// InterPodAffinity: an existing pod's anti-affinity is not met.
    ExistingPodAntiAffinity,
    /// InterPodAffinity, PreFilter: a selector of the pod cannot be parsed.
    UnparsableAffinity,
    /// NodeDeclaredFeatures.
    MissingFeatures,
    /// DynamicResources: allocation is impossible.
    CannotAllocateClaims,
    /// DynamicResources: an allocated claim is not available on the node.
    ClaimNotAvailableOnNode,
    /// The node is outside of the PreFilterResult: `node(s) didn't satisfy plugin(s) [..]`; the plugins are in
    /// [`Outcome::narrowed_by`](super::outcome::Outcome::narrowed_by).
    NotSelectedByPreFilter,
    /// The node is outside of the PreFilterResult, as 1.30 says it.
    FilteredOutByPreFilter,
    /// The PreFilterResults have no node in common.
    NoNodeInCommon,
}

/// An internal error of the scheduler, which ends the attempt without preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The snapshot has no node.
    NoNodes,
    /// A name of the PreFilterResult is no node.
    NodeInfoNotFound {
        /// The name.
        name: Symbol,
    },
    /// A plugin rejected in PreFilter, which 1.18 took for an error.
    PreFilterRejected {
        /// What it said.
        rejection: Rejection,
    },
    /// A claim is missing (1.18, 1.19; volume limits in 1.23 … 1.29).
    ClaimMissing {
        /// Who says it.
        plugin: Plugin,
        /// The claim.
        claim: Symbol,
    },
    /// A claim is being deleted (1.18, 1.19).
    ClaimDeleted {
        /// The claim.
        claim: Symbol,
    },
    /// A claim of a generic ephemeral volume belongs to somebody else.
    ClaimNotOwned {
        /// Who says it.
        plugin: Plugin,
        /// The claim.
        claim: Symbol,
        /// The pod whose volume it is.
        pod: PodId,
    },
    /// A volume is missing (1.18, 1.19).
    VolumeMissing {
        /// Who says it.
        plugin: Plugin,
        /// The volume.
        volume: Symbol,
    },
    /// A class is missing, or has no binding mode.
    Class {
        /// Who says it.
        plugin: Plugin,
        /// The class, if the claim names one.
        class: Option<Symbol>,
    },
    /// A claim is unbound although its class binds at once (1.18).
    UnboundImmediateClaims,
    /// A claim's selector cannot be parsed.
    UnparsableClaimSelector {
        /// The claim.
        claim: Symbol,
    },
    /// A claim names a VolumeAttributesClass and the feature is off (1.31 … 1.33).
    VolumeAttributesClassOff {
        /// The claim.
        claim: Symbol,
    },
    /// An in-tree volume cannot be translated to CSI.
    UntranslatableVolume {
        /// Who says it.
        plugin: Plugin,
        /// The PersistentVolume, or the name within the pod.
        volume: Symbol,
    },
    /// A selector of the pod's affinity, or of an existing pod's anti-affinity, cannot be parsed (1.18).
    UnparsableAffinity,
    /// A plugin whose PreFilter never ran has no state to filter with.
    StateMissing {
        /// The plugin.
        plugin: Plugin,
    },
    /// A selector of the pod's spread constraints cannot be parsed.
    UnparsableSpread,
    /// The scheduler of that release crashes here.
    Panics,
}

/// A node's verdict with everything a report needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The verdict of the filter chain; where all filters are merged, the first rejection of the gravest code.
    pub verdict: Verdict,
    /// The other rejections of the merged chain.
    pub more: Vec<Rejection>,
    /// Gaps that make the verdict a guess.
    pub gaps: GapSet,
}

impl NodeStatus {
    /// A verdict alone.
    pub fn of(verdict: Verdict) -> Self {
        NodeStatus { verdict, more: Vec::new(), gaps: GapSet::NONE }
    }

    /// Whether the pod fits.
    pub fn fits(&self) -> bool {
        self.verdict == Verdict::Fits
    }
}

impl Fault {
    /// The plugin that met the error, where it is one of Filter.
    pub fn plugin(&self) -> Option<Plugin> {
        match self {
            Fault::ClaimMissing { plugin, .. }
            | Fault::ClaimNotOwned { plugin, .. }
            | Fault::VolumeMissing { plugin, .. }
            | Fault::Class { plugin, .. }
            | Fault::UntranslatableVolume { plugin, .. }
            | Fault::StateMissing { plugin } => Some(*plugin),
            Fault::UnboundImmediateClaims
            | Fault::UnparsableClaimSelector { .. }
            | Fault::VolumeAttributesClassOff { .. } => Some(Plugin::VolumeBinding),
            Fault::UnparsableAffinity => Some(Plugin::InterPodAffinity),
            Fault::UnparsableSpread => Some(Plugin::PodTopologySpread),
            Fault::NoNodes
            | Fault::NodeInfoNotFound { .. }
            | Fault::PreFilterRejected { .. }
            | Fault::ClaimDeleted { .. }
            | Fault::Panics => None,
        }
    }
}

impl Rejection {
    /// The plugin that says this; `None` for the framework itself.
    pub fn plugin(&self) -> Option<Plugin> {
        Some(match self {
            Rejection::Cordoned => Plugin::NodeUnschedulable,
            Rejection::OtherNodeName => Plugin::NodeName,
            Rejection::UntoleratedTaint { .. } => Plugin::TaintToleration,
            Rejection::AddedNodeAffinity | Rejection::NodeAffinity | Rejection::AffinityTermsConflict => {
                Plugin::NodeAffinity
            }
            Rejection::HostPorts => Plugin::NodePorts,
            Rejection::Insufficient { .. } | Rejection::SidecarsDisabled => Plugin::NodeResourcesFit,
            Rejection::DiskConflict | Rejection::ReadWriteOncePodConflict => Plugin::VolumeRestrictions,
            Rejection::MaxVolumeCount { plugin }
            | Rejection::ClaimMissing { plugin, .. }
            | Rejection::LimitsClaimMissing { plugin, .. } => *plugin,
            Rejection::DriverNotInstalled { .. } => Plugin::NodeVolumeLimits,
            Rejection::VolumeBinding { .. }
            | Rejection::EphemeralClaimMissing { .. }
            | Rejection::ClaimLost { .. }
            | Rejection::ClaimDeleted { .. }
            | Rejection::ClaimNotOwned { .. }
            | Rejection::UnboundImmediateClaims => Plugin::VolumeBinding,
            Rejection::VolumeZone
            | Rejection::VolumeMissing { .. }
            | Rejection::ClaimWithoutClass
            | Rejection::ClassMissing { .. }
            | Rejection::ClassWithoutMode { .. }
            | Rejection::ClaimWithoutVolume => Plugin::VolumeZone,
            Rejection::SpreadMissingLabel | Rejection::SpreadSkew { .. } => Plugin::PodTopologySpread,
            Rejection::PodAffinity
            | Rejection::PodAntiAffinity
            | Rejection::ExistingPodAntiAffinity
            | Rejection::UnparsableAffinity => Plugin::InterPodAffinity,
            Rejection::MissingFeatures => Plugin::NodeDeclaredFeatures,
            Rejection::CannotAllocateClaims | Rejection::ClaimNotAvailableOnNode => Plugin::DynamicResources,
            Rejection::NotSelectedByPreFilter | Rejection::FilteredOutByPreFilter | Rejection::NoNodeInCommon => {
                return None;
            }
        })
    }
}
