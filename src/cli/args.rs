//! What may be written on the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What kube-scheduler's preemption did or would do, answered offline from what `kubectl get -o json` printed.
#[derive(Debug, Parser)]
#[command(name = "preempt-audit", version, max_term_width = 120, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Explain what the scheduler does about pending pods: the node, the victims, and why
    Explain(Box<Explain>),
}

/// Which files, and how to read them.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// Files and folders that kubectl wrote; `-` is standard input. Without any: standard input if something is piped
    /// into it, else $PREEMPT_AUDIT_DUMP, else the current folder
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Print the SHA-256 of files larger than 64 MB as well (in JSON)
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

#[derive(Args, Debug)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// A pod: `namespace/name`, `pod/name` or `name`; may be given more than once
    #[arg(long = "pod", short = 'p', value_name = "POD")]
    pub(crate) pods: Vec<String>,

    /// Namespace of pods that are given without one
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    #[command(flatten)]
    pub(crate) scheduler: SchedulerArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How to print.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = Form::Table, help_heading = "Output")]
    pub(crate) output: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// At most about a screen a pod
    Table,
    /// Everything: every candidate, every node
    Wide,
    /// A report for programs, see `schema`
    Json,
}
