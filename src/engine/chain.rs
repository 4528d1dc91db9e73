//! The active filters of one cycle, in order. Upstream: `runtime/framework.go` RunFilterPlugins and the extensions.

use super::framework::{Code, Fault, GapSet, Minds, NodeStatus, PodFilter, Rejection, Room, Taken, Verdict};
use super::node_view::NodeView;
use crate::kube::behavior::FilterRun;
use crate::kube::plugin::Plugin;
use crate::model::id::PodId;

/// The filters of one cycle, or one node's own copy of them.
///
/// Plugins that skip are not in it. A fork borrows every filter that keeps no state per node and owns only the others.
pub(crate) struct CycleFilters<'s> {
    /// Filter plugins in order, then plugins that have hooks but no Filter in the profile.
    slots: Vec<Slot<'s>>,
    /// How many of the slots filter.
    filtering: usize,
    /// The slots that filter and mind pods, in order.
    minding: Vec<usize>,
    /// None of these minds more than [`Taken`].
    minds_taken_alone: bool,
    /// The slots with hooks, in the order of PreFilter.
    hooks: Vec<usize>,
    run: FilterRun,
    /// The gaps that matter while nothing is taken off a node; empty where the cycle has none.
    gaps_in_filter: GapSet,
    /// All gaps of the cycle.
    gaps_in_dry_run: GapSet,
    /// The internal error that a hook met: no verdict follows it.
    hook_fault: Option<Fault>,
}

enum Slot<'s> {
    Own(Box<dyn PodFilter + 's>),
    Shared(&'s dyn PodFilter),
    /// The plugin's PreFilter never ran: it has no state.
    Unprepared(Plugin),
}

/// Which phase asks: in Filter, a doubt about what victims free does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Filter.
    Filter,
    /// The dry run of preemption.
    DryRun,
}

/// A hook of a plugin without state failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HookFailed(pub(crate) Plugin);

impl<'s> CycleFilters<'s> {
    /// Filters that judge in the order they are pushed.
    pub(crate) fn new(run: FilterRun) -> Self {
        CycleFilters {
            slots: Vec::new(),
            filtering: 0,
            minding: Vec::new(),
            minds_taken_alone: true,
            hooks: Vec::new(),
            run,
            gaps_in_filter: GapSet::NONE,
            gaps_in_dry_run: GapSet::NONE,
            hook_fault: None,
        }
    }

    /// Appends a filter. Those that filter come before those that have only hooks.
    pub(crate) fn push(&mut self, filter: Box<dyn PodFilter + 's>, filters: bool) -> usize {
        self.push_slot(Slot::Own(filter), filters)
    }

    /// Appends a plugin whose PreFilter never ran.
    pub(crate) fn push_unprepared(&mut self, plugin: Plugin, filters: bool) -> usize {
        self.push_slot(Slot::Unprepared(plugin), filters)
    }

    fn push_slot(&mut self, slot: Slot<'s>, filters: bool) -> usize {
        debug_assert!(!filters || self.filtering == self.slots.len(), "a filter after the hooks");
        let minds = slot.minds();
        if filters && minds != Minds::Nothing {
            self.minding.push(self.slots.len());
            self.minds_taken_alone &= minds == Minds::Taken;
        }
        self.slots.push(slot);
        self.filtering += usize::from(filters);
        self.slots.len() - 1
    }

    /// Names the slots with hooks, in the order of PreFilter.
    pub(crate) fn set_hooks(&mut self, hooks: Vec<usize>) {
        self.hooks = hooks;
    }

    /// Names the gaps to look for.
    pub(crate) fn set_gaps(&mut self, in_filter: GapSet, in_dry_run: GapSet) {
        self.gaps_in_filter = in_filter;
        self.gaps_in_dry_run = in_dry_run;
    }

    /// Whether a slot is one whose hooks are called.
    pub(crate) fn has_hooks(&self, slot: usize) -> bool {
        match &self.slots[slot] {
            Slot::Own(filter) => filter.has_hooks(),
            Slot::Shared(filter) => filter.has_hooks(),
            Slot::Unprepared(_) => true,
        }
    }

    /// Whether a slot's plugin has no state.
    pub(crate) fn is_unprepared(&self, slot: usize) -> bool {
        matches!(self.slots[slot], Slot::Unprepared(_))
    }

