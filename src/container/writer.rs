//! Writing `.pz` files in one pass.

use std::io::Write;

use xxhash_rust::xxh3::Xxh3;

use super::chunk::{self, Coder, Coding};
use super::frame::{FRAME_HEAD, FrameWriter, put_number, seal};
use super::{
    CONTAINER_VERSION, Error, MAGIC, MAX_CHUNK_RAW, MAX_RECORD_BODY, Record, RecordTotals, Summary,
    format_code, hash_both, layout_code, tag,
};
use crate::codec::{self, DecodeError};
use crate::format::{FORMAT_CODE, Header, HeaderError, Layout, max_stream_len};
use crate::tensor::{FileFormat, TensorMeta};

/// A `.pz` file being written.
///
/// Records are added in the order of the original file; each is finished before the next one begins.
///
/// ```
/// use planezip::codec;
/// use planezip::container::{Reader, Writer};
/// use planezip::tensor::{DType, FileFormat, TensorMeta};
///
/// let raw = [0u8; 256];
/// let meta = TensorMeta { name: "x".into(), dtype: DType::Bf16, shape: Some(vec![128]), fortran_order: false };
/// let mut writer = Writer::new(Vec::new(), FileFormat::Raw)?;
/// // A block stream made elsewhere, such as by the engine.
/// let mut stream = Vec::new();
/// codec::encode(meta.dtype.layout(), &raw, &mut stream);
/// writer.tensor_stream(&meta, &raw, &stream)?;
/// let (pz, summary) = writer.finish()?;
/// assert_eq!(summary.tensor_stats.comp_bytes, stream.len() as u64);
/// # Ok::<(), planezip::container::Error>(())
/// ```
pub struct Writer<W: Write> {
    frames: FrameWriter<W>,
    file_hash: Xxh3,
    summary: Summary,
    /// A frame being put together: head, body.
    frame: Vec<u8>,
    /// Raw bytes that wait for their chunk to fill.
    pending: Vec<u8>,
    coder: Coder,
    open: Option<OpenRecord>,
}

/// The record that is being written: how, and what it holds so far.
struct OpenRecord {
    coding: Coding,
    stats: codec::Stats,
    hash: Box<Xxh3>,
}

