//! Plugin arguments. Upstream: `types_pluginargs.go`, `validation/validation_pluginargs.go`.

use super::located::{At, Object};
use super::{Args, Refusals, SpreadDefault};
use crate::kube::plugin_set::{CONFIG_GROUP, ConfigVersion};
use crate::kube::profile::PreemptionArgs;
use crate::load::names;

/// Reads `pluginConfig` of a profile.
pub(super) fn read(profile: &Object<'_>, version: ConfigVersion, refusals: &mut Refusals) -> Args {
    let mut args = Args::default();
    let mut seen: Vec<String> = Vec::new();
    for item in profile.items("pluginConfig", refusals) {
        let entry = item.object(refusals);
        entry.only(&["name", "args"], refusals);
        let Some(name) = entry.text("name", refusals) else { continue };
        if seen.contains(&name) {
            refusals.at(&item, format!("{}: Duplicate value: \"{name}\"", item.path));
        }
        if let Some(given) = entry.object("args", refusals) {
            if version <= ConfigVersion::V1Alpha2 {
                args.take_untyped(&name, &given, refusals);
            } else {
                args.take(&name, &given, version, refusals);
            }
        }
        seen.push(name);
    }
    args
}

impl Args {
    /// Up to v1alpha2 arguments had no type: a plugin read the fields it knew and passed over all others.
    fn take_untyped(&mut self, plugin: &str, given: &Object<'_>, refusals: &mut Refusals) {
        match plugin {
            "NodeResourcesFit" => self.ignored_resources = given.texts("ignoredResources", refusals),
            "PodTopologySpread" => {
                let mut before = Vec::new();
                let items = given.items("defaultConstraints", refusals);
                self.default_spread = items.iter().filter_map(|item| constraint(item, &mut before, refusals)).collect();
            }
            _ => {}
        }
    }

    fn take(&mut self, plugin: &str, given: &Object<'_>, version: ConfigVersion, refusals: &mut Refusals) {
        match plugin {
            "DefaultPreemption" => self.preemption = preemption(given, version, refusals),
            "NodeAffinity" => self.added_affinity = added_affinity(given, version, refusals),
            "NodeResourcesFit" => {
                check_type(given, "NodeResourcesFitArgs", version, refusals);
                fields(given, &["ignoredResources", "ignoredResourceGroups", "scoringStrategy"], refusals);
                self.ignored_resources = label_names(given, "ignoredResources", false, refusals);
                self.ignored_resource_groups = label_names(given, "ignoredResourceGroups", true, refusals);
            }
            "PodTopologySpread" => self.default_spread = default_spread(given, version, refusals),
            "InterPodAffinity" => {
                if let Some(weight) = given.integer("hardPodAffinityWeight", refusals)
                    && !(0..=100).contains(&weight)
                {
                    refuse_member(given, "hardPodAffinityWeight", "not in valid range [0, 100]", refusals);
                }
            }
            "VolumeBinding" if given.integer("bindTimeoutSeconds", refusals).is_some_and(|seconds| seconds < 0) => {
                let why = "invalid BindTimeoutSeconds, should not be a negative value";
                refuse_member(given, "bindTimeoutSeconds", why, refusals);
            }
            _ => {}
        }
    }
}

fn refuse_member(given: &Object<'_>, name: &str, why: &str, refusals: &mut Refusals) {
    refusals.invalid(given.get(name).unwrap_or(given.at()), why);
}

/// `apiVersion` and `kind` may be left out, and must be right where they are not.
fn check_type(given: &Object<'_>, kind: &str, version: ConfigVersion, refusals: &mut Refusals) {
    let wanted = format!("{CONFIG_GROUP}/{}", version.name());
    for (name, wanted) in [("apiVersion", wanted.as_str()), ("kind", kind)] {
        if let Some(found) = given.text(name, refusals)
            && found != wanted
        {
            let at = given.get(name).unwrap_or(given.at());
            refusals.at(at, format!("{}: is {found}, and must be {wanted}", at.path));
        }
    }
}

