//! Rejects a node that has not enough left of a resource that the pod asks for, or holds as many pods as it may.
//! Upstream: `noderesources/fit.go`.
//!
//! Releases differ in what a request of nothing does, in the code of a request that no node of this size can meet, and in
//! what they do to pods with sidecars; how requests are summed is in [`requests`].

use crate::engine::framework::{
    Bound, Code, FilterPlugin, Gap, GapEffect, GapSet, Gaps, Minds, PodCycle, PodFilter, PreFilter, Rejection, Room,
    Taken, Verdict,
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
        // What is there is not read, so a damaged one makes no difference.
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
        if (Bound { asked: amount, allocatable }).is_short(requested) {
            self.mask |= 1 << bit.min(63);
            self.beyond_allocatable |= amount > allocatable;
        }
    }
}

impl Fit<'_> {
    /// What is missing where so much is taken, and of all else what the pods of the view ask for.
    #[inline]
    fn missing(&self, view: &NodeView<'_>, taken: &Taken) -> Missing {
        let mut missing = Missing::default();
        let (has, others) = (&view.info.allocatable, view.requested());
        let pods = i64::try_from(taken.pods).unwrap_or(i64::MAX);
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
            let (has, taken) = (has.ephemeral_storage, others.ephemeral_storage);
            missing.compare(EPHEMERAL_STORAGE, request.ephemeral_storage, has, taken);
        }
        for it in &self.scalars {
            missing.compare(FIRST_SCALAR + it.position, it.amount, has.scalar(it.id), others.scalar(it.id));
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
        self.filter_taken(view, &view.taken())
    }

    fn minds(&self) -> Minds {
        Minds::Taken
    }

    fn filter_taken(&self, view: &NodeView<'_>, taken: &Taken) -> Verdict {
        if self.sidecar_pods == SidecarPods::RejectedByFilter {
            return Verdict::Rejects(Rejection::SidecarsDisabled, Code::Unresolvable);
        }
        let missing = self.missing(view, taken);
        if missing.mask == 0 {
            return Verdict::Fits;
        }
        Verdict::Rejects(Rejection::Insufficient { mask: missing.mask }, self.code(&missing))
    }

    fn room(&self, view: &NodeView<'_>) -> Option<Room> {
        let has = &view.info.allocatable;
        let bound = |compared: bool, asked: i64, allocatable: i64| {
            if compared && !self.asks.nothing { Bound { asked, allocatable } } else { Bound::NONE }
        };
        Some(Room {
            milli_cpu: bound(self.asks.milli_cpu, self.request.milli_cpu, has.milli_cpu),
            memory: bound(self.asks.memory, self.request.memory, has.memory),
            pods: has.pods.checked_sub(1)?,
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::NodeId;
    use crate::testkit::{check, scene};

    fn verdict(minor: u16, text: &str) -> Verdict {
        scene(minor, text).status("a").unwrap().verdict
    }

    fn insufficient(mask: u64, code: Code) -> Verdict {
        Verdict::Rejects(Rejection::Insufficient { mask }, code)
    }

    #[test]
    fn every_resource_that_is_short_is_told() {
        let text = "
            node a cpu=2 mem=1Gi pods=1 example.com/gpu=1
            pod x on=a cpu=1 example.com/gpu=1
            want w cpu=2 mem=2Gi example.com/gpu=1 disk=1Ti";
        assert_eq!(verdict(33, text), insufficient(0b11111, Code::Unschedulable));
    }

    #[test]
    fn a_request_beyond_the_node_is_unresolvable_from_1_34_on() {
        let text = "
            node a cpu=2
            pod x on=a cpu=1
            want w cpu=3 prio=9";
        assert_eq!(verdict(33, text), insufficient(1 << CPU, Code::Unschedulable));
        assert_eq!(verdict(34, text), insufficient(1 << CPU, Code::Unresolvable));
    }

    #[test]
    fn a_pod_that_asks_for_nothing_needs_a_place_only() {
        let text = "
            node a cpu=1 pods=2
            pod x on=a cpu=2
            want w";
        check(34, text, "fits a");
        check(18, text, "fits a");
    }

    #[test]
    fn an_overcommitted_node_rejects_a_request_of_nothing_until_1_27() {
        let text = "
            node a cpu=1
            pod x on=a cpu=2
            want w mem=1Gi";
        assert_eq!(verdict(27, text), insufficient(1 << CPU, Code::Unschedulable));
        assert_eq!(verdict(28, text), Verdict::Fits);
    }

    #[test]
    fn a_node_without_an_extended_resource_has_none_of_it() {
        let text = "
            node a
            want w example.com/gpu=1";
        assert_eq!(verdict(34, text), insufficient(1 << FIRST_SCALAR, Code::Unresolvable));
    }

    #[test]
    fn there_is_room_while_the_pod_fits_and_no_longer() {
        for (minor, want) in
            [(34, "want w cpu=1 mem=1Gi"), (20, "want w cpu=1"), (34, "want w mem=1Gi"), (34, "want w")]
        {
            let scene = scene(minor, &format!("node a cpu=4 mem=4Gi pods=5\n{want}"));
            let cycle = scene.cycle();
            let PreFilter::Run { filter, .. } = NodeResourcesFit.pre_filter(&cycle, &mut Gaps::default()) else {
                panic!("it filters")
            };
            let view = NodeView::new(cycle.snapshot, NodeId::at(0));
            let room = filter.room(&view).unwrap();
            let amounts =
                |unit: i64| [i64::MIN, -1, 0, 3 * unit - 1, 3 * unit, 3 * unit + 1, 4 * unit, 5 * unit, i64::MAX];
            let (mut fits, mut rejects) = (0, 0);
            for milli_cpu in amounts(1000) {
                for memory in amounts(1 << 30) {
                    for pods in [0, 3, 4, 5, usize::MAX] {
                        let taken = Taken { milli_cpu, memory, pods };
                        let holds = filter.filter_taken(&view, &taken) == Verdict::Fits;
                        assert_eq!(room.holds(&taken), holds, "{minor} {want} {taken:?}");
                        *(if holds { &mut fits } else { &mut rejects }) += 1;
                    }
                }
            }
            assert!(fits > 20 && rejects > 20, "{fits} {rejects}");
        }
    }

    #[test]
    fn device_classes() {
        let text = "
            node a
            node b example.com/gpu=1
            pod x on=b example.com/gpu=1
            want w example.com/gpu=1";
        let class = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{}}"#;
        let gaps = |minor, text: &str, node| scene(minor, text).status(node).unwrap().gaps;
        assert!(gaps(36, text, "a").is_empty(), "an empty list of classes maps nothing");
        let with_class = format!("{text}\n{class}");
        assert!(!gaps(36, &with_class, "a").is_empty());
        assert!(gaps(36, &with_class, "b").is_empty(), "the node has some itself");
        assert!(gaps(35, &with_class, "a").is_empty());
    }

    #[test]
    fn ignored_extended_resources_are_not_compared() {
        let text = "
            node a
            want w example.com/gpu=1 other.org/fpga=1 cpu=1";
        let mut scene = scene(34, text);
        scene.profile.ignored_resources = vec!["example.com/gpu".to_owned(), "cpu".to_owned()];
        assert!(!scene.status("a").unwrap().fits());
        scene.profile.ignored_resource_groups = vec!["other.org".to_owned()];
        assert!(scene.status("a").unwrap().fits());
    }
}
