//! The table of input files.

use super::archive::{self, Flaw, FlawKind, Limits, Member, Unfolded};
use super::encoding::{self, Encoding};
use super::given::{Given, Item, Seen, Stamp};
use super::map;
use super::meter::{Meter, Share};
use super::names;
use super::noise::{self, Begins};
use super::packed::{Pack, Packed};
use super::pipe::{self, Store};
use super::sniff::{self, Content, Foreign};
use super::walk;
use super::yaml;
use crate::model::id::FileId;
use crate::problem::{Problem, ProblemCode, Problems};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The bytes of one file: mapped or in memory.
#[derive(Debug)]
pub enum Bytes {
    /// In memory: what pipes gave, members of archives, converted text.
    Owned(Vec<u8>),
    /// A file mapped into memory.
    Mapped(memmap2::Mmap),
    /// A long text in a compressed file, an archive or a pipe, which is read block by block: no bytes, unless it had to be
    /// unfolded.
    Packed(Box<Packed>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(bytes) => bytes,
            Bytes::Packed(packed) => packed.whole().unwrap_or_default(),
        }
    }
}

impl Bytes {
    /// So many bytes are worth to be let go.
    const MUCH: usize = 1 << 20;

    /// Whoever read these bytes does not need them for now; they stay readable.
    pub fn let_go(&self, range: Range<usize>) {
        if let Bytes::Mapped(mapped) = self
            && range.len() >= Self::MUCH
        {
            map::let_go(mapped, range);
        }
    }
}

/// One file of the input, or one member of an archive.
#[derive(Debug)]
pub struct SourceFile {
    /// The path as the user would name it; a member is `archive.tar.gz!folder/file.json`.
    pub path: String,
    /// Its text, as JSON in UTF-8 (converted where the file was something else).
    pub bytes: Bytes,
    /// What the text was. Lines of `bytes` are lines of the file in any form; offsets only [`as it is`](Form::AsIs).
    pub form: Form,
    /// Size of the file as it lies on disk.
    pub size: u64,
    /// When it was written.
    pub modified: Option<SystemTime>,
    /// What is kept of a file whose bytes are not at hand; then `bytes` are none.
    pub kept: Option<Box<Kept>>,
}

/// A file as it was when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) modified: Option<SystemTime>,
}

impl Opened {
    fn is_changed(&self) -> bool {
        // A file that was removed or replaced stays as it was for whoever has it open.
        Path::new(&self.path).metadata().is_ok_and(|now| {
            now.len() != self.size || now.modified().ok().zip(self.modified).is_some_and(|(now, then)| now != then)
        })
    }
}

/// What is kept of a file's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its SHA-256, if that was wanted.
    pub sha256: Option<String>,
    /// The surroundings of problems, by offset.
    pub excerpts: BTreeMap<u64, Surroundings>,
}

/// Bytes around a place, of the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The bytes before it.
    pub before: Vec<u8>,
    /// The bytes from it on.
    pub after: Vec<u8>,
    /// How far the line's begin is away, if it is near.
    pub line_begin: Option<u64>,
}

/// How many bytes before and behind a place are its surroundings.
pub(super) const AROUND: usize = 60;
/// A line's begin is not looked for further away.
pub(super) const FAR: usize = 1 << 16;

impl SourceFile {
    /// The long text that the file is, if its bytes are not at hand.
    pub fn packed(&self) -> Option<&Packed> {
        match &self.bytes {
            Bytes::Packed(packed) if packed.whole().is_none() => Some(packed),
            _ => None,
        }
    }

    /// The text of an object and what follows it, as far as it is at hand.
    pub fn text_at(&self, offset: u64) -> Option<&[u8]> {
        match self.packed() {
            Some(packed) => packed.kept(offset),
            None => self.bytes.get(usize::try_from(offset).ok()?..),
        }
    }

