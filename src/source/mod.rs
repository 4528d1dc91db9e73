//! Bytes to documents: files, folders and standard input become JSON texts of one object each.
//!
//! `files` opens: it finds the files (`walk`), tells what they are (`sniff`), unfolds archives (`archive`) and turns
//! every other form of text into JSON (`encoding`, `yaml`, `noise`). `split` finds the objects. Nothing here knows
//! scheduling; a document is not yet read.

pub mod archive;
mod encoding;
pub mod files;
pub mod fleet;
mod map;
mod names;
mod noise;
mod sniff;
pub mod split;
mod walk;
pub mod yaml;
mod yaml_scalar;
