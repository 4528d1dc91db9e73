//! Namespaces that folders name, for objects that do not.

use super::folders::is_border;
use crate::model::cluster::Kind;
use serde_json::Value;

/// The namespace that a path says for the objects in it, where the layout is certain: must-gather, crust-gather, Velero
/// and kubectl-gather (`namespaces/NS/…`), Rancher (`yamls/namespaced/NS/…`), Sonobuoy (`resources/ns/NS/…`),
/// Troubleshoot (`cluster-resources/KINDS/NS.json`).
pub(super) fn namespace_of(path: &str) -> Option<&str> {
    let parts: Vec<&str> = path.split(is_border).collect();
    let (file, folders) = parts.split_last()?;
    let behind = |at: usize| folders.get(at + 1).copied();
    let inner = folders.iter().enumerate().rev().find_map(|(at, part)| {
        let before = at.checked_sub(1).map(|it| folders[it]);
        match (before, *part) {
            (_, "namespaces") | (Some("yamls"), "namespaced") | (Some("resources"), "ns") => behind(at),
            _ => None,
        }
    });
    let in_bundle = folders.len() >= 2 && folders[folders.len() - 2] == "cluster-resources";
    let of_file = || file.rsplit_once('.').map(|(stem, _)| stem).filter(|_| in_bundle);
    inner.or_else(of_file).filter(|name| is_name(name))
}

/// Whether a text may name a namespace.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(letter)
}

/// The object with the namespace that its path says, if it needs one and names none.
pub(super) fn filled_in(kind: Kind, json: &[u8], path: &str) -> Option<String> {
    let may_say = || ["namespace", "resources"].iter().any(|it| path.contains(it));
    if !kind.is_namespaced() || !may_say() {
        return None;
    }
    let namespace = namespace_of(path)?;
    // Nearly every object names its own, in the metadata that stands before the rest.
    if let Some(at) = memchr::memmem::find(json, b"\"namespace\"") {
        let rest = memchr::memmem::find(json, b"\"spec\"").unwrap_or(json.len());
        if at < rest || !lacks(json) {
            return None;
        }
    }
    let mut value: Value = serde_json::from_slice(json).ok()?;
    let metadata = value.get_mut("metadata")?.as_object_mut()?;
    metadata.insert("namespace".to_owned(), namespace.into());
    Some(value.to_string())
}

/// Whether `metadata` names no namespace, wherever else the word stands.
fn lacks(json: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        metadata: Option<Metadata<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        namespace: Option<std::borrow::Cow<'a, str>>,
    }
    let read: Result<Named<'_>, _> = serde_json::from_slice(json);
    read.is_ok_and(|it| it.metadata.is_some_and(|it| it.namespace.is_none_or(|name| name.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_that_are_certain_name_namespaces() {
        for path in [
            "must-gather.local.1/image/namespaces/shop/core/pods.yaml",
            "b.tar.gz!resources/pods/namespaces/shop/web.json",
            "b.tar.gz!resources/pods/v1-preferredversion/namespaces/shop/web.json",
            "namespaces/shop/v1/pod/web.yaml",
            "b/yamls/namespaced/shop/v1/pods.yaml",
            "x/resources/ns/shop/Pods.json",
            "bundle/cluster-resources/pods/shop.json",
        ] {
            assert_eq!(namespace_of(path), Some("shop"), "{path}");
        }
        for path in [
            "shop/pods.json",
            "d/namespaces/shop.json",
            "bundle/cluster-resources/nodes.json",
            "bundle/cluster-resources/custom-resources/a.b.io/shop.json",
            "namespaces/Not A Name/pods.json",
            "pods.json",
        ] {
            assert_eq!(namespace_of(path), None, "{path}");
        }
    }
}
