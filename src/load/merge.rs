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

/// Where an entry is, with what it is sorted by.
#[derive(Clone, Copy)]
struct Key<'h> {
    kind: Kind,
    /// The place of its namespace among all, by name.
    place: u32,
    /// How the name begins, filled up with zeros: it sorts as the name does, as far as it goes.
    begin: [u64; 4],
    name: &'h str,
    batch: u32,
    entry: u32,
}

impl Key<'_> {
    fn identity(&self, other: &Self) -> Ordering {
        (self.kind, self.place, self.begin)
            .cmp(&(other.kind, other.place, other.begin))
            .then_with(|| self.name.cmp(other.name))
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
    let mut entries: Vec<Vec<Entry>> =
        harvests.iter_mut().map(|harvest| std::mem::take(&mut harvest.entries)).collect();
    let (mut kept, spaces) = sorted_keys(&entries, &harvests);
    let copies = leave_newest(&mut kept, &entries, &spaces);
    let problems = copies.into_iter().map(|(kind, copies)| copies.problem(files, kind)).collect();
    let names = namespaces(&kept, &spaces);
    let held = |key: &Key<'_>| {
        let entry = &entries[key.batch as usize][key.entry as usize];
        (entry.kind, entry.origin.file)
    };
    for same in kept.chunk_by(|a, b| held(a) == held(b)) {
        let (kind, file) = held(&same[0]);
        ledger.count(kind, file, same.len() as u64);
    }
    let size = stretch.unwrap_or_else(|| share(kept.len()));
    let order: Vec<Vec<(u32, u32)>> =
        kept.chunks(size).map(|keys| keys.iter().map(|it| (it.batch, it.entry)).collect()).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut take = |&(batch, entry): &(u32, u32)| {
        let entry = &mut entries[batch as usize][entry as usize];
        Placed { batch: batch as usize, name: entry.name, fact: std::mem::replace(&mut entry.fact, Fact::Counted) }
    };
    let mut stretches: Vec<Vec<Placed>> = order.iter().map(|order| order.iter().map(&mut take).collect()).collect();
    if stretches.is_empty() {
        stretches.push(Vec::new());
    }
    // They weigh as much as the cluster.
    drop((kept, order, entries));
    let mut cluster = assemble(stretches, harvests.into_iter().map(|harvest| harvest.tables).collect(), &names);
    cluster.as_of = as_of;
    (cluster, problems)
}

/// The keys of all entries, and the namespaces by place.
fn sorted_keys<'h>(entries: &[Vec<Entry>], harvests: &'h [Harvest]) -> (Vec<Key<'h>>, Vec<&'h str>) {
    // The namespaces of each batch, by name.
    let spaces = |(entries, harvest): (&Vec<Entry>, &'h Harvest)| -> FxHashMap<Option<Symbol>, &'h str> {
        let own: FxHashSet<Option<Symbol>> = entries.iter().map(|entry| entry.namespace).collect();
        let text = |space: Option<Symbol>| space.map_or("", |space| harvest.tables.symbols.text(space));
        own.into_iter().map(|space| (space, text(space))).collect()
    };
    let spaces: Vec<FxHashMap<Option<Symbol>, &str>> = entries.par_iter().zip(harvests).map(spaces).collect();
    let names: BTreeSet<&str> = spaces.iter().flat_map(FxHashMap::values).copied().collect();
    let names: Vec<&str> = names.into_iter().collect();
    let places: FxHashMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let keys = entries.par_iter().zip(harvests).zip(spaces).enumerate();
    let mut keys: Vec<Key<'h>> = keys
        .flat_map_iter(|(batch, ((entries, harvest), spaces))| {
            let places: FxHashMap<Option<Symbol>, u32> =
                spaces.into_iter().map(|(space, name)| (space, places[name])).collect();
            entries.iter().zip(0..).map(move |(entry, at)| {
                let place = places[&entry.namespace];
                let name = harvest.tables.symbols.text(entry.name);
                let batch = u32::try_from(batch).unwrap_or(u32::MAX);
                Key { kind: entry.kind, place, begin: begin_of(name), name, batch, entry: at }
            })
        })
        .collect();
    let entry = |key: &Key<'_>| &entries[key.batch as usize][key.entry as usize];
    let copies = |a: &Key<'_>, b: &Key<'_>| {
        let origins = entry(b).origin.cmp(&entry(a).origin);
        origins.then_with(|| (a.batch, a.entry).cmp(&(b.batch, b.entry)))
    };
    // In place: the keys weigh as much as the pods.
    keys.par_sort_unstable_by(|a, b| a.identity(b).then_with(|| copies(a, b)));
    (keys, names)
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
fn leave_newest(keys: &mut Vec<Key<'_>>, entries: &[Vec<Entry>], spaces: &[&str]) -> BTreeMap<Kind, Copies> {
    let mut copies: BTreeMap<Kind, Copies> = BTreeMap::new();
    let (mut kept, mut begin) = (0, 0);
    while let Some(first) = keys.get(begin) {
        let same = &keys[begin..];
        let same = &same[..same.iter().take_while(|it| it.identity(first).is_eq()).count()];
        let key = if let [key] = same { *key } else { newest_of(same, entries, spaces, &mut copies) };
        begin += same.len();
        if !entries[key.batch as usize][key.entry as usize].removed {
            keys[kept] = key;
            kept += 1;
        }
    }
    keys.truncate(kept);
    copies
}

/// The newest copy of one object, the others being taken down.
fn newest_of<'h>(
    same: &[Key<'h>],
    entries: &[Vec<Entry>],
    spaces: &[&str],
    copies: &mut BTreeMap<Kind, Copies>,
) -> Key<'h> {
    let found: Vec<&Entry> = same.iter().map(|key| &entries[key.batch as usize][key.entry as usize]).collect();
    let used = newest(&found);
    let key = same[used];
    if let Some((_, other)) = found.iter().enumerate().find(|(at, _)| *at != used) {
        let namespace = other.namespace.map(|_| spaces[key.place as usize]);
        let title = || object::title(key.kind, namespace, Some(key.name));
        let first = || Copies { count: 0, example: title(), origin: other.origin };
        copies.entry(key.kind).or_insert_with(first).count += found.len() as u64 - 1;
    }
    key
}

/// The namespaces that objects live in or are, by name.
fn namespaces<'h>(keys: &[Key<'h>], spaces: &[&'h str]) -> Vec<&'h str> {
    let places: BTreeSet<u32> = keys.chunk_by(|a, b| a.place == b.place).map(|same| same[0].place).collect();
    let mut names: Vec<&str> = places.into_iter().map(|place| spaces[place as usize]).collect();
    names.extend(keys.iter().filter(|key| key.kind == Kind::Namespace).map(|key| key.name));
    names.push(DEFAULT_NAMESPACE);
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}
