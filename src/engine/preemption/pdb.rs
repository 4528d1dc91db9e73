//! Budgets of victims. Upstream: `default_preemption.go` filterPodsWithPDBViolation, `preemption/util.go`.

use super::super::outcome::PdbCharge;
use super::importance::Importance;
use crate::kube::behavior::{DisruptedPods, PdbEmptySelector, PdbWalk, PreemptionBehavior};
use crate::model::cluster::Cluster;
use crate::model::id::{LabelSetId, NamespaceId, PdbId, PodId, Symbol};
use crate::model::pod::Pod;
use crate::model::selector::{LabelSelector, Operator};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;

/// The budgets of a cluster. A selector is held against each label set of its namespace once, however many pods have it.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// Per namespace, whether it has any budget.
    any: Vec<bool>,
    listed: Listed,
    /// Where in `list` the budgets stand that match the pods of a namespace and a label set, of those that pods have.
    matching: FxHashMap<(NamespaceId, LabelSetId), Range<usize>>,
    /// In canonical order for each.
    list: Vec<PdbId>,
}

/// How many matches are kept; further ones are found anew each time.
const MOST_MATCHES: usize = 4_000_000;

/// Budgets by a label that each asks for. One without a selector matches no pod.
#[derive(Debug, Default)]
struct Listed {
    /// Budgets that ask for a value of a key.
    by_label: FxHashMap<(NamespaceId, Symbol, Symbol), Vec<PdbId>>,
    /// The others, per namespace.
    by_namespace: FxHashMap<NamespaceId, Vec<PdbId>>,
}

/// The place of each budget in the order in which the scheduler lists them, by [`PdbId`]; empty for the canonical order.
pub(crate) type Rank = [u32];

impl Budgets {
    /// The budgets of a cluster.
    pub(crate) fn new(cluster: &Cluster, behavior: &PreemptionBehavior) -> Self {
        Budgets::keeping(MOST_MATCHES, cluster, behavior)
    }

    fn keeping(most: usize, cluster: &Cluster, behavior: &PreemptionBehavior) -> Self {
        let mut any = vec![false; cluster.namespaces.len()];
        let listed = Listed::of(cluster, behavior, &mut any);
        let (mut matching, mut list) = (FxHashMap::default(), Vec::new());
        for pod in cluster.pods.iter().filter(|it| any[it.namespace.index()]) {
            if list.len() >= most {
                break;
            }
            matching.entry((pod.namespace, pod.labels)).or_insert_with(|| {
                let begin = list.len();
                list.append(&mut listed.find(cluster, pod));
                begin..list.len()
            });
        }
        Budgets { any, listed, matching, list }
    }

    /// The budgets that match a pod, in the canonical order, where they are kept.
    fn kept(&self, pod: &Pod) -> Option<&[PdbId]> {
        if !self.any[pod.namespace.index()] {
            return Some(&[]);
        }
        self.matching.get(&(pod.namespace, pod.labels)).map(|range| &self.list[range.clone()])
    }

    /// Whether some budget may match a pod.
    pub(crate) fn may_match(&self, pod: &Pod) -> bool {
        self.kept(pod).is_none_or(|found| !found.is_empty())
    }

    /// The budgets that match a pod, in the canonical order.
    pub(crate) fn of(&self, cluster: &Cluster, pod: PodId) -> Cow<'_, [PdbId]> {
        let pod = cluster.pod(pod);
        self.kept(pod).map_or_else(|| Cow::Owned(self.listed.find(cluster, pod)), Cow::Borrowed)
    }

    /// Charges the potential victims of one node, most important first, with the budgets in canonical order: for each
    /// whether it violates a budget. All are charged before any is reprieved, so a pod that is spared afterwards may have
    /// used up another's disruption.
    pub(crate) fn charge(&self, cluster: &Cluster, behavior: &PreemptionBehavior, victims: &[Importance]) -> Charged {
        let mut charging = Charging::default();
        for victim in victims {
            let mut matching = self.of(cluster, victim.pod).into_owned();
            charging.add(cluster, behavior, victim.pod, &mut matching, &[]);
        }
        charging.done()
    }
}

