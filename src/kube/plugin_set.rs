//! How a configuration's plugin sets change the default ones. Upstream: `apis/config/v1*/default_plugins.go`
//! mergePlugins, `runtime/framework.go` NewFramework and expandMultiPointPlugins.

use super::default_plugins::{self, Point};
use super::gates::Gates;
use super::plugin::Plugin;
use super::release::Release;

/// A version of `kubescheduler.config.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the versions are upstream's own")]
pub enum ConfigVersion {
    V1Alpha1,
    V1Alpha2,
    V1Beta1,
    V1Beta2,
    V1Beta3,
    V1,
}

/// The group of a scheduler configuration.
pub const CONFIG_GROUP: &str = "kubescheduler.config.k8s.io";

impl ConfigVersion {
    /// All versions, oldest first.
    pub const ALL: [ConfigVersion; 6] = [
        ConfigVersion::V1Alpha1,
        ConfigVersion::V1Alpha2,
        ConfigVersion::V1Beta1,
        ConfigVersion::V1Beta2,
        ConfigVersion::V1Beta3,
        ConfigVersion::V1,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ConfigVersion::V1Alpha1 => "v1alpha1",
            ConfigVersion::V1Alpha2 => "v1alpha2",
            ConfigVersion::V1Beta1 => "v1beta1",
            ConfigVersion::V1Beta2 => "v1beta2",
            ConfigVersion::V1Beta3 => "v1beta3",
            ConfigVersion::V1 => "v1",
        }
    }

    /// The version of an `apiVersion`, group included.
    pub fn of(api_version: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/')?;
        ConfigVersion::ALL.into_iter().find(|it| group == CONFIG_GROUP && it.name() == version)
    }

    /// The first and the last minor release that read it; `None` for a version that is still read.
    pub const fn read_by(self) -> (u16, Option<u16>) {
        match self {
            ConfigVersion::V1Alpha1 => (12, Some(18)),
            ConfigVersion::V1Alpha2 => (18, Some(19)),
            ConfigVersion::V1Beta1 => (19, Some(22)),
            ConfigVersion::V1Beta2 => (22, Some(27)),
            ConfigVersion::V1Beta3 => (23, Some(28)),
            ConfigVersion::V1 => (25, None),
        }
    }

    /// Whether a release reads it.
    pub fn is_read_by(self, release: Release) -> bool {
        let (first, last) = self.read_by();
        release.since(first) && last.is_none_or(|last| release.minor <= last)
    }

    /// Whether it has `multiPoint`, and its default plugins there.
    pub const fn has_multi_point(self) -> bool {
        matches!(self, ConfigVersion::V1Beta3 | ConfigVersion::V1)
    }
}

/// Whether NodeAffinity takes arguments.
pub fn takes_added_affinity(release: Release) -> bool {
    release.since(20)
}

/// The plugins that a configuration enables and disables at one point, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSet {
    /// `enabled`, in order.
    pub enabled: Vec<String>,
    /// `disabled`; `*` is all of the default ones.
    pub disabled: Vec<String>,
}

/// The plugin sets of a profile, as far as they decide where a pod may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSets {
    /// `multiPoint`.
    pub multi_point: PluginSet,
    /// The sets of [`Point::ALL`], in that order.
    pub points: [PluginSet; 4],
}

/// The plugins of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedPlugins {
    /// PreEnqueue plugins in order.
    pub pre_enqueues: Vec<Plugin>,
    /// PreFilter plugins in order.
    pub pre_filters: Vec<Plugin>,
    /// Filter plugins in order.
    pub filters: Vec<Plugin>,
    /// PostFilter plugins in order.
    pub post_filters: Vec<Plugin>,
    /// Filter plugins that fail on every node, because their PreFilter is left out.
    pub unprepared: Vec<Plugin>,
    /// Enabled plugins whose answers are not computed, each once.
    pub foreign: Vec<String>,
}

/// Why a scheduler refuses plugin sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSetError {
    /// A plugin is enabled twice.
    Twice {
        /// The plugin.
        plugin: String,
        /// Where.
        point: Point,
    },
    /// A plugin is enabled where it does nothing.
    NotImplemented {
        /// The plugin.
        plugin: String,
        /// Where.
        point: Point,
    },
    /// The release has no such plugin any more, or not yet.
    NotInRelease {
        /// The plugin.
        plugin: String,
    },
}

