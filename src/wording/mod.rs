//! Upstream's sentences: what a scheduler of one release says, word for word, of the facts in an [`Outcome`].

mod message;
mod reasons;
mod victim;

pub use victim::{Condition, event_text, victim_condition, victim_event};

use crate::engine::framework::{Code, Fault, NodeStatus, Rejection, Verdict};
use crate::engine::outcome::{DryRunFailure, Outcome};
use crate::engine::snapshot::Snapshot;
use crate::kube::behavior::{Behavior, NoVictimsText};
use crate::kube::plugin::Plugin;
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId};

/// The sentences about one pod's outcome.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    snapshot: &'a Snapshot,
    pod: PodId,
    outcome: &'a Outcome,
}

/// A status as upstream keeps it. Upstream: `framework.Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusWords {
    /// The name of the code; empty where the release records no status.
    pub code: &'static str,
    /// The plugin; `PreFilter` for a node to which the pod is not narrowed, empty for none.
    pub plugin: &'static str,
    /// Where several plugins reject at once with the same code: all that the release may name, in Filter order. It draws
    /// one of them, most often the first, which is `plugin`.
    pub one_of: Vec<&'static str>,
    /// The reasons.
    pub reasons: Vec<String>,
}

impl StatusWords {
    const UNRECORDED: StatusWords = StatusWords { code: "", plugin: "", one_of: Vec::new(), reasons: Vec::new() };
}

impl<'a> Words<'a> {
    /// The sentences about an outcome, computed on this snapshot.
    pub fn new(snapshot: &'a Snapshot, outcome: &'a Outcome) -> Self {
        Words { snapshot, pod: outcome.pod, outcome }
    }

    /// The same about a pod that shares the outcome of one like it.
    #[must_use]
    pub fn of_pod(self, pod: PodId) -> Self {
        Words { pod, ..self }
    }

    fn cluster(&self) -> &'a Cluster {
        &self.snapshot.cluster
    }

    fn behavior(&self) -> &'a Behavior {
        &self.snapshot.behavior
    }

    fn pod_name(&self) -> &'a str {
        self.cluster().text(self.cluster().pod(self.pod).name)
    }

    fn pod_namespace(&self) -> &'a str {
        self.cluster().namespace_name(self.cluster().pod(self.pod).namespace)
    }

    /// What the filter phase recorded of a node.
    pub fn node(&self, node: NodeId) -> StatusWords {
        match self.outcome.nodes.get(node.index()) {
            Some(Some(status)) => self.status(status, node),
            Some(None) | None => StatusWords {
                plugin: if self.outcome.narrowed_by.is_empty() { "" } else { "PreFilter" },
                ..StatusWords::UNRECORDED
            },
        }
    }

    /// What the dry run of a potential node recorded.
    pub fn dry_run(&self, failure: &DryRunFailure, node: NodeId) -> StatusWords {
        let no_victims = self.behavior().texts.no_victims;
        if no_victims == NoVictimsText::Untold {
            return StatusWords::UNRECORDED;
        }
        match failure {
            DryRunFailure::NoVictims => StatusWords {
                code: code_name(Code::Unresolvable),
                plugin: "",
                one_of: Vec::new(),
                reasons: vec![match no_victims {
                    NoVictimsText::OnNode => {
                        let node = self.cluster().text(self.cluster().node(node).name);
                        format!("No victims found on node {node} for preemptor pod {}", self.pod_name())
                    }
                    NoVictimsText::IncomingPod | NoVictimsText::Untold => {
                        "No preemption victims found for incoming pod".to_owned()
                    }
                }],
            },
            DryRunFailure::Rejected(status) => self.status(status, node),
            DryRunFailure::NoVictimNeeded | DryRunFailure::UnpreparedHook(_) => StatusWords {
                code: "Error",
                reasons: vec![self.dry_run_error(failure, node)],
                ..StatusWords::UNRECORDED
            },
        }
    }

    /// A verdict on a node in words.
    pub fn status(&self, status: &NodeStatus, node: NodeId) -> StatusWords {
        match &status.verdict {
            Verdict::Fits => StatusWords { code: "Success", ..StatusWords::UNRECORDED },
            Verdict::Rejects(first, code) => {
                let all = std::iter::once(first).chain(&status.more);
                let gravest = |it: &&Rejection| *code != Code::Unresolvable || reasons::unresolvable_when_merged(it);
                let mut one_of: Vec<&'static str> = Vec::new();
                if !status.more.is_empty() {
                    one_of.extend(all.clone().filter(gravest).map(plugin_name));
                    one_of.dedup();
                }
                StatusWords {
                    code: code_name(*code),
                    plugin: one_of.first().copied().unwrap_or_else(|| plugin_name(first)),
                    one_of: if one_of.len() > 1 { one_of } else { Vec::new() },
                    reasons: all.flat_map(|it| self.reasons(it, Some(node))).collect(),
                }
            }
            Verdict::Faults(fault) => {
                let plugin = fault.plugin().map_or("", Plugin::name);
                StatusWords { code: "Error", plugin, one_of: Vec::new(), reasons: vec![self.fault_on_node(fault)] }
            }
        }
    }

    /// An internal error that ended the attempt.
    pub fn fault(&self, fault: &Fault) -> String {
        reasons::fault(self, fault)
    }

    fn fault_on_node(&self, fault: &Fault) -> String {
        reasons::fault_on_node(self, fault)
    }

    /// The reasons of a rejection; the node is needed for those that name something of it.
    pub fn reasons(&self, rejection: &Rejection, node: Option<NodeId>) -> Vec<String> {
        reasons::of(self, rejection, node)
    }
}

/// Whether a verdict's words are another for each node: a taint is told by its key and value.
pub fn names_its_node(status: &NodeStatus) -> bool {
    let taint = |it: &Rejection| matches!(it, Rejection::UntoleratedTaint { .. });
    match &status.verdict {
        Verdict::Rejects(first, _) => taint(first) || status.more.iter().any(taint),
        Verdict::Fits | Verdict::Faults(_) => false,
    }
}

/// Upstream's name of a code.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Unschedulable => "Unschedulable",
        Code::Unresolvable => "UnschedulableAndUnresolvable",
    }
}

/// The plugin that rejects; `PreFilter` for the framework's own narrowing.
pub fn plugin_name(rejection: &Rejection) -> &'static str {
    rejection.plugin().map_or("PreFilter", crate::kube::plugin::Plugin::name)
}
