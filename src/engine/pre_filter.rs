//! The PreFilter phase. Upstream: `runtime/framework.go` RunPreFilterPlugins.

use super::chain::CycleFilters;
use super::framework::{
    Code, Fault, Gap, GapEffect, GapSet, Gaps, NarrowedNode, PodCycle, PodFilter, PreFilter, Rejection,
};
use super::outcome::PreFilterRejection;
use super::registry;
use crate::kube::behavior::{EmptyIntersection, PreFilterRejected, ReadWriteOncePod};
use crate::kube::plugin::Plugin;

/// What PreFilter leaves behind.
pub(crate) struct Prepared<'a> {
    /// The filters that go on.
    pub(crate) filters: CycleFilters<'a>,
    /// The nodes to which the pod is narrowed.
    pub(crate) narrowed: Option<Vec<NarrowedNode>>,
    /// The plugins that narrowed, in order.
    pub(crate) narrowed_by: Vec<Plugin>,
    /// How the phase ended, if not well.
    pub(crate) end: Option<PreFilterEnd>,
    /// The plugins that ran, in order.
    pub(crate) ran: Vec<Plugin>,
    /// What the dump lacks.
    pub(crate) gaps: Gaps,
    /// Those of the gaps that the plugin named which ended the phase.
    pub(crate) end_gaps: GapSet,
}

/// An end of PreFilter that leaves Filter out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreFilterEnd {
    /// The pod is rejected everywhere.
    Rejected(PreFilterRejection),
    /// The attempt ends.
    Faulted(Fault),
}

enum State<'a> {
    Ready(Box<dyn PodFilter + 'a>),
    Skipped,
}

/// Runs PreFilter in the profile's order and makes the filters of the cycle.
pub(crate) fn run<'a>(cycle: &PodCycle<'a>) -> Prepared<'a> {
    let mut phase = PreFilterPhase {
        cycle: *cycle,
        states: Vec::new(),
        narrowed: None,
        narrowed_by: Vec::new(),
        end: None,
        gaps: Gaps::default(),
        end_gaps: GapSet::NONE,
    };
    phase.run();
    phase.finish()
}

struct PreFilterPhase<'a> {
    cycle: PodCycle<'a>,
    /// Plugins that ran, with what they left; one that rejected left nothing.
    states: Vec<(Plugin, Option<State<'a>>)>,
    narrowed: Option<Vec<NarrowedNode>>,
    narrowed_by: Vec<Plugin>,
    end: Option<PreFilterEnd>,
    gaps: Gaps,
    end_gaps: GapSet,
}

impl<'a> PreFilterPhase<'a> {
    fn run(&mut self) {
        for &plugin in &self.cycle.profile.pre_filters {
            let Some(code) = registry::find(plugin) else { continue };
            let known_gaps = self.gaps.list.len();
            match code.pre_filter(&self.cycle, &mut self.gaps) {
                PreFilter::Skip => self.states.push((plugin, Some(State::Skipped))),
                PreFilter::Run { filter, nodes } => {
                    self.states.push((plugin, Some(State::Ready(filter))));
                    if let Some(nodes) = nodes {
                        self.narrow(plugin, nodes);
                    }
                    if self.end.is_some() {
                        return;
                    }
                }
                PreFilter::Reject(rejection, code) => {
                    self.states.push((plugin, None));
                    // Since 1.30 the others still run after a plain Unschedulable, which no plugin here gives.
                    self.reject(Some(plugin), rejection, code);
                    self.end_gaps = gaps_since(&self.gaps, known_gaps);
                    return;
                }
                PreFilter::Fault(fault) => {
                    self.states.push((plugin, None));
                    self.end = Some(PreFilterEnd::Faulted(fault));
                    self.end_gaps = gaps_since(&self.gaps, known_gaps);
                    return;
                }
            }
        }
    }

    fn reject(&mut self, plugin: Option<Plugin>, rejection: Rejection, code: Code) {
        self.end = Some(match self.cycle.snapshot.behavior.frame.pre_filter_rejection {
            PreFilterRejected::Error => PreFilterEnd::Faulted(Fault::PreFilterRejected { rejection }),
            PreFilterRejected::CopyToNodes | PreFilterRejected::ForgetNodes => {
                PreFilterEnd::Rejected(PreFilterRejection { plugin, rejection, code })
            }
        });
    }

    fn narrow(&mut self, plugin: Plugin, mut nodes: Vec<NarrowedNode>) {
        self.narrowed_by.push(plugin);
        nodes.sort_unstable();
        nodes.dedup();
        if let Some(before) = &self.narrowed {
            nodes.retain(|node| before.binary_search(node).is_ok());
        }
        if nodes.is_empty() {
            let code = match self.cycle.snapshot.behavior.frame.empty_intersection {
                EmptyIntersection::Unschedulable => Code::Unschedulable,
                EmptyIntersection::Unresolvable => Code::Unresolvable,
            };
            self.reject(None, Rejection::NoNodeInCommon, code);
        }
        self.narrowed = Some(nodes);
    }