    /// What stands around a place; `None` behind the file's end.
    pub fn around(&self, offset: u64) -> Option<Surroundings> {
        if let Some(kept) = &self.kept {
            return kept.excerpts.get(&offset).cloned();
        }
        if let Some(packed) = self.packed() {
            return packed.place(offset)?.around;
        }
        let (bytes, offset) = (&*self.bytes, usize::try_from(offset).ok()?);
        if offset >= bytes.len() {
            return None;
        }
        let before = &bytes[offset.saturating_sub(AROUND)..offset];
        let before = before.rsplit(|it| *it == b'\n').next().unwrap_or_default();
        let after = &bytes[offset..bytes.len().min(offset + AROUND)];
        let after = after.split(|it| *it == b'\n').next().unwrap_or_default();
        let begin = bytes[..offset].iter().rev().take(FAR).position(|it| *it == b'\n');
        let line_begin = begin.map(|it| it as u64);
        Some(Surroundings { before: before.to_vec(), after: after.to_vec(), line_begin })
    }

    /// SHA-256 of the file as it lies on disk, in hexadecimal; `None` of a member of an archive, and of what cannot be
    /// read once more.
    pub fn digest(&self) -> Option<String> {
        if let Some(kept) = &self.kept {
            return kept.sha256.clone();
        }
        if let Bytes::Packed(packed) = &self.bytes {
            return packed.digest();
        }
        if self.form == Form::AsIs && self.bytes.len() as u64 == self.size {
            return Some(digest_of(|take| take(&self.bytes)));
        }
        let bytes = std::fs::read(&self.path).ok()?;
        (bytes.len() as u64 == self.size).then(|| digest_of(|take| take(&bytes)))
    }
}

/// SHA-256, in hexadecimal, of bytes that are shown piece by piece.
pub(super) fn digest_of(show: impl FnOnce(&mut dyn FnMut(&[u8]))) -> String {
    let mut hasher = Sha256::new();
    show(&mut |piece| hasher.update(piece));
    hasher.finalize().iter().map(|it| format!("{it:02x}")).collect()
}

/// What the text of a file was before it was JSON in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The same, byte for byte.
    AsIs,
    /// JSON in UTF-16.
    Utf16,
    /// YAML. Where it breaks off, a problem says so already, and so need not whoever reads the JSON.
    Yaml,
}

/// All files of the input, in the order they were found: sorted by path within each folder.
#[derive(Debug, Default)]
pub struct FileTable {
    /// By [`FileId`].
    pub files: Vec<SourceFile>,
    /// Files of folders and archives that hold no text of objects: logs, programs, notes.
    pub passed_over: u64,
}

