//! One pod's outcome for people: the first line answers, each block answers the next question.

use super::amount::{amount, clock, count, free_of_asked, plural, resource_name, span};
use super::compare;
use super::groups::{self, Group, Obstacle};
use super::holes;
use super::json::{OtherPatch, PodOutcome};
use super::page::{Column, Ink, Page, TableRow, numbers, words};
use super::view::{View, cause_text};
use crate::engine::node_view::NodeView;
use crate::engine::outcome::{Candidate, Certainty, Choice, Criterion, Disposition, Eligibility, Gated, Victim};
use crate::explain::effects::Effect;
use crate::explain::help::{self, Change, Would};
use crate::explain::node_story::NodeStory;
use crate::explain::numbers as sums;
use crate::kube::behavior::VictimDeletions;
use crate::model::id::{NodeId, PdbId, PodId};
use crate::model::resources::ResourceName;
use std::collections::BTreeMap;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// About a screen.
    Screen,
    /// Everything.
    Wide,
}

impl Detail {
    fn at_most(self, screen: usize) -> usize {
        match self {
            Detail::Screen => screen,
            Detail::Wide => usize::MAX,
        }
    }
}

/// Tells what came of a pod.
pub fn tell(page: &mut Page, view: &View<'_>, other_patch: Option<&OtherPatch>, detail: Detail) {
    Story { page, view: *view, other_patch, detail }.tell();
}

/// Sums over thousands of nodes are not worth a line.
const NODES_SUMMED: usize = 200;

struct Story<'a, 'p> {
    page: &'p mut Page,
    view: View<'a>,
    other_patch: Option<&'a OtherPatch>,
    detail: Detail,
}

impl Story<'_, '_> {
    fn tell(&mut self) {
        let (ink, verdict) = self.verdict();
        self.page.gap();
        if self.view.outcome.certainty == Certainty::Undetermined {
            let name = self.view.cluster().pod_key(self.view.cycle.pod);
            let text = format!("{name}: undetermined{}. Leaving that aside:", self.lacking());
            self.page.painted(0, Some(Ink::Careful), &text);
        }
        self.page.painted(0, Some(ink), &verdict);
        match self.view.chosen() {
            Some((choice, candidate)) => {
                self.victims(candidate);
                self.budgets(candidate);
                self.why_node(choice);
                self.other_nodes("Why not the other nodes");
                self.next(candidate);
            }
            None => self.why_not(),
        }
        self.uncertain();
    }

    // ---- the first line

    fn verdict(&self) -> (Ink, String) {
        let who = self.who();
        match &self.view.outcome.disposition {
            Disposition::Bound => (Ink::Heading, format!("{who} has a node already: {}.", self.bound_to())),
            Disposition::Terminal => (Ink::Heading, format!("{who} is finished; no scheduler looks at it.")),
            Disposition::Deleting => (Ink::Heading, format!("{who} is being deleted; the scheduler passes it over.")),
            Disposition::OtherScheduler => {
                let spec = &self.view.cycle.incoming().spec;
                let name = self.view.cluster().text(spec.scheduler_name);
                (Ink::Heading, format!("{who} is not this scheduler's: its schedulerName is {name}."))
            }
            Disposition::Gated(Gated::SchedulingGates) => {
                let text = self.view.words().message().unwrap_or_default();
                (Ink::Heading, format!("{who} is not tried: it is {text}."))
            }
            Disposition::Gated(Gated::ResourceClaims) => {
                let text = self.view.words().message().unwrap_or_default();
                (Ink::Heading, format!("{who} is not tried: {text}."))
            }
            Disposition::Feasible(nodes) => (Ink::Good, self.fits(nodes)),
            Disposition::Error(fault) => {
                let text = self.view.words().fault(fault);
                (Ink::Bad, format!("{who} stays pending: the attempt ends with an error before preemption: {text}."))
            }
            Disposition::Unschedulable => self.unschedulable(),
        }
    }

