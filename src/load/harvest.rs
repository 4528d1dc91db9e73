//! Documents to facts, a batch at a time and batches in parallel: each batch has tables of its own.

use super::doubts::Claims;
use super::fault::Fault;
use super::foreign::Stranger;
use super::hints;
use super::kind;
use super::manifest::{self, Manifest};
use super::object::{self, Fact, Object, Refusal, Source};
use super::primitive::parse_time;
use super::tables::Tables;
use super::version;
use crate::model::cluster::{Kind, Origin};
use crate::model::id::{FileId, Symbol};
use crate::model::time::Time;
use crate::model::uid::Uid;
use crate::problem::Problems;
use crate::source::files::FileTable;
use crate::source::split::{self, Bulk, Document, List, NotItems, Room, Split};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a batch of documents gave.
#[derive(Default)]
pub(super) struct Harvest {
    /// Only `serde_json` may read objects.
    plainly: bool,
    pub(super) tables: Tables,
    pub(super) entries: Vec<Entry>,
    pub(super) rejected: BTreeMap<(Kind, FileId), u64>,
    pub(super) problems: Problems,
    pub(super) skipped: BTreeMap<String, u64>,
    pub(super) server_version: Option<String>,
    pub(super) newest: Option<Time>,
    /// Objects that stand in each list, by file and list.
    pub(super) in_lists: BTreeMap<(FileId, u32), u64>,
    /// Documents that look like objects of a cluster and are none.
    pub(super) strangers: Vec<(Origin, Stranger)>,
    /// What captures wrote beside their dumps.
    pub(super) manifests: Vec<(FileId, Manifest)>,
    /// Pods that their owners and budgets say there are.
    pub(super) claims: Claims,
    /// Kinds that stand in lists which do not hold all there is.
    pub(super) unfinished: BTreeSet<(FileId, u32, Kind)>,
    /// The file that was read as it was unfolded, if it is of one: its text is gone.
    pub(super) streamed: Option<FileId>,
}

/// An object that was read.
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) namespace: Option<Symbol>,
    pub(super) name: Symbol,
    pub(super) version: Option<u64>,
    /// `metadata.uid` of kinds whose fact does not hold it.
    pub(super) uid: Option<Uid>,
    /// The newest time it carries.
    pub(super) newest: Option<Time>,
    pub(super) origin: Origin,
    /// A watch said that the object was deleted.
    pub(super) removed: bool,
    pub(super) fact: Fact,
}

/// A batch of work.
#[derive(Clone, Debug)]
pub(super) enum Batch<'b> {
    /// Documents of one file or of several.
    Documents(&'b [Document<'b>]),
    /// A range of a long list's items.
    Bulk(FileId, &'b Bulk<'b>, Range<usize>),
}

/// Cuts documents into batches of about `size` bytes, each with the first file that it is of.
pub(super) fn batches<'b>(documents: &'b [Document<'b>], size: usize) -> Vec<(usize, Batch<'b>)> {
    let mut batches = Vec::new();
    let mut push = |documents: &'b [Document<'b>]| {
        if let Some(first) = documents.first() {
            batches.push((first.file.index(), Batch::Documents(documents)));
        }
    };
    let (mut begin, mut bytes) = (0, 0);
    for (at, document) in documents.iter().enumerate() {
        bytes += document.json.len();
        if bytes >= size {
            push(&documents[begin..=at]);
            (begin, bytes) = (at + 1, 0);
        }
    }
    push(&documents[begin..]);
    batches
}

/// Cuts a long list into batches of `size` bytes.
pub(super) fn bulk_batches<'b>(file: FileId, bulk: &'b Bulk<'b>, size: usize) -> impl Iterator<Item = Batch<'b>> {
    let cuts = (bulk.begin..bulk.end).step_by(size);
    cuts.map(move |from| Batch::Bulk(file, bulk, from..(from + size).min(bulk.end)))
}

