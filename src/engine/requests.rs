//! What pods ask for, and what nodes have, in integers. Upstream: `component-helpers/resource/helpers.go`.

use crate::kube::behavior::{
    EphemeralStorage, InitContainersOnNodes, PodLevelRequests, PodLevelResize, PodOverhead, RequestRounding,
    RequestsBehavior, ResizeRequests, SidecarPorts, SidecarRequests,
};
use crate::model::node::Node;
use crate::model::pod::{ContainerRequests, ContainerResizeStatus, RequestParts, ResizeStatus};
use crate::model::quantity::Quantity;
use crate::model::resources::{ResourceName, Resources};

/// What the incoming pod asks for: its status is never looked at.
pub fn incoming(parts: &RequestParts, behavior: &RequestsBehavior) -> Resources {
    requests(parts, behavior, Asked::Incoming)
}

/// What a pod on a node takes.
pub fn footprint(parts: &RequestParts, behavior: &RequestsBehavior) -> Resources {
    requests(parts, behavior, Asked::OnNode)
}

/// What a node has.
pub fn allocatable(node: &Node, behavior: &RequestsBehavior) -> Resources {
    let mut resources = Resources::default();
    add_list(&mut resources, &node.allocatable);
    without_ignored(resources, behavior)
}

/// Whether host ports of sidecars count.
pub fn sidecar_ports_count(behavior: &RequestsBehavior) -> bool {
    match behavior.sidecar_ports {
        SidecarPorts::Ignored => false,
        SidecarPorts::Counted => true,
    }
}

/// Of whom is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Incoming,
    OnNode,
}

fn requests(parts: &RequestParts, behavior: &RequestsBehavior, asked: Asked) -> Resources {
    let resources = match behavior.rounding {
        RequestRounding::PerContainer => rounded_sum(parts, behavior, asked),
        RequestRounding::Once => exact_sum(parts, behavior, asked),
    };
    without_ignored(resources, behavior)
}

fn without_ignored(mut resources: Resources, behavior: &RequestsBehavior) -> Resources {
    match behavior.ephemeral_storage {
        EphemeralStorage::Ignored => resources.ephemeral_storage = 0,
        EphemeralStorage::Counted => {}
    }
    resources
}

/// Adds a list, each amount rounded up to an integer. Upstream: `Resource.Add`.
fn add_list(resources: &mut Resources, list: &[Entry]) {
    for &(name, amount) in list {
        match name {
            ResourceName::Cpu => resources.milli_cpu = resources.milli_cpu.wrapping_add(amount.milli_value()),
            ResourceName::Memory => resources.memory = resources.memory.wrapping_add(amount.value()),
            ResourceName::EphemeralStorage => {
                resources.ephemeral_storage = resources.ephemeral_storage.wrapping_add(amount.value());
            }
            ResourceName::Pods => resources.pods = resources.pods.wrapping_add(amount.value()),
            ResourceName::HugePages(id) | ResourceName::Scalar(id) => resources.add_scalar(id, amount.value()),
        }
    }
}

/// The sum as releases up to 1.26 compute it, in integers.
fn rounded_sum(parts: &RequestParts, behavior: &RequestsBehavior, asked: Asked) -> Resources {
    let mut sum = Resources::default();
    for container in &parts.containers {
        add_list(&mut sum, &container.requests);
    }
    if counts_init_containers(behavior, asked) {
        for container in &parts.init_containers {
            let mut one = Resources::default();
            add_list(&mut one, &container.requests);
            raise(&mut sum, &one);
        }
    }
    match behavior.overhead {
        PodOverhead::Ignored => {}
        PodOverhead::Counted => add_list(&mut sum, &parts.overhead),
    }
    sum
}

/// Upstream: `Resource.SetMaxResource`.
fn raise(resources: &mut Resources, other: &Resources) {
    resources.milli_cpu = resources.milli_cpu.max(other.milli_cpu);
    resources.memory = resources.memory.max(other.memory);
    resources.ephemeral_storage = resources.ephemeral_storage.max(other.ephemeral_storage);
    for &(id, amount) in &other.scalars {
        let known = resources.scalar(id);
        resources.add_scalar(id, amount.max(known).wrapping_sub(known));
    }
}

fn counts_init_containers(behavior: &RequestsBehavior, asked: Asked) -> bool {
    match behavior.init_containers_on_nodes {
        InitContainersOnNodes::Counted => true,
        InitContainersOnNodes::Ignored => asked == Asked::Incoming,
    }
}