impl FileTable {
    /// A file.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.index()]
    }

    /// The files that changed since they were opened. A file that is mapped shows what others write to it meanwhile.
    pub fn changed(&self) -> Vec<Problem> {
        let mapped = |file: &'_ SourceFile| match &file.bytes {
            Bytes::Packed(packed) => packed.mapped(),
            Bytes::Mapped(_) => Some(Opened { path: file.path.clone(), size: file.size, modified: file.modified }),
            Bytes::Owned(_) => None,
        };
        let mut opened: Vec<Opened> = self.files.iter().filter_map(mapped).collect();
        // Members of one archive stand next to each other.
        opened.dedup();
        opened.iter().filter(|it| it.is_changed()).map(|it| changed_problem(&it.path)).collect()
    }

    /// A table of JSON texts in memory, each with its name.
    pub fn from_bytes(files: Vec<(String, Vec<u8>)>) -> Self {
        let file = |(path, bytes): (String, Vec<u8>)| SourceFile {
            path,
            size: bytes.len() as u64,
            bytes: Bytes::Owned(bytes),
            form: Form::AsIs,
            modified: None,
            kept: None,
        };
        FileTable { files: files.into_iter().map(file).collect(), passed_over: 0 }
    }

    /// A table of files in memory, of whatever form, each with its name: one that is named, or several that lie in a
    /// folder.
    pub fn from_memory(files: Vec<(String, Vec<u8>)>, limits: Limits) -> (Self, Vec<Problem>) {
        Self::from_memory_in_blocks(files, limits, WHOLE)
    }

    /// The same, and long texts of at least `whole` bytes in compressed files and archives are read block by block.
    pub fn from_memory_in_blocks(files: Vec<(String, Vec<u8>)>, limits: Limits, whole: usize) -> (Self, Vec<Problem>) {
        let files = files.into_iter().map(|(path, bytes)| (path, Store::Bytes(Bytes::Owned(bytes)))).collect();
        Self::from_stores(files, limits, whole)
    }

    /// The same of what comes through pipes.
    pub fn from_pipes(files: Vec<(String, Vec<u8>)>, limits: Limits, whole: usize) -> (Self, Vec<Problem>) {
        let read = |(path, bytes): (String, Vec<u8>)| {
            Some((path, pipe::read(&mut bytes.as_slice(), whole, &Meter::default()).ok()?))
        };
        Self::from_stores(files.into_iter().filter_map(read).collect(), limits, whole)
    }

    fn from_stores(files: Vec<(String, Store)>, limits: Limits, whole: usize) -> (Self, Vec<Problem>) {
        let named = files.len() == 1;
        let meter = Meter::default();
        let terms = Terms { limits, whole, meter: &meter };
        let open = |(path, bytes): (String, Store)| {
            if !named && names::is_passed_over(&path) {
                return Intake { passed_over: 1, ..Intake::default() };
            }
            unfold(Raw { path, size: bytes.size(), bytes, modified: None, named }, terms)
        };
        collect(files.into_iter().map(open).collect(), Intake::default())
    }

    /// Opens files and folders; `-` is standard input. What cannot be opened is a problem and the rest goes on.
    pub fn open(paths: &[PathBuf]) -> (Self, Vec<Problem>) {
        Self::open_metered(paths, &Meter::default())
    }

    /// The same, counting what is done.
    pub fn open_metered(paths: &[PathBuf], meter: &Meter) -> (Self, Vec<Problem>) {
        let given = Given::of_process(paths, meter);
        let (table, problems, _) = Self::open_given(given, Limits::default(), Digests::Skip, meter);
        (table, problems)
    }

    /// Opens what was found. With digests, also how each file was, in the order found; nothing of those that could not
    /// be read.
    pub fn open_given(
        given: Given,
        limits: Limits,
        digests: Digests,
        meter: &Meter,
    ) -> (Self, Vec<Problem>, Vec<Option<Seen>>) {
        let terms = Terms { limits, whole: WHOLE, meter };
        let Given { items, problems, passed_over } = given;
        let sizes = items.iter().map(|item| match item {
            Item::File(found) => found.size,
            Item::Stdin(_) => 0,
        });
        meter.expect(sizes.sum());
        let opened = open_items(items, |item| open_item(item, terms, digests));
        let (opened, seen): (Vec<Intake>, Vec<Option<Seen>>) = opened.into_iter().unzip();
        let (table, problems) = collect(opened, Intake { problems, passed_over, ..Intake::default() });
        (table, problems, seen)
    }
}

/// Whether digests of the files are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digests {
    /// No.
    Skip,
    /// Yes.
    Take,
}

/// A file before anybody looked what it is.
struct Raw<B = Bytes> {
    path: String,
    bytes: B,
    size: u64,
    modified: Option<SystemTime>,
    named: bool,
}

/// What came of one file, or of all of them.
#[derive(Default)]
struct Intake {
    files: Vec<SourceFile>,
    problems: Vec<Problem>,
    passed_over: u64,
}

impl Intake {
    fn problem(problem: Problem) -> Self {
        Intake { problems: vec![problem], ..Intake::default() }
    }

    fn append(&mut self, other: Intake) {
        self.files.extend(other.files);
        self.problems.extend(other.problems);
        self.passed_over += other.passed_over;
    }
}

fn collect(opened: Vec<Intake>, first: Intake) -> (FileTable, Vec<Problem>) {
    let mut problems = Problems::default();
    let mut table = FileTable::default();
    for one in std::iter::once(first).chain(opened) {
        table.files.extend(one.files);
        table.passed_over += one.passed_over;
        problems.extend(one.problems);
    }
    (table, problems.into_vec())
}

/// What compressed files and archives unfold to, and pipes bring, is held in memory up to this size.
pub(super) const WHOLE: usize = 32 << 20;

/// On what terms files are opened.
#[derive(Clone, Copy)]
struct Terms<'m> {
    limits: Limits,
    /// Lists and sequences of objects of at least so many bytes are not kept unfolded.
    whole: usize,
    meter: &'m Meter,
}

