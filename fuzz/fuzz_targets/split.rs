//! Any bytes to documents: each lies where it says it lies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::model::id::FileId;
use preempt_audit::source::split::split;

fuzz_target!(|bytes: &[u8]| {
    for document in split(FileId(0), bytes).documents {
        let from = usize::try_from(document.offset).expect("an offset in memory");
        assert_eq!(&bytes[from..from + document.json.len()], document.json);
    }
});
