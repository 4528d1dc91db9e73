//! Documents to cluster. The only module that knows k8s-openapi.
//!
//! `harvest` reads documents in batches, many at a time: `object` decides what to read of each kind, and one file a kind
//! turns an object's JSON into the model. `merge` decides which of several copies counts and puts the objects together in
//! canonical order, so that neither the order of files and items nor their formatting shows in the cluster; `remap` moves
//! them from a batch's tables to the cluster's. What cannot be read becomes a problem with a place, and `coverage` says
//! of each kind what the dump holds.

mod affinity;
mod assemble;
mod clusters;
mod coverage;
mod doubts;
mod fault;
mod folders;
mod foreign;
mod gathered;
mod groups;
mod harvest;
mod hints;
mod json;
mod kind;
mod manifest;
mod merge;
mod meta;
mod moments;
mod names;
mod node;
mod object;
mod objects;
mod place;
mod pod;
mod primitive;
mod remap;
mod repeats;
mod resources;
pub mod scheduler_config;
pub mod schedulers;
mod selectors;
mod stamps;
mod storage;
mod streamed;
mod streams;
mod survey;
mod tables;
mod version;
mod volumes;

use crate::model::cluster::Cluster;
use crate::model::id::FileId;
use crate::model::time::Time;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::FileTable;
use crate::source::meter::{Meter, Step};
use crate::source::split::{self, Document, MAX_OBJECTS, Room, Split};
pub use clusters::ClusterPart;
pub use coverage::Held;
use coverage::Ledger;
use doubts::Traces;
pub use doubts::{without_nodes, without_pods};
use foreign::Strangers;
use harvest::{Batch, Harvest};
use moments::Choice;
pub use moments::Moment;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use streamed::Streamed;
use streams::Shortened;
use survey::Survey;

/// What the input says.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// The objects.
    pub cluster: Cluster,
    /// Trouble, in the order of files and bytes.
    pub problems: Vec<Problem>,
    /// What each file holds of each kind, by kind.
    pub held: Vec<Held>,
    /// Objects of kinds that the program does not need, counted: `apps/v1 Deployment`.
    pub skipped: BTreeMap<String, u64>,
    /// The API server's version (`v1.34.1`), from `kubectl version -o json` or a bundle's version file.
    pub server_version: Option<String>,
    /// The clusters of which the input holds dumps; empty where it holds one.
    pub clusters: Vec<ClusterPart>,
    /// The moments of which the input holds dumps, oldest first; empty where it holds one.
    pub moments: Vec<Moment>,
    /// The input holds more than an answer can be given from, and does not tell which part is meant: a problem says so,
    /// and the cluster is left empty.
    pub refused: bool,
}

/// Which part of the input is asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only files below folders of this name, or so named themselves.
    pub cluster: Option<String>,
    /// The latest moment that is not after this.
    pub at: Option<Time>,
}

/// How the input is cut for reading in parallel.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Bytes of a batch, if not as many as input and threads make good.
    batch: Option<usize>,
    /// Lists of fewer bytes are followed bracket by bracket.
    min_bulk: usize,
    /// How many objects are read.
    objects: usize,
    /// Only `serde_json` reads objects.
    plainly: bool,
    /// How many objects are put together at once, if not as many as threads make good.
    stretch: Option<usize>,
}

impl Cut {
    /// Bytes of a batch where so many are to be read: the larger it is the fewer tables there are to be put together, and
    /// the later all threads finish.
    fn batch(self, bytes: usize) -> usize {
        let share = bytes / (rayon::current_num_threads() * BATCHES_OF_A_THREAD);
        self.batch.unwrap_or_else(|| share.clamp(4 << 20, 32 << 20))
    }
}

/// How many batches a thread reads at least, where there is much to read.
const BATCHES_OF_A_THREAD: usize = 16;

impl Default for Cut {
    fn default() -> Self {
        Cut { batch: None, min_bulk: 8 << 20, objects: MAX_OBJECTS, plainly: false, stretch: None }
    }
}

/// Reads every document of the files.
pub fn load(files: &FileTable) -> Loaded {
    load_wanted(files, &Wanted::default())
}

/// Reads the part of the files that is asked for.
pub fn load_wanted(files: &FileTable, wanted: &Wanted) -> Loaded {
    load_metered(files, wanted, &Meter::default())
}

/// The same, counting what is done.
pub fn load_metered(files: &FileTable, wanted: &Wanted, meter: &Meter) -> Loaded {
    load_part(files, wanted, Cut::default(), meter)
}