/// One entry of a list that is sorted by name.
type Entry = (ResourceName, Quantity);

/// The sum as releases from 1.27 on compute it: exact, rounded at the end.
fn exact_sum(parts: &RequestParts, behavior: &RequestsBehavior, asked: Asked) -> Resources {
    let mut resources = Resources::default();
    if let Some(only) = only_list(parts) {
        add_list(&mut resources, only);
    } else {
        add_list(&mut resources, &exact_list(parts, behavior, asked));
    }
    resources
}

/// The list of a pod of one container and nothing else, which most pods are.
fn only_list(parts: &RequestParts) -> Option<&[Entry]> {
    let [only] = &*parts.containers else { return None };
    let plain = parts.init_containers.is_empty()
        && parts.overhead.is_empty()
        && parts.pod_level.is_none()
        && parts.resize.is_none()
        && only.status.is_none();
    plain.then_some(&only.requests)
}

fn exact_list(parts: &RequestParts, behavior: &RequestsBehavior, asked: Asked) -> Vec<Entry> {
    let resize = match asked {
        Asked::Incoming => ResizeRequests::Ignored,
        Asked::OnNode => behavior.resize,
    };
    let mut sum = match resize {
        ResizeRequests::PerPod => largest_total(parts, behavior),
        ResizeRequests::Ignored
        | ResizeRequests::Allocated
        | ResizeRequests::Actuated
        | ResizeRequests::PerContainer => {
            total(parts, behavior, asked, |container, role| resized_list(container, role, parts, resize))
        }
    };
    let pod_level_resize = match resize {
        ResizeRequests::Ignored => PodLevelResize::Ignored,
        ResizeRequests::Allocated
        | ResizeRequests::Actuated
        | ResizeRequests::PerContainer
        | ResizeRequests::PerPod => behavior.pod_level_resize,
    };
    set_pod_level(&mut sum, parts, behavior.pod_level, pod_level_resize);
    match behavior.overhead {
        PodOverhead::Ignored => {}
        PodOverhead::Counted => add(&mut sum, &parts.overhead),
    }
    sum
}

/// What a container is within its pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Container,
    Sidecar,
    InitContainer,
}

/// The most that a pod takes at any time of its life, if each container takes what `list_of` says.
fn total<'p>(
    parts: &'p RequestParts,
    behavior: &RequestsBehavior,
    asked: Asked,
    list_of: impl Fn(&'p ContainerRequests, Role) -> List<'p>,
) -> Vec<Entry> {
    let mut sum = Vec::new();
    for container in &parts.containers {
        add(&mut sum, list_of(container, Role::Container).entries());
    }
    if !counts_init_containers(behavior, asked) {
        return sum;
    }
    let mut sidecars = Vec::new();
    let mut during_init = Vec::new();
    for container in &parts.init_containers {
        let runs_on = match behavior.sidecars {
            SidecarRequests::AsInitContainer => false,
            SidecarRequests::Summed => container.sidecar,
        };
        let list = list_of(container, if container.sidecar { Role::Sidecar } else { Role::InitContainer });
        if runs_on {
            add(&mut sum, list.entries());
            add(&mut sidecars, list.entries());
            raise_list(&mut during_init, &sidecars);
        } else {
            let mut now = list.entries().to_vec();
            add(&mut now, &sidecars);
            raise_list(&mut during_init, &now);
        }
    }
    raise_list(&mut sum, &during_init);
    sum
}

/// A list that stands in an object, or was made of several.
enum List<'p> {
    Read(&'p [Entry]),
    Made(Vec<Entry>),
}

impl List<'_> {
    fn entries(&self) -> &[Entry] {
        match self {
            List::Read(entries) => entries,
            List::Made(entries) => entries,
        }
    }
}

/// What a container takes while it may be resized, in the releases that look at each container for itself.
fn resized_list<'p>(
    container: &'p ContainerRequests,
    role: Role,
    parts: &'p RequestParts,
    resize: ResizeRequests,
) -> List<'p> {
    let spec = &*container.requests;
    let status = container.status.as_deref();
    let field = is_infeasible(parts, |it| it.resize_field_infeasible);
    let (status, infeasible) = match resize {
        ResizeRequests::Ignored | ResizeRequests::PerPod => return List::Read(spec),
        ResizeRequests::Allocated if role == Role::Container => (status.map(|it| [entries(&it.allocated), &[]]), field),
        ResizeRequests::Actuated if role == Role::Container => {
            (actuated_status(status).map(|it| [entries(&it.actuated), &[]]), field)
        }
        ResizeRequests::PerContainer if role != Role::InitContainer => {
            let status = actuated_status(status).map(|it| [entries(&it.actuated), entries(&it.allocated)]);
            (status, is_infeasible(parts, |it| it.infeasible))
        }
        ResizeRequests::Allocated | ResizeRequests::Actuated | ResizeRequests::PerContainer => return List::Read(spec),
    };
    let Some(lists) = status else { return List::Read(spec) };
    let mut largest = if infeasible { Vec::new() } else { spec.to_vec() };
    for list in lists {
        raise_list(&mut largest, list);
    }
    List::Made(largest)
}

