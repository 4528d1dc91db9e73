//! Feature gates that matter to filtering and preemption, with their defaults by release.
//! Upstream: `pkg/features/kube_features.go`, `component-base/featuregate`.

use super::release::Release;

macro_rules! gates {
    ($($name:ident $effect:ident: [$(($since:literal, $stage:ident)),* $(,)?];)*) => {
        /// A feature gate of upstream.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the names are upstream's own")]
        pub enum Gate { $($name),* }

        impl Gate {
            /// Every gate of the table.
            pub const ALL: &'static [Gate] = &[$(Gate::$name),*];

            /// Upstream's name.
            pub const fn name(self) -> &'static str {
                match self { $(Gate::$name => stringify!($name)),* }
            }

            /// The stages of the gate: the minor release that begins each, oldest first.
            pub const fn stages(self) -> &'static [(u16, Stage)] {
                match self { $(Gate::$name => &[$(($since, Stage::$stage)),*]),* }
            }

            /// What this program makes of the gate where it is not at its default.
            pub const fn effect(self) -> GateEffect {
                match self { $(Gate::$name => GateEffect::$effect),* }
            }
        }
    };
}

/// What a gate is from some release on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// There, and off unless switched on, by its own name or by `AllAlpha`.
    Alpha,
    /// There, and off unless switched on, by its own name or by `AllBeta`.
    BetaOff,
    /// There, and on unless switched off.
    On,
    /// On for good: locked, or the gate is gone and its feature stayed.
    Locked,
    /// The gate is gone and its feature with it.
    Gone,
}

/// What this program makes of a gate that is not at its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateEffect {
    /// The answer follows it.
    Modelled,
    /// It changes no verdict and no victim: timing, scores, or what only the API server and the kubelet do.
    None,
    /// It changes answers about pods with resource claims or extended resources, in ways that are not computed.
    Claims,
    /// It changes answers about pods of groups, and who their victims are, in ways that are not computed.
    Groups,
    /// It changes answers about pods that are being resized, in ways that are not computed.
    Resize,
}

