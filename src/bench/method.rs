//! Codecs behind one interface.

use crate::codec;
use crate::format::{Layout, max_stream_len};
use crate::stat::Rivals;
use crate::tensor::{DType, Float};

use super::bitshuffle::{MAX_ELEMENT, Transposer, blocks};
use super::zero_value;

/// Why a codec could not be compared with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The codec reports an error.
    #[error("{method}: {message}")]
    Failed {
        /// The codec.
        method: &'static str,
        /// What it says.
        message: String,
    },
    /// Decompressed bytes are not those that were compressed.
    #[error(
        "{method}: expected the {expected} bytes compressed, found {found} bytes that differ from offset {offset} on"
    )]
    Differs {
        /// The codec.
        method: &'static str,
        /// Bytes that were compressed.
        expected: u64,
        /// Bytes that came back.
        found: u64,
        /// The first byte that is not the same.
        offset: u64,
    },
    /// A tensor too long to be compressed in one shot.
    #[error("{method}: takes at most {max} bytes in one shot, found {found}")]
    TooLong {
        /// The codec.
        method: &'static str,
        /// Bytes it takes.
        max: u64,
        /// Bytes of the tensor.
        found: u64,
    },
    /// No tensor to measure with.
    #[error("expected BF16, F16 or F32 tensors, found none that count")]
    NoTensors,
}

impl Error {
    /// True if a codec is at fault, not what it was asked to do.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Error::Failed { .. } | Error::Differs { .. })
    }
}

/// What a codec is told about a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// How the block format cuts its bytes into words.
    pub layout: Layout,
    /// Bytes of an element; 1 where elements are not 1, 2, 4 or 8 bytes long.
    pub bytes: usize,
}

impl From<&DType> for Element {
    fn from(dtype: &DType) -> Self {
        let bytes = dtype.element_bytes().and_then(|n| usize::try_from(n).ok());
        Element {
            layout: dtype.layout(),
            bytes: bytes
                .filter(|&n| n.is_power_of_two() && n <= MAX_ELEMENT)
                .unwrap_or(1),
        }
    }
}

impl From<Float> for Element {
    fn from(float: Float) -> Self {
        Element::from(&DType::from(float))
    }
}

/// A codec with the contexts it reuses.
pub trait Codec: Send {
    /// Replaces `stream` by the compressed bytes. Does not allocate if `stream` once held a stream of as many bytes.
    ///
    /// # Errors
    /// [`Error::Failed`], [`Error::TooLong`].
    fn compress(&mut self, element: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error>;

    /// Replaces `raw` by the `len` bytes that `stream` stands for.
    ///
    /// # Errors
    /// [`Error::Failed`].
    fn decompress(
        &mut self,
        element: Element,
        stream: &[u8],
        len: usize,
        raw: &mut Vec<u8>,
    ) -> Result<(), Error>;
}

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The golden codec.
    Planezip,
    /// The plain zero-value codec.
    ZeroValue,
    /// lz4, acceleration 1.
    Lz4,
    /// zstd, level 3.
    Zstd3,
    /// zstd, level 19.
    Zstd19,
    /// Bit transposition and lz4.
    BitshuffleLz4,
    /// No compression: the bytes copied.
    Memcpy,
}

impl Method {
    /// Name in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Method::Planezip => "planezip",
            Method::ZeroValue => "zero_value",
            Method::Lz4 => "lz4",
            Method::Zstd3 => "zstd_3",
            Method::Zstd19 => "zstd_19",
            Method::BitshuffleLz4 => "bitshuffle_lz4",
            Method::Memcpy => "memcpy",
        }
    }

    /// Name for tables and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Method::Planezip => "planezip",
            Method::ZeroValue => "zero-value",
            Method::Lz4 => "lz4",
            Method::Zstd3 => "zstd -3",
            Method::Zstd19 => "zstd -19",
            Method::BitshuffleLz4 => "bitshuffle+lz4",
            Method::Memcpy => "memcpy",
        }
    }

    /// A codec, ready for use.
    ///
    /// # Errors
    /// [`Error::Failed`] if a context cannot be made.
    pub fn codec(self) -> Result<Box<dyn Codec>, Error> {
        Ok(match self {
            Method::Planezip => Box::new(Planezip),
            Method::ZeroValue => Box::new(ZeroValue),
            Method::Lz4 => Box::new(Lz4),
            Method::Zstd3 => Box::new(Zstd::new(self, 3)?),
            Method::Zstd19 => Box::new(Zstd::new(self, 19)?),
            Method::BitshuffleLz4 => Box::new(BitshuffleLz4::default()),
            Method::Memcpy => Box::new(Memcpy),
        })
    }

    fn failed(self, message: impl ToString) -> Error {
        Error::Failed {
            method: self.name(),
            message: message.to_string(),
        }
    }

    /// Compares decompressed bytes with those that were compressed.
    ///
    /// # Errors
    /// [`Error::Differs`].
    pub fn check(self, raw: &[u8], back: &[u8]) -> Result<(), Error> {
        if raw == back {
            return Ok(());
        }
        let same = raw.iter().zip(back).take_while(|(a, b)| a == b).count();
        Err(Error::Differs {
            method: self.name(),
            expected: raw.len() as u64,
            found: back.len() as u64,
            offset: same as u64,
        })
    }
}

