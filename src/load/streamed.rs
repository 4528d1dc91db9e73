//! Long lists in compressed files, archives and pipes: their items are read while the rest is unfolded, and the text is
//! dropped behind them.

use super::doubts::LOOKED_AT;
use super::harvest::Harvest;
use super::schedulers;
use super::{Cut, Harvested};
use crate::model::cluster::Kind;
use crate::model::id::FileId;
use crate::problem::Problem;
use crate::source::files::{FileTable, SourceFile};
use crate::source::meter::{Meter, Step};
use crate::source::packed::{self, Packed};
use crate::source::split::{self, Document, List, NotItems, Room, Split};
use crate::source::stream::{self, Block};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

/// What files gave that were read as they were unfolded.
#[derive(Default)]
pub(super) struct Streamed<'b> {
    /// What they hold beside the items that were read, by file.
    pub(super) splits: BTreeMap<FileId, Split<'b>>,
    /// Their items, in the order of the files and of the text.
    pub(super) harvests: Vec<Harvested>,
    /// What is wrong with the compressed files.
    pub(super) problems: Vec<Problem>,
    /// How many objects were found.
    pub(super) objects: usize,
}

/// Reads all such files that are wanted. Those that are no lists after all are unfolded, and read like any other file.
pub(super) fn read<'b>(
    files: &'b FileTable,
    is_wanted: impl Fn(FileId) -> bool,
    cut: Cut,
    meter: &Meter,
) -> Streamed<'b> {
    let all = files.files.iter().enumerate().map(|(at, file)| (FileId::at(at), file));
    let packed: Vec<(FileId, &SourceFile, &Packed)> =
        all.filter(|it| is_wanted(it.0)).filter_map(|(id, file)| Some((id, file, file.packed()?))).collect();
    if packed.is_empty() {
        return Streamed::default();
    }
    let archives: Vec<&[(FileId, &SourceFile, &Packed)]> = packed.chunk_by(|a, b| a.2.is_beside(b.2)).collect();
    meter.begin(Step::Reading, archives.iter().map(|it| it[0].2.size()).sum());
    let read = |texts: &&[(FileId, &'b SourceFile, &'b Packed)]| {
        let stream = |&(file, source, packed): &_| Stream::new(file, source, packed, cut);
        read_archive(texts.iter().map(stream).collect(), cut, meter)
    };
    let parts: Vec<Streamed<'b>> = archives.par_iter().map(read).collect();
    let mut all = Streamed::default();
    for part in parts {
        all.append(part);
    }
    all
}

impl<'b> Streamed<'b> {
    fn append(&mut self, other: Streamed<'b>) {
        self.splits.extend(other.splits);
        self.harvests.extend(other.harvests);
        self.problems.extend(other.problems);
        self.objects += other.objects;
    }
}

/// How many blocks wait for somebody to read them.
const WAITING: usize = 2;

/// The texts of so many bytes are kept for whoever looks at objects once more.
const KEPT: usize = 64 << 20;

/// Reads texts of one file: one thread unfolds, the others read.
fn read_archive<'b>(streams: Vec<Stream<'b>>, cut: Cut, meter: &Meter) -> Streamed<'b> {
    let texts: Vec<&Packed> = streams.iter().map(|it| it.packed).collect();
    let mut all = Streamed::default();
    let mut others = texts.clone();
    if cut.min_bulk < usize::MAX {
        let (gathered, problems) = gather(&streams, &texts, cut.batch(0), meter);
        others.clear();
        for (stream, gathered) in streams.into_iter().zip(gathered) {
            let packed = stream.packed;
            match gathered.and_then(|gathered| stream.finish(gathered)) {
                Ok(streamed) => all.append(streamed),
                Err(NotItems) => others.push(packed),
            }
        }
        // Of the one text of a compressed file; unfolding it as a whole tells the same.
        all.problems.extend(problems.into_iter().filter(|_| others.is_empty()));
    }
    all.problems.extend(packed::unfold(&others, meter));
    all
}

/// What the blocks of each text gave, in the order of the text.
type AllGathered = Vec<Result<Vec<Gathered>, NotItems>>;

