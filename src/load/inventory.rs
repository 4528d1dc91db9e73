//! Which objects there are: kinds, names, copies.

use super::coverage::Ledger;
use super::fault::{self, Fault};
use super::foreign::{Stranger, Strangers};
use super::kind;
use super::manifest;
use super::objects::Parts;
use super::primitive::filled;
use super::tables::DEFAULT_NAMESPACE;
use super::version;
use crate::model::cluster::{Kind, Origin};
use crate::model::time::Time;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::{FileTable, Form};
use crate::source::split::{Document, List, Split};
use std::collections::BTreeMap;

/// One object, not yet read beyond its metadata.
pub(super) struct Entry<'b> {
    pub(super) kind: Kind,
    /// Empty for objects that live in none.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) json: &'b [u8],
    pub(super) path: &'b str,
    pub(super) origin: Origin,
    pub(super) api_version: &'b str,
    resource_version: Option<u64>,
    removed: bool,
}

/// All objects, each once, sorted by kind, namespace and name.
pub(super) struct Inventory<'b> {
    pub(super) entries: Vec<Entry<'b>>,
    pub(super) ledger: Ledger,
    pub(super) problems: Vec<Problem>,
    pub(super) skipped: BTreeMap<String, u64>,
    pub(super) server_version: Option<String>,
    /// When the dump was taken, as its manifest says.
    pub(super) taken: Option<Time>,
}

impl Entry<'_> {
    /// `Pod shop/web-0`.
    pub(super) fn title(&self) -> String {
        title(self.kind, &self.namespace, &self.name)
    }

    /// The problem of a fault in the object.
    pub(super) fn problem(&self, fault: &Fault) -> Problem {
        problem(fault, self.path, self.origin.offset, &self.title(), true)
    }
}

fn title(kind: Kind, namespace: &str, name: &str) -> String {
    match (namespace, name) {
        (_, "") => format!("{} without a readable name", kind.name()),
        ("", name) => format!("{} {name}", kind.name()),
        (namespace, name) => format!("{} {namespace}/{name}", kind.name()),
    }
}

/// The problem of a fault in an object that begins at `offset`.
pub(super) fn problem(fault: &Fault, path: &str, offset: u64, title: &str, left_out: bool) -> Problem {
    let rest = if left_out { ": the object is left out" } else { "" };
    let mut problem = Problem::new(fault.code(), format!("{title}: {}{rest}", fault.message));
    problem.path = Some(path.to_owned());
    problem.offset = Some(offset + fault.offset as u64);
    problem.object = Some(title.to_owned());
    problem.help = Some(fault.help().to_owned());
    problem
}

/// Looks at every document.
pub(super) fn take<'b>(files: &'b FileTable, splits: &[Split<'b>]) -> Inventory<'b> {
    let mut taker = Taker {
        files: files.files.len(),
        inventory: Inventory {
            entries: Vec::new(),
            ledger: Ledger::default(),
            problems: Vec::new(),
            skipped: BTreeMap::new(),
            server_version: None,
            taken: None,
        },
        strangers: Strangers::default(),
    };
    for (at, (file, split)) in files.files.iter().zip(splits).enumerate() {
        for document in &split.documents {
            taker.document(document, &split.lists, &file.path);
        }
        for foreign in &split.foreign {
            taker.strangers.add(at, &file.path, foreign.offset, foreign.spelling.into());
        }
        taker.lists(split, &file.path);
        taker.breaks(split, &file.path, file.form);
    }
    let entries = &taker.inventory.entries;
    let strangers = taker.strangers.problems(|kind| entries.iter().any(|entry| entry.kind == kind));
    taker.inventory.problems.extend(strangers);
    taker.inventory.merge_copies();
    taker.inventory
}

struct Taker<'b> {
    files: usize,
    inventory: Inventory<'b>,
    strangers: Strangers<'b>,
}

