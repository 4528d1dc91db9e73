//! Archives: never more comes out than is allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use preempt_audit::source::archive::Limits;
use preempt_audit::source::files::FileTable;

fuzz_target!(|input: (u8, &[u8])| {
    let (kind, bytes) = input;
    let magic: &[u8] = match kind % 5 {
        0 => &[0x1f, 0x8b, 8],
        1 => &[0x28, 0xb5, 0x2f, 0xfd],
        2 => &[0xfd, b'7', b'z', b'X', b'Z', 0],
        3 => b"PK\x03\x04",
        _ => &[],
    };
    let limits = Limits { depth: 3, members: 100, bytes: 4 << 20, ratio: 100, always: 1 << 20 };
    let (files, _) = FileTable::from_memory(vec![("input".to_owned(), [magic, bytes].concat())], limits);
    let kept: usize = files.files.iter().map(|file| file.bytes.len()).sum();
    // Text that is converted may grow, its bytes in the archive may not.
    assert!(kept <= 64 << 20);
});
