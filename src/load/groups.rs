//! Which files are of one moment.
//!
//! A dump is spread over files and folders in many ways, and several dumps may lie beside each other. Two parts of a
//! folder are of different moments if both show the same objects and not in the same state, unless they are parts that one
//! tool writes within seconds. What shows no object that others show goes with every moment.

use super::folders::{Tree, is_border};
use super::kind;
use super::stamps::{Stamp, stamp_of};
use super::survey::{Books, Copy};
use crate::model::cluster::Kind;
use crate::model::time::Time;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of one dump are written within so many seconds; objects may carry no newer time for longer.
const TOGETHER: u64 = 300;
/// Files that say times in their names belong together within so many seconds.
const ONE_RUN: u64 = 60;
/// Of an object with more copies than this only neighbours are compared.
const COMPARED: usize = 8;

/// Files of one moment.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Folders and files, as the user would name them.
    pub(super) paths: Vec<String>,
    pub(super) files: Vec<usize>,
    /// The time that the name says.
    pub(super) stamp: Option<Stamp>,
    form: Form,
    /// Another group is known to be of another moment.
    settled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One file.
    File,
    /// The files of a folder, or of folders.
    Folder,
    /// A folder that is named for what it holds, not for when.
    Structure,
}

/// What a folder holds: groups, at least two if there are any, and files that go with each of them.
#[derive(Clone, Debug, Default)]
struct Level {
    groups: Vec<Group>,
    shared: Vec<usize>,
}

/// The groups of all files; none where everything is of one moment.
pub(super) fn groups<'p>(books: &Books, paths: impl Iterator<Item = &'p str>) -> Vec<Group> {
    let tree = Tree::of(paths);
    let meetings = Meetings::of(books, &tree);
    let mut levels: Vec<Level> = vec![Level::default(); tree.folders.len()];
    for at in (0..tree.folders.len()).rev() {
        levels[at] = level(at, &tree, books, &meetings, &mut levels);
    }
    std::mem::take(&mut levels[0].groups)
}

/// Pairs of files that show the same object, by the innermost folder that holds both.
struct Meetings(BTreeMap<usize, Vec<(usize, usize)>>);

impl Meetings {
    fn of(books: &Books, tree: &Tree<'_>) -> Self {
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        for copies in books.copies.iter().filter(|copies| copies.len() > 1) {
            let reach = if copies.len() > COMPARED { 1 } else { COMPARED };
            for (at, a) in copies.iter().enumerate() {
                pairs.extend(copies[at + 1..].iter().take(reach).map(|b| (a.file, b.file)));
            }
        }
        let mut meetings = Meetings(BTreeMap::new());
        for (a, b) in pairs {
            meetings.0.entry(tree.common(a, b)).or_default().push((a, b));
        }
        meetings
    }
}

fn level(at: usize, tree: &Tree<'_>, books: &Books, meetings: &Meetings, levels: &mut [Level]) -> Level {
    let folder = &tree.folders[at];
    let nothing = Vec::new();
    let pairs = meetings.0.get(&at).unwrap_or(&nothing);
    let is_state = |file: &&usize| !books.sheets[**file].objects.is_empty();
    let files = folder.files.iter().filter(is_state).map(|&file| Group {
        paths: vec![tree.file_path(file).to_owned()],
        files: vec![file],
        stamp: stamp_below(folder.path, tree.file_path(file)),
        form: Form::File,
        settled: false,
    });
    let mut here = separate(files.collect(), books, pairs);
    let mut all = Vec::new();
    if here.groups.is_empty() && !here.shared.is_empty() {
        let paths = vec![if folder.path.is_empty() { ".".to_owned() } else { folder.path.to_owned() }];
        all.push(Group {
            paths,
            files: std::mem::take(&mut here.shared),
            stamp: None,
            form: Form::Folder,
            settled: false,
        });
    }
    all.append(&mut here.groups);
    for &child in &folder.folders {
        let Level { groups, shared } = std::mem::take(&mut levels[child]);
        let inner = &tree.folders[child];
        if groups.is_empty() && !shared.is_empty() {
            let form = if is_structure(inner.name()) { Form::Structure } else { Form::Folder };
            let stamp = stamp_below(folder.path, inner.path);
            all.push(Group { paths: vec![inner.path.to_owned()], files: shared, stamp, form, settled: false });
        } else {
            here.shared.extend(shared);
            let named =
                |group: Group| Group { stamp: group.stamp.or_else(|| below(folder.path, &group.paths)), ..group };
            all.extend(groups.into_iter().map(named));
        }
    }
    let mut level = separate(all, books, pairs);
    level.shared.append(&mut here.shared);
    level
}

