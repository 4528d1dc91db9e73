//! Pods that run kube-scheduler: their images and command lines, which no other pod is asked for.

use crate::kube::detect::SchedulerContainer;
use crate::model::cluster::Cluster;
use crate::source::files::FileTable;
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Deserialize)]
struct RawPod<'b> {
    #[serde(borrow, default)]
    spec: RawSpec<'b>,
}

#[derive(Default, Deserialize)]
struct RawSpec<'b> {
    #[serde(borrow, default)]
    containers: Vec<RawContainer<'b>>,
}

#[derive(Deserialize)]
struct RawContainer<'b> {
    #[serde(borrow, default)]
    image: Cow<'b, str>,
    #[serde(borrow, default)]
    command: Vec<Cow<'b, str>>,
    #[serde(borrow, default)]
    args: Vec<Cow<'b, str>>,
}

/// Whether a pod of this name may run kube-scheduler.
pub(super) fn may_run_one(name: &str) -> bool {
    name.contains("scheduler")
}

/// What the containers of kube-scheduler say, in the order of their pods. Only pods that are named for it are looked at.
pub fn schedulers(files: &FileTable, cluster: &Cluster) -> Vec<SchedulerContainer> {
    let named = cluster.pods.iter().filter(|pod| may_run_one(cluster.text(pod.name)) && !pod.is_terminal());
    let mut found = Vec::new();
    for pod in named {
        let Some(file) = files.files.get(pod.origin.file.index()) else { continue };
        let text = file.text_at(pod.origin.offset);
        let mut documents = serde_json::Deserializer::from_slice(text.unwrap_or_default()).into_iter::<RawPod<'_>>();
        let Some(Ok(pod)) = documents.next() else { continue };
        for container in &pod.spec.containers {
            let words: Vec<&str> = container.command.iter().chain(&container.args).map(AsRef::as_ref).collect();
            found.extend(SchedulerContainer::read(&container.image, &words));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::release::{Release, Version};

    #[test]
    fn a_static_pod_of_kube_scheduler_is_found_among_others() {
        let pod = |name: &str, image: &str| {
            format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"kube-system"}},
                "spec":{{"containers":[{{"name":"c","image":"{image}","command":["kube-scheduler","--feature-gates=A=true"]}}]}}}}"#
            )
        };
        let text =
            format!("{}\n{}", pod("web", "web:1"), pod("kube-scheduler-cp", "registry.k8s.io/kube-scheduler:v1.29.3"));
        let files = FileTable::from_bytes(vec![("dump.json".to_owned(), text.into_bytes())]);
        let found = schedulers(&files, &crate::load::load(&files).cluster);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].version, Some(Version::exact(Release::new(29, 3))));
        assert_eq!(found[0].feature_gates.as_deref(), Some("A=true"));
    }
}