fn fields(given: &Object<'_>, own: &[&str], refusals: &mut Refusals) {
    let known: Vec<&str> = own.iter().copied().chain(["apiVersion", "kind"]).collect();
    given.only(&known, refusals);
}

fn preemption(given: &Object<'_>, version: ConfigVersion, refusals: &mut Refusals) -> PreemptionArgs {
    const PERCENTAGE: &str = "minCandidateNodesPercentage";
    const ABSOLUTE: &str = "minCandidateNodesAbsolute";
    check_type(given, "DefaultPreemptionArgs", version, refusals);
    fields(given, &[PERCENTAGE, ABSOLUTE], refusals);
    let mut args = PreemptionArgs::default();
    if let Some(percentage) = given.integer(PERCENTAGE, refusals) {
        args.min_candidate_nodes_percentage = percentage;
        if !(0..=100).contains(&percentage) {
            refuse_member(given, PERCENTAGE, "not in valid range [0, 100]", refusals);
        }
    }
    if let Some(absolute) = given.integer(ABSOLUTE, refusals) {
        args.min_candidate_nodes_absolute = absolute;
        if absolute < 0 {
            refuse_member(given, ABSOLUTE, "not in valid range [0, inf)", refusals);
        }
    }
    if args.min_candidate_nodes_percentage == 0 && args.min_candidate_nodes_absolute == 0 {
        let why = format!("cannot be zero at the same time as {ABSOLUTE}");
        refuse_member(given, PERCENTAGE, &why, refusals);
        let why = format!("cannot be zero at the same time as {PERCENTAGE}");
        refuse_member(given, ABSOLUTE, &why, refusals);
    }
    args
}

fn added_affinity(given: &Object<'_>, version: ConfigVersion, refusals: &mut Refusals) -> Option<(String, u64)> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    check_type(given, "NodeAffinityArgs", version, refusals);
    fields(given, &["addedAffinity"], refusals);
    let added = given.object("addedAffinity", refusals)?;
    added.only(&[REQUIRED, PREFERRED], refusals);
    let required = added.object(REQUIRED, refusals)?;
    required.only(&["nodeSelectorTerms"], refusals);
    for item in required.items("nodeSelectorTerms", refusals) {
        let term = item.object(refusals);
        term.only(&["matchExpressions", "matchFields"], refusals);
        for list in ["matchExpressions", "matchFields"] {
            for requirement in term.items(list, refusals) {
                check_requirement(&requirement, list == "matchFields", refusals);
            }
        }
    }
    Some((required.at().json.to_owned(), required.at().line))
}

/// Upstream: `component-helpers/scheduling/corev1/nodeaffinity` NewNodeSelector.
fn check_requirement(at: &At<'_>, field: bool, refusals: &mut Refusals) {
    let requirement = at.object(refusals);
    requirement.only(&["key", "operator", "values"], refusals);
    let key = requirement.text("key", refusals).unwrap_or_default();
    let operator = requirement.text("operator", refusals).unwrap_or_default();
    let values = requirement.texts("values", refusals);
    let why = match operator.as_str() {
        _ if field && key != "metadata.name" => "not a valid field selector key",
        "In" | "NotIn" if field && values.len() != 1 => "must have one element",
        "In" | "NotIn" if values.is_empty() => "for 'in', 'notin' operators, values set can't be empty",
        "In" | "NotIn" => return,
        _ if field => "not a valid selector operator",
        "Exists" | "DoesNotExist" if !values.is_empty() => "values set must be empty for exists and does not exist",
        "Exists" | "DoesNotExist" => return,
        "Gt" | "Lt" if values.len() != 1 => "for 'Gt', 'Lt' operators, exactly one value is required",
        "Gt" | "Lt" if crate::model::selector::parse_go_int(&values[0]).is_none() => {
            "for 'Gt', 'Lt' operators, the value must be an integer"
        }
        "Gt" | "Lt" => return,
        _ => "not a valid selector operator",
    };
    refusals.invalid(at, why);
}

