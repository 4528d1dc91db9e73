//! What a pod's containers ask for, and what in-place resize says in the status.

use super::meta::Meta;
use super::pod::{RawContainer, RawContainerStatus, RawPodSpec, RawPodStatus};
use super::primitive::{Pairs, Text, filled};
use super::tables::Tables;
use crate::model::pod::{ContainerRequests, ContainerResizeStatus, RequestParts, ResizeStatus};
use crate::model::quantity::Quantity;
use crate::model::resources::ResourceList;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `v1.ResourceRequirements`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RawResources<'a> {
    #[serde(borrow, default)]
    pub(super) requests: Option<Pairs<'a, Quantity>>,
    #[serde(borrow, default)]
    pub(super) limits: Option<Pairs<'a, Quantity>>,
}

/// Whether the API server has filled in an object's defaults. What it stored counts as it is: even a limit without a request,
/// which the scheduler reads as no request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Defaults {
    FilledIn,
    Missing,
}

impl Defaults {
    pub(super) fn of(meta: &Meta<'_>) -> Self {
        if meta.is_hand_made() { Defaults::Missing } else { Defaults::FilledIn }
    }
}

type Amounts<'r> = BTreeMap<&'r str, Quantity>;

impl RawResources<'_> {
    /// The requests; a limit stands in where one is missing, as the API server has it.
    fn defaulted(&self) -> Pairs<'_, Quantity> {
        let limits = self.limits.iter().flat_map(|limits| &limits.0);
        let requests = self.requests.iter().flat_map(|requests| &requests.0);
        // The last entry of a name counts, so requests come behind limits.
        Pairs(limits.chain(requests).map(|(name, amount)| (name.clone(), *amount)).collect())
    }

    fn list(&self, defaults: Defaults, tables: &mut Tables) -> ResourceList {
        match (defaults, &self.limits) {
            (Defaults::Missing, Some(limits)) if !limits.0.is_empty() => tables.resource_list(&self.defaulted()),
            (Defaults::Missing | Defaults::FilledIn, _) => {
                self.requests.as_ref().map(|requests| tables.resource_list(requests)).unwrap_or_default()
            }
        }
    }
}

/// What the pod asks for.
pub(super) fn parts(
    spec: &RawPodSpec<'_>,
    status: Option<&RawPodStatus<'_>>,
    defaults: Defaults,
    tables: &mut Tables,
) -> RequestParts {
    let statuses = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let init_statuses = status.and_then(|status| status.init_container_statuses.as_deref()).unwrap_or_default();
    let mut list = |containers: Option<&Vec<RawContainer<'_>>>, statuses: &[RawContainerStatus<'_>]| {
        let one = |it: &RawContainer<'_>| container(it, statuses, defaults, tables);
        containers.into_iter().flatten().map(one).collect::<Box<[_]>>()
    };
    RequestParts {
        containers: list(spec.containers.as_ref(), statuses),
        init_containers: list(spec.init_containers.as_ref(), init_statuses),
        overhead: spec.overhead.as_ref().map(|overhead| tables.resource_list(overhead)).unwrap_or_default(),
        pod_level: pod_level(spec, defaults, tables),
        resize: status.and_then(|status| resize(status, tables)).map(Box::new),
    }
}

