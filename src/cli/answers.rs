//! Pods and what came of them.

use super::scheduler::Scheduler;
use super::target::Target;
use crate::engine::alike::Look;
use crate::engine::cycle;
use crate::engine::framework::{Gap, GapEffect, PodCycle};
use crate::engine::outcome::{Cause, Certainty, Disposition, Outcome};
use crate::engine::snapshot::Snapshot;
use crate::kube::plugin::Plugin;
use crate::kube::profile::Profile;
use crate::model::cluster::{Cluster, Coverage, Kind};
use crate::model::id::PodId;
use crate::model::resources::ResourceName;
use crate::report::json::OtherPatch;
use crate::report::view::View;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A scheduler in front of a cluster.
pub(crate) struct Desk<'a> {
    scheduler: &'a Scheduler,
    snapshot: Snapshot,
    /// The oldest patch that may be meant, where it behaves otherwise.
    oldest: Option<Box<Desk<'a>>>,
    /// What came of pods of late, the latest last: replicas stand next to each other in a list of pods.
    lately: Mutex<VecDeque<Arc<Decided>>>,
}

/// Where the decision about a pod is.
#[derive(Clone)]
enum Place {
    Known(Arc<Decided>),
    /// By position among those that are tried.
    Tried(usize),
}

/// How many outcomes are kept for pods that are alike: each may be of several megabytes.
const KEPT: usize = 2;

/// What comes of a pod, and of every pod like it.
struct Decided {
    outcome: Outcome,
    other_patch: Option<OtherPatch>,
}

/// A pod that was asked for, with what came of it if it is there.
pub(crate) struct Answer<'t> {
    /// What was asked for.
    pub(crate) target: &'t Target,
    decided: Option<Arc<Decided>>,
}

impl Answer<'_> {
    /// What came of it.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        self.decided.as_ref().map(|it| &it.outcome)
    }

    /// What another patch answers, where it differs.
    pub(crate) fn other_patch(&self) -> Option<&OtherPatch> {
        self.decided.as_ref()?.other_patch.as_ref()
    }
}

impl<'a> Desk<'a> {
    /// Puts the scheduler in front of the cluster.
    pub(crate) fn new(cluster: &Arc<Cluster>, scheduler: &'a Scheduler) -> Self {
        Desk {
            scheduler,
            snapshot: Snapshot::new(Arc::clone(cluster), Arc::clone(&scheduler.behavior)),
            oldest: scheduler.oldest.as_deref().map(|it| Box::new(Desk::new(cluster, it))),
            lately: Mutex::default(),
        }
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.snapshot.cluster
    }

