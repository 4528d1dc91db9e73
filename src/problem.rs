//! Trouble in the input, as data. A problem has a stable code, a place and a remedy; `report` prints it.

use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $severity:ident, $title:literal;)*) => {
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

            /// The longer explanation that `explain-code` prints.
            pub const fn explanation(self) -> &'static str {
                match self { $(ProblemCode::$name => concat!($($doc, "\n"),+)),* }
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
    Unreadable = "PA0101", Error, "cannot be read";
    /// The folder, or everything given, holds no Kubernetes object.
    NothingFound = "PA0102", Error, "no Kubernetes objects";
    /// The JSON text breaks off or is not JSON from some byte on. Objects before that byte are used.
    BrokenJson = "PA0103", Error, "broken JSON";
    /// An object has a field of a type that Kubernetes does not give it. The object is left out, and the answer says so.
    DamagedObject = "PA0104", Error, "damaged object";
    /// A quantity is not one of Kubernetes' forms, such as `500m`, `2`, `1.5Gi` or `1e3`.
    BadQuantity = "PA0105", Error, "unparsable quantity";
    /// The same object stands in the input more than once. The one with the newest resourceVersion is used.
    Duplicate = "PA0106", Note, "duplicate object";
    /// A list says itself that it goes on (`metadata.continue`): it was read in pages and not to the end.
    TruncatedList = "PA0107", Warning, "truncated list";
    /// The YAML text breaks off, or is not YAML from some line on. Documents before and behind it are used.
    BrokenYaml = "PA0201", Error, "broken YAML";
    /// The archive is damaged, cut or encrypted. Members before the damage are used.
    BrokenArchive = "PA0202", Error, "broken archive";
    /// The archive holds more than is read: more than 16 GiB, than 500 times its size on disk (256 MiB are always
    /// read), than 2,000,000 members, or archives in more than 4 archives. What came before is used.
    ArchiveTooLarge = "PA0203", Error, "archive too large";
    /// The file is known and holds no objects in a form that is read: a table for people, a database, a web page.
    ForeignFormat = "PA0204", Error, "not a dump";
    /// The file holds nothing but white space. A command that failed leaves such files behind; it does not mean that
    /// the cluster has no objects of the kind.
    BlankFile = "PA0205", Note, "blank file";
    /// The last line of a YAML file has no end. Every tool ends it, so the file may have been cut there, and what is
    /// missing leaves no other trace.
    PerhapsCut = "PA0206", Warning, "file perhaps cut";
    /// Objects of another group that share a kind or a resource name with Kubernetes' own, such as PodMetrics or
    /// Longhorn's Node, while the real ones are missing.
    LookAlike = "PA0207", Warning, "look-alikes";
    /// The file holds a `Status` object: the API server refused to answer, and the refusal was saved as the answer.
    ErrorAnswer = "PA0208", Warning, "refusal saved as an answer";
    /// The file holds changes that were recorded after its objects. They are not applied.
    RecordedChanges = "PA0209", Warning, "recorded changes not applied";
    /// The manifest of the dump says that a kind could not be read.
    NotCaptured = "PA0210", Warning, "kind not captured";
    /// Another program wrote to the file while it was read, so that its parts may be of different moments.
    ChangedWhileRead = "PA0211", Warning, "file changed while it was read";
    /// The scheduler would not start with this configuration, or the release does not read its version.
    RefusedConfig = "PA0301", Error, "scheduler configuration refused";
    /// The configuration has something that this program does not compute, such as a plugin of your own or an extender.
    UnmodelledConfig = "PA0302", Warning, "scheduler configuration not computed in full";
    /// A setting of --feature-gates that the scheduler would refuse.
    RefusedGate = "PA0303", Error, "feature gate refused";
    /// A feature gate that is not known, or whose effect this program does not compute.
    UnmodelledGate = "PA0304", Warning, "feature gate not computed";
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
    /// What to do.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without a place.
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Problem {
            code,
            message: message.into(),
            path: None,
            offset: None,
            line: None,
            column: None,
            object: None,
            help: None,
        }
    }
}