    fn unschedulable(&self) -> (Ink, String) {
        let who = self.who();
        match self.view.pod_outcome() {
            PodOutcome::Nominated => match self.view.chosen() {
                Some((choice, candidate)) => self.nominated(choice, candidate),
                None => (Ink::Heading, format!("{who} is nominated.")),
            },
            PodOutcome::Ineligible => (Ink::Careful, self.ineligible()),
            _ => (Ink::Bad, format!("{who} stays pending: no node can be freed by preemption.")),
        }
    }

    fn nominated(&self, choice: &Choice, candidate: &Candidate) -> (Ink, String) {
        let who = self.who();
        let node = self.view.node_name(choice.node);
        let possible = choice.possible_nodes();
        if possible.len() > 1 {
            let nodes = self.shares(&possible);
            return (Ink::Careful, format!("{who} preempts on one of {} nodes: {nodes}.", possible.len()));
        }
        if choice.outcomes.len() > 1 {
            let sets = choice.outcomes.len();
            return (Ink::Careful, format!("{who} preempts on {node}, one of {sets} sets of victims."));
        }
        let victims: usize = candidate.victims.len();
        if choice.all_terminating {
            let text = format!(
                "{who} gets {node} nominated and waits: {} there must go and {} terminating already; nobody is evicted anew.",
                count(victims, "pod"),
                if victims == 1 { "is" } else { "are" },
            );
            return (Ink::Careful, text);
        }
        let violated = violated_budgets(candidate);
        let budgets = match violated.len() {
            0 => "no budget is violated".to_owned(),
            1 => format!("budget {} is violated", self.view.pdb_key(*violated.keys().next().expect("one is there"))),
            many => format!("{many} budgets are violated"),
        };
        let ink = if violated.is_empty() { Ink::Heading } else { Ink::Bad };
        (ink, format!("{who} preempts {} on {node}; {budgets}.", count(victims, "pod")))
    }

    fn shares(&self, possible: &[(NodeId, f64)]) -> String {
        let shown = self.detail.at_most(5);
        let share = |(node, share): &(NodeId, f64)| format!("{} ({})", self.view.node_name(*node), percent(*share));
        let mut parts: Vec<String> = possible.iter().take(shown).map(share).collect();
        if possible.len() > shown {
            parts.push(format!("and {} more", possible.len() - shown));
        }
        parts.join(", ")
    }

    fn fits(&self, nodes: &[NodeId]) -> String {
        let all = self.view.cluster().nodes.len();
        format!("{} needs no preemption: it fits on {} of {} ({}).", self.who(), nodes.len(), count(all, "node"), {
            self.node_names(nodes, self.detail.at_most(3))
        })
    }

    fn ineligible(&self) -> String {
        let who = self.who();
        let Some(preemption) = self.view.preemption() else { return format!("{who} may not preempt.") };
        match preemption.eligibility {
            Eligibility::Eligible => format!("{who} may preempt."),
            Eligibility::PolicyNever => format!("{who} may not preempt: its preemptionPolicy is Never."),
            Eligibility::TerminatingPod { pod, node } => format!(
                "{who} may not preempt again: {} is still terminating on its nominated node {}.",
                self.view.cluster().pod_key(pod),
                self.view.node_name(node),
            ),
        }
    }

    /// `shop/checkout-1 (priority 10000, class urgent)`.
    fn who(&self) -> String {
        let pod = self.view.cycle.incoming();
        let key = self.view.cluster().pod_key(self.view.cycle.pod);
        match pod.priority_class {
            Some(class) => format!("{key} (priority {}, class {})", pod.priority(), self.view.cluster().text(class)),
            None => format!("{key} (priority {})", pod.priority()),
        }
    }

    fn bound_to(&self) -> &str {
        self.view.cycle.incoming().node_name.map_or("", |it| self.view.cluster().text(it))
    }

    fn node_names(&self, nodes: &[NodeId], shown: usize) -> String {
        let mut names: Vec<&str> = nodes.iter().take(shown).map(|it| self.view.node_name(*it)).collect();
        let more = format!("and {} more", nodes.len().saturating_sub(shown));
        if nodes.len() > shown {
            names.push(&more);
        }
        names.join(", ")
    }

