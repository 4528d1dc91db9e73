//! Any bytes: the quick ways of reading give what the plain one gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::load;
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { depth: 2, members: 100, bytes: 4 << 20, ratio: 100, always: 1 << 20 };
    let (files, _) = FileTable::from_memory(vec![("input".to_owned(), bytes.to_vec())], limits);
    let plainly = load::load_plainly(&files);
    assert!(load::load(&files) == plainly);
    assert!(load::load_quickly(&files) == plainly);
    let (piped, _) = FileTable::from_pipes(vec![("input".to_owned(), bytes.to_vec())], limits, 64);
    if piped.files.first().is_some_and(|it| it.packed().is_some()) {
        let bare = FileTable::from_bytes(vec![("input".to_owned(), bytes.to_vec())]);
        assert!(load::load_quickly(&piped) == load::load_plainly(&bare));
    }
});
