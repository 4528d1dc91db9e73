//! Terms of required pod affinity and anti-affinity, and which pods they select. Upstream: `types.go` AffinityTerm.

use crate::kube::behavior::{AffinityBehavior, AffinityNamespaceSelector};
use crate::model::affinity::PodAffinityTerm;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::{LabelSetId, NamespaceId, Symbol};
use crate::model::labels::LabelPairs;
use crate::model::pod::{Pod, PodSpec};
use crate::model::selector::{LabelSelector, SelectorMemo};

/// Whether upstream refuses to parse a selector of the term.
pub(crate) fn is_unparsable(term: &PodAffinityTerm, behavior: &AffinityBehavior) -> bool {
    let namespace_selector = match behavior.namespace_selector {
        AffinityNamespaceSelector::Unknown => &LabelSelector::Absent,
        AffinityNamespaceSelector::NamesNothing
        | AffinityNamespaceSelector::ByLabels
        | AffinityNamespaceSelector::ByLabelsOrNone => &term.namespace_selector,
    };
    term.selector == LabelSelector::Invalid || *namespace_selector == LabelSelector::Invalid
}

/// Whether something is selected; ordered so that the smallest is the conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Selected {
    No,
    /// The dump lacks the namespace by whose labels this is decided.
    Unknown,
    Yes,
}

impl From<bool> for Selected {
    fn from(selected: bool) -> Self {
        if selected { Selected::Yes } else { Selected::No }
    }
}

/// The namespaces for which a term stands.
#[derive(Clone, Debug)]
struct Scope<'a> {
    named: &'a [NamespaceId],
    /// The namespace for which a term that names none stands.
    default: Option<NamespaceId>,
    /// `namespaceSelector`, where the release reads it.
    by_labels: &'a LabelSelector,
    /// The selector is also tried on an empty set of labels, and accepts it.
    accepts_all: bool,
}

/// Whose term it is: the incoming pod's selector reads Namespace objects, an existing pod's the incoming pod's namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Incoming,
    Existing,
}

impl<'a> Scope<'a> {
    fn new(term: &'a PodAffinityTerm, own: NamespaceId, owner: Owner, behavior: &AffinityBehavior) -> Self {
        let selector = &term.namespace_selector;
        let stands_for_own = term.namespaces.is_empty()
            && (*selector == LabelSelector::Absent
                || behavior.namespace_selector == AffinityNamespaceSelector::Unknown);
        let (by_labels, accepts_all) = match behavior.namespace_selector {
            AffinityNamespaceSelector::Unknown | AffinityNamespaceSelector::NamesNothing => {
                (&LabelSelector::Absent, false)
            }
            AffinityNamespaceSelector::ByLabels => (selector, selector.is_empty()),
            AffinityNamespaceSelector::ByLabelsOrNone => {
                (selector, selector.is_empty() || (owner == Owner::Incoming && selector.matches(&[])))
            }
        };
        Scope { named: &term.namespaces, default: stands_for_own.then_some(own), by_labels, accepts_all }
    }

    fn selects(&self, namespace: NamespaceId, owner: Owner, cluster: &Cluster) -> Selected {
        if self.accepts_all || self.default == Some(namespace) || self.named.contains(&namespace) {
            return Selected::Yes;
        }
        if *self.by_labels == LabelSelector::Absent {
            return Selected::No;
        }
        let object = cluster.namespace(namespace);
        match (object.present, cluster.may_lack(Kind::Namespace)) {
            (true, _) => self.by_labels.matches(cluster.label_sets.pairs(object.labels)).into(),
            (false, true) => Selected::Unknown,
            // A namespace that does not exist has no labels for an existing pod's term, and is not listed for the incoming's.
            (false, false) => (owner == Owner::Existing && self.by_labels.matches(&[])).into(),
        }
    }
}

