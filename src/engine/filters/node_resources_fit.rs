//! Rejects a node that has not enough left of a resource that the pod asks for, or holds as many pods as it may.
//! Upstream: `noderesources/fit.go`.
//!
//! Releases differ in what a request of nothing does, in the code of a request that no node of this size can meet, and in
//! what they do to pods with sidecars; how requests are summed is in [`requests`].

use crate::engine::framework::{
    Code, FilterPlugin, Gap, GapEffect, GapSet, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::node_view::NodeView;
use crate::engine::requests;
use crate::kube::behavior::{BeyondAllocatable, DeviceClassResources, RequestsBehavior, SidecarPods, ZeroRequests};
use crate::kube::plugin::Plugin;
use crate::kube::profile::Profile;
use crate::model::cluster::{CoverageState, Kind};
use crate::model::id::ResourceId;
use crate::model::resources::{self, ResourceClass, Resources};

/// The plugin.
pub(crate) struct NodeResourcesFit;

impl FilterPlugin for NodeResourcesFit {
    fn plugin(&self) -> Plugin {
        Plugin::NodeResourcesFit
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let behavior = &cycle.snapshot.behavior.requests;
        let parts = &cycle.incoming().requests;
        let has_sidecar = parts.init_containers.iter().any(|it| it.sidecar);
        let sidecar_pods = if has_sidecar { behavior.sidecar_pods } else { SidecarPods::Scheduled };
        if sidecar_pods == SidecarPods::RejectedByPreFilter {
            return PreFilter::Reject(Rejection::SidecarsDisabled, Code::Unresolvable);
        }
        let request = requests::incoming(parts, behavior);
        let asks = Asks::of(&request, behavior);
        let scalars = compared_scalars(cycle, &request);
        let device_classes = device_class_gap(cycle, &scalars, gaps);
        let filter = Fit { behavior, request, asks, scalars, sidecar_pods, device_classes };
        PreFilter::Run { filter: Box::new(filter), nodes: None }
    }
}

/// A scalar that the pod asks for.
#[derive(Clone, Copy)]
struct Scalar {
    id: ResourceId,
    amount: i64,
    /// Position in the list of requests.
    position: u32,
    extended: bool,
}

/// The scalars to compare: those that the profile does not ignore, and where the release passes over 0, that are more.
fn compared_scalars(cycle: &PodCycle<'_>, request: &Resources) -> Vec<Scalar> {
    let zero_counts = match cycle.snapshot.behavior.requests.zero_requests {
        ZeroRequests::Compared => true,
        ZeroRequests::ScalarsPassedOver | ZeroRequests::PassedOver => false,
    };
    let scalar = |(position, &(id, amount)): (u32, &(ResourceId, i64))| {
        let name = cycle.cluster().resource_name(id);
        let extended = resources::classify(name) == ResourceClass::Extended;
        let compared = (amount != 0 || zero_counts) && !(extended && is_ignored(name, cycle.profile));
        compared.then_some(Scalar { id, amount, position, extended })
    };
    (0..).zip(&request.scalars).filter_map(scalar).collect()
}

/// Only extended resources can be ignored: an extender answers for them.
fn is_ignored(name: &str, profile: &Profile) -> bool {
    let group = name.split_once('/').map_or(name, |parts| parts.0);
    profile.ignored_resources.iter().any(|it| it == name)
        || profile.ignored_resource_groups.iter().any(|it| it == group)
}

/// DeviceClasses may hand an extended resource over to DynamicResources; this program does not read them.
fn device_class_gap(cycle: &PodCycle<'_>, scalars: &[Scalar], gaps: &mut Gaps) -> GapSet {
    let delegates = match cycle.snapshot.behavior.requests.device_class_resources {
        DeviceClassResources::None => false,
        DeviceClassResources::NotNamed | DeviceClassResources::NoneAllocatable => true,
    };
    if !delegates || !scalars.iter().any(|it| it.extended) {
        return GapSet::NONE;
    }
    let effect = match cycle.cluster().coverage_of(Kind::DeviceClass) {
        CoverageState::Empty => return GapSet::NONE,
        CoverageState::Present => GapEffect::NotModelled,
        CoverageState::Absent | CoverageState::Truncated | CoverageState::Rejected => GapEffect::MayDiffer,
    };
    gaps.note(Gap { kind: Kind::DeviceClass, plugin: Plugin::DynamicResources, object: None, effect })
}

/// Which of cpu, memory and ephemeral storage are compared.
#[derive(Clone, Copy)]
struct Asks {
    /// Nothing is compared but the number of pods.
    nothing: bool,
    milli_cpu: bool,
    memory: bool,
    ephemeral_storage: bool,
}

impl Asks {
    fn of(request: &Resources, behavior: &RequestsBehavior) -> Self {
        let compared = |amount: i64| match behavior.zero_requests {
            ZeroRequests::Compared | ZeroRequests::ScalarsPassedOver => true,
            ZeroRequests::PassedOver => amount > 0,
        };
        Asks {
            nothing: request.milli_cpu == 0
                && request.memory == 0
                && request.ephemeral_storage == 0
                && request.scalars.is_empty(),
            milli_cpu: compared(request.milli_cpu),
            memory: compared(request.memory),
            ephemeral_storage: compared(request.ephemeral_storage),
        }
    }
}

struct Fit<'a> {
    behavior: &'a RequestsBehavior,
    request: Resources,
    asks: Asks,
    scalars: Vec<Scalar>,
    sidecar_pods: SidecarPods,
    device_classes: GapSet,
}

