//! Streams that compressed files and containers are read through.

use lzma_rust2::{Action, Status, XzStream};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// What xz may use for its dictionary: four times what `xz -9` asks for.
const XZ_MEMORY_KIB: u32 = 256 << 10;
/// What Zstandard may look back: twice what `zstd --long` asks for.
const ZSTD_WINDOW: u64 = 256 << 20;

/// A stream that knows how many zero bytes it gave last.
pub(super) struct Tail<R> {
    pub(super) inner: R,
    pub(super) zeros: usize,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let zeros = buffer[..count].iter().rev().take_while(|byte| **byte == 0).count();
        self.zeros = if zeros == count { self.zeros.saturating_add(zeros) } else { zeros };
        Ok(count)
    }
}

/// A stream that counts what it gave.
pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// All streams of an xz file. The crate's own reader goes round in circles on some damaged input; its decoder, which
/// says how far each step came, does not get the chance to.
pub(super) struct XzStreams<R> {
    source: R,
    decoder: XzStream,
    ended: bool,
}

impl<R: BufRead> XzStreams<R> {
    pub(super) fn new(source: R) -> Self {
        XzStreams { source, decoder: XzStream::new_mem_limit(true, XZ_MEMORY_KIB), ended: false }
    }
}

impl<R: BufRead> Read for XzStreams<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !buffer.is_empty() {
            let input = self.source.fill_buf()?;
            let action = if input.is_empty() { Action::Finish } else { Action::Run };
            let step = self.decoder.process(input, buffer, action)?;
            self.source.consume(step.bytes_consumed);
            self.ended = step.status == Status::StreamEnd;
            if step.bytes_produced > 0 {
                return Ok(step.bytes_produced);
            }
            if step.bytes_consumed == 0 && !self.ended {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream breaks off"));
            }
        }
        Ok(0)
    }
}

/// All frames of a Zstandard stream, one after the other, as the tool `zstd` writes and joins them.
pub(super) struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    /// A frame is being read.
    inside: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        ZstdFrames { source, decoder, inside: false }
    }

    /// Begins the next frame; `false` at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
            }
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.inside {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    self.decoder
                        .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                }
                let count = self.decoder.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
            }
            self.inside = self.next_frame()?;
            if !self.inside {
                return Ok(0);
            }
        }
    }
}

/// A stream that reads always as many bytes at a time, whoever asks for how many: where it breaks off does not depend on
/// that, and is the same place each time.
pub(super) struct Steady<R> {
    inner: R,
    buffer: Box<[u8]>,
    /// What of the buffer was not given yet.
    rest: Range<usize>,
}

impl<R: Read> Steady<R> {
    pub(super) fn new(inner: R) -> Self {
        Steady { inner, buffer: vec![0; 1 << 16].into_boxed_slice(), rest: 0..0 }
    }
}

impl<R: Read> Read for Steady<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && !buffer.is_empty() {
            self.rest = 0..self.inner.read(&mut self.buffer)?;
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.buffer[self.rest.start..self.rest.start + count]);
        self.rest.start += count;
        Ok(count)
    }
}
