//! Rejects a node by required pod affinity and anti-affinity: the incoming pod's own, and the anti-affinity of pods that
//! are there. Upstream: `plugins/interpodaffinity`.
//!
//! PreFilter counts, per pair of topology key and value, existing pods' terms that select the incoming pod, and the pods
//! that the incoming pod's terms select. An affinity that is not met is unresolvable; anti-affinity is not.
//! A term whose namespaces the dump does not tell is neither met nor unmet: it is counted apart, and blinds the verdict on
//! the nodes it could concern.

use crate::engine::affinity_terms::{self, Matcher, Selected, Term};
use crate::engine::framework::{
    Code, Fault, FilterPlugin, Gap, GapEffect, GapSet, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::node_view::NodeView;
use crate::engine::pair_counts::{Deltas, Now, Pair, PairCounts, pair_of};
use crate::engine::pod_table::PodRow;
use crate::engine::snapshot::Snapshot;
use crate::kube::behavior::{
    AffinityBehavior, AffinityCheckOrder, AffinityFirstPod, AffinityHookNamespace, AffinityHookNominated, AffinitySkip,
    AffinityUnparsable,
};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::{NamespaceId, PodId, Symbol};
use crate::model::labels::LabelPairs;
use std::borrow::Cow;
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
        let own_unparsable = spec
            .pod_affinity
            .iter()
            .chain(&spec.pod_anti_affinity)
            .any(|term| affinity_terms::is_unparsable(term, behavior));
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
    let unparsable = |&pod: &PodId| {
        let terms = &snapshot.cluster.pod(pod).spec.pod_anti_affinity;
        terms.iter().any(|term| affinity_terms::is_unparsable(term, &snapshot.behavior.affinity))
    };
    let of_group: Vec<bool> = snapshot.pods.groups.iter().map(unparsable).collect();
    let mut existing = snapshot.nodes.iter().flat_map(|info| &info.pods_with_anti_affinity);
    of_group.contains(&true)
        && existing.any(|&pod| snapshot.pods.row(pod).anti_affinity_group().is_some_and(|group| of_group[group]))
}

/// Topology keys of the anti-affinity terms of one group of pods that select, or may select, the incoming pod.
type Selecting = Box<[(Symbol, Selected)]>;

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
    /// What `existing` was counted from, by group of the pod table; `None` for groups without a pod on a node.
    matched: Vec<Option<Selecting>>,
    /// Pods that all of the incoming pod's affinity terms select, once per term.
    affinity_counts: PairCounts,
    /// Pods that the incoming pod's anti-affinity terms select.
    anti_affinity_counts: PairCounts,
    /// The gap of terms whose namespaces are not known.
    blind: GapSet,
}

impl<'a> Counts<'a> {
    fn new(cycle: &PodCycle<'a>) -> Self {
        let (spec, own) = (&cycle.incoming().spec, cycle.incoming().namespace);
        let terms = |terms| Term::all_of(terms, own, cycle.cluster(), &cycle.snapshot.behavior.affinity);
        let mut counts = Counts {
            snapshot: cycle.snapshot,
            pod: cycle.pod,
            affinity: terms(&spec.pod_affinity),
            anti_affinity: terms(&spec.pod_anti_affinity),
            selects_itself: Selected::No,
            existing: PairCounts::default(),
            matched: Vec::new(),
            affinity_counts: PairCounts::default(),
            anti_affinity_counts: PairCounts::default(),
            blind: GapSet::NONE,
        };
        counts.selects_itself = counts.affinity_selects(cycle.snapshot.pods.row(cycle.pod));
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

    fn selects(&self, term: &Term<'_>, pod: &PodRow) -> Selected {
        term.selects(pod.namespace, self.cluster().label_sets.pairs(pod.labels))
    }

    fn affinity_selects(&self, pod: &PodRow) -> Selected {
        self.affinity.iter().map(|term| self.selects(term, pod)).min().unwrap_or(Selected::No)
    }

    /// Pods with the same anti-affinity are matched once.
    fn count_existing(&mut self) {
        let mut matched: Vec<Option<Selecting>> = vec![None; self.snapshot.pods.groups.len()];
        for info in self.snapshot.nodes.iter().filter(|info| !info.pods_with_anti_affinity.is_empty()) {
            let on_node = self.cluster().node_labels(info.node);
            for &id in &info.pods_with_anti_affinity {
                let Some(group) = self.snapshot.pods.row(id).anti_affinity_group() else { continue };
                for &(key, selected) in &**matched[group].get_or_insert_with(|| self.selecting(group)) {
                    if let Some(pair) = pair_of(on_node, key) {
                        self.existing.add(pair, selected);
                    }
                }
            }
        }
        self.matched = matched;
    }

    /// The terms of a group of pods that select, or may select, the incoming pod.
    fn selecting(&self, group: usize) -> Selecting {
        let own = self.cluster().pod(self.snapshot.pods.groups[group]);
        self.selecting_for(group, own.namespace)
    }

    /// The same while one of them comes or goes.
    fn selecting_in_hook(&self, group: usize) -> Cow<'_, [(Symbol, Selected)]> {
        match (self.behavior().hook_namespace, &self.matched[group]) {
            (AffinityHookNamespace::OwnersOwn, Some(matched)) => Cow::Borrowed(matched),
            (AffinityHookNamespace::OwnersOwn, None) => Cow::Owned(self.selecting(group).into()),
            (AffinityHookNamespace::IncomingPods, _) => {
                Cow::Owned(self.selecting_for(group, self.snapshot.pods.row(self.pod).namespace).into())
            }
        }
    }

