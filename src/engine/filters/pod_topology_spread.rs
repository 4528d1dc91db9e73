//! Rejects a node on which the pod would make a topology domain's count of like pods too large against the smallest
//! count of any domain. Upstream: `plugins/podtopologyspread`.
//!
//! PreFilter counts, per hard constraint, the like pods of each domain of eligible nodes; a dry run then changes the count
//! of one domain, its node's. What each release counts, and where, is [`SpreadBehavior`].

use crate::engine::default_selector;
use crate::engine::framework::{
    Code, Fault, FilterPlugin, Gap, GapEffect, GapSet, Gaps, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::node_match;
use crate::engine::node_view::NodeView;
use crate::engine::snapshot::Snapshot;
use crate::kube::behavior::{
    SpreadBehavior, SpreadCountedNodes, SpreadEligibility, SpreadEmptySelector, SpreadHookNodes, SpreadMatchLabelKeys,
    SpreadMinDomains, SpreadMissingLabel, SpreadUnknownDomain, SpreadWithoutDomains,
};
use crate::kube::plugin::Plugin;
use crate::kube::profile::DefaultSpreadConstraint;
use crate::model::affinity::{InclusionPolicy, SpreadConstraint};
use crate::model::cluster::Cluster;
use crate::model::id::{NodeId, PodId, Symbol};
use crate::model::labels::{self, LabelPairs};
use crate::model::node::Node;
use crate::model::pod::Pod;
use crate::model::selector::{LabelSelector, SelectorMemo};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// The plugin.
pub(crate) struct PodTopologySpread;

impl FilterPlugin for PodTopologySpread {
    fn plugin(&self) -> Plugin {
        Plugin::PodTopologySpread
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let own = &cycle.incoming().spec.spread;
        let (constraints, blind) = if own.is_empty() {
            default_constraints(cycle, gaps)
        } else {
            match own_constraints(cycle, own) {
                Ok(constraints) => (constraints, GapSet::NONE),
                Err(fault) => return PreFilter::Fault(fault),
            }
        };
        if constraints.is_empty() && blind.is_empty() {
            return PreFilter::Skip;
        }
        let counts = Arc::new(Counts::new(cycle, constraints));
        let filter = SpreadFilter { counts, changes: Vec::new(), blind, crashed: false };
        PreFilter::Run { filter: Box::new(filter), nodes: None }
    }
}

/// A hard constraint, with everything the release and the pod give it.
struct Constraint<'a> {
    max_skew: i64,
    key: Symbol,
    selector: Cow<'a, LabelSelector>,
    min_domains: i64,
    node_affinity: InclusionPolicy,
    node_taints: InclusionPolicy,
    /// 1 where the selector selects the pod itself.
    itself: i64,
}

fn own_constraints<'a>(cycle: &PodCycle<'a>, own: &'a [SpreadConstraint]) -> Result<Vec<Constraint<'a>>, Fault> {
    let (behavior, cluster) = (&cycle.snapshot.behavior.spread, cycle.cluster());
    let labels = cluster.pod_labels(cycle.pod);
    let build = |one: &'a SpreadConstraint| {
        let selector = match (&one.selector, behavior.match_label_keys) {
            (LabelSelector::Invalid, _) => return Err(Fault::UnparsableSpread),
            (LabelSelector::Requirements(all), SpreadMatchLabelKeys::JoinSelector) => {
                let value_of = |&key| Some(default_selector::has_value(key, labels::value(labels, key)?));
                let joining: Vec<_> = one.match_label_keys.iter().filter_map(value_of).collect();
                if joining.is_empty() {
                    Cow::Borrowed(&one.selector)
                } else {
                    Cow::Owned(LabelSelector::Requirements(all.iter().cloned().chain(joining).collect()))
                }
            }
            (LabelSelector::Requirements(_), SpreadMatchLabelKeys::Ignored) | (LabelSelector::Absent, _) => {
                Cow::Borrowed(&one.selector)
            }
        };
        Ok(Constraint {
            max_skew: one.max_skew,
            key: one.topology_key,
            itself: i64::from(selector.matches(labels)),
            selector,
            min_domains: one.min_domains.unwrap_or(1),
            node_affinity: one.node_affinity_policy.unwrap_or(InclusionPolicy::Honor),
            node_taints: one.node_taints_policy.unwrap_or(InclusionPolicy::Ignore),
        })
    };
    own.iter().filter(|one| one.hard).map(build).collect()
}

