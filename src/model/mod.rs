//! The compact cluster: what a dump says, whatever release reads it. Nothing here knows files, JSON or releases.
//!
//! Strings are symbols of one table (`symbols`); equal label maps share one id (`labels`); objects are numbered in
//! canonical order (nodes by name, pods by namespace and name), so that an id compares as the object sorts.

pub mod affinity;
pub mod cluster;
pub mod id;
pub mod labels;
pub mod node;
pub mod pdb;
pub mod pod;
pub mod quantity;
pub mod resources;
pub mod selector;
pub mod symbols;
pub mod time;
pub mod uid;
pub mod volume;
