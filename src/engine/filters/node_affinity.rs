//! Rejects a node outside of the pod's node selector and required node affinity, or of the profile's added affinity.
//! Upstream: `nodeaffinity/node_affinity.go`. Preemption cannot help, so the code is unresolvable.
//!
//! Where every term of the affinity names nodes (`metadata.name`), PreFilter narrows the pod to them (1.24 and newer).

use crate::engine::framework::{
    Code, FilterPlugin, Gaps, NarrowedNode, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::node_match;
use crate::engine::node_view::NodeView;
use crate::kube::behavior::NodeAffinityNames;
use crate::kube::plugin::Plugin;
use crate::model::id::Symbol;
use crate::model::pod::PodSpec;
use crate::model::selector::{NodeSelector, NodeSelectorTerm, Operator};
use std::collections::BTreeSet;

/// The plugin.
pub(crate) struct NodeAffinity;

impl FilterPlugin for NodeAffinity {
    fn plugin(&self) -> Plugin {
        Plugin::NodeAffinity
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, _gaps: &mut Gaps) -> PreFilter<'a> {
        let spec = &*cycle.incoming().spec;
        let added = cycle.profile.added_affinity.as_ref();
        if added.is_none() && spec.node_affinity.is_none() && spec.node_selector.is_empty() {
            return PreFilter::Skip;
        }
        let names = spec.node_affinity.as_ref().map(|it| named_nodes(it, cycle.snapshot.behavior.affinity.node_names));
        let nodes = match names {
            None | Some(NamedNodes::Any) => None,
            Some(NamedNodes::None) => {
                return PreFilter::Reject(Rejection::AffinityTermsConflict, Code::Unresolvable);
            }
            Some(NamedNodes::These(names)) => {
                Some(names.into_iter().map(|name| NarrowedNode { name, node: cycle.cluster().node_of(name) }).collect())
            }
        };
        PreFilter::Run { filter: Box::new(Required { added, spec }), nodes }
    }
}

/// Which nodes the terms of an affinity name.
enum NamedNodes {
    /// Some term names none, so any node may match.
    Any,
    /// None can match.
    None,
    /// These alone.
    These(BTreeSet<Symbol>),
}

fn named_nodes(affinity: &NodeSelector, behavior: NodeAffinityNames) -> NamedNodes {
    if affinity.terms.is_empty() || behavior == NodeAffinityNames::NotLookedAt {
        return NamedNodes::Any;
    }
    let mut names = BTreeSet::new();
    for term in &affinity.terms {
        let Some(of_term) = names_of_term(term) else { return NamedNodes::Any };
        match behavior {
            NodeAffinityNames::EmptyTermRejects if of_term.is_none() => return NamedNodes::None,
            NodeAffinityNames::EmptyTermRejects
            | NodeAffinityNames::EmptyUnionRejects
            | NodeAffinityNames::NotLookedAt => names.extend(of_term),
        }
    }
    if names.is_empty() { NamedNodes::None } else { NamedNodes::These(names) }
}

/// The names that all `metadata.name In` requirements of a term have in common; `None` for a term without any.
fn names_of_term(term: &NodeSelectorTerm) -> Option<Option<Symbol>> {
    let mut names = term.fields.iter().filter(|it| it.operator == Operator::In).map(|it| it.name);
    let first = names.next()?;
    Some(names.all(|name| name == first).then_some(first))
}

#[derive(Clone, Copy)]
struct Required<'a> {
    added: Option<&'a NodeSelector>,
    spec: &'a PodSpec,
}

impl PodFilter for Required<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        let (node, cluster) = (view.node(), view.cluster());
        if self.added.is_some_and(|added| !added.matches(&cluster.symbols, node.name, view.labels())) {
            return Verdict::Rejects(Rejection::AddedNodeAffinity, Code::Unresolvable);
        }
        if node_match::matches_node_affinity(self.spec, node, cluster) {
            Verdict::Fits
        } else {
            Verdict::Rejects(Rejection::NodeAffinity, Code::Unresolvable)
        }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(*self)
    }
}
