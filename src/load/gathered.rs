//! What blocks of a long text gave, put together in the order of the text.

use super::doubts::LOOKED_AT;
use super::harvest::Harvest;
use super::streams;
use crate::model::cluster::Kind;
use crate::model::id::FileId;
use crate::source::packed::Packed;
use crate::source::split::{Document, Foreign, NotItems, Split};
use crate::source::stream::{Beginning, Block, Frame, KeptList};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// What a block gave.
pub(super) struct Gathered {
    pub(super) number: usize,
    /// The list whose items it holds.
    pub(super) list: Option<Arc<Beginning>>,
    pub(super) objects: u64,
    pub(super) harvest: Harvest,
    /// Some item does not say its kind: the list does.
    pub(super) relies: bool,
    /// Some item says nothing at all.
    pub(super) empties: bool,
    /// The lists that stand in it.
    pub(super) lists: Vec<KeptList>,
    pub(super) foreign: Vec<Foreign>,
    /// Texts of pods to keep, by offset.
    pub(super) texts: Vec<(u64, Vec<u8>)>,
    /// The same of the first nodes, by name.
    pub(super) nodes: BTreeMap<String, Vec<(u64, Vec<u8>)>>,
}

impl Gathered {
    pub(super) fn of(block: &Block, harvest: Harvest) -> Self {
        let (relies, empties, objects) = (false, false, 0);
        let (lists, foreign, texts, nodes) = Default::default();
        let (number, list) = (block.number, block.list.clone());
        Gathered { number, list, objects, harvest, relies, empties, lists, foreign, texts, nodes }
    }
}

/// A text that was put together.
pub(super) struct Whole<'b> {
    pub(super) split: Split<'b>,
    pub(super) harvests: Vec<Harvest>,
    /// How many objects take room that stand in no block.
    pub(super) around: usize,
}

/// Puts a text together. `Err` says that it is not what it was taken for.
pub(super) fn put_together<'b>(
    file: FileId,
    packed: &'b Packed,
    mut gathered: Vec<Gathered>,
    bare: &Bare,
) -> Result<Whole<'b>, NotItems> {
    let frames = packed.frames().ok_or(NotItems)?;
    let counts: Vec<usize> = gathered.iter().map(|it| it.lists.len()).collect();
    let lists = packed.keep_lists(gathered.iter_mut().flat_map(|it| std::mem::take(&mut it.lists)).collect());
    let mut lists = lists.iter().map(KeptList::list);
    keep_texts(packed, &mut gathered, frames, file)?;
    let mut blocks = gathered.into_iter().zip(counts).peekable();
    let mut whole = Whole { split: Split::default(), harvests: Vec::new(), around: 0 };
    for frame in frames.iter().map(Some).chain([None]) {
        let mut items = Vec::new();
        let before = frame.map_or(usize::MAX, |it| it.number);
        while let Some((mut block, count)) = blocks.next_if(|it| it.0.number < before) {
            whole.split.streamed += block.objects;
            if block.list.is_some() {
                items.push(block);
                continue;
            }
            block.harvest.renumber_lists(whole.split.lists.len());
            whole.split.lists.extend(lists.by_ref().take(count));
            whole.split.foreign.append(&mut block.foreign);
            whole.harvests.push(block.harvest);
        }
        match frame {
            Some(frame) => whole.append(frame, items, (file, bare))?,
            None if items.is_empty() => {}
            None => return Err(NotItems),
        }
    }
    // Of a text without any object it is told what it looks like.
    if whole.split.streamed == 0 { Err(NotItems) } else { Ok(whole) }
}