    /// `, for the dump lacks ResourceSlices`.
    fn lacking(&self) -> String {
        let mut kinds: Vec<String> = self.view.outcome.gaps.iter().map(|it| plural(it.kind.name())).collect();
        kinds.sort_unstable();
        kinds.dedup();
        match kinds.as_slice() {
            [] => String::new(),
            some => format!(", for the dump does not hold all {}", some.join(", ")),
        }
    }

    // ---- victims

    fn victims(&mut self, candidate: &Candidate) {
        self.page.heading(&format!("Victims on {}", self.view.node_name(candidate.node)));
        let shown = self.detail.at_most(8);
        let again = self.view.node_story(candidate.node);
        let rows = candidate.victims.iter().take(shown).map(|it| self.victim(candidate.node, it, &again)).collect();
        self.page.table(&[words("POD"), words("OWNER"), numbers("PRIORITY"), words("STARTED (UTC)")], rows);
        if candidate.victims.len() > shown {
            self.page.sentence(2, &format!("… and {} more; --wide shows all", candidate.victims.len() - shown));
        }
        if !candidate.reprieved.is_empty() {
            let keys = self.some_pods(&candidate.reprieved);
            self.page.painted(2, Some(Ink::Good), &format!("Reprieved (may stay): {keys}"));
        }
        self.other_victims(candidate.node);
        let unsure: Vec<&Victim> = candidate.victims.iter().filter(|it| !it.equals().is_empty()).take(3).collect();
        for victim in unsure {
            let stand_ins = self.some_pods(victim.equals());
            let text = format!(
                "± {} is equal in priority and start second to {stand_ins}, which may stand in its place: only the scheduler's memory tells.",
                self.view.cluster().pod_key(victim.pod),
            );
            self.page.painted(2, Some(Ink::Careful), &text);
        }
    }

    /// Who else may be evicted on the node, where a draw decides.
    fn other_victims(&mut self, node: NodeId) {
        let Some((choice, _)) = self.view.chosen() else { return };
        let here = choice.outcomes.iter().filter(|it| it.node == node);
        let others = here.filter_map(|it| Some((it.share, it.variant.as_deref()?))).take(self.detail.at_most(3));
        for (share, other) in others.collect::<Vec<_>>() {
            let pods: Vec<PodId> = other.victims.iter().map(|it| it.pod).collect();
            let chance = if share > 0.0 { format!(" ({})", percent(share)) } else { String::new() };
            let text = format!("Or these instead{chance}: {}", self.some_pods(&pods));
            self.page.painted(2, Some(Ink::Careful), &text);
        }
    }

    fn victim(&self, node: NodeId, victim: &Victim, again: &NodeStory) -> TableRow {
        let cluster = self.view.cluster();
        let first = victim.pod;
        let pod = cluster.pod(first);
        let mark = if victim.equals().is_empty() { "" } else { " ±" };
        let started = match pod.started {
            Some(time) => clock(time),
            None => "not started".to_owned(),
        };
        let owner = self.view.owner(first).unwrap_or_else(|| "none".to_owned());
        let cells = vec![format!("{}{mark}", cluster.pod_key(first)), owner, pod.priority().to_string(), started];
        let mut row = TableRow::new(cells).painted(if pod.deleted.is_some() { Ink::Faint } else { Ink::Bad });
        if pod.deleted.is_some() {
            row = row.below("terminating already: it is not evicted anew");
        }
        row.below(self.why_victim(node, victim, again))
    }

    fn why_victim(&self, node: NodeId, victim: &Victim, again: &NodeStory) -> String {
        let reasons = self.view.words().status(&victim.kept_out_by, node).reasons.join(", ");
        let sums = self.view.sums(again, victim.pod);
        let sums = if sums.is_empty() { String::new() } else { format!(" ({sums})") };
        format!("had to go: with it back, {reasons}{sums}")
    }

    fn some_pods(&self, pods: &[PodId]) -> String {
        let shown = self.detail.at_most(5);
        let mut keys = self.view.pod_keys(&pods[..pods.len().min(shown)]);
        if pods.len() > shown {
            keys.push(format!("and {} more", pods.len() - shown));
        }
        keys.join(", ")
    }

