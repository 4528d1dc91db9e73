//! Numbers behind an outcome, computed anew where somebody asks: the engine keeps verdicts, not sums.

pub mod compare;
pub mod effects;
pub mod help;
pub mod holes;
pub mod node_story;
pub mod numbers;

#[cfg(test)]
mod scenarios;
