//! The tables that objects are read into: strings, label sets, namespaces, resource names.

use super::primitive::{Pairs, Text, filled};
use crate::model::id::{LabelSetId, NamespaceId, ResourceId, Symbol};
use crate::model::labels::LabelSets;
use crate::model::quantity::Quantity;
use crate::model::resources::{ResourceList, ResourceName};
use crate::model::symbols::Symbols;
use rustc_hash::FxHashMap;

/// The namespace of an object that names none: `kubectl apply` would put it there.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// The tables. Ids are in the order of first use.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) symbols: Symbols,
    pub(super) label_sets: LabelSets,
    pub(super) namespaces: Vec<Symbol>,
    pub(super) resources: Vec<Symbol>,
    namespace_ids: FxHashMap<Symbol, NamespaceId>,
    resource_ids: FxHashMap<Symbol, ResourceId>,
}

impl Tables {
    /// The symbol of a text.
    pub(super) fn symbol(&mut self, text: &str) -> Symbol {
        self.symbols.intern(text)
    }

    /// The symbol of a text that is there and not empty.
    pub(super) fn filled(&mut self, text: Option<&Text<'_>>) -> Option<Symbol> {
        filled(text).map(|text| self.symbols.intern(text))
    }

    /// The symbol of a text; of the empty text where there is none.
    pub(super) fn or_empty(&mut self, text: Option<&Text<'_>>) -> Symbol {
        self.symbols.intern(text.map_or("", |text| text))
    }

    /// The namespace of a name.
    pub(super) fn namespace(&mut self, name: &str) -> NamespaceId {
        let name = self.symbols.intern(name);
        *self.namespace_ids.entry(name).or_insert_with(|| {
            self.namespaces.push(name);
            NamespaceId::at(self.namespaces.len() - 1)
        })
    }

    /// The pairs of a map of strings, sorted by key symbol, each key once.
    pub(super) fn pairs(&mut self, map: Option<&Pairs<'_, Text<'_>>>) -> Vec<(Symbol, Symbol)> {
        let pairs = map.map_or(&[][..], |map| &map.0);
        let mut pairs: Vec<_> = pairs.iter().map(|(key, value)| (self.symbol(key), self.symbol(value))).collect();
        pairs.reverse();
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup_by_key(|pair| pair.0);
        pairs
    }

    /// The label set of a map.
    pub(super) fn labels(&mut self, map: Option<&Pairs<'_, Text<'_>>>) -> LabelSetId {
        let pairs = self.pairs(map);
        self.label_sets.intern(pairs)
    }

    /// The resource list of a map: names that the scheduler does not know are dropped.
    pub(super) fn resource_list(&mut self, map: &Pairs<'_, Quantity>) -> ResourceList {
        let mut list = Vec::with_capacity(map.0.len());
        for (name, quantity) in map.0.iter().rev() {
            if let Some(name) = self.resource_name(name) {
                list.push((name, *quantity));
            }
        }
        list.sort_by_key(|entry| entry.0);
        list.dedup_by_key(|entry| entry.0);
        list.into()
    }

    fn resource_name(&mut self, name: &str) -> Option<ResourceName> {
        match name {
            "cpu" => Some(ResourceName::Cpu),
            "memory" => Some(ResourceName::Memory),
            "ephemeral-storage" => Some(ResourceName::EphemeralStorage),
            "pods" => Some(ResourceName::Pods),
            _ if is_scalar_name(name) => {
                let symbol = self.symbols.intern(name);
                Some(ResourceName::Scalar(*self.resource_ids.entry(symbol).or_insert_with(|| {
                    self.resources.push(symbol);
                    ResourceId::at(self.resources.len() - 1)
                })))
            }
            _ => None,
        }
    }
}

/// Upstream: `schedutil.IsScalarResourceName`, `pkg/apis/core/v1/helper`.
fn is_scalar_name(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended_name(name)
}

/// Upstream: `v1helper.IsExtendedResourceName`, of a name without `kubernetes.io/`.
fn is_extended_name(name: &str) -> bool {
    // Quotas name the resource with this prefix, and the whole has to be a valid name.
    name.contains('/') && !name.starts_with("requests.") && super::names::is_qualified(&format!("requests.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_the_scheduler_counts_are_kept() {
        let kept = ["hugepages-2Mi", "attachable-volumes-aws-ebs", "nvidia.com/gpu", "foo.kubernetes.io/bar"];
        assert!(kept.into_iter().all(is_scalar_name));
        let dropped = ["foo", "storage", "requests.nvidia.com/gpu", "a/b/c", "/x", "NVIDIA.com/gpu"];
        assert!(!dropped.into_iter().any(is_scalar_name));
    }
}
