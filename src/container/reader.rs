//! Reading `.pz` files in one pass.

use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};
use xxhash_rust::xxh3::Xxh3;

use super::frame::{Fields, FrameReader};
use super::{
    CONTAINER_VERSION, Error, MAGIC, MAX_CHUNK_BODY, MAX_CHUNK_RAW, MAX_RECORD_BODY, MAX_SMALL_BODY, Record,
    RecordTotals, Summary, format_from_code, layout_code, tag,
};
use crate::codec;
use crate::format::{BLOCK_BYTES, FORMAT_CODE, Layout, max_stream_len};
use crate::tensor::{DType, FileFormat, TensorMeta};

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A record begins.
    Record(&'a Record),
    /// The next raw bytes of the record: at most [`MAX_CHUNK_RAW`], a multiple of 128 unless they are its last.
    ///
    /// They are not yet covered by the record's checksum, which comes with [`Event::RecordEnd`].
    Chunk(&'a [u8]),
    /// The record is complete and its checksum and totals hold.
    RecordEnd(RecordTotals),
}

enum State {
    /// Between records.
    Between,
    /// Within a record: its kind, what was read of it, its raw bytes' hash.
    Within(Record, codec::Stats, Box<Xxh3>),
    /// After the last frame.
    Done,
}

/// A `.pz` file being read.
///
/// ```no_run
/// use planezip::container::{Event, Reader};
///
/// let file = std::io::BufReader::new(std::fs::File::open("x.pz")?);
/// let mut reader = Reader::new(file)?;
/// while let Some(event) = reader.next_event()? {
///     if let Event::RecordEnd(totals) = event {
///         println!("{} bytes in {}", totals.stats.raw_bytes, totals.stats.comp_bytes);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<R: Read> {
    frames: FrameReader<R>,
    format: FileFormat,
    file_hash: Xxh3,
    summary: Summary,
    raw: Vec<u8>,
    inflate: Decompress,
    state: State,
}

impl<R: Read> Reader<R> {
    /// Reads the file's header.
    ///
    /// # Errors
    /// [`Error::NotPz`], [`Error::Version`], [`Error::Truncated`], [`Error::Checksum`], [`Error::Field`],
    /// [`Error::Io`].
    pub fn new(input: R) -> Result<Self, Error> {
        let mut frames = FrameReader::new(input);
        let magic = frames.raw(MAGIC.len())?;
        if magic != MAGIC {
            return Err(if !magic.is_empty() && MAGIC.starts_with(magic) {
                Error::Truncated {
                    offset: 0,
                    what: "the magic",
                    expected: MAGIC.len() as u64,
                    found: magic.len() as u64,
                }
            } else {
                Error::NotPz {
                    found: magic.to_vec(),
                }
            });
        }
        let (offset, _, body) = frames.frame("the file header", &[(tag::HEADER, MAX_SMALL_BODY)])?;
        let mut fields = Fields::new(body, offset);
        let version = |what, at: u64, expected: u8, found: u8| {
            if expected == found {
                Ok(())
            } else {
                Err(Error::Version {
                    what,
                    offset: offset + 5 + at,
                    expected,
                    found,
                })
            }
        };
        version(
            "container",
            0,
            CONTAINER_VERSION,
            fields.byte("container version")?,
        )?;
        version(
            "block format",
            1,
            FORMAT_CODE,
            fields.byte("block format version")?,
        )?;
        let code = fields.byte("file format")?;
        let format = format_from_code(code).ok_or_else(|| fields.error("file format", "0, 1 or 2", code))?;
        fields.end()?;
        Ok(Reader {
            frames,
            format,
            file_hash: Xxh3::new(),
            summary: Summary::default(),
            raw: Vec::new(),
            inflate: Decompress::new(false),
            state: State::Between,
        })
    }

    /// What kind of file the original is.
    #[must_use]
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// Bytes of the `.pz` file read so far.
    pub(super) fn summary_offset(&self) -> u64 {
        self.frames.offset
    }

