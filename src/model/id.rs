//! Ids: small integers that index the dense tables of a [`Cluster`](super::cluster::Cluster).

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
    /// A string of the [`Symbols`](super::symbols::Symbols) table.
    Symbol(u32);
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
