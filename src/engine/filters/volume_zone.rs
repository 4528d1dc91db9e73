//! Rejects a node of another zone or region than the labels of a bound volume name. Upstream: `plugins/volumezone`.
//!
//! A node without any such label takes every volume. Claims of generic ephemeral volumes are passed over. Preemption never
//! helps.

use crate::engine::claims;
use crate::engine::framework::{
    Code, Fault, FilterPlugin, GapEffect, GapSet, Gaps, Minds, PodCycle, PodFilter, PreFilter, Rejection, Verdict,
};
use crate::engine::node_view::NodeView;
use crate::kube::behavior::{ZoneLabels, ZoneProblems};
use crate::kube::plugin::Plugin;
use crate::model::cluster::{Cluster, Kind};
use crate::model::id::Symbol;
use crate::model::labels::{self, LabelPairs};
use crate::model::volume::{BindingMode, Claim, Volume};

const PLUGIN: Plugin = Plugin::VolumeZone;
const BETA: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"];
const STABLE: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// The plugin.
pub(crate) struct VolumeZone;

impl FilterPlugin for VolumeZone {
    fn plugin(&self) -> Plugin {
        PLUGIN
    }

    fn pre_filter<'a>(&self, cycle: &PodCycle<'a>, gaps: &mut Gaps) -> PreFilter<'a> {
        let cluster = cycle.cluster();
        let behavior = &cycle.snapshot.behavior.volumes;
        let keys = Keys::new(cluster, behavior.zone_labels);
        let mut steps = Vec::new();
        let mut blind = GapSet::NONE;
        for one in claims::of_pod(cluster, cycle.incoming()).filter(|one| !one.ephemeral) {
            let found = one.claim.ok_or(Problem::ClaimMissing(one.name)).and_then(|claim| volume_of(cluster, claim));
            match found {
                Ok(Some(volume)) => steps.extend(keys.constraints(cluster, volume).into_iter().map(Step::Zone)),
                Ok(None) => {}
                Err(problem) => {
                    let (kind, object) = problem.missing();
                    if let Some(kind) = kind {
                        let effect = GapEffect::MayDiffer;
                        blind = blind.with(claims::note_missing(gaps, cluster, PLUGIN, kind, object, effect));
                    }
                    steps.push(Step::Problem(match behavior.zone_problems {
                        ZoneProblems::RejectsInPreFilter => {
                            return PreFilter::Reject(problem.rejection(), Code::Unresolvable);
                        }
                        ZoneProblems::RejectsNode => Verdict::Rejects(problem.rejection(), Code::Unresolvable),
                        ZoneProblems::ErrorOnNode => Verdict::Faults(problem.fault()),
                    }));
                }
            }
        }
        if steps.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Run { filter: Box::new(Filter { keys, steps, blind }), nodes: None }
    }
}

/// Why a claim leads to no volume.
#[derive(Clone, Copy)]
enum Problem {
    ClaimMissing(Symbol),
    VolumeMissing(Symbol),
    ClassMissing(Symbol),
    ClassWithoutMode(Symbol),
    NoClass,
    NoVolume,
}

impl Problem {
    /// The object that would have to be there.
    fn missing(self) -> (Option<Kind>, Option<Symbol>) {
        match self {
            Problem::ClaimMissing(name) => (Some(Kind::PersistentVolumeClaim), Some(name)),
            Problem::VolumeMissing(name) => (Some(Kind::PersistentVolume), Some(name)),
            Problem::ClassMissing(name) => (Some(Kind::StorageClass), Some(name)),
            Problem::ClassWithoutMode(_) | Problem::NoClass | Problem::NoVolume => (None, None),
        }
    }

    fn rejection(self) -> Rejection {
        match self {
            Problem::ClaimMissing(claim) => Rejection::ClaimMissing { plugin: PLUGIN, claim },
            Problem::VolumeMissing(volume) => Rejection::VolumeMissing { volume },
            Problem::ClassMissing(class) => Rejection::ClassMissing { class },
            Problem::ClassWithoutMode(class) => Rejection::ClassWithoutMode { class },
            Problem::NoClass => Rejection::ClaimWithoutClass,
            Problem::NoVolume => Rejection::ClaimWithoutVolume,
        }
    }

    fn fault(self) -> Fault {
        match self {
            Problem::ClaimMissing(claim) => Fault::ClaimMissing { plugin: PLUGIN, claim },
            Problem::VolumeMissing(volume) => Fault::VolumeMissing { plugin: PLUGIN, volume },
            Problem::ClassMissing(class) | Problem::ClassWithoutMode(class) => {
                Fault::Class { plugin: PLUGIN, class: Some(class) }
            }
            Problem::NoClass => Fault::Class { plugin: PLUGIN, class: None },
            Problem::NoVolume => Fault::UnboundImmediateClaims,
        }
    }
}

/// The volume of a claim; `None` where the claim waits for its pod's node.
fn volume_of<'c>(cluster: &'c Cluster, claim: &Claim) -> Result<Option<&'c Volume>, Problem> {
    if let Some(name) = claim.volume_name {
        return cluster.storage.volume(name).map(Some).ok_or(Problem::VolumeMissing(name));
    }
    let name = claims::class_name(cluster, claim).ok_or(Problem::NoClass)?;
    let class = cluster.storage.class(name).ok_or(Problem::ClassMissing(name))?;
    match class.binding_mode {
        None => Err(Problem::ClassWithoutMode(name)),
        Some(BindingMode::WaitForFirstConsumer) => Ok(None),
        Some(BindingMode::Immediate | BindingMode::Other) => Err(Problem::NoVolume),
    }
}

