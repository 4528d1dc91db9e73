//! From the configuration to the profiles of a release.

use super::{ProfileConfig, Refusals, SchedulerConfig, SpreadDefault};
use crate::kube::gates::Gates;
use crate::kube::plugin_set::{self, PluginSetError};
use crate::kube::profile::{DefaultSpreadConstraint, Profile};
use crate::kube::release::Release;
use crate::load::selectors::RawNodeSelector;
use crate::load::tables::Tables;
use crate::model::affinity::InclusionPolicy;
use crate::model::selector::NodeSelector;
use crate::model::symbols::Symbols;
use crate::problem::{Problem, ProblemCode};

/// A configuration, resolved for a release.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The profiles, in the order of the file.
    pub profiles: Vec<ConfiguredProfile>,
    /// What of the configuration is not computed.
    pub notes: Vec<Problem>,
}

/// A profile, and what of it is no part of [`Profile`].
#[derive(Clone, Debug)]
pub struct ConfiguredProfile {
    /// The profile.
    pub profile: Profile,
    /// Plugins whose answers are not computed, by name: any verdict may be wrong.
    pub foreign: Vec<String>,
    /// `percentageOfNodesToScore`; `None` and 0 are the default.
    pub percentage_of_nodes_to_score: Option<i32>,
}

impl SchedulerConfig {
    /// The profiles that a scheduler of this release makes of it. Names that the cluster does not know yet join its
    /// symbols.
    pub fn resolve(&self, release: Release, gates: &Gates, symbols: &mut Symbols) -> Result<Resolved, Vec<Problem>> {
        let mut refusals = Refusals::new(&self.path);
        if !self.version.is_read_by(release) {
            let (message, help) = self.unread(release);
            refusals.at_line(self.line, message, Some(help));
            return Err(refusals.problems);
        }
        let mut resolved = Resolved { profiles: Vec::new(), notes: Vec::new() };
        for config in &self.profiles {
            match plugin_set::resolve(release, gates, self.version, &config.plugins) {
                Ok(plugins) => {
                    let foreign = plugins.foreign.clone();
                    let mut profile = Profile::with_plugins(&config.scheduler_name, plugins);
                    self.apply(config, &mut profile, symbols);
                    if !plugin_set::takes_added_affinity(release) {
                        profile.added_affinity = None;
                    }
                    self.note_foreign(config, &foreign, &mut resolved.notes);
                    resolved.profiles.push(ConfiguredProfile {
                        profile,
                        foreign,
                        percentage_of_nodes_to_score: config
                            .percentage_of_nodes_to_score
                            .or(self.percentage_of_nodes_to_score),
                    });
                }
                Err(error) => refuse(config, &error, &mut refusals),
            }
        }
        self.note_extenders(&mut resolved.notes);
        refusals.finish(resolved)
    }

    fn unread(&self, release: Release) -> (String, String) {
        let (first, last) = self.version.read_by();
        let name = self.version.name();
        let readers = match last {
            Some(last) => format!("releases 1.{first} to 1.{last} do"),
            None => format!("releases from 1.{first} on do"),
        };
        let help = format!("kubescheduler.config.k8s.io/{name} is read by: {readers}");
        (format!("a scheduler of {release} does not read {name} configurations; {readers}"), help)
    }

    fn apply(&self, config: &ProfileConfig, profile: &mut Profile, symbols: &mut Symbols) {
        let args = &config.args;
        profile.added_affinity = args.added_affinity.as_ref().map(|(json, _)| compile(json, symbols));
        profile.ignored_resources.clone_from(&args.ignored_resources);
        profile.ignored_resource_groups.clone_from(&args.ignored_resource_groups);
        // What extenders look after takes the place of the profile's own list.
        let by_extenders: Vec<String> =
            self.extenders.iter().flat_map(|extender| extender.ignored_resources.iter().cloned()).collect();
        if !by_extenders.is_empty() {
            profile.ignored_resources = by_extenders;
        }
        profile.default_spread = args.default_spread.iter().map(|one| spread(one, symbols)).collect();
        profile.preemption = args.preemption;
        if self.preemption_disabled {
            profile.post_filters.clear();
        }
    }

    fn note(&self, line: u64, message: String) -> Problem {
        let problem = Problem::new(ProblemCode::UnmodelledConfig, message);
        Problem { path: Some(self.path.clone()), line: Some(line), ..problem }
    }

    fn note_foreign(&self, config: &ProfileConfig, foreign: &[String], notes: &mut Vec<Problem>) {
        for plugin in foreign {
            let message = format!("what plugin {plugin} of profile {} decides is not computed", config.scheduler_name);
            notes.push(self.note(config.line_of(plugin), message));
        }
    }

    fn note_extenders(&self, notes: &mut Vec<Problem>) {
        for extender in &self.extenders {
            let does = match (&extender.filter_verb, &extender.preempt_verb) {
                (Some(_), Some(_)) => "may reject nodes and change preemption",
                (Some(_), None) => "may reject nodes",
                (None, Some(_)) => "may change preemption",
                (None, None) => continue,
            };
            let about = if extender.managed_resources.is_empty() {
                "any pod".to_owned()
            } else {
                format!("pods that ask for {}", extender.managed_resources.join(", "))
            };
            let message = format!("extender {} {does} for {about}; it is not asked", extender.url_prefix);
            notes.push(self.note(self.line, message));
        }
    }
}

impl ProfileConfig {
    fn line_of(&self, plugin: &str) -> u64 {
        self.plugin_lines.iter().find(|(name, _)| name == plugin).map_or(self.line, |(_, line)| *line)
    }
}

fn refuse(config: &ProfileConfig, error: &PluginSetError, refusals: &mut Refusals) {
    let line = config.line_of(error.plugin());
    let message = format!("profile {}: {}", config.scheduler_name, error.text());
    let help = match error {
        PluginSetError::Twice { point, .. } => {
            Some(format!("disable it at `{}` before enabling it again, or enable it once", point.field()))
        }
        PluginSetError::NotImplemented { .. } | PluginSetError::NotInRelease { .. } => None,
    };
    refusals.at_line(line, message, help);
}

fn compile(json: &str, symbols: &mut Symbols) -> NodeSelector {
    let mut tables = Tables::default();
    std::mem::swap(&mut tables.symbols, symbols);
    // It was read and checked before; what is not a selector selects nothing, as upstream's does.
    let selector = serde_json::from_str::<RawNodeSelector<'_>>(json).unwrap_or_default().compile(&mut tables);
    *symbols = tables.symbols;
    selector
}

fn spread(one: &SpreadDefault, symbols: &mut Symbols) -> DefaultSpreadConstraint {
    let policy = |honors: Option<bool>| {
        honors.map(|honors| if honors { InclusionPolicy::Honor } else { InclusionPolicy::Ignore })
    };
    DefaultSpreadConstraint {
        max_skew: i64::from(one.max_skew),
        topology_key: symbols.intern(&one.topology_key),
        min_domains: one.min_domains.map(i64::from),
        node_affinity_policy: policy(one.honors_affinity),
        node_taints_policy: policy(one.honors_taints),
    }
}
