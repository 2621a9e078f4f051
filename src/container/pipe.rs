//! Whole files: tensor file to `.pz` and back.

use std::borrow::BorrowMut;
use std::io::{self, Read, Write};
use std::num::NonZero;

use super::chunk::{self, Coder, Coding};
use super::frame::Frame;
use super::pipeline::Job;
use super::reader::{Ledger, Scanner, record};
use super::{Error, MAX_CHUNK_FRAME, MAX_CHUNK_RAW, Reader, Record, Summary, Writer, pipeline, tag};
use crate::codec;
use crate::tensor::{self, Input, SegmentKind};

/// Compressing failed while reading the input or while writing the output.
#[derive(Debug, thiserror::Error)]
pub enum CompressError {
    /// The tensor file.
    #[error(transparent)]
    Input(#[from] tensor::Error),
    /// The `.pz` file.
    #[error(transparent)]
    Output(#[from] Error),
}

/// Decompressing failed while reading the `.pz` file or while writing the original.
#[derive(Debug, thiserror::Error)]
pub enum DecompressError {
    /// The `.pz` file.
    #[error(transparent)]
    Input(#[from] Error),
    /// The original.
    #[error(transparent)]
    Output(io::Error),
}

/// Compresses a tensor file on the calling thread. `progress` is told the number of raw bytes done after each chunk.
///
/// # Errors
/// [`CompressError`].
pub fn compress<W: Write>(
    input: &mut Input,
    out: W,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Summary), CompressError> {
    let mut source = Source::new(input);
    let mut sink = Sink::new(source.format(), out, progress)?;
    pipeline::run_alone(|job| source.next(job), pack, |job| sink.take(job))?;
    Ok(sink.writer.finish()?)
}

/// Compresses a tensor file with `threads` threads (at most [`MAX_THREADS`](super::MAX_THREADS)) and two more that read
/// and write. The result does not depend on their number, nor does the error: it is the first in the order of the
/// file. With one thread, as [`compress`].
///
/// After an error of writing, a thread may still be waiting for the input; it ends when the input has given something.
///
/// # Errors
/// [`CompressError`].
pub fn compress_with<W: Write>(
    input: Input,
    out: W,
    threads: NonZero<usize>,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Summary), CompressError> {
    let mut source = Source::new(input);
    let mut sink = Sink::new(source.format(), out, progress)?;
    pipeline::run(threads, move |job| source.next(job), pack, |job| sink.take(job))?;
    Ok(sink.writer.finish()?)
}

/// A chunk on its way into a `.pz` file.
#[derive(Default)]
struct Packing {
    /// The record before this chunk is complete.
    end: bool,
    /// The record that begins with this chunk.
    begin: Option<Record>,
    /// How the chunk's bytes are kept; `None` if there is no chunk.
    coding: Option<Coding>,
    raw: Vec<u8>,
    stats: codec::Stats,
    frame: Vec<u8>,
    /// Why there are no more.
    error: Option<CompressError>,
}

impl Job for Packing {
    fn trim(&mut self, capacity: usize) {
        trim(&mut self.raw, capacity);
        trim(&mut self.frame, capacity);
    }
}

fn trim(buf: &mut Vec<u8>, capacity: usize) {
    if buf.capacity() > capacity {
        buf.clear();
        buf.shrink_to(capacity);
    }
}

/// Cuts a tensor file into chunks.
struct Source<I> {
    input: I,
    /// The record that is being read; `None` between records.
    open: Option<Coding>,
    done: bool,
}

impl<I: BorrowMut<Input>> Source<I> {
    fn new(input: I) -> Self {
        Source {
            input,
            open: None,
            done: false,
        }
    }

    fn format(&self) -> tensor::FileFormat {
        self.input.borrow().format()
    }

    /// Fills in the next chunk; its length. `None` when there are none left.
    fn next(&mut self, job: &mut Packing) -> Option<usize> {
        if self.done {
            return None;
        }
        (job.end, job.begin, job.coding) = (false, None, None);
        self.done = match self.chunk(job) {
            Ok(more) => !more,
            Err(e) => {
                job.error = Some(e.into());
                true
            }
        };
        (job.end || job.coding.is_some() || job.error.is_some()).then_some(job.raw.len())
    }

    /// False at the end of the file.
    fn chunk(&mut self, job: &mut Packing) -> Result<bool, tensor::Error> {
        let input = self.input.borrow_mut();
        if let Some(coding) = self.open {
            if input.read_chunk(&mut job.raw, MAX_CHUNK_RAW)? > 0 {
                job.coding = Some(coding);
                return Ok(true);
            }
            self.open = None;
            job.end = true;
        }
        while let Some(segment) = input.next_segment()? {
            let n = input.read_chunk(&mut job.raw, MAX_CHUNK_RAW)?;
            let record = match segment.kind {
                SegmentKind::Opaque if n == 0 => continue,
                SegmentKind::Opaque => Record::Opaque,
                SegmentKind::Tensor(meta) => Record::Tensor {
                    layout: meta.dtype.layout(),
                    meta,
                },
            };
            let coding = record.coding();
            job.begin = Some(record);
            job.coding = Some(coding);
            self.open = Some(coding);
            return Ok(true);
        }
        Ok(false)
    }
}

/// Makes a chunk's frame.
fn pack(coder: &mut Coder, job: &mut Packing) {
    let Some(coding) = job.coding else { return };
    // The first chunk of an empty record.
    if job.raw.is_empty() {
        return;
    }
    match coder.pack(coding, &job.raw, &mut job.frame) {
        Ok(stats) => job.stats = stats,
        Err(e) => job.error = Some(e.into()),
    }
}

/// Puts chunks together as a `.pz` file.
struct Sink<'a, W: Write> {
    writer: Writer<W>,
    done: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a, W: Write> Sink<'a, W> {
    fn new(format: tensor::FileFormat, out: W, progress: &'a mut dyn FnMut(u64)) -> Result<Self, Error> {
        Ok(Sink {
            writer: Writer::new(out, format)?,
            done: 0,
            progress,
        })
    }

    fn take(&mut self, job: &mut Packing) -> Result<(), CompressError> {
        if job.end {
            self.writer.end()?;
        }
        if let Some(record) = &job.begin {
            self.writer.begin(record)?;
        }
        if let Some(e) = job.error.take() {
            return Err(e);
        }
        if job.coding.is_some() && !job.raw.is_empty() {
            self.writer.chunk(&job.raw, &job.stats, &job.frame)?;
            self.done += job.raw.len() as u64;
            (self.progress)(self.done);
        }
        Ok(())
    }
}

/// Restores the original file from a `.pz` file on the calling thread. `progress` is told the number of `.pz` bytes
/// read.
///
/// On an error, what was written so far is not to be trusted.
///
/// # Errors
/// Any [`Error`] of reading, or [`Error::Io`] of writing.
pub fn decompress<R: Read, W: Write>(
    input: R,
    mut out: W,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Summary), Error> {
    let (mut frames, mut check) = stages(Reader::new(input)?, |raw, pz_bytes| {
        out.write_all(raw)?;
        progress(pz_bytes);
        Ok::<_, Error>(())
    });
    pipeline::run_alone(|job| frames.next(job), unpack, |job| check.take(job))?;
    let summary = check.summary();
    out.flush()?;
    Ok((out, summary))
}

/// Restores the original file from a `.pz` file whose header has been read, with `threads` threads (at most
/// [`MAX_THREADS`](super::MAX_THREADS)) and two more that read and write. Neither the result nor an error depends on
/// their number. With one thread, as [`decompress`].
///
/// On an error, what was written so far is not to be trusted, and a thread may still be waiting for the input; it ends
/// when the input has given something.
///
/// # Errors
/// [`DecompressError`].
pub fn decompress_with<R: Read + Send + 'static, W: Write>(
    reader: Reader<R>,
    mut out: W,
    threads: NonZero<usize>,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Summary), DecompressError> {
    let (mut frames, mut check) = stages(reader, |raw, pz_bytes| {
        out.write_all(raw).map_err(DecompressError::Output)?;
        progress(pz_bytes);
        Ok::<_, DecompressError>(())
    });
    pipeline::run(
        threads,
        move |job| frames.next(job),
        unpack,
        |job| check.take(job),
    )?;
    let summary = check.summary();
    out.flush().map_err(DecompressError::Output)?;
    Ok((out, summary))
}

/// Decodes a `.pz` file on the calling thread and compares it with the original, byte for byte. Returns the number of
/// bytes compared.
///
/// # Errors
/// [`Error::Verify`] at the first difference; any [`Error`] of reading.
pub fn verify<R: Read, O: Read>(pz: R, original: O, progress: &mut dyn FnMut(u64)) -> Result<u64, Error> {
    let mut comparison = Comparison::new(original, progress);
    let (mut frames, mut check) = stages(Reader::new(pz)?, |raw, _| comparison.take(raw));
    pipeline::run_alone(|job| frames.next(job), unpack, |job| check.take(job))?;
    comparison.end()
}

/// The same with `threads` threads (at most [`MAX_THREADS`](super::MAX_THREADS)) and two more that read and compare.
///
/// # Errors
/// As [`verify`].
pub fn verify_with<R: Read + Send + 'static, O: Read>(
    pz: R,
    original: O,
    threads: NonZero<usize>,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, Error> {
    let mut comparison = Comparison::new(original, progress);
    let (mut frames, mut check) = stages(Reader::new(pz)?, |raw, _| comparison.take(raw));
    pipeline::run(
        threads,
        move |job| frames.next(job),
        unpack,
        |job| check.take(job),
    )?;
    comparison.end()
}

/// The first and the last stage of reading a `.pz` file. `take` is given the raw bytes in order, and the number of
/// `.pz` bytes they came from.
fn stages<R: Read, E: From<Error>, F: FnMut(&[u8], u64) -> Result<(), E>>(
    reader: Reader<R>,
    take: F,
) -> (Frames<R>, Check<F>) {
    let (scanner, ledger) = reader.into_parts();
    let frames = Frames {
        scanner,
        open: None,
        done: false,
    };
    let check = Check {
        ledger,
        pz_bytes: 0,
        take,
    };
    (frames, check)
}

/// What comes before a chunk of a `.pz` file, and the chunk, on their way out of it.
#[derive(Default)]
struct Unpacking {
    /// The end of the record before, whose checksum holds.
    end: Option<Frame>,
    /// Its bytes.
    end_buf: Vec<u8>,
    /// The record that begins, before the chunk.
    begin: Option<Coding>,
    /// A chunk, the end of the record that begins, or the end of the file.
    frame: Option<Frame>,
    /// Its bytes.
    buf: Vec<u8>,
    /// Bytes of the `.pz` file up to its end.
    pz_bytes: u64,
    /// How the record's chunks are to be decoded.
    coding: Option<Coding>,
    raw: Vec<u8>,
    /// What the chunk came to.
    outcome: Option<Result<codec::Stats, Error>>,
    /// What was wrong with a frame; no more follows it.
    error: Option<Error>,
}

impl Job for Unpacking {
    fn trim(&mut self, capacity: usize) {
        trim(&mut self.raw, capacity);
        trim(&mut self.buf, capacity);
    }
}

/// Finds the frames of a `.pz` file. Those of records' beginnings and ends are checked at once.
struct Frames<R> {
    scanner: Scanner<R>,
    open: Option<Coding>,
    done: bool,
}

impl<R: Read> Frames<R> {
    /// Fills in what comes up to the next chunk, and that; the bytes it takes, decoded too. `None` when there is
    /// nothing left.
    fn next(&mut self, job: &mut Unpacking) -> Option<usize> {
        if self.done {
            return None;
        }
        (job.end, job.begin, job.frame) = (None, None, None);
        match self.frames(job) {
            Ok(more) => self.done = !more,
            Err(e) => {
                job.error = Some(e);
                self.done = true;
            }
        }
        job.pz_bytes = self.scanner.offset();
        job.coding = self.open;
        let bytes = job.buf.len() + chunk::raw_len(&job.buf);
        (job.end.is_some() || job.frame.is_some() || job.error.is_some()).then_some(bytes)
    }

