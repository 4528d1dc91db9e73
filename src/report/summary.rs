//! What stands around the stories: the overview of many pods, and the footer.

use super::amount::count;
use super::json::{PodOutcome, Scheduler};
use super::page::{Ink, Page, TableRow, numbers, words};
use super::story::Detail;
use super::view::View;
use crate::engine::outcome::Certainty;
use crate::model::cluster::{Cluster, CoverageState};

/// Tells of many pods, a line each.
pub fn overview(page: &mut Page, rows: Vec<TableRow>) {
    let pods = rows.len();
    let columns = [words("POD"), numbers("PRIORITY"), words("ANSWER"), words("NODE"), numbers("VICTIMS"), words("")];
    page.painted(0, Some(Ink::Heading), &format!("{} pending, each asked on the dump as it is:", count(pods, "pod")));
    page.table(&columns, rows);
    page.sentence(0, "For the whole story of one: --pod namespace/name.");
}

/// The line of one pod.
pub fn line(view: &View<'_>) -> TableRow {
    let pod = view.cycle.incoming();
    let outcome = view.pod_outcome();
    let mut cells =
        vec![view.cluster().pod_key(view.cycle.pod), pod.priority().to_string(), answer(outcome).to_owned()];
    let mut ink = None;
    match view.chosen() {
        Some((choice, candidate)) => {
            let victims: usize = candidate.victims.len();
            let more = choice.possible_nodes().len().saturating_sub(1);
            let or = if more > 0 { format!(" or {more} more") } else { String::new() };
            cells.push(format!("{}{or}", view.node_name(choice.node)));
            cells.push(victims.to_string());
            cells.push(match candidate.pdb_violations {
                0 => String::new(),
                violations => {
                    ink = Some(Ink::Bad);
                    format!("violates budgets: {}", count(usize::try_from(violations).unwrap_or(0), "victim"))
                }
            });
        }
        None => cells.extend([String::new(), String::new(), String::new()]),
    }
    if view.outcome.certainty == Certainty::Undetermined {
        cells[5].push_str(" undetermined");
    }
    let row = TableRow::new(cells);
    match ink {
        Some(ink) => row.painted(ink),
        None => row,
    }
}

fn answer(outcome: PodOutcome) -> &'static str {
    match outcome {
        PodOutcome::Feasible => "fits",
        PodOutcome::Nominated => "preempts",
        PodOutcome::NoCandidates | PodOutcome::NoPotentialNodes => "stays pending",
        PodOutcome::Ineligible => "may not preempt",
        PodOutcome::Gated => "held before the queue",
        PodOutcome::OtherScheduler => "another scheduler's",
        PodOutcome::Deleting => "being deleted",
        PodOutcome::Terminal => "finished",
        PodOutcome::Bound => "bound",
        PodOutcome::Error => "error",
        PodOutcome::NotFound => "not there",
    }
}

/// Which scheduler answered, and what was read.
pub fn footer(page: &mut Page, cluster: &Cluster, scheduler: &Scheduler, source: &str, detail: Detail) {
    page.gap();
    let mut read = Vec::new();
    let mut absent = Vec::new();
    for coverage in &cluster.coverage {
        match coverage.state {
            CoverageState::Absent => absent.push(coverage.kind.name()),
            CoverageState::Empty => {}
            CoverageState::Present | CoverageState::Truncated | CoverageState::Rejected => {
                let objects = usize::try_from(coverage.objects).unwrap_or(usize::MAX);
                let mut text = count(objects, coverage.kind.name());
                if coverage.state == CoverageState::Truncated {
                    text.push_str(" (the list goes on)");
                }
                if coverage.rejected > 0 {
                    text = format!("{text} ({} damaged)", coverage.rejected);
                }
                read.push(text);
            }
        }
    }
    let absent = match (absent.len(), detail) {
        (0, _) => String::new(),
        (..=3, _) | (_, Detail::Wide) => format!(" Not in the dump: {}.", absent.join(", ")),
        (many, Detail::Screen) => format!(" Not in the dump: {many} kinds, see `inspect`."),
    };
    let read = if read.is_empty() { "nothing".to_owned() } else { read.join(", ") };
    let text = format!(
        "kube-scheduler {} ({source}), profile {}. Read: {read}.{absent}",
        scheduler.version, scheduler.profile
    );
    page.painted(0, Some(Ink::Faint), &text);
    for assumption in &scheduler.assumptions {
        page.painted(0, Some(Ink::Faint), &format!("Assumed: {assumption}."));
    }
}
