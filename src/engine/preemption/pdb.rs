//! Budgets of victims. Upstream: `default_preemption.go` filterPodsWithPDBViolation, `preemption/util.go`.

use super::super::outcome::PdbCharge;
use super::importance::Importance;
use crate::kube::behavior::{DisruptedPods, PdbEmptySelector, PdbWalk, PreemptionBehavior};
use crate::model::cluster::Cluster;
use crate::model::id::{NamespaceId, PdbId, PodId, Symbol};
use crate::model::labels::LabelPairs;
use crate::model::selector::{LabelSelector, Operator};
use rustc_hash::FxHashMap;

/// The budgets of a cluster, found by a label that each asks for. A budget without a selector matches no pod.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// Per namespace, whether it has any budget.
    any: Vec<bool>,
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
        let mut budgets = Budgets {
            any: vec![false; cluster.namespaces.len()],
            by_label: FxHashMap::default(),
            by_namespace: FxHashMap::default(),
        };
        for (at, pdb) in cluster.pdbs.iter().enumerate() {
            let LabelSelector::Requirements(all) = &pdb.selector else { continue };
            let matches_nothing = behavior.pdb_empty_selector == PdbEmptySelector::MatchesNothing || pdb.v1beta1;
            if all.is_empty() && matches_nothing {
                continue;
            }
            budgets.any[pdb.namespace.index()] = true;
            match all.iter().find(|one| one.operator == Operator::In) {
                Some(one) => {
                    for value in &one.values {
                        budgets.by_label.entry((pdb.namespace, one.key, *value)).or_default().push(PdbId::at(at));
                    }
                }
                None => budgets.by_namespace.entry(pdb.namespace).or_default().push(PdbId::at(at)),
            }
        }
        budgets
    }

    /// The budgets that match a pod, in the canonical order. A pod without labels matches none.
    pub(crate) fn of(&self, cluster: &Cluster, pod: PodId, found: &mut Vec<PdbId>) {
        found.clear();
        let pod = cluster.pod(pod);
        if !self.any[pod.namespace.index()] {
            return;
        }
        let labels = cluster.label_sets.pairs(pod.labels);
        if labels.is_empty() {
            return;
        }
        self.collect(cluster, pod.namespace, labels, found);
        found.sort_unstable();
    }

    fn collect(&self, cluster: &Cluster, namespace: NamespaceId, labels: &LabelPairs, found: &mut Vec<PdbId>) {
        let listed = labels.iter().filter_map(|&(key, value)| self.by_label.get(&(namespace, key, value)));
        for pdb in listed.chain(self.by_namespace.get(&namespace)).flatten() {
            if cluster.pdb(*pdb).selector.matches(labels) {
                found.push(*pdb);
            }
        }
    }

    /// Charges the potential victims of one node, most important first: for each whether it violates a budget. All are
    /// charged before any is reprieved, so a pod that is spared afterwards may have used up another's disruption.
    pub(crate) fn charge(
        &self,
        cluster: &Cluster,
        behavior: &PreemptionBehavior,
        victims: &[Importance],
        rank: &Rank,
        charges: &mut Charges,
    ) {
        charges.clear();
        let mut matching = Vec::new();
        for victim in victims {
            self.of(cluster, victim.pod, &mut matching);
            charges.add(cluster, behavior, victim.pod, &mut matching, rank);
        }
    }
}

/// What the potential victims of one node cost their budgets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Charges {
    left: Vec<(PdbId, i64)>,
    list: Vec<PdbCharge>,
    /// Per victim, where its charges end in the list, and whether it violates a budget.
    ends: Vec<(usize, bool)>,
}

impl Charges {
    fn clear(&mut self) {
        self.left.clear();
        self.list.clear();
        self.ends.clear();
    }

    fn left(&mut self, pdb: PdbId, allowed: i64) -> &mut i64 {
        let at = self.left.iter().position(|(known, _)| *known == pdb).unwrap_or_else(|| {
            self.left.push((pdb, allowed));
            self.left.len() - 1
        });
        &mut self.left[at].1
    }

    fn push(&mut self, charge: PdbCharge) {
        self.list.push(charge);
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
        let violates = !matching.is_empty() && self.charge(cluster, behavior, pod, matching);
        self.ends.push((self.list.len(), violates));
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
            self.push(PdbCharge { pdb, allowed: budget.disruptions_allowed, violated, already_disrupted: listed });
        }
        violates
    }

    /// Whether several budgets match one victim.
    pub(crate) fn has_shared(&self) -> bool {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|end| end.0));
        begins.zip(&self.ends).any(|(begin, end)| end.0 - begin > 1)
    }

    /// Whether the victim of a position violates a budget.
    pub(crate) fn violates(&self, victim: usize) -> bool {
        self.ends[victim].1
    }

    /// The charges of the victim of a position, by budget.
    pub(crate) fn of(&self, victim: usize) -> Vec<PdbCharge> {
        let start = victim.checked_sub(1).map_or(0, |before| self.ends[before].0);
        let mut all = self.list[start..self.ends[victim].0].to_vec();
        all.sort_unstable_by_key(|charge| charge.pdb);
        all
    }
}
