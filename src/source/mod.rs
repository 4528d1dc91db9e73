//! Bytes to documents: files, folders and standard input become JSON texts of one object each.
//!
//! `files` opens: it finds the files (`walk`), tells what they are (`sniff`), unfolds archives (`archive`) and turns
//! every other form of text into JSON (`encoding`, `yaml`, `noise`). `split` finds the objects, and `tokens` is
//! how whoever reads one finds its way in it. Nothing here knows
//! scheduling; a document is not yet read.

pub mod archive;
mod blocks;
mod cutter;
mod decoders;
mod encoding;
pub mod files;
pub mod fleet;
pub mod given;
mod map;
pub mod meter;
mod names;
mod noise;
pub mod packed;
mod pipe;
mod sniff;
pub mod split;
pub mod stream;
pub mod tokens;
mod walk;
pub mod yaml;
mod yaml_scalar;