fn container(
    container: &RawContainer<'_>,
    statuses: &[RawContainerStatus<'_>],
    defaults: Defaults,
    tables: &mut Tables,
) -> ContainerRequests {
    let name = container.name.as_ref();
    let status = statuses.iter().find(|status| name.is_some() && status.name.as_ref() == name);
    ContainerRequests {
        requests: container.resources.as_ref().map(|it| it.list(defaults, tables)).unwrap_or_default(),
        sidecar: container.is_sidecar(),
        status: status.and_then(|status| resize_status(status, tables)).map(Box::new),
    }
}

fn resize_status(status: &RawContainerStatus<'_>, tables: &mut Tables) -> Option<ContainerResizeStatus> {
    if status.allocated_resources.is_none() && status.resources.is_none() {
        return None;
    }
    Some(ContainerResizeStatus {
        allocated: status.allocated_resources.as_ref().map(|list| tables.resource_list(list)),
        resources_present: status.resources.is_some(),
        actuated: actuated(status.resources.as_ref(), tables),
    })
}

/// Requests of a status, which has no defaults.
fn actuated(resources: Option<&RawResources<'_>>, tables: &mut Tables) -> Option<ResourceList> {
    resources?.requests.as_ref().map(|requests| tables.resource_list(requests))
}

fn resize(status: &RawPodStatus<'_>, tables: &mut Tables) -> Option<ResizeStatus> {
    let mut pending = status.conditions.iter().flatten();
    let pending = pending.find(|it| filled(it.kind.as_ref()) == Some("PodResizePending"));
    let resize = ResizeStatus {
        infeasible: pending.is_some_and(|it| filled(it.reason.as_ref()) == Some("Infeasible")),
        resize_field_infeasible: filled(status.resize.as_ref()) == Some("Infeasible"),
        allocated: status.allocated_resources.as_ref().map(|list| tables.resource_list(list)),
        resources_present: status.resources.is_some(),
        actuated: actuated(status.resources.as_ref(), tables),
    };
    (resize != ResizeStatus::default()).then_some(resize)
}

/// `spec.resources.requests`, with what the API server fills in once `spec.resources.limits` is there: a missing request
/// becomes the containers' total if they ask for the resource, and the pod's limit otherwise.
/// Upstream: `pkg/apis/core/v1/defaults.go`.
fn pod_level(spec: &RawPodSpec<'_>, defaults: Defaults, tables: &mut Tables) -> Option<ResourceList> {
    let resources = spec.resources.as_ref()?;
    let limits = resources.limits.as_ref().filter(|limits| defaults == Defaults::Missing && !limits.0.is_empty());
    let Some(limits) = limits else {
        return resources.requests.as_ref().map(|requests| tables.resource_list(requests));
    };
    let mut requests: Amounts<'_> = resources.requests.iter().flat_map(|it| &it.0).map(|it| (&*it.0.0, it.1)).collect();
    let total = containers_total(spec);
    for name in ["cpu", "memory"] {
        if let Some(&amount) = total.get(name) {
            requests.entry(name).or_insert(amount);
        }
    }
    for (name, amount) in &limits.0 {
        if matches!(&**name, "cpu" | "memory") || name.starts_with("hugepages-") {
            requests.entry(name).or_insert(*amount);
        }
    }
    let requests = requests.into_iter().map(|(name, amount)| (Text(name.into()), amount)).collect();
    Some(tables.resource_list(&Pairs(requests)))
}

/// The total of the containers, sidecars and init containers. Upstream: `AggregateContainerRequests`.
fn containers_total<'r>(spec: &'r RawPodSpec<'_>) -> Amounts<'r> {
    let mut total = Amounts::new();
    for container in spec.containers.iter().flatten() {
        add(&mut total, &container_amounts(container));
    }
    let mut sidecars = Amounts::new();
    let mut init = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let mut own = container_amounts(container);
        if container.is_sidecar() {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            own = sidecars.clone();
        } else {
            add(&mut own, &sidecars);
        }
        raise(&mut init, &own);
    }
    raise(&mut total, &init);
    total
}

fn container_amounts<'r>(container: &'r RawContainer<'_>) -> Amounts<'r> {
    let Some(resources) = container.resources.as_ref() else { return Amounts::new() };
    let limits = resources.limits.iter().flat_map(|limits| &limits.0);
    let requests = resources.requests.iter().flat_map(|requests| &requests.0);
    limits.chain(requests).map(|(name, amount)| (&*name.0, *amount)).collect()
}

fn add<'r>(total: &mut Amounts<'r>, more: &Amounts<'r>) {
    for (&name, &amount) in more {
        let sum = total.entry(name).or_insert(Quantity::ZERO);
        *sum = sum.plus(amount);
    }
}

fn raise<'r>(total: &mut Amounts<'r>, other: &Amounts<'r>) {
    for (&name, &amount) in other {
        let most = total.entry(name).or_insert(amount);
        *most = (*most).max(amount);
    }
}
