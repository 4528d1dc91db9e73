//! What several benchmarks print with.

#![allow(dead_code, clippy::allow_attributes, reason = "each benchmark uses a part of it")]

use std::time::Duration;

/// How many times `b` is in `a`.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}

/// Milliseconds, for people.
pub(crate) fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
