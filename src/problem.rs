//! Trouble in the input, as data. A problem has a stable code, a place and a remedy; `report` prints it.

use std::collections::BTreeMap;
use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $severity:ident, $title:literal,
        changes: $changes:literal, remedy: $remedy:literal;)*) => {
        /// A stable problem code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemCode { $($(#[doc = $doc])+ $name),* }

        impl ProblemCode {
            /// Every code.
            pub const ALL: &'static [ProblemCode] = &[$(ProblemCode::$name),*];

            /// The code as users see it, such as `PA0101`.
            pub const fn text(self) -> &'static str {
                match self { $(ProblemCode::$name => $code),* }
            }

            /// One line that says what it is.
            pub const fn title(self) -> &'static str {
                match self { $(ProblemCode::$name => $title),* }
            }

            /// What it means, at length.
            pub const fn explanation(self) -> &'static str {
                match self { $(ProblemCode::$name => concat!($($doc, "\n"),+)),* }
            }

            /// What it changes for answers.
            pub const fn changes(self) -> &'static str {
                match self { $(ProblemCode::$name => $changes),* }
            }

            /// What to do, whatever the case; a [`Problem`]'s own help may know better.
            pub const fn remedy(self) -> &'static str {
                match self { $(ProblemCode::$name => $remedy),* }
            }

            /// How bad it is.
            pub const fn severity(self) -> Severity {
                match self { $(ProblemCode::$name => Severity::$severity),* }
            }
        }
    };
}

