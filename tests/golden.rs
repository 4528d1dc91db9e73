//! What the real scheduler of each release decided about several hundred clusters, pod by pod.
//!
//! The expectations were printed by the scheduler itself. Where this program differs, this program is wrong.

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
        let cycle = PodCycle { snapshot: &snapshot, pod, profile };
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

fn hold(cases: &[Case], expected: &Path) -> (usize, Vec<String>) {
    let release = release_of(expected);
    let by_id: BTreeMap<String, Value> =
        ndjson(expected).into_iter().map(|it| (it["id"].as_str().unwrap().to_owned(), it)).collect();
    let compared: Vec<(usize, Vec<String>)> = cases
        .par_iter()
        .filter_map(|case| by_id.get(&case.id).map(|expected| differences(case, expected, release)))
        .collect();
    compared.into_iter().fold((0, Vec::new()), |(pods, mut all), (more, lines)| {
        all.extend(lines);
        (pods + more, all)
    })
}

#[test]
fn every_vector_of_every_release_is_exact() {
    let cases = cases("tests/conformance/cases.ndjson.gz");
    let mut files: Vec<_> =
        std::fs::read_dir("tests/conformance/expected").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 20, "a release is missing");
    let mut wrong = Vec::new();
    for file in &files {
        let (pods, lines) = hold(&cases, file);
        assert!(pods > 1000, "{}: only {pods} pods were compared", file.display());
        wrong.extend(lines);
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// Vectors for rules that the others never touch. Only the newest releases could be asked.
#[test]
fn every_written_vector_is_exact() {
    let cases = cases("tests/conformance/written/cases.ndjson.gz");
    for release in ["1.34.4", "1.35.4", "1.36.3", "1.37.2"] {
        let (pods, wrong) = hold(&cases, Path::new(&format!("tests/conformance/written/{release}.ndjson.gz")));
        assert!(pods > 20, "{release}: only {pods} pods were compared");
        assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    }
}
