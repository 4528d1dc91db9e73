//! Which release a dump comes from: what a scheduler's pod, the API server and the kubelets say.

use super::release::{Release, Version};

/// What a container of kube-scheduler says by its image and its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerContainer {
    /// The version in the image's tag.
    pub version: Option<Version>,
    /// `--feature-gates`, joined by commas.
    pub feature_gates: Option<String>,
    /// `--config`: the configuration file, as the container sees it.
    pub config_path: Option<String>,
    /// `--emulated-version`: the release whose gate defaults it uses.
    pub emulated_version: Option<Version>,
    /// Other flags that change decisions, with their values; what they do is not computed.
    pub other_flags: Vec<String>,
}

/// Flags of old releases that change what a scheduler decides. Upstream: `cmd/kube-scheduler/app/options`.
const DECIDING_FLAGS: [&str; 6] = [
    "policy-config-file",
    "policy-configmap",
    "algorithm-provider",
    "use-legacy-policy-config",
    "scheduler-name",
    "hard-pod-affinity-symmetric-weight",
];

impl SchedulerContainer {
    /// Reads a container: `None` if it does not run kube-scheduler. The command line is `command` followed by `args`.
    pub fn read(image: &str, command_line: &[&str]) -> Option<Self> {
        // Some distributions start it from a shell: `sh -c "kube-scheduler --config=… 2>&1"`.
        let words: Vec<&str> = command_line.iter().flat_map(|word| word.split_whitespace()).collect();
        let is_scheduler = |path: &str| path.rsplit('/').next() == Some("kube-scheduler");
        let (name, tag) = split_image(image);
        let named = name.rsplit('/').next().is_some_and(|last| last.starts_with("kube-scheduler"));
        if !named && !words.iter().any(|word| is_scheduler(word)) {
            return None;
        }
        let mut found = SchedulerContainer {
            version: tag.and_then(|tag| Version::parse(tag).ok()),
            ..SchedulerContainer::default()
        };
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--") else { continue };
            let (flag, value) = match flag.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (flag, words.next_if(|next| !next.starts_with('-'))),
            };
            found.take(flag, value.map_or("", |value| value.trim_matches(['"', '\''])));
        }
        Some(found)
    }

    fn take(&mut self, flag: &str, value: &str) {
        match flag {
            "config" => self.config_path = Some(value.to_owned()),
            "feature-gates" => match &mut self.feature_gates {
                Some(gates) => {
                    gates.push(',');
                    gates.push_str(value);
                }
                None => self.feature_gates = Some(value.to_owned()),
            },
            "emulated-version" => {
                self.emulated_version = Version::parse(value.strip_prefix("kube:").unwrap_or(value)).ok();
            }
            _ if DECIDING_FLAGS.contains(&flag) => self.other_flags.push(format!("--{flag}={value}")),
            _ => {}
        }
    }
}

/// Name and tag of an image; a digest is dropped. The port of a registry is no tag.
fn split_image(image: &str) -> (&str, Option<&str>) {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        Some(_) | None => (image, None),
    }
}

/// Where a version was found, surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The image of kube-scheduler's pod.
    SchedulerPod,
    /// `kubectl version`: the API server, which the scheduler may trail by one minor release.
    ServerVersion,
    /// The newest kubelet: no newer than the scheduler, and up to three minor releases older.
    Kubelet,
    /// Nothing in the dump says it: the newest known release.
    Nothing,
}

/// A version, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The version.
    pub version: Version,
    /// Where it was found.
    pub source: Source,
    /// Versions of that source differ, and this is the newest.
    pub mixed: bool,
}

/// The release that a dump most likely comes from. Each list holds the versions that a source names.
pub fn version<'t>(
    scheduler_pods: impl IntoIterator<Item = Version>,
    server_versions: impl IntoIterator<Item = &'t str>,
    kubelets: impl IntoIterator<Item = &'t str>,
) -> Detected {
    fn parsed<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<Version> {
        texts.into_iter().filter_map(|text| Version::parse(text).ok()).collect()
    }
    let sources = [
        (Source::SchedulerPod, scheduler_pods.into_iter().collect()),
        (Source::ServerVersion, parsed(server_versions)),
        (Source::Kubelet, parsed(kubelets)),
    ];
    let named = sources.iter().find_map(|(source, versions)| Some((*source, newest(versions)?, versions)));
    match named {
        Some((source, version, all)) => {
            let mixed = all.iter().any(|other| other.release != version.release);
            Detected { version, source, mixed }
        }
        None => {
            let version = Version::exact(Release::newest());
            Detected { version, source: Source::Nothing, mixed: false }
        }
    }
}

fn newest(versions: &[Version]) -> Option<Version> {
    versions.iter().copied().max_by_key(|version| version.release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_pod_tells_version_gates_and_configuration() {
        let command =
            ["kube-scheduler", "--config=/etc/kubernetes/scheduler.yaml", "--feature-gates=A=true,B=false", "--v=2"];
        let found = SchedulerContainer::read("registry.k8s.io/kube-scheduler:v1.29.3", &command).expect("a scheduler");
        assert_eq!(found.version, Some(Version::exact(Release::new(29, 3))));
        assert_eq!(found.config_path.as_deref(), Some("/etc/kubernetes/scheduler.yaml"));
        assert_eq!(found.feature_gates.as_deref(), Some("A=true,B=false"));
        assert!(found.other_flags.is_empty());
    }

    #[test]
    fn a_scheduler_is_known_by_its_image_or_its_command() {
        assert_eq!(SchedulerContainer::read("registry.k8s.io/kube-apiserver:v1.29.3", &["kube-apiserver"]), None);
        let shell = ["/bin/sh", "-c", "/usr/local/bin/kube-scheduler --config /etc/s.yaml 2>&1 | tee /var/log/s.log"];
        let found = SchedulerContainer::read("localhost:5000/hyperkube@sha256:0123", &shell).expect("a scheduler");
        assert_eq!((found.version, found.config_path.as_deref()), (None, Some("/etc/s.yaml")));
        let amd64 = SchedulerContainer::read("k8s.gcr.io/kube-scheduler-amd64:v1.18.2", &[]).expect("a scheduler");
        assert_eq!(amd64.version, Some(Version::exact(Release::new(18, 2))));
    }

    #[test]
    fn flags_of_a_policy_are_named() {
        let command = ["kube-scheduler", "--policy-config-file=/etc/policy.json", "--feature-gates", "A=true"];
        let found = SchedulerContainer::read("kube-scheduler:v1.20.4", &command).expect("a scheduler");
        assert_eq!(found.other_flags, ["--policy-config-file=/etc/policy.json"]);
        assert_eq!(found.feature_gates.as_deref(), Some("A=true"));
    }

    #[test]
    fn the_surest_source_counts_and_its_newest_version() {
        let pod = Version::exact(Release::new(28, 1));
        assert_eq!(version([pod], ["v1.30.0"], ["v1.27.3"]).version, pod);
        let by_kubelet = version([], [], ["v1.29.7-gke.1", "v1.30.4-eks-a737599", "garbage"]);
        assert_eq!(by_kubelet.version.release, Release::new(30, 4));
        assert!(by_kubelet.mixed && by_kubelet.source == Source::Kubelet);
        assert_eq!(version([], [], []).source, Source::Nothing);
    }
}