/// A term of the incoming pod.
#[derive(Debug)]
pub(crate) struct Term<'a> {
    /// The topology key.
    pub(crate) key: Symbol,
    selector: &'a LabelSelector,
    /// By [`NamespaceId`].
    namespaces: Vec<Selected>,
}

impl<'a> Term<'a> {
    /// The terms of a pod of this namespace.
    pub(crate) fn all_of(
        terms: &'a [PodAffinityTerm],
        own: NamespaceId,
        cluster: &Cluster,
        behavior: &AffinityBehavior,
    ) -> Vec<Self> {
        let build = |term: &'a PodAffinityTerm| {
            let scope = Scope::new(term, own, Owner::Incoming, behavior);
            let namespaces = (0..cluster.namespaces.len()).map(NamespaceId::at);
            let namespaces = namespaces.map(|it| scope.selects(it, Owner::Incoming, cluster)).collect();
            Term { key: term.topology_key, selector: &term.selector, namespaces }
        };
        terms.iter().map(build).collect()
    }

    /// Whether the term selects a pod of this namespace with these labels.
    pub(crate) fn selects(&self, namespace: NamespaceId, labels: &LabelPairs) -> Selected {
        match self.namespaces[namespace.index()] {
            Selected::No => Selected::No,
            scope @ (Selected::Unknown | Selected::Yes) if self.selector.matches(labels) => scope,
            Selected::Unknown | Selected::Yes => Selected::No,
        }
    }
}

/// Topology keys of a pod's anti-affinity terms that select, or may select, the incoming pod. `default` is the namespace for
/// which a term stands that names none. One term that cannot be parsed makes them all count as absent.
pub(crate) fn anti_affinity_that_selects(
    incoming: &Pod,
    spec: &PodSpec,
    default: NamespaceId,
    cluster: &Cluster,
    behavior: &AffinityBehavior,
) -> Vec<(Symbol, Selected)> {
    if spec.pod_anti_affinity.iter().any(|term| is_unparsable(term, behavior)) {
        return Vec::new();
    }
    let labels = cluster.label_sets.pairs(incoming.labels);
    let selecting = spec.pod_anti_affinity.iter().filter(|term| term.selector.matches(labels));
    let scoped = selecting.map(|term| {
        let scope = Scope::new(term, default, Owner::Existing, behavior);
        (term.topology_key, scope.selects(incoming.namespace, Owner::Existing, cluster))
    });
    scoped.filter(|(_, selected)| *selected != Selected::No).collect()
}

/// Terms held against many pods: each label set is matched once.
pub(crate) struct Matcher<'m, 'a> {
    terms: &'m [Term<'a>],
    memos: Vec<SelectorMemo<'a>>,
    cluster: &'a Cluster,
}

impl<'m, 'a> Matcher<'m, 'a> {
    /// Nothing matched yet.
    pub(crate) fn new(terms: &'m [Term<'a>], cluster: &'a Cluster) -> Self {
        Matcher { terms, memos: terms.iter().map(|term| SelectorMemo::new(term.selector)).collect(), cluster }
    }

    /// Whether the term at a position selects a pod.
    #[inline]
    pub(crate) fn one(&mut self, at: usize, namespace: NamespaceId, labels: LabelSetId) -> Selected {
        match self.terms[at].namespaces[namespace.index()] {
            Selected::No => Selected::No,
            scope @ (Selected::Unknown | Selected::Yes) => {
                if self.memos[at].matches(&self.cluster.label_sets, labels) {
                    scope
                } else {
                    Selected::No
                }
            }
        }
    }

    /// Whether there are terms, and all select a pod.
    pub(crate) fn all(&mut self, namespace: NamespaceId, labels: LabelSetId) -> Selected {
        let mut least = if self.terms.is_empty() { Selected::No } else { Selected::Yes };
        for at in 0..self.terms.len() {
            least = least.min(self.one(at, namespace, labels));
            if least == Selected::No {
                break;
            }
        }
        least
    }
}