struct Planezip;

impl Codec for Planezip {
    fn compress(&mut self, element: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error> {
        stream.clear();
        stream.reserve(max_stream_len(raw.len() as u64) as usize);
        codec::encode(element.layout, raw, stream);
        Ok(())
    }

    fn decompress(
        &mut self,
        element: Element,
        stream: &[u8],
        len: usize,
        raw: &mut Vec<u8>,
    ) -> Result<(), Error> {
        raw.clear();
        raw.reserve(len);
        codec::decode(element.layout, stream, len as u64, raw).map_err(|e| Method::Planezip.failed(e))?;
        Ok(())
    }
}

struct ZeroValue;

impl Codec for ZeroValue {
    fn compress(&mut self, element: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error> {
        stream.clear();
        stream.reserve(max_stream_len(raw.len() as u64) as usize);
        zero_value::encode(element.layout, raw, stream);
        Ok(())
    }

    fn decompress(
        &mut self,
        element: Element,
        stream: &[u8],
        len: usize,
        raw: &mut Vec<u8>,
    ) -> Result<(), Error> {
        raw.clear();
        raw.reserve(len);
        zero_value::decode(element.layout, stream, raw)
            .ok_or_else(|| Method::ZeroValue.failed("malformed stream"))
    }
}

struct Memcpy;

impl Codec for Memcpy {
    fn compress(&mut self, _: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error> {
        stream.clear();
        stream.extend_from_slice(raw);
        Ok(())
    }

    fn decompress(&mut self, _: Element, stream: &[u8], _: usize, raw: &mut Vec<u8>) -> Result<(), Error> {
        raw.clear();
        raw.extend_from_slice(stream);
        Ok(())
    }
}

/// Appends an lz4 block. The library's state is kept per thread and reset the quick way.
fn lz4_append(method: Method, raw: &[u8], stream: &mut Vec<u8>) -> Result<usize, Error> {
    lzzzz::lz4::compress_to_vec(raw, stream, lzzzz::lz4::ACC_LEVEL_DEFAULT).map_err(|e| method.failed(e))
}

/// Decompresses an lz4 block that fills `raw`.
fn lz4_fill(method: Method, block: &[u8], raw: &mut [u8]) -> Result<(), Error> {
    match lzzzz::lz4::decompress(block, raw) {
        Ok(n) if n == raw.len() => Ok(()),
        Ok(n) => Err(method.failed(format!("expected a block of {} bytes, found {n}", raw.len()))),
        Err(e) => Err(method.failed(e)),
    }
}

struct Lz4;

impl Codec for Lz4 {
    fn compress(&mut self, _: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error> {
        // LZ4_MAX_INPUT_SIZE of lz4.h.
        const MAX: usize = 0x7e00_0000;
        if raw.len() > MAX {
            return Err(Error::TooLong {
                method: Method::Lz4.name(),
                max: MAX as u64,
                found: raw.len() as u64,
            });
        }
        stream.clear();
        if !raw.is_empty() {
            lz4_append(Method::Lz4, raw, stream)?;
        }
        Ok(())
    }

    fn decompress(&mut self, _: Element, stream: &[u8], len: usize, raw: &mut Vec<u8>) -> Result<(), Error> {
        raw.resize(len, 0);
        if len == 0 {
            return Ok(());
        }
        lz4_fill(Method::Lz4, stream, raw)
    }
}

struct Zstd {
    method: Method,
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
}

impl Zstd {
    fn new(method: Method, level: i32) -> Result<Self, Error> {
        let failed = |e| method.failed(e);
        Ok(Zstd {
            method,
            compressor: zstd::bulk::Compressor::new(level).map_err(failed)?,
            decompressor: zstd::bulk::Decompressor::new().map_err(failed)?,
        })
    }
}

impl Codec for Zstd {
    fn compress(&mut self, _: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error> {
        stream.clear();
        stream.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.compressor
            .compress_to_buffer(raw, stream)
            .map_err(|e| self.method.failed(e))?;
        Ok(())
    }

    fn decompress(&mut self, _: Element, stream: &[u8], len: usize, raw: &mut Vec<u8>) -> Result<(), Error> {
        raw.clear();
        raw.reserve(len);
        self.decompressor
            .decompress_to_buffer(stream, raw)
            .map_err(|e| self.method.failed(e))?;
        Ok(())
    }
}

/// Bytes of a block's length.
const LENGTH: usize = 4;

#[derive(Default)]
struct BitshuffleLz4 {
    transposer: Transposer,
    block: Vec<u8>,
}

impl BitshuffleLz4 {
    const METHOD: Method = Method::BitshuffleLz4;
}

impl Codec for BitshuffleLz4 {
    fn compress(&mut self, element: Element, raw: &[u8], stream: &mut Vec<u8>) -> Result<(), Error> {
        stream.clear();
        let mut rest = raw;
        for len in blocks(element.bytes, raw.len()) {
            let (block, after) = rest.split_at(len);
            rest = after;
            self.block.resize(len, 0);
            self.transposer.forward(element.bytes, block, &mut self.block);
            let at = stream.len();
            stream.extend_from_slice(&[0; LENGTH]);
            let n = lz4_append(Self::METHOD, &self.block, stream)?;
            stream[at..at + LENGTH].copy_from_slice(&(n as u32).to_be_bytes());
        }
        stream.extend_from_slice(rest);
        Ok(())
    }

