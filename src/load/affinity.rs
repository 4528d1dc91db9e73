//! Terms of pod affinity and spread constraints.

use super::pod::{RawPodAffinityTerm, RawSpread};
use super::primitive::{Int, Pairs, Text, filled};
use super::selectors::RawLabelSelector;
use super::tables::Tables;
use crate::model::affinity::{InclusionPolicy, PodAffinityTerm, SpreadConstraint};
use crate::model::selector::{LabelSelector, Operator, Requirement};

type Labels<'a> = Pairs<'a, Text<'a>>;

/// A term of a pod with these labels.
pub(super) fn term(term: &RawPodAffinityTerm<'_>, labels: Option<&Labels<'_>>, tables: &mut Tables) -> PodAffinityTerm {
    let mut selector = RawLabelSelector::compile(term.label_selector.as_ref(), tables);
    fold(&mut selector, term.match_label_keys.as_ref(), Operator::In, labels, tables);
    fold(&mut selector, term.mismatch_label_keys.as_ref(), Operator::NotIn, labels, tables);
    PodAffinityTerm {
        selector,
        namespaces: term.namespaces.iter().flatten().map(|name| tables.namespace(name)).collect(),
        namespace_selector: RawLabelSelector::compile(term.namespace_selector.as_ref(), tables),
        topology_key: tables.or_empty(term.topology_key.as_ref()),
    }
}

/// Adds the pod's own values of the keys to the selector, as the API server does when a pod is created; a stored pod has
/// the requirements already. A selector that selects nothing stays as it is.
fn fold(
    selector: &mut LabelSelector,
    keys: Option<&Vec<Text<'_>>>,
    operator: Operator,
    labels: Option<&Labels<'_>>,
    tables: &mut Tables,
) {
    let LabelSelector::Requirements(requirements) = selector else { return };
    for key in keys.into_iter().flatten() {
        let Some(value) = labels.and_then(|labels| labels.get(key)) else { continue };
        let requirement = Requirement { key: tables.symbol(key), operator, values: Box::new([tables.symbol(value)]) };
        if !requirements.contains(&requirement) {
            let mut longer = std::mem::take(requirements).into_vec();
            longer.push(requirement);
            *requirements = longer.into();
        }
    }
}

/// A spread constraint.
pub(super) fn spread(raw: &RawSpread<'_>, tables: &mut Tables) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: raw.max_skew.map_or(0, |skew| skew.0),
        topology_key: tables.or_empty(raw.topology_key.as_ref()),
        hard: filled(raw.when_unsatisfiable.as_ref()) == Some("DoNotSchedule"),
        selector: RawLabelSelector::compile(raw.label_selector.as_ref(), tables),
        min_domains: raw.min_domains.map(|Int(domains)| domains),
        node_affinity_policy: policy(raw.node_affinity_policy.as_ref()),
        node_taints_policy: policy(raw.node_taints_policy.as_ref()),
        match_label_keys: raw.match_label_keys.iter().flatten().map(|key| tables.symbol(key)).collect(),
    }
}

fn policy(text: Option<&Text<'_>>) -> Option<InclusionPolicy> {
    match filled(text)? {
        "Honor" => Some(InclusionPolicy::Honor),
        "Ignore" => Some(InclusionPolicy::Ignore),
        _ => None,
    }
}