fn below(folder: &str, paths: &[String]) -> Option<Stamp> {
    stamp_below(folder, paths.first()?)
}

/// The time that the part of a path below a folder says.
fn stamp_below(folder: &str, path: &str) -> Option<Stamp> {
    stamp_of(path.strip_prefix(folder).unwrap_or(path).trim_start_matches(is_border))
}

/// Names that say what a folder holds: kinds, API groups, and what tools call their parts.
fn is_structure(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let part = matches!(
        lower.as_str(),
        "core"
            | "apps"
            | "batch"
            | "policy"
            | "v1"
            | "cluster"
            | "clusters"
            | "cluster-info"
            | "cluster-dump"
            | "cluster-resources"
            | "cluster-scoped-resources"
            | "custom-resources"
            | "namespaces"
            | "namespaced"
            | "namespace-scoped-resources"
            | "ns"
            | "resources"
            | "yamls"
            | "v1-preferredversion"
            | "json"
            | "yaml"
    );
    part || kind::of_plural(name).is_some() || lower.contains("sha256") || lower.contains(".k8s.io")
}

/// What two groups are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// Parts of one dump, or nothing in common.
    Parts,
    /// Copies.
    Same,
    /// Of different moments.
    Apart,
}

/// Finds groups of different moments among parts that lie beside each other.
fn separate(parts: Vec<Group>, books: &Books, pairs: &[(usize, usize)]) -> Level {
    let mut member: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, part) in parts.iter().enumerate() {
        member.extend(part.files.iter().map(|&file| (file, at)));
    }
    let of_pair = |&(a, b): &(usize, usize)| Some((*member.get(&a)?, *member.get(&b)?));
    let mut edges: BTreeSet<(usize, usize)> =
        pairs.iter().filter_map(of_pair).filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
    edges.extend(runs(&parts));
    let mut views: FxHashMap<usize, View> = FxHashMap::default();
    let mut sets = Sets::new(parts.len());
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (a, b) in edges {
        for at in [a, b] {
            views.entry(at).or_insert_with(|| View::of(&parts[at], books));
        }
        match relation((&parts[a], &views[&a]), (&parts[b], &views[&b]), books) {
            Relation::Parts => {}
            Relation::Same => sets.join(a, b),
            Relation::Apart => apart.push((a, b)),
        }
    }
    let mut apart: BTreeSet<usize> = apart.into_iter().flat_map(|(a, b)| [sets.find(a), sets.find(b)]).collect();
    apart.extend((0..parts.len()).filter(|&at| parts[at].settled).map(|at| sets.find(at)));
    let mut level = Level::default();
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (at, part) in parts.into_iter().enumerate() {
        let set = sets.find(at);
        if !apart.contains(&set) {
            level.shared.extend(part.files);
        } else if let Some(group) = groups.get_mut(&set) {
            group.add(part);
        } else {
            groups.insert(set, part);
        }
    }
    level.groups = join_runs(groups.into_values().collect(), books);
    if level.groups.len() < 2 {
        level.shared.extend(level.groups.drain(..).flat_map(|it| it.files));
    }
    level.groups.iter_mut().for_each(|it| it.settled = true);
    level.shared.sort_unstable();
    level
}

