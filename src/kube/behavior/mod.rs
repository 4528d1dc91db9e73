//! Behaviour: what a scheduler of one release does, one field per observable difference.
//!
//! Each group of fields is declared by `behaviors!`: a field, what it decides, the variants it may take, how a release
//! and its gates decide it, and the vector that fails when it is decided otherwise. The declaration is also the data of
//! the table that `versions` prints, of the difference that `--compare` names, and of the test that flips every field.

mod affinity;
mod effects;
mod frame;
mod preemption;
mod requests;
mod spread;
mod texts;
mod volumes;

pub use affinity::*;
pub use effects::*;
pub use frame::*;
pub use preemption::*;
pub use requests::*;
pub use spread::*;
pub use texts::*;
pub use volumes::*;

use super::gates::Gates;
use super::release::Release;

/// What one field of a behaviour group is.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it decides, and upstream's file.
    pub doc: &'static str,
    /// Its variants: name and meaning.
    pub variants: &'static [(&'static str, &'static str)],
    /// `case@release` of a vector that fails when the field takes another variant.
    pub proof: &'static str,
}

macro_rules! behaviors {
    (
        $(#[$group_doc:meta])*
        pub struct $group:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ident {
                    $($(#[doc = $variant_doc:literal])+ $variant:ident),+ $(,)?
                } = |$release:ident, $gates:ident| $resolve:expr, proof $proof:literal;
            )+
        }
    ) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $type { $($(#[doc = $variant_doc])+ $variant),+ }
        )+

        $(#[$group_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $group { $($(#[doc = $doc])+ pub $field: $type),+ }

        impl $group {
            /// The fields, in order.
            pub const FIELDS: &'static [$crate::kube::behavior::Field] = &[
                $($crate::kube::behavior::Field {
                    name: stringify!($field),
                    doc: concat!($($doc),+),
                    variants: &[$((stringify!($variant), concat!($($variant_doc),+))),+],
                    proof: $proof,
                }),+
            ];

            /// What the group is at a release with these gates.
            pub fn of(release: $crate::kube::release::Release, gates: &$crate::kube::gates::Gates) -> Self {
                $group {
                    $($field: {
                        let ($release, $gates) = (release, gates);
                        let _ = (&$release, &$gates); // not every field asks both
                        { use $type::*; $resolve }
                    }),+
                }
            }

            /// The variant of the field at a position, by number.
            pub fn get(&self, position: usize) -> usize {
                [$(self.$field as usize),+][position]
            }

            /// Gives the field at a position another variant, by number.
            pub fn set(&mut self, position: usize, variant: usize) {
                let mut at = 0;
                $(
                    if at == position {
                        self.$field = [$($type::$variant),+][variant];
                    }
                    at += 1;
                )+
                debug_assert!(position < at, "no such field");
            }
        }
    };
}
use behaviors;

macro_rules! groups {
    ($($(#[doc = $doc:literal])+ $name:ident: $group:ident),+ $(,)?) => {
        /// All of a scheduler's behaviour.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Behavior { $($(#[doc = $doc])+ pub $name: $group),+ }

        impl Behavior {
            /// The behaviour of a release with these gates.
            pub fn of(release: Release, gates: &Gates) -> Self {
                Behavior { $($name: $group::of(release, gates)),+ }
            }

            /// Every field of every group, in order: the group's name and the field.
            pub fn fields() -> Vec<(&'static str, &'static Field)> {
                let mut all = Vec::new();
                $(all.extend($group::FIELDS.iter().map(|field| (stringify!($name), field)));)+
                all
            }

            /// The variant of the field at a position of [`Behavior::fields`], by number.
            pub fn get(&self, position: usize) -> usize {
                let mut at = position;
                $(
                    if at < $group::FIELDS.len() {
                        return self.$name.get(at);
                    }
                    at -= $group::FIELDS.len();
                )+
                unreachable!("no field at position {position}, {at} past the end")
            }

            /// Gives the field at a position of [`Behavior::fields`] another variant, by number.
            pub fn set(&mut self, position: usize, variant: usize) {
                let mut at = position;
                $(
                    if at < $group::FIELDS.len() {
                        return self.$name.set(at, variant);
                    }
                    at -= $group::FIELDS.len();
                )+
                unreachable!("no field at position {position}, {at} past the end")
            }
        }
    };
}

groups! {
    /// The frame around the plugins: order of checks, PreFilter rejections, narrowing.
    frame: FrameBehavior,
    /// What pods ask for and what a node's resources reject.
    requests: RequestsBehavior,
    /// PodTopologySpread.
    spread: SpreadBehavior,
    /// InterPodAffinity, NodeAffinity, tolerations.
    affinity: AffinityBehavior,
    /// Volumes.
    volumes: VolumesBehavior,
    /// Preemption proper.
    preemption: PreemptionBehavior,
    /// What follows a choice.
    effects: EffectsBehavior,
    /// Sentences.
    texts: TextsBehavior,
}

impl Behavior {
    /// The same scheduler as a binary built with Go before 1.19 behaves, whose sort orders equal victims otherwise; `None`
    /// where a release has no such binaries. The first patches up to 1.24 are of this kind, later ones were rebuilt, and so
    /// are vendors' builds: a release does not tell.
    pub fn of_older_toolchain(release: Release, behavior: &Behavior) -> Option<Behavior> {
        let mut behavior = behavior.clone();
        behavior.preemption.sort = SortAlgorithm::Quick;
        (!release.since(25)).then_some(behavior)
    }
}
