//! Label selectors and node selectors, compiled to symbols.

use super::id::{LabelSetId, Symbol};
use super::labels::{self, LabelPairs, LabelSets};
use super::symbols::Symbols;

/// A `metav1.LabelSelector` as an object carries it. Upstream: `metav1.LabelSelectorAsSelector`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LabelSelector {
    /// The field is absent or null: selects nothing.
    Absent,
    /// At least zero requirements, all of which must hold; none (`{}`) selects everything.
    Requirements(Box<[Requirement]>),
    /// An operator or a value list that upstream refuses to parse.
    Invalid,
}

/// One requirement of a label selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// Label key.
    pub key: Symbol,
    /// What is asked of the key's value.
    pub operator: Operator,
    /// Sorted values; empty for `Exists` and `DoesNotExist`.
    pub values: Box<[Symbol]>,
}

/// Operators of label selectors; node selectors add `Gt` and `Lt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The key is there and its value is listed.
    In,
    /// The key is absent or its value is not listed.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// Node selectors only: the value is an integer above the one listed.
    Gt,
    /// Node selectors only: the value is an integer below the one listed.
    Lt,
}

impl LabelSelector {
    /// Whether the selector selects an object with these labels. Absent and invalid select nothing.
    pub fn matches(&self, labels: &LabelPairs) -> bool {
        match self {
            LabelSelector::Absent | LabelSelector::Invalid => false,
            LabelSelector::Requirements(all) => all.iter().all(|one| one.matches(labels)),
        }
    }

    /// Whether this is `{}`: present, without any requirement.
    pub fn is_empty(&self) -> bool {
        matches!(self, LabelSelector::Requirements(all) if all.is_empty())
    }
}

impl Requirement {
    /// Whether labels meet the requirement. `Gt` and `Lt` never do here: see [`NodeRequirement::matches`].
    pub fn matches(&self, labels: &LabelPairs) -> bool {
        let value = labels::value(labels, self.key);
        match self.operator {
            Operator::In => value.is_some_and(|it| self.values.binary_search(&it).is_ok()),
            Operator::NotIn => value.is_none_or(|it| self.values.binary_search(&it).is_err()),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt | Operator::Lt => false,
        }
    }
}

/// A `v1.NodeSelector`: terms are alternatives. Upstream: `component-helpers/scheduling/corev1/nodeaffinity`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    /// The alternatives; none selects nothing.
    pub terms: Box<[NodeSelectorTerm]>,
}

/// One alternative of a node selector: all its requirements must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSelectorTerm {
    /// `matchExpressions`.
    pub expressions: Box<[NodeRequirement]>,
    /// `matchFields`, of which only `metadata.name` is known.
    pub fields: Box<[FieldRequirement]>,
    /// A requirement that upstream refuses to parse: the term never matches.
    pub invalid: bool,
}

/// A requirement on a node label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeRequirement {
    /// Key, operator and values.
    pub requirement: Requirement,
    /// The parsed operand of `Gt` and `Lt`.
    pub number: Option<i64>,
}

/// `metadata.name In [name]` or `metadata.name NotIn [name]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// `In` or `NotIn`.
    pub operator: Operator,
    /// The node name.
    pub name: Symbol,
}

impl NodeSelector {
    /// Whether a node with this name and these labels is selected.
    pub fn matches(&self, symbols: &Symbols, name: Symbol, labels: &LabelPairs) -> bool {
        self.terms.iter().any(|term| term.matches(symbols, name, labels))
    }
}

impl NodeSelectorTerm {
    /// Whether a node with this name and these labels meets every requirement; a term without any never matches.
    pub fn matches(&self, symbols: &Symbols, name: Symbol, labels: &LabelPairs) -> bool {
        !self.invalid
            && !(self.expressions.is_empty() && self.fields.is_empty())
            && self.expressions.iter().all(|one| one.matches(symbols, labels))
            && self.fields.iter().all(|one| one.matches(name))
    }
}

impl NodeRequirement {
    /// Whether labels meet the requirement; `Gt` and `Lt` compare as 64-bit integers and fail on anything else.
    pub fn matches(&self, symbols: &Symbols, labels: &LabelPairs) -> bool {
        let number = || {
            let value = labels::value(labels, self.requirement.key)?;
            Some((parse_go_int(symbols.text(value))?, self.number?))
        };
        match self.requirement.operator {
            Operator::Gt => number().is_some_and(|(have, bound)| have > bound),
            Operator::Lt => number().is_some_and(|(have, bound)| have < bound),
            Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => {
                self.requirement.matches(labels)
            }
        }
    }
}

impl FieldRequirement {
    /// Whether a node of this name meets the requirement.
    pub fn matches(&self, name: Symbol) -> bool {
        (self.name == name) == (self.operator == Operator::In)
    }
}

/// Go's `strconv.ParseInt(s, 10, 64)`: an optional sign and ASCII digits, nothing else.
pub fn parse_go_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A selector with what it said of each label set: a set is matched once, however many objects carry it.
#[derive(Clone, Debug)]
pub struct SelectorMemo<'s> {
    selector: &'s LabelSelector,
    /// By [`LabelSetId`], as far as asked.
    known: Vec<Option<bool>>,
}

impl<'s> SelectorMemo<'s> {
    /// Nothing matched yet.
    pub fn new(selector: &'s LabelSelector) -> Self {
        SelectorMemo { selector, known: Vec::new() }
    }

    /// Whether the selector selects an object with this label set.
    #[inline]
    pub fn matches(&mut self, sets: &LabelSets, id: LabelSetId) -> bool {
        if let Some(Some(known)) = self.known.get(id.index()) {
            return *known;
        }
        if self.known.is_empty() {
            self.known.resize(sets.len(), None);
        }
        *self.known[id.index()].insert(self.selector.matches(sets.pairs(id)))
    }
}