/// The label keys that are compared; a key that no object uses is left out.
#[derive(Clone)]
struct Keys {
    /// Each with the key that answers for it on a node without it.
    keys: Vec<(Symbol, Option<Symbol>)>,
}

impl Keys {
    fn new(cluster: &Cluster, labels: ZoneLabels) -> Self {
        let symbol = |key: &str| cluster.symbols.get(key);
        let pairs = BETA.into_iter().zip(STABLE);
        let mut keys: Vec<(Symbol, Option<Symbol>)> = Vec::new();
        for (beta, stable) in pairs {
            let (fallback, both) = match labels {
                ZoneLabels::Beta => (None, false),
                ZoneLabels::Both => (None, true),
                ZoneLabels::BothTranslated => (symbol(stable), true),
            };
            keys.extend(symbol(beta).map(|key| (key, fallback)));
            keys.extend(symbol(stable).filter(|_| both).map(|key| (key, None)));
        }
        Keys { keys }
    }

    /// What the labels of a volume ask of a node. A label with an empty part is passed over, as upstream cannot read it.
    fn constraints(&self, cluster: &Cluster, volume: &Volume) -> Vec<Constraint> {
        let constraint = |&(key, fallback): &(Symbol, Option<Symbol>)| {
            let text = cluster.text(cluster.label_sets.value(volume.labels, key)?);
            let parts = text.split("__").map(str::trim);
            // A part that no object names is no node's zone.
            let values = parts.clone().filter_map(|part| cluster.symbols.get(part)).collect();
            parts.clone().all(|part| !part.is_empty()).then_some(Constraint { key, fallback, values })
        };
        self.keys.iter().filter_map(constraint).collect()
    }

    fn any_of(&self, labels: &LabelPairs) -> bool {
        self.keys.iter().any(|(key, _)| labels::value(labels, *key).is_some())
    }
}

/// A label that a node must have, with one of the values.
#[derive(Clone)]
struct Constraint {
    key: Symbol,
    fallback: Option<Symbol>,
    values: Vec<Symbol>,
}

impl Constraint {
    fn holds(&self, labels: &LabelPairs) -> bool {
        let value = labels::value(labels, self.key).or_else(|| labels::value(labels, self.fallback?));
        value.is_some_and(|value| self.values.contains(&value))
    }
}

/// What a node is held against, in the order of the pod's volumes.
#[derive(Clone)]
enum Step {
    Zone(Constraint),
    Problem(Verdict),
}

/// The filter of one pod.
#[derive(Clone)]
struct Filter {
    keys: Keys,
    steps: Vec<Step>,
    blind: GapSet,
}

impl PodFilter for Filter {
    fn minds(&self) -> Minds {
        Minds::Nothing
    }

    fn filter(&self, view: &NodeView<'_>) -> Verdict {
        if !self.keys.any_of(view.labels()) {
            return Verdict::Fits;
        }
        let fails = |step: &Step| match step {
            Step::Zone(constraint) if constraint.holds(view.labels()) => None,
            Step::Zone(_) => Some(Verdict::Rejects(Rejection::VolumeZone, Code::Unresolvable)),
            Step::Problem(verdict) => Some(*verdict),
        };
        self.steps.iter().find_map(fails).unwrap_or(Verdict::Fits)
    }

    fn gaps_at(&self, view: &NodeView<'_>) -> GapSet {
        if self.keys.any_of(view.labels()) { self.blind } else { GapSet::NONE }
    }

    fn fork<'s>(&'s self) -> Box<dyn PodFilter + 's> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{check, scene, scene_without};

    const TEXT: &str = "
        node a zone=z1
        node b zone=z2
        node c
        claim data volume=pv
        volume pv label:topology.kubernetes.io/zone=z1__z3
        want w claim=data";

    #[test]
    fn a_labelled_node_must_be_in_a_zone_of_the_volume() {
        check(37, TEXT, "fits a, c");
        let status = scene(37, TEXT).status("b").unwrap();
        assert_eq!(status.verdict, Verdict::Rejects(Rejection::VolumeZone, Code::Unresolvable));
        check(18, TEXT, "fits a, b, c");
    }

    #[test]
    fn a_label_with_an_empty_part_is_passed_over() {
        check(37, &TEXT.replace("z1__z3", "z1__"), "fits a, b, c");
    }

    #[test]
    fn the_newer_label_of_a_node_answers_for_the_older_since_1_29() {
        let text = TEXT.replace("topology.kubernetes.io/zone=z1__z3", "failure-domain.beta.kubernetes.io/zone=z1");
        check(28, &text, "fits c");
        check(29, &text, "fits a, c");
    }

    #[test]
    fn a_missing_volume_rejects_the_pod_since_1_27() {
        let text = "node a\nclaim data volume=gone\nwant w claim=data";
        let rejection = |minor| scene(minor, text).outcome().pre_filter.map(|it| it.plugin);
        assert_eq!(rejection(27), Some(Some(Plugin::VolumeZone)));
        assert_eq!(rejection(26), None);
    }

    #[test]
    fn a_dump_without_volumes_rejects_with_a_gap() {
        let text = "node a\nclaim data volume=gone\nwant w claim=data";
        let outcome = scene_without(34, text, &[Kind::PersistentVolume]).outcome();
        assert!(matches!(outcome.pre_filter.map(|it| it.rejection), Some(Rejection::VolumeMissing { .. })));
        assert!(outcome.gaps.iter().any(|gap| gap.plugin == PLUGIN && gap.object.is_some()));
        assert_eq!(scene(34, text).outcome().gaps, []);
    }
}
