//! Pods and what came of them.

use super::scheduler::Scheduler;
use super::target::Target;
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
use std::sync::Arc;

/// A scheduler in front of a cluster.
pub(crate) struct Desk<'a> {
    scheduler: &'a Scheduler,
    snapshot: Snapshot,
    /// The oldest patch that may be meant, where it behaves otherwise.
    oldest: Option<Box<Desk<'a>>>,
}

/// A pod that was asked for, with what came of it if it is there.
pub(crate) struct Answer<'t> {
    /// What was asked for.
    pub(crate) target: &'t Target,
    /// What came of it.
    pub(crate) outcome: Option<Outcome>,
    /// What another patch answers, where it differs.
    pub(crate) other_patch: Option<OtherPatch>,
}

impl<'a> Desk<'a> {
    /// Puts the scheduler in front of the cluster.
    pub(crate) fn new(cluster: &Arc<Cluster>, scheduler: &'a Scheduler) -> Self {
        Desk {
            scheduler,
            snapshot: Snapshot::new(Arc::clone(cluster), Arc::clone(&scheduler.behavior)),
            oldest: scheduler.oldest.as_deref().map(|it| Box::new(Desk::new(cluster, it))),
        }
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.snapshot.cluster
    }

    /// Answers for pods, all at once.
    pub(crate) fn answers<'t>(&self, targets: &'t [Target]) -> Vec<Answer<'t>> {
        targets.par_iter().map(|it| self.answer(it)).collect()
    }

    fn answer<'t>(&self, target: &'t Target) -> Answer<'t> {
        let Target::Pod(pod) = target else { return Answer { target, outcome: None, other_patch: None } };
        let mut outcome = self.outcome(*pod);
        let other_patch = self.oldest.as_ref().and_then(|oldest| {
            let decision = oldest.view(&oldest.outcome(*pod)).decision();
            let differs = decision != self.view(&outcome).decision();
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
        Answer { target, outcome: Some(outcome), other_patch }
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

    /// An outcome with names.
    pub(crate) fn view<'o>(&'o self, outcome: &'o Outcome) -> View<'o> {
        View { cycle: self.cycle(outcome.pod), outcome }
    }

    /// What a plugin is given that decides about the pod.
    pub(crate) fn cycle(&self, pod: PodId) -> PodCycle<'_> {
        PodCycle { snapshot: &self.snapshot, pod, profile: profile_of(pod, self.cluster(), &self.scheduler.profiles) }
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