/// How many pipes are read at the same time.
const PIPES: usize = 64;

/// Opens all, in their order. Pipes have threads of their own: those of the pool help each other, and one that waits for
/// what another folds might be handed a pipe whose writer waits for the first.
fn open_items<Opened: Send>(items: Vec<Item>, open: impl Fn(Item) -> Opened + Sync) -> Vec<Opened> {
    let is_pipe = |item: &Item| match item {
        Item::File(found) => found.size == 0 && std::fs::metadata(&found.path).is_ok_and(|it| !it.is_file()),
        Item::Stdin(_) => false,
    };
    let numbered = items.into_iter().enumerate();
    let (pipes, others): (Vec<_>, Vec<_>) = numbered.partition(|(_, item)| is_pipe(item));
    let mut pipes = pipes.into_iter().peekable();
    let mut opened: Vec<(usize, Opened)> = Vec::new();
    let open = &open;
    while pipes.peek().is_some() {
        std::thread::scope(|scope| {
            let some = pipes.by_ref().take(PIPES);
            let reading: Vec<_> = some.map(|(at, item)| scope.spawn(move || (at, open(item)))).collect();
            let read = reading.into_iter().map(|it| it.join().unwrap_or_else(|it| std::panic::resume_unwind(it)));
            opened.extend(read);
        });
    }
    opened.par_extend(others.into_par_iter().map(|(at, item)| (at, open(item))));
    opened.sort_unstable_by_key(|it| it.0);
    opened.into_iter().map(|it| it.1).collect()
}

fn open_item(item: Item, terms: Terms<'_>, digests: Digests) -> (Intake, Option<Seen>) {
    let read = match item {
        Item::File(found) => read_file(&found.path, found.named).map_err(|error| {
            terms.meter.advance(found.size);
            walk::unreadable(&found.path, &error)
        }),
        Item::Stdin(Ok(bytes)) => Ok((of_stdin(bytes), None)),
        Item::Stdin(Err(error)) => Err(walk::unreadable(Path::new(STDIN), &error)),
    };
    let (raw, stamp) = match read {
        Ok(read) => read,
        Err(problem) => return (Intake::problem(problem), None),
    };
    let seen = || Seen {
        stamp: stamp.map(|(stamp, _)| stamp),
        settled: stamp.is_some_and(|(stamp, taken)| stamp.is_settled(taken)),
        digest: raw.bytes.content_digest(),
    };
    let seen = (digests == Digests::Take).then(seen);
    (unfold(raw, terms), seen)
}

/// Files up to this size are read, which costs some milliseconds at most; others are mapped. A mapped file that another
/// program shortens ends this one.
pub(super) const READ_UP_TO: u64 = 16 << 20;

/// A file, with its stamp and when that was taken.
fn read_file(path: &Path, named: bool) -> io::Result<(Raw<Store>, Option<(Stamp, SystemTime)>)> {
    let mut file = File::open(path)?;
    let taken = SystemTime::now();
    let metadata = file.metadata()?;
    let stamp = Stamp::of(&metadata).map(|stamp| (stamp, taken));
    // A pipe or an empty file cannot be mapped.
    let bytes = if metadata.is_file() && metadata.len() > READ_UP_TO {
        Store::Bytes(Bytes::Mapped(map::map(&file)?))
    } else {
        // Counted with all others once it is taken for something.
        pipe::read(&mut file, WHOLE, &Meter::default())?
    };
    let path = path.display().to_string();
    Ok((Raw { path, size: bytes.size(), bytes, modified: metadata.modified().ok(), named }, stamp))
}

/// What standard input is called in problems and reports.
const STDIN: &str = "standard input";

fn of_stdin(bytes: Store) -> Raw<Store> {
    Raw { path: STDIN.to_owned(), size: bytes.size(), bytes, modified: None, named: true }
}

