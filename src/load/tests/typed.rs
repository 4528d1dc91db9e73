//! The slim structs against k8s-openapi's types: a field whose name or place were wrong would show here.

use super::super::tables::Tables;
use super::super::{meta::Meta, node::RawNode, pod::RawPod};
use super::*;
