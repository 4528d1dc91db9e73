//! Label selectors and node selectors, compiled. Upstream: `metav1.LabelSelectorAsSelector`, `labels.NewRequirement`,
//! `component-helpers/scheduling/corev1/nodeaffinity`.

use super::names;
use super::primitive::{Pairs, Text, filled};
use super::tables::Tables;
use crate::model::selector::{
    FieldRequirement, LabelSelector, NodeRequirement, NodeSelector, NodeSelectorTerm, Operator, Requirement,
    parse_go_int,
};
use serde::Deserialize;

/// `metav1.LabelSelector`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawLabelSelector<'a> {
    #[serde(borrow, default)]
    pub(super) match_labels: Option<Pairs<'a, Text<'a>>>,
    #[serde(borrow, default)]
    pub(super) match_expressions: Option<Vec<RawRequirement<'a>>>,
}

/// A requirement of a label selector or of a node selector.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RawRequirement<'a> {
    #[serde(borrow, default)]
    pub(super) key: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) operator: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) values: Option<Vec<Text<'a>>>,
}

/// `v1.NodeSelector`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawNodeSelector<'a> {
    #[serde(borrow, default)]
    pub(super) node_selector_terms: Option<Vec<RawNodeSelectorTerm<'a>>>,
}

/// `v1.NodeSelectorTerm`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawNodeSelectorTerm<'a> {
    #[serde(borrow, default)]
    pub(super) match_expressions: Option<Vec<RawRequirement<'a>>>,
    #[serde(borrow, default)]
    pub(super) match_fields: Option<Vec<RawRequirement<'a>>>,
}

impl RawLabelSelector<'_> {
    /// The selector of an optional field.
    pub(super) fn compile(selector: Option<&Self>, tables: &mut Tables) -> LabelSelector {
        let Some(selector) = selector else { return LabelSelector::Absent };
        let mut requirements = match selector.match_labels.as_ref().map(|labels| from_map(labels, tables)) {
            None => Vec::new(),
            Some(Some(requirements)) => requirements,
            Some(None) => return LabelSelector::Invalid,
        };
        for raw in selector.match_expressions.iter().flatten() {
            match raw.compile(tables) {
                Some(NodeRequirement { requirement, number: None }) => requirements.push(requirement),
                // `Gt` and `Lt` belong to node selectors.
                Some(_) | None => return LabelSelector::Invalid,
            }
        }
        LabelSelector::Requirements(requirements.into())
    }
}

/// The requirements of a map, each key In its one value; `None` where a key or value is not valid. In order of keys, so
/// that a map's own order, which JSON does not define, decides nothing.
pub(super) fn from_map(map: &Pairs<'_, Text<'_>>, tables: &mut Tables) -> Option<Vec<Requirement>> {
    let mut sorted: Vec<&str> = map.0.iter().map(|pair| &*pair.0.0).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let one = |key: &str| {
        let value = map.get(key).filter(|value| names::is_qualified(key) && names::is_label_value(value))?;
        Some(Requirement { key: tables.symbol(key), operator: Operator::In, values: Box::new([tables.symbol(value)]) })
    };
    sorted.into_iter().map(one).collect()
}

impl RawRequirement<'_> {
    /// The requirement; `None` where upstream refuses to parse it.
    fn compile(&self, tables: &mut Tables) -> Option<NodeRequirement> {
        let key = filled(self.key.as_ref()).filter(|key| names::is_qualified(key))?;
        let values = self.values.as_deref().unwrap_or_default();
        let operator = match filled(self.operator.as_ref())? {
            "In" if !values.is_empty() => Operator::In,
            "NotIn" if !values.is_empty() => Operator::NotIn,
            "Exists" if values.is_empty() => Operator::Exists,
            "DoesNotExist" if values.is_empty() => Operator::DoesNotExist,
            "Gt" if values.len() == 1 => Operator::Gt,
            "Lt" if values.len() == 1 => Operator::Lt,
            _ => return None,
        };
        if !values.iter().all(|value| names::is_label_value(value)) {
            return None;
        }
        let number = match operator {
            Operator::Gt | Operator::Lt => Some(parse_go_int(&values[0])?),
            Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => None,
        };
        let key = tables.symbol(key);
        let values = symbols(values, tables);
        Some(NodeRequirement { requirement: Requirement { key, operator, values }, number })
    }

    fn compile_field(&self, tables: &mut Tables) -> Option<FieldRequirement> {
        let operator = match filled(self.operator.as_ref())? {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            _ => return None,
        };
        let [name] = self.values.as_deref().unwrap_or_default() else { return None };
        (filled(self.key.as_ref()) == Some("metadata.name"))
            .then(|| FieldRequirement { operator, name: tables.symbol(name) })
    }
}

/// Sorted symbols, each once.
fn symbols(values: &[Text<'_>], tables: &mut Tables) -> Box<[crate::model::id::Symbol]> {
    let mut values: Vec<_> = values.iter().map(|value| tables.symbol(value)).collect();
    values.sort_unstable();
    values.dedup();
    values.into()
}

impl RawNodeSelector<'_> {
    /// The compiled selector.
    pub(super) fn compile(&self, tables: &mut Tables) -> NodeSelector {
        let terms = self.node_selector_terms.iter().flatten().map(|term| term.compile(tables)).collect();
        NodeSelector { terms }
    }
}

impl RawNodeSelectorTerm<'_> {
    fn compile(&self, tables: &mut Tables) -> NodeSelectorTerm {
        let expressions: Option<Box<[_]>> =
            self.match_expressions.iter().flatten().map(|raw| raw.compile(tables)).collect();
        let fields: Option<Box<[_]>> =
            self.match_fields.iter().flatten().map(|raw| raw.compile_field(tables)).collect();
        let invalid = expressions.is_none() || fields.is_none();
        NodeSelectorTerm { expressions: expressions.unwrap_or_default(), fields: fields.unwrap_or_default(), invalid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(json: &str) -> LabelSelector {
        RawLabelSelector::compile(Some(&serde_json::from_str(json).unwrap()), &mut Tables::default())
    }

    #[test]
    fn selectors_that_upstream_refuses_are_invalid() {
        assert!(selector("{}").is_empty());
        for json in [
            r#"{"matchLabels":{"a b":"x"}}"#,
            r#"{"matchLabels":{"a":"-x"}}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"In"}]}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"in","values":["x"]}]}"#,
        ] {
            assert_eq!(selector(json), LabelSelector::Invalid, "{json}");
        }
    }

    #[test]
    fn a_node_selector_term_with_a_bad_requirement_never_matches() {
        let invalid = |requirement: &str| {
            let json = format!(r#"{{"matchExpressions":[{requirement}]}}"#);
            serde_json::from_str::<RawNodeSelectorTerm<'_>>(&json).unwrap().compile(&mut Tables::default()).invalid
        };
        assert!(!invalid(r#"{"key":"cpus","operator":"Gt","values":["8"]}"#));
        assert!(invalid(r#"{"key":"cpus","operator":"Gt","values":["-8"]}"#));
        assert!(invalid(r#"{"key":"cpus","operator":"Gt","values":["8","9"]}"#));
        assert!(invalid(r#"{"key":"cpus","operator":"Lt","values":["many"]}"#));
        assert!(invalid(r#"{"key":"cpus","operator":"NotIn","values":[]}"#));
    }
}
