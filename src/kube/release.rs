//! Releases of kube-scheduler.

use std::fmt;

/// A release `1.minor.patch`, with the patch resolved: [`Release::of_minor`] takes the newest known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The minor release, 18 … 37 for the known ones.
    pub minor: u16,
    /// The patch.
    pub patch: u16,
}

/// The oldest release whose behaviour is known.
pub const OLDEST_MINOR: u16 = 18;
/// The newest.
pub const NEWEST_MINOR: u16 = 37;

impl Release {
    /// A release.
    pub const fn new(minor: u16, patch: u16) -> Self {
        Release { minor, patch }
    }

    /// Whether this is the minor release or a later one.
    pub const fn since(self, minor: u16) -> bool {
        self.minor >= minor
    }

    /// Whether this has a change that came with `minor`.0 and was picked back to the patches named, as `(minor, patch)`.
    pub fn since_patched(self, minor: u16, backports: &[(u16, u16)]) -> bool {
        self.since(minor) || backports.iter().any(|&(branch, patch)| self.minor == branch && self.patch >= patch)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}.{}", self.minor, self.patch)
    }
}
