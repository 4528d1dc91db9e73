//! Any text as YAML: what comes out without trouble is JSON, and not much larger than what went in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::source::yaml;

fuzz_target!(|text: &str| {
    let converted = yaml::to_json(text);
    assert!(converted.json.len() <= (32 << 20) + 20 * text.len());
    if converted.troubles.is_empty() {
        let mut values = serde_json::Deserializer::from_str(&converted.json).into_iter::<serde_json::Value>();
        assert!(values.all(|value| value.is_ok()), "{text:?}: {}", converted.json);
    }
});