codes! {
    /// The file or folder cannot be opened or read. Nothing of it is used.
    Unreadable = "PA0101", Error, "cannot be read",
        changes: "kinds that only this file holds count as absent",
        remedy: "check that the path is right and that you may read it";
    /// The folder, or everything given, holds no Kubernetes object.
    NothingFound = "PA0102", Error, "no Kubernetes objects",
        changes: "there is no answer: without nodes and pods nothing can be asked",
        remedy: "give what `kubectl get nodes,pods,pdb,pc -A -o json` printed, or a folder of such files";
    /// The JSON text breaks off or is not JSON from some byte on. Objects before that byte are used.
    BrokenJson = "PA0103", Error, "broken JSON",
        changes: "the kind that breaks off counts as truncated, and answers that rest on it as undetermined",
        remedy: "take the dump again with `kubectl get … -o json`";
    /// An object has a field of a type that Kubernetes does not give it. The object is left out.
    DamagedObject = "PA0104", Error, "damaged object",
        changes: "the answer is that of a cluster without the object; where it is a node or a pod, every answer is \
                  undetermined, for every sum may be wrong",
        remedy: "print the object again with `kubectl get -o json`, or correct the field";
    /// A quantity is not one of Kubernetes' forms, such as `500m`, `2`, `1.5Gi` or `1e3`. The object is left out.
    BadQuantity = "PA0105", Error, "unparsable quantity",
        changes: "the same as for any damaged object (PA0104)",
        remedy: "write quantities as `500m`, `2`, `1.5Gi` or `1e3`";
    /// The same object stands in the input more than once. The one with the newest resourceVersion is used.
    Duplicate = "PA0106", Note, "duplicate object",
        changes: "nothing, where the files are of one moment; where they are not, some objects are newer than others",
        remedy: "nothing needs doing where files overlap; give each object once to choose the copy yourself";
    /// A list says itself that it goes on (`metadata.continue`): it was read in pages and not to the end.
    TruncatedList = "PA0107", Warning, "truncated list",
        changes: "the kind counts as truncated: objects that the list lacks may change any answer that rests on the kind",
        remedy: "read the list without `limit`, or all its pages";
    /// The YAML text breaks off, or is not YAML from some line on. Documents before and behind it are used.
    BrokenYaml = "PA0201", Error, "broken YAML",
        changes: "objects of the broken document are missing; which they were cannot be told",
        remedy: "write the dump again, best as JSON (`-o json`)";
    /// The archive is damaged, cut or encrypted. Members before the damage are used.
    BrokenArchive = "PA0202", Error, "broken archive",
        changes: "kinds whose files stood behind the damage count as absent",
        remedy: "make the archive again, or unpack it and give the folder";
    /// The archive holds more than is read: more than 8 GiB, than 200 times its size on disk (256 MiB are always
    /// read), than 2,000,000 members, or archives in more than 4 archives. What came before is used.
    ArchiveTooLarge = "PA0203", Error, "archive too large",
        changes: "kinds whose files were not reached count as absent",
        remedy: "if it is a dump and no trap, unpack it and give the folder";
    /// The file is known and holds no objects in a form that is read: a table for people, a database, a web page.
    ForeignFormat = "PA0204", Error, "not a dump",
        changes: "nothing of the file is used: the kinds that it was meant to hold count as absent",
        remedy: "give a file that `kubectl get -o json` (or `-o yaml`) wrote, or an archive of such files";
    /// The file holds nothing but white space. A command that failed leaves such files behind; it does not mean that
    /// the cluster has no objects of the kind.
    BlankFile = "PA0205", Note, "blank file",
        changes: "the kind counts as absent, not as empty",
        remedy: "run the command again that should have written it, or remove the file";
    /// The last line of a YAML file has no end. Every tool ends it, so the file may have been cut there, and what is
    /// missing leaves no other trace.
    PerhapsCut = "PA0206", Warning, "file perhaps cut",
        changes: "nothing if the file is whole; if it was cut, the answer is that of a cluster without the rest",
        remedy: "write it again if it was cut; if it is whole, end its last line";
    /// Objects of another group that share a kind or a resource name with Kubernetes' own, such as PodMetrics or
    /// Longhorn's Node, while the real ones are missing.
    LookAlike = "PA0207", Warning, "look-alikes",
        changes: "the kind counts as absent",
        remedy: "ask for the resource with its group, such as `kubectl get nodes.v1.`";
    /// The file holds a `Status` object: the API server refused to answer, and the refusal was saved as the answer.
    ErrorAnswer = "PA0208", Warning, "refusal saved as an answer",
        changes: "the kind that was asked for counts as absent, unless another file holds it",
        remedy: "mend what the message says and ask again";
    /// The file holds changes that were recorded after its objects. They are not applied.
    RecordedChanges = "PA0209", Warning, "recorded changes not applied",
        changes: "the answer is for the beginning of the recording",
        remedy: "replay the recording and take a dump at the moment that you mean";
    /// The manifest of the dump says that a kind could not be read.
    NotCaptured = "PA0210", Warning, "kind not captured",
        changes: "the kind counts as absent",
        remedy: "get the right to `list` the kind in all namespaces, or mend what else kubectl says, and take the dump again";
    /// Another program wrote to the file while it was read, so that its parts may be of different moments.
    ChangedWhileRead = "PA0211", Warning, "file changed while it was read",
        changes: "the answer may be that of a cluster that never was",
        remedy: "wait until the dump is complete and run again";
    /// Folders or files of the input show the same objects in different states: dumps of several moments. An answer is of
    /// one, the newest, unless `--at TIME` asks for the latest that is not after a time. What stands beside all of them is
    /// used with each.
    SeveralMoments = "PA0212", Warning, "several moments",
        changes: "objects of other moments are left out",
        remedy: "choose with --at TIME, or give the path of one";
    /// No moment of the input is the one that is asked for, or nothing tells which of them is newer.
    NoMoment = "PA0213", Error, "no such moment",
        changes: "there is no answer, for none would be of the moment that is meant",
        remedy: "give another time, or the path of the moment that you mean";
    /// Folders or files of the input are dumps of different clusters: their namespaces `kube-system` are not the same
    /// object, or each has nodes that stood when the other was taken and that the other does not show.
    SeveralClusters = "PA0214", Error, "several clusters",
        changes: "there is no answer, for objects of two clusters are none of one",
        remedy: "choose with --cluster NAME, or give the path of one";
    /// The input holds more objects than are read, 4,000,000, which is several times what the largest clusters hold. None
    /// is used, for an answer from a part would pass for one from the whole.
    TooManyObjects = "PA0215", Error, "too many objects",
        changes: "there is no answer: nothing of the input is used",
        remedy: "give one cluster at a time, and only the kinds that are read; events can be left out";
    /// Parts of the dump were taken at different times, so that they may not fit together.
    MixedAges = "PA0216", Warning, "parts of different ages",
        changes: "a pod that has gone since still takes room, and a node that has come since is empty",
        remedy: "take all kinds at one time, best with `preempt-audit capture`";
    /// The dump holds pods of some namespaces only: owners or budgets of others say that they have pods, or its layout or
    /// its nodes show it.
    PartialNamespaces = "PA0217", Warning, "pods of some namespaces only",
        changes: "nodes look emptier than they are and victims are missing: answers are undetermined",
        remedy: "add `kubectl get pods -A -o json`";
    /// A watch does not say when a change came: only times in the objects do. A change that left no time behind, between
    /// one before `--at` and one after it, is taken as if it came before.
    OpenChanges = "PA0218", Warning, "changes of unknown time",
        changes: "the answer may be that of a moment a little later",
        remedy: "ask for a moment when nothing moved";
    /// Objects that an API server has stored come without `.status`, as some backup scripts write them.
    StatusStripped = "PA0219", Warning, "status stripped",
        changes: "finished pods count as running, nodes may have nothing to give: answers are undetermined",
        remedy: "take the dump again and leave `.status` in";
    /// The dump holds pods and no nodes.
    NoNodes = "PA0220", Warning, "pods without nodes",
        changes: "which pods are pending and may preempt can be told, not where and whom",
        remedy: "add `kubectl get nodes -o json`";
    /// The dump holds nodes and no pods.
    NoPods = "PA0221", Warning, "nodes without pods",
        changes: "nothing can be told of any pod, not even that none is pending",
        remedy: "add `kubectl get pods -A -o json`";
    /// The scheduler would not start with this configuration, or the release does not read its version.
    RefusedConfig = "PA0301", Error, "scheduler configuration refused",
        changes: "there is no answer for that release",
        remedy: "correct the configuration, or name the release that reads it with --kube-version";
    /// The configuration has something that this program does not compute, such as a plugin of your own or an extender.
    UnmodelledConfig = "PA0302", Warning, "scheduler configuration not computed in full",
        changes: "answers are undetermined for the pods that it may decide about",
        remedy: "read the answer as that of the scheduler without it";
    /// A setting of --feature-gates that the scheduler would refuse.
    RefusedGate = "PA0303", Error, "feature gate refused",
        changes: "there is no answer for that release",
        remedy: "give the --feature-gates that the scheduler of that release was started with";
    /// A feature gate that is not known, or whose effect this program does not compute.
    UnmodelledGate = "PA0304", Warning, "feature gate not computed",
        changes: "the answer is that of the scheduler with the gate at its default; the assumptions name it",
        remedy: "check what the gate does, or leave it out";
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For information.
    Note,
    /// The answer may be affected.
    Warning,
    /// Something was lost.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// One problem. Texts may hold what a file said: whoever prints them escapes control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind of problem.
    pub code: ProblemCode,
    /// Lower case, no full stop: what was looked at and what is wrong with it.
    pub message: String,
    /// The file, as the user would name it.
    pub path: Option<String>,
    /// Byte in the file.
    pub offset: Option<u64>,
    /// Line in the file, from 1.
    pub line: Option<u64>,
    /// Column in the line, in bytes from 1.
    pub column: Option<u64>,
    /// The object, such as `Pod shop/web-0`.
    pub object: Option<String>,
    /// What to do; never absent of a problem made by [`Problem::new`].
    pub help: Option<String>,
    /// How many further problems of this code there were, which are not kept.
    pub more: u64,
}

