//! Ids: small integers that index the dense tables of a [`Cluster`](super::cluster::Cluster).

use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($int:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            /// The position in the table that this id indexes.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of a position. Panics when the table outgrew the id, which no file of this century can cause.
            #[inline]
            pub fn at(index: usize) -> Self {
                Self(<$int>::try_from(index).expect("a table outgrew its id type"))
            }
        }
    )*};
}

ids! {
    /// A node; numbered by name.
    NodeId(u32);
    /// A pod; numbered by namespace, then name: the order in which kubectl and the API server list pods.
    PodId(u32);
    /// A PodDisruptionBudget; numbered by namespace, then name.
    PdbId(u32);
    /// A namespace that some object names, whether or not the dump holds the Namespace object.
    NamespaceId(u32);
    /// A set of labels; equal maps share one id.
    LabelSetId(u32);
    /// A PersistentVolumeClaim.
    ClaimId(u32);
    /// A PersistentVolume.
    VolumeId(u32);
    /// A scalar resource: extended, huge pages, attachable volumes.
    ResourceId(u32);
    /// A file of the input, by position in the input's file table.
    FileId(u32);
}

/// A string of the [`Symbols`](super::symbols::Symbols) table: one more than its position, so that a symbol that may be
/// missing takes no more room than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    /// The last that a table could have.
    pub const LAST: Symbol = Symbol(NonZeroU32::MAX);

    /// The position in the table that this symbol indexes.
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The symbol of a position. Panics when the table outgrew the symbols, which no file of this century can cause.
    #[inline]
    pub fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a table outgrew its id type"))
    }

    /// One more than the position.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0.get()
    }

    /// The symbol of this number.
    #[inline]
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Symbol)
    }
}
