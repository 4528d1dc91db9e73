//! Bytes to documents: files, folders and standard input become JSON texts of one object each.
//!
//! `files` opens, `split` finds the objects. Nothing here knows scheduling; a document is not yet read.

pub mod files;
mod map;
pub mod split;
pub mod yaml;
mod yaml_scalar;
