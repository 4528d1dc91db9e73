//! The full story of one node, for people and for programs.

use super::amount::{arithmetic, clock, count};
use super::json::{NodeSteps, PutBackRow, Status};
use super::page::{Ink, Page, TableRow, numbers, words};
use super::said::status_row;
use super::view::View;
use crate::engine::framework::{NodeStatus, Verdict};
use crate::engine::outcome::{Candidate, Criterion, DryRunFailure, Preemption, PutBack};
use crate::explain::node_story::NodeStory;
use crate::explain::numbers::Shortfall;
use crate::model::id::{NodeId, PodId};

/// Tells everything that happens to one node.
pub fn tell(page: &mut Page, view: &View<'_>, node: NodeId) {
    let name = view.node_name(node);
    page.heading(&format!("{name}, step by step"));
    let Some(status) = view.outcome.nodes.get(node.index()).and_then(Option::as_ref) else {
        return page.sentence(2, "The scheduler does not look at it.");
    };
    if status.fits() {
        return page.painted(2, Some(Ink::Good), "The pod fits as it is: nothing has to go.");
    }
    let story = view.node_story(node);
    page.sentence(2, &format!("As it is: {}.", verdict(view, node, status, &story.at_first)));
    let Some(preemption) = view.preemption() else {
        return page.sentence(2, "No preemption is tried for this pod.");
    };
    if !preemption.potential.contains(&node) {
        return page.sentence(2, &why_no_potential_node(preemption, status));
    }
    steps(page, view, node, &story);
    end(page, view, node, preemption);
}

fn why_no_potential_node(preemption: &Preemption, status: &NodeStatus) -> String {
    match (preemption.potential.is_empty(), status.verdict) {
        (_, Verdict::Rejects(..)) => {
            "That is UnschedulableAndUnresolvable, or no preemption is tried at all: no pod is taken off here."
                .to_owned()
        }
        (_, Verdict::Fits | Verdict::Faults(_)) => "No pod is taken off here.".to_owned(),
    }
}

fn steps(page: &mut Page, view: &View<'_>, node: NodeId, story: &NodeStory) {
    let priority = view.cycle.incoming().priority();
    let all = view.cycle.snapshot.info(node).pods.len();
    let removed = &story.trace.removed;
    let keys = view.pod_keys(removed).join(", ");
    match removed.len() {
        0 => page.sentence(2, &format!("Taken off: none of {} has a priority below {priority}.", count(all, "pod"))),
        some => {
            page.sentence(
                2,
                &format!("Taken off: {some} of {}, those below priority {priority}: {keys}.", count(all, "pod")),
            );
        }
    }
    let Some(emptied) = &story.trace.emptied else { return };
    if !emptied.fits() {
        let text = format!("Without them: {}.", verdict(view, node, emptied, &story.emptied));
        return page.painted(2, Some(Ink::Bad), &text);
    }
    page.sentence(2, "Without them the pod fits.");
    if story.trace.put_back.is_empty() {
        return;
    }
    page.sentence(2, "Put back one by one, those first whose eviction violates a budget, then by importance:");
    let rows = story.trace.put_back.iter().zip(&story.put_back).map(|(it, sums)| put_back(view, node, it, sums));
    let columns = [words("POD"), numbers("PRIORITY"), words("STARTED (UTC)"), words("BUDGETS"), words("")];
    page.table(&columns, rows.collect());
}

fn put_back(view: &View<'_>, node: NodeId, it: &PutBack, sums: &[Shortfall]) -> TableRow {
    let pod = view.cluster().pod(it.pod);
    let budgets: Vec<String> = it
        .pdbs
        .iter()
        .map(|charge| {
            let mark = match (charge.already_disrupted, charge.violated) {
                (true, _) => ": counted before",
                (false, true) => ": violated",
                (false, false) => "",
            };
            format!("{} ({} allowed){mark}", view.pdb_key(charge.pdb), charge.allowed)
        })
        .collect();
    let started = pod.started.map_or_else(|| "not started".to_owned(), clock);
    let cells = vec![
        view.cluster().pod_key(it.pod),
        pod.priority().to_string(),
        started,
        budgets.join(", "),
        if it.status.fits() { "may stay".to_owned() } else { "has to go".to_owned() },
    ];
    let row = TableRow::new(cells);
    if it.status.fits() {
        return row.painted(Ink::Good);
    }
    row.painted(Ink::Bad).below(verdict_with(view, node, &it.status, sums, Some(it.pod)))
}