/// The profile's constraints with the selector of what owns the pod; none where nothing does.
fn default_constraints<'a>(cycle: &PodCycle<'a>, gaps: &mut Gaps) -> (Vec<Constraint<'a>>, GapSet) {
    let defaults = &cycle.profile.default_spread;
    if defaults.is_empty() {
        return (Vec::new(), GapSet::NONE);
    }
    let derived = default_selector::of(cycle.cluster(), cycle.pod, cycle.snapshot.behavior.spread.default_selector);
    let blind = derived.missing.iter().fold(GapSet::NONE, |set, &kind| {
        set.with(gaps.note(Gap { kind, plugin: Plugin::PodTopologySpread, object: None, effect: GapEffect::MayDiffer }))
    });
    if derived.selector.is_empty() {
        return (Vec::new(), blind);
    }
    let itself = i64::from(derived.selector.matches(cycle.cluster().pod_labels(cycle.pod)));
    let build = |one: &DefaultSpreadConstraint| Constraint {
        max_skew: one.max_skew,
        key: one.topology_key,
        selector: Cow::Owned(derived.selector.clone()),
        min_domains: one.min_domains.unwrap_or(1),
        node_affinity: one.node_affinity_policy.unwrap_or(InclusionPolicy::Honor),
        node_taints: one.node_taints_policy.unwrap_or(InclusionPolicy::Ignore),
        itself,
    };
    (defaults.iter().map(build).collect(), blind)
}

/// The count that upstream starts with before it has seen a domain.
const NO_DOMAIN: i64 = i32::MAX as i64;

/// The like pods of each domain of one constraint.
struct Domains {
    counts: FxHashMap<Symbol, i64>,
    /// The smallest count with its domain, and the smallest count of the other domains: upstream's critical paths, which
    /// are exact as long as only one domain changes, which is so in a dry run.
    lowest: Option<Symbol>,
    lowest_count: i64,
    next_count: i64,
}

impl Domains {
    fn new(counts: FxHashMap<Symbol, i64>) -> Self {
        // Equal counts may stand in either place: the smallest count of the others is the same.
        #[expect(clippy::iter_over_hash_type, reason = "the two smallest values do not depend on the order")]
        let (lowest, lowest_count, next_count) = {
            let mut found = (None, NO_DOMAIN, NO_DOMAIN);
            for (&domain, &count) in &counts {
                if count < found.1 {
                    found = (Some(domain), count, found.1);
                } else if count < found.2 {
                    found.2 = count;
                }
            }
            found
        };
        Domains { counts, lowest, lowest_count, next_count }
    }

    /// The smallest count of the domains other than this one.
    fn lowest_besides(&self, domain: Symbol) -> i64 {
        if self.lowest == Some(domain) { self.next_count } else { self.lowest_count }
    }
}

/// What PreFilter counted. Shared by all forks.
struct Counts<'a> {
    behavior: &'a SpreadBehavior,
    snapshot: &'a Snapshot,
    incoming: &'a Pod,
    constraints: Vec<Constraint<'a>>,
    /// In the order of `constraints`.
    domains: Vec<Domains>,
}

impl<'a> Counts<'a> {
    fn new(cycle: &PodCycle<'a>, constraints: Vec<Constraint<'a>>) -> Self {
        let behavior = &cycle.snapshot.behavior.spread;
        let mut counts =
            Counts { behavior, snapshot: cycle.snapshot, incoming: cycle.incoming(), constraints, domains: Vec::new() };
        counts.domains = counts.count().into_iter().map(Domains::new).collect();
        counts
    }

