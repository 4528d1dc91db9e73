//! From a file to the configuration: finding it, decoding it strictly, and the checks that need no release.

use super::located::{At, Object};
use super::{ProfileConfig, Refusals, SchedulerConfig, args, extenders};
use crate::kube::default_plugins::Point;
use crate::kube::plugin_set::{CONFIG_GROUP, ConfigVersion, PluginSet, PluginSets};
use crate::kube::profile::DEFAULT_SCHEDULER;
use crate::problem::Problem;
use crate::source::yaml;
use serde_json::value::RawValue;

const KIND: &str = "KubeSchedulerConfiguration";

/// A configuration larger than this is something else.
const MAX_BYTES: usize = 8 << 20;

pub(super) fn read(path: &str, text: &str) -> Result<SchedulerConfig, Vec<Problem>> {
    let mut refusals = Refusals::new(path);
    if text.len() > MAX_BYTES {
        refusals.at_line(1, "is larger than any scheduler configuration", None);
        return Err(refusals.problems);
    }
    let found = match documents(text, 0) {
        Ok(json) => find(text, &json, 0, &mut refusals),
        Err((line, message)) => {
            refusals.at_line(line, message, None);
            return Err(refusals.problems);
        }
    };
    match found.as_slice() {
        [] => {
            let help = "a KubeSchedulerConfiguration is wanted, alone or in the data of a ConfigMap".to_owned();
            refusals.at_line(1, format!("holds no {KIND}"), Some(help));
            Err(refusals.problems)
        }
        [only] => decode(only, refusals).map_err(|mut problems| {
            if let Some(line) = only.only_line {
                problems.iter_mut().for_each(|problem| problem.line = Some(line));
            }
            problems
        }),
        [_, second, ..] => {
            refusals.at_line(second.line, format!("holds more than one {KIND}"), None);
            Err(refusals.problems)
        }
    }
}

/// The JSON of one configuration, on the lines of its file.
struct Found {
    json: String,
    lines_before: u64,
    line: u64,
    /// The only line of the file on which it stands: a text in quotes, whose own lines are not the file's.
    only_line: Option<u64>,
}

fn documents(text: &str, lines_before: u64) -> Result<String, (u64, String)> {
    yaml::strict(text).map_err(|trouble| (lines_before + trouble.line, trouble.message))
}

/// Every configuration in a text of JSON documents: documents themselves, items of lists, data of ConfigMaps.
fn find(file: &str, json: &str, lines_before: u64, refusals: &mut Refusals) -> Vec<Found> {
    let mut all = Vec::new();
    for document in serde_json::Deserializer::from_str(json).into_iter::<&RawValue>() {
        match document {
            Ok(document) => look(file, &At::root(json, document.get(), lines_before), lines_before, refusals, &mut all),
            Err(error) => {
                refusals.at_line(lines_before + error.line() as u64, error.to_string(), None);
                break;
            }
        }
    }
    all
}

fn look(file: &str, at: &At<'_>, lines_before: u64, refusals: &mut Refusals, all: &mut Vec<Found>) {
    // What is no configuration is none of our business: its trouble is not told.
    let mut ignored = Refusals::default();
    let object = at.object(&mut ignored);
    match object.text("kind", &mut ignored).as_deref() {
        Some(KIND) => {
            let skipped = at.line.saturating_sub(lines_before + 1);
            let lines_before = lines_before + skipped;
            all.push(Found { json: at.json.to_owned(), lines_before, line: at.line, only_line: None });
        }
        Some("List" | "ConfigMapList") => {
            for item in object.items("items", &mut ignored) {
                look(file, &item, lines_before, refusals, all);
            }
        }
        Some("ConfigMap") => {
            let Some(data) = object.object("data", &mut ignored) else { return };
            for (_, member) in data.members() {
                let Some(text) = member.text(&mut ignored) else { continue };
                if !text.contains(KIND) {
                    continue;
                }
                let block = block_begins(file, member.line);
                let only_line = block.is_none().then_some(member.line);
                let before = block.unwrap_or(member.line);
                match documents(&text, before) {
                    Ok(json) => {
                        let found = find(file, &json, before, refusals);
                        all.extend(found.into_iter().map(|it| Found { only_line, ..it }));
                    }
                    Err((line, message)) => refusals.at_line(only_line.unwrap_or(line), message, None),
                }
            }
        }
        Some(_) | None => {}
    }
}