    // ---- budgets

    fn budgets(&mut self, candidate: &Candidate) {
        let mut charged: BTreeMap<PdbId, (i64, i64, i64, i64)> = BTreeMap::new();
        for charge in candidate.victims.iter().flat_map(Victim::pdbs) {
            let (allowed, victims, violated, counted) = charged.entry(charge.pdb).or_default();
            *allowed = charge.allowed;
            *victims += 1;
            *violated += i64::from(charge.violated);
            *counted += i64::from(charge.already_disrupted);
        }
        if charged.is_empty() {
            return;
        }
        self.page.heading("Budgets");
        for (pdb, (allowed, victims, violated, counted)) in charged {
            let health = self.view.cluster().pdb(pdb).health;
            let health =
                health.map_or(String::new(), |it| format!(" ({} healthy of {} wanted)", it.current, it.desired));
            let counted = match counted {
                0 => String::new(),
                _ => format!(", {counted} of them counted as disrupted before"),
            };
            let name = self.view.pdb_key(pdb);
            let victims = count(usize::try_from(victims).unwrap_or(0), "victim");
            let allowed = match allowed {
                1 => "1 disruption".to_owned(),
                _ => format!("{allowed} disruptions"),
            };
            let allows = format!("{name} allows {allowed}{health}; {victims}{counted}");
            let (ink, text) = match violated {
                0 => (Ink::Good, format!("{allows}: kept")),
                _ => (Ink::Bad, format!("{allows}: exceeded by {violated}")),
            };
            self.page.painted(2, Some(ink), &text);
        }
    }

    // ---- why this node

    fn why_node(&mut self, choice: &Choice) {
        let Some(preemption) = self.view.preemption() else { return };
        let name = self.view.node_name(choice.node).to_owned();
        self.page.heading(&format!("Why {name}"));
        if preemption.candidates.len() == 1 {
            self.page.sentence(2, "It is the only node that preemption can free.");
            return;
        }
        let mut order: Vec<usize> = (0..preemption.candidates.len()).collect();
        let mut likely = vec![usize::MAX; self.view.cluster().nodes.len()];
        for (place, outcome) in choice.outcomes.iter().enumerate().rev() {
            likely[outcome.node.index()] = place;
        }
        let rank = |at: &usize| {
            let node = preemption.candidates[*at].node;
            match choice.lost_on[*at] {
                None => (0, usize::from(node != choice.node), 0),
                // Whoever was dropped last came nearest.
                Some(criterion) => (1, likely[node.index()], usize::MAX - criterion as usize),
            }
        };
        order.sort_by_cached_key(|at| (rank(at), *at));
        let shown = self.detail.at_most(5);
        let deepest = order.iter().take(shown).filter_map(|at| choice.lost_on[*at]).max();
        let columns = candidate_columns(deepest, choice);
        let winner = &preemption.candidates[order[0]];
        let rows = order.iter().take(shown).map(|at| {
            let candidate = &preemption.candidates[*at];
            let lost = choice.lost_on[*at];
            self.candidate(candidate, winner, lost, choice, deepest)
        });
        let rows: Vec<TableRow> = rows.collect();
        self.page.table(&columns, rows);
        if order.len() > shown {
            self.page.sentence(2, &format!("… and {} more; --wide shows all", order.len() - shown));
        }
        self.page
            .sentence(2, &self.deciding(choice, winner, &preemption.candidates[order[1]], choice.lost_on[order[1]]));
    }

