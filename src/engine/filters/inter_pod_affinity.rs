//! Rejects a node by required pod affinity and anti-affinity: the incoming pod's own, and the anti-affinity of pods that
//! are there. Upstream: `plugins/interpodaffinity`.
//!
//! PreFilter counts, per pair of topology key and value, existing pods' terms that select the incoming pod, and the pods
//! that the incoming pod's terms select. An affinity that is not met is unresolvable; anti-affinity is not.
//! A term whose namespaces the dump does not tell is neither met nor unmet: it is counted apart, and blinds the verdict on
//! the nodes it could concern.

use crate::engine::framework::{
    Code, Fault, FilterPlugin, Gap, GapEffect, GapSet, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::node_view::NodeView;
use crate::engine::snapshot::Snapshot;
use crate::kube::behavior::{
    AffinityBehavior, AffinityCheckOrder, AffinityFirstPod, AffinityHookNamespace, AffinityHookNominated,
    AffinityNamespaceSelector, AffinitySkip, AffinityUnparsable,
};
use crate::kube::plugin::Plugin;
use crate::model::affinity::PodAffinityTerm;
use crate::model::cluster::{Cluster, CoverageState, Kind};
use crate::model::id::{LabelSetId, NamespaceId, PodId, Symbol};
use crate::model::labels::{self, LabelPairs};
use crate::model::pod::{Pod, PodSpec};
use crate::model::selector::{LabelSelector, SelectorMemo};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The plugin.
pub(crate) struct InterPodAffinity;

impl FilterPlugin for InterPodAffinity {
    fn plugin(&self) -> Plugin {
        Plugin::InterPodAffinity
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let behavior = &cycle.snapshot.behavior.affinity;
        let spec = &cycle.incoming().spec;
        let own_unparsable =
            spec.pod_affinity.iter().chain(&spec.pod_anti_affinity).any(|term| is_unparsable(term, behavior));
        match behavior.unparsable {
            AffinityUnparsable::Rejects if own_unparsable => {
                return PreFilter::Reject(Rejection::UnparsableAffinity, Code::Unresolvable);
            }
            AffinityUnparsable::Faults if own_unparsable || any_existing_unparsable(cycle.snapshot) => {
                return PreFilter::Fault(Fault::UnparsableAffinity);
            }
            AffinityUnparsable::Rejects | AffinityUnparsable::Faults => {}
        }
        let mut counts = Counts::new(cycle);
        let own_terms = !counts.affinity.is_empty() || !counts.anti_affinity.is_empty();
        match behavior.skip {
            AffinitySkip::Unconcerned if !own_terms && counts.existing.is_empty() => return PreFilter::Skip,
            AffinitySkip::Unconcerned | AffinitySkip::Never => {}
        }
        counts.note_gaps(gaps);
        let filter = AffinityFilter { counts: Arc::new(counts), changes: Changes::default() };
        PreFilter::Run { filter: Box::new(filter), nodes: None }
    }
}

fn any_existing_unparsable(snapshot: &Snapshot) -> bool {
    let behavior = &snapshot.behavior.affinity;
    let existing = snapshot.nodes.iter().flat_map(|info| &info.pods_with_anti_affinity);
    existing
        .flat_map(|&pod| &snapshot.cluster.pod(pod).spec.pod_anti_affinity)
        .any(|term| is_unparsable(term, behavior))
}

fn is_unparsable(term: &PodAffinityTerm, behavior: &AffinityBehavior) -> bool {
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
enum Selected {
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
        match (object.present, cluster.coverage_of(Kind::Namespace)) {
            (true, _) => self.by_labels.matches(cluster.label_sets.pairs(object.labels)).into(),
            (false, CoverageState::Absent | CoverageState::Truncated | CoverageState::Rejected) => Selected::Unknown,
            // A namespace that does not exist has no labels for an existing pod's term, and is not listed for the incoming's.
            (false, CoverageState::Present | CoverageState::Empty) => {
                (owner == Owner::Existing && self.by_labels.matches(&[])).into()
            }
        }
    }
}

/// A term of the incoming pod.
#[derive(Debug)]
struct Term<'a> {
    key: Symbol,
    selector: &'a LabelSelector,
    /// By [`NamespaceId`].
    namespaces: Vec<Selected>,
}