/// Reads every document of the files bracket by bracket and with `serde_json` alone, which is slow: what [`load`] gives has
/// to be the same.
pub fn load_plainly(files: &FileTable) -> Loaded {
    let cut = Cut { min_bulk: usize::MAX, plainly: true, ..Cut::default() };
    load_part(files, &Wanted::default(), cut, &Meter::default())
}

/// Reads every document of the files as if each of them were so long that only the quickest ways will do: what [`load`]
/// gives has to be the same.
pub fn load_quickly(files: &FileTable) -> Loaded {
    let cut = Cut { batch: Some(1 << 10), min_bulk: 0, stretch: Some(3), ..Cut::default() };
    load_part(files, &Wanted::default(), cut, &Meter::default())
}

fn load_part(files: &FileTable, wanted: &Wanted, cut: Cut, meter: &Meter) -> Loaded {
    let mut streamed = streamed::read(files, |file| is_wanted(files, wanted, file), cut, meter);
    let problems = std::mem::take(&mut streamed.problems);
    let mut loaded = load_with(streamed, files, wanted, cut, meter);
    loaded.problems.splice(0..0, problems);
    loaded
}

/// Whether a file is of the cluster that is asked for.
fn is_wanted(files: &FileTable, wanted: &Wanted, file: FileId) -> bool {
    wanted.cluster.as_ref().is_none_or(|name| clusters::is_named(&files.file(file).path, name))
}

/// Reads what was not read as it was unfolded, and puts all together.
fn load_with<'b>(streamed: Streamed<'b>, files: &'b FileTable, wanted: &Wanted, cut: Cut, meter: &Meter) -> Loaded {
    let Some(Read { mut splits, mut harvests, cuts }) = read(streamed, files, wanted, cut, meter) else {
        return Loaded { problems: vec![too_many(cut.objects)], ..Loaded::default() };
    };
    if let Some(name) = &wanted.cluster
        && !files.files.iter().any(|it| clusters::is_named(&it.path, name))
    {
        return Loaded { problems: vec![clusters::nothing_named(name)], refused: true, ..Loaded::default() };
    }
    let clusters = clusters::find(Survey { files, harvests: &harvests });
    if !clusters.is_empty() {
        let problems = vec![clusters::refusal(&clusters)];
        return Loaded { problems, clusters, refused: true, ..Loaded::default() };
    }
    let choice = moments::choose(Survey { files, harvests: &harvests }, &splits, &cuts, wanted);
    if choice.refused {
        let problems = choice.problem.into_iter().collect();
        return Loaded { problems, moments: choice.moments, refused: true, ..Loaded::default() };
    }
    leave_out(&choice, files, &mut splits, &mut harvests, cut);
    let as_of = choice.as_of.or_else(|| moment_of(&choice, &harvests, wanted));
    let (mut ledger, problems) = Ledger::take(files, &splits, &harvests);
    let mut problems = problems.into_vec();
    let mut loaded = Loaded { moments: choice.moments, ..Loaded::default() };
    problems.extend(choice.problem);
    problems.extend(cuts.iter().filter_map(|it| open_changes(it, files)));
    let mut strangers = Strangers::default();
    let mut taken = None;
    for harvest in &mut harvests {
        problems.extend(std::mem::take(&mut harvest.problems).into_vec());
        for (label, count) in std::mem::take(&mut harvest.skipped) {
            *loaded.skipped.entry(label).or_default() += count;
        }
        // The last one that is read, as in a batch.
        loaded.server_version = harvest.server_version.take().or(loaded.server_version);
        for (origin, stranger) in std::mem::take(&mut harvest.strangers) {
            strangers.add(origin.file.index(), &files.file(origin.file).path, origin.offset, stranger);
        }
        for (file, manifest) in std::mem::take(&mut harvest.manifests) {
            taken = manifest::take(&manifest, file, files, &mut ledger, &mut problems).max(taken);
        }
    }
    for (at, (split, file)) in splits.iter().zip(&files.files).enumerate() {
        for foreign in &split.foreign {
            strangers.add(at, &file.path, foreign.offset, foreign.spelling.into());
        }
    }
    let repeats = repeats::repeats(files, &splits, &harvests);
    let traces = Traces::take(&mut harvests);
    let (cluster, copies) = merge::merge(files, harvests, &mut ledger, cut.stretch);
    loaded.cluster = cluster;
    loaded.cluster.as_of = as_of.or(taken).or(loaded.cluster.as_of);
    loaded.cluster.coverage = ledger.coverage();
    problems.extend(doubts::doubts(&mut loaded.cluster, &traces, files));
    for (kind, problem) in repeats {
        loaded.cluster.coverage.iter_mut().filter(|it| it.kind == kind).for_each(|it| it.doubtful = true);
        problems.push(problem);
    }
    loaded.held = ledger.held();
    problems.extend(copies);
    problems.extend(strangers.problems(|kind| ledger.holds(kind)));
    let problems = place::resolve(files, problems);
    Loaded { problems, ..loaded }
}

