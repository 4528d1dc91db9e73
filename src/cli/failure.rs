//! Why a command cannot be run.

/// A message for a person, with a remedy if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Lower case, no full stop.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

impl Failure {
    /// A failure without a remedy.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), help: None }
    }

    /// With a remedy.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
