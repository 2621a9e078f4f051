//! Reading `.pz` files in one pass.

use std::io::Read;

use xxhash_rust::xxh3::Xxh3;

use super::chunk::{Coder, Coding};
use super::frame::{Fields, Frame, FrameReader};
use super::{
    CONTAINER_VERSION, Error, MAGIC, MAX_CHUNK_BODY, MAX_RECORD_BODY, MAX_SMALL_BODY, Record, RecordTotals,
    Summary, format_from_code, hash_both, layout_code, tag,
};
use crate::codec;
use crate::format::{BLOCK_BYTES, FORMAT_CODE, Layout};
use crate::tensor::{DType, FileFormat, TensorMeta};

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A record begins.
    Record(&'a Record),
    /// The next raw bytes of the record: at most [`MAX_CHUNK_RAW`](super::MAX_CHUNK_RAW), a multiple of 128 unless they
    /// are its last.
    ///
    /// They are not yet covered by the record's checksum, which comes with [`Event::RecordEnd`].
    Chunk(&'a [u8]),
    /// The record is complete and its checksum and totals hold.
    RecordEnd(RecordTotals),
}

/// Finds the frames of a file, and knows which may come next.
pub(super) struct Scanner<R> {
    frames: FrameReader<R>,
    next: Next,
}

enum Next {
    /// Between records.
    Record,
    /// Within a record.
    Chunk,
    /// After the last frame.
    Nothing,
}

impl<R: Read> Scanner<R> {
    /// Bytes of the `.pz` file read so far.
    pub(super) fn offset(&self) -> u64 {
        self.frames.offset
    }

    /// Reads the next frame into `buf`; its checksum and body are yet to be checked. `None` at the end of the file.
    pub(super) fn next(&mut self, buf: &mut Vec<u8>) -> Result<Option<Frame>, Error> {
        let frame = match self.next {
            Next::Record => self.frames.frame(
                "a record header or the file's end",
                &[
                    (tag::TENSOR, MAX_RECORD_BODY),
                    (tag::OPAQUE, MAX_SMALL_BODY),
                    (tag::FILE_END, MAX_SMALL_BODY),
                ],
                buf,
            )?,
            Next::Chunk => self.frames.frame(
                "a chunk or a record's end",
                &[(tag::CHUNK, MAX_CHUNK_BODY), (tag::RECORD_END, MAX_SMALL_BODY)],
                buf,
            )?,
            Next::Nothing => {
                let offset = self.frames.offset;
                let found = self.frames.raw(1)?.len() as u64;
                return if found > 0 {
                    Err(Error::Trailing { offset, found })
                } else {
                    Ok(None)
                };
            }
        };
        self.next = match frame.tag {
            tag::FILE_END => Next::Nothing,
            tag::RECORD_END => Next::Record,
            _ => Next::Chunk,
        };
        Ok(Some(frame))
    }
}

/// What the file's records hold so far, to be compared with what their ends say.
#[derive(Default)]
pub(super) struct Ledger {
    file_hash: Xxh3,
    /// Complete records, and the checksum and length of the file where those are known.
    summary: Summary,
    /// The record that is being read: how, what it holds so far, its raw bytes' hash.
    open: Option<(Coding, codec::Stats, Box<Xxh3>)>,
}

impl Ledger {
    pub(super) fn begin(&mut self, coding: Coding) {
        self.open = Some((coding, codec::Stats::default(), Box::default()));
    }

    /// How the record's chunks stand for its bytes, if another may follow: not after one that ended within a block.
    pub(super) fn chunk_may_follow(&self, offset: u64) -> Result<Coding, Error> {
        let (coding, stats, _) = self.open.as_ref().ok_or(Error::Unfinished)?;
        if stats.raw_bytes % BLOCK_BYTES as u64 != 0 {
            return Err(Error::Field {
                offset,
                what: "frame after a chunk that ends within a block",
                expected: "the record's end".into(),
                found: "a chunk".into(),
            });
        }
        Ok(*coding)
    }

    /// Counts a chunk.
    pub(super) fn chunk(&mut self, raw: &[u8], stats: &codec::Stats) -> Result<(), Error> {
        let (_, total, hash) = self.open.as_mut().ok_or(Error::Unfinished)?;
        total.add(stats);
        hash_both(hash, &mut self.file_hash, raw);
        Ok(())
    }

    /// Compares a record with the body of its end. `offset` is where that frame starts.
    pub(super) fn record_end(&mut self, body: &[u8], offset: u64) -> Result<RecordTotals, Error> {
        let (coding, stats, hash) = self.open.take().ok_or(Error::Unfinished)?;
        let mut fields = Fields::new(body, offset);
        let mut found = codec::Stats {
            raw_bytes: fields.number("raw bytes")?,
            comp_bytes: fields.number("payload bytes")?,
            ..codec::Stats::default()
        };
        if coding.is_tensor() {
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
        if found != stats {
            return Err(fields.error(
                "record totals (raw bytes, payload bytes, blocks by form)",
                format!("{}, {}, {:?}", stats.raw_bytes, stats.comp_bytes, stats.blocks),
                format!("{}, {}, {:?}", found.raw_bytes, found.comp_bytes, found.blocks),
            ));
        }
        // Cannot overflow: each byte was decoded.
        self.summary.add(coding, &found);
        Ok(RecordTotals {
            stats: found,
            checksum,
        })
    }

    /// Compares the file with the body of its end.
    pub(super) fn file_end(&self, body: &[u8], offset: u64) -> Result<(), Error> {
        let mut fields = Fields::new(body, offset);
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
        Ok(())
    }

    /// The totals of the complete records; `pz_bytes` have been read.
    pub(super) fn summary(&self, pz_bytes: u64) -> Summary {
        Summary {
            pz_bytes,
            checksum: self.file_hash.digest(),
            ..self.summary
        }
    }
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
    scanner: Scanner<R>,
    ledger: Ledger,
    format: FileFormat,
    coder: Coder,
    /// The record that is being read.
    record: Record,
    /// The last frame read.
    frame: Vec<u8>,
    /// The last chunk's bytes.
    raw: Vec<u8>,
    done: bool,
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
            return Err(if !magic.is_empty() && MAGIC.starts_with(&magic) {
                Error::Truncated {
                    offset: 0,
                    what: "the magic",
                    expected: MAGIC.len() as u64,
                    found: magic.len() as u64,
                }
            } else {
                Error::NotPz { found: magic }
            });
        }
        let mut buf = Vec::new();
        let frame = frames.frame("the file header", &[(tag::HEADER, MAX_SMALL_BODY)], &mut buf)?;
        let offset = frame.offset;
        let mut fields = Fields::new(frame.check(&buf)?, offset);
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
            scanner: Scanner {
                frames,
                next: Next::Record,
            },
            ledger: Ledger::default(),
            format,
            coder: Coder::default(),
            record: Record::Opaque,
            frame: buf,
            raw: Vec::new(),
            done: false,
        })
    }

    /// What kind of file the original is.
    #[must_use]
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// The file's totals so far; complete and checked once [`Reader::next_event`] has given `None`.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.ledger.summary(self.scanner.offset())
    }

    /// Takes the reader apart, for work in stages.
    pub(super) fn into_parts(self) -> (Scanner<R>, Ledger) {
        (self.scanner, self.ledger)
    }

    /// Reads on. `None` once the file is complete: every frame's checksum, every record's totals and checksum and
    /// the file's own hold, and nothing follows.
    ///
    /// # Errors
    /// Any [`Error`] of reading. The reader must not be used after one.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Error> {
        if self.done {
            return Ok(None);
        }
        let Some(frame) = self.scanner.next(&mut self.frame)? else {
            self.done = true;
            return Ok(None);
        };
        let body = frame.check(&self.frame)?;
        match frame.tag {
            tag::CHUNK => {
                let coding = self.ledger.chunk_may_follow(frame.offset)?;
                let stats = self.coder.unpack(coding, body, frame.offset, &mut self.raw)?;
                self.ledger.chunk(&self.raw, &stats)?;
                Ok(Some(Event::Chunk(&self.raw)))
            }
            tag::RECORD_END => {
                let totals = self.ledger.record_end(body, frame.offset)?;
                Ok(Some(Event::RecordEnd(totals)))
            }
            tag::FILE_END => {
                self.ledger.file_end(body, frame.offset)?;
                self.next_event()
            }
            _ => {
                self.record = record(&frame, body)?;
                self.ledger.begin(self.record.coding());
                Ok(Some(Event::Record(&self.record)))
            }
        }
    }
}

/// What a frame that begins a record says.
pub(super) fn record(frame: &Frame, body: &[u8]) -> Result<Record, Error> {
    let mut fields = Fields::new(body, frame.offset);
    let record = match frame.tag {
        tag::OPAQUE => Record::Opaque,
        _ => tensor(&mut fields)?,
    };
    fields.end()?;
    Ok(record)
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
