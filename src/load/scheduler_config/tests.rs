use super::*;
use crate::kube::gates::Gates;
use crate::kube::plugin::Plugin;
use crate::kube::release::Release;
use crate::model::symbols::Symbols;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn read(yaml: &str) -> SchedulerConfig {
    SchedulerConfig::read("scheduler.yaml", yaml).expect("a configuration")
}

/// What is said against a configuration: line and message of each problem.
fn refused(yaml: &str) -> Vec<(u64, String)> {
    let problems = SchedulerConfig::read("scheduler.yaml", yaml).expect_err("refused");
    problems.into_iter().map(|problem| (problem.line.expect("a line"), problem.message)).collect()
}

fn resolve(config: &SchedulerConfig, release: Release) -> Result<Resolved, Vec<Problem>> {
    config.resolve(release, &Gates::defaults(release), &mut Symbols::default())
}

fn resolved(yaml: &str) -> Resolved {
    resolve(&read(yaml), Release::of_minor(34)).expect("taken")
}

#[test]
fn an_empty_configuration_is_the_default_scheduler() {
    let resolved = resolved(HEAD);
    assert_eq!(resolved.profiles.len(), 1);
    let profile = &resolved.profiles[0].profile;
    let release = Release::of_minor(34);
    assert_eq!(profile.filters, crate::kube::profile::Profile::default_for(release, &Gates::defaults(release)).filters);
    assert_eq!(profile.scheduler_name, "default-scheduler");
    assert!(resolved.notes.is_empty());
}

#[test]
fn arguments_reach_the_profile() {
    let yaml = format!(
        "{HEAD}profiles:
- pluginConfig:
  - name: DefaultPreemption
    args: {{minCandidateNodesPercentage: 5, minCandidateNodesAbsolute: 2}}
  - name: NodeResourcesFit
    args: {{ignoredResources: [example.com/foo], ignoredResourceGroups: [vendor.example]}}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}}
      - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{{matchExpressions: [{{key: pool, operator: In, values: [a]}}]}}]
"
    );
    let resolved = resolved(&yaml);
    let profile = &resolved.profiles[0].profile;
    assert_eq!(profile.preemption.min_candidate_nodes_percentage, 5);
    assert_eq!(profile.preemption.min_candidate_nodes_absolute, 2);
    assert_eq!(profile.ignored_resources, ["example.com/foo"]);
    assert_eq!(profile.ignored_resource_groups, ["vendor.example"]);
    assert_eq!(profile.default_spread.len(), 1, "soft constraints only score");
    assert_eq!(profile.added_affinity.as_ref().map(|added| added.terms.len()), Some(1));
}