    fn candidate(
        &self,
        it: &Candidate,
        winner: &Candidate,
        lost: Option<Criterion>,
        choice: &Choice,
        deepest: Option<Criterion>,
    ) -> TableRow {
        let chosen = it.node == choice.node;
        let mark = if chosen { "→" } else { " " };
        let victims: usize = it.victims.len();
        let mut cells = vec![format!("{mark} {}", self.view.node_name(it.node)), victims.to_string()];
        if choice.outcomes.len() > 1 {
            let own: Vec<f64> =
                choice.outcomes.iter().filter(|other| other.node == it.node).map(|it| it.share).collect();
            cells.insert(1, if own.is_empty() { "never".to_owned() } else { percent(own.iter().sum()) });
        }
        cells.push(it.pdb_violations.to_string());
        cells.push(it.score.highest_priority.to_string());
        if deepest >= Some(Criterion::PrioritySum) {
            cells.push(it.score.priority_sum.to_string());
        }
        if deepest >= Some(Criterion::LatestStart) {
            cells.push(it.score.earliest_start.map_or_else(|| "not started".to_owned(), clock));
        }
        cells.push(match lost {
            None if chosen => String::new(),
            None => "equal in every criterion".to_owned(),
            Some(criterion) => self.lost(criterion, it, winner),
        });
        let row = TableRow::new(cells);
        let possible = choice.outcomes.iter().any(|outcome| outcome.node == it.node);
        if chosen || !possible {
            return row;
        }
        let pods: Vec<PodId> = it.victims.iter().map(|victim| victim.pod).collect();
        row.below(format!("victims there: {}", self.some_pods(&pods)))
    }

    fn lost(&self, criterion: Criterion, it: &Candidate, winner: &Candidate) -> String {
        match criterion {
            Criterion::PdbViolations => {
                let names: Vec<String> = violated_budgets(it).keys().map(|pdb| self.view.pdb_key(*pdb)).collect();
                match names.as_slice() {
                    [] => "more PDB violations".to_owned(),
                    [one] => format!("more PDB violations ({one})"),
                    [one, ..] => format!("more PDB violations ({one}, …)"),
                }
            }
            Criterion::HighestPriority => {
                format!("higher victim: {} > {}", it.score.highest_priority, winner.score.highest_priority)
            }
            Criterion::PrioritySum => "larger sum of priorities".to_owned(),
            Criterion::VictimCount => "more victims".to_owned(),
            Criterion::LatestStart => "its highest victim runs longer".to_owned(),
        }
    }

    fn deciding(&self, choice: &Choice, winner: &Candidate, second: &Candidate, lost: Option<Criterion>) -> String {
        let (first, other) = (self.view.node_name(choice.node), self.view.node_name(second.node));
        let why = match choice.decided_by {
            _ if choice.tied.len() > 1 => {
                return format!(
                    "{} nodes are equal to the last criterion; the scheduler takes any of them.",
                    choice.tied.len()
                );
            }
            None => return String::new(),
            Some(Criterion::PdbViolations) => "fewer PDB violations come before everything else",
            Some(Criterion::HighestPriority) => "the lower highest victim decides",
            Some(Criterion::PrioritySum) => "the smaller sum of victims' priorities decides",
            Some(Criterion::VictimCount) => "fewer victims decide",
            Some(Criterion::LatestStart) => "the highest victim that started later decides",
        };
        let cheaper = match lost {
            Some(Criterion::PdbViolations) if second.score.highest_priority < winner.score.highest_priority => {
                format!(", though the victims on {other} have lower priority")
            }
            Some(Criterion::HighestPriority) if second.victims.len() < winner.victims.len() => {
                format!(", though {other} has fewer victims")
            }
            _ => String::new(),
        };
        let tried = if choice.outcomes.len() > 1 { "Where both are tried, " } else { "" };
        format!("{tried}{first} before {other}: {why}{cheaper}.")
    }

    // ---- other nodes

    fn other_nodes(&mut self, heading: &str) {
        let groups = groups::of(&self.view);
        if groups.is_empty() {
            return;
        }
        self.page.heading(heading);
        self.groups(&groups);
    }

    fn groups(&mut self, groups: &[Group]) {
        let shown = self.detail.at_most(6);
        let digits = groups.iter().map(|it| it.nodes.len().to_string().len()).max().unwrap_or(1);
        for group in groups.iter().take(shown) {
            let names = match (self.detail, group.nodes.len()) {
                (Detail::Wide, _) | (_, 1..=3) => format!(" ({})", self.node_names(&group.nodes, usize::MAX)),
                _ => String::new(),
            };
            let number = group.nodes.len();
            let noun = if number == 1 { "node " } else { "nodes" };
            let text = format!("{number:>digits$} {noun}  {}{names}", self.obstacle(group));
            self.page.sentence(2, &text);
        }
        if groups.len() > shown {
            let nodes: usize = groups[shown..].iter().map(|it| it.nodes.len()).sum();
            let rest = count(groups.len() - shown, "further reason");
            self.page.sentence(2, &format!("… and {} for {rest}; --wide shows all", count(nodes, "node")));
        }
    }