/// The line of the `|` or `>` of a block scalar: this one, or the one before, where this is the block's first.
fn block_begins(file: &str, line: u64) -> Option<u64> {
    let begins = |line: u64| {
        let text = usize::try_from(line).ok().and_then(|line| file.lines().nth(line.checked_sub(1)?));
        text.and_then(|text| text.rsplit_once(['|', '>'])).is_some_and(|(_, rest)| rest.trim().len() <= 2)
    };
    [line, line.saturating_sub(1)].into_iter().find(|line| begins(*line))
}

fn decode(found: &Found, mut refusals: Refusals) -> Result<SchedulerConfig, Vec<Problem>> {
    let root = At::root(&found.json, &found.json, found.lines_before);
    let config = root.object(&mut refusals);
    let api_version = config.text("apiVersion", &mut refusals).unwrap_or_default();
    let at_version = config.get("apiVersion").unwrap_or(&root);
    let Some(version) = ConfigVersion::of(&api_version) else {
        let versions: Vec<&str> = ConfigVersion::ALL.iter().rev().map(|it| it.name()).collect();
        let help = format!("versions of {CONFIG_GROUP} are {}", versions.join(", "));
        refusals.with_help(at_version, format!("no kind \"{KIND}\" in version \"{api_version}\""), Some(help));
        return Err(refusals.problems);
    };
    if version == ConfigVersion::V1Alpha1 {
        let help = "write it as v1beta1 or newer".to_owned();
        refusals.with_help(at_version, format!("{api_version} is not read by this program"), Some(help));
        return Err(refusals.problems);
    }
    config.only(&top_fields(version), &mut refusals);
    let parallelism = config.integer("parallelism", &mut refusals).unwrap_or(16);
    if parallelism <= 0 {
        refuse(&config, "parallelism", "should be an integer value greater than zero", &mut refusals);
    }
    let percentage_of_nodes_to_score = percentage(&config, &mut refusals);
    check_backoff(&config, &mut refusals);
    let decoded = SchedulerConfig {
        version,
        parallelism: parallelism.unsigned_abs(),
        percentage_of_nodes_to_score,
        extenders: extenders::read(&config, &mut refusals),
        preemption_disabled: config.flag("disablePreemption", &mut refusals),
        path: refusals.path.clone(),
        line: at_version.line,
        profiles: profiles(&config, version, &mut refusals),
    };
    refusals.finish(decoded)
}

fn refuse(object: &Object<'_>, name: &str, why: &str, refusals: &mut Refusals) {
    refusals.invalid(object.get(name).unwrap_or(object.at()), why);
}

fn top_fields(version: ConfigVersion) -> Vec<&'static str> {
    let mut all = vec![
        "apiVersion",
        "kind",
        "leaderElection",
        "clientConnection",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "profiles",
        "extenders",
    ];
    match version {
        ConfigVersion::V1Alpha1 | ConfigVersion::V1Alpha2 => {
            all.extend(["healthzBindAddress", "metricsBindAddress", "disablePreemption", "bindTimeoutSeconds"]);
        }
        ConfigVersion::V1Beta1 | ConfigVersion::V1Beta2 => {
            all.extend(["healthzBindAddress", "metricsBindAddress", "parallelism"]);
        }
        ConfigVersion::V1Beta3 => all.push("parallelism"),
        ConfigVersion::V1 => all.extend(["parallelism", "delayCacheUntilActive"]),
    }
    all
}

fn percentage(object: &Object<'_>, refusals: &mut Refusals) -> Option<i32> {
    let percentage = object.integer("percentageOfNodesToScore", refusals)?;
    if !(0..=100).contains(&percentage) {
        refuse(object, "percentageOfNodesToScore", "not in valid range [0-100]", refusals);
    }
    Some(percentage)
}

fn check_backoff(config: &Object<'_>, refusals: &mut Refusals) {
    let initial = config.integer("podInitialBackoffSeconds", refusals).unwrap_or(1);
    let max = config.integer("podMaxBackoffSeconds", refusals).unwrap_or(10);
    if initial <= 0 {
        refuse(config, "podInitialBackoffSeconds", "must be greater than 0", refusals);
    }
    if max < initial {
        let why = "must be greater than or equal to PodInitialBackoffSeconds";
        refuse(config, "podMaxBackoffSeconds", why, refusals);
    }
}

