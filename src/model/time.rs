//! Points in time.

/// Nanoseconds since 1970-01-01T00:00:00Z. A time outside of 1677…2262 is held at the nearer end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Later than any time an object can carry.
    pub const MAX: Time = Time(i64::MAX);

    /// Whole seconds since 1970, rounded down.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }

    /// Nanoseconds past the whole second.
    pub fn subsecond_nanos(self) -> i64 {
        self.0.rem_euclid(1_000_000_000)
    }
}
