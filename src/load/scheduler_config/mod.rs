//! KubeSchedulerConfiguration: read, checked as the scheduler checks it, and resolved to profiles.
//!
//! Upstream: `pkg/scheduler/apis/config` (types, defaults, validation), `cmd/kube-scheduler/app/options/configfile.go`.

mod args;
mod extenders;
mod located;
mod read;
mod resolve;

pub use extenders::Extender;
pub use resolve::{ConfiguredProfile, Resolved};

use crate::kube::plugin_set::{ConfigVersion, PluginSets};
use crate::kube::profile::PreemptionArgs;
use crate::problem::{Problem, ProblemCode};
use located::At;

/// A scheduler configuration, as its file has it.
#[derive(Clone, Debug)]
pub struct SchedulerConfig {
    /// The version of its API.
    pub version: ConfigVersion,
    /// Workers; upstream's default is 16.
    pub parallelism: u32,
    /// `percentageOfNodesToScore` of all profiles that have none of their own.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// Extenders, in order.
    pub extenders: Vec<Extender>,
    /// `disablePreemption`, which v1alpha2 had.
    pub preemption_disabled: bool,
    path: String,
    line: u64,
    profiles: Vec<ProfileConfig>,
}

/// A profile, as the file has it.
#[derive(Clone, Debug)]
struct ProfileConfig {
    scheduler_name: String,
    percentage_of_nodes_to_score: Option<i32>,
    plugins: PluginSets,
    /// Where each plugin of `plugins` is named.
    plugin_lines: Vec<(String, u64)>,
    args: Args,
    line: u64,
}

/// The plugin arguments that decide where a pod may go.
#[derive(Clone, Debug, Default)]
struct Args {
    /// `requiredDuringSchedulingIgnoredDuringExecution` of NodeAffinityArgs.addedAffinity: JSON, and its line.
    added_affinity: Option<(String, u64)>,
    ignored_resources: Vec<String>,
    ignored_resource_groups: Vec<String>,
    default_spread: Vec<SpreadDefault>,
    preemption: PreemptionArgs,
}

/// A hard default spread constraint.
#[derive(Clone, Debug)]
struct SpreadDefault {
    max_skew: i32,
    topology_key: String,
    min_domains: Option<i32>,
    honors_affinity: Option<bool>,
    honors_taints: Option<bool>,
}

impl SchedulerConfig {
    /// Reads a configuration: YAML or JSON, alone or in the data of a ConfigMap. `path` is for problems.
    pub fn read(path: &str, text: &str) -> Result<Self, Vec<Problem>> {
        read::read(path, text)
    }
}

/// Why a configuration is refused, with places.
#[derive(Debug, Default)]
struct Refusals {
    path: String,
    problems: Vec<Problem>,
}

impl Refusals {
    fn new(path: &str) -> Self {
        Refusals { path: path.to_owned(), problems: Vec::new() }
    }

    fn at_line(&mut self, line: u64, message: impl Into<String>, help: Option<String>) {
        let problem = Problem::new(ProblemCode::RefusedConfig, message);
        let help = help.or(problem.help);
        self.problems.push(Problem { path: Some(self.path.clone()), line: Some(line), help, ..problem });
    }

    fn at(&mut self, at: &At<'_>, message: impl Into<String>) {
        self.at_line(at.line, message, None);
    }

    fn with_help(&mut self, at: &At<'_>, message: impl Into<String>, help: Option<String>) {
        self.at_line(at.line, message, help);
    }

    /// `field: Invalid value: "value": why`, as upstream's validation says it.
    fn invalid(&mut self, at: &At<'_>, why: &str) {
        self.at_line(at.line, format!("{}: Invalid value: {}: {why}", at.path, at.json.trim()), None);
    }

    fn wrong_type(&mut self, at: &At<'_>, wanted: &str) {
        let path = if at.path.is_empty() { "the configuration" } else { &at.path };
        self.at_line(at.line, format!("{path} must be {wanted}"), None);
    }

    fn finish<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() { Ok(value) } else { Err(self.problems) }
    }
}

#[cfg(test)]
mod tests;