impl<'a> Term<'a> {
    fn all_of(terms: &'a [PodAffinityTerm], cycle: &PodCycle<'a>) -> Vec<Self> {
        let (cluster, behavior) = (cycle.cluster(), &cycle.snapshot.behavior.affinity);
        let build = |term: &'a PodAffinityTerm| {
            let scope = Scope::new(term, cycle.incoming().namespace, Owner::Incoming, behavior);
            let namespaces = (0..cluster.namespaces.len()).map(NamespaceId::at);
            let namespaces = namespaces.map(|it| scope.selects(it, Owner::Incoming, cluster)).collect();
            Term { key: term.topology_key, selector: &term.selector, namespaces }
        };
        terms.iter().map(build).collect()
    }

    fn selects(&self, pod: &Pod, labels: &LabelPairs) -> Selected {
        match self.namespaces[pod.namespace.index()] {
            Selected::No => Selected::No,
            scope @ (Selected::Unknown | Selected::Yes) if self.selector.matches(labels) => scope,
            Selected::Unknown | Selected::Yes => Selected::No,
        }
    }
}

/// A topology key with a node's value of it.
type Pair = (Symbol, Symbol);

fn pair_of(on_node: &LabelPairs, key: Symbol) -> Option<Pair> {
    labels::value(on_node, key).map(|value| (key, value))
}

/// Counts by pair; those of terms whose namespaces are not known apart. Invariant: no count is 0, as upstream has it.
#[derive(Debug, Default)]
struct PairCounts {
    certain: FxHashMap<Pair, i64>,
    unknown: FxHashMap<Pair, i64>,
    /// Keys of all pairs.
    keys: Vec<Symbol>,
}

impl PairCounts {
    fn add(&mut self, pair: Pair, selected: Selected) {
        let side = match selected {
            Selected::No => return,
            Selected::Unknown => &mut self.unknown,
            Selected::Yes => &mut self.certain,
        };
        *side.entry(pair).or_insert(0) += 1;
        if !self.keys.contains(&pair.0) {
            self.keys.push(pair.0);
        }
    }

    fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.unknown.is_empty()
    }
}

/// What hooks changed, as (pair, selected, by how much).
#[derive(Clone, Debug, Default)]
struct Deltas(Vec<(Pair, Selected, i64)>);

impl Deltas {
    fn add(&mut self, pair: Pair, selected: Selected, by: i64) {
        if selected == Selected::No {
            return;
        }
        match self.0.iter_mut().find(|it| it.0 == pair && it.1 == selected) {
            Some(known) => known.2 += by,
            None => self.0.push((pair, selected, by)),
        }
    }

    fn of(&self, pair: Pair, selected: Selected) -> i64 {
        self.0.iter().find(|it| it.0 == pair && it.1 == selected).map_or(0, |it| it.2)
    }
}

/// The changes of one fork.
#[derive(Clone, Debug, Default)]
struct Changes {
    existing: Deltas,
    affinity: Deltas,
    anti_affinity: Deltas,
}

/// Counts and what hooks changed in them.
#[derive(Clone, Copy)]
struct Now<'s> {
    base: &'s PairCounts,
    deltas: &'s Deltas,
}

impl Now<'_> {
    fn certain(&self, pair: Pair) -> i64 {
        self.base.certain.get(&pair).copied().unwrap_or(0) + self.deltas.of(pair, Selected::Yes)
    }

    fn unknown(&self, pair: Pair) -> i64 {
        self.base.unknown.get(&pair).copied().unwrap_or(0) + self.deltas.of(pair, Selected::Unknown)
    }

    /// How many pairs have a count other than 0 on one side.
    fn pairs(&self, side: Selected) -> usize {
        let base = if side == Selected::Yes { &self.base.certain } else { &self.base.unknown };
        let mut pairs = base.len();
        for &(pair, _, by) in self.deltas.0.iter().filter(|it| it.1 == side) {
            let before = base.get(&pair).copied().unwrap_or(0);
            pairs = pairs + usize::from(before + by != 0) - usize::from(before != 0);
        }
        pairs
    }
}

