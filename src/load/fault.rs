//! What keeps an object, or a part of it, from being read.

use super::json;
use super::primitive::QUANTITY_MARK;
use crate::problem::{Problem, ProblemCode};
use serde::Deserialize;

/// Something in an object that is not as Kubernetes has it.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// Offset in the text that was read.
    pub(super) offset: usize,
    /// What is wrong, as the reader found it.
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(offset: usize, message: impl Into<String>) -> Self {
        Fault { offset, message: message.into() }
    }

    /// The fault's code.
    pub(super) fn code(&self) -> ProblemCode {
        if self.message.starts_with(QUANTITY_MARK) { ProblemCode::BadQuantity } else { ProblemCode::DamagedObject }
    }

    /// The text has a key twice, which is not wrong by itself.
    pub(super) fn is_duplicate_key(&self) -> bool {
        self.message.starts_with("duplicate field")
    }

    /// The problem of the fault, in an object of this title that begins at `offset`.
    pub(super) fn problem(&self, path: &str, offset: u64, title: &str, consequence: &str) -> Problem {
        let mut problem = Problem::new(self.code(), format!("{title}: {}{consequence}", self.message));
        problem.path = Some(path.to_owned());
        problem.offset = Some(offset + self.offset as u64);
        problem.object = Some(title.to_owned());
        problem
    }
}

/// Reads a whole text, quickly if it can be.
pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Fault> {
    match json::read(json) {
        Some(value) => Ok(value),
        None => read_plainly(json),
    }
}

/// Reads a whole text, or finds out why it cannot be read.
pub(super) fn read_plainly<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Fault> {
    match serde_json::from_slice(json) {
        Ok(value) => Ok(value),
        Err(error) => Err(from_error(json, &error)),
    }
}

/// The fault of an error that reading `json` gave.
fn from_error(json: &[u8], error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    Fault::new(offset_of(json, error.line(), error.column()), message)
}

/// The offset of a line and a column, both from 1.
fn offset_of(json: &[u8], line: usize, column: usize) -> usize {
    let begin = match line.checked_sub(2) {
        None => 0,
        Some(nth) => memchr::memchr_iter(b'\n', json).nth(nth).map_or(json.len(), |at| at + 1),
    };
    (begin + column.saturating_sub(1)).min(json.len())
}
