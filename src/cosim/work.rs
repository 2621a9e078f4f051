//! What the engine is given to do, and what must come of it.

use std::sync::Arc;

use crate::codec::{self, Stats, Verdict};
use crate::format::{BLOCK_BYTES, Dtype, FORMS, Header, Layout};

/// A packet for the compressor: and, as its block stream, for the decompressor.
#[derive(Clone, Debug)]
pub struct EncodeJob {
    /// Where the packet comes from, for reports.
    pub label: String,
    /// The dtype sideband.
    pub dtype: Dtype,
    /// Raw bytes.
    pub raw: Arc<Vec<u8>>,
    /// The golden codec's block stream.
    pub stream: Arc<Vec<u8>>,
    /// The golden codec's figures.
    pub stats: Stats,
}

impl EncodeJob {
    /// A packet of these raw bytes.
    #[must_use]
    pub fn new(label: String, dtype: Dtype, raw: Vec<u8>) -> EncodeJob {
        let mut stream = Vec::new();
        let stats = codec::encode(dtype.layout(), &raw, &mut stream);
        EncodeJob {
            label,
            dtype,
            raw: Arc::new(raw),
            stream: Arc::new(stream),
            stats,
        }
    }
}

/// A packet for the decompressor that no encoder need have made, with the golden decoder's verdict.
#[derive(Clone, Debug)]
pub struct DecodeJob {
    /// Where the packet comes from, for reports.
    pub label: String,
    /// The dtype sideband.
    pub dtype: Dtype,
    /// The bytes to be decoded.
    pub stream: Arc<Vec<u8>>,
    /// The raw bytes up to the first faulty block.
    pub raw: Arc<Vec<u8>>,
    /// Full blocks by form in `raw`.
    pub blocks: [u64; FORMS],
    /// The golden decoder's verdict.
    pub verdict: Verdict,
}

impl DecodeJob {
    /// A packet of these bytes.
    #[must_use]
    pub fn new(label: String, dtype: Dtype, stream: Vec<u8>) -> DecodeJob {
        let layout = dtype.layout();
        let mut raw = Vec::new();
        let verdict = match codec::decode(layout, &stream, u64::MAX, &mut raw) {
            Ok(_) => Verdict::Ok,
            // Only a tensor's length could give another error, and none was asked for.
            Err(e) => e.verdict().unwrap_or(Verdict::Truncated),
        };
        let mut blocks = [0; FORMS];
        for form in headers(layout, &stream)
            .take(raw.len() / BLOCK_BYTES)
            .filter_map(|(_, h)| h.form())
        {
            blocks[form as usize] += 1;
        }
        DecodeJob {
            label,
            dtype,
            stream: Arc::new(stream),
            raw: Arc::new(raw),
            blocks,
            verdict,
        }
    }
}

/// One piece of work.
#[derive(Clone, Debug)]
pub enum Work {
    /// For both channels.
    Encode(EncodeJob),
    /// For the decompressor alone.
    Decode(DecodeJob),
}

/// The headers of a stream with the offsets of their blocks, up to the first that is not one.
pub(super) fn headers(layout: Layout, stream: &[u8]) -> impl Iterator<Item = (usize, Header)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let header = Header::parse(layout, stream.get(at..)?).ok()?;
        let offset = at;
        at += header.block_len(layout);
        Some((offset, header))
    })
}
