//! Lists of one file that show the same objects in different states: two dumps written one behind the other.

use super::harvest::{Entry, Harvest};
use super::streams;
use crate::model::cluster::Kind;
use crate::model::id::FileId;
use crate::problem::{Problem, ProblemCode};
use crate::source::files::FileTable;
use crate::source::split::Split;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An object of a file.
#[derive(PartialEq, Eq, Hash)]
struct Name<'h> {
    file: FileId,
    kind: Kind,
    namespace: &'h str,
    name: &'h str,
}

/// What is known of a kind of which a file holds several states.
struct Repeat {
    objects: u64,
    example: String,
    /// Offset of the later copy.
    offset: u64,
}

/// Kinds whose objects one file shows in different states, in lists that follow each other, with the problem of each. The
/// newest copy of every object is used; but what only the older list holds may be long gone.
pub(super) fn repeats(files: &FileTable, splits: &[Split<'_>], harvests: &[Harvest]) -> Vec<(Kind, Problem)> {
    let several = |(at, split): (usize, &Split<'_>)| {
        split.lists.len() > 1 && streams::changes(&files.files[at].bytes, split).is_empty()
    };
    let looked_at: Vec<bool> = splits.iter().enumerate().map(several).collect();
    if !looked_at.contains(&true) {
        return Vec::new();
    }
    let mut seen: FxHashMap<Name<'_>, &Entry> = FxHashMap::default();
    let mut found: BTreeMap<(FileId, Kind), Repeat> = BTreeMap::new();
    for harvest in harvests {
        let texts = &harvest.tables.symbols;
        for entry in harvest.entries.iter().filter(|it| looked_at[it.origin.file.index()] && it.kind != Kind::Event) {
            let (file, kind) = (entry.origin.file, entry.kind);
            let namespace = entry.namespace.map_or("", |it| texts.text(it));
            let name = texts.text(entry.name);
            let Some(before) = seen.insert(Name { file, kind, namespace, name }, entry) else { continue };
            let differ = before.version.zip(entry.version).is_some_and(|(a, b)| a != b);
            if differ && list_of(&splits[file.index()], before) != list_of(&splits[file.index()], entry) {
                let first = || Repeat {
                    objects: 0,
                    example: [namespace, name].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("/"),
                    offset: entry.origin.offset,
                };
                found.entry((file, kind)).or_insert_with(first).objects += 1;
            }
        }
    }
    found.into_iter().map(|((file, kind), repeat)| (kind, repeat.problem(kind, &files.file(file).path))).collect()
}

/// The list around an object, by position; lists stand in the order of the file.
fn list_of(split: &Split<'_>, entry: &Entry) -> usize {
    split.lists.partition_point(|list| list.offset <= entry.origin.offset)
}

impl Repeat {
    fn problem(&self, kind: Kind, path: &str) -> Problem {
        let Repeat { objects, example, offset } = self;
        let kind = kind.name();
        let message = format!(
            "lists of different times follow each other in one file: {objects} of the {kind} objects differ between \
             them, such as {example}"
        );
        let help = format!(
            "the newest copy of each is used, but a {kind} that only the older list holds may be gone: give the newest \
             list alone"
        );
        let mut problem = Problem::new(ProblemCode::MixedAges, message);
        problem.path = Some(path.to_owned());
        problem.offset = Some(*offset);
        problem.help = Some(help);
        problem
    }
}