    fn cluster(&self) -> &'a Cluster {
        &self.snapshot.cluster
    }

    fn count(&self) -> Vec<FxHashMap<Symbol, i64>> {
        let mut counts = vec![FxHashMap::default(); self.constraints.len()];
        let mut memos: Vec<_> = self.constraints.iter().map(|one| SelectorMemo::new(&one.selector)).collect();
        for id in self.cluster().node_range() {
            let node = self.cluster().node(id);
            let on_node = self.cluster().node_labels(id);
            if !self.has_all_keys(on_node) {
                continue;
            }
            for (at, one) in self.constraints.iter().enumerate() {
                if let Some(domain) = labels::value(on_node, one.key)
                    && self.is_eligible(one, node)
                {
                    let count: &mut i64 = counts[at].entry(domain).or_insert(0);
                    *count += match self.behavior.counted_nodes {
                        SpreadCountedNodes::Eligible => self.like_pods_on(id, one, &mut memos[at]),
                        SpreadCountedNodes::OfKnownDomains => 0,
                    };
                }
            }
        }
        match self.behavior.counted_nodes {
            SpreadCountedNodes::Eligible => {}
            SpreadCountedNodes::OfKnownDomains => self.count_known_domains(&mut counts, &mut memos),
        }
        counts
    }

    fn count_known_domains(&self, counts: &mut [FxHashMap<Symbol, i64>], memos: &mut [SelectorMemo<'_>]) {
        let empty = self.cluster().symbols.get("");
        for id in self.cluster().node_range() {
            for (at, one) in self.constraints.iter().enumerate() {
                let domain = labels::value(self.cluster().node_labels(id), one.key).or(empty);
                if let Some(count) = domain.and_then(|it| counts[at].get_mut(&it)) {
                    *count += self.like_pods_on(id, one, &mut memos[at]);
                }
            }
        }
    }

    fn like_pods_on(&self, node: NodeId, one: &Constraint<'_>, memo: &mut SelectorMemo<'_>) -> i64 {
        match self.behavior.empty_selector {
            SpreadEmptySelector::CountsNone if one.selector.is_empty() => return 0,
            SpreadEmptySelector::CountsNone | SpreadEmptySelector::CountsAll => {}
        }
        let cluster = self.cluster();
        let namespace = self.incoming.namespace;
        let is_like = |&&pod: &&PodId| {
            let pod = self.snapshot.pods.row(pod);
            pod.namespace == namespace && !pod.terminating && memo.matches(&cluster.label_sets, pod.labels)
        };
        let count = self.snapshot.info(node).pods.iter().filter(is_like).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    fn has_all_keys(&self, on_node: &LabelPairs) -> bool {
        self.constraints.iter().all(|one| labels::value(on_node, one.key).is_some())
    }

    fn is_eligible(&self, one: &Constraint<'_>, node: &Node) -> bool {
        let (spec, cluster) = (&self.incoming.spec, self.cluster());
        let affinity = || node_match::matches_node_affinity(spec, node, cluster);
        let tolerated =
            || node_match::first_untolerated_taint(spec, node, cluster, &self.snapshot.behavior.affinity).is_none();
        match self.behavior.eligibility {
            SpreadEligibility::NodeAffinity => affinity(),
            SpreadEligibility::InclusionPolicies => {
                (one.node_affinity == InclusionPolicy::Ignore || affinity())
                    && (one.node_taints == InclusionPolicy::Ignore || tolerated())
            }
        }
    }
}

/// A pod that came or went: the constraint's position, the domain, and by how much its count changed.
#[derive(Clone, Copy)]
struct Change {
    constraint: usize,
    domain: Symbol,
    by: i64,
}

#[derive(Clone)]
struct SpreadFilter<'a> {
    counts: Arc<Counts<'a>>,
    /// A change of 0 stays in the list: its domain was made by a hook, and goes on to exist.
    changes: Vec<Change>,
    blind: GapSet,
    /// A hook met a domain that crashes the scheduler.
    crashed: bool,
}

