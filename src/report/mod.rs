//! Our words: outcomes to tables and JSON.

pub mod amount;
pub mod candidates;
pub mod compare;
pub mod escape;
pub mod groups;
pub mod holes;
pub mod inspect;
pub mod json;
pub mod ndjson;
pub mod node_story;
pub mod page;
pub mod pretty;
pub mod problems;
pub mod rows;
pub mod said;
pub mod story;
pub mod summary;
pub mod view;
pub mod written;