fn gather(streams: &[Stream<'_>], texts: &[&Packed], size: usize, meter: &Meter) -> (AllGathered, Vec<Problem>) {
    let (sender, receiver) = sync_channel::<(usize, Arc<[u8]>, Block)>(WAITING);
    let (gathered, (found, problems)) = std::thread::scope(|scope| {
        let unfolding = scope.spawn(move || {
            let mut shared: (usize, Arc<[u8]>) = (usize::MAX, Arc::default());
            packed::blocks(texts, size, meter, &mut |at, head, block| {
                if shared.0 != at {
                    shared = (at, head.into());
                }
                !streams[at].is_spoilt.load(Ordering::Relaxed)
                    && sender.send((at, Arc::clone(&shared.1), block)).is_ok()
            })
        });
        let read = |(at, head, block): (usize, Arc<[u8]>, Block)| Some((at, streams[at].harvest(&head, &block).ok()?));
        let gathered: Vec<(usize, Gathered)> = receiver.into_iter().par_bridge().filter_map(read).collect();
        (gathered, unfolding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let is_whole = |(stream, found): (&Stream<'_>, Result<(), NotItems>)| match found {
        Ok(()) if !stream.is_spoilt.load(Ordering::Relaxed) => Ok(Vec::new()),
        _ => Err(NotItems),
    };
    let mut all: AllGathered = streams.iter().zip(found).map(is_whole).collect();
    for (at, one) in gathered {
        if let Ok(blocks) = &mut all[at] {
            blocks.push(one);
        }
    }
    for blocks in all.iter_mut().flatten() {
        blocks.sort_unstable_by_key(|it| it.number);
    }
    (all, problems)
}

/// A text while it is read.
struct Stream<'b> {
    file: FileId,
    path: &'b str,
    packed: &'b Packed,
    cut: Cut,
    room: Room,
    /// Bytes of texts that were kept.
    kept: AtomicUsize,
    /// It is no list of objects.
    is_spoilt: AtomicBool,
}

/// What a block gave.
struct Gathered {
    number: usize,
    objects: u64,
    harvest: Harvest,
    /// Some item does not say its kind: the list does.
    relies: bool,
    /// Texts of pods to keep, by offset.
    texts: Vec<(u64, Vec<u8>)>,
    /// The same of the first nodes, by name.
    nodes: BTreeMap<String, Vec<(u64, Vec<u8>)>>,
}

impl<'b> Stream<'b> {
    fn new(file: FileId, source: &'b SourceFile, packed: &'b Packed, cut: Cut) -> Self {
        let (room, kept) = (Room::new(cut.objects), AtomicUsize::new(0));
        Stream { file, path: &source.path, packed, cut, room, kept, is_spoilt: AtomicBool::new(false) }
    }

    /// Reads a block, if the text is worth it.
    fn harvest(&self, head: &[u8], block: &Block) -> Result<Gathered, NotItems> {
        if self.is_spoilt.load(Ordering::Relaxed) {
            return Err(NotItems);
        }
        let gathered = self.harvest_items(head, block);
        self.is_spoilt.fetch_or(gathered.is_err(), Ordering::Relaxed);
        gathered
    }

    fn harvest_items(&self, head: &[u8], block: &Block) -> Result<Gathered, NotItems> {
        let harvest = Harvest::of_stream(self.file, self.cut.plainly);
        let nodes = BTreeMap::new();
        let mut gathered =
            Gathered { number: block.number, objects: 0, harvest, relies: false, texts: Vec::new(), nodes };
        if self.room.is_exceeded() {
            // The rest is unfolded all the same: what is wrong with the file shows at its end.
            return Ok(gathered);
        }
        let list = stream::list_at_first(head).ok_or(NotItems)?;
        for item in block.items()? {
            let (offset, json) = (block.offset + item.start as u64, &block.text[item]);
            self.room.take();
            if self.room.is_exceeded() {
                break;
            }
            gathered.objects += 1;
            self.item(&mut gathered, json, offset, &list)?;
            self.keep(&mut gathered, json, offset)?;
        }
        Ok(gathered)
    }

    /// Keeps the text of the object that was just read, if somebody may look at it once more.
    fn keep(&self, gathered: &mut Gathered, json: &[u8], offset: u64) -> Result<(), NotItems> {
        let Gathered { harvest, texts, nodes, .. } = gathered;
        let Some(last) = harvest.entries.last().filter(|it| it.origin.offset == offset) else { return Ok(()) };
        let name = harvest.tables.symbols.text(last.name);
        let is_early = || nodes.len() < LOOKED_AT || nodes.keys().next_back().is_some_and(|it| name <= it.as_str());
        match last.kind {
            Kind::Pod if schedulers::may_run_one(name) => texts.push((offset, json.to_vec())),
            Kind::Node if is_early() => nodes.entry(name.to_owned()).or_default().push((offset, json.to_vec())),
            _ => return Ok(()),
        }
        let kept = self.kept.fetch_add(json.len(), Ordering::Relaxed);
        if nodes.len() > LOOKED_AT {
            let dropped = nodes.pop_last().map_or(0, |(_, texts)| texts.iter().map(|it| it.1.len()).sum());
            self.kept.fetch_sub(dropped, Ordering::Relaxed);
        }
        if kept > KEPT { Err(NotItems) } else { Ok(()) }
    }

    /// Reads an item; its brackets are followed if its kind is not to be seen at once.
    fn item<'t>(&self, gathered: &mut Gathered, json: &'t [u8], offset: u64, list: &List<'t>) -> Result<(), NotItems> {
        let seen = split::leading_kind(json).is_some();
        if seen || (list.item_kind().is_some() && split::begins_with_key(json, "metadata")) {
            if gathered.harvest.item(json, self.file, offset, (0, list), self.path).is_ok() {
                return Ok(());
            }
            if seen {
                return Err(NotItems);
            }
        }
        let document = split::one(json).ok_or(NotItems)?;
        gathered.relies |= document.kind.is_none() || document.api_version.is_none();
        let document = Document { file: self.file, offset, list: Some(0), ..document };
        gathered.harvest.document(&document, Some((0, list)), self.path);
        Ok(())
    }

    /// Takes what stands around the items, and whether it bears out what was taken for granted of them.
    fn finish(self, gathered: Vec<Gathered>) -> Result<Streamed<'b>, NotItems> {
        let exceeded = self.room.is_exceeded();
        let objects: u64 = gathered.iter().map(|it| it.objects).sum();
        let frame = self.packed.frame().ok_or(NotItems)?;
        let split = frame.split(self.file, objects)?;
        let told = stream::list_at_first(frame.head()).ok_or(NotItems)?;
        let [list] = split.lists.as_slice() else { return Err(NotItems) };
        // Items that do not say their kind were taken for what the list says before them.
        let relies = told.kind.is_some() || gathered.iter().any(|it| it.relies);
        if relies && (told.kind, told.api_version) != (list.kind, list.api_version) {
            return Err(NotItems);
        }
        let unfinished = list.broken || list.continued;
        let around = 1 + split.documents.len() + split.breaks.len();
        let objects = if exceeded { self.cut.objects } else { usize::try_from(objects).unwrap_or(usize::MAX) + around };
        // What the last object is, nobody knows yet.
        let last = split.documents.iter().map(|it| (it.offset, it.json.to_vec()));
        let mut texts: BTreeMap<u64, Vec<u8>> = last.collect();
        let mut first_nodes: BTreeMap<String, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
        let mut harvests = Vec::with_capacity(gathered.len());
        for Gathered { mut harvest, texts: kept, nodes, .. } in gathered {
            if unfinished {
                harvest.unfinished = kinds(&harvest).into_iter().map(|kind| (self.file, 0, kind)).collect();
            }
            texts.extend(kept);
            for (name, kept) in nodes {
                first_nodes.entry(name).or_default().extend(kept);
            }
            harvests.push((self.file.index(), harvest));
        }
        texts.extend(first_nodes.into_values().take(LOOKED_AT).flatten());
        self.packed.keep(texts);
        let splits = BTreeMap::from([(self.file, split)]);
        Ok(Streamed { splits, harvests, problems: Vec::new(), objects })
    }
}

/// The kinds of which a block holds objects.
fn kinds(harvest: &Harvest) -> BTreeSet<Kind> {
    let read = harvest.entries.iter().map(|it| it.kind);
    read.chain(harvest.rejected.keys().map(|it| it.0)).collect()
}