/// The kind of a document, and how it is spelled in the input.
fn kind_of<'b>(document: &Document<'b>, list: Option<&List<'b>>, path: &str) -> (Option<Kind>, &'b str, &'b str) {
    let api_version = document.api_version.or(list.and_then(|list| list.api_version));
    let Some(name) = document.kind.or_else(|| list?.item_kind()) else {
        // Items of a list that says nothing: its key or the file's name is all there is.
        return (list.and_then(|list| kind::hinted(list.hint.unwrap_or(path))), api_version.unwrap_or_default(), "");
    };
    let kind = match api_version {
        Some(api_version) => kind::of(api_version, name),
        None => Kind::ALL.iter().copied().find(|kind| kind.name() == name),
    };
    (kind, api_version.unwrap_or_default(), name)
}

impl<'b> Taker<'b> {
    fn document(&mut self, document: &Document<'b>, lists: &[List<'b>], path: &'b str) {
        let list = document.list.and_then(|list| lists.get(list as usize));
        let (kind, api_version, name) = kind_of(document, list, path);
        let Some(kind) = kind else {
            let version = if name.is_empty() { version::of_document(document.json) } else { None };
            if version.is_some() {
                self.inventory.server_version = version;
            } else if manifest::is_one(api_version, name) {
                let Inventory { ledger, problems, taken, .. } = &mut self.inventory;
                *taken = manifest::take(document.json, path, ledger, problems).max(*taken);
            } else if !(name.is_empty() && is_empty_object(document.json)) {
                if let Some(stranger) = Stranger::of(api_version, name, document.json) {
                    self.strangers.add(document.file.index(), path, document.offset, stranger);
                }
                let label = format!("{api_version} {name}");
                let label = if name.is_empty() { "(no kind)" } else { label.trim() };
                *self.inventory.skipped.entry(label.to_owned()).or_default() += 1;
            }
            return;
        };
        if is_empty_object(document.json) {
            return;
        }
        match self.entry(kind, document, api_version, path) {
            Ok(entry) => self.inventory.entries.push(entry),
            Err(fault) => {
                self.inventory.ledger.reject(kind);
                let title = title(kind, "", "");
                self.inventory.problems.push(problem(&fault, path, document.offset, &title, true));
            }
        }
    }

    fn entry(
        &self,
        kind: Kind,
        document: &Document<'b>,
        api_version: &'b str,
        path: &'b str,
    ) -> Result<Entry<'b>, Fault> {
        let parts: Parts<'_> = fault::read(document.json)?;
        let metadata = parts.metadata.unwrap_or_default();
        let Some(name) = filled(metadata.name.as_ref()) else {
            return Err(Fault::new(0, "`metadata.name` is missing"));
        };
        let namespace = if kind::is_namespaced(kind) { metadata.namespace() } else { "" };
        Ok(Entry {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            json: document.json,
            path,
            origin: Origin { file: document.file, offset: document.offset },
            api_version,
            resource_version: filled(metadata.resource_version.as_ref()).and_then(|text| text.parse().ok()),
            removed: document.removed,
        })
    }

    /// What the lists say about the kinds they hold, or would hold.
    fn lists(&mut self, split: &Split<'b>, path: &str) {
        for (at, list) in split.lists.iter().enumerate() {
            if list.objects > 0 && !list.continued && !list.broken {
                continue;
            }
            let of_list = |it: &&Document<'b>| it.list.is_some_and(|list| list as usize == at);
            let inside = split.documents.iter().filter(of_list).filter_map(|it| kind_of(it, Some(list), path).0);
            let named = list.item_kind().map_or_else(
                || kind::hinted(list.hint.unwrap_or(path)),
                |name| match list.api_version {
                    Some(api_version) => kind::of(api_version, name),
                    None => Kind::ALL.iter().copied().find(|kind| kind.name() == name),
                },
            );
            let mut kinds: Vec<Kind> = inside.chain(named).collect();
            kinds.sort_unstable();
            kinds.dedup();
            for &kind in &kinds {
                if list.continued || list.broken {
                    self.inventory.ledger.truncate(kind);
                } else {
                    self.inventory.ledger.empty(kind);
                }
            }
            if list.continued {
                self.inventory.problems.push(truncated(list, path));
            }
        }
    }

    fn breaks(&mut self, split: &Split<'b>, path: &str, form: Form) {
        // A log or a note that lies among the files is not worth a word.
        let expected = self.files == 1 || std::path::Path::new(path).extension().is_some_and(|it| it == "json");
        for broken in split.breaks.iter().filter(|it| expected || !it.no_document) {
            let own = broken.kind.filter(|kind| !kind.ends_with("List"));
            if let Some(kind) = own.and_then(|name| kind::of(broken.api_version.unwrap_or_default(), name)) {
                self.inventory.ledger.truncate(kind);
            }
            if form == Form::Yaml {
                continue;
            }
            let before = split.documents.iter().filter(|document| document.offset < broken.offset).count();
            let what = if broken.at_end { "the file ends in the middle of" } else { "the text stops being JSON in" };
            let object = broken.kind.map_or_else(|| "a document".to_owned(), |kind| format!("a `{kind}`"));
            let used = match before {
                0 => "nothing before it could be used".to_owned(),
                1 => "the one object before it is used".to_owned(),
                before => format!("the {before} objects before it are used"),
            };
            let mut problem = Problem::new(ProblemCode::BrokenJson, format!("{what} {object}: {used}"));
            problem.path = Some(path.to_owned());
            problem.offset = Some(broken.offset);
            problem.help = Some("take the dump again with `kubectl get … -o json`".to_owned());
            self.inventory.problems.push(problem);
        }
    }
}

