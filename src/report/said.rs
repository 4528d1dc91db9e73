//! Statuses that were put into words before: thousands of nodes say the same few things.

use super::json::{SharedStatus, Status};
use super::pretty::one_line;
use super::view::View;
use super::written;
use crate::engine::framework::NodeStatus;
use crate::engine::outcome::DryRunFailure;
use crate::kube::behavior::NoVictimsText;
use crate::model::id::NodeId;
use crate::wording::{self, StatusWords};
use std::rc::Rc;

/// Words of statuses.
#[derive(Default)]
pub(super) struct Said {
    /// Whether rows are written as they are made, for the writer of long reports.
    written: bool,
    rows: Vec<(NodeStatus, SharedStatus)>,
    reasons: Vec<(NodeStatus, Rc<str>)>,
    /// How victims end, those that are being deleted apart.
    endings: [Vec<(NodeStatus, Rc<[u8]>)>; 2],
}

impl Said {
    /// How many are looked through before the words are made anew.
    const MOST: usize = 16;

    pub(super) fn new(written: bool) -> Self {
        Said { written, ..Said::default() }
    }

    pub(super) fn of_node(&mut self, view: &View<'_>, node: NodeId) -> SharedStatus {
        match view.outcome.nodes.get(node.index()) {
            Some(Some(status)) => self.row(view, status, node),
            Some(None) | None => self.shared(view.words().node(node)),
        }
    }

    pub(super) fn of_dry_run(&mut self, view: &View<'_>, failure: &DryRunFailure, node: NodeId) -> SharedStatus {
        let untold = view.cycle.snapshot.behavior.texts.no_victims == NoVictimsText::Untold;
        match failure {
            DryRunFailure::Rejected(status) if !untold => self.row(view, status, node),
            _ => self.shared(view.words().dry_run(failure, node)),
        }
    }

    fn row(&mut self, view: &View<'_>, status: &NodeStatus, node: NodeId) -> SharedStatus {
        let written = self.written;
        let make = || shared(view.words().status(status, node), written);
        find(&mut self.rows, status, make)
    }

    fn shared(&self, words: StatusWords) -> SharedStatus {
        shared(words, self.written)
    }

    pub(super) fn reasons(&mut self, view: &View<'_>, status: &NodeStatus, node: NodeId) -> Rc<str> {
        find(&mut self.reasons, status, || reasons(view, status, node))
    }

    /// What a victim without further pods says after its budgets, an empty list of these before it.
    pub(super) fn ending(&mut self, view: &View<'_>, status: &NodeStatus, node: NodeId, terminating: bool) -> Rc<[u8]> {
        let make = || written::ending(Some(reasons(view, status, node)), terminating).into();
        find(&mut self.endings[usize::from(terminating)], status, make)
    }
}

fn shared(words: StatusWords, written: bool) -> SharedStatus {
    let row = status_row(words);
    match written {
        true => SharedStatus::Written(one_line(&row).into()),
        false => SharedStatus::Row(Rc::new(row)),
    }
}

fn reasons(view: &View<'_>, status: &NodeStatus, node: NodeId) -> Rc<str> {
    view.words().status(status, node).reasons.join(", ").into()
}

fn find<Words: Clone>(known: &mut Vec<(NodeStatus, Words)>, status: &NodeStatus, make: impl Fn() -> Words) -> Words {
    if let Some((_, words)) = known.iter().find(|it| it.0 == *status) {
        return words.clone();
    }
    let words = make();
    if known.len() < Said::MOST && !wording::names_its_node(status) {
        known.push((status.clone(), words.clone()));
    }
    words
}

/// A status for programs.
pub fn status_row(words: StatusWords) -> Status {
    let plugin = Some(words.plugin).filter(|it| !it.is_empty());
    Status { code: words.code, plugin, plugin_one_of: words.one_of, reasons: words.reasons }
}
