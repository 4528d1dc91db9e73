//! Our words: outcomes to tables and JSON.

pub mod escape;
pub mod json;
pub mod view;
mod words;
