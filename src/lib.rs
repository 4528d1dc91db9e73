//! preempt-audit answers, offline and exactly, what kube-scheduler's preemption did or would do.
//!
//! # One direction
//!
//! bytes → documents → cluster → snapshot → outcome → report. Every arrow is a function of its arguments; only the
//! first and the last touch the world. The modules, in reading order:
//!
//! * [`source`] finds JSON objects in files; [`load`] reads them into a [`model`] of what the dump says.
//! * [`kube`] resolves a release, its gates and a configuration into a `Behavior` and a `Profile`.
//! * [`engine`] makes a snapshot of the cluster as that scheduler sees it and decides about a pod: facts, no words.
//! * [`index`] keeps a loaded dump on disk, so that the next question need not load it.
//! * [`capture`] runs kubectl for the kinds that are read.
//! * [`explain`] computes anew the numbers behind an outcome.
//! * [`wording`] knows upstream's sentences, [`report`] ours; [`cli`] joins them; [`problem`] is trouble as data.

pub mod capture;
pub mod cli;
pub mod engine;
pub mod explain;
pub mod index;
pub mod kube;
pub mod load;
pub mod model;
pub mod problem;
pub mod report;
pub mod source;
#[cfg(test)]
pub(crate) mod testkit;
pub mod wording;
