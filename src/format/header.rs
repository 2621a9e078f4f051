//! Block headers: everything that tells a block's form, parameters and length.

use thiserror::Error;

use super::{EXP_BITS, Form, GROUP_WORDS, Layout, SignMode, TAIL_FLAG};

/// Parameters that BP and ZBP share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Kept planes of `e_max - E` (0..=8).
    pub k: u32,
    /// Dropped trailing mantissa planes (0..=mantissa bits).
    pub z: u32,
    /// Sign plane.
    pub sign: SignMode,
    /// Largest exponent field among the coded words.
    pub e_max: u8,
}

impl Plane {
    /// Planes kept of a group whose top exponent plane is kept.
    #[must_use]
    pub const fn planes(&self, layout: Layout) -> u32 {
        self.sign.planes() + self.k + layout.mant_bits() - self.z
    }
}

/// A parsed block header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// 128 bytes verbatim.
    Raw,
    /// Every word is zero.
    AllZero,
    /// Non-zero words behind a mask (bit i = word i).
    ZeroValue {
        /// Which words are not zero.
        mask: u64,
    },
    /// Bit planes.
    BitPlane {
        /// Plane parameters.
        plane: Plane,
        /// Bit g: group g keeps its top exponent plane.
        presence: u8,
    },
    /// Bit planes of XOR differences.
    Delta {
        /// Lowest kept bit position.
        lo: u32,
        /// Number of kept planes (0..=31).
        p: u32,
        /// Word 0.
        base: u32,
    },
    /// Bit planes of the non-zero words.
    ZeroMasked {
        /// Plane parameters over the non-zero words.
        plane: Plane,
        /// Which words are not zero.
        mask: u64,
    },
    /// The tensor's last `len` bytes (1..=127), verbatim.
    Tail {
        /// Bytes that follow.
        len: usize,
    },
}

/// Why bytes are not a block header. Offsets are relative to the block's first byte.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// A byte has a value that no header has there.
    #[error("bad block header at byte {offset}: expected {expected}, found {found:#04x}")]
    Bad {
        /// Byte within the block.
        offset: usize,
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        found: u8,
    },
    /// The stream ends within the header.
    #[error("block header needs {needed} bytes, the stream has {have} left")]
    Truncated {
        /// Bytes of this form's header.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
}

fn bad(bytes: &[u8], offset: usize, expected: &'static str) -> HeaderError {
    HeaderError::Bad {
        offset,
        expected,
        found: bytes[offset],
    }
}

fn mask(layout: Layout, bytes: &[u8], at: usize) -> Result<u64, HeaderError> {
    let mut b = [0; 8];
    b[..layout.mask_bytes()].copy_from_slice(&bytes[at..at + layout.mask_bytes()]);
    match u64::from_le_bytes(b) {
        0 => Err(bad(bytes, at, "a mask with at least one bit set")),
        m => Ok(m),
    }
}

fn plane(layout: Layout, bytes: &[u8]) -> Result<Plane, HeaderError> {
    let b1 = bytes[1];
    if b1 & 0x80 != 0 {
        return Err(bad(bytes, 1, "bit 7 clear"));
    }
    let Some(sign) = SignMode::from_code(b1 >> 5) else {
        return Err(bad(bytes, 1, "sign mode 0, 1 or 2 in bits 6..5"));
    };
    let z = u32::from(b1 & 0x1f);
    if z > layout.mant_bits() {
        return Err(bad(
            bytes,
            1,
            "no more dropped planes than mantissa bits in bits 4..0",
        ));
    }
    Ok(Plane {
        k: u32::from(bytes[0] & 0xf),
        z,
        sign,
        e_max: bytes[2],
    })
}

/// Length in bytes of the header that starts with `first`, or `None` if no header does.
#[must_use]
pub const fn header_len(layout: Layout, first: u8) -> Option<usize> {
    match first {
        0x00 | 0x11 => Some(1),
        0x10 => Some(1 + layout.mask_bytes()),
        0x20..=0x28 => Some(4),
        0x30..=0x3f => Some(2 + layout.word_bytes()),
        0x40..=0x48 => Some(3 + layout.mask_bytes()),
        0x81..=0xff => Some(1),
        _ => None,
    }
}

impl Header {
    /// Parses the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`HeaderError`] as `docs/format.md` section 4, steps 1 to 3, in that order.
    pub fn parse(layout: Layout, bytes: &[u8]) -> Result<Header, HeaderError> {
        let Some(&first) = bytes.first() else {
            return Err(HeaderError::Truncated { needed: 1, have: 0 });
        };
        let Some(needed) = header_len(layout, first) else {
            return Err(bad(bytes, 0, "the first byte of a block"));
        };
        if bytes.len() < needed {
            return Err(HeaderError::Truncated {
                needed,
                have: bytes.len(),
            });
        }
        if first & TAIL_FLAG != 0 {
            return Ok(Header::Tail {
                len: usize::from(first & !TAIL_FLAG),
            });
        }
        match first >> 4 {
            0 => Ok(Header::Raw),
            1 if first == 0x11 => Ok(Header::AllZero),
            1 => Ok(Header::ZeroValue {
                mask: mask(layout, bytes, 1)?,
            }),
            2 => {
                let plane = plane(layout, bytes)?;
                let presence = bytes[3];
                if u32::from(presence) >> layout.groups() != 0 {
                    return Err(bad(bytes, 3, "no presence bit beyond the last group"));
                }
                if plane.k == 0 && presence != 0 {
                    return Err(bad(bytes, 3, "no presence bit where no exponent plane is kept"));
                }
                Ok(Header::BitPlane { plane, presence })
            }
            3 => {
                let b1 = bytes[1];
                if b1 & 0x60 != 0 {
                    return Err(bad(bytes, 1, "bits 6..5 clear"));
                }
                let p = u32::from(first & 0xf) << 1 | u32::from(b1 >> 7);
                let lo = u32::from(b1 & 0x1f);
                if lo + p > layout.word_bits() {
                    return Err(bad(bytes, 1, "planes within the word"));
                }
                let mut base = [0; 4];
                base[..layout.word_bytes()].copy_from_slice(&bytes[2..2 + layout.word_bytes()]);
                Ok(Header::Delta {
                    lo,
                    p,
                    base: u32::from_le_bytes(base),
                })
            }
            _ => Ok(Header::ZeroMasked {
                plane: plane(layout, bytes)?,
                mask: mask(layout, bytes, 3)?,
            }),
        }
    }