    /// The verdict on a node, with the gaps that were met on the way to it.
    pub(crate) fn judge(&self, view: &NodeView<'_>, phase: Phase) -> NodeStatus {
        if let Some(fault) = self.hook_fault {
            return NodeStatus::of(Verdict::Faults(fault));
        }
        let mut status = match self.run {
            FilterRun::FirstFailure => {
                let (verdict, reached) = self.first_failure(|slot| slot.filter(view));
                let gaps = self.gaps(view, reached, phase);
                return NodeStatus { verdict, more: Vec::new(), gaps };
            }
            FilterRun::MergeAll => merge(self.slots[..self.filtering].iter().map(|slot| slot.filter(view))),
        };
        status.gaps = self.gaps(view, self.filtering, phase);
        status
    }

    /// The verdict on a node that fitted with fewer pods on it, in a dry run. Filters that do not mind pods say again that it
    /// fits, so they are not asked: neither run of the filters tells a fit that was asked from one that was not.
    pub(crate) fn judge_again(&self, view: &NodeView<'_>) -> NodeStatus {
        if !self.gaps_in_dry_run.is_empty() || self.hook_fault.is_some() {
            return self.judge(view, Phase::DryRun);
        }
        self.again(|slot| slot.filter(view))
    }

    fn again(&self, ask: impl Fn(&Slot<'_>) -> Verdict) -> NodeStatus {
        let mut verdicts = self.minding.iter().map(|at| ask(&self.slots[*at]));
        match self.run {
            FilterRun::FirstFailure => {
                NodeStatus::of(verdicts.find(|verdict| *verdict != Verdict::Fits).unwrap_or(Verdict::Fits))
            }
            FilterRun::MergeAll => merge(verdicts),
        }
    }

    /// Whether [`Taken`] alone decides, of pods that take nothing more: then neither hooks nor gaps are asked for.
    pub(crate) fn mind_taken_alone(&self) -> bool {
        self.minds_taken_alone && self.hooks.is_empty() && self.hook_fault.is_none() && self.gaps_in_dry_run.is_empty()
    }

    /// How much may be taken of a node that fits with less, where that alone decides and can be told.
    pub(crate) fn room(&self, view: &NodeView<'_>) -> Option<Room> {
        let [only] = self.minding.as_slice() else { return None };
        match &self.slots[*only] {
            Slot::Own(filter) => filter.room(view),
            Slot::Shared(filter) => filter.room(view),
            Slot::Unprepared(_) => None,
        }
    }

    /// [`CycleFilters::judge`] of a node of which so much is taken, where that alone decides.
    pub(crate) fn judge_taken(&self, view: &NodeView<'_>, taken: &Taken) -> NodeStatus {
        match self.run {
            FilterRun::FirstFailure => NodeStatus::of(self.first_failure(|slot| slot.filter_taken(view, taken)).0),
            FilterRun::MergeAll => {
                merge(self.slots[..self.filtering].iter().map(|slot| slot.filter_taken(view, taken)))
            }
        }
    }

    /// [`CycleFilters::judge_again`] of a node of which so much is taken, where that alone decides.
    pub(crate) fn judge_taken_again(&self, view: &NodeView<'_>, taken: &Taken) -> NodeStatus {
        self.again(|slot| slot.filter_taken(view, taken))
    }

    /// Whether any hook is called.
    pub(crate) fn any_hooks(&self) -> bool {
        !self.hooks.is_empty()
    }

    /// The first verdict that is not a fit, and how many filters were asked.
    #[inline]
    fn first_failure(&self, ask: impl Fn(&Slot<'_>) -> Verdict) -> (Verdict, usize) {
        for (at, slot) in self.slots[..self.filtering].iter().enumerate() {
            let verdict = ask(slot);
            if verdict != Verdict::Fits {
                return (verdict, at + 1);
            }
        }
        (Verdict::Fits, self.filtering)
    }

    fn gaps(&self, view: &NodeView<'_>, reached: usize, phase: Phase) -> GapSet {
        let wanted = match phase {
            Phase::Filter => self.gaps_in_filter,
            Phase::DryRun => self.gaps_in_dry_run,
        };
        if wanted.is_empty() {
            return GapSet::NONE;
        }
        let all = self.slots[..reached].iter().fold(GapSet::NONE, |all, slot| all.with(slot.gaps_at(view)));
        GapSet(all.0 & wanted.0)
    }

    /// A copy for one node: filters with hooks are forked, the others are shared.
    pub(crate) fn fork(&self) -> CycleFilters<'_> {
        CycleFilters {
            slots: self.slots.iter().map(Slot::fork).collect(),
            filtering: self.filtering,
            minding: self.minding.clone(),
            minds_taken_alone: self.minds_taken_alone,
            hooks: self.hooks.clone(),
            run: self.run,
            gaps_in_filter: self.gaps_in_filter,
            gaps_in_dry_run: self.gaps_in_dry_run,
            hook_fault: self.hook_fault,
        }
    }

    /// Tells the hooks that a pod joined the node of the view.
    pub(crate) fn add_pod(&mut self, pod: PodId, view: &NodeView<'_>) -> Result<(), HookFailed> {
        self.for_hooks(|filter| filter.add_pod(pod, view))
    }

    /// Tells the hooks that a pod left the node of the view.
    pub(crate) fn remove_pod(&mut self, pod: PodId, view: &NodeView<'_>) -> Result<(), HookFailed> {
        self.for_hooks(|filter| filter.remove_pod(pod, view))
    }

    fn for_hooks(&mut self, mut call: impl FnMut(&mut (dyn PodFilter + 's))) -> Result<(), HookFailed> {
        for &at in &self.hooks {
            match &mut self.slots[at] {
                Slot::Own(filter) => {
                    call(filter.as_mut());
                    self.hook_fault = self.hook_fault.or(filter.hook_fault());
                }
                Slot::Shared(_) => debug_assert!(false, "a filter with hooks is always forked"),
                Slot::Unprepared(plugin) => return Err(HookFailed(*plugin)),
            }
        }
        Ok(())
    }
}

/// Every filter is asked; a fault wins, and one unresolvable rejection makes the whole unresolvable.
fn merge(verdicts: impl Iterator<Item = Verdict>) -> NodeStatus {
    let mut merged = NodeStatus::of(Verdict::Fits);
    for verdict in verdicts {
        merged.verdict = match (merged.verdict, verdict) {
            (before @ Verdict::Faults(_), _) | (before, Verdict::Fits) => before,
            (_, fault @ Verdict::Faults(_)) => fault,
            (Verdict::Fits, first @ Verdict::Rejects(..)) => first,
            // The status names the plugin of the gravest code; of several, the random order of a map decides.
            (Verdict::Rejects(first, Code::Unschedulable), Verdict::Rejects(next, Code::Unresolvable)) => {
                merged.more.insert(0, first);
                Verdict::Rejects(next, Code::Unresolvable)
            }
            (before @ Verdict::Rejects(..), Verdict::Rejects(next, _)) => {
                merged.more.push(next);
                before
            }
        };
    }
    if let Verdict::Faults(_) = merged.verdict {
        merged.more.clear();
    }
    merged
}

impl Slot<'_> {
    fn minds(&self) -> Minds {
        match self {
            Slot::Own(filter) => filter.minds(),
            Slot::Shared(filter) => filter.minds(),
            Slot::Unprepared(_) => Minds::Pods,
        }
    }

    #[inline]
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        match self {
            Slot::Own(filter) => filter.filter(view),
            Slot::Shared(filter) => filter.filter(view),
            Slot::Unprepared(plugin) => Verdict::Faults(Fault::StateMissing { plugin: *plugin }),
        }
    }

    #[inline]
    fn filter_taken(&self, view: &NodeView<'_>, taken: &Taken) -> Verdict {
        match self {
            Slot::Own(filter) => filter.filter_taken(view, taken),
            Slot::Shared(filter) => filter.filter_taken(view, taken),
            Slot::Unprepared(plugin) => Verdict::Faults(Fault::StateMissing { plugin: *plugin }),
        }
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        match self {
            Slot::Own(filter) => filter.gaps_at(view),
            Slot::Shared(filter) => filter.gaps_at(view),
            Slot::Unprepared(_) => GapSet::NONE,
        }
    }

    fn fork(&self) -> Slot<'_> {
        match self {
            Slot::Own(filter) if filter.has_hooks() => Slot::Own(filter.fork()),
            Slot::Own(filter) => Slot::Shared(filter.as_ref()),
            Slot::Shared(filter) => Slot::Shared(*filter),
            Slot::Unprepared(plugin) => Slot::Unprepared(*plugin),
        }
    }
}

impl HookFailed {
    /// The status of a node on which a hook failed outside of a dry run.
    pub(crate) fn status(self) -> NodeStatus {
        NodeStatus::of(Verdict::Faults(Fault::StateMissing { plugin: self.0 }))
    }
}

/// A rejection as a verdict's parts.
pub(crate) fn rejection(verdict: Verdict) -> Option<(Rejection, Code)> {
    match verdict {
        Verdict::Rejects(rejection, code) => Some((rejection, code)),
        Verdict::Fits | Verdict::Faults(_) => None,
    }
}
