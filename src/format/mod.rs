//! The block format's facts: sizes, layouts, form codes, headers. The text is `docs/format.md`; the RTL holds the
//! same numbers in `rtl/planezip_pkg.sv` (a test compares them).

pub mod header;

pub use header::{Header, HeaderError, Plane};

/// Version of the block format. Version 0 is not frozen.
pub const FORMAT_VERSION: u16 = 0;
/// Bytes in a full block.
pub const BLOCK_BYTES: usize = 128;
/// Words in a group; also the number of bits in a planelet.
pub const GROUP_WORDS: usize = 8;
/// Largest encoded size of a full block: one header byte and the raw bytes.
pub const MAX_BLOCK_LEN: usize = BLOCK_BYTES + 1;
/// Longest header (ZBP under W16: three bytes and the mask).
pub const MAX_HEADER_LEN: usize = 11;
/// Bits of the field below the sign that the plane forms code relative to its maximum.
pub const EXP_BITS: u32 = 8;
/// Set in a tail block's first byte; the other seven bits are its length.
pub const TAIL_FLAG: u8 = 0x80;
/// Number of forms a full block can take.
pub const FORMS: usize = 5;

/// Worst-case size of the block stream of `raw_bytes` bytes, in bytes: one more per started block.
#[must_use]
pub const fn max_stream_len(raw_bytes: u64) -> u64 {
    raw_bytes + raw_bytes.div_ceil(BLOCK_BYTES as u64)
}

/// How a tensor's bytes are cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// 64 words of 16 bits a block: BF16, FP16.
    W16,
    /// 32 words of 32 bits a block: FP32 and everything else.
    W32,
}

impl Layout {
    /// Both layouts.
    pub const ALL: [Layout; 2] = [Layout::W16, Layout::W32];

    /// Bytes in a word.
    #[must_use]
    pub const fn word_bytes(self) -> usize {
        match self {
            Layout::W16 => 2,
            Layout::W32 => 4,
        }
    }

    /// Bits in a word.
    #[must_use]
    pub const fn word_bits(self) -> u32 {
        8 * self.word_bytes() as u32
    }

    /// Words in a full block.
    #[must_use]
    pub const fn words(self) -> usize {
        BLOCK_BYTES / self.word_bytes()
    }

    /// Groups of eight words in a full block.
    #[must_use]
    pub const fn groups(self) -> usize {
        self.words() / GROUP_WORDS
    }

    /// Bytes of a non-zero mask: one bit a word.
    #[must_use]
    pub const fn mask_bytes(self) -> usize {
        self.words() / 8
    }

    /// Bits below the 8-bit exponent field.
    #[must_use]
    pub const fn mant_bits(self) -> u32 {
        self.word_bits() - 1 - EXP_BITS
    }
}

/// Element type as the engine's sideband knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// bfloat16.
    Bf16,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// Anything else, coded as 32-bit words.
    Other,
}

impl Dtype {
    /// The value on the dtype sideband (`tuser_i`).
    #[must_use]
    pub const fn sideband(self) -> u8 {
        match self {
            Dtype::Bf16 => 0,
            Dtype::F16 => 1,
            Dtype::F32 => 2,
            Dtype::Other => 3,
        }
    }

    /// The layout its tensors are coded under.
    #[must_use]
    pub const fn layout(self) -> Layout {
        match self {
            Dtype::Bf16 | Dtype::F16 => Layout::W16,
            Dtype::F32 | Dtype::Other => Layout::W32,
        }
    }
}

/// The form of a full block. The discriminant is the form code, which also breaks ties in size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Form {
    /// The bytes as they are.
    Raw = 0,
    /// Non-zero words behind a mask; a block of zeros alone.
    ZeroValue = 1,
    /// Bit planes, exponents relative to the block's maximum.
    BitPlane = 2,
    /// Bit planes of the XOR with the word before.
    DeltaBitPlane = 3,
    /// Bit planes of the non-zero words behind a mask.
    ZeroMasked = 4,
}

impl Form {
    /// All forms in the order of their codes.
    pub const ALL: [Form; FORMS] = [
        Form::Raw,
        Form::ZeroValue,
        Form::BitPlane,
        Form::DeltaBitPlane,
        Form::ZeroMasked,
    ];

    /// The form code: bits 6..4 of a block's first byte.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// A name for tables and JSON keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Form::Raw => "raw",
            Form::ZeroValue => "zero_value",
            Form::BitPlane => "bit_plane",
            Form::DeltaBitPlane => "delta_bit_plane",
            Form::ZeroMasked => "zero_masked",
        }
    }
}

/// How the sign plane of BP and ZBP is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SignMode {
    /// Every sign bit is 0.
    Positive = 0,
    /// Every sign bit is 1.
    Negative = 1,
    /// The sign plane is stored.
    Kept = 2,
}

impl SignMode {
    /// The mode with this code, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<SignMode> {
        match code {
            0 => Some(SignMode::Positive),
            1 => Some(SignMode::Negative),
            2 => Some(SignMode::Kept),
            _ => None,
        }
    }

    /// Planes it takes: 1 if the signs are stored.
    #[must_use]
    pub const fn planes(self) -> u32 {
        matches!(self, SignMode::Kept) as u32
    }
}
