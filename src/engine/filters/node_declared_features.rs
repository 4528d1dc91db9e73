//! Rejects a node that does not declare a feature the pod needs (1.36 and newer, behind a gate in 1.35).
//! Upstream: `nodedeclaredfeatures`. Preemption cannot help, so the code is unresolvable.

use crate::engine::framework::{Code, FilterPlugin, Gaps, Minds, PodCycle, PodFilter, PreFilter, Rejection, Verdict};
use crate::engine::node_view::NodeView;
use crate::kube::behavior::DeclaredFeatures;
use crate::kube::plugin::Plugin;
use crate::model::cluster::Cluster;
use crate::model::id::Symbol;
use crate::model::pod::FeatureNeeds;

/// The plugin.
pub(crate) struct NodeDeclaredFeatures;

impl FilterPlugin for NodeDeclaredFeatures {
    fn plugin(&self) -> Plugin {
        Plugin::NodeDeclaredFeatures
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, _gaps: &mut Gaps) -> PreFilter<'a> {
        let behavior = cycle.snapshot.behavior.requests.declared_features;
        let needed = needed_features(cycle.incoming().spec.needs, behavior);
        if needed.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Run { filter: Box::new(Needs { needed, behavior }), nodes: None }
    }
}

/// The names of the features that this release infers from the pod.
fn needed_features(needs: FeatureNeeds, behavior: DeclaredFeatures) -> Vec<&'static str> {
    let (user_namespaces, bind_mounts) = match behavior {
        DeclaredFeatures::RestartAllContainers => (false, false),
        DeclaredFeatures::UserNamespaces => (true, false),
        DeclaredFeatures::BindMountOptions => (true, true),
    };
    let all = [
        ("RestartAllContainersOnContainerExits", needs.restart_all_containers),
        ("UserNamespacesHostNetworkSupport", needs.user_namespaces_host_network && user_namespaces),
        ("VolumeBindMountOptions", needs.volume_bind_mount_options && bind_mounts),
    ];
    all.into_iter().filter(|it| it.1).map(|it| it.0).collect()
}

#[derive(Clone)]
struct Needs {
    needed: Vec<&'static str>,
    behavior: DeclaredFeatures,
}

impl Needs {
    fn is_declared(&self, feature: &str, declared: &[Symbol], cluster: &Cluster) -> bool {
        let mut names = declared.iter().map(|name| cluster.text(*name));
        match self.behavior {
            DeclaredFeatures::RestartAllContainers => names.any(|name| name == feature),
            // Upstream walks both lists as sorted ones, so that a greater name before this one hides it.
            DeclaredFeatures::UserNamespaces | DeclaredFeatures::BindMountOptions => {
                names.find(|name| *name >= feature) == Some(feature)
            }
        }
    }
}

impl PodFilter for Needs {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        let declared = &view.node().declared_features;
        if self.needed.iter().all(|feature| self.is_declared(feature, declared, view.cluster())) {
            Verdict::Fits
        } else {
            Verdict::Rejects(Rejection::MissingFeatures, Code::Unresolvable)
        }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::check;

    const RESTARTS: &str = r#"spec.containers.0.restartPolicyRules:[{"action":"RestartAllContainers"}]"#;

    fn text(declared: &str) -> String {
        format!("node a status.declaredFeatures:{declared}\nwant w {RESTARTS}")
    }

    #[test]
    fn a_node_declares_what_the_pod_needs() {
        check(36, &text(r#"["RestartAllContainersOnContainerExits"]"#), "fits a");
        check(36, &text("[]"), "no candidates");
        check(35, &text("[]"), "fits a");
    }

    #[test]
    fn an_unsorted_list_hides_a_name_behind_a_greater_one() {
        check(36, &text(r#"["Aa","RestartAllContainersOnContainerExits"]"#), "fits a");
        check(36, &text(r#"["Zz","RestartAllContainersOnContainerExits"]"#), "no candidates");
    }
}