/// Neighbours in time among the parts whose names say when: they may be of different moments though nothing in the first
/// is left in the second.
fn runs(parts: &[Group]) -> Vec<(usize, usize)> {
    let mut stamped: Vec<(Time, usize)> =
        parts.iter().enumerate().filter_map(|(at, it)| Some((it.stamp?.time, at))).collect();
    stamped.sort_unstable();
    let near = |at: usize| stamped[at + 1..].iter().take(COMPARED).map(move |it| (at, it.1));
    let pairs = (0..stamped.len()).flat_map(near).map(|(at, b)| (stamped[at].1, b));
    pairs.map(|(a, b)| (a.min(b), a.max(b))).collect()
}

/// Puts parts together that the times in their names put together, such as `nodes-19-14-28.json` and
/// `pods-19-14-30.json`: what shows no object of the other, close in time.
fn join_runs(mut groups: Vec<Group>, books: &Books) -> Vec<Group> {
    groups.sort_by_key(|it| it.stamp.map(|stamp| stamp.time));
    let mut joined: Vec<Group> = Vec::new();
    for group in groups {
        let of_one_run = |last: &&mut Group| {
            let close = last
                .stamp
                .zip(group.stamp)
                .is_some_and(|(a, b)| a.time.0.abs_diff(b.time.0) <= ONE_RUN * 1_000_000_000);
            close && {
                let objects = View::of(last, books).objects;
                let mut others = group.files.iter().flat_map(|&file| &books.sheets[file].objects);
                let kinds = |group: &Group| group.files.iter().fold(0, |all, &file| all | books.sheets[file].kinds);
                kinds(last) & kinds(&group) == 0
                    || (last.stamp == group.stamp && !others.any(|it| objects.contains_key(it)))
            }
        };
        match joined.last_mut().filter(of_one_run) {
            Some(last) => last.add(group),
            None => joined.push(group),
        }
    }
    joined
}

impl Group {
    /// Everything, as one group.
    pub(super) fn whole(files: Vec<usize>) -> Option<Self> {
        (!files.is_empty()).then(|| Group { paths: Vec::new(), files, stamp: None, form: Form::Folder, settled: false })
    }

    fn add(&mut self, other: Group) {
        self.paths.extend(other.paths);
        self.files.extend(other.files);
        self.stamp = self.stamp.or(other.stamp);
        self.form = Form::Folder;
    }
}

