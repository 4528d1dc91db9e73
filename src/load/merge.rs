//! Facts of all batches to one cluster, in canonical order: every id depends on what the objects are, never on where they
//! stood or which batch read them.

use super::assemble::{Placed, assemble, share};
use super::coverage::Ledger;
use super::harvest::{Entry, Harvest};
use super::object::{self, Fact};
use super::tables::DEFAULT_NAMESPACE;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::Symbol;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::FileTable;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

/// Where an entry is, with what it is sorted by. There are as many as objects: each is kept small.
#[derive(Clone, Copy)]
struct Key {
    kind: Kind,
    /// The place of its namespace among all, by name.
    place: u32,
    /// How the name begins, filled up with zeros: it sorts as the name does, as far as it goes.
    begin: [u64; 4],
    batch: u32,
    entry: u32,
}

/// What keys stand for.
#[derive(Clone, Copy)]
struct Found<'h>(&'h [Harvest]);

impl<'h> Found<'h> {
    fn entry(self, key: &Key) -> &'h Entry {
        &self.0[key.batch as usize].entries[key.entry as usize]
    }

    fn name(self, key: &Key) -> &'h str {
        self.0[key.batch as usize].tables.symbols.text(self.entry(key).name)
    }

    fn identity(self, a: &Key, b: &Key) -> Ordering {
        let begins = (a.kind, a.place, a.begin).cmp(&(b.kind, b.place, b.begin));
        begins.then_with(|| self.name(a).cmp(self.name(b)))
    }

    /// Of two copies of an object the one that was read last comes first.
    fn copies(self, a: &Key, b: &Key) -> Ordering {
        let origins = self.entry(b).origin.cmp(&self.entry(a).origin);
        origins.then_with(|| (a.batch, a.entry).cmp(&(b.batch, b.entry)))
    }
}

fn begin_of(name: &str) -> [u64; 4] {
    let mut begin = [[0; 8]; 4];
    let all = begin.as_flattened_mut();
    let length = name.len().min(all.len());
    all[..length].copy_from_slice(&name.as_bytes()[..length]);
    begin.map(u64::from_be_bytes)
}

/// Merges the harvests; the ledger gets its counts. Objects are put together in stretches of this many, or of as many as
/// there are threads.
pub(super) fn merge(
    files: &FileTable,
    mut harvests: Vec<Harvest>,
    ledger: &mut Ledger,
    stretch: Option<usize>,
) -> (Cluster, Vec<Problem>) {
    let as_of = harvests.iter().filter_map(|harvest| harvest.newest).max();
    let found = Found(&harvests);
    let (mut kept, spaces) = sorted_keys(found);
    let copies = leave_newest(&mut kept, found, &spaces);
    let problems = copies.into_iter().map(|(kind, copies)| copies.problem(files, kind)).collect();
    let held = |key: &Key| (key.kind, found.entry(key).origin.file);
    for same in kept.chunk_by(|a, b| held(a) == held(b)) {
        let (kind, file) = held(&same[0]);
        ledger.count(kind, file, same.len() as u64);
    }
    let names: Vec<String> = namespaces(&kept, found, &spaces).into_iter().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut take = |key: &Key| {
        let entry = &mut harvests[key.batch as usize].entries[key.entry as usize];
        Placed { batch: key.batch, name: entry.name, fact: std::mem::replace(&mut entry.fact, Fact::Counted) }
    };
    let size = stretch.unwrap_or_else(|| share(kept.len()));
    let mut stretches: Vec<Vec<Placed>> = kept.chunks(size).map(|keys| keys.iter().map(&mut take).collect()).collect();
    if stretches.is_empty() {
        stretches.push(Vec::new());
    }
    // Keys and entries weigh as much as the cluster: they go before it grows.
    drop(kept);
    let tables = harvests.into_iter().map(|harvest| harvest.tables).collect();
    let mut cluster = assemble(stretches, tables, &names);
    cluster.as_of = as_of;
    (cluster, problems)
}

/// The keys of all entries, and the namespaces by place.
fn sorted_keys(found: Found<'_>) -> (Vec<Key>, Vec<&str>) {
    let (spaces, places) = places(found);
    let ends = found.0.iter().scan(0, |end, harvest| {
        *end += harvest.entries.len();
        Some(*end)
    });
    let ends: Vec<usize> = ends.collect();
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let key = |at: usize| {
        let batch = ends.partition_point(|end| *end <= at);
        let Harvest { entries, tables, .. } = &found.0[batch];
        let at = at + entries.len() - ends[batch];
        let entry = &entries[at];
        let begin = begin_of(tables.symbols.text(entry.name));
        let place = places[batch][&entry.namespace];
        Key { kind: entry.kind, place, begin, batch: number(batch), entry: number(at) }
    };
    let all = 0..ends.last().copied().unwrap_or(0);
    let mut keys: Vec<Key> = all.into_par_iter().map(key).collect();
    // In place: the keys weigh as much as the pods.
    keys.par_sort_unstable_by(|a, b| found.identity(a, b).then_with(|| found.copies(a, b)));
    (keys, spaces)
}