impl Batch<'_> {
    /// How much text it is.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Batch::Documents(documents) => documents.iter().map(|it| it.json.len() as u64).sum(),
            Batch::Bulk(_, _, range) => range.len() as u64,
        }
    }

    /// The bytes that it is, where they are of one file.
    pub(super) fn extent(&self) -> Option<(FileId, Range<usize>)> {
        let offset = |document: &Document<'_>| usize::try_from(document.offset).unwrap_or(usize::MAX);
        match self {
            Batch::Documents(documents) => {
                let (first, last) = (documents.first()?, documents.last()?);
                (first.file == last.file).then(|| (first.file, offset(first)..offset(last) + last.json.len()))
            }
            Batch::Bulk(file, _, range) => Some((*file, range.clone())),
        }
    }

    /// Reads the batch. `Err` says that a long list was not what it looked like, and has to be followed by brackets. Items
    /// of long lists take room, and none is read where there is no more; documents took theirs when they were found.
    pub(super) fn harvest(
        &self,
        files: &FileTable,
        splits: &[Split<'_>],
        room: &Room,
        plainly: bool,
    ) -> Result<Harvest, NotItems> {
        let mut harvest = Harvest { plainly, ..Harvest::default() };
        harvest.make_room(self.bytes());
        match self {
            Batch::Documents(documents) => {
                for document in *documents {
                    let lists = &splits[document.file.index()].lists;
                    let list = document.list.and_then(|list| Some((list, lists.get(list as usize)?)));
                    harvest.document(document, list, &files.file(document.file).path);
                }
            }
            Batch::Bulk(file, bulk, range) => {
                let source = files.file(*file);
                let list = &splits[file.index()].lists[bulk.list as usize];
                for item in bulk.items(&source.bytes, range.clone()) {
                    let item = item?;
                    room.take();
                    if room.is_exceeded() {
                        break;
                    }
                    let offset = item.start as u64;
                    harvest.item(&source.bytes[item], *file, offset, (bulk.list, list), &source.path)?;
                }
            }
        }
        harvest.settle();
        Ok(harvest)
    }
}

/// An object, a new string and a byte of one stand at most in so much text as kubectl prints it, where there is much.
const TEXT_OF_ENTRY: usize = 4 << 10;
const TEXT_OF_SYMBOL: usize = 1 << 10;
const TEXT_OF_LETTER: usize = 1 << 7;

/// A kind as the input spells it.
#[derive(Clone, Copy, Default)]
struct Spelling<'b> {
    kind: Option<&'b str>,
    api_version: Option<&'b str>,
}

impl<'b> Spelling<'b> {
    /// The spelling of an object in a list, which may say it for its items.
    fn within(self, list: Option<&List<'b>>) -> Self {
        Spelling {
            kind: self.kind.or_else(|| list?.item_kind()),
            api_version: self.api_version.or_else(|| list?.api_version),
        }
    }

    fn resolve(self) -> Option<Kind> {
        kind::of_spelling(self.kind?, self.api_version)
    }

    /// As the count of skipped kinds has it.
    fn label(self) -> String {
        let Some(kind) = self.kind else { return "(no kind)".to_owned() };
        self.api_version.map_or_else(|| kind.to_owned(), |api_version| format!("{api_version} {kind}"))
    }
}

impl Harvest {
    /// Of items of a file that are read as they are unfolded.
    pub(super) fn of_stream(file: FileId, plainly: bool) -> Self {
        Harvest { plainly, streamed: Some(file), ..Harvest::default() }
    }