/// Sets of parts.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Sets((0..count).collect())
    }

    fn find(&self, mut at: usize) -> usize {
        while self.0[at] != at {
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// The objects of a group.
struct View {
    objects: BTreeMap<u32, Copy>,
    scopes: BTreeMap<u32, u64>,
    kinds: u32,
    lists: bool,
}

impl View {
    fn of(group: &Group, books: &Books) -> Self {
        let mut view = View { objects: BTreeMap::new(), scopes: BTreeMap::new(), kinds: 0, lists: false };
        for &file in &group.files {
            let sheet = &books.sheets[file];
            view.kinds |= sheet.kinds;
            view.lists |= sheet.lists;
            for &object in &sheet.objects {
                let Ok(at) = books.copies[object as usize].binary_search_by_key(&file, |it| it.file) else { continue };
                let copy = books.copies[object as usize][at];
                let known = view.objects.entry(object).or_insert(copy);
                if known.version < copy.version {
                    *known = copy;
                }
            }
        }
        for object in view.objects.keys() {
            *view.scopes.entry(books.scopes[*object as usize]).or_default() += 1;
        }
        view
    }

    fn holds(&self, kind: Kind) -> bool {
        self.kinds & (1 << (kind as u32 & 31)) != 0
    }

    /// Whether it looks like a dump by itself.
    fn is_dump(&self) -> bool {
        self.holds(Kind::Pod) && (self.lists || self.holds(Kind::Node))
    }
}

fn relation((a, a_view): (&Group, &View), (b, b_view): (&Group, &View), books: &Books) -> Relation {
    let other_time = a.stamp.zip(b.stamp).is_some_and(|(a, b)| a.time != b.time);
    let common = |view: &View, other: &View| -> u64 {
        view.scopes.iter().filter(|(scope, _)| other.scopes.contains_key(scope)).map(|it| it.1).sum()
    };
    let (mut shared, mut changed) = (0, 0);
    for (object, copy) in &a_view.objects {
        if let Some(other) = b_view.objects.get(object) {
            shared += 1;
            changed += u64::from(!copy.is_same(other));
        }
    }
    if shared == 0 {
        let one_scope = a_view
            .scopes
            .keys()
            .any(|it| matches!(books.kinds[*it as usize], Kind::Pod | Kind::Node) && b_view.scopes.contains_key(it));
        let both = a_view.is_dump() && b_view.is_dump() && one_scope;
        return if other_time && both { Relation::Apart } else { Relation::Parts };
    }
    if other_time {
        return Relation::Apart;
    }
    let (more_a, more_b) = (common(a_view, b_view) - shared, common(b_view, a_view) - shared);
    // A part of a list is no other moment; a list that lacks a few may be.
    let lacks_some = |more: u64| more > 0 && shared >= 2 && more <= shared;
    let differs = changed > 0 || (more_a > 0 && more_b > 0) || lacks_some(more_a) || lacks_some(more_b);
    if !differs {
        return Relation::Same;
    }
    // Of what both show: what only one of them shows may be older or newer by nature.
    let newest = |view: &View, other: &View| {
        let common = view.objects.iter().filter(|it| other.scopes.contains_key(&books.scopes[*it.0 as usize]));
        common.filter_map(|it| it.1.newest).max()
    };
    let together = newest(a_view, b_view)
        .zip(newest(b_view, a_view))
        .is_none_or(|(a, b)| a.0.abs_diff(b.0) <= TOGETHER * 1_000_000_000);
    let complement = a_view.kinds & !b_view.kinds != 0 && b_view.kinds & !a_view.kinds != 0;
    let parts = match (a.form, b.form) {
        (Form::Structure, _) | (_, Form::Structure) => true,
        // Objects one by one are no list that was taken twice.
        (Form::File, Form::File) => {
            together && !(a_view.lists && b_view.lists && names_tell_order(&a.paths[0], &b.paths[0]))
        }
        _ => together && complement,
    };
    if parts { Relation::Parts } else { Relation::Apart }
}

/// Whether two names differ by a number or by a word that says when.
fn names_tell_order(a: &str, b: &str) -> bool {
    const WORDS: &[&str] = &[
        "before", "during", "after", "old", "new", "prev", "previous", "current", "start", "end", "then", "now", "pre",
        "post", "first", "last", "initial", "final", "bak", "backup",
    ];
    let tokens = |path: &str| -> Vec<String> {
        let name = path.rsplit(is_border).next().unwrap_or(path).to_ascii_lowercase();
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (tokens(a), tokens(b));
    let is_number = |it: &&String| it.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |it: &&String| WORDS.contains(&it.as_str());
    let words = |tokens: &[String]| tokens.iter().filter(is_word).cloned().collect::<Vec<_>>();
    let rest = |tokens: &[String]| tokens.iter().filter(|it| !is_number(it)).cloned().collect::<Vec<_>>();
    words(&a) != words(&b) || (a != b && rest(&a) == rest(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_tell_an_order() {
        assert!(names_tell_order("d/pods-1.json", "d/pods-2.json"));
        assert!(names_tell_order("d/pods.json", "d/pods (1).json"));
        assert!(names_tell_order("d/before.json", "d/after.json"));
        assert!(names_tell_order("d/pods.json", "d/pods.json.bak"));
        assert!(!names_tell_order("d/all.json", "d/pods.json"));
        assert!(!names_tell_order("d/all.json", "d/all.yaml"));
    }

    #[test]
    fn folders_named_for_what_they_hold_are_no_moments() {
        for name in ["core", "pods", "v1-preferredversion", "quay-io-x-sha256-0a1b", "cluster-info", "policy.k8s.io"] {
            assert!(is_structure(name), "{name}");
        }
        assert!(!is_structure("before") && !is_structure("20261129T191428Z"));
    }
}