fn actuated_status(status: Option<&ContainerResizeStatus>) -> Option<&ContainerResizeStatus> {
    status.filter(|it| it.resources_present)
}

fn is_infeasible(parts: &RequestParts, of: impl Fn(&ResizeStatus) -> bool) -> bool {
    parts.resize.as_deref().is_some_and(of)
}

fn entries(list: &Option<Box<[Entry]>>) -> &[Entry] {
    list.as_deref().unwrap_or_default()
}

/// What a pod takes while it may be resized, where each of its totals is looked at: by spec, as the kubelet admitted it,
/// as it is in force.
fn largest_total(parts: &RequestParts, behavior: &RequestsBehavior) -> Vec<Entry> {
    let infeasible = is_infeasible(parts, |it| it.infeasible);
    let total_of = |list_of: fn(&ContainerRequests, bool) -> &[Entry]| {
        total(parts, behavior, Asked::OnNode, |container, _| List::Read(list_of(container, infeasible)))
    };
    let mut largest = total_of(spec_list);
    match pod_status_totals(parts, behavior.pod_level_resize) {
        Some(totals) => totals.iter().for_each(|list| raise_list(&mut largest, list)),
        None => {
            raise_list(&mut largest, &total_of(actuated_list));
            raise_list(&mut largest, &total_of(allocated_list));
        }
    }
    largest
}

/// What a container's spec asks for; nothing, where the resize to it is infeasible.
fn spec_list(container: &ContainerRequests, infeasible: bool) -> &[Entry] {
    if infeasible { &[] } else { &container.requests }
}

/// What the kubelet admitted. The status takes the place of the whole list: a name that it lacks is 0.
fn allocated_list(container: &ContainerRequests, infeasible: bool) -> &[Entry] {
    let list = container.status.as_deref().and_then(|it| it.allocated.as_deref());
    list.unwrap_or_else(|| spec_list(container, infeasible))
}

/// What is in force.
fn actuated_list(container: &ContainerRequests, infeasible: bool) -> &[Entry] {
    let list = container.status.as_deref().and_then(|it| it.actuated.as_deref());
    list.unwrap_or_else(|| allocated_list(container, infeasible))
}

/// The totals that the kubelet wrote into the pod's own status, if both are there.
fn pod_status_totals(parts: &RequestParts, resize: PodLevelResize) -> Option<[&[Entry]; 2]> {
    match resize {
        PodLevelResize::Ignored | PodLevelResize::NamesOfSpec => None,
        PodLevelResize::AllNames => {
            let status = parts.resize.as_deref()?;
            Some([status.actuated.as_deref()?, status.allocated.as_deref()?])
        }
    }
}

/// Puts the requests of the pod as a whole in place of the sum of its containers.
fn set_pod_level(
    sum: &mut Vec<Entry>,
    parts: &RequestParts,
    pod_level: PodLevelRequests,
    pod_level_resize: PodLevelResize,
) {
    let counts = |name: ResourceName| match (name, pod_level) {
        (_, PodLevelRequests::Ignored) => false,
        (ResourceName::Cpu | ResourceName::Memory, _) => true,
        (ResourceName::HugePages(_), PodLevelRequests::WithHugePages) => true,
        (ResourceName::HugePages(_), PodLevelRequests::CpuAndMemory) => false,
        (ResourceName::EphemeralStorage | ResourceName::Pods | ResourceName::Scalar(_), _) => false,
    };
    let Some(spec) = &parts.pod_level else { return };
    if !spec.iter().any(|entry| counts(entry.0)) {
        return;
    }
    let status = parts.resize.as_deref().filter(|it| it.resources_present);
    let largest = status.map(|status| {
        let mut largest = if status.infeasible { Vec::new() } else { spec.to_vec() };
        raise_list(&mut largest, entries(&status.actuated));
        raise_list(&mut largest, entries(&status.allocated));
        largest
    });
    let in_force: Vec<Entry> = match (pod_level_resize, largest) {
        (PodLevelResize::Ignored, _) | (_, None) => spec.to_vec(),
        (PodLevelResize::AllNames, Some(largest)) => largest,
        (PodLevelResize::NamesOfSpec, Some(largest)) => {
            let amount = |name| find(&largest, name).map_or(Quantity::ZERO, |at| largest[at].1);
            spec.iter().map(|&(name, _)| (name, amount(name))).collect()
        }
    };
    for &(name, amount) in in_force.iter().filter(|entry| counts(entry.0)) {
        update(sum, name, |known| *known = amount, amount);
    }
}

