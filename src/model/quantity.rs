//! `resource.Quantity`. Upstream: `apimachinery/pkg/api/resource`.

/// An amount, exact to the nano, as upstream keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    /// Thousand-millionths.
    pub nanos: i128,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Quantity = Quantity { nanos: 0 };
}