impl SpreadFilter<'_> {
    fn change(&self, constraint: usize, domain: Symbol) -> Option<i64> {
        self.changes.iter().find(|it| it.constraint == constraint && it.domain == domain).map(|it| it.by)
    }

    /// Counts of the constraint now: the domain's own, and the smallest of any domain.
    fn count_and_lowest(&self, at: usize, domain: Symbol) -> (i64, i64) {
        let domains = &self.counts.domains[at];
        let known = domains.counts.get(&domain).copied();
        let change = self.change(at, domain);
        let count = known.unwrap_or(0) + change.unwrap_or(0);
        let besides = domains.lowest_besides(domain);
        let lowest = if known.is_some() || change.is_some() { besides.min(count) } else { besides };
        let one = &self.counts.constraints[at];
        let few = i64::try_from(domains.counts.len()).unwrap_or(i64::MAX) < one.min_domains;
        match self.counts.behavior.min_domains {
            // Without any domain the constraint is passed over, or met; a smallest count of "no domain yet" does both.
            SpreadMinDomains::Applied if few && !domains.counts.is_empty() => (count, 0),
            SpreadMinDomains::Applied | SpreadMinDomains::Ignored => (count, lowest),
        }
    }

    fn has_no_domain(&self) -> bool {
        self.changes.is_empty() && self.counts.domains.iter().all(|it| it.counts.is_empty())
    }

    fn update(&mut self, pod: PodId, view: &NodeView<'_>, by: i64) {
        let SpreadFilter { counts, changes, crashed, blind: _ } = self;
        let cluster = counts.cluster();
        let pod = counts.snapshot.pods.row(pod);
        if pod.namespace != counts.incoming.namespace || !counts.has_all_keys(view.labels()) {
            return;
        }
        // Neither a deletion timestamp nor an empty selector is looked at here, though counting does: a count may go
        // below zero, as upstream's does.
        for (constraint, one) in counts.constraints.iter().enumerate() {
            let Some(domain) = labels::value(view.labels(), one.key) else { continue };
            if !one.selector.matches(cluster.label_sets.pairs(pod.labels)) {
                continue;
            }
            let counted = match counts.behavior.hook_nodes {
                SpreadHookNodes::Labelled => true,
                SpreadHookNodes::Eligible => counts.is_eligible(one, view.node()),
            };
            if !counted {
                continue;
            }
            match counts.behavior.unknown_domain {
                SpreadUnknownDomain::Panics if !counts.domains[constraint].counts.contains_key(&domain) => {
                    *crashed = true;
                }
                SpreadUnknownDomain::Panics | SpreadUnknownDomain::Made => {}
            }
            let known = changes.iter_mut().find(|it| it.constraint == constraint && it.domain == domain);
            match known {
                Some(change) => change.by += by,
                None => changes.push(Change { constraint, domain, by }),
            }
        }
    }
}