    /// The block's form; `None` for a tail.
    #[must_use]
    pub const fn form(&self) -> Option<Form> {
        match self {
            Header::Raw => Some(Form::Raw),
            Header::AllZero | Header::ZeroValue { .. } => Some(Form::ZeroValue),
            Header::BitPlane { .. } => Some(Form::BitPlane),
            Header::Delta { .. } => Some(Form::DeltaBitPlane),
            Header::ZeroMasked { .. } => Some(Form::ZeroMasked),
            Header::Tail { .. } => None,
        }
    }

    /// Bytes of the header itself.
    #[must_use]
    pub const fn header_len(&self, layout: Layout) -> usize {
        match self {
            Header::Raw | Header::AllZero | Header::Tail { .. } => 1,
            Header::ZeroValue { .. } => 1 + layout.mask_bytes(),
            Header::BitPlane { .. } => 4,
            Header::Delta { .. } => 2 + layout.word_bytes(),
            Header::ZeroMasked { .. } => 3 + layout.mask_bytes(),
        }
    }

    /// Bytes that follow the header.
    #[must_use]
    pub const fn payload_len(&self, layout: Layout) -> usize {
        match self {
            Header::Raw => super::BLOCK_BYTES,
            Header::AllZero => 0,
            Header::ZeroValue { mask } => layout.word_bytes() * mask.count_ones() as usize,
            Header::BitPlane { plane, presence } => {
                let drops = if plane.k == 0 {
                    0
                } else {
                    layout.groups() - presence.count_ones() as usize
                };
                layout.groups() * plane.planes(layout) as usize - drops
            }
            Header::Delta { p, .. } => layout.groups() * *p as usize,
            Header::ZeroMasked { plane, mask } => {
                let nz = mask.count_ones() as usize;
                let planes = plane.planes(layout) as usize;
                planes * (nz / GROUP_WORDS) + partial_len(layout, nz % GROUP_WORDS, planes)
            }
            Header::Tail { len } => *len,
        }
    }

    /// Bytes of the whole block.
    #[must_use]
    pub const fn block_len(&self, layout: Layout) -> usize {
        self.header_len(layout) + self.payload_len(layout)
    }

    /// Raw bytes the block stands for.
    #[must_use]
    pub const fn raw_len(&self) -> usize {
        match self {
            Header::Tail { len } => *len,
            _ => super::BLOCK_BYTES,
        }
    }

    /// Writes the header to the start of `out`, which must hold [`super::MAX_HEADER_LEN`] bytes; returns its length.
    ///
    /// # Panics
    /// If `out` is shorter than the header.
    pub fn write(&self, layout: Layout, out: &mut [u8]) -> usize {
        let plane_bytes = |p: &Plane, form: Form| {
            debug_assert!(p.k <= EXP_BITS && p.z <= layout.mant_bits());
            [
                form.code() << 4 | p.k as u8,
                (p.sign as u8) << 5 | p.z as u8,
                p.e_max,
            ]
        };
        let mask_len = layout.mask_bytes();
        match self {
            Header::Raw => out[0] = 0x00,
            Header::AllZero => out[0] = 0x11,
            Header::ZeroValue { mask } => {
                out[0] = 0x10;
                out[1..=mask_len].copy_from_slice(&mask.to_le_bytes()[..mask_len]);
            }
            Header::BitPlane { plane, presence } => {
                out[..3].copy_from_slice(&plane_bytes(plane, Form::BitPlane));
                out[3] = *presence;
            }
            Header::Delta { lo, p, base } => {
                out[0] = 0x30 | (p >> 1) as u8;
                out[1] = ((p & 1) << 7) as u8 | *lo as u8;
                out[2..2 + layout.word_bytes()].copy_from_slice(&base.to_le_bytes()[..layout.word_bytes()]);
            }
            Header::ZeroMasked { plane, mask } => {
                out[..3].copy_from_slice(&plane_bytes(plane, Form::ZeroMasked));
                out[3..3 + mask_len].copy_from_slice(&mask.to_le_bytes()[..mask_len]);
            }
            Header::Tail { len } => out[0] = TAIL_FLAG | *len as u8,
        }
        self.header_len(layout)
    }
}

/// Whether a partial group of `q` words is written verbatim where a full group takes `planes` planelets.
#[must_use]
pub const fn partial_verbatim(layout: Layout, q: usize, planes: usize) -> bool {
    q * layout.word_bytes() < planes
}

/// Bytes of a partial group of `q` words (0: none).
#[must_use]
pub const fn partial_len(layout: Layout, q: usize, planes: usize) -> usize {
    if q == 0 {
        0
    } else if partial_verbatim(layout, q, planes) {
        q * layout.word_bytes()
    } else {
        planes
    }
}
