//! Exit codes.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: answered, and nothing that `--fail-on` names.
    Clean,
    /// 1: findings: something that `--fail-on` names.
    Findings,
    /// 3: inconclusive under `--strict`: something that the dump lacks may change the answer.
    Inconclusive,
    /// 2: wrong usage, or nothing readable.
    Unusable,
}

impl Exit {
    /// The process's status.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Clean => 0,
            Exit::Findings => 1,
            Exit::Unusable => 2,
            Exit::Inconclusive => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