fn profiles(config: &Object<'_>, version: ConfigVersion, refusals: &mut Refusals) -> Vec<ProfileConfig> {
    let items = config.items("profiles", refusals);
    if items.is_empty() {
        return vec![ProfileConfig {
            scheduler_name: DEFAULT_SCHEDULER.to_owned(),
            percentage_of_nodes_to_score: None,
            plugins: PluginSets::default(),
            plugin_lines: Vec::new(),
            args: super::Args::default(),
            line: config.at().line,
        }];
    }
    let mut all: Vec<ProfileConfig> = Vec::new();
    for item in &items {
        let profile = self::profile(item, items.len() == 1, version, refusals);
        if let Some(first) = all.iter().position(|it| it.scheduler_name == profile.scheduler_name) {
            let name = format!("\"profiles[{first}].schedulerName\"");
            refusals.at(item, format!("{}.schedulerName: Duplicate value: {name}", item.path));
        }
        all.push(profile);
    }
    all
}

fn profile(item: &At<'_>, only_one: bool, version: ConfigVersion, refusals: &mut Refusals) -> ProfileConfig {
    let profile = item.object(refusals);
    let mut known = vec!["schedulerName", "plugins", "pluginConfig"];
    known.extend((version == ConfigVersion::V1).then_some("percentageOfNodesToScore"));
    profile.only(&known, refusals);
    // The default name is given to an only profile.
    let name = profile.text("schedulerName", refusals).or_else(|| only_one.then(|| DEFAULT_SCHEDULER.to_owned()));
    let name = name.unwrap_or_default();
    if name.is_empty() {
        refusals.at(item, format!("{}.schedulerName: Required value", item.path));
    }
    let (plugins, plugin_lines) = plugin_sets(&profile, version, refusals);
    ProfileConfig {
        scheduler_name: name,
        percentage_of_nodes_to_score: percentage(&profile, refusals),
        plugins,
        plugin_lines,
        args: args::read(&profile, version, refusals),
        line: item.line,
    }
}

/// Every extension point's field, by version.
fn point_fields(version: ConfigVersion) -> Vec<&'static str> {
    let mut all = vec![
        "queueSort",
        "preFilter",
        "filter",
        "postFilter",
        "preScore",
        "score",
        "reserve",
        "permit",
        "preBind",
        "bind",
        "postBind",
    ];
    match version {
        ConfigVersion::V1Alpha1 | ConfigVersion::V1Alpha2 => all.push("unreserve"),
        ConfigVersion::V1Beta1 => {}
        ConfigVersion::V1Beta2 => all.push("preEnqueue"),
        ConfigVersion::V1Beta3 => all.extend(["preEnqueue", "multiPoint"]),
        ConfigVersion::V1 => {
            all.extend(["preEnqueue", "multiPoint", "placementGenerate", "placementScore", "podGroupPostFilter"]);
        }
    }
    all
}

fn plugin_sets(
    profile: &Object<'_>,
    version: ConfigVersion,
    refusals: &mut Refusals,
) -> (PluginSets, Vec<(String, u64)>) {
    let mut sets = PluginSets::default();
    let mut lines = Vec::new();
    let Some(plugins) = profile.object("plugins", refusals) else { return (sets, lines) };
    plugins.only(&point_fields(version), refusals);
    for (field, member) in plugins.members() {
        if member.is_null() {
            continue;
        }
        let set = plugin_set(member, &mut lines, refusals);
        if field == "multiPoint" {
            sets.multi_point = set;
        } else if let Some(at) = Point::ALL.iter().position(|point| point.field() == field) {
            sets.points[at] = set;
        }
    }
    (sets, lines)
}

fn plugin_set(at: &At<'_>, lines: &mut Vec<(String, u64)>, refusals: &mut Refusals) -> PluginSet {
    let set = at.object(refusals);
    set.only(&["enabled", "disabled"], refusals);
    let mut names = |list: &str| {
        let items = set.items(list, refusals);
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            let plugin = item.object(refusals);
            plugin.only(&["name", "weight"], refusals);
            if let Some(name) = plugin.text("name", refusals) {
                lines.push((name.clone(), item.line));
                names.push(name);
            }
        }
        names
    };
    PluginSet { enabled: names("enabled"), disabled: names("disabled") }
}