/// All namespaces by name, and the place of each batch's among them.
fn places(found: Found<'_>) -> (Vec<&str>, Vec<FxHashMap<Option<Symbol>, u32>>) {
    let spaces = |harvest: &'_ Harvest| -> FxHashSet<Option<Symbol>> {
        harvest.entries.iter().map(|entry| entry.namespace).collect()
    };
    let own: Vec<FxHashSet<Option<Symbol>>> = found.0.par_iter().map(spaces).collect();
    let text =
        |batch: usize, space: &Option<Symbol>| space.map_or("", |space| found.0[batch].tables.symbols.text(space));
    let names = own.iter().enumerate().flat_map(|(batch, own)| own.iter().map(move |it| text(batch, it)));
    let names: BTreeSet<&str> = names.collect();
    let names: Vec<&str> = names.into_iter().collect();
    let by_name: FxHashMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let of_batch = |(batch, own): (usize, FxHashSet<Option<Symbol>>)| {
        own.into_iter().map(|space| (space, by_name[text(batch, &space)])).collect()
    };
    let places = own.into_iter().enumerate().map(of_batch).collect();
    (names, places)
}

/// The newest of an object's copies, which are given as they were read, the last one first. Where a copy has no version to
/// compare, the one read last counts.
fn newest(copies: &[&Entry]) -> usize {
    let versions = copies.iter().enumerate().map(|(at, entry)| Some((entry.version?, Reverse(at))));
    let versions: Option<Vec<(u64, Reverse<usize>)>> = versions.collect();
    versions.and_then(|all| all.into_iter().max()).map_or(0, |(_, Reverse(at))| at)
}

/// Copies of objects of one kind.
struct Copies {
    count: u64,
    example: String,
    origin: crate::model::cluster::Origin,
}

impl Copies {
    fn problem(self, files: &FileTable, kind: Kind) -> Problem {
        let Copies { count, example, origin } = self;
        let message = match count {
            1 => format!("{example} stands in the input more than once: the newest copy is used"),
            _ => format!("{count} copies of {} objects, such as {example}: the newest of each is used", kind.name()),
        };
        let mut problem = Problem::new(ProblemCode::Duplicate, message);
        problem.path = Some(files.file(origin.file).path.clone());
        problem.offset = Some(origin.offset);
        problem.object = Some(example);
        problem
    }
}

/// Leaves one key of every object that is there, in order; and an account of the other copies.
fn leave_newest(keys: &mut Vec<Key>, found: Found<'_>, spaces: &[&str]) -> BTreeMap<Kind, Copies> {
    let mut copies: BTreeMap<Kind, Copies> = BTreeMap::new();
    let (mut kept, mut begin) = (0, 0);
    while let Some(first) = keys.get(begin) {
        let same = &keys[begin..];
        let same = &same[..same.iter().take_while(|it| found.identity(it, first).is_eq()).count()];
        let key = if let [key] = same { *key } else { newest_of(same, found, spaces, &mut copies) };
        begin += same.len();
        if !found.entry(&key).removed {
            keys[kept] = key;
            kept += 1;
        }
    }
    keys.truncate(kept);
    copies
}

/// The newest copy of one object, the others being taken down.
fn newest_of(same: &[Key], found: Found<'_>, spaces: &[&str], copies: &mut BTreeMap<Kind, Copies>) -> Key {
    let entries: Vec<&Entry> = same.iter().map(|key| found.entry(key)).collect();
    let used = newest(&entries);
    let key = same[used];
    if let Some((_, other)) = entries.iter().enumerate().find(|(at, _)| *at != used) {
        let namespace = other.namespace.map(|_| spaces[key.place as usize]);
        let title = || object::title(key.kind, namespace, Some(found.name(&key)));
        let first = || Copies { count: 0, example: title(), origin: other.origin };
        copies.entry(key.kind).or_insert_with(first).count += entries.len() as u64 - 1;
    }
    key
}

/// The namespaces that objects live in or are, by name.
fn namespaces<'h>(keys: &[Key], found: Found<'h>, spaces: &[&'h str]) -> Vec<&'h str> {
    let places: BTreeSet<u32> = keys.chunk_by(|a, b| a.place == b.place).map(|same| same[0].place).collect();
    let mut names: Vec<&str> = places.into_iter().map(|place| spaces[place as usize]).collect();
    names.extend(keys.iter().filter(|key| key.kind == Kind::Namespace).map(|key| found.name(key)));
    names.push(DEFAULT_NAMESPACE);
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}