impl PluginSetError {
    /// The plugin.
    pub fn plugin(&self) -> &str {
        match self {
            PluginSetError::Twice { plugin, .. }
            | PluginSetError::NotImplemented { plugin, .. }
            | PluginSetError::NotInRelease { plugin } => plugin,
        }
    }

    /// Upstream's words.
    pub fn text(&self) -> String {
        match self {
            PluginSetError::Twice { plugin, point } => {
                format!("plugin \"{plugin}\" already registered as \"{}\"", point.interface())
            }
            PluginSetError::NotImplemented { plugin, point } => {
                format!("plugin \"{plugin}\" does not extend {} plugin", point.interface())
            }
            PluginSetError::NotInRelease { plugin } => format!("plugin \"{plugin}\" does not exist in this release"),
        }
    }
}

/// The plugins of a scheduler without a configuration file.
pub fn default_plugins(release: Release, gates: &Gates) -> ResolvedPlugins {
    let version = if release.since(23) { ConfigVersion::V1 } else { ConfigVersion::V1Beta1 };
    resolve(release, gates, version, &PluginSets::default()).expect("the default plugins are a set that upstream takes")
}

/// The plugins of a profile with these sets.
pub fn resolve(
    release: Release,
    gates: &Gates,
    version: ConfigVersion,
    sets: &PluginSets,
) -> Result<ResolvedPlugins, PluginSetError> {
    let names = |plugins: Vec<Plugin>| plugins.into_iter().map(|it| it.name().to_owned()).collect::<Vec<_>>();
    let multi_point = if version.has_multi_point() {
        merge(names(default_plugins::multi_point(release, gates)), &sets.multi_point, Merge::Replace)
    } else {
        Vec::new()
    };
    let rule = if version >= ConfigVersion::V1Beta2 { Merge::Replace } else { Merge::Append };
    let mut resolved = ResolvedPlugins::default();
    for (point, set) in Point::ALL.into_iter().zip(&sets.points) {
        let defaults = if version.has_multi_point() {
            Vec::new()
        } else {
            names(default_plugins::at_point(point, release, gates))
        };
        let own = merge(defaults, set, rule);
        check(&own, &set.enabled, point, release)?;
        let all = expand(&multi_point, own, &set.disabled, point, release)?;
        let known = all.iter().filter_map(|name| Plugin::by_name(name));
        match point {
            // What it does before the queue is to wait for its own evictions, of which a dump knows nothing.
            Point::PreEnqueue => {
                resolved.pre_enqueues = known.filter(|it| *it != Plugin::DefaultPreemption).collect();
            }
            Point::PreFilter => resolved.pre_filters = known.collect(),
            Point::Filter => resolved.filters = known.collect(),
            Point::PostFilter => resolved.post_filters = known.collect(),
        }
        for name in all {
            let foreign = Plugin::by_name(&name).is_none() && !default_plugins::is_harmless(&name);
            if foreign && !resolved.foreign.contains(&name) {
                resolved.foreign.push(name);
            }
        }
    }
    let prepared = |plugin: &Plugin| resolved.pre_filters.contains(plugin);
    let fails = |plugin: &&Plugin| default_plugins::needs_pre_filter(**plugin, release) && !prepared(plugin);
    resolved.unprepared = resolved.filters.iter().filter(fails).copied().collect();
    Ok(resolved)
}

/// What becomes of a default plugin that a configuration enables as well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// It is enabled twice, which is an error later on.
    Append,
    /// The configuration's takes its place.
    Replace,
}

fn merge(defaults: Vec<String>, set: &PluginSet, rule: Merge) -> Vec<String> {
    let disabled = |name: &str| set.disabled.iter().any(|it| it == name);
    let mut all = Vec::new();
    if !disabled("*") {
        all.extend(defaults.into_iter().filter(|name| !disabled(name)));
    }
    let mut added: Vec<&String> = set.enabled.iter().collect();
    if rule == Merge::Replace {
        // Of a name that is enabled twice the last replaces, and the first is added.
        for name in &all {
            if let Some(at) = added.iter().rposition(|it| *it == name) {
                added.remove(at);
            }
        }
    }
    all.extend(added.into_iter().cloned());
    all
}

