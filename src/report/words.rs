//! stub until wording is there
use super::view::View;
use crate::engine::framework::{Fault, NodeStatus};
use crate::engine::outcome::{DryRunFailure, Eligibility};
use crate::model::id::NodeId;

pub(crate) fn reasons(_view: &View<'_>, _node: NodeId, status: &NodeStatus) -> Vec<String> {
    vec![format!("{:?}", status.verdict)]
}
pub(crate) fn message(_view: &View<'_>) -> Option<String> {
    None
}
pub(crate) fn post_filter_message(_view: &View<'_>) -> Option<String> {
    None
}
pub(crate) fn ineligible_reason(_e: Eligibility) -> Option<&'static str> {
    None
}
pub(crate) fn fault(_view: &View<'_>, fault: Fault) -> String {
    format!("{fault:?}")
}
pub(crate) fn no_victims(_view: &View<'_>, _node: NodeId) -> String {
    "No preemption victims found for incoming pod".to_owned()
}
pub(crate) fn dry_run_error(_view: &View<'_>, _node: NodeId, failure: &DryRunFailure) -> String {
    format!("{failure:?}")
}