impl Listed {
    fn of(cluster: &Cluster, behavior: &PreemptionBehavior, any: &mut [bool]) -> Self {
        let mut listed = Listed::default();
        for (at, pdb) in cluster.pdbs.iter().enumerate() {
            let LabelSelector::Requirements(all) = &pdb.selector else { continue };
            let matches_nothing = behavior.pdb_empty_selector == PdbEmptySelector::MatchesNothing || pdb.v1beta1;
            if all.is_empty() && matches_nothing {
                continue;
            }
            any[pdb.namespace.index()] = true;
            match all.iter().find(|one| one.operator == Operator::In) {
                Some(one) => {
                    for value in &one.values {
                        listed.by_label.entry((pdb.namespace, one.key, *value)).or_default().push(PdbId::at(at));
                    }
                }
                None => listed.by_namespace.entry(pdb.namespace).or_default().push(PdbId::at(at)),
            }
        }
        listed
    }

    /// The budgets that match a pod, in the canonical order. One without labels is matched by none.
    fn find(&self, cluster: &Cluster, pod: &Pod) -> Vec<PdbId> {
        let (namespace, labels) = (pod.namespace, cluster.label_sets.pairs(pod.labels));
        if labels.is_empty() {
            return Vec::new();
        }
        let listed = labels.iter().filter_map(|&(key, value)| self.by_label.get(&(namespace, key, value)));
        let listed = listed.chain(self.by_namespace.get(&namespace)).flatten().copied();
        let mut found: Vec<PdbId> = listed.filter(|pdb| cluster.pdb(*pdb).selector.matches(labels)).collect();
        found.sort_unstable();
        found
    }
}

/// What potential victims cost their budgets. Most cost none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Charged {
    /// With the place of the victim on its node, ascending; of one victim, by budget.
    list: Vec<(u32, PdbCharge)>,
    /// The places of those that violate a budget, ascending.
    violating: Vec<u32>,
}

/// Those of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charges<'c> {
    list: &'c [(u32, PdbCharge)],
    violating: &'c [u32],
}

/// Charges while they are added up.
#[derive(Debug, Default)]
pub(crate) struct Charging {
    /// How many victims were charged.
    victims: u32,
    left: Vec<(PdbId, i64)>,
    list: Vec<(u32, PdbCharge)>,
    violating: Vec<u32>,
}

impl Charging {
    fn left(&mut self, pdb: PdbId, allowed: i64) -> &mut i64 {
        let at = self.left.iter().position(|(known, _)| *known == pdb).unwrap_or_else(|| {
            self.left.push((pdb, allowed));
            self.left.len() - 1
        });
        &mut self.left[at].1
    }

    /// Charges the next victim to the budgets that match it, which are in the canonical order.
    pub(crate) fn add(
        &mut self,
        cluster: &Cluster,
        behavior: &PreemptionBehavior,
        pod: PodId,
        matching: &mut [PdbId],
        rank: &Rank,
    ) {
        if !rank.is_empty() {
            matching.sort_unstable_by_key(|pdb| rank[pdb.index()]);
        }
        if !matching.is_empty() {
            let begin = self.list.len();
            if self.charge(cluster, behavior, pod, matching) {
                self.violating.push(self.victims);
            }
            self.list[begin..].sort_unstable_by_key(|it| it.1.pdb);
        }
        self.victims += 1;
    }

    /// Charges one victim; tells whether it violates a budget.
    fn charge(&mut self, cluster: &Cluster, behavior: &PreemptionBehavior, pod: PodId, matching: &[PdbId]) -> bool {
        let name = cluster.pod(pod).name;
        let mut violates = false;
        let mut walks = true;
        for &pdb in matching {
            let budget = cluster.pdb(pdb);
            let listed = budget.disrupted_pods.binary_search(&name).is_ok();
            let passed_over = match behavior.disrupted_pods {
                DisruptedPods::Charged => false,
                DisruptedPods::PassedOver => listed,
            };
            let mut violated = false;
            if walks && !passed_over {
                let left = self.left(pdb, budget.disruptions_allowed);
                match behavior.pdb_walk {
                    PdbWalk::StopsAtExhausted if *left <= 0 => {
                        violated = true;
                        walks = false;
                    }
                    PdbWalk::StopsAtExhausted => *left -= 1,
                    PdbWalk::WalksAll => {
                        *left -= 1;
                        violated = *left < 0;
                    }
                    PdbWalk::StopsAtViolated => {
                        *left -= 1;
                        violated = *left < 0;
                        walks = !violated;
                    }
                }
            }
            violates |= violated;
            let allowed = budget.disruptions_allowed;
            self.list.push((self.victims, PdbCharge { pdb, allowed, violated, already_disrupted: listed }));
        }
        violates
    }

