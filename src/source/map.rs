//! Mapping of files, and the choice of instructions: the one place of the crate with unsafe calls.

#[cfg(target_arch = "x86_64")]
use super::blocks::{self, Work, x86};
use memmap2::Mmap;
#[cfg(target_os = "linux")]
use memmap2::UncheckedAdvice;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Maps a file for reading. A file of no bytes cannot be mapped on every system: read it instead.
#[expect(unsafe_code, reason = "mapping is the only way to read gigabytes without a copy; reviewed here")]
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    shortened::expect();
    // SAFETY: the mapping is private and read-only, and it lives as long as the `Mmap`. What Rust cannot rule out is
    // another process that writes to or shortens the file meanwhile. Every reader of the bytes treats them as untrusted
    // (bounds-checked, UTF-8 checked), so changed bytes give a damaged object; bytes that are gone end the program, with
    // a word and an exit status of its own.
    unsafe { Mmap::map(file) }
}

/// Pages of a mapped file that were read and are not needed for now: whoever looks at them once more has them read again.
/// Without this all of a long file counts as the program's memory in the end, and giving it back waits for one thread.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the advice is unsafe where memory could have been written to; reviewed here")]
pub(super) fn let_go(mapped: &Mmap, range: Range<usize>) {
    // SAFETY: nothing can be written to the mapping, so on Linux its pages come back as the file has them. A file that
    // changes meanwhile does no other harm than above. An advice that is not taken changes nothing.
    let _ = unsafe { mapped.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn let_go(_mapped: &Mmap, _range: Range<usize>) {}

/// Does work over blocks with registers of so many bytes at most: 16, 32 or 64.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "there is no safe way to call what is compiled for some processors; reviewed here")]
pub(super) fn work_widely<W: Work>(work: W, widest: usize) -> W::Output {
    let bits = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
    let bits = bits && is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("popcnt");
    let wide = bits && widest >= 32 && is_x86_feature_detected!("avx2");
    if wide && widest >= 64 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the function touches no memory but the work's, and the processor was just asked for every feature that
        // it is compiled for.
        unsafe { x86::work_512(work) }
    } else if wide {
        // SAFETY: as above.
        unsafe { x86::work_256(work) }
    } else {
        work.run(blocks::classify)
    }
}

/// What happens when another process takes away the end of a mapped file.
#[cfg(unix)]
mod shortened {
    use std::sync::Once;

    const WORDS: &[u8] = b"error: a file that was being read was shortened by another program\n\
        help: wait until the dump is complete and run again\n";
    /// As for an input that cannot be read.
    const STATUS: i32 = 2;

    /// Without this the system would end the program without a word.
    #[expect(unsafe_code, reason = "there is no safe way to hear of a mapping that lost its file; reviewed here")]
    pub(super) fn expect() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let last_words = || {
                // SAFETY: both calls may be made in a handler; the buffer is a constant, and nothing follows the exit.
                let _ = unsafe { libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len()) };
                signal_hook::low_level::exit(STATUS);
            };
            // SAFETY: the handler calls only what may be called in one, and takes no lock. Without a handler the default
            // is kept, which is what is wanted if it cannot be had.
            let _ = unsafe { signal_hook::low_level::register(libc::SIGBUS, last_words) };
        });
    }
}

#[cfg(not(unix))]
mod shortened {
    pub(super) fn expect() {}
}