#[test]
fn foreign_plugins_and_extenders_are_named() {
    let yaml = format!(
        "{HEAD}profiles:
- plugins:
    filter:
      enabled: [{{name: Mine}}, {{name: NodePorts}}]
extenders:
- {{urlPrefix: http://gpu, filterVerb: filter, managedResources: [{{name: example.com/gpu, ignoredByScheduler: true}}]}}
"
    );
    let resolved = resolved(&yaml);
    assert_eq!(resolved.profiles[0].foreign, ["Mine"]);
    assert_eq!(resolved.profiles[0].profile.ignored_resources, ["example.com/gpu"]);
    assert_eq!(resolved.profiles[0].profile.filters[0], Plugin::NodePorts);
    let lines: Vec<_> = resolved.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [Some(6), Some(1)]);
}

#[test]
fn what_the_scheduler_refuses_is_refused_at_its_line() {
    let cases = [
        ("parallelism: 0\n", 3, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        (
            "percentageOfNodesToScore: 101\n",
            3,
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        ("profils: []\n", 3, "strict decoding error: unknown field \"profils\""),
        (
            "profiles:\n- schedulerName: a\n- schedulerName: a\n",
            5,
            "profiles[1].schedulerName: Duplicate value: \"profiles[0].schedulerName\"",
        ),
        ("profiles:\n- schedulerName: a\n- plugins: {}\n", 5, "profiles[1].schedulerName: Required value"),
        (
            "profiles:\n- plugins:\n    filter:\n      enable: []\n",
            6,
            "strict decoding error: unknown field \"profiles[0].plugins.filter.enable\"",
        ),
        ("profiles: {}\n", 3, "profiles must be a list"),
    ];
    for (yaml, line, message) in cases {
        assert_eq!(refused(&format!("{HEAD}{yaml}"))[0], (line, message.to_owned()), "{yaml}");
    }
}

#[test]
fn preemption_arguments_may_not_both_be_zero() {
    let yaml = format!(
        "{HEAD}profiles:\n- pluginConfig:\n  - name: DefaultPreemption\n    args:\n      minCandidateNodesPercentage: 0\n      minCandidateNodesAbsolute: 0\n"
    );
    let path = "profiles[0].pluginConfig[0].args";
    assert_eq!(
        refused(&yaml),
        [
            (
                7,
                format!(
                    "{path}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute"
                )
            ),
            (
                8,
                format!(
                    "{path}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage"
                )
            ),
        ]
    );
}

#[test]
fn default_constraints_need_the_list_type_and_no_selector() {
    let args = "    args:\n      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]\n";
    let yaml = format!("{HEAD}profiles:\n- pluginConfig:\n  - name: PodTopologySpread\n{args}");
    let messages: Vec<String> = refused(&yaml).into_iter().map(|(_, message)| message).collect();
    assert!(messages[0].ends_with("when .defaultConstraints are not empty"), "{messages:?}");
    assert!(messages[1].ends_with("as they deduced for each pod"), "{messages:?}");
}

#[test]
fn a_version_is_read_by_its_releases_only() {
    let refused = |version: &str, minor: u16| {
        let yaml = format!("apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n");
        resolve(&read(&yaml), Release::of_minor(minor)).is_err()
    };
    assert!(refused("v1", 24) && !refused("v1", 25));
    assert!(!refused("v1beta3", 28) && refused("v1beta3", 29));
    assert!(!refused("v1beta2", 22) && refused("v1beta2", 28));
    assert!(!refused("v1beta1", 20) && refused("v1beta1", 23));
    assert_eq!(self::refused("apiVersion: kubescheduler.config.k8s.io/v2\nkind: KubeSchedulerConfiguration\n")[0].0, 1);
}

#[test]
fn a_config_map_holds_it_on_its_own_lines() {
    let block =
        format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  scheduler.yaml: |\n{}", indented("parallelism: -1\n"));
    assert_eq!(refused(&block)[0].0, 7);
    let quoted = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\n\"data\":{\"a\":\"apiVersion: kubescheduler.config.k8s.io/v1\\nkind: KubeSchedulerConfiguration\\nparallelism: -1\\n\"}}";
    assert_eq!(refused(quoted)[0].0, 2);
    let good = format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  scheduler.yaml: |\n{}", indented("parallelism: 3\n"));
    assert_eq!(read(&good).parallelism, 3);
}

fn indented(more: &str) -> String {
    format!("{HEAD}{more}").lines().map(|line| format!("    {line}\n")).collect()
}

#[test]
fn what_holds_no_configuration_is_refused() {
    for text in ["", "kind: Pod\n", "{}", "[]", "a: b: c", "kind: ConfigMap\n", "\u{0}"] {
        assert!(SchedulerConfig::read("x", text).is_err(), "{text:?}");
    }
    assert_eq!(refused(&format!("{HEAD}---\n{HEAD}"))[0].0, 4);
}

#[test]
fn plugin_sets_that_upstream_refuses_are_refused_at_the_plugin() {
    let yaml = format!("{HEAD}profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: PrioritySort\n");
    let problems = resolve(&read(&yaml), Release::of_minor(34)).expect_err("refused");
    assert_eq!(problems[0].line, Some(7));
    assert_eq!(
        problems[0].message,
        "profile default-scheduler: plugin \"PrioritySort\" does not extend FilterPlugin plugin"
    );
}