/// Takes a file apart if it is an archive, and makes JSON of every text.
fn unfold(raw: Raw<Store>, terms: Terms<'_>) -> Intake {
    let share = terms.meter.share(raw.size);
    let content = sniff::sniff(raw.bytes.head());
    let is_folded = matches!(raw.bytes, Store::Folded(_));
    match content {
        Content::Compressed(_) | Content::Tar | Content::Zip => unpack(raw, terms, share),
        Content::Json if is_folded => unpack(raw, terms, share),
        _ => {
            let Raw { path, bytes, size, modified, named } = raw;
            match bytes.unfold() {
                Ok(bytes) => convert(Raw { path, bytes, size, modified, named }, &share),
                Err(error) => Intake::problem(walk::unreadable(Path::new(&path), &error)),
            }
        }
    }
}

/// Goes through an archive, a compressed file or a text that is folded.
fn unpack(raw: Raw<Store>, terms: Terms<'_>, share: Share<'_>) -> Intake {
    let limits = terms.limits;
    let Unfolded { members, flaws, others } = archive::unfold(&raw.path, &raw.bytes, limits, terms.whole, &share);
    drop(share);
    let mut intake = Intake { passed_over: others, ..Intake::default() };
    intake.problems.extend(flaws.into_iter().map(|flaw| flaw_problem(flaw, limits)));
    let Raw { path, bytes, size, modified, named } = raw;
    let has_long = members.iter().any(|it| it.long.is_some());
    let opened = Opened { path: path.clone(), size, modified };
    let pack = has_long.then(|| Arc::new(Pack { opened, store: bytes, limits }));
    terms.meter.expect(members.iter().map(|it| it.bytes.len() as u64).sum());
    let convert = |member: Member| {
        let share = terms.meter.share(member.bytes.len() as u64);
        let is_all = member.path == path;
        let length = member.long.and_then(|it| it.length).unwrap_or(member.bytes.len() as u64);
        let size = if is_all { size } else { length };
        let modified =
            member.modified.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).or(modified);
        let path = member.path;
        if let (Some(text), Some(pack)) = (member.long, &pack) {
            let bytes = Bytes::Packed(Box::new(Packed::new(Arc::clone(pack), text)));
            let file = SourceFile { path, bytes, form: Form::AsIs, size, modified, kept: None };
            return Intake { files: vec![file], ..Intake::default() };
        }
        // What a compressed file holds is what was named; what a container holds was only found.
        convert(Raw { path, bytes: Bytes::Owned(member.bytes), size, modified, named: named && is_all }, &share)
    };
    let converted: Vec<Intake> = members.into_par_iter().map(convert).collect();
    for one in converted {
        intake.append(one);
    }
    intake
}

/// Makes JSON of a text.
fn convert(mut raw: Raw, share: &Share<'_>) -> Intake {
    let mut form = Form::AsIs;
    let mut content = sniff::sniff(sniff::head(&raw.bytes));
    if let Content::Utf16(encoding) = content {
        raw.bytes = Bytes::Owned(encoding::decode(&raw.bytes, encoding).into_bytes());
        content = sniff::sniff(sniff::head(&raw.bytes));
        form = Form::Utf16;
    } else if raw.bytes.len() as u64 <= READ_UP_TO && content.may_be_utf8() && encoding::is_mixed(&raw.bytes) {
        // What a script put together; a file of hundreds of megabytes is not looked through once more for that.
        raw.bytes = Bytes::Owned(encoding::decode(&raw.bytes, Encoding::Utf8).into_bytes());
        content = sniff::sniff(sniff::head(&raw.bytes));
        form = Form::Utf16;
    }
    let mut from = 0;
    if matches!(content, Content::Text | Content::Blank) {
        // The first lines do not tell; perhaps later ones do.
        content = match noise::first_document(&raw.bytes) {
            Some((_, Begins::Json)) => Content::Json,
            Some((at, Begins::Yaml)) => {
                from = at;
                Content::Yaml
            }
            None => content,
        };
    }
    match content {
        Content::Json => {
            let Raw { path, bytes, size, modified, .. } = raw;
            Intake { files: vec![SourceFile { path, bytes, form, size, modified, kept: None }], ..Intake::default() }
        }
        Content::Yaml => convert_yaml(raw, from, share),
        Content::Foreign(foreign) => Intake::problem(foreign_problem(&raw.path, foreign)),
        Content::Blank => Intake::problem(blank_problem(&raw.path)),
        // An archive in UTF-16 is none.
        Content::Text | Content::Binary | Content::Utf16(_) | Content::Compressed(_) | Content::Tar | Content::Zip => {
            // A log that lies among the files is not worth a word.
            let extension = Path::new(&raw.path).extension();
            let expected = raw.named || extension.is_some_and(|it| it == "json" || it == "yaml" || it == "yml");
            let problems = match noise::refusal(sniff::head(&raw.bytes)) {
                Some(refusal) if expected => vec![refusal_problem(&raw.path, &refusal)],
                _ if raw.named => vec![no_objects(&raw.path)],
                _ => Vec::new(),
            };
            Intake { problems, passed_over: u64::from(!raw.named), files: Vec::new() }
        }
    }
}