gates! {
    EvenPodsSpread Modelled: [(18, On), (19, Locked)];
    NonPreemptingPriority Modelled: [(18, Alpha), (19, On), (24, Locked)];
    PodDisruptionBudget Modelled: [(18, On), (25, Locked)];
    PodOverhead Modelled: [(18, On), (24, Locked)];
    LocalStorageCapacityIsolation Modelled: [(18, On), (25, Locked)];
    GenericEphemeralVolume Modelled: [(19, Alpha), (21, On), (23, Locked)];
    CSIStorageCapacity Modelled: [(19, Alpha), (21, On), (24, Locked)];
    PodAffinityNamespaceSelector Modelled: [(21, Alpha), (22, On), (24, Locked)];
    PreferNominatedNode Modelled: [(21, Alpha), (22, On), (24, Locked)];
    ReadWriteOncePod Modelled: [(22, Alpha), (27, On), (29, Locked)];
    MinDomainsInPodTopologySpread Modelled: [(24, Alpha), (25, BetaOff), (27, On), (30, Locked)];
    NodeInclusionPolicyInPodTopologySpread Modelled: [(25, Alpha), (26, On), (33, Locked)];
    MatchLabelKeysInPodTopologySpread Modelled: [(25, Alpha), (27, On)];
    MatchLabelKeysInPodAffinity None: [(29, Alpha), (31, On), (33, Locked)];
    PodSchedulingReadiness Modelled: [(26, Alpha), (27, On), (30, Locked)];
    PodDisruptionConditions Modelled: [(25, Alpha), (26, On), (31, Locked)];
    SidecarContainers Modelled: [(28, Alpha), (29, On), (33, Locked)];
    InPlacePodVerticalScaling Modelled: [(27, Alpha), (33, On), (35, Locked)];
    PodLevelResources Modelled: [(32, Alpha), (34, On)];
    InPlacePodLevelResourcesVerticalScaling Modelled: [(35, Alpha), (36, On)];
    InPlacePodVerticalScalingSchedulerPreemption Resize: [(37, Alpha)];
    VolumeAttributesClass Modelled: [(29, Alpha), (31, BetaOff), (34, On), (36, Locked)];
    NodeDeclaredFeatures Modelled: [(35, Alpha), (36, On), (37, Locked)];
    VolumeLimitScaling Modelled: [(35, Alpha), (37, On)];
    TaintTolerationComparisonOperators Modelled: [(35, Alpha)];
    DynamicResourceAllocation Claims: [(26, Alpha), (32, BetaOff), (34, On), (35, Locked)];
    DRAExtendedResource Claims: [(34, Alpha), (36, On), (37, Locked)];
    DRAAdminAccess Claims: [(32, Alpha), (34, On), (36, Locked)];
    DRAPrioritizedList Claims: [(33, Alpha), (34, On), (36, Locked)];
    DRASchedulerFilterTimeout None: [(34, On)];
    DRADeviceTaints Claims: [(33, Alpha), (36, On)];
    DRAPartitionableDevices Claims: [(33, Alpha), (36, On)];
    DRAConsumableCapacity Claims: [(34, Alpha), (36, On)];
    DRADeviceBindingConditions Claims: [(34, Alpha), (36, On)];
    DRAResourceClaimDeviceStatus None: [(32, Alpha), (34, On), (37, Locked)];
    DRADeviceTaintRules Claims: [(35, Alpha), (36, BetaOff), (37, On)];
    DRAFractionalCapacityRange Claims: [(37, BetaOff)];
    DRANodeAllocatableResources Claims: [(36, Alpha)];
    DRAListTypeAttributes Claims: [(36, Alpha)];
    DRAWorkloadResourceClaims Claims: [(36, Alpha), (37, BetaOff)];
    DRADerivedAttributes Claims: [(37, Alpha)];
    DRADeviceCompatibilityGroups Claims: [(37, Alpha)];
    DRAOptionalNodeOperations Claims: [(37, Alpha)];
    GenericWorkload Groups: [(35, Alpha), (37, BetaOff)];
    GangScheduling Groups: [(35, Alpha), (37, Gone)];
    WorkloadAwarePreemption Groups: [(36, Alpha), (37, Gone)];
    TopologyAwareWorkloadScheduling Groups: [(36, Alpha)];
    CompositePodGroup Groups: [(37, Alpha)];
    PodGroupPreemptionPolicy Groups: [(37, Alpha)];
    SchedulerAsyncPreemption Modelled: [(32, Alpha), (33, On)];
    SchedulerAsyncAPICalls None: [(34, BetaOff)];
    SchedulerPopFromBackoffQ None: [(33, On)];
    SchedulerQueueingHints None: [(28, BetaOff), (32, On)];
    NominatedNodeNameForExpectation Modelled: [(34, Alpha), (35, On)];
    ClearingNominatedNodeNameAfterBinding None: [(34, Alpha), (35, On)];
    OpportunisticBatching None: [(35, On)];
    InterPodAffinityHostnameFastPath None: [(37, Alpha)];
    StorageCapacityScoring None: [(33, Alpha), (37, On)];
    VolumeCapacityPriority None: [(21, Alpha), (33, Gone)];
    DefaultPodTopologySpread None: [(19, Alpha), (20, On), (24, Locked)];
    CSIMigration Modelled: [(18, On), (25, Locked)];
    CSIMigrationAWS Modelled: [(18, BetaOff), (23, On), (25, Locked)];
    CSIMigrationGCE Modelled: [(18, BetaOff), (23, On), (25, Locked)];
    CSIMigrationAzureDisk Modelled: [(18, Alpha), (19, BetaOff), (23, On), (24, Locked)];
    CSIMigrationOpenStack Modelled: [(18, BetaOff), (21, On), (24, Locked)];
    CSIMigrationAzureFile Modelled: [(18, Alpha), (21, BetaOff), (24, On), (26, Locked)];
    CSIMigrationvSphere Modelled: [(19, BetaOff), (25, On), (26, Locked)];
    CSIMigrationPortworx Modelled: [(23, Alpha), (25, BetaOff), (31, On), (33, Locked)];
}

impl Gate {
    /// What the gate is in a release; `None` before it was there.
    pub fn stage(self, release: Release) -> Option<Stage> {
        let stage = self.stages().iter().rev().find(|(since, _)| release.since(*since));
        stage.map(|(_, stage)| *stage)
    }

    /// The gate of a name.
    pub fn by_name(name: &str) -> Option<Gate> {
        Gate::ALL.iter().copied().find(|gate| gate.name() == name)
    }
}

/// The gates of one scheduler, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    on: Vec<bool>,
}