impl PodFilter for SpreadFilter<'_> {
    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        match self.counts.behavior.without_domains {
            SpreadWithoutDomains::EveryNodePasses if self.has_no_domain() => return Verdict::Fits,
            SpreadWithoutDomains::EveryNodePasses | SpreadWithoutDomains::LabelsAreNeeded => {}
        }
        for (constraint, one) in (0..).zip(&self.counts.constraints) {
            let skew = Rejection::SpreadSkew { constraint };
            let Some(domain) = labels::value(view.labels(), one.key) else {
                return match self.counts.behavior.missing_label {
                    SpreadMissingLabel::Unschedulable => Verdict::Rejects(skew, Code::Unschedulable),
                    SpreadMissingLabel::Unresolvable => {
                        Verdict::Rejects(Rejection::SpreadMissingLabel, Code::Unresolvable)
                    }
                };
            };
            let (count, lowest) = self.count_and_lowest(constraint as usize, domain);
            if count + one.itself - lowest > one.max_skew {
                return Verdict::Rejects(skew, Code::Unschedulable);
            }
        }
        Verdict::Fits
    }

    fn gaps_at(&self, _view: &NodeView<'_>) -> GapSet {
        self.blind
    }

    fn has_hooks(&self) -> bool {
        !self.counts.constraints.is_empty()
    }

    fn add_pod(&mut self, pod: PodId, view: &NodeView<'_>) {
        self.update(pod, view, 1);
    }

    fn remove_pod(&mut self, pod: PodId, view: &NodeView<'_>) {
        self.update(pod, view, -1);
    }

    fn hook_fault(&self) -> Option<Fault> {
        self.crashed.then_some(Fault::Panics)
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::framework::Fault;
    use crate::engine::outcome::Disposition;
    use crate::kube::profile::DefaultSpreadConstraint;
    use crate::testkit::{check, scene};

    /// A hard constraint over zones with a skew of 1, and more fields as JSON.
    fn spread(selector: &str, more: &str) -> String {
        format!(
            r#"spec.topologySpreadConstraints:[{{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{selector}{more}}}]"#
        )
    }

    const WEB: &str = r#"{"matchLabels":{"app":"web"}}"#;

    fn zones(pods: &str, want: &str) -> String {
        format!("node a zone=z1\nnode b zone=z2 cpu=0\n{pods}\nwant w prio=9 cpu=1 label:app=web {want}")
    }

    #[test]
    fn a_like_pod_that_goes_makes_room_in_its_domain() {
        let cluster = zones("pod x on=a label:app=web", &spread(WEB, ""));
        check(37, &cluster, "a: evict default/x");
        check(37, &zones("pod x on=a label:app=db", &spread(WEB, "")), "fits a");
    }

    #[test]
    fn terminating_pods_and_other_namespaces_do_not_count() {
        check(37, &zones("pod x on=a label:app=web deleting", &spread(WEB, "")), "fits a");
        check(37, &zones("pod shop/x on=a label:app=web", &spread(WEB, "")), "fits a");
    }

    #[test]
    fn a_terminating_pod_that_goes_is_subtracted_though_it_was_never_counted() {
        let pods = "pod x on=a label:app=web prio=10\npod y on=a label:app=web deleting";
        check(37, &zones(pods, &spread(WEB, "")), "a: evict default/y");
    }

    #[test]
    fn an_empty_selector_counts_nobody_since_1_27() {
        let cluster = zones("pod x on=a prio=10", &spread("{}", ""));
        check(26, &cluster, "no candidates");
        check(27, &cluster, "fits a");
    }

    #[test]
    fn too_few_domains_make_the_smallest_count_zero() {
        let pods = "pod x on=a prio=10 label:app=web\npod y on=b prio=10 label:app=web";
        let cluster = zones(pods, &spread(WEB, r#","minDomains":3"#));
        check(26, &cluster, "fits a");
        check(27, &cluster, "no candidates");
    }

    #[test]
    fn a_tainted_node_makes_no_domain_where_the_policy_honors_taints() {
        let cluster = format!(
            "node a zone=z1\nnode b zone=z2 taint:gpu:NoSchedule\npod x on=a prio=10 label:app=web
            want w prio=9 label:app=web {}",
            spread(WEB, r#","nodeTaintsPolicy":"Honor""#)
        );
        check(25, &cluster, "no candidates");
        check(26, &cluster, "fits a");
    }

    #[test]
    fn the_pods_own_value_of_a_match_label_key_joins_the_selector() {
        let want = format!("label:version=2 {}", spread(WEB, r#","matchLabelKeys":["version","gone"]"#));
        let cluster = zones("pod x on=a prio=10 label:app=web label:version=1", &want);
        check(26, &cluster, "no candidates");
        check(27, &cluster, "fits a");
    }

    #[test]
    fn pods_of_a_node_that_the_pod_cannot_use_count_from_1_19_to_1_23() {
        let cluster = format!(
            "node a zone=z1 label:pool=x\nnode b zone=z1\nnode c zone=z2 label:pool=x cpu=0
            pod x on=b prio=10 label:app=web\nwant w prio=9 cpu=1 label:app=web select:pool=x {}",
            spread(WEB, "")
        );
        check(18, &cluster, "fits a");
        check(19, &cluster, "no candidates");
        check(23, &cluster, "no candidates");
        check(24, &cluster, "fits a");
    }

    #[test]
    fn nominated_outside() {
        // The nominated pod's node is in a domain without an eligible node.
        let cluster = format!(
            "node a zone=z1 label:pool=x\nnode b zone=z2\nwant w prio=9 label:app=web select:pool=x {}
            want other prio=9 label:app=web nominated=b",
            spread(WEB, "")
        );
        assert_eq!(scene(21, &cluster).outcome().disposition, Disposition::Error(Fault::Panics));
        check(18, &cluster, "fits a");
        check(23, &cluster, "fits a");
        check(37, &cluster, "fits a");
    }

    #[test]
    fn default_constraints_select_what_the_controller_selects() {
        let controller = r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"default","name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}}}}"#;
        let answer = |want: &str| {
            let pods = format!("pod x on=a prio=10 label:app=web\n{controller}");
            let mut scene = scene(37, &zones(&pods, want));
            let topology_key = scene.snapshot.cluster.symbols.get("topology.kubernetes.io/zone").unwrap();
            scene.profile.default_spread = vec![DefaultSpreadConstraint {
                max_skew: 1,
                topology_key,
                min_domains: None,
                node_affinity_policy: None,
                node_taints_policy: None,
            }];
            scene.answer()
        };
        assert_eq!(answer("owner=ReplicaSet/web"), "no candidates");
        assert_eq!(answer(""), "fits a", "the ReplicaSet does not own the pod");
        let own =
            r#"spec.topologySpreadConstraints:[{"maxSkew":1,"topologyKey":"x","whenUnsatisfiable":"ScheduleAnyway"}]"#;
        assert_eq!(answer(&format!("owner=ReplicaSet/web {own}")), "fits a", "a soft constraint of its own is one");
    }
}
