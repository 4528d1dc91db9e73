//! Our words: outcomes to tables and JSON.