    fn obstacle(&self, group: &Group) -> String {
        let reason = &group.reason;
        match group.obstacle {
            Obstacle::CannotHelp => {
                let room = self.most_room(group).map_or(String::new(), |it| format!(" ({it})"));
                format!("{reason}{room}: preemption cannot help")
            }
            Obstacle::NotTried => reason.clone(),
            Obstacle::NoVictims => {
                let lowest = group.nodes.iter().filter_map(|it| sums::lowest_priority(&self.view.cycle, *it)).min();
                match lowest {
                    Some(lowest) => format!("{reason}, and no pod of lower priority there (lowest: {lowest})"),
                    None => format!("{reason}, and no pod there"),
                }
            }
            Obstacle::EvenWithout => {
                let free = self.best_free(group).map_or(String::new(), |it| format!(": {it}"));
                format!("{reason} even with every pod of lower priority gone{free}")
            }
            Obstacle::Error => format!("an error: {reason}"),
            Obstacle::Unrecorded => "not looked at: PreFilter left it out".to_owned(),
        }
    }

    /// What is asked where no node of the group has as much, empty or not.
    fn most_room(&self, group: &Group) -> Option<String> {
        let cycle = &self.view.cycle;
        let status = group.status.as_ref()?;
        let beyond = |node: &NodeId| {
            let view = NodeView::new(cycle.snapshot, *node);
            sums::shortfalls(cycle, &view, status).into_iter().find(|it| it.asked > it.allocatable)
        };
        let best = group.nodes.iter().take(NODES_SUMMED).filter_map(beyond).max_by_key(|it| it.allocatable)?;
        let of = |value| amount(best.resource, value);
        let name = resource_name(self.view.cluster(), best.resource);
        Some(format!("{} {name} asked, {} allocatable at most", of(best.asked), of(best.allocatable)))
    }

    /// The nearest that a node of the group comes to what is asked.
    fn best_free(&self, group: &Group) -> Option<String> {
        let cycle = &self.view.cycle;
        let status = group.status.as_ref()?;
        let short = |node: &NodeId| {
            let view = sums::without_lower(cycle, *node);
            sums::shortfalls(cycle, &view, status).into_iter().next()
        };
        let best = group.nodes.iter().take(NODES_SUMMED).filter_map(short).max_by_key(sums::Shortfall::free)?;
        Some(match best.resource {
            ResourceName::Pods => format!("{} pods of {} stay", amount(best.resource, best.used), best.allocatable),
            _ => format!("at best {} would be free", free_of_asked(self.view.cluster(), &best)),
        })
    }

    // ---- nothing to be done

    fn why_not(&mut self) {
        let outcome = self.view.outcome;
        match &outcome.disposition {
            Disposition::Feasible(_) => {
                self.page.sentence(
                    0,
                    &format!(
                        "It was pending when the dump was taken; the dump does not say why.{}",
                        self.last_message()
                    ),
                );
                self.other_nodes("Why not the other nodes");
            }
            Disposition::Unschedulable => {
                if let Some(preemption) = self.view.preemption()
                    && let Eligibility::TerminatingPod { pod, .. } = preemption.eligibility
                {
                    self.terminating(pod);
                }
                self.other_nodes("Why not");
                self.helps();
                self.as_event_says();
            }
            Disposition::Bound
            | Disposition::Terminal
            | Disposition::Deleting
            | Disposition::OtherScheduler
            | Disposition::Gated(_)
            | Disposition::Error(_) => {}
        }
    }

