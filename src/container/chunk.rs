//! Chunks: raw bytes to a chunk's frame and back. What one chunk takes does not depend on any other, so that any thread
//! can do it.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::frame::{CHECKSUM, FRAME_HEAD, Fields, seal};
use super::{Error, MAX_CHUNK_RAW, Record, tag};
use crate::codec;
use crate::format::{Layout, max_stream_len};

/// How the chunks of a record stand for its raw bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coding {
    /// As blocks.
    Blocks(Layout),
    /// Deflated, or as they are.
    Deflate,
}

impl Coding {
    pub(super) fn is_tensor(self) -> bool {
        matches!(self, Coding::Blocks(_))
    }
}

impl Record {
    pub(super) fn coding(&self) -> Coding {
        match self {
            Record::Tensor { layout, .. } => Coding::Blocks(*layout),
            Record::Opaque => Coding::Deflate,
        }
    }
}

/// Starts a chunk's frame in `frame`, in place of what it holds: room for its head, then the raw length.
pub(super) fn begin(raw_len: usize, frame: &mut Vec<u8>) {
    frame.clear();
    frame.resize(FRAME_HEAD, 0);
    frame.extend_from_slice(&(raw_len as u32).to_le_bytes());
}

/// The raw length that a chunk's frame claims: more than [`MAX_CHUNK_RAW`] is never decoded.
pub(super) fn raw_len(frame: &[u8]) -> usize {
    let field = frame.get(FRAME_HEAD..).and_then(|body| body.first_chunk());
    field
        .map_or(0, |&bytes| u32::from_le_bytes(bytes) as usize)
        .min(MAX_CHUNK_RAW)
}

/// Makes chunks and takes them apart. What it allocates serves the next chunk too.
#[derive(Default)]
pub(super) struct Coder {
    deflate: Option<Compress>,
    inflate: Option<Decompress>,
}

impl Coder {
    /// Replaces `frame` by the frame of a chunk with all of `raw`, 1 to [`MAX_CHUNK_RAW`] bytes.
    pub(super) fn pack(
        &mut self,
        coding: Coding,
        raw: &[u8],
        frame: &mut Vec<u8>,
    ) -> Result<codec::Stats, Error> {
        begin(raw.len(), frame);
        let start = frame.len();
        // All that the frame can come to, so that it grows once.
        frame.reserve(max_stream_len(raw.len() as u64) as usize + CHECKSUM);
        let stats = match coding {
            Coding::Blocks(layout) => codec::encode(layout, raw, frame),
            Coding::Deflate => {
                let state = self
                    .deflate
                    .get_or_insert_with(|| Compress::new(Compression::new(6), false));
                deflate(state, raw, frame)?;
                codec::Stats {
                    raw_bytes: raw.len() as u64,
                    comp_bytes: (frame.len() - start) as u64,
                    ..codec::Stats::default()
                }
            }
        };
        seal(tag::CHUNK, frame);
        Ok(stats)
    }

    /// Replaces `raw` by the bytes that a chunk stands for. `body` is the body of its frame, whose checksum holds, and
    /// `offset` where that frame starts.
    pub(super) fn unpack(
        &mut self,
        coding: Coding,
        body: &[u8],
        offset: u64,
        raw: &mut Vec<u8>,
    ) -> Result<codec::Stats, Error> {
        raw.clear();
        let mut fields = Fields::new(body, offset);
        let n = u32::from_le_bytes(fields.bytes(4, "raw length")?.try_into().unwrap_or_default());
        if !(1..=MAX_CHUNK_RAW as u32).contains(&n) {
            return Err(fields.error("raw length", format!("1 to {MAX_CHUNK_RAW}"), n));
        }
        let payload = &body[4..];
        match coding {
            Coding::Blocks(layout) => decode(layout, payload, n, offset, raw),
            Coding::Deflate => {
                let state = self.inflate.get_or_insert_with(|| Decompress::new(false));
                inflate(state, payload, n, offset, raw)
            }
        }
    }
}

/// Appends `raw` deflated, or as it is where that is not smaller.
fn deflate(state: &mut Compress, raw: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    // One byte less than the raw bytes: what does not fit is not worth it.
    out.reserve_exact(raw.len());
    state.reset();
    out.resize(start + raw.len() - 1, 0);
    let status = state
        .compress(raw, &mut out[start..], FlushCompress::Finish)
        .map_err(|e| Error::Io(std::io::Error::other(e)))?;
    if status == Status::StreamEnd {
        out.truncate(start + state.total_out() as usize);
    } else {
        out.truncate(start);
        out.extend_from_slice(raw);
    }
    Ok(())
}

/// Decodes a chunk of blocks to exactly `n` bytes. `offset` is where the chunk's frame starts.
fn decode(
    layout: Layout,
    payload: &[u8],
    n: u32,
    offset: u64,
    raw: &mut Vec<u8>,
) -> Result<codec::Stats, Error> {
    let n = u64::from(n);
    let length = |found: u64| Error::Field {
        offset,
        what: "payload length",
        expected: format!("at most {} for {n} raw bytes", max_stream_len(n)),
        found: found.to_string(),
    };
    if payload.len() as u64 > max_stream_len(n) {
        return Err(length(payload.len() as u64));
    }
    let stats = codec::decode(layout, payload, n, raw).map_err(|source| Error::Blocks {
        offset: offset + 9,
        source,
    })?;
    if stats.raw_bytes != n {
        return Err(Error::Field {
            offset,
            what: "raw bytes of a chunk",
            expected: n.to_string(),
            found: stats.raw_bytes.to_string(),
        });
    }
    Ok(stats)
}

/// Inflates a chunk to exactly `n` bytes.
fn inflate(
    state: &mut Decompress,
    payload: &[u8],
    n: u32,
    offset: u64,
    raw: &mut Vec<u8>,
) -> Result<codec::Stats, Error> {
    let stats = codec::Stats {
        raw_bytes: n.into(),
        comp_bytes: payload.len() as u64,
        ..codec::Stats::default()
    };
    let n = n as usize;
    if payload.len() > n {
        return Err(Error::Field {
            offset,
            what: "payload length",
            expected: format!("at most {n}"),
            found: payload.len().to_string(),
        });
    }
    if payload.len() == n {
        raw.extend_from_slice(payload);
        return Ok(stats);
    }
    let bad = |reason: String| Error::Deflate {
        offset: offset + 9,
        reason,
    };
    state.reset(false);
    raw.resize(n, 0);
    let status = state
        .decompress(payload, raw, FlushDecompress::Finish)
        .map_err(|e| bad(e.to_string()))?;
    let (used, made) = (state.total_in(), state.total_out());
    if status != Status::StreamEnd || used != payload.len() as u64 || made != n as u64 {
        return Err(bad(format!(
            "expected {n} bytes from {} and the stream's end there, found {made} from {used}",
            payload.len()
        )));
    }
    Ok(stats)
}
