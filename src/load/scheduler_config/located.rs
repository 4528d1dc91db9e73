//! JSON whose every value knows its line: a configuration is refused at a place.

use super::Refusals;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A value, where it stands, and its text.
#[derive(Clone, Debug)]
pub(super) struct At<'t> {
    /// The field's path, such as `profiles[0].schedulerName`.
    pub(super) path: String,
    /// Line, from 1.
    pub(super) line: u64,
    /// Its JSON.
    pub(super) json: &'t str,
    /// The whole text, of which `json` is a part.
    whole: &'t str,
    /// The line before the first of `whole`.
    lines_before: u64,
}

/// The members of an object, in order.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'t> Visitor<'t> for Collect {
            type Value = Members<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// An object, its members once each.
pub(super) struct Object<'t> {
    at: At<'t>,
    members: Vec<(String, At<'t>)>,
}

impl<'t> At<'t> {
    /// The root of a part of a text that begins after so many lines of its file.
    pub(super) fn root(whole: &'t str, json: &'t str, lines_before: u64) -> Self {
        let mut root = At { path: String::new(), line: 0, json, whole, lines_before };
        root.line = root.line_of(json);
        root
    }

    fn line_of(&self, part: &str) -> u64 {
        let offset = (part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize).min(self.whole.len());
        self.lines_before + 1 + memchr::memchr_iter(b'\n', &self.whole.as_bytes()[..offset]).count() as u64
    }

    fn child(&self, path: String, json: &'t RawValue) -> At<'t> {
        At { path, line: self.line_of(json.get()), json: json.get(), ..*self }
    }

    /// Whether it is `null`, which upstream reads as absent.
    pub(super) fn is_null(&self) -> bool {
        self.json.trim() == "null"
    }

    /// The elements of an array; anything else is refused.
    pub(super) fn items(&self, refusals: &mut Refusals) -> Vec<At<'t>> {
        match serde_json::from_str::<Vec<&'t RawValue>>(self.json) {
            Ok(items) => items
                .into_iter()
                .enumerate()
                .map(|(at, item)| self.child(format!("{}[{at}]", self.path), item))
                .collect(),
            Err(_) => {
                refusals.wrong_type(self, "a list");
                Vec::new()
            }
        }
    }

    /// The object; anything else is refused, and so is a key that stands twice.
    pub(super) fn object(&self, refusals: &mut Refusals) -> Object<'t> {
        let mut object = Object { at: self.clone(), members: Vec::new() };
        let Ok(Members(members)) = serde_json::from_str::<Members<'t>>(self.json) else {
            refusals.wrong_type(self, "an object");
            return object;
        };
        for (key, value) in members {
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            let member = self.child(path, value);
            if object.members.iter().any(|(known, _)| *known == key) {
                refusals.at(&member, format!("strict decoding error: duplicate field \"{}\"", member.path));
            } else {
                object.members.push((key, member));
            }
        }
        object
    }

    fn scalar<T: Deserialize<'t>>(&self, refusals: &mut Refusals, what: &str) -> Option<T> {
        let value = serde_json::from_str(self.json).ok();
        if value.is_none() {
            refusals.wrong_type(self, what);
        }
        value
    }

    /// The text; anything else is refused.
    pub(super) fn text(&self, refusals: &mut Refusals) -> Option<String> {
        self.scalar(refusals, "a text")
    }
}

impl<'t> Object<'t> {
    /// Where it stands.
    pub(super) fn at(&self) -> &At<'t> {
        &self.at
    }

    /// The members.
    pub(super) fn members(&self) -> &[(String, At<'t>)] {
        &self.members
    }

    /// Refuses members that have other names than these, as upstream's strict decoder does.
    pub(super) fn only(&self, known: &[&str], refusals: &mut Refusals) {
        for (key, member) in &self.members {
            if !known.contains(&key.as_str()) {
                let alike = known.iter().map(|name| (strsim::jaro_winkler(name, key), *name));
                let near = alike.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score >= 0.85);
                let help = near.map(|(_, name)| format!("did you mean `{name}`?"));
                refusals.with_help(member, format!("strict decoding error: unknown field \"{}\"", member.path), help);
            }
        }
    }

    /// A member that is there and not null.
    pub(super) fn get(&self, name: &str) -> Option<&At<'t>> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, member)| member).filter(|member| !member.is_null())
    }

    /// A text.
    pub(super) fn text(&self, name: &str, refusals: &mut Refusals) -> Option<String> {
        self.get(name)?.text(refusals)
    }

    /// A 32-bit integer.
    pub(super) fn integer(&self, name: &str, refusals: &mut Refusals) -> Option<i32> {
        self.get(name)?.scalar(refusals, "a 32-bit integer")
    }

    /// A boolean; false where it is absent.
    pub(super) fn flag(&self, name: &str, refusals: &mut Refusals) -> bool {
        self.get(name).and_then(|member| member.scalar(refusals, "true or false")).unwrap_or(false)
    }

    /// A list; empty where it is absent.
    pub(super) fn items(&self, name: &str, refusals: &mut Refusals) -> Vec<At<'t>> {
        self.get(name).map(|member| member.items(refusals)).unwrap_or_default()
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &str, refusals: &mut Refusals) -> Vec<String> {
        let items = self.items(name, refusals);
        items.iter().filter_map(|item| item.text(refusals)).collect()
    }

    /// An object; `None` where it is absent.
    pub(super) fn object(&self, name: &str, refusals: &mut Refusals) -> Option<Object<'t>> {
        Some(self.get(name)?.object(refusals))
    }
}
