//! Watch streams and recordings up to a moment.
//!
//! A recorder says when it saw each change. A watch does not: its changes stand in the order in which the API server made
//! them, and each shows its object with the times that the object carries. A change is not later than a moment if nothing
//! up to it in the stream carries a newer time. That is also as much as can be told: a change that leaves no time in its
//! object may have come any time before the next one that does.

use super::primitive::parse_time;
use crate::model::time::Time;
use crate::source::files::FileTable;
use crate::source::split::{Document, Split};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Times of objects are whole seconds, rounded down.
const SECOND: i64 = 1_000_000_000;

/// What a stream said at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shortened {
    /// The file.
    pub(super) file: usize,
    /// Changes that were left out.
    pub(super) later: usize,
    /// Changes that were taken, though their times leave open whether they came later.
    pub(super) open: usize,
    /// The stream begins after the moment: it says nothing of it. When it begins.
    pub(super) begins_later: Option<Time>,
    /// Kinds of which the stream tells every object at the moment.
    pub(super) kinds: BTreeSet<String>,
}

/// Whether a document is a change that a watch or a recorder wrote, rather than an object as it stood.
fn is_change(file: &[u8], document: &Document<'_>) -> bool {
    let before = usize::try_from(document.offset).ok().and_then(|at| file.get(..at));
    is_change_behind(before.unwrap_or_default())
}