/// Everything that was read.
struct Read<'b> {
    splits: Vec<Split<'b>>,
    harvests: Vec<Harvest>,
    /// What was left out of streams.
    cuts: Vec<Shortened>,
}

/// Finds and reads all documents, streams up to the moment that is asked for; `None` if they are too many.
fn read<'b>(
    streamed: Streamed<'b>,
    files: &'b FileTable,
    wanted: &Wanted,
    cut: Cut,
    meter: &Meter,
) -> Option<Read<'b>> {
    let objects = cut.objects.saturating_sub(streamed.objects);
    let room = Room::new(objects);
    let ids = || (0..files.files.len()).into_par_iter().map(FileId::at);
    let size = |id| if is_wanted(files, wanted, id) { files.file(id).bytes.len() as u64 } else { 0 };
    let begin = || meter.begin(Step::Reading, ids().map(size).sum());
    begin();
    let shorten = |splits: &mut [Split<'_>]| wanted.at.map_or_else(Vec::new, |at| streams::cut(files, splits, at));
    let split = |id, min_bulk, room: &Room| match is_wanted(files, wanted, id) {
        true if streamed.splits.contains_key(&id) => streamed.splits[&id].clone(),
        true => split::split_in_bulk(id, &files.file(id).bytes, min_bulk, room),
        false => Split::default(),
    };
    let mut splits: Vec<Split<'_>> = ids().map(|id| split(id, cut.min_bulk, &room)).collect();
    if room.is_exceeded() {
        return None;
    }
    let cuts = shorten(&mut splits);
    let harvested = harvest_all(files, &splits, |_| true, cut, (&room, meter));
    if room.is_exceeded() {
        return None;
    }
    let with = |others| in_order(streamed.harvests, others);
    let Misjudged { files: misjudged, rest } = match harvested {
        Ok(harvests) => return Some(Read { splits, harvests: with(harvests), cuts }),
        Err(misjudged) => misjudged,
    };
    // A long list is not printed as kubectl does: its file is followed bracket by bracket. Streams are cut over all files.
    let again = |at: usize| misjudged.contains(&at) || wanted.at.is_some();
    let mut rest = if wanted.at.is_some() { Vec::new() } else { rest };
    let read: usize = rest.iter().map(|(_, harvest)| harvest.entries.len()).sum();
    let room = Room::new(objects.saturating_sub(read));
    begin();
    splits.par_iter_mut().enumerate().filter(|it| again(it.0)).for_each(|(at, plain)| {
        *plain = split(FileId::at(at), usize::MAX, &room);
    });
    if room.is_exceeded() {
        return None;
    }
    let cuts = shorten(&mut splits);
    rest.extend(all_of(harvest_all(files, &splits, again, cut, (&Room::unbounded(), meter))));
    Some(Read { splits, harvests: with(rest), cuts })
}

/// What was read of files that hold no long list whose items are only marked.
fn all_of(harvested: Result<Vec<Harvested>, Misjudged>) -> Vec<Harvested> {
    harvested.unwrap_or_else(|misjudged| misjudged.rest)
}

/// All that was read, in the order of the files.
fn in_order(mut harvests: Vec<Harvested>, others: Vec<Harvested>) -> Vec<Harvest> {
    harvests.extend(others);
    harvests.sort_by_key(|it| it.0);
    harvests.into_iter().map(|it| it.1).collect()
}

