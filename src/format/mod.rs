//! The block format's facts: sizes, layouts, form codes, headers. The text is `docs/format.md`; the RTL holds the
//! same numbers in `rtl/planezip_pkg.sv` (a test compares them).

pub mod header;

pub use header::{Drops, Header, HeaderError, Mask, MaskStyle, Partial, Plane};

/// Version of the block format.
pub const FORMAT_VERSION: u8 = 1;
/// Candidate of that version; 0 once the version is frozen (`docs/format.md`, section 5).
pub const FORMAT_CANDIDATE: u8 = 1;
/// Version and candidate as the container stores them: candidate in the upper half of a byte.
pub const FORMAT_CODE: u8 = FORMAT_CANDIDATE << 4 | FORMAT_VERSION;
/// Bytes in a full block.
pub const BLOCK_BYTES: usize = 128;
/// Words in a group; also the number of bits in a planelet.
pub const GROUP_WORDS: usize = 8;
/// Largest encoded size of a full block: one header byte and the raw bytes.
pub const MAX_BLOCK_LEN: usize = BLOCK_BYTES + 1;
/// Longest header that decodes (ZBP under W16: prefix, code byte, `e_max`, presence byte, the whole mask).
pub const MAX_HEADER_LEN: usize = 12;
/// Bits of the field below the sign that the plane forms code relative to its maximum.
pub const EXP_BITS: u32 = 8;
/// Most exponent planes that BP and ZBP can keep.
pub const MAX_EXP_PLANES: u32 = 7;
/// By word of a group, the word of the same group that predicts it in DBP; `None`: the last word of the group before.
pub const PREDICTOR: [Option<usize>; GROUP_WORDS] =
    [None, None, Some(1), Some(1), Some(3), Some(3), Some(5), Some(5)];
/// Number of forms a full block can take.
pub const FORMS: usize = 5;

/// Worst-case size of the block stream of `raw_bytes` bytes, in bytes: one more per full block, two for a tail.
#[must_use]
pub const fn max_stream_len(raw_bytes: u64) -> u64 {
    let tail = !raw_bytes.is_multiple_of(BLOCK_BYTES as u64);
    raw_bytes + raw_bytes / BLOCK_BYTES as u64 + 2 * tail as u64
}

/// First bytes of blocks (`docs/format.md`, section 2). BP and ZBP: the form field, the sign mode and `k`.
pub mod code {
    /// 128 bytes verbatim.
    pub const RAW: u8 = 0xC0;
    /// Every word is zero.
    pub const ALL_ZERO: u8 = 0xC1;
    /// The tensor's last bytes.
    pub const TAIL: u8 = 0xC2;
    /// Bit planes of differences.
    pub const DELTA: u8 = 0xC3;
    /// Zero-value with a whole mask; the two other mask styles follow.
    pub const ZERO_VALUE: u8 = 0xC4;
    /// Form field of BP with 0, 1 or 2 drop bits a group.
    pub const BIT_PLANE: u8 = 0;
    /// Form field of ZBP with a whole mask; the two other mask styles follow.
    pub const ZERO_MASKED: u8 = 3;
    /// Form field of the codes that are whole bytes.
    pub const OTHER: u8 = 6;
    /// Form field of the prefix, whose other five bits are the number of zero mantissa planes.
    pub const PREFIX: u8 = 7;
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

    /// Bits of a group's width in DBP.
    #[must_use]
    pub const fn width_bits(self) -> u32 {
        match self {
            Layout::W16 => 4,
            Layout::W32 => 5,
        }
    }

    /// Planes that DBP writes of a group whose code words have this bit length: one value less than the field has
    /// is one too few, so the last width but one takes the last.
    #[must_use]
    pub const fn kept_width(self, bits: u32) -> u32 {
        bits + (bits + 1 == self.word_bits()) as u32
    }

    /// Bytes of DBP's width field.
    #[must_use]
    pub const fn width_bytes(self) -> usize {
        (self.groups() * self.width_bits() as usize).div_ceil(8)
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
    /// Bit planes of the difference to an earlier word.
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

    /// The form code, as the engine's status knows it.
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