    /// A document whose brackets were followed.
    pub(super) fn document<'b>(&mut self, document: &Document<'b>, list: Option<(u32, &List<'b>)>, path: &str) {
        let own = Spelling { kind: document.kind, api_version: document.api_version };
        let spelling = own.within(list.map(|list| list.1));
        let origin = Origin { file: document.file, offset: document.offset };
        let mut kind = spelling.resolve();
        let guess = |spelling: &Spelling<'_>, json: &[u8]| {
            if spelling.kind.is_none() && spelling.api_version.is_none() { kind::guessed(json) } else { None }
        };
        if let Some((id, list)) = list {
            // Items of a list that says nothing: its key or the file's name is all there is.
            let hint = || kind::hinted(list.hint.unwrap_or(path));
            kind = kind.or_else(|| if spelling.kind.is_none() { hint() } else { None });
            kind = kind.or_else(|| guess(&spelling, document.json));
            self.stands_in(origin.file, id, list, kind);
        } else {
            kind = kind.or_else(|| guess(&spelling, document.json));
        }
        if is_empty_object(document.json) {
            return;
        }
        let Some(kind) = kind else {
            self.skip(document.json, origin, spelling);
            return;
        };
        self.newest = self.newest.max(document.time.and_then(parse_time));
        let api_version = spelling.api_version.unwrap_or_default();
        let source = Source { json: document.json, kind, api_version, origin, followed: true, plainly: self.plainly };
        match self.read(source, document.removed, path) {
            Ok(()) | Err(Refusal::OtherKind) => {}
            Err(Refusal::Damaged(fault)) => self.reject(source, &fault, path),
        }
    }

    /// What looks like an item of a long list.
    pub(super) fn item<'b>(
        &mut self,
        json: &'b [u8],
        file: FileId,
        offset: u64,
        list: (u32, &List<'b>),
        path: &str,
    ) -> Result<(), NotItems> {
        let leading = split::leading_kind(json);
        let assumed = leading.is_none();
        let own = leading.map(|(kind, api_version)| Spelling { kind: Some(kind), api_version: Some(api_version) });
        let own = own.unwrap_or_default();
        let spelling = own.within(Some(list.1));
        let is_one = || split::is_one(json, own.kind, own.api_version);
        let origin = Origin { file, offset };
        let Some(kind) = spelling.resolve() else {
            // What is no object of a known kind may have to be opened: a list, an event of a watch.
            let opens = spelling.kind.is_none_or(|kind| kind.ends_with("List"));
            if assumed || opens || !is_one() {
                return Err(NotItems);
            }
            self.stands_in(file, list.0, list.1, None);
            self.skip(json, origin, spelling);
            return Ok(());
        };
        // Items that do not say their kind begin with their metadata, or are not what the list says. Of pods and nodes that
        // say it, reading them tells whether they are more than that.
        let tells = matches!(kind, Kind::Pod | Kind::Node);
        if (assumed && !(tells && split::begins_with_key(json, "metadata"))) || (!(tells && !assumed) && !is_one()) {
            return Err(NotItems);
        }
        let api_version = spelling.api_version.unwrap_or_default();
        let source = Source { json, kind, api_version, origin, followed: false, plainly: self.plainly };
        match self.read(source, false, path) {
            Ok(()) => {}
            Err(Refusal::OtherKind) => return Err(NotItems),
            Err(_) if !is_one() => return Err(NotItems),
            Err(Refusal::Damaged(_)) if is_empty_object(json) => {}
            Err(Refusal::Damaged(fault)) => self.reject(source, &fault, path),
        }
        self.stands_in(file, list.0, list.1, Some(kind));
        Ok(())
    }

    /// Makes more room than so many bytes of text are likely to need, as kubectl prints it: what is not used of it is never
    /// touched, while what grows is left behind in places of every size.
    fn make_room(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(0);
        self.entries.reserve(bytes / TEXT_OF_ENTRY);
        self.tables.symbols.reserve_texts(bytes / TEXT_OF_SYMBOL, bytes / TEXT_OF_LETTER);
    }

    /// Gives back what only reading needs: all batches wait for the last one.
    pub(super) fn settle(&mut self) {
        self.tables.settle();
        // Into a place of their own size: room that is left at the end of a large one is lost.
        self.entries = self.entries.drain(..).collect();
    }

    /// Counts the lists of its file from `before` on.
    pub(super) fn renumber_lists(&mut self, before: usize) {
        let Some(before) = u32::try_from(before).ok().filter(|it| *it > 0) else { return };
        let lists = std::mem::take(&mut self.in_lists).into_iter();
        self.in_lists = lists.map(|((file, list), count)| ((file, list.saturating_add(before)), count)).collect();
        let unfinished = std::mem::take(&mut self.unfinished).into_iter();
        self.unfinished = unfinished.map(|(file, list, kind)| (file, list.saturating_add(before), kind)).collect();
    }

    fn stands_in(&mut self, file: FileId, id: u32, list: &List<'_>, kind: Option<Kind>) {
        *self.in_lists.entry((file, id)).or_default() += 1;
        if let Some(kind) = kind
            && (list.broken || list.continued)
        {
            self.unfinished.insert((file, id, kind));
        }
    }

    fn read(&mut self, source: Source<'_>, removed: bool, path: &str) -> Result<(), Refusal> {
        let named = hints::filled_in(source.kind, source.json, path);
        let read = match &named {
            Some(named) => object::read(Source { json: named.as_bytes(), ..source }, &mut self.tables),
            None => object::read(source, &mut self.tables),
        };
        let object = match read {
            Err(Refusal::Damaged(fault)) if fault.is_duplicate_key() => {
                if !source.followed {
                    return Err(Refusal::OtherKind);
                }
                // JSON allows a key twice, and whoever reads it takes the last.
                let Ok(value) = serde_json::from_slice::<serde_json::Value>(source.json) else {
                    return Err(Refusal::Damaged(fault));
                };
                let json = value.to_string();
                object::read(Source { json: json.as_bytes(), ..source }, &mut self.tables)
            }
            object => object,
        };
        let Object { namespace, name, version, uid, newest, claims, fact, damage } = object?;
        self.newest = self.newest.max(newest);
        if let Some(fault) = damage {
            self.note(source, &fault, path, "");
        }
        let (kind, origin) = (source.kind, source.origin);
        if let Some(namespace) = namespace.filter(|_| claims > 0 && !removed) {
            let texts = &self.tables.symbols;
            let (namespace, name) = (texts.text(namespace).to_owned(), texts.text(name));
            self.claims.add(namespace, kind.name(), name, claims);
        }
        self.entries.push(Entry { kind, namespace, name, version, uid, newest, origin, removed, fact });
        Ok(())
    }

    fn reject(&mut self, source: Source<'_>, fault: &Fault, path: &str) {
        *self.rejected.entry((source.kind, source.origin.file)).or_default() += 1;
        self.note(source, fault, path, ": the object is left out");
    }

    fn note(&mut self, source: Source<'_>, fault: &Fault, path: &str, consequence: &str) {
        self.problems.push_with(fault.code(), || {
            let title = object::title_of(source.kind, source.json);
            fault.problem(path, source.origin.offset, &title, consequence)
        });
    }

    fn skip(&mut self, json: &[u8], origin: Origin, spelling: Spelling<'_>) {
        let (api_version, kind) = (spelling.api_version.unwrap_or_default(), spelling.kind.unwrap_or_default());
        let version = if spelling.kind.is_none() { version::of_document(json) } else { None };
        if version.is_some() {
            self.server_version = version;
        } else if manifest::is_one(api_version, kind) {
            self.manifests.extend(manifest::read(json).map(|manifest| (origin.file, manifest)));
        } else {
            if matches!(kind, "Deployment" | "DaemonSet")
                && (api_version.starts_with("apps/") || api_version.is_empty())
            {
                self.claims.add_owner(kind, json);
            }
            self.strangers.extend(Stranger::of(api_version, kind, json).map(|stranger| (origin, stranger)));
            *self.skipped.entry(spelling.label()).or_default() += 1;
        }
    }
}

pub(super) fn is_empty_object(json: &[u8]) -> bool {
    json.iter().all(|byte| matches!(byte, b'{' | b'}' | b' ' | b'\n' | b'\r' | b'\t'))
}
