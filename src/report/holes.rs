//! What the dump lacks, in words: what that could change, why it cannot, and how to get it.

use super::amount::plural;
use super::view::gap_text;
use crate::engine::framework::{Gap, GapEffect};
use crate::explain::holes::{Harmless, Readers};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Coverage, CoverageState, Kind};
use std::collections::BTreeSet;

/// The kubectl command that gets all objects of these kinds; nothing without kinds. It is one line, to be copied.
pub fn command(kinds: impl IntoIterator<Item = Kind>) -> Option<String> {
    let kinds: BTreeSet<Kind> = kinds.into_iter().collect();
    let resources: Vec<&str> = kinds.iter().map(|it| it.resource()).collect();
    let file = match resources.as_slice() {
        [] => return None,
        [one] => one.split('.').next().unwrap_or(one),
        _ => "rest",
    };
    let all = if kinds.iter().any(|it| it.is_namespaced()) { " -A" } else { "" };
    Some(format!("kubectl get {}{all} -o json > {file}.json", resources.join(",")))
}

/// The command that tells the API server's version.
pub const VERSION_COMMAND: &str = "kubectl version -o json > version.json";

/// The command that fills the gaps of an answer, where one can.
pub fn command_for(gaps: &[Gap]) -> Option<String> {
    command(kinds_for(gaps))
}

/// The kinds that would fill the gaps of an answer.
pub fn kinds_for(gaps: &[Gap]) -> BTreeSet<Kind> {
    gaps.iter().filter(|it| it.effect != GapEffect::NotModelled).map(|it| it.kind).collect()
}

/// What a gap does to an answer, in a sentence.
pub fn gap_sentence(cluster: &Cluster, gap: &Gap) -> String {
    let (kind, plugin) = (gap.kind.name(), gap.plugin.name());
    if matches!(gap.kind, Kind::Node | Kind::Pod) {
        return format!("The dump does not hold all {}: every sum may be wrong.", plural(kind));
    }
    if gap.kind == Kind::PodDisruptionBudget && gap.object.is_none() {
        return "Without the list of PodDisruptionBudgets nobody can tell whether one of them sends the preemption to \
                another pod or node."
            .to_owned();
    }
    let what = match gap.object {
        Some(object) => format!("{kind} {}", cluster.text(object)),
        None => format!("the list of {}", plural(kind)),
    };
    match gap.effect {
        GapEffect::NotModelled => format!("What {plugin} decides about {} is not computed.", plural(kind)),
        GapEffect::MayReject | GapEffect::MayDiffer | GapEffect::MayFreeLess => {
            format!("Without {what}, {plugin} is a guess: {}.", gap_text(gap.effect))
        }
    }
}

/// What the hole in a kind could change, in a sentence without a full stop.
pub fn changes(coverage: &Coverage) -> String {
    let kinds = plural(coverage.kind.name());
    let without = match coverage.state {
        CoverageState::Absent => format!("without {kinds}"),
        CoverageState::Truncated => format!("without the {kinds} that the list does not reach"),
        CoverageState::Present | CoverageState::Empty if coverage.rejected == 0 => {
            format!("without {kinds} that other objects tell of, or parts of them")
        }
        CoverageState::Rejected | CoverageState::Present | CoverageState::Empty => {
            format!("without the {} damaged {kinds}", coverage.rejected)
        }
    };
    format!("{without}, {}", effect(coverage.kind))
}

fn effect(kind: Kind) -> &'static str {
    match kind {
        Kind::Node => "nodes are missing that could be chosen, and every count of nodes is wrong",
        Kind::Pod => "nodes look emptier than they are and victims are missing: every sum may be wrong",
        Kind::PodDisruptionBudget => {
            "every eviction counts as violating no budget: another node or other victims may be chosen"
        }
        Kind::Namespace => "affinity terms that select namespaces by label are a guess",
        Kind::PersistentVolume => {
            "bound claims do not lead to the nodes and zones of their volumes, and others find no volume"
        }
        Kind::PersistentVolumeClaim => "a pod's claims are not found, and with them where it may run",
        Kind::StorageClass => "it is not known whether a claim waits for a node, and where its volume may be made",
        Kind::CsiNode => "it is not known how many volumes a node takes, and which drivers it has",
        Kind::CsiDriver => "it is not known which drivers tell their capacity, and whose limits count",
        Kind::CsiStorageCapacity => "it is not known whether a new volume finds room near a node",
        Kind::VolumeAttachment => "volumes that are attached without a pod do not count against a node's limit",
        Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
            "default spread constraints do not know which pods belong together"
        }
        Kind::ResourceClaim | Kind::ResourceSlice | Kind::DeviceTaintRule => {
            "it is not known which devices are free, and where"
        }
        Kind::DeviceClass => "it is not known whether an extended resource is served by devices",
        Kind::PriorityClass => "nothing changes: pods carry their priority themselves",
        Kind::PodGroup => "nothing changes: pod groups are read only behind a feature gate that is not computed",
        Kind::Event => "nothing changes: events tell what happened and decide nothing",
    }
}

/// The plugins of a profile that read a kind, by name.
pub fn plugin_names(readers: &Readers, runs: impl Fn(Plugin) -> bool) -> Vec<&'static str> {
    match readers {
        Readers::Everybody | Readers::Nobody => Vec::new(),
        Readers::Plugins(plugins) => plugins.iter().filter(|it| runs(**it)).map(|it| it.name()).collect(),
    }
}

/// Why a kind cannot matter.
pub fn harmless_text(why: Harmless) -> &'static str {
    match why {
        Harmless::NotRead => "no filter and no preemption reads it",
        Harmless::NotTried => "the scheduler does not try the pod",
        Harmless::NoPlugin => "the profile runs no plugin that reads it",
        Harmless::NeverPreempts => "the pod's preemptionPolicy is Never",
        Harmless::NobodyLower => "no pod of lower priority has a node",
        Harmless::Fits => "the pod fits without preemption",
        Harmless::Ineligible => "the pod may not preempt now",
        Harmless::NoCandidates => "preemption frees no node, with budgets or without",
        Harmless::NoNamespaceSelector => "no affinity term selects namespaces by label",
        Harmless::NoVolumes => "no volume that a filter looks at",
        Harmless::NoDefaultSpread => "the profile has no default spread constraint that filters",
        Harmless::OwnSpread => "the pod has spread constraints of its own",
        Harmless::NoDevices => "no devices are claimed",
        Harmless::NotAsked => "every node was decided without it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_asks_for_what_is_missing_and_nothing_else() {
        assert_eq!(command([]), None);
        let budgets = command([Kind::PodDisruptionBudget, Kind::PodDisruptionBudget]);
        assert_eq!(
            budgets.as_deref(),
            Some("kubectl get poddisruptionbudgets.policy -A -o json > poddisruptionbudgets.json")
        );
        assert_eq!(command([Kind::Node]).as_deref(), Some("kubectl get nodes -o json > nodes.json"));
        let both = command([Kind::Pod, Kind::Node]);
        assert_eq!(both.as_deref(), Some("kubectl get nodes,pods -A -o json > rest.json"));
    }
}