fn convert_yaml(raw: Raw, from: usize, share: &Share<'_>) -> Intake {
    let Raw { path, bytes, size, modified, .. } = raw;
    let lines_before = "\n".repeat(memchr::memchr_iter(b'\n', &bytes[..from]).count());
    let text = lines_before + &String::from_utf8_lossy(&bytes[from..]);
    let text = noise::blank_logs(&text).unwrap_or(text);
    let mut converted = yaml::to_json_counted(&text, share);
    if !converted.troubles.is_empty()
        && let Some(quiet) = noise::blank_noise(&text)
    {
        converted = yaml::to_json(&quiet);
    }
    let mut problems: Vec<Problem> = converted.troubles.iter().map(|trouble| yaml_problem(&path, trouble)).collect();
    if problems.is_empty() && !text.ends_with('\n') {
        problems.push(perhaps_cut(&path, &text));
    }
    let bytes = Bytes::Owned(converted.json.into_bytes());
    Intake {
        files: vec![SourceFile { path, bytes, form: Form::Yaml, size, modified, kept: None }],
        problems,
        passed_over: 0,
    }
}

fn problem_of(path: &str, code: ProblemCode, message: String, help: &str) -> Problem {
    let mut problem = Problem::new(code, message);
    problem.path = Some(path.to_owned());
    problem.help = Some(help.to_owned());
    problem
}

fn yaml_problem(path: &str, trouble: &yaml::Trouble) -> Problem {
    let help = if trouble.message.contains("tab") || trouble.message.contains("cannot start any token") {
        "indent with blanks: YAML does not know tabs for that"
    } else if trouble.message.contains("breaks off") {
        "the dump was cut: write it again"
    } else {
        "write the dump again, best as JSON (`-o json`)"
    };
    let mut problem = problem_of(path, ProblemCode::BrokenYaml, trouble.message.clone(), help);
    problem.line = Some(trouble.line);
    problem
}

fn perhaps_cut(path: &str, text: &str) -> Problem {
    let help = "write it again if it was cut; if it is whole, end its last line";
    let message = "the last line has no end, so the file may have been cut there".to_owned();
    let mut problem = problem_of(path, ProblemCode::PerhapsCut, message, help);
    problem.line = Some(text.lines().count() as u64);
    problem
}

fn changed_problem(path: &str) -> Problem {
    let help = "wait until the dump is complete and run again";
    problem_of(path, ProblemCode::ChangedWhileRead, format!("`{path}` changed while it was read"), help)
}

fn foreign_problem(path: &str, foreign: Foreign) -> Problem {
    let (what, help) = foreign.words();
    problem_of(path, ProblemCode::ForeignFormat, format!("`{path}` {what}"), help)
}

fn blank_problem(path: &str) -> Problem {
    let help = "the command that should have written it printed nothing: run it again, or remove the file";
    problem_of(path, ProblemCode::BlankFile, format!("`{path}` is blank"), help)
}

fn refusal_problem(path: &str, refusal: &str) -> Problem {
    let message = format!("`{path}` holds what kubectl complained of in place of objects: {refusal}");
    problem_of(path, ProblemCode::ForeignFormat, message, ProblemCode::ErrorAnswer.remedy())
}