/// What there is to say about a setting of `--feature-gates`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateNote {
    /// An error: the setting is not `NAME=BOOLEAN`.
    NotASetting(String),
    /// An error: the value is no boolean.
    NotABoolean {
        /// The gate.
        name: String,
        /// The value.
        value: String,
    },
    /// An error, as upstream: the gate is locked to `true`.
    Locked(Gate),
    /// An error, as upstream: the release does not have this gate.
    NotInRelease(Gate),
    /// The name is none of those that touch filtering and preemption. It may be a gate of another part of Kubernetes, or
    /// a misspelling.
    Unknown {
        /// The name.
        name: String,
        /// A gate whose name is much alike.
        near: Option<Gate>,
    },
    /// The gate is not at its default, and what it changes is not computed.
    NotModelled(Gate),
}

impl GateNote {
    /// Whether the scheduler would not start, or the setting cannot be read.
    pub fn is_error(&self) -> bool {
        match self {
            GateNote::NotASetting(_)
            | GateNote::NotABoolean { .. }
            | GateNote::Locked(_)
            | GateNote::NotInRelease(_) => true,
            GateNote::Unknown { .. } | GateNote::NotModelled(_) => false,
        }
    }

    /// One line that says it, lower case, no full stop.
    pub fn text(&self) -> String {
        match self {
            GateNote::NotASetting(text) => format!("missing bool value for {text}"),
            GateNote::NotABoolean { name, value } => format!("invalid value of {name}={value}: it is no boolean"),
            GateNote::Locked(gate) => {
                let name = gate.name();
                format!("cannot set feature gate {name} to false, feature is locked to true")
            }
            GateNote::NotInRelease(gate) => {
                format!("unrecognized feature gate: {}; this release does not have it", gate.name())
            }
            GateNote::Unknown { name, near: Some(near) } => {
                format!("unknown feature gate {name}: did you mean {}?", near.name())
            }
            GateNote::Unknown { name, near: None } => {
                format!("feature gate {name} is none that filtering or preemption asks; it is passed over")
            }
            GateNote::NotModelled(gate) => {
                let pods = match gate.effect() {
                    GateEffect::Claims => "pods with resource claims or extended resources",
                    GateEffect::Groups => "pods of groups, and pods whose victims are of groups,",
                    GateEffect::Resize => "pods that are being resized",
                    GateEffect::Modelled | GateEffect::None => "pods",
                };
                format!("what feature gate {} changes is not computed: answers about {pods} may be wrong", gate.name())
            }
        }
    }
}

impl Gates {
    /// The defaults of a release.
    pub fn defaults(release: Release) -> Self {
        let on = |gate: &Gate| matches!(gate.stage(release), Some(Stage::On | Stage::Locked));
        Gates { on: Gate::ALL.iter().map(on).collect() }
    }

    /// The defaults of a release with the settings of a `--feature-gates` text, such as `A=true,B=false`. Settings that
    /// are errors change nothing.
    pub fn parse(release: Release, text: &str) -> (Self, Vec<GateNote>) {
        let mut gates = Gates::defaults(release);
        let mut notes = Vec::new();
        let mut chosen = Vec::new();
        let settings: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        for setting in &settings {
            match Setting::parse(setting) {
                Ok(Setting { name: "AllAlpha", on }) => gates.set_all(release, Stage::Alpha, on),
                Ok(Setting { name: "AllBeta", on }) => gates.set_all_beta(release, on),
                Ok(Setting { name, on }) => match Gate::by_name(name) {
                    Some(gate) => chosen.push((gate, on)),
                    None => notes.push(GateNote::Unknown { name: name.to_owned(), near: near(name, release) }),
                },
                Err(note) => notes.push(note),
            }
        }
        // A gate's own setting counts, wherever it stands.
        for (gate, on) in chosen {
            match gate.stage(release) {
                None | Some(Stage::Gone) => notes.push(GateNote::NotInRelease(gate)),
                Some(Stage::Locked) if !on => notes.push(GateNote::Locked(gate)),
                Some(Stage::Alpha | Stage::BetaOff | Stage::On | Stage::Locked) => gates.set(gate, on),
            }
        }
        let defaults = Gates::defaults(release);
        for gate in Gate::ALL.iter().copied().filter(|gate| gates.on(*gate) != defaults.on(*gate)) {
            match gate.effect() {
                GateEffect::Modelled | GateEffect::None => {}
                GateEffect::Claims | GateEffect::Groups | GateEffect::Resize => notes.push(GateNote::NotModelled(gate)),
            }
        }
        (gates, notes)
    }

    /// Whether a gate is on.
    pub fn on(&self, gate: Gate) -> bool {
        self.on[gate as usize]
    }