    /// False at the end of the file.
    fn frames(&mut self, job: &mut Unpacking) -> Result<bool, Error> {
        while let Some(frame) = self.scanner.next(&mut job.buf)? {
            match frame.tag {
                // Not that of an empty record, which begins in this job too.
                tag::RECORD_END if job.begin.is_none() => {
                    frame.check(&job.buf)?;
                    job.end_buf.clone_from(&job.buf);
                    job.end = Some(frame);
                }
                tag::TENSOR | tag::OPAQUE => {
                    let coding = record(&frame, frame.check(&job.buf)?)?.coding();
                    self.open = Some(coding);
                    job.begin = Some(coding);
                    // A long name or shape: no reason for this buffer to stay larger than the others.
                    job.buf.clear();
                    job.buf.shrink_to(MAX_CHUNK_FRAME);
                }
                _ => {
                    job.frame = Some(frame);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Checks a frame's checksum and decodes a chunk.
fn unpack(coder: &mut Coder, job: &mut Unpacking) {
    job.outcome = None;
    let Some(frame) = job.frame else { return };
    match (frame.check(&job.buf), job.coding) {
        (Ok(body), Some(coding)) if frame.tag == tag::CHUNK => {
            job.outcome = Some(coder.unpack(coding, body, frame.offset, &mut job.raw));
        }
        (Ok(_), _) => {}
        (Err(e), _) => job.error = Some(e),
    }
}

/// Compares what was decoded with what the file says, in the order of the file.
struct Check<F> {
    ledger: Ledger,
    pz_bytes: u64,
    take: F,
}

impl<E: From<Error>, F: FnMut(&[u8], u64) -> Result<(), E>> Check<F> {
    fn take(&mut self, job: &mut Unpacking) -> Result<(), E> {
        if let Some(frame) = job.end {
            self.ledger.record_end(frame.body(&job.end_buf), frame.offset)?;
        }
        if let Some(coding) = job.begin {
            self.ledger.begin(coding);
        }
        if let Some(e) = job.error.take() {
            return Err(e.into());
        }
        self.pz_bytes = job.pz_bytes;
        let Some(frame) = job.frame else { return Ok(()) };
        match frame.tag {
            tag::CHUNK => {
                self.ledger.chunk_may_follow(frame.offset)?;
                let stats = job.outcome.take().unwrap_or(Err(Error::Unfinished))?;
                self.ledger.chunk(&job.raw, &stats)?;
                (self.take)(&job.raw, self.pz_bytes)?;
            }
            tag::RECORD_END => {
                self.ledger.record_end(frame.body(&job.buf), frame.offset)?;
            }
            _ => self.ledger.file_end(frame.body(&job.buf), frame.offset)?,
        }
        Ok(())
    }

    fn summary(&self) -> Summary {
        self.ledger.summary(self.pz_bytes)
    }
}

/// The original, compared with what was decoded.
struct Comparison<'a, O> {
    original: O,
    buf: Vec<u8>,
    at: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a, O: Read> Comparison<'a, O> {
    fn new(original: O, progress: &'a mut dyn FnMut(u64)) -> Self {
        Comparison {
            original,
            buf: Vec::new(),
            at: 0,
            progress,
        }
    }

    fn take(&mut self, raw: &[u8]) -> Result<(), Error> {
        let Comparison { original, buf, .. } = self;
        buf.clear();
        original.by_ref().take(raw.len() as u64).read_to_end(buf)?;
        if buf != raw {
            let same = buf.iter().zip(raw).take_while(|(a, b)| a == b).count();
            return Err(Error::Verify {
                offset: self.at + same as u64,
                what: match buf.get(same) {
                    Some(byte) => format!("expected byte 0x{byte:02x}, found 0x{:02x}", raw[same]),
                    None => "the original ends, the decoded file goes on".into(),
                },
            });
        }
        self.at += raw.len() as u64;
        (self.progress)(self.at);
        Ok(())
    }

    fn end(mut self) -> Result<u64, Error> {
        self.buf.clear();
        if self.original.take(1).read_to_end(&mut self.buf)? > 0 {
            return Err(Error::Verify {
                offset: self.at,
                what: "the decoded file ends, the original goes on".into(),
            });
        }
        Ok(self.at)
    }
}
