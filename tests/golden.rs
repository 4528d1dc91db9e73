//! What the real scheduler of each release decided about several hundred clusters, pod by pod.
//!
//! The expectations were printed by the scheduler itself. Where this program differs, this program is wrong.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{compare, ndjson};
use preempt_audit::engine::cycle;
use preempt_audit::engine::framework::PodCycle;
use preempt_audit::engine::snapshot::Snapshot;
use preempt_audit::kube::behavior::Behavior;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::profile::Profile;
use preempt_audit::kube::release::{Release, Version};
use preempt_audit::load;
use preempt_audit::load::scheduler_config::SchedulerConfig;
use preempt_audit::model::cluster::Cluster;
use preempt_audit::report::view::View;
use preempt_audit::source::files::FileTable;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A case, loaded once for every release.
struct Case {
    id: String,
    pods: Vec<String>,
    cluster: Cluster,
    config: Option<String>,
}

fn cases(path: &str) -> Vec<Case> {
    let case = |case: &Value| {
        let dump = serde_json::to_vec(&case["dump"]).unwrap();
        let loaded = load::load(&FileTable::from_bytes(vec![("dump.json".to_owned(), dump)]));
        Case {
            id: case["id"].as_str().unwrap().to_owned(),
            pods: case["pods"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect(),
            cluster: loaded.cluster,
            config: case.get("config").map(Value::to_string),
        }
    };
    ndjson(path).par_iter().map(case).collect()
}

/// The program's answers for the pods of a case, as the JSON report has them.
fn answers(case: &Case, release: Release, change: impl Fn(&mut Behavior)) -> Result<BTreeMap<String, Value>, String> {
    let gates = Gates::defaults(release);
    let mut cluster = case.cluster.clone();
    let profiles = match &case.config {
        None => vec![Profile::default_for(release, &gates)],
        Some(text) => {
            let text = as_read_by(release, text);
            let config = SchedulerConfig::read("config.yaml", &text).map_err(|problems| format!("{problems:?}"))?;
            let resolved = config.resolve(release, &gates, &mut cluster.symbols);
            resolved.map_err(|problems| format!("{problems:?}"))?.profiles.into_iter().map(|it| it.profile).collect()
        }
    };
    let mut behavior = Behavior::of(release, &gates);
    change(&mut behavior);
    let snapshot = Snapshot::new(Arc::new(cluster), Arc::new(behavior));
    let answer = |name: &String| {
        let (namespace, pod) = name.split_once('/').unwrap();
        let pod = snapshot.cluster.find_pod(namespace, pod).ok_or_else(|| format!("{name} is not in the cluster"))?;
        let wanted = snapshot.cluster.text(snapshot.cluster.pod(pod).spec.scheduler_name);
        let profile = profiles.iter().find(|it| it.scheduler_name == wanted).unwrap_or(&profiles[0]);
        let cycle = PodCycle { snapshot: &snapshot, pod, profile, changed: None };
        let outcome = cycle::schedule(&cycle);
        let report = View { cycle, outcome: &outcome }.report();
        Ok((name.clone(), serde_json::to_value(report).unwrap()))
    };
    case.pods.iter().map(answer).collect()
}

/// The configurations are written in v1; schedulers before 1.25 were given them in the version that they read.
fn as_read_by(release: Release, config: &str) -> String {
    let version = match release.minor {
        ..19 => "v1alpha2",
        19..22 => "v1beta1",
        22 => "v1beta2",
        23..25 => "v1beta3",
        25.. => "v1",
    };
    config.replace("kubescheduler.config.k8s.io/v1\"", &format!("kubescheduler.config.k8s.io/{version}\""))
}

/// Every difference of one case at one release, as readable lines; and how many pods were compared.
fn differences(case: &Case, expected: &Value, release: Release) -> (usize, Vec<String>) {
    let Some(results) = expected["results"].as_array() else { return (0, Vec::new()) };
    let wanted: Vec<&Value> = results.iter().filter(|it| it["outcome"] != "panic").collect();
    let got = match answers(case, release, |_| ()) {
        Ok(got) => got,
        Err(problem) => return (wanted.len(), vec![format!("{} at {release}: {problem}", case.id)]),
    };
    let mut out = Vec::new();
    for want in &wanted {
        let pod = want["pod"].as_str().unwrap();
        for difference in compare::differences(want, &got[pod]) {
            out.push(format!("{} {pod} at {release}: {difference}", case.id));
        }
    }
    (wanted.len(), out)
}

fn release_of(path: &Path) -> Release {
    let name = path.file_name().unwrap().to_str().unwrap().trim_end_matches(".ndjson.gz");
    Version::parse(name).unwrap().release
}

/// What the scheduler of one release decided, by case.
type Expected = BTreeMap<String, Value>;

fn expected(path: &Path) -> Expected {
    ndjson(path).into_iter().map(|it| (it["id"].as_str().unwrap().to_owned(), it)).collect()
}

/// Every release of a folder with its decisions, oldest first.
fn releases(folder: &str) -> Vec<(Release, Expected)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = files
        .filter(|path| !path.ends_with("cases.ndjson.gz"))
        .map(|path| (release_of(&path), expected(&path)))
        .collect();
    all.sort_by_key(|(release, _)| *release);
    all
}