    /// The file's totals so far; complete and checked once [`Reader::next_event`] has given `None`.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            pz_bytes: self.frames.offset,
            checksum: self.file_hash.digest(),
            ..self.summary
        }
    }

    /// Reads on. `None` once the file is complete: every frame's checksum, every record's totals and checksum and
    /// the file's own hold, and nothing follows.
    ///
    /// # Errors
    /// Any [`Error`] of reading. The reader must not be used after one.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Error> {
        match &self.state {
            State::Done => Ok(None),
            State::Between => self.next_record(),
            State::Within(..) => self.within().map(Some),
        }
    }

    fn next_record(&mut self) -> Result<Option<Event<'_>>, Error> {
        let (offset, tag, body) = self.frames.frame(
            "a record header or the file's end",
            &[
                (tag::TENSOR, MAX_RECORD_BODY),
                (tag::OPAQUE, MAX_SMALL_BODY),
                (tag::FILE_END, MAX_SMALL_BODY),
            ],
        )?;
        let mut fields = Fields::new(body, offset);
        let record = match tag {
            tag::OPAQUE => Record::Opaque,
            tag::TENSOR => tensor(&mut fields)?,
            _ => {
                let mut expect = |what, expected: u64| match fields.number(what)? {
                    found if found == expected => Ok(()),
                    found => Err(Error::Field {
                        offset,
                        what,
                        expected: expected.to_string(),
                        found: found.to_string(),
                    }),
                };
                expect("number of tensors", self.summary.tensors)?;
                expect("number of opaque records", self.summary.opaque)?;
                expect("raw bytes of the file", self.summary.raw_bytes)?;
                let expected = fields.u64("checksum")?;
                fields.end()?;
                let found = self.file_hash.digest();
                if expected != found {
                    return Err(Error::Checksum {
                        offset,
                        what: "the original file",
                        expected,
                        found,
                    });
                }
                let end = self.frames.offset;
                let extra = self.frames.raw(1)?.len() as u64;
                if extra > 0 {
                    return Err(Error::Trailing {
                        offset: end,
                        found: extra,
                    });
                }
                self.state = State::Done;
                return Ok(None);
            }
        };
        fields.end()?;
        self.state = State::Within(record, codec::Stats::default(), Box::default());
        match &self.state {
            State::Within(record, ..) => Ok(Some(Event::Record(record))),
            _ => Ok(None),
        }
    }

    fn within(&mut self) -> Result<Event<'_>, Error> {
        let State::Within(record, stats, hash) = &mut self.state else {
            return Err(Error::Unfinished);
        };
        let (offset, tag, body) = self.frames.frame(
            "a chunk or a record's end",
            &[(tag::CHUNK, MAX_CHUNK_BODY), (tag::RECORD_END, MAX_SMALL_BODY)],
        )?;
        let mut fields = Fields::new(body, offset);
        if tag == tag::CHUNK {
            if stats.raw_bytes % BLOCK_BYTES as u64 != 0 {
                return Err(fields.error(
                    "frame after a chunk that ends within a block",
                    "the record's end",
                    "a chunk",
                ));
            }
            let n = u32::from_le_bytes(fields.bytes(4, "raw length")?.try_into().unwrap_or_default());
            if !(1..=MAX_CHUNK_RAW as u32).contains(&n) {
                return Err(fields.error("raw length", format!("1 to {MAX_CHUNK_RAW}"), n));
            }
            let payload = &body[4..];
            self.raw.clear();
            let added = match record {
                Record::Tensor { layout, .. } => decode(*layout, payload, n, offset, &mut self.raw)?,
                Record::Opaque => inflate(&mut self.inflate, payload, n, offset, &mut self.raw)?,
            };
            stats.add(&added);
            hash.update(&self.raw);
            self.file_hash.update(&self.raw);
            return Ok(Event::Chunk(&self.raw));
        }

        let is_tensor = matches!(record, Record::Tensor { .. });
        let mut found = codec::Stats {
            raw_bytes: fields.number("raw bytes")?,
            comp_bytes: fields.number("payload bytes")?,
            ..codec::Stats::default()
        };
        if is_tensor {
            for n in &mut found.blocks {
                *n = fields.number("blocks of a form")?;
            }
        }
        let expected = fields.u64("checksum")?;
        fields.end()?;
        let checksum = hash.digest();
        if checksum != expected {
            return Err(Error::Checksum {
                offset,
                what: "a record's raw bytes",
                expected,
                found: checksum,
            });
        }
        if found != *stats {
            return Err(fields.error(
                "record totals (raw bytes, payload bytes, blocks by form)",
                format!("{}, {}, {:?}", stats.raw_bytes, stats.comp_bytes, stats.blocks),
                format!("{}, {}, {:?}", found.raw_bytes, found.comp_bytes, found.blocks),
            ));
        }
        // Cannot overflow: each byte was decoded.
        self.summary.raw_bytes += found.raw_bytes;
        if is_tensor {
            self.summary.tensors += 1;
            self.summary.tensor_stats.add(&found);
        } else {
            self.summary.opaque += 1;
        }
        self.state = State::Between;
        Ok(Event::RecordEnd(RecordTotals {
            stats: found,
            checksum,
        }))
    }
}

fn tensor(fields: &mut Fields<'_>) -> Result<Record, Error> {
    let code = fields.byte("layout")?;
    let layout = Layout::ALL
        .into_iter()
        .find(|&l| layout_code(l) == code)
        .ok_or_else(|| fields.error("layout", "0 or 1", code))?;
    let flags = fields.byte("flags")?;
    if flags > 3 {
        return Err(fields.error("flags", "0 to 3", flags));
    }
    let dtype = fields.text("dtype")?;
    let name = fields.text("name")?;
    let bits = fields.number("bits per element")?;
    let rank = fields.number("rank")?;
    // No capacity ahead of the bytes: the rank may be anything.
    let mut shape = Vec::new();
    for _ in 0..rank {
        shape.push(fields.number("dimension")?);
    }
    let dtype = match dtype.as_str() {
        "BF16" => DType::Bf16,
        "F16" => DType::F16,
        "F32" => DType::F32,
        _ => DType::Other {
            name: dtype,
            bits: (bits > 0).then_some(bits),
        },
    };
    if let Some(expected) = dtype.float().map(|f| 8 * f.bytes() as u64)
        && bits != expected
    {
        return Err(fields.error("bits per element", expected, bits));
    }
    if flags & 2 != 0 && rank != 0 {
        return Err(fields.error("rank of a tensor without shape", 0, rank));
    }
    Ok(Record::Tensor {
        meta: TensorMeta {
            name,
            dtype,
            shape: (flags & 2 == 0).then_some(shape),
            fortran_order: flags & 1 != 0,
        },
        layout,
    })
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
