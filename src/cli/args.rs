//! What may be written on the command line.

use super::shard::ShardArg;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// What kube-scheduler's preemption did or would do, answered offline from what `kubectl get -o json` printed.
#[derive(Debug, Parser)]
#[command(
    name = "preempt-audit",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    infer_subcommands = true,
    after_help = "Exit status: 0 answered; 1 findings (--fail-on); 2 wrong usage, nothing readable, or a pod that is not there; \
                  3 inconclusive (--strict)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Explain what the scheduler does about pending pods: the node, the victims, and why
    Explain(Box<Explain>),
    /// Tell what a dump holds and what it lacks, what that could change, and how to get it
    Inspect(Inspect),
    /// Take a dump: run kubectl for exactly the kinds that are read, and nothing else
    Capture(Capture),
    /// List what differs between releases of the scheduler
    Versions(Versions),
    /// Explain a problem code, such as PA0107
    ExplainCode {
        /// The code; without one, all are listed
        #[arg(value_name = "CODE")]
        code: Option<String>,
    },
    /// Print the JSON Schema of a report
    Schema {
        /// The report
        #[arg(value_enum)]
        report: ReportKind,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// `inspect`.
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// A pod, in any form that `explain` knows: what the dump lacks for its answer; may be given more than once
    #[arg(long = "pod", short, value_name = "POD")]
    pub(crate) pods: Vec<String>,

    /// Namespace of pods that are given without one
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    #[command(flatten)]
    pub(crate) scheduler: SchedulerArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Exit 3 where something that the dump lacks could change the answer for a pending pod, or for the pods given
    #[arg(long, help_heading = "Exit status")]
    pub(crate) strict: bool,
}

/// `capture`.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    /// The folder to write; it must not hold anything yet
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: PathBuf,

    /// kubectl's context [default: the current one]
    #[arg(long, value_name = "CONTEXT", help_heading = "kubectl")]
    pub(crate) context: Option<OsString>,

    /// kubectl's configuration file
    #[arg(long, value_name = "FILE", help_heading = "kubectl")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The program that talks to the cluster
    #[arg(long, value_name = "PROGRAM", default_value = "kubectl", help_heading = "kubectl")]
    pub(crate) kubectl: OsString,

    /// How many objects the API server sends at a time
    #[arg(long, value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "kubectl")]
    pub(crate) chunk_size: u32,

    /// How long one answer of the API server may take, such as `2m`; `0` for as long as it needs
    #[arg(long, value_name = "TIME", help_heading = "kubectl")]
    pub(crate) request_timeout: Option<OsString>,
}

/// A kind of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportKind {
    /// What `explain -o json` prints
    Explain,
    /// What `explain --compare … -o json` prints
    Compare,
    /// What `inspect -o json` prints
    Inspect,
    /// What `versions -o json` prints
    Versions,
    /// A line of `explain -o ndjson`
    PodLine,
    /// A line of `explain --problems`
    ProblemLine,
}

/// Which files, and how to read them.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// Files and folders that kubectl wrote; `-` is standard input. Without any: standard input if something is piped
    /// into it, else $PREEMPT_AUDIT_DUMP, else the current folder
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Time of the dump, RFC 3339 [default: the newest time that any object carries]
    #[arg(long, value_name = "TIME", help_heading = "Input")]
    pub(crate) as_of: Option<String>,

    /// Of dumps of several clusters beside each other, the one in the folder, archive or file of this name
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(crate) cluster: Option<String>,

    /// Answer for this time, RFC 3339: the latest dump of the input that is not after it, and watch streams up to it
    /// [default: the newest dump, and streams to their end]
    #[arg(long, value_name = "TIME", help_heading = "Input")]
    pub(crate) at: Option<String>,

    /// Keep what was loaded in FILE, and load it from there as long as the dump is the same: the next question is answered
    /// many times faster. The file is a cache for this release of the program; it is made where it is not there
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) index: Option<PathBuf>,

    /// Give the SHA-256 of files larger than 64 MB as well (in JSON)
    #[arg(long, help_heading = "Input")]
    pub(crate) digest: bool,
}

/// Which scheduler.
#[derive(Args, Debug)]
pub(crate) struct SchedulerArgs {
    /// Release of kube-scheduler: `1.34`, `1.34.1`, or `auto` for what the dump says
    #[arg(long, value_name = "RELEASE", default_value = "auto", help_heading = "Scheduler")]
    pub(crate) kube_version: String,