    /// All charges, once every victim was charged.
    pub(crate) fn done(self) -> Charged {
        Charged { list: self.list, violating: self.violating }
    }
}

impl Charged {
    /// All of them, of one node.
    pub(crate) fn all(&self) -> Charges<'_> {
        Charges { list: &self.list, violating: &self.violating }
    }

    /// Those of one node among others.
    pub(crate) fn some(&self, list: Range<usize>, violating: Range<usize>) -> Charges<'_> {
        Charges { list: &self.list[list], violating: &self.violating[violating] }
    }

    /// How many charges there are, and how many violations.
    pub(crate) fn ends(&self) -> (usize, usize) {
        (self.list.len(), self.violating.len())
    }

    /// Adds those of another node.
    pub(crate) fn append(&mut self, more: Charged) {
        self.list.extend(more.list);
        self.violating.extend(more.violating);
    }
}

impl<'c> Charges<'c> {
    /// Whether several budgets match one victim.
    pub(crate) fn has_shared(&self) -> bool {
        self.list.windows(2).any(|pair| pair[0].0 == pair[1].0)
    }

    /// How many victims violate a budget.
    pub(crate) fn violating(&self) -> usize {
        self.violating.len()
    }

    /// Whether the victim of a place violates a budget.
    #[inline]
    pub(crate) fn violates(&self, victim: u32) -> bool {
        !self.violating.is_empty() && self.violating.binary_search(&victim).is_ok()
    }

    /// The charges of the victim of a place, by budget.
    #[inline]
    pub(crate) fn of(&self, victim: u32) -> Vec<PdbCharge> {
        if self.list.is_empty() {
            return Vec::new();
        }
        let begin = self.list.partition_point(|it| it.0 < victim);
        self.list[begin..].iter().take_while(|it| it.0 == victim).map(|it| it.1).collect()
    }

    /// The charges of each victim that has any.
    pub(crate) fn by_victim(&self) -> impl Iterator<Item = &'c [(u32, PdbCharge)]> + use<'c> {
        self.list.chunk_by(|one, other| one.0 == other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::scene;

    #[test]
    fn budgets_are_found_whether_or_not_their_matches_are_kept() {
        let scene = scene(
            37,
            "
            node a cpu=9
            pod shop/x on=a label:app=web label:tier=y
            pod shop/y on=a label:app=web
            pod shop/z on=a
            pod db/x on=a label:app=web
            pod other/x on=a label:app=web
            want w prio=9 cpu=1
            pdb shop/web label:app=web allowed=1
            pdb shop/y label:tier=y allowed=1
            pdb db/none label:app=api allowed=1",
        );
        let (cluster, behavior) = (&scene.snapshot.cluster, &scene.snapshot.behavior.preemption);
        let [all, one, none] = [9, 1, 0].map(|most| Budgets::keeping(most, cluster, behavior));
        let mut matches = Vec::new();
        for pod in cluster.pod_range() {
            let found = all.of(cluster, pod);
            assert_eq!((&found, &found), (&one.of(cluster, pod), &none.of(cluster, pod)));
            assert_eq!(all.may_match(cluster.pod(pod)), !found.is_empty());
            assert!(none.may_match(cluster.pod(pod)) || found.is_empty());
            matches.extend((!found.is_empty()).then(|| (cluster.pod_key(pod), found.len())));
        }
        matches.sort();
        assert_eq!(matches, [("shop/x".to_owned(), 2), ("shop/y".to_owned(), 1)]);
    }
}
