//! Rejects a node outside of the pod's node selector and required node affinity, or of the profile's added affinity.
//! Upstream: `nodeaffinity/node_affinity.go`. Preemption cannot help, so the code is unresolvable.
//!
//! Where every term of the affinity names nodes (`metadata.name`), PreFilter narrows the pod to them (1.24 and newer).

use crate::engine::framework::{
    Code, FilterPlugin, Gaps, Minds, NarrowedNode, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
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
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{check, scene};

    /// An affinity whose terms name nodes: `a,b` is one term that wants both names at once.
    fn naming(terms: &[&str]) -> String {
        let field = |name: &str| format!(r#"{{"key":"metadata.name","operator":"In","values":["{name}"]}}"#);
        let term = |names: &&str| {
            let fields: Vec<String> = names.split(',').filter(|it| !it.is_empty()).map(field).collect();
            format!(r#"{{"matchFields":[{}]}}"#, fields.join(","))
        };
        let terms: Vec<String> = terms.iter().map(term).collect();
        format!(
            r#"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:[{}]"#,
            terms.join(",")
        )
    }

    fn narrowed(minor: u16, terms: &[&str]) -> Result<Option<Vec<String>>, Rejection> {
        let scene = scene(minor, &format!("node a\nnode b\nwant w {}", naming(terms)));
        match NodeAffinity.pre_filter(&scene.cycle(), &mut Gaps::default()) {
            PreFilter::Run { nodes, .. } => {
                let text = |it: NarrowedNode| scene.snapshot.cluster.text(it.name).to_owned();
                Ok(nodes.map(|nodes| nodes.into_iter().map(text).collect()))
            }
            PreFilter::Reject(rejection, Code::Unresolvable) => Err(rejection),
            PreFilter::Reject(_, Code::Unschedulable) | PreFilter::Skip | PreFilter::Fault(_) => panic!(),
        }
    }

    #[test]
    fn terms_that_all_name_nodes_narrow_the_pod_to_them() {
        let names = |names: &[&str]| Ok(Some(names.iter().map(|it| (*it).to_owned()).collect()));
        assert_eq!(narrowed(34, &["b"]), names(&["b"]));
        assert_eq!(narrowed(34, &["a", "gone"]), names(&["a", "gone"]));
        assert_eq!(narrowed(34, &["a", ""]), Ok(None), "a term without a name leaves all nodes");
        assert_eq!(narrowed(23, &["b"]), Ok(None));
    }

    #[test]
    fn a_term_with_two_names_rejects_alone_until_1_26() {
        assert_eq!(narrowed(26, &["b", "a,b"]), Err(Rejection::AffinityTermsConflict));
        assert_eq!(narrowed(27, &["b", "a,b"]), Ok(Some(vec!["b".to_owned()])));
        assert_eq!(narrowed(27, &["a,b"]), Err(Rejection::AffinityTermsConflict));
        assert_eq!(narrowed(26, &["", "a,b"]), Ok(None), "the terms are looked at in order");
    }

    #[test]
    fn the_node_selector_and_the_affinity_both_have_to_match() {
        let text = "
            node a label:disk=ssd
            node b
            want w select:disk=ssd ";
        check(34, text, "fits a");
        check(34, &format!("{text}{}", naming(&["b"])), "no candidates");
    }

    #[test]
    fn added_affinity_is_told_apart() {
        let mut scene = scene(34, "node a\nwant w");
        scene.profile.added_affinity = Some(NodeSelector { terms: Box::default() });
        let verdict = scene.status("a").unwrap().verdict;
        assert_eq!(verdict, Verdict::Rejects(Rejection::AddedNodeAffinity, Code::Unresolvable));
    }
}