    /// The scheduler's KubeSchedulerConfiguration, YAML or JSON
    #[arg(long, value_name = "FILE", help_heading = "Scheduler")]
    pub(crate) scheduler_config: Option<PathBuf>,

    /// The scheduler's --feature-gates, such as `PodLevelResources=false,DRAExtendedResource=true`
    #[arg(long, value_name = "GATES", help_heading = "Scheduler")]
    pub(crate) feature_gates: Option<String>,
}

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// A pod: `namespace/name`, `pod/name`, `name`, or a UID as events name it; may be given more than once
    /// [default: every pending pod]
    #[arg(long = "pod", short, value_name = "POD")]
    pub(crate) pods: Vec<String>,

    /// Namespace of pods that are given without one; where none is given, only its pending pods are asked
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Every pending pod, each on the dump as it is
    #[arg(long, conflicts_with = "pods")]
    pub(crate) all_pending: bool,

    /// Tell the full story of one node: every step of its dry run
    #[arg(long, value_name = "NODE")]
    pub(crate) node: Option<String>,

    /// Ask several releases, such as `1.31,1.34`, and tell what makes the difference
    #[arg(long, value_name = "RELEASES", value_delimiter = ',', conflicts_with_all = ["compare_all", "node"])]
    pub(crate) compare: Vec<String>,

    /// Ask every release from 1.18 on
    #[arg(long, conflicts_with = "node")]
    pub(crate) compare_all: bool,

    #[command(flatten)]
    pub(crate) fleet: FleetArgs,

    #[command(flatten)]
    pub(crate) scheduler: SchedulerArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Write the answer to FILE, whole or not at all, instead of standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) status: StatusArgs,

    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Many dumps, and many processes.
#[derive(Args, Debug)]
pub(crate) struct FleetArgs {
    /// Take each PATH as a dump of its own; of one folder, each folder, archive and file that lies directly in it. A dump
    /// that cannot be answered does not stop the others; the exit status is the worst of all
    #[arg(long, help_heading = "Fleet")]
    pub(crate) each: bool,

    /// Answer only a share of the dumps, by size; of one dump, of its pods: `0/4` to `3/4`, counted from 0, or `auto/4` for
    /// $JOB_COMPLETION_INDEX as a Kubernetes Indexed Job sets it. All shares together are the whole
    #[arg(long, value_name = "I/N", help_heading = "Fleet")]
    pub(crate) shard: Option<ShardArg>,

    /// With -o ndjson, write every dump's problems to FILE, one a line: see `schema problem-line`
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub(crate) problems: Option<PathBuf>,
}

/// How to print.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OutputArgs {
    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = Form::Table, help_heading = "Output")]
    pub(crate) output: Form,

    /// Every candidate, victim and node; the same as `-o wide`
    #[arg(long, help_heading = "Output")]
    pub(crate) wide: bool,

    /// Colour; NO_COLOR and CLICOLOR_FORCE are heeded
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(crate) color: When,
}

impl OutputArgs {
    /// The form asked for.
    pub(crate) fn form(self) -> Form {
        match self.output {
            Form::Table if self.wide => Form::Wide,
            form => form,
        }
    }
}

/// Forms of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// At most about a screen a pod
    Table,
    /// Every candidate, victim and node
    Wide,
    /// A report for programs: see `schema`
    Json,
    /// A line of JSON for each pod, for tables, from `explain` alone: see `schema pod-line`
    Ndjson,
}

/// When to paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What makes the exit status.
#[derive(Args, Clone, Debug)]
pub(crate) struct StatusArgs {
    /// Exit 1 where a pod's answer is one of these
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Exit status")]
    pub(crate) fail_on: Vec<FailOn>,

    /// Exit 0 where the status would be 1
    #[arg(long, help_heading = "Exit status")]
    pub(crate) exit_zero: bool,

    /// Exit 3 where something that the dump lacks may change an answer
    #[arg(long, help_heading = "Exit status")]
    pub(crate) strict: bool,
}

/// Findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A pod that stays pending
    Unplaced,
    /// A pod that preempts others
    Preemption,
    /// A pod whose preemption violates a PodDisruptionBudget
    PdbViolation,
    /// An answer that is one of several, or undetermined
    Uncertain,
}

/// Arguments of `versions`.
#[derive(Args, Debug)]
pub(crate) struct Versions {
    /// Releases to set side by side, such as `1.31,1.34` [default: all, as ranges]
    #[arg(value_name = "RELEASE", value_delimiter = ',')]
    pub(crate) releases: Vec<String>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
