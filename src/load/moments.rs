//! Several moments in one input: which there are, and which is asked for.
//!
//! An answer is of one moment. Without a wish it is the newest; with one, the latest that is not after it.

use super::Wanted;
use super::doubts::many;
use super::groups::{self, Group};
use super::manifest;
use super::streams::Shortened;
use super::survey::{self, Books, Survey};
use crate::model::cluster::Kind;
use crate::model::id::FileId;
use crate::model::time::Time;
use crate::problem::{Problem, ProblemCode};
use crate::source::split::Split;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A moment of which the input holds a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Folders and files, as the user would name them.
    pub paths: Vec<String>,
    /// When it was: what a manifest or a name says, else the newest time that any of its objects carries.
    pub time: Option<Time>,
    /// Nodes and pods that it shows.
    pub objects: (u64, u64),
    /// The answer is of this moment.
    pub used: bool,
}

/// Which files are read.
#[derive(Default)]
pub(super) struct Choice {
    /// All moments, oldest first; a single one is not told.
    pub(super) moments: Vec<Moment>,
    /// Files that are left out, since they are of other moments.
    pub(super) left_out: BTreeSet<usize>,
    /// What is to be said of it.
    pub(super) problem: Option<Problem>,
    /// The input cannot be answered from.
    pub(super) refused: bool,
    /// The moment is the wish's own, not that of the newest object.
    pub(super) as_of: Option<Time>,
    /// Kinds that are taken from streams alone, since the lists of them are of a later moment.
    pub(super) streamed: BTreeSet<Kind>,
}

/// A group with its place in time.
struct Placed {
    group: Group,
    /// A manifest or the name says it.
    said: bool,
    time: Option<Time>,
    version: Option<u64>,
    objects: (u64, u64),
}

/// Looks for moments and chooses one.
pub(super) fn choose(survey: Survey<'_>, splits: &[Split<'_>], cuts: &[Shortened], wanted: &Wanted) -> Choice {
    if wanted.at.is_none() && !survey::may_repeat(survey) {
        return Choice::default();
    }
    let books = Books::keep(survey, splits);
    let paths = survey.files.files.iter().map(|it| it.path.as_str());
    let mut found: Vec<Group> = groups::groups(&books, paths);
    let several = !found.is_empty();
    if !several && wanted.at.is_some() {
        let states = (0..books.sheets.len()).filter(|&file| !books.sheets[file].objects.is_empty());
        found.extend(Group::whole(states.collect()));
    }
    let mut placed: Vec<Placed> = found.into_iter().map(|group| place(group, &books, survey)).collect();
    let ordered = sort(&mut placed);
    let mut choice = match wanted.at {
        None if !several => return Choice::default(),
        None if !ordered => {
            refuse(&placed, "cannot be told apart in time: nothing says which is newer", "give the path of one")
        }
        None => newest(&placed),
        Some(at) => at_time(&placed, cuts, at, ordered),
    };
    if several {
        choice.moments = placed.iter().map(|it| it.moment(false)).collect();
    }
    if let Some(used) = placed.iter().position(|it| !choice.refused && it.is_used(&choice.left_out))
        && several
    {
        choice.moments[used].used = true;
    }
    choice
}

impl Placed {
    fn moment(&self, used: bool) -> Moment {
        Moment { paths: self.group.paths.clone(), time: self.time, objects: self.objects, used }
    }

    fn is_used(&self, left_out: &BTreeSet<usize>) -> bool {
        self.group.files.iter().any(|file| !left_out.contains(file))
    }

    fn title(&self) -> String {
        let paths = match self.group.paths.as_slice() {
            [] => "the input".to_owned(),
            [one] => one.clone(),
            [first, second] => format!("{first}, {second}"),
            [first, more @ ..] => format!("{first} and {} more", more.len()),
        };
        match self.time {
            Some(time) => format!("{} {paths}", text_of(time)),
            None => paths,
        }
    }

    fn line(&self) -> String {
        let (nodes, pods) = self.objects;
        format!("{} ({}, {})", self.title(), many(nodes, "node"), many(pods, "pod"))
    }
}

