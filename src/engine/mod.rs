//! The scheduler's decisions. Pure: a [`Snapshot`](snapshot::Snapshot) and a pod in, an
//! [`Outcome`](outcome::Outcome) of facts out; no file, clock, sentence or release in between.

mod affinity_terms;
pub mod alike;
mod chain;
mod claims;
pub mod cycle;
mod default_selector;
pub mod filters;
pub mod framework;
mod go_sort;
mod migration;
pub(crate) mod node_match;
mod node_order;
pub mod node_view;
pub mod nominated;
pub mod outcome;
mod pair_counts;
pub mod pod_table;
mod pre_filter;
pub mod preemption;
pub mod registry;
pub mod requests;
pub mod snapshot;
mod volume_match;

#[cfg(test)]
mod scenarios;
