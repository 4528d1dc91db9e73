//! Plugins of the scheduling framework, by upstream's names.

macro_rules! plugins {
    ($($name:ident),* $(,)?) => {
        /// A plugin that may stand at an extension point this program models.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the names are upstream's own")]
        pub enum Plugin { $($name),* }

        impl Plugin {
            /// Every plugin.
            pub const ALL: &'static [Plugin] = &[$(Plugin::$name),*];

            /// Upstream's name.
            pub const fn name(self) -> &'static str {
                match self { $(Plugin::$name => stringify!($name)),* }
            }
        }
    };
}

plugins! {
    NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions,
    EBSLimits, GCEPDLimits, NodeVolumeLimits, AzureDiskLimits, CinderLimits, VolumeBinding, VolumeZone, PodTopologySpread,
    InterPodAffinity, DynamicResources, NodeDeclaredFeatures, SchedulingGates, DefaultPreemption,
}

impl Plugin {
    /// The plugin of a name.
    pub fn by_name(name: &str) -> Option<Plugin> {
        Plugin::ALL.iter().copied().find(|it| it.name() == name)
    }
}
