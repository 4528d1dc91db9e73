//! Holds an answer of the program against what the real scheduler decided.
//!
//! The comparison is strict: outcome, message, every node's code, plugin and reasons, potential nodes, candidates with
//! victims in order and violations, dry-run reasons, tie set and cleared nominations.

use serde_json::Value;
use std::collections::BTreeMap;

type Status = (String, String, Vec<String>);

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().map(|all| all.iter().map(text).collect()).unwrap_or_default()
}

fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all
}

fn statuses(value: &Value) -> BTreeMap<String, Status> {
    let Some(map) = value.as_object() else { return BTreeMap::new() };
    let status = |it: &Value| (text(&it["code"]), text(&it["plugin"]), sorted(strings(&it["reasons"])));
    map.iter().map(|(node, it)| (node.clone(), status(it))).collect()
}

/// Where the release records no plugin, none is compared.
fn same_statuses(want: &Value, got: &Value) -> Option<String> {
    // 1.24 and 1.25 draw the plugin they name where several reject with one code.
    let answer = got;
    let drawn = |node: &str, plugin: &str| strings(&answer[node]["pluginOneOf"]).iter().any(|it| it == plugin);
    let (want, got) = (statuses(want), statuses(got));
    for node in want.keys().chain(got.keys()) {
        let same = match (want.get(node), got.get(node)) {
            (Some(w), Some(g)) => w.0 == g.0 && w.2 == g.2 && (w.1.is_empty() || w.1 == g.1 || drawn(node, &w.1)),
            _ => false,
        };
        if !same {
            return Some(format!("{node}: want {:?}, got {:?}", want.get(node), got.get(node)));
        }
    }
    None
}

fn victims(candidate: &Value) -> Vec<String> {
    let name = |it: &Value| it.as_str().map_or_else(|| text(&it["pod"]), str::to_owned);
    candidate["victims"].as_array().map(|all| all.iter().map(name).collect()).unwrap_or_default()
}

fn candidates(value: &Value) -> BTreeMap<String, (Vec<String>, i64)> {
    let entry = |it: &Value| (text(&it["node"]), (victims(it), it["pdbViolations"].as_i64().unwrap_or(-1)));
    value.as_array().map(|all| all.iter().map(entry).collect()).unwrap_or_default()
}

/// Every difference between what the scheduler decided and what the program answers.
pub(crate) fn differences(want: &Value, got: &Value) -> Vec<String> {
    let outcome = text(&want["outcome"]);
    if outcome != text(&got["outcome"]) {
        return vec![format!("outcome: want {outcome}, got {}", got["outcome"])];
    }
    let mut out = Vec::new();
    for field in ["message", "postFilterMessage", "ineligibleReason"] {
        let wanted = text(&want[field]);
        if !wanted.is_empty() && wanted != text(&got[field]) && outcome != "error" {
            out.push(format!("{field}: want {wanted:?}, got {:?}", text(&got[field])));
        }
    }
    for field in ["nodes", "dryRun"] {
        if want[field].as_object().is_some_and(|map| !map.is_empty())
            && let Some(difference) = same_statuses(&want[field], &got[field])
        {
            out.push(format!("{field}: {difference}"));
        }
    }
    if outcome == "nominated" || outcome == "no-candidates" {
        let (w, g) = (sorted(strings(&want["potentialNodes"])), sorted(strings(&got["potentialNodes"])));
        if w != g {
            out.push(format!("potentialNodes: want {w:?}, got {g:?}"));
        }
    }
    let (w, g) = (candidates(&want["candidates"]), candidates(&got["candidates"]));
    if w != g {
        let node = w.keys().chain(g.keys()).find(|node| w.get(*node) != g.get(*node)).unwrap();
        out.push(format!("candidate {node}: want {:?}, got {:?}", w.get(node), g.get(node)));
    }
    let (w, g) = (sorted(strings(&want["nominated"])), sorted(strings(&got["nominated"]["oneOf"])));
    // Of many equal nodes the vectors hold those that 64 draws showed.
    let same = if w.len() <= 8 { w == g } else { w.iter().all(|node| g.contains(node)) };
    if !same {
        out.push(format!("nominated: want {w:?}, got {g:?}"));
    }
    let (w, g) = (strings(&want["clearedNominations"]), sorted(strings(&got["clearedNominations"])));
    if w != g {
        out.push(format!("clearedNominations: want {w:?}, got {g:?}"));
    }
    out
}
