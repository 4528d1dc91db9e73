//! Affinity, taints, tolerations and spread constraints, as objects carry them.

use super::id::{NamespaceId, Symbol};
use super::selector::LabelSelector;

/// One required term of pod affinity or anti-affinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodAffinityTerm {
    /// Which pods, by label. `matchLabelKeys` and `mismatchLabelKeys` are already folded in by the API server.
    pub selector: LabelSelector,
    /// Explicit namespaces; empty with an absent `namespace_selector` means the namespace of the pod that has the term.
    pub namespaces: Box<[NamespaceId]>,
    /// Namespaces by label; `Absent` selects none.
    pub namespace_selector: LabelSelector,
    /// The node label whose equal values make one topology domain.
    pub topology_key: Symbol,
}

/// A taint of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Key.
    pub key: Symbol,
    /// Value; the empty string where there is none.
    pub value: Symbol,
    /// What it does to pods that do not tolerate it.
    pub effect: Effect,
}

/// The effect of a taint, or of a toleration that names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No new pod.
    NoSchedule,
    /// Score only.
    PreferNoSchedule,
    /// No new pod, and running ones are evicted.
    NoExecute,
    /// Anything else; it has no effect on scheduling.
    Other,
}

/// A toleration of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Key; `None` is the empty key.
    pub key: Option<Symbol>,
    /// How the value is compared.
    pub operator: TolerationOperator,
    /// Value; the empty string where there is none.
    pub value: Symbol,
    /// `None` tolerates every effect.
    pub effect: Option<Effect>,
}

/// How a toleration compares values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TolerationOperator {
    /// The same value (the default).
    Equal,
    /// Any value.
    Exists,
    /// An integer below the toleration's (behind a gate).
    Lt,
    /// An integer above the toleration's (behind a gate).
    Gt,
    /// Anything else: tolerates nothing.
    Unknown,
}

impl Toleration {
    /// Whether the toleration tolerates the taint; `comparisons` parses both values for `Lt` and `Gt` where the gate is on.
    /// Upstream: `v1.Toleration.ToleratesTaint`.
    pub fn tolerates(&self, taint: &Taint, comparisons: Option<&dyn Fn(Symbol) -> Option<i64>>) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) || self.key.is_some_and(|key| key != taint.key) {
            return false;
        }
        let compare = |ordering: std::cmp::Ordering| {
            let number = comparisons?;
            Some(number(taint.value)?.cmp(&number(self.value)?) == ordering)
        };
        match self.operator {
            TolerationOperator::Exists => true,
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Lt => compare(std::cmp::Ordering::Less).unwrap_or(false),
            TolerationOperator::Gt => compare(std::cmp::Ordering::Greater).unwrap_or(false),
            TolerationOperator::Unknown => false,
        }
    }
}

/// A topology spread constraint of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// The largest allowed difference between a domain's count and the smallest.
    pub max_skew: i64,
    /// The node label whose equal values make one domain.
    pub topology_key: Symbol,
    /// `DoNotSchedule`, as opposed to `ScheduleAnyway`, which only scores.
    pub hard: bool,
    /// Which pods are counted.
    pub selector: LabelSelector,
    /// Fewer domains than this make the smallest count 0; `None` is 1.
    pub min_domains: Option<i64>,
    /// Whether nodes outside the pod's node affinity are left out.
    pub node_affinity_policy: Option<InclusionPolicy>,
    /// Whether nodes with untolerated taints are left out.
    pub node_taints_policy: Option<InclusionPolicy>,
    /// Label keys whose value on the pod joins the selector.
    pub match_label_keys: Box<[Symbol]>,
}

/// `nodeAffinityPolicy` and `nodeTaintsPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InclusionPolicy {
    /// Leave such nodes out.
    Honor,
    /// Count them.
    Ignore,
}
