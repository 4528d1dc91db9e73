//! Candidates and their victims for programs.

use super::json::{CandidateRow, CriterionName, VictimRow};
use super::pretty::{one_line, splice};
use super::rows::{Rows, TimeText};
use super::said::Said;
use super::view::{self, View};
use super::written::{BETWEEN_KEYS, NO_BUDGETS, OnNode, VICTIM_BREAK, VICTIMS_END, Written};
use crate::engine::framework::NodeStatus;
use crate::engine::outcome::{Candidate, Criterion, Preemption, Victim};
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};
use serde::ser::{Serialize, SerializeTupleStruct, Serializer};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

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
        let on_node = self.written.and_then(|written| written.on_node(self.view.cycle.snapshot, it.node));
        CandidateRow {
            node: self.view.node_name(it.node),
            pdb_violations: it.pdb_violations,
            highest_victim_priority: it.score.highest_priority,
            priority_sum: it.score.priority_sum,
            earliest_start_time: it.score.earliest_start.map(TimeText),
            victims: Victims { rows: self.clone(), candidate: it, on_node },
            reprieved: Keys { cluster: self.view.cluster(), pods: &it.reprieved, on_node },
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
            ..victim_row(view.cluster(), victim.pod)
        }
    }
}

/// What a pod says as a victim wherever it is one.
pub(super) fn victim_row(cluster: &Cluster, id: PodId) -> VictimRow<'_> {
    let pod = cluster.pod(id);
    VictimRow {
        pod: cluster.pod_key(id),
        priority: pod.priority(),
        start_time: pod.started.map(TimeText),
        owner: view::owner_text(cluster, id),
        terminating: pod.deleted.is_some(),
        ..VictimRow::default()
    }
}

/// The victims of a candidate; a row is made when its turn comes.
pub struct Victims<'a> {
    rows: Candidates<'a>,
    candidate: &'a Candidate,
    on_node: Option<&'a OnNode>,
}

impl Victims<'_> {
    /// Writes the victims, each on a line: what it says wherever it is one, its budgets, and the rest.
    fn copied<S: Serializer>(&self, on_node: &OnNode, serializer: S) -> Result<S::Ok, S::Error> {
        let (rows, candidate) = (&self.rows, self.candidate);
        splice(serializer, |add| {
            let (mut near, mut last) = (0, None);
            add(b"[")?;
            for (at, victim) in candidate.victims.iter().enumerate() {
                let comma = usize::from(at == 0);
                let place = on_node.place(victim.pod, near).filter(|_| victim.equals().is_empty());
                let Some(place) = place else {
                    add(&VICTIM_BREAK[comma..])?;
                    add(&one_line(&rows.victim(candidate.node, victim)))?;
                    continue;
                };
                near = place + 1;
                add(&on_node.head(place)[comma..])?;
                let ending = self.ending(victim, on_node.is_terminating(place), &mut last);
                match victim.pdbs() {
                    [] => add(&ending)?,
                    charges => {
                        let charges: Vec<_> = charges.iter().map(|it| rows.view.charge(it)).collect();
                        add(&one_line(&charges))?;
                        add(&ending[NO_BUDGETS.len()..])?;
                    }
                }
            }
            add(&VICTIMS_END[usize::from(candidate.victims.is_empty()) * (VICTIMS_END.len() - 1)..])
        })
    }

    /// What a victim says from its budgets on, as if it had none. Neighbours mostly say the same.
    fn ending<'v>(&self, victim: &'v Victim, terminating: bool, last: &mut Option<Ending<'v>>) -> Rc<[u8]> {
        let why = &victim.kept_out_by;
        if let Some(last) = last
            && Arc::ptr_eq(last.why, why)
            && last.terminating == terminating
        {
            return Rc::clone(&last.text);
        }
        let text = self.rows.said.borrow_mut().ending(&self.rows.view, why, self.candidate.node, terminating);
        Rc::clone(&last.insert(Ending { why, terminating, text }).text)
    }
}

/// What a victim said after its budgets.
struct Ending<'v> {
    why: &'v Arc<NodeStatus>,
    terminating: bool,
    text: Rc<[u8]>,
}

impl Serialize for Victims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.on_node {
            Some(on_node) => self.copied(on_node, serializer),
            None => serializer
                .collect_seq(self.candidate.victims.iter().map(|it| self.rows.victim(self.candidate.node, it))),
        }
    }
}

/// `namespace/name` of pods of a node, on one line.
pub struct Keys<'a> {
    cluster: &'a Cluster,
    pods: &'a [PodId],
    on_node: Option<&'a OnNode>,
}

impl Serialize for Keys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(on_node) = self.on_node else {
            let mut keys = serializer.serialize_tuple_struct("Keys", self.pods.len())?;
            self.pods.iter().try_for_each(|it| keys.serialize_field(&self.cluster.pod_key(*it)))?;
            return keys.end();
        };
        splice(serializer, |add| {
            add(b"[")?;
            let mut comma = BETWEEN_KEYS.len();
            for keys in on_node.keys(self.cluster, self.pods) {
                add(&keys[std::mem::take(&mut comma)..])?;
            }
            add(b"]")
        })
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
