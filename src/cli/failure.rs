//! Why a command cannot be run.

use crate::problem::Problem;

/// A message for a person, with a remedy if there is one; or problems with places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Lower case, no full stop.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
    /// Problems that say it in full.
    pub(crate) problems: Vec<Problem>,
}

impl Failure {
    /// A failure without a remedy.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), help: None, problems: Vec::new() }
    }

    /// With a remedy.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Problems without which there would be an answer.
    pub(crate) fn of_problems(problems: Vec<Problem>) -> Self {
        Failure { problems, ..Failure::new("") }
    }
}