fn no_objects(path: &str) -> Problem {
    let help = "give a file that `kubectl get -o json` (or `-o yaml`) wrote, or an archive of such files";
    problem_of(path, ProblemCode::ForeignFormat, format!("`{path}` holds neither JSON nor YAML"), help)
}

pub(super) fn flaw_problem(flaw: Flaw, limits: Limits) -> Problem {
    let path = &flaw.path;
    let gib = limits.bytes >> 30;
    match flaw.what {
        FlawKind::Damaged(text) => problem_of(
            path,
            ProblemCode::BrokenArchive,
            format!("`{path}` is damaged: {text}"),
            "what stands before the damage was used; make the archive again",
        ),
        FlawKind::TooLarge => problem_of(
            path,
            ProblemCode::ArchiveTooLarge,
            format!("`{path}` unfolds to more than {gib} GiB, or {} times its size", limits.ratio),
            "if it is a dump and no trap, unpack it and give the folder",
        ),
        FlawKind::TooMany => problem_of(
            path,
            ProblemCode::ArchiveTooLarge,
            format!("`{path}` has more than {} members", limits.members),
            "if it is a dump and no trap, unpack it and give the folder",
        ),
        FlawKind::TooDeep => problem_of(
            path,
            ProblemCode::ArchiveTooLarge,
            format!("`{path}` lies in more than {} archives", limits.depth),
            "unpack the outer ones",
        ),
        FlawKind::Method(method) => problem_of(
            path,
            ProblemCode::BrokenArchive,
            format!("`{path}` is compressed in a way that is not read: {method}"),
            "make the archive again with the usual method (deflate), or unpack it and give the folder",
        ),
        FlawKind::Encrypted => problem_of(
            path,
            ProblemCode::BrokenArchive,
            format!("`{path}` is encrypted"),
            "unpack it with its password and give the folder",
        ),
        FlawKind::Foreign(foreign) => foreign_problem(path, foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("preempt-audit-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("the folder for temporary files can be written");
            Folder(path)
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            fs::write(self.0.join(name), bytes).expect("the folder is there");
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const POD: &[u8] = b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}\n";

    #[test]
    fn a_file_that_vanishes_costs_itself_only() {
        let folder = Folder::new("vanish");
        folder.write("a.json", POD);
        folder.write("b.json", POD);
        let given = Given::of(std::slice::from_ref(&folder.0), &mut io::empty(), &Meter::default());
        fs::remove_file(folder.0.join("a.json")).expect("it was written above");
        let meter = Meter::default();
        let (table, problems, _) = FileTable::open_given(given, Limits::default(), Digests::Skip, &meter);
        assert_eq!((table.files.len(), problems.len()), (1, 1));
        assert!(problems[0].message.contains("no such file"), "{problems:?}");
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_told() {
        let folder = Folder::new("grow");
        let large = POD.repeat(usize::try_from(READ_UP_TO).expect("a few megabytes") / POD.len() + 1);
        folder.write("a.json", &large);
        let (table, _) = FileTable::open(&[folder.0.clone()]);
        assert_eq!(table.changed(), []);
        folder.write("a.json", &[large, POD.to_vec()].concat());
        assert_eq!(table.changed().len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once_and_never_in_circles() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        folder.write("a.json", POD);
        fs::create_dir(folder.0.join("in")).expect("the folder is there");
        symlink(&folder.0, folder.0.join("in/loop")).expect("links can be made");
        symlink(folder.0.join("a.json"), folder.0.join("b.json")).expect("links can be made");
        symlink(folder.0.join("gone"), folder.0.join("dangling")).expect("links can be made");
        let (table, problems) = FileTable::open(&[folder.0.clone(), folder.0.join("a.json")]);
        assert_eq!(table.files.len(), 1);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].path.as_deref().is_some_and(|path| path.ends_with("dangling")), "{problems:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_to_its_end() {
        let folder = Folder::new("pipe");
        let pipe = folder.0.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()));
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, POD)
        });
        let (table, problems) = FileTable::open(&[pipe]);
        assert!(writer.join().is_ok_and(|written| written.is_ok()));
        assert_eq!((table.files.len(), problems), (1, vec![]));
        assert_eq!(&*table.files[0].bytes, POD);
    }
}