/// What PreFilter counted. Shared by all forks.
struct Counts<'a> {
    snapshot: &'a Snapshot,
    pod: PodId,
    affinity: Vec<Term<'a>>,
    anti_affinity: Vec<Term<'a>>,
    /// Whether all of the pod's affinity terms select the pod itself.
    selects_itself: Selected,
    /// Existing pods' anti-affinity terms that select the incoming pod.
    existing: PairCounts,
    /// Pods that all of the incoming pod's affinity terms select, once per term.
    affinity_counts: PairCounts,
    /// Pods that the incoming pod's anti-affinity terms select.
    anti_affinity_counts: PairCounts,
    /// The gap of terms whose namespaces are not known.
    blind: GapSet,
}

impl<'a> Counts<'a> {
    fn new(cycle: &PodCycle<'a>) -> Self {
        let spec = &cycle.incoming().spec;
        let mut counts = Counts {
            snapshot: cycle.snapshot,
            pod: cycle.pod,
            affinity: Term::all_of(&spec.pod_affinity, cycle),
            anti_affinity: Term::all_of(&spec.pod_anti_affinity, cycle),
            selects_itself: Selected::No,
            existing: PairCounts::default(),
            affinity_counts: PairCounts::default(),
            anti_affinity_counts: PairCounts::default(),
            blind: GapSet::NONE,
        };
        counts.selects_itself = counts.affinity_selects(cycle.incoming(), cycle.cluster().pod_labels(cycle.pod));
        counts.count_existing();
        counts.count_selected();
        counts
    }

    fn cluster(&self) -> &'a Cluster {
        &self.snapshot.cluster
    }

    fn behavior(&self) -> &'a AffinityBehavior {
        &self.snapshot.behavior.affinity
    }

    fn affinity_selects(&self, pod: &Pod, labels: &LabelPairs) -> Selected {
        self.affinity.iter().map(|term| term.selects(pod, labels)).min().unwrap_or(Selected::No)
    }

    /// Pods of one template and namespace have the same terms, so each such group is matched once.
    fn count_existing(&mut self) {
        let cluster = self.cluster();
        let mut groups: FxHashMap<(*const PodSpec, NamespaceId), Vec<(Symbol, Selected)>> = FxHashMap::default();
        for info in self.snapshot.nodes.iter().filter(|info| !info.pods_with_anti_affinity.is_empty()) {
            let on_node = cluster.node_labels(info.node);
            for &id in &info.pods_with_anti_affinity {
                let pod = cluster.pod(id);
                let group = groups
                    .entry((Arc::as_ptr(&pod.spec), pod.namespace))
                    .or_insert_with(|| self.terms_that_select_incoming(&pod.spec, pod.namespace));
                for &(key, selected) in &*group {
                    if let Some(pair) = pair_of(on_node, key) {
                        self.existing.add(pair, selected);
                    }
                }
            }
        }
    }

    /// Topology keys of the anti-affinity terms of a pod that select, or may select, the incoming pod.
    fn terms_that_select_incoming(&self, spec: &PodSpec, default: NamespaceId) -> Vec<(Symbol, Selected)> {
        let (cluster, behavior) = (self.cluster(), self.behavior());
        if spec.pod_anti_affinity.iter().any(|term| is_unparsable(term, behavior)) {
            return Vec::new();
        }
        let incoming = cluster.pod_labels(self.pod);
        let selecting = spec.pod_anti_affinity.iter().filter(|term| term.selector.matches(incoming));
        let scoped = selecting.map(|term| {
            let scope = Scope::new(term, default, Owner::Existing, behavior);
            (term.topology_key, scope.selects(cluster.pod(self.pod).namespace, Owner::Existing, cluster))
        });
        scoped.filter(|(_, selected)| *selected != Selected::No).collect()
    }

    fn count_selected(&mut self) {
        if self.affinity.is_empty() && self.anti_affinity.is_empty() {
            return;
        }
        let cluster = self.cluster();
        let mut affinity = Matcher::new(&self.affinity, cluster);
        let mut anti_affinity = Matcher::new(&self.anti_affinity, cluster);
        for info in &self.snapshot.nodes {
            let on_node = cluster.node_labels(info.node);
            for &id in &info.pods {
                let pod = cluster.pod(id);
                let selected = affinity.all(pod.namespace, pod.labels);
                for pair in self.affinity.iter().filter_map(|term| pair_of(on_node, term.key)) {
                    self.affinity_counts.add(pair, selected);
                }
                for (at, term) in self.anti_affinity.iter().enumerate() {
                    let selected = anti_affinity.one(at, pod.namespace, pod.labels);
                    if selected != Selected::No
                        && let Some(pair) = pair_of(on_node, term.key)
                    {
                        self.anti_affinity_counts.add(pair, selected);
                    }
                }
            }
        }
    }

    /// Notes the lack of namespaces if it can show: some pod that is there, or nominated, is perhaps selected.
    fn note_gaps(&mut self, gaps: &mut Gaps) {
        let cluster = self.cluster();
        let counted = [&self.existing, &self.affinity_counts, &self.anti_affinity_counts];
        let nominated_may_be = |&id: &PodId| {
            let (pod, labels) = (cluster.pod(id), cluster.pod_labels(id));
            let own = self.anti_affinity.iter().map(|term| term.selects(pod, labels));
            own.chain([self.affinity_selects(pod, labels)]).any(|it| it == Selected::Unknown)
                || self
                    .terms_that_select_incoming(&pod.spec, pod.namespace)
                    .iter()
                    .any(|(_, it)| *it == Selected::Unknown)
        };
        if counted.iter().any(|it| !it.unknown.is_empty())
            || self.selects_itself == Selected::Unknown
            || self.snapshot.nominated.iter().flatten().any(nominated_may_be)
        {
            self.blind = gaps.note(Gap {
                kind: Kind::Namespace,
                plugin: Plugin::InterPodAffinity,
                object: None,
                effect: GapEffect::MayDiffer,
            });
        }
    }
}

