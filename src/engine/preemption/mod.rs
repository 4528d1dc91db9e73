//! Preemption: DefaultPreemption's PostFilter. Upstream: `framework/preemption`, `plugins/defaultpreemption`.
