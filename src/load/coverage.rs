//! What the dump holds of each kind, as objects and lists tell.

use super::harvest::Harvest;
use super::kind;
use crate::model::cluster::{Coverage, CoverageState, Kind};
use crate::model::id::FileId;
use crate::problem::{Problem, ProblemCode, Problems};
use crate::source::files::{FileTable, Form};
use crate::source::split::{Break, List, Split};
use std::collections::BTreeMap;
use std::path::Path;

/// What one file holds of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The kind.
    pub kind: Kind,
    /// The file.
    pub file: FileId,
    /// What it holds.
    pub state: CoverageState,
    /// How many objects of it stand in the cluster.
    pub objects: u64,
    /// How many objects were damaged and left out.
    pub rejected: u64,
}

/// The account of one kind in one file, or in all.
#[derive(Clone, Copy, Default)]
struct Account {
    objects: u64,
    rejected: u64,
    empty: bool,
    truncated: bool,
}

/// The accounts of all kinds, file by file.
#[derive(Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<(Kind, FileId), Account>,
}

impl Ledger {
    /// Takes down what lists and breaks say, and the problems they are.
    pub(super) fn take(files: &FileTable, splits: &[Split<'_>], harvests: &[Harvest]) -> (Self, Problems) {
        let mut ledger = Ledger::default();
        let mut problems = Problems::default();
        let mut objects: BTreeMap<(FileId, u32), u64> = BTreeMap::new();
        for harvest in harvests {
            for (&list, count) in &harvest.in_lists {
                *objects.entry(list).or_default() += count;
            }
            for &(file, _, kind) in &harvest.unfinished {
                ledger.account(kind, file).truncated = true;
            }
            for (&(kind, file), count) in &harvest.rejected {
                ledger.account(kind, file).rejected += count;
            }
        }
        for (at, (file, split)) in files.files.iter().zip(splits).enumerate() {
            let id = FileId::at(at);
            let count = |list: usize| {
                let list = u32::try_from(list).unwrap_or(u32::MAX);
                objects.get(&(id, list)).copied().unwrap_or(0)
            };
            for (nth, list) in split.lists.iter().enumerate() {
                ledger.list(list, count(nth), id, &file.path);
                if list.continued {
                    problems.push(truncated(list, count(nth), &file.path));
                }
            }
            // A log or a note that lies among the files is not worth a word, and YAML has had its word.
            let expected = files.files.len() == 1 || Path::new(&file.path).extension().is_some_and(|it| it == "json");
            let told = |it: &&Break<'_>| (expected || !it.no_document) && file.form != Form::Yaml;
            for broken in &split.breaks {
                ledger.broken(broken, id);
            }
            for broken in split.breaks.iter().filter(told) {
                problems.push_with(ProblemCode::BrokenJson, || break_problem(broken, split, &file.path));
            }
        }
        (ledger, problems)
    }

    fn account(&mut self, kind: Kind, file: FileId) -> &mut Account {
        self.accounts.entry((kind, file)).or_default()
    }

    /// So many objects of the file stand in the cluster.
    pub(super) fn count(&mut self, kind: Kind, file: FileId, objects: u64) {
        self.account(kind, file).objects += objects;
    }

    /// The file says that the API server does not have the kind.
    pub(super) fn empty(&mut self, kind: Kind, file: FileId) {
        self.account(kind, file).empty = true;
    }

    /// Whether any object of the kind was read.
    pub(super) fn holds(&self, kind: Kind) -> bool {
        self.of_kind(kind).any(|(_, account)| account.objects > 0)
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (FileId, Account)> {
        let files = (kind, FileId(u32::MIN))..=(kind, FileId(u32::MAX));
        self.accounts.range(files).map(|(&(_, file), &account)| (file, account))
    }

    /// What a list says about the kind it is of, beyond its objects.
    fn list(&mut self, list: &List<'_>, objects: u64, file: FileId, path: &str) {
        let unfinished = list.continued || list.broken;
        if objects > 0 && !unfinished {
            return;
        }
        let kind = match list.item_kind() {
            Some(name) => kind::of_spelling(name, list.api_version),
            // kubectl prints an empty answer as a `List` of nothing: the file's name is all there is.
            None if objects == 0 => kind::hinted(list.hint.unwrap_or(path)),
            None => None,
        };
        if let Some(kind) = kind {
            let account = self.account(kind, file);
            account.truncated |= unfinished;
            account.empty |= !unfinished;
        }
    }

    /// An object that breaks off is one that the dump does not hold.
    fn broken(&mut self, broken: &Break<'_>, file: FileId) {
        let own = broken.kind.filter(|kind| !kind.ends_with("List"));
        if let Some(kind) = own.and_then(|name| kind::of_spelling(name, broken.api_version)) {
            self.account(kind, file).truncated = true;
        }
    }

    /// The coverage of every kind, in the order of [`Kind::ALL`].
    pub(super) fn coverage(&self) -> Vec<Coverage> {
        let of = |&kind: &Kind| {
            let account = self.of_kind(kind).fold(Account::default(), |all, (_, one)| all.with(one));
            Coverage {
                kind,
                state: account.state(),
                objects: account.objects,
                rejected: account.rejected,
                doubtful: false,
            }
        };
        Kind::ALL.iter().map(of).collect()
    }

    /// What each file holds, by kind and in the order of the files.
    pub(super) fn held(&self) -> Vec<Held> {
        let held = |(&(kind, file), account): (&(Kind, FileId), &Account)| {
            let (state, objects, rejected) = (account.state(), account.objects, account.rejected);
            Held { kind, file, state, objects, rejected }
        };
        self.accounts.iter().map(held).filter(|it| it.state != CoverageState::Absent).collect()
    }
}

impl Account {
    fn with(self, other: Account) -> Account {
        Account {
            objects: self.objects + other.objects,
            rejected: self.rejected + other.rejected,
            empty: self.empty || other.empty,
            truncated: self.truncated || other.truncated,
        }
    }

    fn state(self) -> CoverageState {
        if self.truncated {
            CoverageState::Truncated
        } else if self.objects > 0 {
            CoverageState::Present
        } else if self.rejected > 0 {
            CoverageState::Rejected
        } else if self.empty {
            CoverageState::Empty
        } else {
            CoverageState::Absent
        }
    }
}

fn break_problem(broken: &Break<'_>, split: &Split<'_>, path: &str) -> Problem {
    let before = split.documents.iter().filter(|document| document.offset < broken.offset).count() as u64;
    let before = before + split.streamed;
    let what = if broken.at_end { "the file ends in the middle of" } else { "the text stops being JSON in" };
    let object = broken.kind.map_or_else(|| "a document".to_owned(), |kind| format!("a `{kind}`"));
    let used = match before {
        _ if split.bulk.is_some() => "the objects before it are used".to_owned(),
        0 => "nothing before it could be used".to_owned(),
        1 => "the one object before it is used".to_owned(),
        before => format!("the {before} objects before it are used"),
    };
    let mut problem = Problem::new(ProblemCode::BrokenJson, format!("{what} {object}: {used}"));
    problem.path = Some(path.to_owned());
    problem.offset = Some(broken.offset);
    problem
}

fn truncated(list: &List<'_>, objects: u64, path: &str) -> Problem {
    let kind = list.kind.unwrap_or("list");
    let rest = list.remaining.map_or_else(String::new, |count| format!(", {count} more objects"));
    let message = format!("the {kind} holds {objects} objects and says that it goes on{rest}");
    let mut problem = Problem::new(ProblemCode::TruncatedList, message);
    problem.path = Some(path.to_owned());
    problem.offset = Some(list.offset);
    problem
}