/// Whether what stands before a document says that it is such a change.
pub(super) fn is_change_behind(before: &[u8]) -> bool {
    let before = before[before.len().saturating_sub(64)..].trim_ascii_end();
    let Some(before) = before.strip_suffix(b":").map(<[u8]>::trim_ascii_end) else { return false };
    before.ends_with(br#""object""#) || before.ends_with(br#""resource""#)
}

/// The changes of a file, by position among its documents: those that a watch or a recorder wrote; and where no list is
/// around them, objects of which one comes more than once, as `kubectl get -w -o json` prints them.
pub(super) fn changes(file: &[u8], split: &Split<'_>) -> Vec<usize> {
    let documents = || split.documents.iter().enumerate();
    let told: Vec<usize> = documents().filter(|(_, it)| is_change(file, it)).map(|it| it.0).collect();
    if !told.is_empty() {
        return told;
    }
    let bare: Vec<usize> = documents().filter(|(_, it)| it.list.is_none()).map(|it| it.0).collect();
    let mut seen = BTreeSet::new();
    let again = |&at: &usize| {
        let Some(seen_now) = Seen::read(&split.documents[at]) else { return false };
        !seen.insert(seen_now.key)
    };
    let mut bare_again = bare.iter().copied().filter(again);
    if bare.len() > 1 && bare_again.next().is_some() { bare } else { Vec::new() }
}

/// Leaves out of all streams what came after a moment.
pub(super) fn cut(files: &FileTable, splits: &mut [Split<'_>], at: Time) -> Vec<Shortened> {
    let mut cuts = Vec::new();
    for (file, (source, split)) in files.files.iter().zip(splits).enumerate() {
        let changes = changes(&source.bytes, split);
        if changes.is_empty() {
            continue;
        }
        let seen: Vec<Option<Seen>> = changes.iter().map(|&it| Seen::read(&split.documents[it])).collect();
        let recorded = changes.iter().any(|&it| split.documents[it].time.is_some());
        let first_list = if recorded { 0 } else { first_list(&seen) };
        let times: Vec<Option<Time>> = match recorded {
            true => changes.iter().map(|&it| split.documents[it].time.and_then(parse_time)).collect(),
            false => watch_times(&seen, first_list),
        };
        let begin = times.first().copied().flatten();
        let is_later = |time: &Option<Time>| time.is_some_and(|time| time > at);
        let taken = times.iter().position(is_later).unwrap_or(times.len());
        let mut cut =
            Shortened { file, later: times.len() - taken, open: 0, begins_later: None, kinds: BTreeSet::new() };
        if taken == 0 {
            cut.begins_later = begin;
        } else {
            cut.kinds = seen[..taken].iter().flatten().map(|it| it.key.0.clone()).collect();
        }
        if cut.later > 0 && !recorded {
            let stamped = (first_list..taken).rev().find(|&it| it > 0 && times[it] != times[it - 1]);
            cut.open = taken.saturating_sub(stamped.map_or(first_list, |it| it + 1));
        }
        let mut left_out = vec![false; split.documents.len()];
        for &it in &changes[taken..] {
            left_out[it] = true;
        }
        let mut position = 0;
        split.documents.retain(|_| {
            position += 1;
            !left_out[position - 1]
        });
        cuts.push(cut);
    }
    cuts
}

/// An object as a change shows it.
struct Seen {
    /// Kind, namespace, name.
    key: (String, String, String),
    version: Option<u64>,
    created: Option<Time>,
    /// When its deletion was asked for: the time that it carries is later by the grace period.
    deletion_asked: Option<Time>,
    /// The newest time it carries.
    newest: Option<Time>,
    /// Whether the watch calls the object gone.
    removed: bool,
}

impl Seen {
    fn read(document: &Document<'_>) -> Option<Self> {
        let value: Value = serde_json::from_slice(document.json).ok()?;
        let metadata = &value["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let time = |value: &Value| value.as_str().and_then(parse_time);
        let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let created = time(&metadata["creationTimestamp"]);
        let deletion_asked = time(&metadata["deletionTimestamp"])
            .map(|deleted| Time(deleted.0.saturating_sub(grace.saturating_mul(SECOND))));
        let mut newest = created.max(deletion_asked);
        let parts = value.as_object()?.iter().filter(|(key, _)| *key != "spec" && *key != "metadata");
        for (key, part) in parts {
            newest = newest.max(newest_in(key, part));
        }
        newest = newest.max(newest_in("managedFields", &metadata["managedFields"]));
        Some(Seen {
            key: (text(&value["kind"]), text(&metadata["namespace"]), text(&metadata["name"])),
            version: metadata["resourceVersion"].as_str().and_then(|it| it.parse().ok()),
            created,
            deletion_asked,
            newest,
            removed: document.removed,
        })
    }
}

/// The newest time of a part: fields that say when something happened, not when something will.
fn newest_in(key: &str, value: &Value) -> Option<Time> {
    match value {
        Value::String(text) => {
            let happened = matches!(
                key,
                "lastTransitionTime"
                    | "lastProbeTime"
                    | "lastHeartbeatTime"
                    | "lastUpdateTime"
                    | "startTime"
                    | "startedAt"
                    | "finishedAt"
                    | "time"
                    | "firstTimestamp"
                    | "lastTimestamp"
                    | "deprecatedLastTimestamp"
                    | "eventTime"
                    | "lastObservedTime"
            );
            happened.then(|| parse_time(text)).flatten()
        }
        Value::Array(items) => items.iter().filter_map(|it| newest_in(key, it)).max(),
        Value::Object(map) => map.iter().filter_map(|(key, it)| newest_in(key, it)).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// When each change of a watch came, as far as it can be told: never falling.
fn watch_times(seen: &[Option<Seen>], first_list: usize) -> Vec<Option<Time>> {
    let mut newest = seen[..first_list].iter().flatten().filter_map(|it| it.newest).max();
    let mut times = vec![newest; seen.len()];
    for (time, seen) in times.iter_mut().zip(seen).skip(first_list) {
        newest = newest.max(seen.as_ref().and_then(|it| it.newest));
        *time = newest;
    }
    // A node whose clock is ahead writes times into its pods that have not come yet. What the API server itself stamps
    // on a later change bounds all changes before it.
    let mut bound = Time::MAX;
    let mut bounds = vec![Time::MAX; seen.len()];
    let stamps = server_stamps(seen, first_list);
    for (at, stamp) in stamps.iter().enumerate().rev() {
        bounds[at] = bound;
        bound = stamp.map_or(bound, |stamp| bound.min(Time(stamp.0.saturating_add(SECOND))));
        bounds[at] = bounds[at].min(bound);
    }
    times.iter().zip(bounds).map(|(time, bound)| time.map(|time| time.min(bound))).collect()
}

/// How many changes at the beginning are the list that a watch begins with: in the order of names, each object once.
fn first_list(seen: &[Option<Seen>]) -> usize {
    let ascends = |at: &usize| match (&seen[at - 1], &seen[*at]) {
        (Some(before), Some(this)) => before.key < this.key && !this.removed,
        _ => false,
    };
    let mut length = (1..seen.len()).take_while(ascends).count() + usize::from(!seen.is_empty());
    // Objects that were created after the list may happen to follow in the order of names.
    while length > 1 {
        let others = || seen[..length - 1].iter().flatten();
        let Some(last) = &seen[length - 1] else { break };
        let newest = others().filter_map(|it| it.newest).max();
        if last.version <= others().filter_map(|it| it.version).max() || last.created <= newest {
            break;
        }
        length -= 1;
    }
    length
}

/// Times that the API server's own clock put on a change: an object's creation, and when its deletion was asked for.
fn server_stamps(seen: &[Option<Seen>], first_list: usize) -> Vec<Option<Time>> {
    let mut known: BTreeMap<&(String, String, String), Option<Time>> = BTreeMap::new();
    let mut stamps = vec![None; seen.len()];
    for (at, seen) in seen.iter().enumerate() {
        let Some(seen) = seen else { continue };
        let before = known.insert(&seen.key, seen.deletion_asked);
        if at < first_list {
            continue;
        }
        stamps[at] = match before {
            None => seen.created,
            Some(before) if before != seen.deletion_asked => seen.deletion_asked,
            Some(_) => None,
        };
    }
    stamps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::FileId;
    use crate::source::split;
    use serde_json::json;

    fn pod(name: &str, version: u64, created: &str, more: &Value) -> Value {
        let mut pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {
            "name": name, "namespace": "a", "resourceVersion": version.to_string(), "creationTimestamp": created}});
        for (key, value) in more["metadata"].as_object().into_iter().flatten() {
            pod["metadata"][key] = value.clone();
        }
        pod["status"] = more["status"].clone();
        pod
    }

    fn started(time: &str) -> Value {
        json!({"status": {"startTime": time}})
    }

    /// Names of the objects that a watch shows at a moment, in the order of the stream, and the account of it.
    fn at(events: &[(&str, Value)], at: &str) -> (Vec<String>, Shortened) {
        let text: String =
            events.iter().map(|(kind, object)| format!("{}\n", json!({"type": kind, "object": object}))).collect();
        let files = FileTable::from_bytes(vec![("watch.json".to_owned(), text.into_bytes())]);
        let mut splits = vec![split::split(FileId(0), &files.files[0].bytes)];
        let cut = cut(&files, &mut splits, parse_time(at).expect("it is a time")).remove(0);
        let name = |it: &Document<'_>| {
            let value: Value = serde_json::from_slice(it.json).expect("it is JSON");
            format!("{}@{}", value["metadata"]["name"], value["metadata"]["resourceVersion"]).replace('"', "")
        };
        (splits[0].documents.iter().map(name).collect(), cut)
    }

    #[test]
    fn a_change_is_as_late_as_the_newest_time_up_to_it() {
        let asked =
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}});
        let events = [
            ("ADDED", pod("a", 5, "2026-01-01T00:00:00Z", &started("2026-01-01T00:00:09Z"))),
            ("ADDED", pod("b", 3, "2026-01-01T00:00:01Z", &json!({}))),
            ("MODIFIED", pod("b", 7, "2026-01-01T00:00:01Z", &started("2026-01-01T00:00:20Z"))),
            // Nothing in it says when.
            ("MODIFIED", pod("a", 8, "2026-01-01T00:00:00Z", &started("2026-01-01T00:00:09Z"))),
            ("MODIFIED", pod("b", 9, "2026-01-01T00:00:01Z", &asked)),
            ("DELETED", pod("b", 10, "2026-01-01T00:00:01Z", &asked)),
        ];
        let names = |time: &str| at(&events, time).0;
        assert_eq!(names("2026-01-01T00:00:10Z"), ["a@5", "b@3"]);
        let (shown, cut) = at(&events, "2026-01-01T00:00:25Z");
        assert_eq!(shown, ["a@5", "b@3", "b@7", "a@8"]);
        assert_eq!((cut.later, cut.open), (2, 1));
        assert_eq!(names("2026-01-01T00:00:30Z").len(), 6, "the deletion was asked for at :30, not at :60");
        let (shown, cut) = at(&events, "2026-01-01T00:00:08Z");
        assert!(shown.is_empty(), "the list at the beginning is of one moment");
        assert_eq!(cut.begins_later, parse_time("2026-01-01T00:00:09Z"));
    }

    #[test]
    fn a_clock_that_is_ahead_does_not_move_what_follows() {
        let events = [
            ("ADDED", pod("a", 5, "2026-01-01T00:00:00Z", &json!({}))),
            ("MODIFIED", pod("a", 6, "2026-01-01T00:00:00Z", &started("2026-01-01T01:00:00Z"))),
            ("ADDED", pod("a0", 7, "2026-01-01T00:00:30Z", &json!({}))),
            ("MODIFIED", pod("a", 8, "2026-01-01T00:00:00Z", &started("2026-01-01T01:00:00Z"))),
        ];
        assert_eq!(at(&events, "2026-01-01T00:00:40Z").0, ["a@5", "a@6", "a0@7"]);
        assert_eq!(at(&events, "2026-01-01T00:00:20Z").0, ["a@5"]);
    }

    #[test]
    fn objects_created_behind_the_first_list_are_changes() {
        let events = [
            ("ADDED", pod("a", 5, "2026-01-01T00:00:00Z", &json!({}))),
            ("ADDED", pod("b", 4, "2026-01-01T00:00:01Z", &json!({}))),
            ("ADDED", pod("c", 9, "2026-01-01T00:00:30Z", &json!({}))),
        ];
        assert_eq!(at(&events, "2026-01-01T00:00:10Z").0, ["a@5", "b@4"]);
    }
}