/// Upstream: `metav1validation.ValidateLabelName`.
fn label_names(given: &Object<'_>, name: &str, group: bool, refusals: &mut Refusals) -> Vec<String> {
    let mut all = Vec::new();
    for item in given.items(name, refusals) {
        let Some(text) = item.text(refusals) else { continue };
        if group && text.contains('/') {
            refusals.invalid(&item, "resource group name can't contain '/'");
        }
        if !names::is_qualified(&text) {
            refusals.invalid(&item, "must be a qualified name");
        }
        all.push(text);
    }
    all
}

fn default_spread(given: &Object<'_>, version: ConfigVersion, refusals: &mut Refusals) -> Vec<SpreadDefault> {
    check_type(given, "PodTopologySpreadArgs", version, refusals);
    fields(given, &["defaultConstraints", "defaultingType"], refusals);
    let items = given.items("defaultConstraints", refusals);
    let defaulting = given.text("defaultingType", refusals).filter(|text| !text.is_empty());
    match defaulting.as_deref() {
        Some("List") => {}
        Some("System") | None => {
            // Up to v1beta1 a list was taken without being asked for.
            if !items.is_empty() && (version >= ConfigVersion::V1Beta2 || defaulting.is_some()) {
                let at = given.get("defaultingType").unwrap_or(given.at());
                let path = format!("{}.defaultingType", given.at().path);
                let message = format!("{path}: Invalid value: \"System\": when .defaultConstraints are not empty");
                refusals.with_help(at, message, Some("set `defaultingType: List`".to_owned()));
            }
        }
        Some(_) => {
            refuse_member(given, "defaultingType", "supported values: \"List\", \"System\"", refusals);
        }
    }
    let mut all: Vec<(String, String)> = Vec::new();
    items.iter().filter_map(|item| constraint(item, &mut all, refusals)).collect()
}

fn constraint(item: &At<'_>, before: &mut Vec<(String, String)>, refusals: &mut Refusals) -> Option<SpreadDefault> {
    const FIELDS: [&str; 8] = [
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "labelSelector",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "matchLabelKeys",
    ];
    let given = item.object(refusals);
    given.only(&FIELDS, refusals);
    let max_skew = given.integer("maxSkew", refusals).unwrap_or(0);
    if max_skew <= 0 {
        refuse_member(&given, "maxSkew", "not in valid range (0, inf)", refusals);
    }
    let topology_key = given.text("topologyKey", refusals).unwrap_or_default();
    if topology_key.is_empty() {
        refusals.at(item, format!("{}.topologyKey: Required value: can not be empty", item.path));
    } else if !names::is_qualified(&topology_key) {
        refuse_member(&given, "topologyKey", "must be a qualified name", refusals);
    }
    let action = given.text("whenUnsatisfiable", refusals).unwrap_or_default();
    match action.as_str() {
        "DoNotSchedule" | "ScheduleAnyway" => {}
        "" => refusals.at(item, format!("{}.whenUnsatisfiable: Required value: can not be empty", item.path)),
        _ => {
            let why = "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"";
            refuse_member(&given, "whenUnsatisfiable", why, refusals);
        }
    }
    if let Some(selector) = given.get("labelSelector") {
        let why = "constraint must not define a selector, as they deduced for each pod";
        refusals.at(selector, format!("{}: Forbidden: {why}", selector.path));
    }
    let same = (topology_key, action);
    if before.contains(&same) {
        refusals.at(item, format!("{}: Duplicate value: \"{{{}, {}}}\"", item.path, same.0, same.1));
    }
    let mut honors = |name: &str| given.text(name, refusals).map(|policy| policy == "Honor");
    let (honors_affinity, honors_taints) = (honors("nodeAffinityPolicy"), honors("nodeTaintsPolicy"));
    let min_domains = given.integer("minDomains", refusals);
    let hard = same.1 == "DoNotSchedule";
    let topology_key = same.0.clone();
    before.push(same);
    hard.then_some(SpreadDefault { max_skew, topology_key, min_domains, honors_affinity, honors_taints })
}
