//! Long texts of objects in compressed files, archives and pipes: the objects are read while the rest is unfolded, and the
//! text is dropped behind them.

use super::doubts::LOOKED_AT;
use super::gathered::{self, Bare, Gathered, Whole};
use super::harvest::{self, Harvest};
use super::schedulers;
use super::{Cut, Harvested};
use crate::model::cluster::Kind;
use crate::model::id::FileId;
use crate::problem::Problem;
use crate::source::files::{FileTable, SourceFile};
use crate::source::meter::{Meter, Step};
use crate::source::packed::{self, Packed};
use crate::source::split::{self, Document, Foreign, List, NotItems, Room, Split};
use crate::source::stream::{Beginning, Block, KeptList};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

/// What files gave that were read as they were unfolded.
#[derive(Default)]
pub(super) struct Streamed<'b> {
    /// What stands in them beside the objects that were read, by file.
    pub(super) splits: BTreeMap<FileId, Split<'b>>,
    /// What they hold, in the order of the files and of the text.
    pub(super) harvests: Vec<Harvested>,
    /// What is wrong with the compressed files.
    pub(super) problems: Vec<Problem>,
    /// How many objects were found.
    pub(super) objects: usize,
}

/// Reads all such files that are wanted. Those that turn out to be something else are unfolded, and read like any other file.
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
    let (sender, receiver) = sync_channel::<(usize, Block)>(WAITING);
    let (gathered, (found, problems)) = std::thread::scope(|scope| {
        let unfolding = scope.spawn(move || {
            packed::blocks(texts, size, meter, &mut |at, block| {
                !streams[at].is_spoilt.load(Ordering::Relaxed) && sender.send((at, block)).is_ok()
            })
        });
        let read = |(at, block): (usize, Block)| Some((at, streams[at].harvest(&block).ok()?));
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
    bare: Bare,
    /// It is not what it was taken for.
    is_spoilt: AtomicBool,
}

impl<'b> Stream<'b> {
    fn new(file: FileId, source: &'b SourceFile, packed: &'b Packed, cut: Cut) -> Self {
        let (room, kept, is_spoilt) = (Room::new(cut.objects), AtomicUsize::new(0), AtomicBool::new(false));
        Stream { file, path: &source.path, packed, cut, room, kept, bare: Bare::default(), is_spoilt }
    }

    /// Reads a block, if the text is worth it.
    fn harvest(&self, block: &Block) -> Result<Gathered, NotItems> {
        if self.is_spoilt.load(Ordering::Relaxed) {
            return Err(NotItems);
        }
        let mut gathered = Gathered::of(block, Harvest::of_stream(self.file, self.cut.plainly));
        // Where there is no more room the rest is unfolded all the same: what is wrong with the file shows at its end.
        if !self.room.is_exceeded() {
            let read = match &block.list {
                Some(list) => self.items(&mut gathered, block, list),
                None => self.values(&mut gathered, block),
            };
            self.is_spoilt.fetch_or(read.is_err(), Ordering::Relaxed);
            read?;
        }
        gathered.harvest.settle();
        Ok(gathered)
    }

    /// Reads items of a list.
    fn items(&self, gathered: &mut Gathered, block: &Block, list: &Beginning) -> Result<(), NotItems> {
        let told = list.list().ok_or(NotItems)?;
        for item in block.items(list)? {
            let (offset, json) = (block.offset + item.start as u64, &block.text[item]);
            self.room.take();
            if self.room.is_exceeded() {
                break;
            }
            gathered.objects += 1;
            self.item(gathered, json, offset, &told)?;
            self.keep(gathered, json, offset)?;
        }
        Ok(())
    }

    /// Reads whole values.
    fn values(&self, gathered: &mut Gathered, block: &Block) -> Result<(), NotItems> {
        let Some(split) = split::values(self.file, &block.text, &self.room) else {
            return if self.room.is_exceeded() { Ok(()) } else { Err(NotItems) };
        };
        let before = |it: &Document<'_>| usize::try_from(it.offset).ok().and_then(|at| block.text.get(..at));
        self.bare.add(split.documents.iter().map(|it| (before(it).unwrap_or_default(), it)))?;
        for document in &split.documents {
            let list = document.list.and_then(|at| Some((at, split.lists.get(at as usize)?)));
            let document = Document { offset: document.offset + block.offset, ..*document };
            gathered.objects += 1;
            gathered.harvest.document(&document, list, self.path);
            self.keep(gathered, document.json, document.offset)?;
        }
        let list = |it: &List<'_>| KeptList::of(&List { offset: it.offset + block.offset, ..*it });
        gathered.lists = split.lists.iter().map(list).collect();
        let foreign = |it: Foreign| Foreign { offset: it.offset + block.offset, ..it };
        gathered.foreign = split.foreign.into_iter().map(foreign).collect();
        Ok(())
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
        let empty = harvest::is_empty_object(json);
        gathered.empties |= empty;
        gathered.relies |= !empty && (document.kind.is_none() || document.api_version.is_none());
        let document = Document { file: self.file, offset, list: Some(0), ..document };
        gathered.harvest.document(&document, Some((0, list)), self.path);
        Ok(())
    }

    /// Puts together what the blocks gave.
    fn finish(self, gathered: Vec<Gathered>) -> Result<Streamed<'b>, NotItems> {
        if self.room.is_exceeded() {
            return Ok(Streamed { objects: self.cut.objects, ..Streamed::default() });
        }
        let taken = self.cut.objects.saturating_sub(self.room.left());
        let Whole { split, harvests, around } = gathered::put_together(self.file, self.packed, gathered, &self.bare)?;
        let harvests = harvests.into_iter().map(|it| (self.file.index(), it)).collect();
        let splits = BTreeMap::from([(self.file, split)]);
        Ok(Streamed { splits, harvests, problems: Vec::new(), objects: taken.saturating_add(around) })
    }
}
