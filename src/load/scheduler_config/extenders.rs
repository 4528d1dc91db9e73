//! Extenders: kept as facts, never called.

use super::Refusals;
use super::located::Object;

/// An extender, whose answers no dump holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extender {
    /// `urlPrefix`.
    pub url_prefix: String,
    /// `filterVerb`: it may reject nodes.
    pub filter_verb: Option<String>,
    /// `preemptVerb`: it may take candidates away, or change their victims.
    pub preempt_verb: Option<String>,
    /// `managedResources[].name`; without any, it is asked about every pod.
    pub managed_resources: Vec<String>,
    /// Names of `managedResources` that NodeResourcesFit leaves to the extender.
    pub ignored_resources: Vec<String>,
    /// `ignorable`: scheduling goes on without it where it fails.
    pub ignorable: bool,
    /// `nodeCacheCapable`: it is sent names only.
    pub node_cache_capable: bool,
}

const FIELDS: [&str; 13] = [
    "urlPrefix",
    "filterVerb",
    "preemptVerb",
    "prioritizeVerb",
    "weight",
    "bindVerb",
    "enableHTTPS",
    "enableHttps",
    "tlsConfig",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
];

pub(super) fn read(config: &Object<'_>, refusals: &mut Refusals) -> Vec<Extender> {
    let mut managed_by_any: Vec<String> = Vec::new();
    let mut binders = 0;
    let mut all = Vec::new();
    for item in config.items("extenders", refusals) {
        let extender = item.object(refusals);
        extender.only(&FIELDS, refusals);
        let weight = extender.integer("weight", refusals).unwrap_or(0);
        let verb = |name: &str, refusals: &mut Refusals| extender.text(name, refusals).filter(|verb| !verb.is_empty());
        if verb("prioritizeVerb", refusals).is_some() && weight <= 0 {
            let message =
                format!("{}.weight: Invalid value: {weight}: must have a positive weight applied to it", item.path);
            refusals.at(extender.get("weight").unwrap_or(&item), message);
        }
        if verb("bindVerb", refusals).is_some() {
            binders += 1;
        }
        let (managed_resources, ignored_resources) = managed(&extender, &mut managed_by_any, refusals);
        all.push(Extender {
            url_prefix: extender.text("urlPrefix", refusals).unwrap_or_default(),
            filter_verb: verb("filterVerb", refusals),
            preempt_verb: verb("preemptVerb", refusals),
            managed_resources,
            ignored_resources,
            ignorable: extender.flag("ignorable", refusals),
            node_cache_capable: extender.flag("nodeCacheCapable", refusals),
        });
    }
    if binders > 1
        && let Some(at) = config.get("extenders")
    {
        let found = format!("extenders: Invalid value: \"found {binders} extenders implementing bind\"");
        refusals.at(at, format!("{found}: only one extender can implement bind"));
    }
    all
}

fn managed(extender: &Object<'_>, by_any: &mut Vec<String>, refusals: &mut Refusals) -> (Vec<String>, Vec<String>) {
    let (mut names, mut ignored) = (Vec::new(), Vec::new());
    for item in extender.items("managedResources", refusals) {
        let resource = item.object(refusals);
        resource.only(&["name", "ignoredByScheduler"], refusals);
        let Some(name) = resource.text("name", refusals) else { continue };
        if by_any.contains(&name) {
            refusals.invalid(resource.get("name").unwrap_or(&item), "duplicate extender managed resource name");
        }
        if !name.contains('/') || name.contains("kubernetes.io/") {
            refusals.invalid(resource.get("name").unwrap_or(&item), "is an invalid extended resource name");
        }
        if resource.flag("ignoredByScheduler", refusals) {
            ignored.push(name.clone());
        }
        by_any.push(name.clone());
        names.push(name);
    }
    (names, ignored)
}