impl Problem {
    /// A problem without a place, with the remedy that its code knows.
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Problem {
            code,
            message: message.into(),
            path: None,
            offset: None,
            line: None,
            column: None,
            object: None,
            help: Some(code.remedy().to_owned()),
            more: 0,
        }
    }
}

/// How many problems of one code are kept.
pub const KEPT: usize = 1000;

/// Problems as they are found: of each code the first [`KEPT`], and how many more there were.
#[derive(Debug, Default)]
pub struct Problems {
    kept: Vec<Problem>,
    of_code: BTreeMap<ProblemCode, Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    kept: usize,
    more: u64,
}

impl Problems {
    /// Keeps a problem, or counts it.
    pub fn push(&mut self, mut problem: Problem) {
        let (code, more) = (problem.code, std::mem::take(&mut problem.more));
        self.push_with(code, || problem);
        self.of_code.entry(code).or_default().more += more;
    }

    /// Keeps a problem that is only made if there is room for it, or counts it.
    pub fn push_with(&mut self, code: ProblemCode, make: impl FnOnce() -> Problem) {
        let tally = self.of_code.entry(code).or_default();
        if tally.kept < KEPT {
            tally.kept += 1;
            self.kept.push(make());
        } else {
            tally.more += 1;
        }
    }

    /// The problems, in the order they came. The last of each code says how many more there were.
    pub fn into_vec(self) -> Vec<Problem> {
        let Problems { mut kept, of_code } = self;
        for (code, tally) in of_code {
            if let Some(last) = kept.iter_mut().rfind(|it| it.code == code) {
                last.more = tally.more;
            }
        }
        kept
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|it| self.push(it));
    }
}

/// Keeps of each code the first [`KEPT`] problems, and how many more there were.
pub fn cap(problems: Vec<Problem>) -> Vec<Problem> {
    let mut capped = Problems::default();
    capped.extend(problems);
    capped.into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_says_what_it_means_what_it_changes_and_what_to_do() {
        for code in ProblemCode::ALL {
            for text in [code.explanation(), code.changes(), code.remedy()] {
                assert!(text.trim().len() > 20, "{}: {text}", code.text());
            }
            for line in [code.title(), code.changes(), code.remedy()] {
                assert!(!line.ends_with('.') && !line.contains('\n'), "{}: {line}", code.text());
            }
            assert!(code.explanation().trim().ends_with('.'), "{}", code.text());
            assert_eq!(Problem::new(*code, "x").help.as_deref(), Some(code.remedy()));
        }
    }

    #[test]
    fn a_million_problems_are_a_thousand_and_a_number() {
        let mut problems = Problems::default();
        for at in 0..1_000_000 {
            problems.push_with(ProblemCode::DamagedObject, || Problem::new(ProblemCode::DamagedObject, at.to_string()));
        }
        problems.push(Problem::new(ProblemCode::Duplicate, "x"));
        let kept = cap(problems.into_vec());
        assert_eq!(kept.len(), KEPT + 1);
        assert_eq!(kept.iter().map(|it| it.more).sum::<u64>(), 1_000_000 - KEPT as u64);
        assert_eq!(kept[KEPT - 1].message, "999");
    }
}