    fn terminating(&mut self, pod: PodId) {
        let cluster = self.view.cluster();
        let it = cluster.pod(pod);
        let Some(deleted) = it.deleted else { return };
        let grace = it.grace_seconds.map_or(String::new(), |grace| format!(", grace {grace} s"));
        // The API server writes the time at which the grace period ends.
        let left = cluster.as_of.map(|now| deleted.seconds() - now.seconds());
        let left = match left {
            Some(left) if left > 0 => format!(", {} left at the time of the dump", span(left)),
            Some(left) => format!(", overdue by {} at the time of the dump", span(-left)),
            None => String::new(),
        };
        self.page.sentence(2, &format!("{} has to be gone by {}{grace}{left}.", cluster.pod_key(pod), clock(deleted)));
    }

    fn helps(&mut self) {
        let helps = help::of(&self.view.cycle, self.view.outcome);
        if helps.is_empty() {
            return;
        }
        self.page.heading("What would help, each by itself");
        for (change, would) in &helps {
            let text = format!("{}: then it {}", self.change(*change), self.would(would));
            self.page.painted(2, Some(Ink::Good), &text);
        }
    }

    fn change(&self, change: Change) -> String {
        let cluster = self.view.cluster();
        match change {
            Change::Priority(priority) => format!("priority {priority} or more"),
            Change::MayPreempt => "preemptionPolicy PreemptLowerPriority".to_owned(),
            Change::Tolerates(taint) => match cluster.text(taint.value) {
                "" => format!("tolerating {}", cluster.text(taint.key)),
                value => format!("tolerating {}={value}", cluster.text(taint.key)),
            },
            Change::AsksFor(resource, most) => {
                format!("asking for at most {} {}", amount(resource, most), resource_name(cluster, resource))
            }
        }
    }

    fn would(&self, would: &Would) -> String {
        match would {
            Would::Fit(nodes) => format!("fits on {}", self.node_names(nodes, 3)),
            Would::Preempt { node, victims, pdb_violations } => {
                let violations = match pdb_violations {
                    0 => String::new(),
                    some => format!(", {}", count(usize::try_from(*some).unwrap_or(0), "PDB violation")),
                };
                format!("preempts {} on {}{violations}", count(*victims, "pod"), self.view.node_name(*node))
            }
        }
    }

    fn as_event_says(&mut self) {
        let Some(text) = self.view.words().failed_scheduling() else { return };
        self.page.gap();
        let said = self.view.cycle.incoming().scheduled_message.as_deref();
        let agrees = match said {
            Some(said) if said == text => " (the pod's PodScheduled condition says the same)",
            Some(_) | None => "",
        };
        self.page.sentence(0, &format!("As FailedScheduling says it{agrees}: {text}"));
        if let Some(said) = said.filter(|it| *it != text) {
            self.page.painted(
                0,
                Some(Ink::Careful),
                &format!("The dump has another text, from an earlier try: {said}"),
            );
        }
    }

    fn last_message(&self) -> String {
        let said = self.view.cycle.incoming().scheduled_message.as_deref();
        said.map_or(String::new(), |it| format!(" Its PodScheduled condition said: {it}"))
    }

    // ---- next

    fn next(&mut self, candidate: &Candidate) {
        let effects = self.view.effects();
        let told: Vec<PodId> =
            effects.iter().filter_map(|it| if let Effect::Delete(pod) = it { Some(*pod) } else { None }).collect();
        let mut steps: Vec<String> = Vec::new();
        let mut victims_told = false;
        for effect in &effects {
            match effect {
                Effect::ClearNomination(pod) => {
                    steps.push(format!("clears the nomination of {}", self.view.cluster().pod_key(*pod)));
                }
                Effect::Nominate(node) => steps.push(format!("sets nominatedNodeName={}", self.view.node_name(*node))),
                Effect::FailedScheduling => steps.push("writes FailedScheduling on the preemptor".to_owned()),
                Effect::MarkVictim(_) | Effect::Delete(_) | Effect::VictimEvent(_) if victims_told => {}
                Effect::MarkVictim(_) | Effect::Delete(_) | Effect::VictimEvent(_) => {
                    victims_told = true;
                    steps.push(
                        self.telling_victims(&told, effects.iter().any(|it| matches!(it, Effect::MarkVictim(_)))),
                    );
                }
            }
        }
        self.page.heading("Next, the scheduler");
        self.page.sentence(2, &format!("{}.", steps.join(" → ")));
        let terminating = candidate.victims.len() - told.len();
        if terminating > 0 {
            let text = format!("{} terminating already and not deleted again.", count(terminating, "victim"));
            self.page.sentence(2, &text);
        }
    }