    fn selecting_for(&self, group: usize, default: NamespaceId) -> Selecting {
        let (cluster, behavior) = (self.cluster(), self.behavior());
        let spec = &cluster.pod(self.snapshot.pods.groups[group]).spec;
        affinity_terms::anti_affinity_that_selects(cluster.pod(self.pod), spec, default, cluster, behavior).into()
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
                let pod = self.snapshot.pods.row(id);
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
        let counted = [&self.existing, &self.affinity_counts, &self.anti_affinity_counts];
        let nominated_may_be = |&id: &PodId| {
            let pod = self.snapshot.pods.row(id);
            let own = self.anti_affinity.iter().map(|term| self.selects(term, pod));
            let theirs = pod.anti_affinity_group().map(|group| self.selecting(group));
            own.chain([self.affinity_selects(pod)])
                .chain(theirs.iter().flat_map(|all| all.iter().map(|it| it.1)))
                .any(|it| it == Selected::Unknown)
        };
        if counted.iter().any(|it| it.has_unknown())
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

/// The changes of one fork.
#[derive(Clone, Debug, Default)]
struct Changes {
    existing: Deltas,
    affinity: Deltas,
    anti_affinity: Deltas,
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
        none_of(now, now.keys().filter_map(|key| pair_of(on_node, key)))
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
        let AffinityFilter { counts, changes } = self;
        let (behavior, on_node) = (counts.behavior(), view.labels());
        let pod = counts.snapshot.pods.row(id);
        if let Some(group) = pod.anti_affinity_group() {
            for &(key, selected) in &*counts.selecting_in_hook(group) {
                if let Some(pair) = pair_of(on_node, key) {
                    changes.existing.add(pair, selected, by);
                }
            }
        }
        let selected = counts.affinity_selects(pod);
        let concerns = |term| counts.selects(term, pod) != Selected::No;
        if selected == Selected::No && !counts.anti_affinity.iter().any(concerns) {
            return;
        }
        match behavior.hook_nominated {
            AffinityHookNominated::Overlooked if counts.cluster().pod(id).node_name.is_none() => return,
            AffinityHookNominated::Overlooked | AffinityHookNominated::Counted => {}
        }
        for pair in counts.affinity.iter().filter_map(|term| pair_of(on_node, term.key)) {
            changes.affinity.add(pair, selected, by);
        }
        for term in &counts.anti_affinity {
            if let Some(pair) = pair_of(on_node, term.key) {
                changes.anti_affinity.add(pair, counts.selects(term, pod), by);
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

#[cfg(test)]
mod tests {
    use crate::engine::framework::{Fault, Gap, GapEffect};
    use crate::engine::outcome::{Certainty, Disposition};
    use crate::kube::plugin::Plugin;
    use crate::model::cluster::{CoverageState, Kind};
    use crate::testkit::{check, scene};
    use std::sync::Arc;

    fn terms(kind: &str, key: &str, selector: &str, more: &str) -> String {
        format!(
            r#"spec.affinity.{kind}.requiredDuringSchedulingIgnoredDuringExecution:[{{"topologyKey":"{key}","labelSelector":{selector}{more}}}]"#
        )
    }

    fn affinity(app: &str, key: &str) -> String {
        terms("podAffinity", key, &format!(r#"{{"matchLabels":{{"app":"{app}"}}}}"#), "")
    }

    fn anti_affinity(app: &str, more: &str) -> String {
        terms("podAntiAffinity", "kubernetes.io/hostname", &format!(r#"{{"matchLabels":{{"app":"{app}"}}}}"#), more)
    }

    fn namespace(name: &str, team: &str) -> String {
        format!(
            r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}","labels":{{"team":"{team}"}}}}}}"#
        )
    }

    #[test]
    fn the_first_pod_of_its_kind_is_let_in_where_the_labels_are() {
        const ZONE: &str = "topology.kubernetes.io/zone";
        let cluster = |app| format!("node a zone=z1\nnode b\nwant w label:app=web {}", affinity(app, ZONE));
        check(37, &cluster("web"), "fits a");
        check(18, &cluster("web"), "fits a, b");
        check(37, &cluster("db"), "no candidates");
    }

    #[test]
    fn a_pod_on_a_node_without_the_label_is_no_company() {
        let cluster = format!("node a zone=z1\nnode b\npod x on=b label:app=web\nwant w label:app=web {}", {
            affinity("web", "topology.kubernetes.io/zone")
        });
        check(37, &cluster, "fits a");
    }

    #[test]
    fn evicting_the_last_pod_that_affinity_rests_on_helps_only_who_rests_on_itself() {
        let cluster = |own| {
            let rests = affinity("web", "kubernetes.io/hostname");
            format!("node a cpu=1\npod x on=a cpu=1 label:app=web\nwant w prio=9 cpu=1 label:app={own} {rests}")
        };
        check(37, &cluster("web"), "a: evict default/x");
        check(37, &cluster("db"), "no candidates");
    }

    #[test]
    fn anti_affinity_works_both_ways() {
        let own = format!("node a\npod x on=a label:app=db\nwant w prio=9 {}", anti_affinity("db", ""));
        check(37, &own, "a: evict default/x");
        let theirs = format!("node a\npod x on=a {}\nwant w prio=9 label:app=web", anti_affinity("web", ""));
        check(37, &theirs, "a: evict default/x");
    }

    #[test]
    fn affinity_comes_before_existing_pods_anti_affinity_since_1_19() {
        let cluster = format!(
            "node a\npod x on=a {}\nwant w prio=9 label:app=web {}",
            anti_affinity("web", ""),
            affinity("db", "kubernetes.io/hostname")
        );
        let code = |minor| scene(minor, &cluster).status("a").unwrap();
        assert!(format!("{:?}", code(18)).contains("ExistingPodAntiAffinity, Unschedulable"));
        assert!(format!("{:?}", code(19)).contains("PodAffinity, Unresolvable"));
    }

    #[test]
    fn a_namespace_selector_names_namespaces_by_label() {
        let reaches_out = anti_affinity("db", r#","namespaceSelector":{"matchLabels":{"team":"x"}}"#);
        let cluster = |team| {
            let namespaces = namespace("shop", team);
            format!("node a\n{namespaces}\npod shop/x on=a prio=10 label:app=db\nwant w prio=9 {reaches_out}")
        };
        check(37, &cluster("x"), "no candidates");
        check(37, &cluster("y"), "fits a");
        check(20, &cluster("x"), "fits a");
    }

    #[test]
    fn from_1_34_to_1_36_a_selector_that_no_labels_meet_names_every_namespace() {
        let not_x = r#","namespaceSelector":{"matchExpressions":[{"key":"team","operator":"NotIn","values":["x"]}]}"#;
        let namespaces = namespace("shop", "x");
        let pods = "pod shop/x on=a prio=10 label:app=db";
        let cluster = format!("node a\n{namespaces}\n{pods}\nwant w prio=9 {}", anti_affinity("db", not_x));
        check(33, &cluster, "fits a");
        check(34, &cluster, "no candidates");
        check(36, &cluster, "no candidates");
        check(37, &cluster, "fits a");
    }

    #[test]
    fn terms_of_nominated_pods_are_not_seen_by_who_has_none() {
        let cluster =
            format!("node a\nwant w prio=9 label:app=web\nwant n prio=9 nominated=a {}", anti_affinity("web", ""));
        check(26, &cluster, "no candidates");
        check(27, &cluster, "fits a");
    }

    #[test]
    fn unparsable_selector() {
        let bad =
            terms("podAntiAffinity", "x", r#"{"matchExpressions":[{"key":"a","operator":"In","values":[]}]}"#, "");
        let own = format!("node a\nwant w {bad}");
        assert_eq!(scene(18, &own).outcome().disposition, Disposition::Error(Fault::UnparsableAffinity));
        assert_eq!(scene(19, &own).outcome().disposition, Disposition::Unschedulable);
        let theirs = format!("node a\npod x on=a {bad}\nwant w");
        assert_eq!(scene(18, &theirs).outcome().disposition, Disposition::Error(Fault::UnparsableAffinity));
        check(19, &theirs, "fits a");
    }

    #[test]
    fn unknown_namespaces_matter_only_where_a_pod_may_be_meant() {
        let certainty = |pods: &str, selector: &str| {
            let reaches_out = anti_affinity("db", &format!(r#","namespaceSelector":{selector}"#));
            let mut scene = scene(37, &format!("node a\nnode b\n{pods}\nwant w prio=9 {reaches_out}"));
            let cluster = Arc::make_mut(&mut scene.snapshot.cluster);
            let row = cluster.coverage.iter_mut().find(|it| it.kind == Kind::Namespace).unwrap();
            row.state = CoverageState::Absent;
            let outcome = scene.outcome();
            (outcome.certainty, outcome.gaps)
        };
        let gap =
            Gap { kind: Kind::Namespace, plugin: Plugin::InterPodAffinity, object: None, effect: GapEffect::MayDiffer };
        let x = r#"{"matchLabels":{"team":"x"}}"#;
        assert_eq!(certainty("pod shop/x on=a label:app=db", x), (Certainty::Undetermined, vec![gap]));
        assert_eq!(certainty("pod shop/x on=a label:app=web", x), (Certainty::Certain, vec![]));
        assert_eq!(certainty("pod shop/x on=a label:app=db", "{}").0, Certainty::Certain);
    }
}