fn truncated(list: &List<'_>, path: &str) -> Problem {
    let kind = list.kind.unwrap_or("list");
    let rest = list.remaining.map_or_else(String::new, |count| format!(", {count} more objects"));
    let message = format!("the {kind} holds {} objects and says that it goes on{rest}", list.objects);
    let mut problem = Problem::new(ProblemCode::TruncatedList, message);
    problem.path = Some(path.to_owned());
    problem.offset = Some(list.offset);
    problem.help = Some("read the list without `limit`, or all its pages".to_owned());
    problem
}

fn is_empty_object(json: &[u8]) -> bool {
    json.iter().all(|byte| matches!(byte, b'{' | b'}' | b' ' | b'\n' | b'\r' | b'\t'))
}

impl Inventory<'_> {
    /// Keeps one copy of each object: the one with the highest resourceVersion, else the last one read.
    fn merge_copies(&mut self) {
        let key = |it: &Entry<'_>| (it.kind, it.namespace.clone(), it.name.clone());
        self.entries.sort_by(|a, b| {
            let identity = (a.kind, &a.namespace, &a.name).cmp(&(b.kind, &b.namespace, &b.name));
            identity.then_with(|| newer(b, a))
        });
        let mut copies: BTreeMap<Kind, (u64, String)> = BTreeMap::new();
        let mut kept: Option<(Kind, String, String)> = None;
        self.entries.retain(|entry| {
            let again = kept.as_ref().is_some_and(|it| *it == key(entry));
            if again {
                let count = copies.entry(entry.kind).or_insert_with(|| (0, entry.title()));
                count.0 += 1;
            } else {
                kept = Some(key(entry));
            }
            !again
        });
        self.entries.retain(|entry| !entry.removed);
        for (kind, (count, example)) in copies {
            let name = kind.name();
            let message = match count {
                1 => format!("{example} stands in the input more than once: the newest copy is used"),
                _ => format!("{count} copies of {name} objects, such as {example}: the newest of each is used"),
            };
            let mut problem = Problem::new(ProblemCode::Duplicate, message);
            problem.object = Some(example);
            self.problems.push(problem);
        }
    }
}

/// Orders copies of one object: the greater one is newer.
fn newer(a: &Entry<'_>, b: &Entry<'_>) -> std::cmp::Ordering {
    let versions = a.resource_version.zip(b.resource_version).map(|(a, b)| a.cmp(&b));
    versions.unwrap_or(std::cmp::Ordering::Equal).then(a.origin.cmp(&b.origin))
}

/// The namespaces that any object lives in, by name.
pub(super) fn namespaces<'e>(entries: &'e [Entry<'_>]) -> Vec<&'e str> {
    let mut names: Vec<&str> = entries.iter().map(|entry| entry.namespace.as_str()).collect();
    names.extend(entries.iter().filter(|entry| entry.kind == Kind::Namespace).map(|entry| entry.name.as_str()));
    names.push(DEFAULT_NAMESPACE);
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}
