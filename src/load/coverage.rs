//! What the dump holds of each kind.

use crate::model::cluster::{Coverage, CoverageState, Kind};
use std::collections::BTreeMap;

/// The account of one kind.
#[derive(Clone, Copy, Default)]
struct Account {
    objects: u64,
    rejected: u64,
    empty: bool,
    truncated: bool,
}

/// The accounts of all kinds.
#[derive(Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<Kind, Account>,
}

impl Ledger {
    /// An object was read.
    pub(super) fn count(&mut self, kind: Kind) {
        self.accounts.entry(kind).or_default().objects += 1;
    }

    /// An object could not be read.
    pub(super) fn reject(&mut self, kind: Kind) {
        self.accounts.entry(kind).or_default().rejected += 1;
    }

    /// A list without items.
    pub(super) fn empty(&mut self, kind: Kind) {
        self.accounts.entry(kind).or_default().empty = true;
    }

    /// A list that does not hold all there is.
    pub(super) fn truncate(&mut self, kind: Kind) {
        self.accounts.entry(kind).or_default().truncated = true;
    }

    /// The coverage of every kind, in the order of [`Kind::ALL`].
    pub(super) fn coverage(&self) -> Vec<Coverage> {
        let of = |&kind: &Kind| {
            let account = self.accounts.get(&kind).copied().unwrap_or_default();
            Coverage { kind, state: account.state(), objects: account.objects, rejected: account.rejected }
        };
        Kind::ALL.iter().map(of).collect()
    }
}

impl Account {
    fn state(self) -> CoverageState {
        if self.truncated {
            CoverageState::Truncated
        } else if self.objects > 0 {
            CoverageState::Present
        } else if self.rejected > 0 {
            CoverageState::Rejected
        } else if self.empty {
            CoverageState::Empty
        } else {
            CoverageState::Absent
        }
    }
}
