//! Short texts of command lines and objects: quantities, releases, feature gates, a scheduler's own command line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::kube::detect::SchedulerContainer;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::release::{Release, Version};
use preempt_audit::model::quantity::Quantity;

fuzz_target!(|text: &str| {
    if let Some(quantity) = Quantity::parse(text) {
        // Both round up, and the larger unit is the coarser.
        let _ = (quantity.value(), quantity.milli_value(), quantity.plus(quantity));
        assert!(!quantity.is_zero() || quantity.value() == 0);
    }
    let release = Version::parse(text).map_or_else(|_| Release::newest(), |version| version.release);
    let _ = Gates::parse(release, text);
    let _ = SchedulerContainer::read(text, &["kube-scheduler", text]);
});