/// A time as problems write it; whole seconds where it is one.
pub(super) fn text_of(time: Time) -> String {
    let text = jiff::Timestamp::from_nanosecond(i128::from(time.0)).map(|it| it.to_string());
    text.unwrap_or_else(|_out_of_range| format!("{} ns", time.0))
}

fn place(group: Group, books: &Books, survey: Survey<'_>) -> Placed {
    let sheets = || group.files.iter().map(|&file| &books.sheets[file]);
    let newest = sheets().filter_map(|it| it.newest).max();
    let version = sheets().filter_map(|it| it.version).max();
    let mut objects: Vec<u32> = sheets().flat_map(|it| it.objects.iter().copied()).collect();
    objects.sort_unstable();
    objects.dedup();
    let of = |kind: Kind| objects.iter().filter(|&&it| books.kinds[books.scopes[it as usize] as usize] == kind).count();
    let counted = (of(Kind::Node) as u64, of(Kind::Pod) as u64);
    let manifests = survey.harvests.iter().flat_map(|it| &it.manifests);
    let own = |file: &FileId| group.files.contains(&file.index()) || shares_folder(survey, *file, &group);
    let captured = manifests.filter(|(file, _)| own(file)).filter_map(|it| manifest::time(&it.1)).max();
    let stamp = group.stamp.filter(|stamp| stamp.zoned || newest.is_none_or(|newest| is_plausible(stamp.time, newest)));
    let said = captured.or(stamp.map(|it| it.time));
    Placed { said: said.is_some() || group.stamp.is_some(), time: said.or(newest), version, objects: counted, group }
}

/// Whether a manifest lies beside files of the group.
fn shares_folder(survey: Survey<'_>, file: FileId, group: &Group) -> bool {
    let folder = |path: &str| path.rfind(super::folders::is_border).map(|at| path[..at].to_owned());
    let own = folder(&survey.files.file(file).path);
    group.files.iter().all(|&it| folder(&survey.files.files[it].path) == own)
}

/// Whether a name that tells no zone may be in UTC: a node writes into its object every five minutes at least.
fn is_plausible(said: Time, newest: Time) -> bool {
    (newest.0.saturating_sub(60_000_000_000)..newest.0.saturating_add(900_000_000_000)).contains(&said.0)
}

/// Sorts moments, oldest first; `false` where they cannot be ordered.
fn sort(placed: &mut [Placed]) -> bool {
    let said = placed.iter().all(|it| it.said);
    let versions = placed.iter().all(|it| it.version.is_some());
    let key = |it: &Placed| match (said, versions) {
        // All names are in one zone, whichever it is.
        (true, _) => (it.group.stamp.map(|stamp| stamp.time).or(it.time), it.version),
        (false, true) => (None, it.version),
        (false, false) => (it.time, it.version),
    };
    placed.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.group.paths.cmp(&b.group.paths)));
    placed.windows(2).all(|pair| key(&pair[0]).cmp(&key(&pair[1])) == Ordering::Less && key(&pair[0]) != (None, None))
}

fn listed(placed: &[Placed]) -> String {
    const SHOWN: usize = 12;
    let mut lines: Vec<String> = placed.iter().rev().take(SHOWN).map(Placed::line).collect();
    if placed.len() > SHOWN {
        lines.push(format!("… and {} older ones", placed.len() - SHOWN));
    }
    lines.join("\n")
}

fn refuse(placed: &[Placed], why: &str, remedy: &str) -> Choice {
    let message = match placed {
        [_] => format!("the dump {why}"),
        _ => format!("the input holds dumps of {} moments, which {why}", placed.len()),
    };
    let mut problem = Problem::new(ProblemCode::NoMoment, message);
    problem.help = Some(format!("{remedy}:\n{}", listed(placed)));
    Choice { problem: Some(problem), refused: true, ..Choice::default() }
}

/// Keeps one moment of several.
fn only(placed: &[Placed], used: usize) -> BTreeSet<usize> {
    let kept: BTreeSet<usize> = placed[used].group.files.iter().copied().collect();
    let all = placed.iter().flat_map(|it| it.group.files.iter().copied());
    all.filter(|file| !kept.contains(file)).collect()
}