/// Bits of [`Rejection::Insufficient`].
const PODS: u32 = 0;
const CPU: u32 = 1;
const MEMORY: u32 = 2;
const EPHEMERAL_STORAGE: u32 = 3;
const FIRST_SCALAR: u32 = 4;

/// What is missing on a node.
#[derive(Default)]
struct Missing {
    mask: u64,
    beyond_allocatable: bool,
}

impl Missing {
    fn compare(&mut self, bit: u32, amount: i64, allocatable: i64, requested: i64) {
        if amount > allocatable.wrapping_sub(requested) {
            self.mask |= 1 << bit.min(63);
            self.beyond_allocatable |= amount > allocatable;
        }
    }
}

impl Fit<'_> {
    fn missing(&self, view: &NodeView<'_>) -> Missing {
        let mut missing = Missing::default();
        let (has, taken) = (&view.info.allocatable, view.requested());
        let pods = i64::try_from(view.pod_count()).unwrap_or(i64::MAX);
        if pods.saturating_add(1) > has.pods {
            missing.mask |= 1 << PODS;
        }
        if self.asks.nothing {
            return missing;
        }
        let request = &self.request;
        if self.asks.milli_cpu {
            missing.compare(CPU, request.milli_cpu, has.milli_cpu, taken.milli_cpu);
        }
        if self.asks.memory {
            missing.compare(MEMORY, request.memory, has.memory, taken.memory);
        }
        if self.asks.ephemeral_storage {
            let (has, taken) = (has.ephemeral_storage, taken.ephemeral_storage);
            missing.compare(EPHEMERAL_STORAGE, request.ephemeral_storage, has, taken);
        }
        for it in &self.scalars {
            missing.compare(FIRST_SCALAR + it.position, it.amount, has.scalar(it.id), taken.scalar(it.id));
        }
        missing
    }

    fn code(&self, missing: &Missing) -> Code {
        match self.behavior.beyond_allocatable {
            BeyondAllocatable::Unresolvable if missing.beyond_allocatable => Code::Unresolvable,
            BeyondAllocatable::Unresolvable | BeyondAllocatable::Unschedulable => Code::Unschedulable,
        }
    }

    /// Whether a DeviceClass would make the resource a matter of DynamicResources on a node that has this.
    fn may_be_delegated(&self, scalar: &Scalar, allocatable: &Resources) -> bool {
        let named = allocatable.scalars.iter().find(|entry| entry.0 == scalar.id);
        scalar.extended
            && match self.behavior.device_class_resources {
                DeviceClassResources::None => false,
                DeviceClassResources::NotNamed => named.is_none(),
                DeviceClassResources::NoneAllocatable => named.is_none_or(|entry| entry.1 <= 0),
            }
    }
}

impl PodFilter for Fit<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        if self.sidecar_pods == SidecarPods::RejectedByFilter {
            return Verdict::Rejects(Rejection::SidecarsDisabled, Code::Unresolvable);
        }
        let missing = self.missing(view);
        if missing.mask == 0 {
            return Verdict::Fits;
        }
        Verdict::Rejects(Rejection::Insufficient { mask: missing.mask }, self.code(&missing))
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        if self.device_classes.is_empty() {
            return GapSet::NONE;
        }
        let delegated = self.scalars.iter().any(|it| self.may_be_delegated(it, &view.info.allocatable));
        if delegated { self.device_classes } else { GapSet::NONE }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        let (request, scalars) = (self.request.clone(), self.scalars.clone());
        Box::new(Fit { request, scalars, ..*self })
    }
}