/// Terms held against many pods: each label set is matched once.
struct Matcher<'m, 'a> {
    terms: &'m [Term<'a>],
    memos: Vec<SelectorMemo<'a>>,
    cluster: &'a Cluster,
}

impl<'m, 'a> Matcher<'m, 'a> {
    fn new(terms: &'m [Term<'a>], cluster: &'a Cluster) -> Self {
        Matcher { terms, memos: terms.iter().map(|term| SelectorMemo::new(term.selector)).collect(), cluster }
    }

    #[inline]
    fn one(&mut self, at: usize, namespace: NamespaceId, labels: LabelSetId) -> Selected {
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

    fn all(&mut self, namespace: NamespaceId, labels: LabelSetId) -> Selected {
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

struct AffinityFilter<'a> {
    counts: Arc<Counts<'a>>,
    changes: Changes,
}

/// The three questions that the filter asks of a node.
#[derive(Clone, Copy)]
enum Question {
    Existing,
    Affinity,
    AntiAffinity,
}

/// An answer, and whether what the dump lacks could change it.
#[derive(Clone, Copy)]
struct Answer {
    passes: bool,
    certain: bool,
}

impl AffinityFilter<'_> {
    fn existing(&self) -> Now<'_> {
        Now { base: &self.counts.existing, deltas: &self.changes.existing }
    }

    fn affinity(&self) -> Now<'_> {
        Now { base: &self.counts.affinity_counts, deltas: &self.changes.affinity }
    }

    fn anti_affinity(&self) -> Now<'_> {
        Now { base: &self.counts.anti_affinity_counts, deltas: &self.changes.anti_affinity }
    }

    fn check_existing(&self, on_node: &LabelPairs) -> Answer {
        let now = self.existing();
        let changed = now.deltas.0.iter().map(|(pair, ..)| pair.0);
        let keys = now.base.keys.iter().copied().chain(changed);
        none_of(now, keys.filter_map(|key| pair_of(on_node, key)))
    }

    fn check_anti_affinity(&self, on_node: &LabelPairs) -> Answer {
        none_of(self.anti_affinity(), self.counts.anti_affinity.iter().filter_map(|term| pair_of(on_node, term.key)))
    }

    fn check_affinity(&self, on_node: &LabelPairs) -> Answer {
        let (counts, now) = (&self.counts, self.affinity());
        let (mut labelled, mut met, mut may_be_met) = (true, true, true);
        for term in &counts.affinity {
            let pair = pair_of(on_node, term.key);
            let certain = pair.is_some_and(|it| now.certain(it) > 0);
            labelled &= pair.is_some();
            met &= certain;
            may_be_met &= certain || pair.is_some_and(|it| now.unknown(it) > 0);
        }
        if met {
            return Answer { passes: true, certain: true };
        }
        let here = match counts.behavior().first_pod {
            AffinityFirstPod::AnyNode => true,
            AffinityFirstPod::LabelledNodes => labelled,
        };
        let alone = now.pairs(Selected::Yes) == 0;
        let perhaps_not_alone = now.pairs(Selected::Unknown) > 0;
        let passes = here && alone && counts.selects_itself == Selected::Yes;
        let certain = if passes {
            !perhaps_not_alone
        } else {
            !may_be_met && !(here && alone && counts.selects_itself == Selected::Unknown)
        };
        Answer { passes, certain }
    }

    /// The questions in the release's order.
    fn questions(&self) -> [Question; 3] {
        match self.counts.behavior().check_order {
            AffinityCheckOrder::ExistingFirst => [Question::Existing, Question::Affinity, Question::AntiAffinity],
            AffinityCheckOrder::AffinityFirst => [Question::Affinity, Question::AntiAffinity, Question::Existing],
        }
    }

    fn ask(&self, question: Question, view: &NodeView<'_>) -> Answer {
        match question {
            Question::Existing => self.check_existing(view.labels()),
            Question::Affinity => self.check_affinity(view.labels()),
            Question::AntiAffinity => self.check_anti_affinity(view.labels()),
        }
    }

    fn update(&mut self, id: PodId, view: &NodeView<'_>, by: i64) {
        let counts = Arc::clone(&self.counts);
        let (cluster, behavior) = (counts.cluster(), counts.behavior());
        let (pod, labels, on_node) = (cluster.pod(id), cluster.pod_labels(id), view.labels());
        if !pod.spec.pod_anti_affinity.is_empty() {
            let default = match behavior.hook_namespace {
                AffinityHookNamespace::IncomingPods => cluster.pod(counts.pod).namespace,
                AffinityHookNamespace::OwnersOwn => pod.namespace,
            };
            for (key, selected) in counts.terms_that_select_incoming(&pod.spec, default) {
                if let Some(pair) = pair_of(on_node, key) {
                    self.changes.existing.add(pair, selected, by);
                }
            }
        }
        match behavior.hook_nominated {
            AffinityHookNominated::Overlooked if pod.node_name.is_none() => return,
            AffinityHookNominated::Overlooked | AffinityHookNominated::Counted => {}
        }
        let selected = counts.affinity_selects(pod, labels);
        for pair in counts.affinity.iter().filter_map(|term| pair_of(on_node, term.key)) {
            self.changes.affinity.add(pair, selected, by);
        }
        for term in &counts.anti_affinity {
            if let Some(pair) = pair_of(on_node, term.key) {
                self.changes.anti_affinity.add(pair, term.selects(pod, labels), by);
            }
        }
    }
}

