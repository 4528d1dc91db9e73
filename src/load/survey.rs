//! What each file holds, for whoever asks which files belong together.

use super::harvest::{Entry, Harvest};
use super::object::Fact;
use super::streams;
use crate::model::cluster::Kind;
use crate::model::id::Symbol;
use crate::model::symbols::Symbols;
use crate::model::time::Time;
use crate::model::uid::Uid;
use crate::source::files::FileTable;
use crate::source::split::Split;
use rustc_hash::FxHashMap;

/// A UID or a name, the same in whatever table it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word<'h> {
    Uid(Uid),
    Text(&'h str),
}

impl<'h> Word<'h> {
    fn of_uid(uid: Uid, texts: &'h Symbols) -> Self {
        uid.symbol().map_or(Word::Uid(uid), |it| Word::Text(texts.text(it)))
    }

    pub(super) fn of_text(text: &'h str) -> Self {
        Uid::of_number(text).map_or(Word::Text(text), Word::Uid)
    }
}

/// An object as one file shows it.
#[derive(Clone, Copy)]
pub(super) struct Sight<'h> {
    pub(super) file: usize,
    pub(super) kind: Kind,
    /// Empty for kinds that live in no namespace.
    pub(super) namespace: &'h str,
    pub(super) name: &'h str,
    pub(super) uid: Option<Word<'h>>,
    pub(super) version: Option<u64>,
    pub(super) newest: Option<Time>,
    pub(super) fact: &'h Fact,
    harvest: &'h Harvest,
}

impl<'h> Sight<'h> {
    /// The text of a symbol of the object.
    pub(super) fn text(&self, symbol: Symbol) -> &'h str {
        self.harvest.tables.symbols.text(symbol)
    }
}

/// Everything that was read, before it is put together.
#[derive(Clone, Copy)]
pub(super) struct Survey<'s> {
    pub(super) files: &'s FileTable,
    pub(super) harvests: &'s [Harvest],
}

impl<'s> Survey<'s> {
    /// Every object that was read, as often as it was.
    pub(super) fn sights(self) -> impl Iterator<Item = Sight<'s>> {
        self.sights_of(|_kind| true)
    }

    /// The same of some kinds only: there are many pods, and what they say lies far apart in memory.
    pub(super) fn sights_of(self, is_wanted: fn(Kind) -> bool) -> impl Iterator<Item = Sight<'s>> {
        self.harvests.iter().flat_map(move |harvest| {
            let wanted = harvest.entries.iter().filter(move |entry| is_wanted(entry.kind));
            wanted.map(move |entry| sight(harvest, entry))
        })
    }
}

fn sight<'h>(harvest: &'h Harvest, entry: &'h Entry) -> Sight<'h> {
    let texts = &harvest.tables.symbols;
    let uid = match &entry.fact {
        Fact::Pod(pod, _) => pod.uid,
        Fact::Node(node) => node.uid,
        _ => entry.uid,
    };
    Sight {
        file: entry.origin.file.index(),
        kind: entry.kind,
        namespace: entry.namespace.map_or("", |it| texts.text(it)),
        name: texts.text(entry.name),
        uid: uid.map(|it| Word::of_uid(it, texts)),
        version: entry.version,
        newest: entry.newest,
        fact: &entry.fact,
        harvest,
    }
}

/// An object in some files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) file: usize,
    pub(super) version: Option<u64>,
    /// The newest time it carries.
    pub(super) newest: Option<Time>,
    /// The number of its UID.
    uid: Option<u32>,
}

impl Copy {
    /// Whether two copies show the same state of the same object.
    pub(super) fn is_same(&self, other: &Copy) -> bool {
        self.version == other.version && self.uid.zip(other.uid).is_none_or(|(a, b)| a == b)
    }
}

/// The account of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    /// Its objects, by number: each kind, namespace and name has one. Sorted.
    pub(super) objects: Vec<u32>,
    /// Kinds, as bits in the order of [`Kind::ALL`].
    pub(super) kinds: u32,
    /// The newest time that any of its objects carries.
    pub(super) newest: Option<Time>,
    /// The highest `resourceVersion`; those of Events may come from another store.
    pub(super) version: Option<u64>,
    /// It holds lists.
    pub(super) lists: bool,
    /// It is a stream of changes, not a state.
    pub(super) stream: bool,
}

/// The accounts of all files.
pub(super) struct Books {
    pub(super) sheets: Vec<Sheet>,
    /// By number of the object: its scope by number.
    pub(super) scopes: Vec<u32>,
    /// By number of the scope: the kind whose objects of one namespace it is.
    pub(super) kinds: Vec<Kind>,
    /// By number of the object: its copies, one a file, in the order of the files.
    pub(super) copies: Vec<Vec<Copy>>,
}

/// Whether files may hold several copies of anything: some kind stands in more than one file.
pub(super) fn may_repeat(survey: Survey<'_>) -> bool {
    let mut first: [Option<usize>; 32] = [None; 32];
    survey.harvests.iter().flat_map(|harvest| &harvest.entries).any(|it| {
        let file = it.origin.file.index();
        *first[it.kind as usize & 31].get_or_insert(file) != file
    })
}

impl Books {
    /// Keeps the books of everything that was read.
    pub(super) fn keep(survey: Survey<'_>, splits: &[Split<'_>]) -> Self {
        let sheets = vec![Sheet::default(); survey.files.files.len()];
        let mut books = Books { sheets, scopes: Vec::new(), kinds: Vec::new(), copies: Vec::new() };
        for ((sheet, file), split) in books.sheets.iter_mut().zip(&survey.files.files).zip(splits) {
            sheet.lists = !split.lists.is_empty();
            sheet.stream = !streams::changes(&file.bytes, split).is_empty();
        }
        let mut numbers: FxHashMap<(Kind, &str, &str), u32> = FxHashMap::default();
        let mut scopes: FxHashMap<(Kind, &str), u32> = FxHashMap::default();
        let mut uids: FxHashMap<Word<'_>, u32> = FxHashMap::default();
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        for sight in survey.sights() {
            let sheet = &mut books.sheets[sight.file];
            sheet.newest = sheet.newest.max(sight.newest);
            // Events are no state: a file of them goes with any moment.
            if sight.kind == Kind::Event {
                continue;
            }
            sheet.version = sheet.version.max(sight.version);
            sheet.kinds |= 1 << (sight.kind as u32 & 31);
            if sheet.stream {
                continue;
            }
            let next = number(scopes.len());
            let scope = *scopes.entry((sight.kind, sight.namespace)).or_insert(next);
            if scope == next {
                books.kinds.push(sight.kind);
            }
            let next = number(numbers.len());
            let object = *numbers.entry((sight.kind, sight.namespace, sight.name)).or_insert(next);
            if object == next {
                books.scopes.push(scope);
                books.copies.push(Vec::new());
            }
            let next = number(uids.len());
            let uid = sight.uid.map(|uid| *uids.entry(uid).or_insert(next));
            books.copies[object as usize].push(Copy {
                file: sight.file,
                version: sight.version,
                newest: sight.newest,
                uid,
            });
        }
        for (object, copies) in books.copies.iter_mut().enumerate() {
            // The newest copy of each file.
            copies.sort_by_key(|it| (it.file, std::cmp::Reverse(it.version)));
            copies.dedup_by_key(|it| it.file);
            for copy in copies {
                books.sheets[copy.file].objects.push(number(object));
            }
        }
        books
    }
}