impl<'b> Whole<'b> {
    /// Appends a list whose items were read, or the end of the text.
    fn append(
        &mut self,
        frame: &'b Frame,
        items: Vec<Gathered>,
        (file, bare): (FileId, &Bare),
    ) -> Result<(), NotItems> {
        let objects = items.iter().map(|it| it.objects).sum();
        let (split, taken) = frame.split(file, objects)?;
        bare.add(split.documents.iter().map(|it| (frame.text_before(it.offset), it)))?;
        self.around += taken;
        let before = self.split.lists.len();
        let own = split.lists.first().filter(|_| !items.is_empty());
        let unfinished = own.is_some_and(|it| it.broken || it.continued);
        if let (Some(own), Some(first)) = (own, items.first()) {
            let told = first.list.as_ref().and_then(|it| it.list()).ok_or(NotItems)?;
            // Items that do not say their kind were taken for what the list says before them.
            let relies = told.kind.is_some() || items.iter().any(|it| it.relies);
            if relies && (told.kind, told.api_version) != (own.kind, own.api_version) {
                return Err(NotItems);
            }
            // Of which kind they are, the list says perhaps, or the file's name.
            if unfinished && items.iter().any(|it| it.empties) {
                return Err(NotItems);
            }
        }
        for Gathered { mut harvest, .. } in items {
            if unfinished {
                harvest.unfinished = kinds(&harvest).into_iter().map(|kind| (file, 0, kind)).collect();
            }
            harvest.renumber_lists(before);
            self.harvests.push(harvest);
        }
        self.split.append(split, 0);
        Ok(())
    }
}

/// Keeps the texts of objects that are looked at once more.
fn keep_texts(packed: &Packed, gathered: &mut [Gathered], frames: &[Frame], file: FileId) -> Result<(), NotItems> {
    let mut texts: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    if let Some(last) = frames.last() {
        // What the last objects are, nobody knows yet.
        let documents = last.split(file, 0)?.0.documents;
        texts.extend(documents.iter().map(|it| (it.offset, it.json.to_vec())));
    }
    let mut first_nodes: BTreeMap<String, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
    for block in gathered {
        texts.append(&mut std::mem::take(&mut block.texts).into_iter().collect());
        for (name, kept) in std::mem::take(&mut block.nodes) {
            first_nodes.entry(name).or_default().extend(kept);
        }
    }
    texts.extend(first_nodes.into_values().take(LOOKED_AT).flatten());
    packed.keep(texts);
    Ok(())
}

/// The kinds of which a block holds objects.
fn kinds(harvest: &Harvest) -> BTreeSet<Kind> {
    let read = harvest.entries.iter().map(|it| it.kind);
    read.chain(harvest.rejected.keys().map(|it| it.0)).collect()
}

/// The objects of a text that stand in no list, as a stream of changes has them: one that comes twice, or that says so,
/// makes it such a stream, whose text is needed as a whole.
#[derive(Default)]
pub(super) struct Bare {
    /// Digests of their kinds, namespaces and names. Two that agree by chance do no harm.
    seen: Mutex<FxHashSet<u64>>,
}

/// What names an object.
#[derive(Deserialize)]
struct Named<'t> {
    #[serde(borrow, default)]
    kind: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    metadata: Option<NamedMetadata<'t>>,
}

#[derive(Default, Deserialize)]
struct NamedMetadata<'t> {
    #[serde(borrow, default)]
    namespace: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'t, str>>,
}

impl Bare {
    /// Adds some objects, each with what stands before it.
    pub(super) fn add<'t>(
        &self,
        documents: impl Iterator<Item = (&'t [u8], &'t Document<'t>)>,
    ) -> Result<(), NotItems> {
        let mut digests = Vec::new();
        for (before, document) in documents {
            if streams::is_change_behind(before) {
                return Err(NotItems);
            }
            if document.list.is_none() {
                digests.extend(digest(document.json)?);
            }
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if digests.into_iter().all(|it| seen.insert(it)) { Ok(()) } else { Err(NotItems) }
    }
}

/// The digest of an object's name; nothing of what is no JSON, `Err` where the name is of another form.
fn digest(json: &[u8]) -> Result<Option<u64>, NotItems> {
    let named: Named<'_> = match serde_json::from_slice(json) {
        Ok(named) => named,
        Err(error) if error.is_data() => return Err(NotItems),
        Err(_broken) => return Ok(None),
    };
    let metadata = named.metadata.unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    let text = Option::unwrap_or_default;
    (text(named.kind), text(metadata.namespace), text(metadata.name)).hash(&mut hasher);
    Ok(Some(hasher.finish()))
}
