//! The tables that objects are read into: strings, label sets, namespaces, resource names.

use super::primitive::{Pairs, Text, filled};
use crate::model::id::{LabelSetId, NamespaceId, ResourceId, Symbol};
use crate::model::labels::LabelSets;
use crate::model::pod::{PodSpec, RequestParts};
use crate::model::quantity::Quantity;
use crate::model::resources::{self, ResourceClass, ResourceList, ResourceName};
use crate::model::symbols::Symbols;
use crate::model::uid::Uid;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The namespace of an object that names none: `kubectl apply` would put it there.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// The tables. Ids are in the order of first use.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) symbols: Symbols,
    pub(super) label_sets: LabelSets,
    pub(super) namespaces: Vec<Symbol>,
    pub(super) resources: Vec<Symbol>,
    /// Specs of pods, each once.
    pub(super) specs: Vec<Arc<PodSpec>>,
    /// What the last pod of each spec asked for.
    last_requests: Vec<Arc<RequestParts>>,
    namespace_ids: FxHashMap<Symbol, NamespaceId>,
    resource_ids: FxHashMap<Symbol, ResourceId>,
    spec_ids: FxHashMap<Arc<PodSpec>, u32>,
}

impl Tables {
    /// Gives back what only reading into the tables needs.
    pub(super) fn settle(&mut self) {
        self.symbols.settle();
        self.label_sets.settle();
        self.last_requests = Vec::new();
        self.namespace_ids = FxHashMap::default();
        self.resource_ids = FxHashMap::default();
        self.spec_ids = FxHashMap::default();
    }

    /// The symbol of a text.
    pub(super) fn symbol(&mut self, text: &str) -> Symbol {
        self.symbols.intern(text)
    }

    /// The symbol of a text that is there and not empty.
    pub(super) fn filled(&mut self, text: Option<&Text<'_>>) -> Option<Symbol> {
        filled(text).map(|text| self.symbols.intern(text))
    }

    /// The UID of a text that is there and not empty.
    pub(super) fn uid(&mut self, text: Option<&Text<'_>>) -> Option<Uid> {
        filled(text).map(|text| Uid::intern(text, &mut self.symbols))
    }

    /// The symbol of a text; of the empty text where there is none.
    pub(super) fn or_empty(&mut self, text: Option<&Text<'_>>) -> Symbol {
        self.symbols.intern(text.map_or("", |text| text))
    }

    /// The namespace of a name.
    pub(super) fn namespace(&mut self, name: &str) -> NamespaceId {
        let name = self.symbols.intern(name);
        self.namespace_named(name)
    }

    /// The namespace whose name has this symbol.
    pub(super) fn namespace_named(&mut self, name: Symbol) -> NamespaceId {
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

    /// The number of a spec among `specs`: pods of one template share it.
    pub(super) fn spec(&mut self, spec: PodSpec) -> u32 {
        if let Some(&known) = self.spec_ids.get(&spec) {
            return known;
        }
        let id = u32::try_from(self.specs.len()).expect("fewer specs than pods, which have 32 bits");
        let spec = Arc::new(spec);
        self.specs.push(Arc::clone(&spec));
        self.spec_ids.insert(spec, id);
        id
    }

    /// What a pod of a spec asks for: the pods of a template mostly stand one behind the other, and share it.
    pub(super) fn requests(&mut self, spec: u32, requests: RequestParts) -> Arc<RequestParts> {
        match self.last_requests.get_mut(spec as usize) {
            Some(last) if requests.is_written_as(last) => {}
            Some(last) => *last = Arc::new(requests),
            // Specs are numbered in the order in which they come here.
            None => self.last_requests.push(Arc::new(requests)),
        }
        Arc::clone(&self.last_requests[spec as usize])
    }

    fn resource_name(&mut self, name: &str) -> Option<ResourceName> {
        match resources::classify(name) {
            ResourceClass::Cpu => Some(ResourceName::Cpu),
            ResourceClass::Memory => Some(ResourceName::Memory),
            ResourceClass::EphemeralStorage => Some(ResourceName::EphemeralStorage),
            ResourceClass::Pods => Some(ResourceName::Pods),
            ResourceClass::HugePages => Some(ResourceName::HugePages(self.resource_id(name))),
            ResourceClass::Extended | ResourceClass::OtherScalar => Some(ResourceName::Scalar(self.resource_id(name))),
            ResourceClass::Unknown => None,
        }
    }

    /// The scalar resource of a name.
    pub(super) fn resource_id(&mut self, name: &str) -> ResourceId {
        let symbol = self.symbols.intern(name);
        *self.resource_ids.entry(symbol).or_insert_with(|| {
            self.resources.push(symbol);
            ResourceId::at(self.resources.len() - 1)
        })
    }
}
