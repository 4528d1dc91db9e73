//! Feature gates that matter to filtering and preemption, with their defaults by release.
//! Upstream: `pkg/features/kube_features.go`.

use super::release::Release;

macro_rules! gates {
    ($($name:ident: [$(($since:literal, $stage:ident)),* $(,)?];)*) => {
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
        }
    };
}

/// What a gate is from some release on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// There, and off unless switched on.
    Off,
    /// There, and on unless switched off.
    On,
    /// On for good: locked, or the gate is gone and its feature stayed.
    Locked,
    /// The gate is gone and its feature with it.
    Gone,
}

gates! {
    EvenPodsSpread: [(18, On), (19, Locked)];
    NonPreemptingPriority: [(18, Off), (19, On), (24, Locked)];
    PodDisruptionBudget: [(18, On), (25, Locked)];
    PodOverhead: [(18, On), (24, Locked)];
    LocalStorageCapacityIsolation: [(18, On), (25, Locked)];
    GenericEphemeralVolume: [(19, Off), (21, On), (23, Locked)];
    CSIStorageCapacity: [(19, Off), (21, On), (24, Locked)];
    PodAffinityNamespaceSelector: [(21, Off), (22, On), (24, Locked)];
    PreferNominatedNode: [(21, Off), (22, On), (24, Locked)];
    ReadWriteOncePod: [(22, Off), (27, On), (29, Locked)];
    MinDomainsInPodTopologySpread: [(24, Off), (27, On), (30, Locked)];
    NodeInclusionPolicyInPodTopologySpread: [(25, Off), (26, On), (33, Locked)];
    MatchLabelKeysInPodTopologySpread: [(25, Off), (27, On)];
    PodSchedulingReadiness: [(26, Off), (27, On), (30, Locked)];
    PodDisruptionConditions: [(25, Off), (26, On), (31, Locked)];
    SidecarContainers: [(28, Off), (29, On), (33, Locked)];
    InPlacePodVerticalScaling: [(27, Off), (33, On), (35, Locked)];
    PodLevelResources: [(32, Off), (34, On)];
    InPlacePodLevelResourcesVerticalScaling: [(35, Off), (36, On)];
    VolumeAttributesClass: [(29, Off), (34, On), (36, Locked)];
    DynamicResourceAllocation: [(26, Off), (34, On), (35, Locked)];
    DRAExtendedResource: [(34, Off), (36, On), (37, Locked)];
    NodeDeclaredFeatures: [(35, Off), (36, On), (37, Locked)];
    VolumeLimitScaling: [(35, Off), (37, On)];
    TaintTolerationComparisonOperators: [(35, Off)];
    GenericWorkload: [(35, Off)];
    GangScheduling: [(35, Off), (37, Gone)];
    WorkloadAwarePreemption: [(36, Off), (37, Gone)];
    SchedulerAsyncPreemption: [(32, Off), (33, On)];
    NominatedNodeNameForExpectation: [(34, Off), (35, On)];
    SchedulerAsyncAPICalls: [(34, Off)];
    CSIMigrationAWS: [(18, Off), (23, On), (25, Locked)];
    CSIMigrationGCE: [(18, Off), (23, On), (25, Locked)];
    CSIMigrationAzureDisk: [(18, Off), (23, On), (24, Locked)];
    CSIMigrationOpenStack: [(18, Off), (21, On), (24, Locked)];
    CSIMigrationAzureFile: [(18, Off), (24, On), (26, Locked)];
    CSIMigrationvSphere: [(18, Off), (25, On), (26, Locked)];
    CSIMigrationPortworx: [(23, Off), (31, On), (33, Locked)];
}

/// The gates of one scheduler, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    on: Vec<bool>,
}

impl Gates {
    /// The defaults of a release.
    pub fn defaults(release: Release) -> Self {
        let on = |gate: &Gate| {
            let stage = gate.stages().iter().rev().find(|(since, _)| release.since(*since));
            matches!(stage, Some((_, Stage::On | Stage::Locked)))
        };
        Gates { on: Gate::ALL.iter().map(on).collect() }
    }

    /// Whether a gate is on.
    pub fn on(&self, gate: Gate) -> bool {
        self.on[gate as usize]
    }

    /// Switches a gate.
    pub fn set(&mut self, gate: Gate, on: bool) {
        self.on[gate as usize] = on;
    }
}