    fn telling_victims(&self, told: &[PodId], marked: bool) -> String {
        let cluster = self.view.cluster();
        let mark = if marked { "marks it DisruptionTarget, " } else { "" };
        let grace = |pod: &PodId| cluster.pod(*pod).grace_seconds;
        if let [pod] = told {
            let grace = grace(pod).map_or(String::new(), |it| format!(" (grace {it} s)"));
            let what = format!("deletes it{grace} with event Preempted");
            return match marked {
                true => format!("marks {} DisruptionTarget, {what}", cluster.pod_key(*pod)),
                false => format!("deletes {}{} with event Preempted", cluster.pod_key(*pod), {
                    cluster.pod(*pod).grace_seconds.map_or(String::new(), |it| format!(" (grace {it} s)"))
                }),
            };
        }
        let order = match self.view.cycle.snapshot.behavior.effects.deletions {
            VictimDeletions::InTurn => "one after the other",
            VictimDeletions::AtOnce => "all at once",
            VictimDeletions::LastByItself => "all but the last at once",
        };
        let longest = told.iter().filter_map(grace).max();
        let longest = longest.map_or(String::new(), |it| format!(" (grace up to {it} s)"));
        format!("takes {} victims, {order}: {mark}deletes it{longest} with event Preempted", told.len())
    }

    // ---- what is uncertain

    fn uncertain(&mut self) {
        let outcome = self.view.outcome;
        match &outcome.certainty {
            Certainty::Certain => {}
            Certainty::OneOf(causes) => {
                self.page.heading("Uncertain");
                for cause in causes {
                    self.page.painted(2, Some(Ink::Careful), &format!("{}.", cause_text(*cause)));
                }
            }
            Certainty::Undetermined => self.page.heading("Undetermined"),
        }
        if let Some(other) = self.other_patch {
            let text = format!("With {} the pod {}.", other.version, compare::decision(&other.decision));
            self.page.painted(2, Some(Ink::Careful), &text);
        }
        self.gaps();
    }

    fn gaps(&mut self) {
        let gaps = &self.view.outcome.gaps;
        if gaps.is_empty() {
            return;
        }
        for gap in gaps.iter().take(self.detail.at_most(6)) {
            let text = holes::gap_sentence(self.view.cluster(), gap);
            self.page.painted(2, Some(Ink::Careful), &text);
        }
        if let Some(command) = holes::command_for(gaps) {
            self.page.sentence(2, "To know, run this and give its file as well:");
            self.page.verbatim(4, &command);
        }
    }
}

fn candidate_columns(deepest: Option<Criterion>, choice: &Choice) -> Vec<Column<'static>> {
    let mut columns = vec![words("  NODE")];
    if choice.outcomes.len() > 1 {
        columns.push(numbers("CHANCE"));
    }
    columns.extend([numbers("VICTIMS"), numbers("PDB VIOLATIONS"), numbers("HIGHEST VICTIM")]);
    if deepest >= Some(Criterion::PrioritySum) {
        columns.push(numbers("PRIORITY SUM"));
    }
    if deepest >= Some(Criterion::LatestStart) {
        columns.push(words("HIGHEST STARTED"));
    }
    columns.push(words("LOST ON"));
    columns
}

/// Budgets that a candidate violates, with how many victims do.
fn violated_budgets(candidate: &Candidate) -> BTreeMap<PdbId, usize> {
    let mut all = BTreeMap::new();
    for charge in candidate.victims.iter().flat_map(Victim::pdbs).filter(|it| it.violated) {
        *all.entry(charge.pdb).or_default() += 1;
    }
    all
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => "rarely".to_owned(),
        small if small < 1.0 => "<1 %".to_owned(),
        some => format!("{some:.0} %"),
    }
}