    /// Switches a gate.
    pub fn set(&mut self, gate: Gate, on: bool) {
        self.on[gate as usize] = on;
    }

    fn set_all(&mut self, release: Release, stage: Stage, on: bool) {
        for gate in Gate::ALL.iter().copied().filter(|gate| gate.stage(release) == Some(stage)) {
            self.set(gate, on);
        }
    }

    fn set_all_beta(&mut self, release: Release, on: bool) {
        self.set_all(release, Stage::BetaOff, on);
        self.set_all(release, Stage::On, on);
    }
}

struct Setting<'t> {
    name: &'t str,
    on: bool,
}

impl<'t> Setting<'t> {
    /// `NAME=BOOLEAN`; since 1.31 a name may say whose it is: `kube:NAME`.
    fn parse(text: &'t str) -> Result<Self, GateNote> {
        let (name, value) = text.split_once('=').ok_or_else(|| GateNote::NotASetting(text.to_owned()))?;
        let name = name.trim();
        let name = name.strip_prefix("kube:").unwrap_or(name);
        let on = match value.trim() {
            // Go's strconv.ParseBool.
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            value => return Err(GateNote::NotABoolean { name: name.to_owned(), value: value.to_owned() }),
        };
        Ok(Setting { name, on })
    }
}

/// The gate of this release whose name is most alike, if it is much alike.
fn near(name: &str, release: Release) -> Option<Gate> {
    const MUCH_ALIKE: f64 = 0.93;
    let there = Gate::ALL.iter().filter(|gate| !matches!(gate.stage(release), None | Some(Stage::Gone)));
    let alike = there.map(|gate| (strsim::jaro_winkler(&gate.name().to_lowercase(), &name.to_lowercase()), *gate));
    alike.filter(|(score, _)| *score >= MUCH_ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, gate)| gate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_34: Release = Release::new(34, 4);

    #[test]
    fn defaults_follow_the_release() {
        let at = |minor| Gates::defaults(Release::of_minor(minor));
        assert!(!at(26).on(Gate::ReadWriteOncePod) && at(27).on(Gate::ReadWriteOncePod));
        assert!(!at(33).on(Gate::DynamicResourceAllocation) && at(34).on(Gate::DynamicResourceAllocation));
        assert!(!at(36).on(Gate::WorkloadAwarePreemption) && !at(37).on(Gate::WorkloadAwarePreemption));
    }

    #[test]
    fn a_locked_gate_cannot_be_switched_off() {
        let (gates, notes) = Gates::parse(V1_34, "SidecarContainers=false,PodLevelResources=false");
        assert_eq!(notes, [GateNote::Locked(Gate::SidecarContainers)]);
        assert!(notes[0].is_error());
        assert!(gates.on(Gate::SidecarContainers) && !gates.on(Gate::PodLevelResources));
        assert!(Gates::parse(V1_34, "SidecarContainers=true").1.is_empty());
    }

    #[test]
    fn a_gate_is_unknown_before_its_release() {
        let (_, notes) = Gates::parse(Release::of_minor(30), "NodeDeclaredFeatures=true");
        assert_eq!(notes, [GateNote::NotInRelease(Gate::NodeDeclaredFeatures)]);
    }

    #[test]
    fn misspelt_names_are_told_from_other_gates() {
        let (_, notes) = Gates::parse(V1_34, "PodLevelResource=true,GracefulNodeShutdown=true");
        let near = |note: &GateNote| match note {
            GateNote::Unknown { near, .. } => *near,
            _ => panic!("{note:?}"),
        };
        assert_eq!(near(&notes[0]), Some(Gate::PodLevelResources));
        assert_eq!(near(&notes[1]), None);
    }

    #[test]
    fn a_gate_s_own_setting_outweighs_all_alpha() {
        let release = Release::of_minor(37);
        let (gates, notes) = Gates::parse(release, "TaintTolerationComparisonOperators=false,AllAlpha=true");
        assert!(!gates.on(Gate::TaintTolerationComparisonOperators) && gates.on(Gate::CompositePodGroup));
        assert!(!gates.on(Gate::GenericWorkload), "it is beta");
        assert!(notes.contains(&GateNote::NotModelled(Gate::CompositePodGroup)));
    }

    #[test]
    fn what_is_no_setting_is_an_error() {
        for text in ["PodLevelResources", "PodLevelResources=yes"] {
            assert!(Gates::parse(V1_34, text).1[0].is_error(), "{text}");
        }
    }
}