/// The checks of plugins that a configuration names at a point.
fn check(own: &[String], enabled: &[String], point: Point, release: Release) -> Result<(), PluginSetError> {
    for name in enabled {
        if !implements(name, point, release)? {
            return Err(PluginSetError::NotImplemented { plugin: name.clone(), point });
        }
    }
    match (1..own.len()).find(|&at| own[..at].contains(&own[at])) {
        Some(at) => Err(PluginSetError::Twice { plugin: own[at].clone(), point }),
        None => Ok(()),
    }
}

/// Whether a plugin does something at a point, as far as this program knows it; others may.
fn implements(name: &str, point: Point, release: Release) -> Result<bool, PluginSetError> {
    match Plugin::by_name(name) {
        Some(known) if !default_plugins::is_in(known, release) => {
            Err(PluginSetError::NotInRelease { plugin: name.to_owned() })
        }
        Some(known) => Ok(default_plugins::implements(known, point, release)),
        None => Ok(!default_plugins::is_harmless(name)),
    }
}

/// Joins the plugins of MultiPoint to a point's own.
fn expand(
    multi_point: &[String],
    own: Vec<String>,
    disabled: &[String],
    point: Point,
    release: Release,
) -> Result<Vec<String>, PluginSetError> {
    let is_disabled = |name: &str| disabled.iter().any(|it| it == name);
    if is_disabled("*") {
        return Ok(own);
    }
    let mut overriding = Vec::new();
    let mut added: Vec<String> = Vec::new();
    for name in multi_point {
        if !implements(name, point, release)? || is_disabled(name) {
            continue;
        }
        if own.contains(name) {
            overriding.push(name);
        } else if added.contains(name) {
            return Err(PluginSetError::Twice { plugin: name.clone(), point });
        } else {
            added.push(name.clone());
        }
    }
    if !release.since_patched(24, &[(23, 7)]) {
        return Ok(own.into_iter().chain(added).collect());
    }
    // A plugin named at the point comes before those of MultiPoint if it is one of them, and after them if not.
    let (first, last): (Vec<String>, Vec<String>) = own.into_iter().partition(|name| overriding.contains(&name));
    Ok(first.into_iter().chain(added).chain(last).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_34: Release = Release::new(34, 4);

    fn set(enabled: &[&str], disabled: &[&str]) -> PluginSet {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        PluginSet { enabled: owned(enabled), disabled: owned(disabled) }
    }

    fn resolved(
        release: Release,
        version: ConfigVersion,
        sets: &PluginSets,
    ) -> Result<ResolvedPlugins, PluginSetError> {
        resolve(release, &Gates::defaults(release), version, sets)
    }

    fn filter_set(filter: PluginSet) -> PluginSets {
        PluginSets {
            points: [PluginSet::default(), PluginSet::default(), filter, PluginSet::default()],
            ..PluginSets::default()
        }
    }

    #[test]
    fn defaults_of_the_newest_and_the_oldest_release() {
        let newest = default_plugins(Release::newest(), &Gates::defaults(Release::newest()));
        assert_eq!(newest.filters.first(), Some(&Plugin::NodeName));
        assert_eq!(newest.filters.last(), Some(&Plugin::NodeDeclaredFeatures));
        assert_eq!(newest.post_filters, [Plugin::DynamicResources, Plugin::DefaultPreemption]);
        assert_eq!(newest.pre_enqueues, [Plugin::SchedulingGates, Plugin::DynamicResources]);
        let oldest = Release::of_minor(18);
        let oldest = default_plugins(oldest, &Gates::defaults(oldest));
        assert_eq!(oldest.filters[1], Plugin::NodeResourcesFit);
        assert_eq!(oldest.filters.last(), Some(&Plugin::PodTopologySpread));
        assert_eq!(oldest.post_filters, [Plugin::DefaultPreemption]);
        assert!(oldest.pre_enqueues.is_empty());
    }

    #[test]
    fn multi_point_disables_everywhere() {
        let sets = PluginSets { multi_point: set(&[], &["NodePorts"]), ..PluginSets::default() };
        let plugins = resolved(V1_34, ConfigVersion::V1, &sets).expect("taken");
        assert!(!plugins.filters.contains(&Plugin::NodePorts) && !plugins.pre_filters.contains(&Plugin::NodePorts));
    }

    #[test]
    fn a_star_leaves_what_the_point_enables_itself() {
        let sets = filter_set(set(&["TaintToleration"], &["*"]));
        let plugins = resolved(V1_34, ConfigVersion::V1, &sets).expect("taken");
        assert_eq!(plugins.filters, [Plugin::TaintToleration]);
        assert!(plugins.pre_filters.contains(&Plugin::NodeResourcesFit), "other points keep theirs");
    }

    #[test]
    fn a_point_puts_default_plugins_first_and_foreign_ones_last() {
        let sets = filter_set(set(&["Mine", "InterPodAffinity", "NodePorts"], &[]));
        let plugins = resolved(V1_34, ConfigVersion::V1, &sets).expect("taken");
        assert_eq!(plugins.filters[..3], [Plugin::InterPodAffinity, Plugin::NodePorts, Plugin::NodeUnschedulable]);
        assert_eq!(plugins.foreign, ["Mine"]);
    }

    #[test]
    fn before_1_23_7_what_a_point_adds_came_first() {
        let sets = filter_set(set(&["CinderLimits"], &[]));
        let filters = |patch| resolved(Release::new(23, patch), ConfigVersion::V1Beta3, &sets).expect("taken").filters;
        assert_eq!(filters(6).first(), Some(&Plugin::CinderLimits));
        assert_eq!(filters(7).last(), Some(&Plugin::CinderLimits));
    }

    #[test]
    fn v1beta1_takes_a_default_plugin_twice_for_an_error_and_v1beta2_does_not() {
        let sets = filter_set(set(&["NodePorts"], &[]));
        let release = Release::new(22, 6);
        let error = resolved(release, ConfigVersion::V1Beta1, &sets).expect_err("twice");
        assert_eq!(error.text(), "plugin \"NodePorts\" already registered as \"FilterPlugin\"");
        let plugins = resolved(release, ConfigVersion::V1Beta2, &sets).expect("taken");
        assert_eq!(plugins.filters[4], Plugin::NodePorts, "it keeps its place");
    }

    #[test]
    fn v1beta2_keeps_the_lists_of_1_22() {
        let plugins = resolved(Release::new(25, 2), ConfigVersion::V1Beta2, &PluginSets::default()).expect("taken");
        assert_eq!(plugins.pre_filters.first(), Some(&Plugin::NodeResourcesFit));
        assert_eq!(plugins.pre_filters.last(), Some(&Plugin::NodeAffinity));
    }

    #[test]
    fn plugins_stand_only_where_they_do_something() {
        for name in ["PrioritySort", "DefaultPreemption"] {
            let sets = filter_set(set(&[name], &[]));
            let error = resolved(V1_34, ConfigVersion::V1, &sets).expect_err("no filter");
            assert!(matches!(error, PluginSetError::NotImplemented { .. }), "{name}");
        }
        let gone = filter_set(set(&["EBSLimits"], &[]));
        assert!(matches!(resolved(V1_34, ConfigVersion::V1, &gone), Err(PluginSetError::NotInRelease { .. })));
        let twice = PluginSets { multi_point: set(&["Mine", "Mine"], &[]), ..PluginSets::default() };
        assert!(matches!(resolved(V1_34, ConfigVersion::V1, &twice), Err(PluginSetError::Twice { .. })));
    }

    #[test]
    fn configurations_are_read_for_a_time() {
        let read = |version: ConfigVersion, minor| version.is_read_by(Release::of_minor(minor));
        assert!(!read(ConfigVersion::V1, 24) && read(ConfigVersion::V1, 25) && read(ConfigVersion::V1, 37));
        assert!(read(ConfigVersion::V1Beta2, 27) && !read(ConfigVersion::V1Beta2, 28));
        assert!(read(ConfigVersion::V1Beta1, 22) && !read(ConfigVersion::V1Beta1, 23));
        assert_eq!(ConfigVersion::of("kubescheduler.config.k8s.io/v1beta3"), Some(ConfigVersion::V1Beta3));
        assert_eq!(ConfigVersion::of("v1"), None);
    }
}