    /// Answers for pods, all at once; of pods that are alike, one is tried.
    pub(crate) fn answers<'t>(&self, targets: &'t [Target]) -> Vec<Answer<'t>> {
        let mut tried: Vec<PodId> = Vec::new();
        let mut places: FxHashMap<Look<'_>, Place> = self.known();
        let mut place = |pod: PodId| {
            let mut fresh = || {
                tried.push(pod);
                Place::Tried(tried.len() - 1)
            };
            match Look::of(self.cluster(), pod) {
                Some(look) => places.entry(look).or_insert_with(fresh).clone(),
                None => fresh(),
            }
        };
        let placed: Vec<Option<Place>> = targets.iter().map(Target::pod).map(|it| it.map(&mut place)).collect();
        let decided: Vec<Arc<Decided>> = tried.into_par_iter().map(|pod| Arc::new(self.decide(pod))).collect();
        self.keep(&decided);
        let take = |place| match place {
            Place::Known(decided) => decided,
            Place::Tried(at) => Arc::clone(&decided[at]),
        };
        targets.iter().zip(placed).map(|(target, it)| Answer { target, decided: it.map(take) }).collect()
    }

    fn known(&self) -> FxHashMap<Look<'_>, Place> {
        let lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let look = |it: &Arc<Decided>| Some((Look::of(self.cluster(), it.outcome.pod)?, Place::Known(Arc::clone(it))));
        lately.iter().filter_map(look).collect()
    }

    fn keep(&self, decided: &[Arc<Decided>]) {
        let shared = |it: &&Arc<Decided>| Look::of(self.cluster(), it.outcome.pod).is_some();
        let latest: Vec<&Arc<Decided>> = decided.iter().rev().filter(shared).take(KEPT).collect();
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        lately.extend(latest.into_iter().rev().map(Arc::clone));
        let surplus = lately.len().saturating_sub(KEPT);
        lately.drain(..surplus);
    }

    fn decide(&self, pod: PodId) -> Decided {
        let mut outcome = self.outcome(pod);
        let other_patch = self.oldest.as_ref().and_then(|oldest| {
            let decision = oldest.view(pod, &oldest.outcome(pod)).decision();
            let differs = decision != self.view(pod, &outcome).decision();
            let release = oldest.scheduler.release;
            let version = match release == self.scheduler.release {
                true => format!("{release} built with Go before 1.19"),
                false => release.to_string(),
            };
            differs.then_some(OtherPatch { version, decision })
        });
        if other_patch.is_some() {
            add_cause(&mut outcome.certainty, Cause::UnknownPatch);
        }
        Decided { outcome, other_patch }
    }

    /// What comes of one pod.
    pub(crate) fn outcome(&self, pod: PodId) -> Outcome {
        let mut outcome = cycle::schedule(&self.cycle(pod));
        if outcome.is_failure() || matches!(outcome.disposition, Disposition::Feasible(_)) {
            outcome.gaps.extend(gaps_of_lists(self.cluster()));
            if !outcome.gaps.is_empty() || !self.scheduler.foreign.is_empty() || self.is_extended(pod) {
                outcome.certainty = Certainty::Undetermined;
            }
        }
        outcome
    }

    /// Whether an extender that filters or preempts is interested in the pod. Upstream: `extender.go` IsInterested.
    fn is_extended(&self, pod: PodId) -> bool {
        let cluster = self.cluster();
        let parts = &cluster.pod(pod).requests;
        let asks = |name: &String| {
            let lists = parts.containers.iter().chain(&parts.init_containers).flat_map(|it| &it.requests);
            lists.into_iter().any(|(resource, _)| match resource {
                ResourceName::Scalar(id) | ResourceName::HugePages(id) => cluster.resource_name(*id) == name,
                ResourceName::Cpu => name == "cpu",
                ResourceName::Memory => name == "memory",
                ResourceName::EphemeralStorage => name == "ephemeral-storage",
                ResourceName::Pods => false,
            })
        };
        self.scheduler.extenders.iter().any(|managed| managed.is_empty() || managed.iter().any(asks))
    }

    /// An outcome with names: of this pod, or of one like it.
    pub(crate) fn view<'o>(&'o self, pod: PodId, outcome: &'o Outcome) -> View<'o> {
        View { cycle: self.cycle(pod), outcome }
    }

    /// An answer with names, if the pod is there.
    pub(crate) fn view_of<'o>(&'o self, answer: &'o Answer<'_>) -> Option<View<'o>> {
        Some(self.view(answer.target.pod()?, answer.outcome()?))
    }

    /// What a plugin is given that decides about the pod.
    pub(crate) fn cycle(&self, pod: PodId) -> PodCycle<'_> {
        PodCycle {
            snapshot: &self.snapshot,
            pod,
            profile: profile_of(pod, self.cluster(), &self.scheduler.profiles),
            changed: None,
        }
    }
}

/// The profile that schedules a pod; the first where none does.
pub(crate) fn profile_of<'s>(pod: PodId, cluster: &Cluster, profiles: &'s [Arc<Profile>]) -> &'s Arc<Profile> {
    let name = cluster.text(cluster.pod(pod).spec.scheduler_name);
    profiles.iter().find(|it| it.scheduler_name == name).unwrap_or(&profiles[0])
}

/// Nodes and pods that the dump lost: every sum rests on them.
fn gaps_of_lists(cluster: &Cluster) -> Vec<Gap> {
    let lists = cluster.coverage.iter().filter(|it| matches!(it.kind, Kind::Node | Kind::Pod));
    let gap = |it: &Coverage| Gap {
        kind: it.kind,
        plugin: Plugin::NodeResourcesFit,
        object: None,
        effect: GapEffect::MayDiffer,
    };
    lists.filter(|it| it.has_hole()).map(gap).collect()
}

fn add_cause(certainty: &mut Certainty, cause: Cause) {
    match certainty {
        Certainty::Certain => *certainty = Certainty::OneOf(vec![cause]),
        Certainty::OneOf(causes) => causes.push(cause),
        Certainty::Undetermined => {}
    }
}