impl<W: Write> Writer<W> {
    /// Starts a file. `format` tells readers what kind of file the original is.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn new(out: W, format: FileFormat) -> Result<Self, Error> {
        let mut writer = Writer {
            frames: FrameWriter::new(out),
            file_hash: Xxh3::new(),
            summary: Summary::default(),
            frame: Vec::new(),
            pending: Vec::new(),
            coder: Coder::default(),
            open: None,
        };
        writer.frames.raw(&MAGIC)?;
        writer.body();
        let versions = [CONTAINER_VERSION, FORMAT_CODE, format_code(format)];
        writer.frame.extend_from_slice(&versions);
        writer.frames.frame(tag::HEADER, &mut writer.frame)?;
        Ok(writer)
    }

    /// Starts a frame's body.
    fn body(&mut self) -> &mut Vec<u8> {
        self.frame.clear();
        self.frame.resize(FRAME_HEAD, 0);
        &mut self.frame
    }

    /// Begins a record; [`Writer::end`] completes it.
    pub(super) fn begin(&mut self, record: &Record) -> Result<(), Error> {
        if self.open.is_some() {
            return Err(Error::Unfinished);
        }
        let body = self.body();
        let tag = match record {
            Record::Opaque => tag::OPAQUE,
            Record::Tensor { meta, layout } => {
                body.push(layout_code(*layout));
                body.push(u8::from(meta.fortran_order) | u8::from(meta.shape.is_none()) << 1);
                for text in [meta.dtype.name(), &meta.name] {
                    put_number(body, text.len() as u64);
                    body.extend_from_slice(text.as_bytes());
                }
                put_number(body, meta.dtype.bits().unwrap_or(0));
                let shape = meta.shape.as_deref().unwrap_or_default();
                put_number(body, shape.len() as u64);
                for &dim in shape {
                    put_number(body, dim);
                }
                tag::TENSOR
            }
        };
        let len = (self.frame.len() - FRAME_HEAD) as u64;
        if len > u64::from(MAX_RECORD_BODY) {
            return Err(Error::RecordTooLarge {
                max: MAX_RECORD_BODY.into(),
                found: len,
            });
        }
        self.frames.frame(tag, &mut self.frame)?;
        self.open = Some(OpenRecord {
            coding: record.coding(),
            stats: codec::Stats::default(),
            hash: Box::default(),
        });
        self.pending.clear();
        Ok(())
    }

    /// Adds a chunk to the record: its frame, made by [`Coder::pack`], and the raw bytes in it.
    pub(super) fn chunk(&mut self, raw: &[u8], stats: &codec::Stats, frame: &[u8]) -> Result<(), Error> {
        let open = self.open.as_mut().ok_or(Error::Unfinished)?;
        hash_both(&mut open.hash, &mut self.file_hash, raw);
        open.stats.add(stats);
        self.frames.raw(frame)
    }

    /// Makes a chunk of `raw` and adds it to the record.
    fn pack(&mut self, raw: &[u8]) -> Result<(), Error> {
        let coding = self.open.as_ref().ok_or(Error::Unfinished)?.coding;
        let mut frame = std::mem::take(&mut self.frame);
        let result = self
            .coder
            .pack(coding, raw, &mut frame)
            .and_then(|stats| self.chunk(raw, &stats, &frame));
        self.frame = frame;
        result
    }

    /// Makes a chunk of what waits.
    fn flush(&mut self) -> Result<(), Error> {
        let mut pending = std::mem::take(&mut self.pending);
        let result = self.pack(&pending);
        pending.clear();
        self.pending = pending;
        result
    }

    /// Completes the record.
    pub(super) fn end(&mut self) -> Result<RecordTotals, Error> {
        let open = self.open.take().ok_or(Error::Unfinished)?;
        let totals = RecordTotals {
            stats: open.stats,
            checksum: open.hash.digest(),
        };
        let body = self.body();
        put_number(body, totals.stats.raw_bytes);
        put_number(body, totals.stats.comp_bytes);
        if open.coding.is_tensor() {
            for n in totals.stats.blocks {
                put_number(body, n);
            }
        }
        body.extend_from_slice(&totals.checksum.to_le_bytes());
        if let Err(e) = self.frames.frame(tag::RECORD_END, &mut self.frame) {
            self.open = Some(open);
            return Err(e);
        }
        self.summary.add(open.coding, &totals.stats);
        Ok(totals)
    }

    /// Begins a tensor; its bytes follow through [`RecordWriter::write`].
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::RecordTooLarge`], [`Error::Unfinished`].
    pub fn tensor(&mut self, meta: &TensorMeta) -> Result<RecordWriter<'_, W>, Error> {
        self.begin(&Record::Tensor {
            meta: meta.clone(),
            layout: meta.dtype.layout(),
        })?;
        Ok(RecordWriter { writer: self })
    }

    /// Begins bytes that belong to no tensor.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Unfinished`].
    pub fn opaque(&mut self) -> Result<RecordWriter<'_, W>, Error> {
        self.begin(&Record::Opaque)?;
        Ok(RecordWriter { writer: self })
    }

    /// Adds a tensor whose block stream (under the dtype's own layout) was made elsewhere, such as by the engine.
    /// `raw` is what the checksums are taken of: the stream itself is not decoded, only cut at block boundaries, so
    /// that a stream which stands for other bytes is found by whoever decompresses the file.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream's headers are malformed, [`Error::StreamLength`] if they do not add up to the
    /// length of `raw`, [`Error::StreamTooLong`] if it is longer than a reader takes; nothing is written then. Else as
    /// [`Writer::tensor`].
    pub fn tensor_stream(
        &mut self,
        meta: &TensorMeta,
        raw: &[u8],
        stream: &[u8],
    ) -> Result<RecordTotals, Error> {
        let layout = meta.dtype.layout();
        let chunks = cut(layout, stream)?;
        let found = chunks.iter().map(|(stats, _)| stats.raw_bytes).sum();
        if found != raw.len() as u64 {
            return Err(Error::StreamLength {
                expected: raw.len() as u64,
                found,
            });
        }
        let record = self.tensor(meta)?;
        let mut rest = raw;
        let mut frame = Vec::new();
        for (stats, payload) in chunks {
            let (raw, after) = rest.split_at(stats.raw_bytes as usize);
            rest = after;
            chunk::begin(raw.len(), &mut frame);
            frame.extend_from_slice(payload);
            seal(tag::CHUNK, &mut frame);
            record.writer.chunk(raw, &stats, &frame)?;
        }
        record.finish()
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Unfinished`].
    pub fn finish(mut self) -> Result<(W, Summary), Error> {
        if self.open.is_some() {
            return Err(Error::Unfinished);
        }
        let mut summary = self.summary;
        summary.checksum = self.file_hash.digest();
        let body = self.body();
        put_number(body, summary.tensors);
        put_number(body, summary.opaque);
        put_number(body, summary.raw_bytes);
        body.extend_from_slice(&summary.checksum.to_le_bytes());
        self.frames.frame(tag::FILE_END, &mut self.frame)?;
        summary.pz_bytes = self.frames.offset;
        Ok((self.frames.into_inner()?, summary))
    }
}

/// Cuts a block stream into chunks of at most [`MAX_CHUNK_RAW`] raw bytes, by its block headers.
fn cut(layout: Layout, stream: &[u8]) -> Result<Vec<(codec::Stats, &[u8])>, Error> {
    let mut chunks = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut stats = codec::Stats::default();
    while at < stream.len() {
        let left = &stream[at..];
        let truncated = |needed: usize| {
            Error::Stream(DecodeError::Truncated {
                offset: at as u64,
                needed,
                have: left.len(),
            })
        };
        let header = Header::parse(layout, left).map_err(|source| match source {
            HeaderError::Truncated { needed, .. } => truncated(needed),
            source => Error::Stream(DecodeError::BadHeader {
                offset: at as u64,
                source,
            }),
        })?;
        let len = header.block_len(layout);
        if left.len() < len {
            return Err(truncated(len));
        }
        match header.form() {
            Some(form) => stats.blocks[form as usize] += 1,
            None if left.len() > len => {
                return Err(Error::Stream(DecodeError::Trailing {
                    offset: at as u64,
                    extra: left.len() - len,
                }));
            }
            None => {}
        }
        stats.raw_bytes += header.raw_len() as u64;
        stats.comp_bytes += len as u64;
        at += len;
        if stats.raw_bytes == MAX_CHUNK_RAW as u64 || at == stream.len() {
            let max = max_stream_len(stats.raw_bytes);
            if stats.comp_bytes > max {
                return Err(Error::StreamTooLong {
                    raw: stats.raw_bytes,
                    max,
                    found: stats.comp_bytes,
                });
            }
            chunks.push((std::mem::take(&mut stats), &stream[start..at]));
            start = at;
        }
    }
    Ok(chunks)
}

/// A record being written. Dropping it unfinished makes the file impossible to complete.
pub struct RecordWriter<'a, W: Write> {
    writer: &'a mut Writer<W>,
}

impl<W: Write> RecordWriter<'_, W> {
    /// Adds raw bytes, of any number.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&mut self, mut raw: &[u8]) -> Result<(), Error> {
        let writer = &mut *self.writer;
        while !raw.is_empty() {
            if writer.pending.is_empty() && raw.len() >= MAX_CHUNK_RAW {
                let (chunk, rest) = raw.split_at(MAX_CHUNK_RAW);
                writer.pack(chunk)?;
                raw = rest;
                continue;
            }
            let n = raw.len().min(MAX_CHUNK_RAW - writer.pending.len());
            writer.pending.extend_from_slice(&raw[..n]);
            raw = &raw[n..];
            if writer.pending.len() == MAX_CHUNK_RAW {
                writer.flush()?;
            }
        }
        Ok(())
    }

    /// Completes the record.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(self) -> Result<RecordTotals, Error> {
        if !self.writer.pending.is_empty() {
            self.writer.flush()?;
        }
        self.writer.end()
    }
}
