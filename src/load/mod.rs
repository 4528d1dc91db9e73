//! Documents to cluster. The only module that knows k8s-openapi.
//!
//! `inventory` decides of which kind each document is and which of several copies counts; one file a kind converts an
//! object's JSON to the model; `build` puts the objects together in canonical order, so that neither the order of files
//! and items nor their formatting shows in the cluster. Objects that cannot be read become problems with a place.

mod affinity;
mod build;
mod coverage;
mod fault;
mod foreign;
mod inventory;
mod kind;
mod manifest;
mod meta;
mod names;
mod node;
mod objects;
mod place;
mod pod;
mod primitive;
mod resources;
pub mod scheduler_config;
mod selectors;
mod storage;
mod tables;
mod version;
mod volumes;

use crate::model::cluster::Cluster;
use crate::model::id::FileId;
use crate::problem::Problem;
use crate::source::files::FileTable;
use crate::source::split::{self, Split};
use std::collections::BTreeMap;

/// What the input says.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The objects.
    pub cluster: Cluster,
    /// Trouble, in the order of files and bytes.
    pub problems: Vec<Problem>,
    /// Objects of kinds that the program does not need, counted: `apps/v1 Deployment`.
    pub skipped: BTreeMap<String, u64>,
    /// The API server's version (`v1.34.1`), from `kubectl version -o json` or a bundle's version file.
    pub server_version: Option<String>,
}

/// Reads every document of the files.
pub fn load(files: &FileTable) -> Loaded {
    let splits: Vec<Split<'_>> =
        files.files.iter().enumerate().map(|(at, file)| split::split(FileId::at(at), &file.bytes)).collect();
    let inventory = inventory::take(files, &splits);
    let mut loaded = build::build(inventory);
    place::resolve(files, &mut loaded.problems);
    loaded
}

#[cfg(test)]
mod tests;
