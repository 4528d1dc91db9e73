//! Any bytes as a file: encodings, noise, layouts, streams, up to the cluster.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::load;
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { depth: 3, members: 100, bytes: 16 << 20, ratio: 100, always: 1 << 20 };
    let (files, _) = FileTable::from_memory(vec![("input".to_owned(), bytes.to_vec())], limits);
    let _ = load::load(&files);
});
