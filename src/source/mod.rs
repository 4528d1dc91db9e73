//! Bytes to documents: files, folders and standard input become JSON texts of one object each.
//!
//! `files` opens: it finds the files (`walk`), tells what they are (`sniff`), unfolds archives (`archive`) and turns
//! every other form of text into JSON (`encoding`, `yaml`, `noise`). What comes once only, `pipe` reads and keeps. `split`
//! finds the objects; of a long text that is unfolded, `packed` has `cutter` cut blocks as they come. `tokens` is how
//! whoever reads an object finds its way in it. Nothing here knows scheduling; a document is not yet read.

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
