//! Candidates and their victims for programs.

use super::json::{CandidateRow, CriterionName, VictimRow};
use super::pretty::{line_at, splice, text_at};
use super::rows::{Rows, TimeText};
use super::said::Said;
use super::view::View;
use super::written::{AROUND_VICTIM, OnNode, Written};
use crate::engine::outcome::{Candidate, Criterion, Preemption, Victim};
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// Makes the rows of candidates.
#[derive(Clone)]
pub(super) struct Candidates<'a> {
    view: View<'a>,
    /// What other reports say of the same pods, where it may be copied.
    written: Option<&'a Written>,
    said: Rc<RefCell<Said>>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(view: View<'a>, written: Option<&'a Written>) -> Self {
        Candidates { view, written, said: Rc::default() }
    }

    /// Those of the outcome.
    pub(super) fn all(self, preemption: &'a Preemption) -> Rows<'a, CandidateRow<'a>> {
        let lost_on = |at: usize| preemption.choice.as_ref().and_then(|it| it.lost_on.get(at).copied().flatten());
        Rows::of(&preemption.candidates, move |at, it| self.row(it, lost_on(at)))
    }

    /// Those under other orders of the budgets.
    pub(super) fn variants(self, preemption: &'a Preemption) -> Rows<'a, CandidateRow<'a>> {
        Rows::of(&preemption.variants, move |_, it| self.row(it, None))
    }

    fn row(&self, it: &'a Candidate, lost_on: Option<Criterion>) -> CandidateRow<'a> {
        let written = self.written.map(|written| (written, written.on_node(self.view.cycle.snapshot, it.node)));
        CandidateRow {
            node: self.view.node_name(it.node),
            pdb_violations: it.pdb_violations,
            highest_victim_priority: it.score.highest_priority,
            priority_sum: it.score.priority_sum,
            earliest_start_time: it.score.earliest_start.map(TimeText),
            victims: Victims { rows: self.clone(), candidate: it, written },
            reprieved: Keys { cluster: self.view.cluster(), pods: &it.reprieved, on_node: written.map(|it| it.1) },
            lost_on: lost_on.map(criterion_name),
        }
    }

    /// The victims of a candidate.
    pub(super) fn victims(&self, candidate: &Candidate) -> Vec<VictimRow<'a>> {
        candidate.victims.iter().map(|it| self.victim(candidate.node, it)).collect()
    }

    fn victim(&self, node: NodeId, victim: &Victim) -> VictimRow<'a> {
        let view = &self.view;
        VictimRow {
            pdbs: victim.pdbs().iter().map(|it| view.charge(it)).collect(),
            kept_out_by: Some(self.said.borrow_mut().reasons(view, &victim.kept_out_by, node)),
            equals: view.pod_keys(victim.equals()),
            ..self.pod(victim.pod)
        }
    }

    /// What a pod says as a victim wherever it is one.
    fn pod(&self, id: PodId) -> VictimRow<'a> {
        let pod = self.view.cluster().pod(id);
        VictimRow {
            pod: self.view.cluster().pod_key(id),
            priority: pod.priority(),
            start_time: pod.started.map(TimeText),
            owner: self.view.owner_text(id),
            terminating: pod.deleted.is_some(),
            ..VictimRow::default()
        }
    }
}

/// The victims of a candidate; a row is made when its turn comes.
pub struct Victims<'a> {
    rows: Candidates<'a>,
    candidate: &'a Candidate,
    written: Option<(&'a Written, &'a OnNode)>,
}

impl Victims<'_> {
    /// The text of a victim, in pieces, where there is one: what it says wherever it is one, its budgets, and the rest.
    fn pieces(&self, victim: &Victim) -> Option<Pieces<'_>> {
        let (written, on_node) = self.written?;
        if !victim.equals().is_empty() {
            return None;
        }
        let (rows, node) = (&self.rows, self.candidate.node);
        let head = written.head(on_node, victim.pod, || rows.pod(victim.pod))?;
        let budgets = match victim.pdbs() {
            [] => Cow::Borrowed(&b"[]"[..]),
            charges => {
                let charges: Vec<_> = charges.iter().map(|it| rows.view.charge(it)).collect();
                Cow::Owned(text_at(AROUND_VICTIM + 1, &charges))
            }
        };
        let ending = rows.said.borrow_mut().ending(&rows.view, &victim.kept_out_by, node, head.terminating);
        Some(Pieces { head, budgets, ending })
    }
}

impl Serialize for Victims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let victims = &self.candidate.victims;
        let mut list = serializer.serialize_seq(Some(victims.len()))?;
        for victim in victims {
            match self.pieces(victim) {
                Some(pieces) => list.serialize_element(&pieces)?,
                None => list.serialize_element(&self.rows.victim(self.candidate.node, victim))?,
            }
        }
        list.end()
    }
}

struct Pieces<'a> {
    head: Cow<'a, super::written::Head>,
    budgets: Cow<'static, [u8]>,
    ending: Rc<[u8]>,
}

impl Serialize for Pieces<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        splice(serializer, [&*self.head.text, &*self.budgets, &*self.ending])
    }
}

/// `namespace/name` of pods of a node.
pub struct Keys<'a> {
    cluster: &'a Cluster,
    pods: &'a [PodId],
    on_node: Option<&'a OnNode>,
}

impl Serialize for Keys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(on_node) = self.on_node.filter(|_| !self.pods.is_empty()) else {
            return serializer.collect_seq(self.pods.iter().map(|it| self.cluster.pod_key(*it)));
        };
        let mut lines = on_node.lines(self.cluster, self.pods);
        let mut list = lines.next().unwrap_or_default().into_owned();
        list[0] = b'[';
        let mut last = line_at(AROUND_VICTIM - 1);
        last.push(b']');
        splice(serializer, std::iter::once(Cow::Owned(list)).chain(lines).chain([Cow::Owned(last)]))
    }
}

/// A criterion for programs.
pub(super) fn criterion_name(criterion: Criterion) -> CriterionName {
    match criterion {
        Criterion::PdbViolations => CriterionName::PdbViolations,
        Criterion::HighestPriority => CriterionName::HighestPriority,
        Criterion::PrioritySum => CriterionName::PrioritySum,
        Criterion::VictimCount => CriterionName::VictimCount,
        Criterion::LatestStart => CriterionName::LatestStart,
    }
}
