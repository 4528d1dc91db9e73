//! How far the work has come: counted by whoever does it, looked at by whoever tells of it.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Files are opened, archives unfolded, YAML turned into JSON: in bytes as they lie on disk.
    Opening,
    /// Objects are read: in bytes of their text.
    Reading,
    /// Pods are answered.
    Answering,
}

/// Counts the work of one step after the other. Nobody waits for it, and nothing depends on it.
#[derive(Debug, Default)]
pub struct Meter {
    step: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
}

/// How far the work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// What is being done.
    pub step: Step,
    /// How much of it is done.
    pub done: u64,
    /// How much there is to do; less than `done` where nobody knows.
    pub total: u64,
}

impl Meter {
    /// A step begins.
    pub fn begin(&self, step: Step, total: u64) {
        self.step.store(step as u8, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// So much was done.
    pub fn advance(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// There is more to do than was known.
    pub fn expect(&self, more: u64) {
        self.total.fetch_add(more, Ordering::Relaxed);
    }

    /// A part of what there is to do.
    pub fn share(&self, size: u64) -> Share<'_> {
        Share { meter: self, size, left: Cell::new(size) }
    }

    /// How far the work has come.
    pub fn reached(&self) -> Reached {
        let step = match self.step.load(Ordering::Relaxed) {
            0 => Step::Opening,
            1 => Step::Reading,
            _ => Step::Answering,
        };
        Reached { step, done: self.done.load(Ordering::Relaxed), total: self.total.load(Ordering::Relaxed) }
    }
}

/// A part of the work. Never more than all of it is counted, and all of it once it is dropped.
#[derive(Debug)]
pub struct Share<'m> {
    meter: &'m Meter,
    size: u64,
    left: Cell<u64>,
}

/// Less is not worth counting by itself.
const PIECE: u64 = 1 << 16;

impl Share<'_> {
    /// The work has come to this place, counted from the share's beginning.
    pub fn reach(&self, place: u64) {
        let done = self.size - self.left.get();
        if place >= done.saturating_add(PIECE) {
            self.advance(place - done);
        }
    }

    /// So much of it was done.
    pub fn advance(&self, done: u64) {
        let done = done.min(self.left.get());
        self.left.set(self.left.get() - done);
        self.meter.advance(done);
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.meter.advance(self.left.get());
    }
}

/// A stream whose bytes are counted as they are read.
pub(crate) struct Watched<'m, R> {
    pub(crate) inner: R,
    pub(crate) share: &'m Share<'m>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.share.advance(count as u64);
        Ok(count)
    }
}

impl<R: Seek> Seek for Watched<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_counts_all_of_itself_and_no_more() {
        let meter = Meter::default();
        meter.begin(Step::Reading, 10);
        let share = meter.share(6);
        share.advance(4);
        share.advance(4);
        assert_eq!(meter.reached(), Reached { step: Step::Reading, done: 6, total: 10 });
        drop(share);
        drop(meter.share(4));
        assert_eq!(meter.reached().done, 10);
        let share = meter.share(3 * PIECE);
        share.reach(PIECE - 1);
        assert_eq!(meter.reached().done, 10);
        share.reach(2 * PIECE);
        assert_eq!(meter.reached().done, 10 + 2 * PIECE);
    }
}
