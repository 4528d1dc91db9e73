//! What differs between releases: the only place where a release is compared.
//!
//! A [`Release`](release::Release) with its [`Gates`](gates::Gates) resolves once to a
//! [`Behavior`](behavior::Behavior): one field per observable difference. The engine asks behaviour, never a version.

pub mod behavior;
pub mod default_plugins;
pub mod detect;
pub mod gates;
pub mod plugin;
pub mod plugin_set;
pub mod profile;
pub mod release;
pub mod served;