    /// Filters of the profile that stand at no PreFilter are made now, which upstream does at the first node.
    fn finish(mut self) -> Prepared<'a> {
        let ran: Vec<Plugin> = self.states.iter().map(|(plugin, _)| *plugin).collect();
        let profile = self.cycle.profile;
        let mut filters = CycleFilters::new(self.cycle.snapshot.behavior.frame.filter_run);
        let mut slots: Vec<(Plugin, usize)> = Vec::new();
        for &plugin in &profile.filters {
            if registry::find(plugin).is_some()
                && let Some(slot) = self.slot(plugin, &mut filters, true)
            {
                slots.push((plugin, slot));
            }
        }
        for &plugin in profile.pre_filters.iter().filter(|plugin| !profile.filters.contains(plugin)) {
            if registry::find(plugin).is_some()
                && let Some(slot) = self.slot(plugin, &mut filters, false)
            {
                slots.push((plugin, slot));
            }
        }
        let hooks = profile.pre_filters.iter().filter_map(|plugin| {
            let slot = slots.iter().find(|(known, _)| known == plugin)?.1;
            let called =
                if filters.is_unprepared(slot) { self.unprepared_hook_fails(*plugin) } else { filters.has_hooks(slot) };
            called.then_some(slot)
        });
        let hooks = hooks.collect();
        filters.set_hooks(hooks);
        let (in_filter, in_dry_run) = gap_sets(&self.gaps);
        filters.set_gaps(in_filter, in_dry_run);
        Prepared {
            filters,
            narrowed: self.narrowed,
            narrowed_by: self.narrowed_by,
            end: self.end,
            ran,
            gaps: self.gaps,
            end_gaps: self.end_gaps,
        }
    }

    fn slot(&mut self, plugin: Plugin, filters: &mut CycleFilters<'a>, judges: bool) -> Option<usize> {
        if let Some(at) = self.states.iter().position(|(known, _)| *known == plugin) {
            return match self.states[at].1.take() {
                Some(State::Ready(filter)) => Some(filters.push(filter, judges)),
                Some(State::Skipped) if self.forgets_skips(plugin) => Some(filters.push_unprepared(plugin, judges)),
                Some(State::Skipped) => None,
                None => Some(filters.push_unprepared(plugin, judges)),
            };
        }
        let profile = self.cycle.profile;
        if profile.pre_filters.contains(&plugin) || profile.unprepared.contains(&plugin) {
            return Some(filters.push_unprepared(plugin, judges));
        }
        match registry::find(plugin)?.pre_filter(&self.cycle, &mut self.gaps) {
            PreFilter::Run { filter, nodes: _ } => Some(filters.push(filter, judges)),
            // Without a PreFilter there is nothing to reject with.
            PreFilter::Skip | PreFilter::Reject(..) | PreFilter::Fault(_) => None,
        }
    }

    /// The releases that forget a PreFilter rejection also forget which plugins had nothing to do. VolumeRestrictions left
    /// its state all the same in the first of them.
    fn forgets_skips(&self, plugin: Plugin) -> bool {
        matches!(plugin, Plugin::PodTopologySpread | Plugin::InterPodAffinity)
            && self.end.is_some()
            && self.cycle.snapshot.behavior.frame.pre_filter_rejection == PreFilterRejected::ForgetNodes
    }

    /// Whether the plugin has hooks, which fail without its state.
    fn unprepared_hook_fails(&self, plugin: Plugin) -> bool {
        match plugin {
            Plugin::PodTopologySpread | Plugin::InterPodAffinity => true,
            Plugin::VolumeRestrictions => {
                self.cycle.snapshot.behavior.volumes.read_write_once_pod == ReadWriteOncePod::Filter
            }
            Plugin::NodeUnschedulable
            | Plugin::NodeName
            | Plugin::TaintToleration
            | Plugin::NodeAffinity
            | Plugin::NodePorts
            | Plugin::NodeResourcesFit
            | Plugin::EBSLimits
            | Plugin::GCEPDLimits
            | Plugin::NodeVolumeLimits
            | Plugin::AzureDiskLimits
            | Plugin::CinderLimits
            | Plugin::VolumeBinding
            | Plugin::VolumeZone
            | Plugin::DynamicResources
            | Plugin::NodeDeclaredFeatures
            | Plugin::SchedulingGates
            | Plugin::DefaultPreemption => false,
        }
    }
}

/// The gaps past the first ones of a list.
fn gaps_since(gaps: &Gaps, known: usize) -> GapSet {
    (known..gaps.list.len()).fold(GapSet::NONE, |set, at| set.with(GapSet(1 << at.min(31))))
}

/// The gaps that matter in Filter, and in a dry run.
fn gap_sets(gaps: &Gaps) -> (GapSet, GapSet) {
    let bit = |at: usize| GapSet(1 << at.min(31));
    let matters_in_filter = |gap: &Gap| match gap.effect {
        GapEffect::MayReject | GapEffect::MayDiffer | GapEffect::NotModelled => true,
        GapEffect::MayFreeLess => false,
    };
    let all = gaps.list.iter().enumerate();
    all.fold((GapSet::NONE, GapSet::NONE), |(in_filter, in_dry_run), (at, gap)| {
        let in_filter = if matters_in_filter(gap) { in_filter.with(bit(at)) } else { in_filter };
        (in_filter, in_dry_run.with(bit(at)))
    })
}