fn newest(placed: &[Placed]) -> Choice {
    let used = placed.len() - 1;
    let message =
        format!("the input holds dumps of {} moments; the newest is used: {}", placed.len(), placed[used].title());
    let mut problem = Problem::new(ProblemCode::SeveralMoments, message);
    problem.help = Some(format!("choose another with --at TIME, or give its path:\n{}", listed(placed)));
    Choice { problem: Some(problem), left_out: only(placed, used), ..Choice::default() }
}

fn at_time(placed: &[Placed], cuts: &[Shortened], at: Time, ordered: bool) -> Choice {
    let not_after = |it: &Placed| it.time.is_some_and(|time| time <= at);
    let tells = |cut: &&Shortened| cut.begins_later.is_none();
    let streamed: BTreeSet<Kind> = cuts
        .iter()
        .filter(tells)
        .flat_map(|cut| &cut.kinds)
        .filter_map(|name| Kind::ALL.iter().copied().find(|kind| kind.name() == *name))
        .collect();
    if placed.len() > 1 && !ordered {
        return refuse(placed, "cannot be told apart in time: nothing says which is newer", "give the path of one");
    }
    if let Some(used) = placed.iter().rposition(not_after) {
        let as_of = if streamed.is_empty() { None } else { Some(at) };
        let problem = within_a_second(placed, used, at);
        return Choice { left_out: only(placed, used), as_of, problem, ..Choice::default() };
    }
    if !streamed.is_empty() {
        // The stream tells the moment; what it does not tell is taken from as near as there is.
        let left_out = if placed.is_empty() { BTreeSet::new() } else { only(placed, 0) };
        let problem = placed.first().map(|first| later(first, &streamed, at));
        return Choice { left_out, as_of: Some(at), streamed, problem, ..Choice::default() };
    }
    let begins = cuts.iter().filter_map(|cut| cut.begins_later).min();
    if placed.is_empty() && begins.is_none() {
        let mut problem = Problem::new(ProblemCode::NoMoment, "nothing in the input says of which time it is");
        problem.help = Some("leave --at out".to_owned());
        return Choice { problem: Some(problem), refused: true, ..Choice::default() };
    }
    let mut choice = refuse(
        placed,
        &format!("{} later than {}", if placed.len() == 1 { "is" } else { "are all" }, text_of(at)),
        "give a later time",
    );
    if let (Some(begins), Some(problem)) = (begins, &mut choice.problem) {
        let help = problem.help.take().unwrap_or_default();
        problem.help = Some(format!("{help}\n{} the recorded changes begin", text_of(begins)));
    }
    choice
}

/// What a stream does not tell is of a later time than the stream.
fn later(first: &Placed, streamed: &BTreeSet<Kind>, at: Time) -> Problem {
    let kinds: Vec<&str> = streamed.iter().map(|it| it.name()).collect();
    let message = format!(
        "only {} objects are of {}: all others are of a later time, {}",
        kinds.join(", "),
        text_of(at),
        first.title()
    );
    let mut problem = Problem::new(ProblemCode::MixedAges, message);
    problem.help = Some("an object that changed in between is not as it was: best, give a dump from before".to_owned());
    problem
}

/// Objects carry whole seconds: a moment in the second that is asked for may be a little later than asked.
fn within_a_second(placed: &[Placed], used: usize, at: Time) -> Option<Problem> {
    let moment = &placed[used];
    let doubtful = !moment.said && moment.time.is_some_and(|time| time.0.saturating_add(1_000_000_000) > at.0);
    if used == 0 || !doubtful {
        return None;
    }
    let message = format!(
        "{} is used, but objects tell whole seconds only: it may be a little later than {}",
        moment.title(),
        text_of(at)
    );
    let mut problem = Problem::new(ProblemCode::SeveralMoments, message);
    problem.help = Some(format!("to be sure, give the path of one:\n{}", listed(placed)));
    Some(problem)
}