fn hold(cases: &[Case], release: Release, expected: &Expected) -> (usize, Vec<String>) {
    let compared: Vec<(usize, Vec<String>)> = cases
        .par_iter()
        .filter_map(|case| expected.get(&case.id).map(|expected| differences(case, expected, release)))
        .collect();
    compared.into_iter().fold((0, Vec::new()), |(pods, mut all), (more, lines)| {
        all.extend(lines);
        (pods + more, all)
    })
}

fn hold_all(cases: &[Case], folder: &str, at_least: usize) {
    let mut wrong = Vec::new();
    for (release, expected) in releases(folder) {
        let (pods, lines) = hold(cases, release, &expected);
        assert!(pods >= at_least, "{release}: only {pods} pods were compared");
        wrong.extend(lines);
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn every_vector_of_every_release_is_exact() {
    assert_eq!(releases("tests/conformance/expected").len(), 20, "a release is missing");
    hold_all(&cases("tests/conformance/cases.ndjson.gz"), "tests/conformance/expected", 1000);
}

#[test]
fn every_written_vector_is_exact() {
    hold_all(&cases("tests/conformance/written/cases.ndjson.gz"), "tests/conformance/written", 1);
}

#[test]
fn storage_in_every_state_is_exact() {
    hold_all(&cases("tests/conformance/storage/cases.ndjson.gz"), "tests/conformance/storage", 150);
}

/// Where only a sample of the nodes is dry-run: every node that 1,000 runs of the scheduler nominated is among the outcomes,
/// and those that took most of the runs have a share that the draws allow.
#[test]
fn every_nomination_drawn_from_a_sample_is_among_the_outcomes() {
    let cases = cases("tests/conformance/sampled/cases.ndjson.gz");
    let mut drawn_nodes = 0;
    for (release, expected) in releases("tests/conformance/sampled") {
        for case in &cases {
            let got = answers(case, release, |_| ()).unwrap();
            for want in expected[&case.id]["results"].as_array().unwrap() {
                let Some(sampled) = want["sampled"].as_object() else { continue };
                let pod = want["pod"].as_str().unwrap();
                let outcomes = got[pod]["nominated"]["outcomes"].as_array().unwrap();
                let share = |node: &str| {
                    let outcome = outcomes.iter().find(|it| it["node"] == node);
                    outcome.unwrap_or_else(|| panic!("{} {pod}: {node} is not among the outcomes", case.id))["share"]
                        .clone()
                };
                for (node, draws) in sampled {
                    let (share, draws) = (share(node).as_f64().unwrap(), draws.as_f64().unwrap() / 1000.0);
                    assert!((0.0..=1.0).contains(&share), "{} {pod}: {node} has a share of {share}", case.id);
                    assert!((draws < 0.999) || share > 0.9, "{} {pod}: {node} always, got {share}", case.id);
                    drawn_nodes += 1;
                }
                let total: f64 = outcomes.iter().map(|it| it["share"].as_f64().unwrap()).sum();
                assert!((total - 1.0).abs() < 1e-6, "{} {pod}: the shares sum to {total}", case.id);
            }
        }
    }
    assert!(drawn_nodes > 100, "only {drawn_nodes} drawn nodes were looked at");
}

/// Everything there is to prove a field with: cases, and decisions by release.
struct Evidence {
    cases: BTreeMap<String, Case>,
    releases: BTreeMap<Release, Expected>,
}

impl Evidence {
    fn all() -> Self {
        let mut evidence = Evidence { cases: BTreeMap::new(), releases: BTreeMap::new() };
        for (path, folder) in [
            ("tests/conformance/cases.ndjson.gz", "tests/conformance/expected"),
            ("tests/conformance/written/cases.ndjson.gz", "tests/conformance/written"),
            ("tests/conformance/storage/cases.ndjson.gz", "tests/conformance/storage"),
        ] {
            evidence.cases.extend(cases(path).into_iter().map(|case| (case.id.clone(), case)));
            for (release, expected) in releases(folder) {
                evidence.releases.entry(release).or_default().extend(expected);
            }
        }
        evidence
    }

    /// Whether the vector fails when the field at this position takes any one of its other variants.
    fn fails_without(&self, position: usize, case: &str, release: Release) -> bool {
        let (Some(case), Some(expected)) =
            (self.cases.get(case), self.releases.get(&release).and_then(|it| it.get(case)))
        else {
            return false;
        };
        let Some(results) = expected["results"].as_array() else { return false };
        let (_, field) = Behavior::fields()[position];
        let is = Behavior::of(release, &Gates::defaults(release)).get(position);
        (0..field.variants.len()).filter(|variant| *variant != is).any(|variant| {
            let got = answers(case, release, |behavior| behavior.set(position, variant));
            got.is_ok_and(|got| {
                results.iter().any(|want| {
                    let pod = want["pod"].as_str().unwrap();
                    want["outcome"] != "panic" && !compare::differences(want, &got[pod]).is_empty()
                })
            })
        })
    }
}

/// Each field names the vector that fails when the field is decided otherwise; a few rules that no vector reaches name
/// the unit test that does.
#[test]
fn every_behaviour_field_is_proved_by_its_vector() {
    let evidence = Evidence::all();
    let unproved: Vec<String> = Behavior::fields()
        .into_par_iter()
        .enumerate()
        .filter_map(|(position, (group, field))| {
            let proved = match field.proof.split_once('@') {
                Some((case, release)) => {
                    let release = Version::parse(release).unwrap().release;
                    evidence.fails_without(position, case, release)
                }
                None => field.proof.strip_prefix("scenario:").is_some_and(names_a_test),
            };
            (!proved).then(|| format!("{group}.{}: {:?}", field.name, field.proof))
        })
        .collect();
    assert!(unproved.is_empty(), "{} fields:\n{}", unproved.len(), unproved.join("\n"));
}

/// Whether the source has a test function of this name.
fn names_a_test(name: &str) -> bool {
    let wanted = format!("fn {name}()");
    walkdir::WalkDir::new("src").into_iter().filter_map(Result::ok).any(|entry| {
        entry.path().extension().is_some_and(|it| it == "rs")
            && std::fs::read_to_string(entry.path()).unwrap().contains(&wanted)
    })
}

/// The categories of vectors that reach a group of fields.
fn categories(group: &str) -> &'static [&'static str] {
    match group {
        "frame" => &["daemonset", "config", "volumes", "nominated", "phases"],
        "volumes" => &["volumes", "legacyvolumes"],
        "preemption" => &["pdb", "ties", "sortties-s00", "nominated", "phases", "order", "resources-s00"],
        "texts" => {
            &["taints", "nodeaffinity-s00", "interpod-s00", "volumes", "daemonset", "resources-s00", "phases-s00"]
        }
        _ => &["mixed"],
    }
}

/// Prints a vector for each field that names none: to be run by hand when a field is new.
#[test]
#[ignore = "a search, not a check"]
fn search_for_proofs() {
    let evidence = Evidence::all();
    let unproved = Behavior::fields().into_par_iter().enumerate().filter(|(_, (_, field))| field.proof.is_empty());
    unproved.for_each(|(position, (group, field))| {
        let near = |case: &&String| categories(group).iter().any(|category| case.starts_with(category));
        let found = evidence.releases.iter().rev().find_map(|(release, expected)| {
            let case = expected.keys().filter(near).find(|case| evidence.fails_without(position, case, *release))?;
            Some(format!("{case}@{release}"))
        });
        println!("PROOF {group} {} {}", field.name, found.unwrap_or_default());
    });
}