fn end(page: &mut Page, view: &View<'_>, node: NodeId, preemption: &Preemption) {
    if let Some((_, failure)) = preemption.failures.iter().find(|it| it.0 == node) {
        let reasons = view.words().dry_run(failure, node).reasons.join(", ");
        let text = match failure {
            DryRunFailure::NoVictims | DryRunFailure::Rejected(_) => "So it is no candidate.".to_owned(),
            DryRunFailure::NoVictimNeeded | DryRunFailure::UnpreparedHook(_) => {
                format!("So it is no candidate: an error, {reasons}.")
            }
        };
        return page.painted(2, Some(Ink::Bad), &text);
    }
    let Some(at) = preemption.candidates.iter().position(|it| it.node == node) else { return };
    let candidate = &preemption.candidates[at];
    let victims: usize = candidate.victims.len();
    let lost = preemption.choice.as_ref().and_then(|it| it.lost_on.get(at).copied().flatten());
    let fate = match (preemption.choice.as_ref(), lost) {
        (Some(choice), None) if choice.node == node => "It is the nominated node.".to_owned(),
        (Some(_), None) => "It is equal to the nominated node.".to_owned(),
        (Some(_), Some(criterion)) => format!("It lost on {}.", criterion_text(criterion)),
        (None, _) => String::new(),
    };
    page.sentence(2, &format!("So it is a candidate with {}: {}. {fate}", count(victims, "victim"), score(candidate)));
}

fn score(candidate: &Candidate) -> String {
    let score = &candidate.score;
    let start = score.earliest_start.map_or_else(|| "not started".to_owned(), clock);
    format!(
        "{} PDB violations, highest victim {}, sum of priorities {} (each + 2^31), highest victim started {start}",
        candidate.pdb_violations, score.highest_priority, score.priority_sum
    )
}

fn criterion_text(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::PdbViolations => "PDB violations",
        Criterion::HighestPriority => "the priority of its highest victim",
        Criterion::PrioritySum => "the sum of its victims' priorities",
        Criterion::VictimCount => "the number of its victims",
        Criterion::LatestStart => "the start of its highest victim, which is earlier",
    }
}

fn verdict(view: &View<'_>, node: NodeId, status: &NodeStatus, sums: &[Shortfall]) -> String {
    verdict_with(view, node, status, sums, None)
}

fn verdict_with(view: &View<'_>, node: NodeId, status: &NodeStatus, sums: &[Shortfall], own: Option<PodId>) -> String {
    let reasons = view.words().status(status, node).reasons.join(", ");
    let sums = sums.iter().map(|it| view.sum(it, own)).collect::<Vec<_>>().join(", ");
    if sums.is_empty() { reasons } else { format!("{reasons} ({sums})") }
}

/// The same for programs.
pub fn row(view: &View<'_>, node: NodeId) -> NodeSteps {
    let story = view.node_story(node);
    let words = view.words();
    let cluster = view.cluster();
    let sums = |it: &[Shortfall]| it.iter().map(|it| arithmetic(cluster, it, None)).collect();
    let status = |it: &NodeStatus| -> Status { status_row(words.status(it, node)) };
    let put_back = story.trace.put_back.iter().zip(&story.put_back).map(|(it, short)| PutBackRow {
        pod: cluster.pod_key(it.pod),
        priority: cluster.pod(it.pod).priority(),
        pdbs: it.pdbs.iter().map(|charge| view.charge(charge)).collect(),
        stays: it.status.fits(),
        verdict: status(&it.status),
        sums: sums(short),
    });
    NodeSteps {
        node: view.node_name(node).to_owned(),
        removed: view.pod_keys(&story.trace.removed),
        emptied: story.trace.emptied.as_ref().map(status),
        sums: sums(if story.trace.emptied.is_some() { &story.emptied } else { &story.at_first }),
        put_back: put_back.collect(),
    }
}
