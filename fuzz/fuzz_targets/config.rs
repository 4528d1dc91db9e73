//! Any text as a scheduler configuration, at any release: profiles or refusals, each with a line of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::release::Release;
use preempt_audit::load::scheduler_config::SchedulerConfig;
use preempt_audit::model::symbols::Symbols;

fuzz_target!(|input: (u16, &str)| {
    let (minor, text) = input;
    let release = Release::new(18 + minor % 20, 0);
    let read = SchedulerConfig::read("scheduler.yaml", text);
    let resolved = read.and_then(|it| it.resolve(release, &Gates::defaults(release), &mut Symbols::default()));
    match resolved {
        Ok(resolved) => assert!(!resolved.profiles.is_empty()),
        Err(refusals) => {
            // YAML breaks lines at a carriage return too.
            let lines = text.replace("\r\n", "\n").split(['\n', '\r']).count() as u64 + 1;
            assert!(!refusals.is_empty() && refusals.iter().all(|it| it.line.is_none_or(|line| line <= lines)));
        }
    }
});