    fn decompress(
        &mut self,
        element: Element,
        mut stream: &[u8],
        len: usize,
        raw: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let truncated = || Self::METHOD.failed("truncated stream");
        raw.resize(len, 0);
        let mut rest = &mut raw[..];
        for len in blocks(element.bytes, len) {
            let (block, after) = rest.split_at_mut(len);
            rest = after;
            let (length, after) = stream.split_first_chunk::<LENGTH>().ok_or_else(truncated)?;
            let length = u32::from_be_bytes(*length) as usize;
            let (code, after) = after.split_at_checked(length).ok_or_else(truncated)?;
            stream = after;
            self.block.resize(len, 0);
            lz4_fill(Self::METHOD, code, &mut self.block)?;
            self.transposer.backward(element.bytes, &self.block, block);
        }
        if stream.len() != rest.len() {
            return Err(truncated());
        }
        rest.copy_from_slice(stream);
        Ok(())
    }
}

/// Takes the sizes that rivals need for tensors, and checks that they restore them.
pub struct Comparison {
    codecs: Rivals<(Method, Box<dyn Codec>)>,
    stream: Vec<u8>,
    back: Vec<u8>,
}

impl Comparison {
    /// With fresh contexts.
    ///
    /// # Errors
    /// [`Error::Failed`] if a context cannot be made.
    pub fn new() -> Result<Self, Error> {
        let methods = Rivals {
            zero_value: Method::ZeroValue,
            lz4: Method::Lz4,
            zstd_3: Method::Zstd3,
            zstd_19: Method::Zstd19,
            bitshuffle_lz4: Method::BitshuffleLz4,
        };
        Ok(Comparison {
            codecs: methods.try_map(|method| Ok::<_, Error>((method, method.codec()?)))?,
            stream: Vec::new(),
            back: Vec::new(),
        })
    }

    /// Sizes in bytes of a tensor's streams. Each is decompressed and compared with the tensor.
    ///
    /// # Errors
    /// [`Error::Failed`], [`Error::Differs`], [`Error::TooLong`].
    pub fn sizes(&mut self, element: Element, raw: &[u8]) -> Result<Rivals<u64>, Error> {
        let (stream, back) = (&mut self.stream, &mut self.back);
        self.codecs.as_mut().try_map(|(method, codec)| {
            codec.compress(element, raw, stream)?;
            // What a codec before it restored must not pass for its own.
            back.clear();
            codec.decompress(element, stream, raw.len(), back)?;
            method.check(raw, back)?;
            Ok(stream.len() as u64)
        })
    }
}