fn find(list: &[Entry], name: ResourceName) -> Option<usize> {
    list.iter().position(|entry| entry.0 == name)
}

/// Changes the entry of a name, or makes it.
fn update(list: &mut Vec<Entry>, name: ResourceName, change: impl FnOnce(&mut Quantity), new: Quantity) {
    match list.binary_search_by_key(&name, |entry| entry.0) {
        Ok(at) => change(&mut list[at].1),
        Err(at) => list.insert(at, (name, new)),
    }
}

/// Adds every amount. Upstream: `addResourceList`.
fn add(list: &mut Vec<Entry>, more: &[Entry]) {
    if list.is_empty() {
        list.extend_from_slice(more);
        return;
    }
    for &(name, amount) in more {
        update(list, name, |known| *known = known.plus(amount), amount);
    }
}

/// Keeps the larger of every amount. Upstream: `maxResourceList`.
fn raise_list(list: &mut Vec<Entry>, other: &[Entry]) {
    for &(name, amount) in other {
        update(list, name, |known| *known = amount.max(*known), amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::gates::{Gate, Gates};
    use crate::kube::release::Release;
    use crate::model::id::ResourceId;
    use crate::model::resources::ResourceList;

    fn list(text: &str) -> ResourceList {
        let entry = |word: &str| {
            let (name, amount) = word.split_once('=').unwrap();
            let name = match name {
                "cpu" => ResourceName::Cpu,
                "mem" => ResourceName::Memory,
                "huge" => ResourceName::HugePages(ResourceId(0)),
                _ => ResourceName::Scalar(ResourceId(1)),
            };
            (name, Quantity::parse(amount).unwrap())
        };
        text.split_whitespace().map(entry).collect()
    }

    fn container(requests: &str) -> ContainerRequests {
        ContainerRequests { requests: list(requests), ..ContainerRequests::default() }
    }

    fn sidecar(requests: &str) -> ContainerRequests {
        ContainerRequests { sidecar: true, ..container(requests) }
    }

    fn resized(requests: &str, allocated: &str, actuated: &str) -> ContainerRequests {
        let status = ContainerResizeStatus {
            allocated: Some(list(allocated)),
            resources_present: true,
            actuated: Some(list(actuated)),
        };
        ContainerRequests { status: Some(Box::new(status)), ..container(requests) }
    }

    fn pod(containers: Vec<ContainerRequests>, init: Vec<ContainerRequests>) -> RequestParts {
        RequestParts { containers: containers.into(), init_containers: init.into(), ..RequestParts::default() }
    }

    fn behavior(minor: u16) -> RequestsBehavior {
        let release = Release::of_minor(minor);
        RequestsBehavior::of(release, &Gates::defaults(release))
    }

    fn milli_cpu_on_node(parts: &RequestParts, minor: u16) -> i64 {
        footprint(parts, &behavior(minor)).milli_cpu
    }

    #[test]
    fn fractions_of_bytes_round_up_a_container_each_until_they_are_summed_first() {
        let parts = pod(vec![container("mem=1500m"), container("mem=1500m")], vec![]);
        assert_eq!(incoming(&parts, &behavior(26)).memory, 4);
        assert_eq!(incoming(&parts, &behavior(27)).memory, 3);
    }

    #[test]
    fn the_largest_init_container_counts_where_it_is_more_than_the_containers() {
        let parts = pod(vec![container("cpu=1"), container("cpu=1")], vec![container("cpu=3"), container("cpu=1")]);
        assert_eq!(incoming(&parts, &behavior(18)).milli_cpu, 3000);
        let early = Release::new(18, 2);
        let early = RequestsBehavior::of(early, &Gates::defaults(early));
        assert_eq!(footprint(&parts, &early).milli_cpu, 2000, "1.18.2 forgets init containers on nodes");
        assert_eq!(milli_cpu_on_node(&parts, 19), 3000);
    }

    #[test]
    fn a_sidecar_runs_beside_the_containers_and_the_init_containers_after_it() {
        let parts = pod(vec![container("cpu=1")], vec![container("cpu=2"), sidecar("cpu=1"), container("cpu=2")]);
        assert_eq!(milli_cpu_on_node(&parts, 27), 2000);
        assert_eq!(milli_cpu_on_node(&parts, 28), 3000);
    }

    #[test]
    fn overhead_comes_on_top_of_everything() {
        let mut parts = pod(vec![container("cpu=1")], vec![container("cpu=2")]);
        parts.overhead = list("cpu=250m");
        parts.pod_level = Some(list("cpu=4"));
        assert_eq!(incoming(&parts, &behavior(33)).milli_cpu, 2250);
        assert_eq!(incoming(&parts, &behavior(34)).milli_cpu, 4250);
    }

    #[test]
    fn requests_of_the_pod_as_a_whole_stand_for_the_sum_of_those_resources_alone() {
        let mut parts = pod(vec![container("cpu=1 mem=1Gi huge=2Mi gpu=1")], vec![]);
        parts.pod_level = Some(list("cpu=500m huge=4Mi gpu=3"));
        let asked = incoming(&parts, &behavior(34));
        assert_eq!((asked.milli_cpu, asked.memory), (500, 1 << 30));
        assert_eq!(asked.scalars, [(ResourceId(0), 4 << 20), (ResourceId(1), 1)]);
    }

    #[test]
    fn a_resize_in_place_counts_with_the_largest_of_its_three_amounts() {
        let parts = pod(vec![resized("cpu=1", "cpu=3", "cpu=2")], vec![]);
        assert_eq!(milli_cpu_on_node(&parts, 32), 1000, "the gate is off");
        assert_eq!(milli_cpu_on_node(&parts, 33), 3000);
        assert_eq!(incoming(&parts, &behavior(33)).milli_cpu, 1000);
    }

    #[test]
    fn opposite_resizes_of_two_containers_add_up_until_1_37() {
        let parts = pod(vec![resized("cpu=1", "cpu=3", "cpu=3"), resized("cpu=3", "cpu=1", "cpu=1")], vec![]);
        assert_eq!(milli_cpu_on_node(&parts, 36), 6000);
        assert_eq!(milli_cpu_on_node(&parts, 37), 4000);
    }

    #[test]
    fn an_infeasible_resize_leaves_what_is_in_force() {
        let mut parts = pod(vec![resized("cpu=9", "cpu=1", "cpu=2"), container("cpu=1")], vec![]);
        parts.resize = Some(Box::new(ResizeStatus { infeasible: true, ..ResizeStatus::default() }));
        assert_eq!(milli_cpu_on_node(&parts, 36), 3000);
        assert_eq!(milli_cpu_on_node(&parts, 37), 2000, "a container without status counts nothing");
    }

    #[test]
    fn the_status_of_the_pod_as_a_whole_counts_from_1_36_on() {
        let mut parts = pod(vec![container("cpu=1 mem=1Gi")], vec![]);
        parts.pod_level = Some(list("cpu=1"));
        let status = ResizeStatus {
            resources_present: true,
            actuated: Some(list("cpu=3 mem=2Gi")),
            allocated: Some(list("cpu=2")),
            ..ResizeStatus::default()
        };
        parts.resize = Some(Box::new(status));
        let on_node = |minor| {
            let asked = footprint(&parts, &behavior(minor));
            (asked.milli_cpu, asked.memory >> 30)
        };
        assert_eq!(on_node(35), (1000, 1));
        assert_eq!(on_node(36), (3000, 1));
        assert_eq!(on_node(37), (3000, 2));
    }

    #[test]
    fn before_1_33_the_gate_lets_allocated_then_actuated_resources_count() {
        let parts = pod(vec![resized("cpu=1", "cpu=3", "cpu=2")], vec![]);
        let with_gate = |minor| {
            let release = Release::of_minor(minor);
            let mut gates = Gates::defaults(release);
            gates.set(Gate::InPlacePodVerticalScaling, true);
            footprint(&parts, &RequestsBehavior::of(release, &gates)).milli_cpu
        };
        assert_eq!((with_gate(31), with_gate(32)), (3000, 2000));
    }

    #[test]
    fn a_request_of_nothing_is_an_entry() {
        let parts = pod(vec![container("gpu=0")], vec![]);
        assert_eq!(incoming(&parts, &behavior(34)).scalars, [(ResourceId(1), 0)]);
    }
}