/// The check that no pair of a node has a count.
fn none_of(now: Now<'_>, mut pairs: impl Iterator<Item = Pair> + Clone) -> Answer {
    let perhaps = pairs.clone().any(|pair| now.unknown(pair) > 0);
    let passes = !pairs.any(|pair| now.certain(pair) > 0);
    Answer { passes, certain: !passes || !perhaps }
}

impl PodFilter for AffinityFilter<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        match self.questions().into_iter().find(|question| !self.ask(*question, view).passes) {
            None => Verdict::Fits,
            Some(Question::Existing) => Verdict::Rejects(Rejection::ExistingPodAntiAffinity, Code::Unschedulable),
            Some(Question::Affinity) => Verdict::Rejects(Rejection::PodAffinity, Code::Unresolvable),
            Some(Question::AntiAffinity) => Verdict::Rejects(Rejection::PodAntiAffinity, Code::Unschedulable),
        }
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        if self.counts.blind.is_empty() {
            return GapSet::NONE;
        }
        for answer in self.questions().map(|question| self.ask(question, view)) {
            if !answer.certain {
                return self.counts.blind;
            }
            if !answer.passes {
                break;
            }
        }
        GapSet::NONE
    }

    fn has_hooks(&self) -> bool {
        true
    }

    fn add_pod(&mut self, pod: PodId, view: &NodeView<'_>) {
        self.update(pod, view, 1);
    }

    fn remove_pod(&mut self, pod: PodId, view: &NodeView<'_>) {
        self.update(pod, view, -1);
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(AffinityFilter { counts: Arc::clone(&self.counts), changes: self.changes.clone() })
    }
}