/// Forgets the files that are of other moments.
fn leave_out(choice: &Choice, files: &FileTable, splits: &mut [Split<'_>], harvests: &mut Vec<Harvest>, cut: Cut) {
    if !choice.left_out.is_empty() {
        for &file in &choice.left_out {
            splits[file] = Split::default();
        }
        let kept = |it: Harvest| it.streamed.map(FileId::index).filter(|at| splits[*at].streamed > 0).zip(Some(it));
        let kept: Vec<Harvested> = std::mem::take(harvests).into_iter().filter_map(kept).collect();
        let again = harvest_all(files, splits, |_| true, cut, (&Room::unbounded(), &Meter::default()));
        *harvests = in_order(kept, all_of(again));
    }
    if !choice.streamed.is_empty() {
        let streams: Vec<bool> = files
            .files
            .iter()
            .zip(splits.iter())
            .map(|(file, split)| !streams::changes(&file.bytes, split).is_empty())
            .collect();
        for harvest in harvests {
            harvest.entries.retain(|it| streams[it.origin.file.index()] || !choice.streamed.contains(&it.kind));
        }
    }
}

/// The time of the dump, where some of what was read is of another moment: the newest that is not after the one asked
/// for, or that the chosen files carry.
fn moment_of(choice: &Choice, harvests: &[Harvest], wanted: &Wanted) -> Option<Time> {
    let used = choice.moments.iter().find(|it| it.used);
    if wanted.at.is_none() && used.is_none() {
        return None;
    }
    let times = harvests.iter().flat_map(|harvest| &harvest.entries).filter_map(|it| it.newest);
    let newest = times.filter(|&it| wanted.at.is_none_or(|at| it <= at)).max();
    newest.max(used.and_then(|it| it.time).filter(|&it| wanted.at.is_none_or(|at| it <= at)))
}

/// Changes of a stream that may have come after the moment that is asked for.
fn open_changes(cut: &Shortened, files: &FileTable) -> Option<Problem> {
    if cut.open == 0 {
        return None;
    }
    let path = files.files[cut.file].path.clone();
    let message = format!("{} changes carry no time: they may have come after the moment that --at asks for", cut.open);
    let mut problem = Problem::new(ProblemCode::OpenChanges, message);
    problem.help = Some("ask for a moment when nothing moved, if the answer matters".to_owned());
    problem.path = Some(path);
    Some(problem)
}

fn too_many(objects: usize) -> Problem {
    let message = format!("the input holds more than {objects} objects: nothing of it is used");
    let help = "give one cluster at a time, and only the kinds that are read; events can be left out";
    Problem { help: Some(help.to_owned()), ..Problem::new(ProblemCode::TooManyObjects, message) }
}

/// What was read of a batch, and the first file that it is of.
type Harvested = (usize, Harvest);

/// Long lists that are not what they looked like: their files, and what was read of the other ones.
struct Misjudged {
    files: BTreeSet<usize>,
    rest: Vec<Harvested>,
}

/// Reads the documents and long lists of some files.
fn harvest_all(
    files: &FileTable,
    splits: &[Split<'_>],
    some: impl Fn(usize) -> bool,
    cut: Cut,
    (room, meter): (&Room, &Meter),
) -> Result<Vec<Harvested>, Misjudged> {
    let of_some = || splits.iter().enumerate().filter(|it| some(it.0));
    let documents: Vec<Document<'_>> = of_some().flat_map(|(_, split)| split.documents.iter().copied()).collect();
    let batch = cut.batch(of_some().map(|(at, _)| files.files[at].bytes.len()).sum());
    // In the order of the files. Files with a long list have batches of their own.
    let mut batches: Vec<(usize, Batch<'_>)> = Vec::new();
    let (mut from, mut to) = (0, 0);
    for (at, split) in of_some() {
        let begin = to;
        to += split.documents.len();
        if split.bulk.is_some() || split.streamed > 0 {
            batches.extend(harvest::batches(&documents[from..begin], batch));
            let bulk = split.bulk.iter().flat_map(|bulk| harvest::bulk_batches(FileId::at(at), bulk, batch));
            batches.extend(bulk.map(|batch| (at, batch)));
            batches.extend(harvest::batches(&documents[begin..to], batch));
            from = to;
        }
    }
    batches.extend(harvest::batches(&documents[from..], batch));
    let spoilt: Vec<AtomicBool> = splits.iter().map(|_| AtomicBool::new(false)).collect();
    let harvest = |(first, batch): &(usize, Batch<'_>)| {
        let _share = meter.share(batch.bytes());
        let spoilt = &spoilt[*first];
        if splits[*first].bulk.is_some() && spoilt.load(Ordering::Relaxed) {
            return None;
        }
        let harvest = batch.harvest(files, splits, room, cut.plainly).ok();
        if let Some((file, range)) = batch.extent() {
            files.file(file).bytes.let_go(range);
        }
        spoilt.fetch_or(harvest.is_none(), Ordering::Relaxed);
        harvest.map(|harvest| (*first, harvest))
    };
    let harvests: Vec<Option<Harvested>> = batches.par_iter().map(harvest).collect();
    let spoilt: BTreeSet<usize> = (0..splits.len()).filter(|at| spoilt[*at].load(Ordering::Relaxed)).collect();
    let harvests = harvests.into_iter().flatten();
    if spoilt.is_empty() {
        return Ok(harvests.collect());
    }
    let rest = harvests.filter(|it| !spoilt.contains(&it.0)).collect();
    Err(Misjudged { files: spoilt, rest })
}

#[cfg(test)]
mod tests;
