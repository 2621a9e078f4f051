//! Block headers: everything that tells a block's form, parameters and length.

use thiserror::Error;

use super::{Form, GROUP_WORDS, Layout, MAX_EXP_PLANES, SignMode, code};

/// Parameters that BP and ZBP share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Planes of `e_max - E` (0..=7).
    pub k: u32,
    /// Dropped trailing mantissa planes (0..=mantissa bits).
    pub z: u32,
    /// Sign plane.
    pub sign: SignMode,
    /// Largest exponent field among the coded words.
    pub e_max: u8,
}

impl Plane {
    /// One past the highest plane of a group that keeps `kg` exponent planes.
    #[must_use]
    #[inline]
    pub const fn top(&self, layout: Layout, kg: u32) -> u32 {
        layout.mant_bits() + kg + self.sign.planes()
    }

    /// Planes of a group that keeps all exponent planes.
    #[must_use]
    #[inline]
    pub const fn planes(&self, layout: Layout) -> u32 {
        self.top(layout, self.k) - self.z
    }

    /// How ZBP writes a partial group of `q` words.
    #[must_use]
    #[inline]
    pub const fn partial(&self, layout: Layout, q: usize) -> Partial {
        let (hi, z, wb) = (
            self.top(layout, self.k) as usize,
            self.z as usize,
            layout.word_bytes(),
        );
        if q == 0 {
            Partial::None
        } else if q <= 4 {
            let halves = hi.div_ceil(2) - z / 2;
            if q * wb < halves {
                Partial::Verbatim { words: q }
            } else {
                Partial::Halves {
                    lo: z / 2,
                    hi: hi.div_ceil(2),
                    verbatim: 0,
                }
            }
        } else if hi - z <= (q - 4) * wb + hi.div_ceil(2) {
            Partial::Planes { lo: z, hi }
        } else {
            Partial::Halves {
                lo: 0,
                hi: hi.div_ceil(2),
                verbatim: q - 4,
            }
        }
    }

    const fn prefix_len(&self) -> usize {
        (self.z > 0) as usize
    }
}

/// How ZBP writes the words that do not fill a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    /// There are none.
    None,
    /// The words themselves.
    Verbatim {
        /// Their number.
        words: usize,
    },
    /// The first words themselves, then half planelets of the last four.
    Halves {
        /// First half planelet.
        lo: usize,
        /// One past the last half planelet.
        hi: usize,
        /// Words written as they are.
        verbatim: usize,
    },
    /// Planelets of all of them.
    Planes {
        /// First planelet.
        lo: usize,
        /// One past the last planelet.
        hi: usize,
    },
}

impl Partial {
    /// Bytes it takes.
    #[must_use]
    #[inline]
    pub const fn len(self, layout: Layout) -> usize {
        match self {
            Partial::None => 0,
            Partial::Verbatim { words } => words * layout.word_bytes(),
            Partial::Halves { lo, hi, verbatim } => verbatim * layout.word_bytes() + hi - lo,
            Partial::Planes { lo, hi } => hi - lo,
        }
    }

    /// Whether nothing is written.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        matches!(self, Partial::None)
    }
}

/// How many leading exponent planes each group of a BP block leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drops {
    bits: u32,
    field: u16,
}

impl Drops {
    /// No group leaves out any.
    pub const NONE: Drops = Drops { bits: 0, field: 0 };

    /// The field of `bits` (0, 1 or 2) bits a group that leaves out as many planes as it can say of those that the
    /// groups do not need (`spare`, a byte a group, at most 3 each).
    #[must_use]
    pub fn new(bits: u32, spare: u64) -> Drops {
        let field = match bits {
            0 => 0,
            1 => gather(spare | spare >> 1, 1),
            _ => gather(spare, 2),
        };
        Drops { bits, field }
    }

    /// Bits a group: 0, 1 or 2.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Planes that group `g` leaves out.
    #[must_use]
    pub const fn of(self, g: usize) -> u32 {
        (self.field >> (self.bits as usize * g)) as u32 & ((1 << self.bits) - 1)
    }

    /// Planes left out in the first `groups` groups together.
    #[must_use]
    pub const fn total(self, groups: usize) -> u32 {
        let (mut sum, mut g) = (0, 0);
        while g < groups {
            sum += self.of(g);
            g += 1;
        }
        sum
    }

    const fn field_len(self, layout: Layout) -> usize {
        layout.groups() * self.bits as usize / 8
    }
}

/// The lowest `bits` bits of each byte side by side.
fn gather(bytes: u64, bits: u32) -> u16 {
    let mut field = 0;
    for (g, byte) in bytes.to_le_bytes().into_iter().enumerate() {
        field |= u16::from(byte & ((1 << bits) - 1)) << (bits as usize * g);
    }
    field
}

/// How a mask is written. The discriminant is its distance from the code of the whole mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MaskStyle {
    /// All bytes.
    Whole = 0,
    /// A presence byte, and the bytes it marks; the others are 0x00.
    WithoutZeros = 1,
    /// A presence byte, and the bytes it marks; the others are 0xFF.
    WithoutOnes = 2,
}

impl MaskStyle {
    /// All styles.
    pub const ALL: [MaskStyle; 3] = [MaskStyle::Whole, MaskStyle::WithoutZeros, MaskStyle::WithoutOnes];

    const fn filler(self) -> u8 {
        match self {
            MaskStyle::Whole | MaskStyle::WithoutZeros => 0,
            MaskStyle::WithoutOnes => 0xff,
        }
    }
}

/// A mask of non-zero words and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Bit i: word i is not zero.
    pub bits: u64,
    /// How it is written.
    pub style: MaskStyle,
    /// Mask bytes that are written, one bit each (all of them in [`MaskStyle::Whole`]).
    pub presence: u8,
}

impl Mask {
    /// A mask in a given style, with no byte written that need not be.
    #[must_use]
    pub fn new(layout: Layout, bits: u64, style: MaskStyle) -> Mask {
        let bytes = bits.to_le_bytes();
        let presence = (0..layout.mask_bytes())
            .filter(|&b| style == MaskStyle::Whole || bytes[b] != style.filler())
            .fold(0, |p, b| p | 1 << b);
        Mask {
            bits,
            style,
            presence,
        }
    }

    /// Number of non-zero words.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.bits.count_ones() as usize
    }

    /// Bytes it takes.
    #[must_use]
    pub const fn field_len(&self) -> usize {
        let presence_byte = !matches!(self.style, MaskStyle::Whole) as usize;
        presence_byte + self.presence.count_ones() as usize
    }

    fn write(&self, out: &mut [u8]) {
        let mut at = 0;
        if self.style != MaskStyle::Whole {
            out[0] = self.presence;
            at = 1;
        }
        for (b, byte) in self.bits.to_le_bytes().into_iter().enumerate() {
            if self.presence >> b & 1 != 0 {
                out[at] = byte;
                at += 1;
            }
        }
    }
}

/// A parsed block header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// 128 bytes verbatim.
    Raw,
    /// Every word is zero.
    AllZero,
    /// Non-zero words behind a mask.
    ZeroValue {
        /// Which words are not zero.
        mask: Mask,
    },
    /// Bit planes.
    BitPlane {
        /// Plane parameters.
        plane: Plane,
        /// Planes that groups leave out.
        drops: Drops,
    },
    /// Bit planes of differences.
    Delta {
        /// Planes of each group (never one less than the word has); 0 beyond the last group.
        widths: [u8; 8],
        /// Word 0.
        base: u32,
    },
    /// Bit planes of the non-zero words.
    ZeroMasked {
        /// Plane parameters over the non-zero words.
        plane: Plane,
        /// Which words are not zero.
        mask: Mask,
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
        /// Bytes of this form's header, as far as they are known.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
}

/// A header's bytes, read front to back; every read is checked against the end of the stream.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn bad(&self, offset: usize, expected: &'static str) -> HeaderError {
        HeaderError::Bad {
            offset,
            expected,
            found: self.bytes[offset],
        }
    }

    /// Checks that `n` more bytes are there.
    fn need(&self, n: usize) -> Result<(), HeaderError> {
        let needed = self.at + n;
        if self.bytes.len() < needed {
            return Err(HeaderError::Truncated {
                needed,
                have: self.bytes.len(),
            });
        }
        Ok(())
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], HeaderError> {
        self.need(n)?;
        let bytes = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, HeaderError> {
        Ok(self.take(1)?[0])
    }

    fn mask(&mut self, layout: Layout, style: MaskStyle) -> Result<Mask, HeaderError> {
        let n = layout.mask_bytes();
        let start = self.at;
        let presence = if style == MaskStyle::Whole {
            0xff >> (8 - n)
        } else {
            let presence = self.byte()?;
            if u32::from(presence) >> n != 0 {
                return Err(self.bad(start, "no presence bit beyond the mask's last byte"));
            }
            presence
        };
        let mut written = self.take(presence.count_ones() as usize)?.iter();
        let mut bytes = [0; 8];
        for (b, byte) in bytes[..n].iter_mut().enumerate() {
            *byte = style.filler();
            if presence >> b & 1 != 0
                && let Some(w) = written.next()
            {
                *byte = *w;
            }
        }
        match u64::from_le_bytes(bytes) {
            0 => Err(self.bad(start, "a mask with at least one bit set")),
            bits => Ok(Mask {
                bits,
                style,
                presence,
            }),
        }
    }
}

/// BP's or ZBP's form field, sign mode and `k` of a code byte, if it is one.
fn plane_code(layout: Layout, byte: u8) -> Option<(u8, SignMode, u32)> {
    let form = byte >> 5;
    let sign = SignMode::from_code(byte >> 3 & 3)?;
    let exists = form < code::OTHER && !(form == code::BIT_PLANE + 1 && layout == Layout::W32);
    exists.then_some((form, sign, u32::from(byte & 7)))
}

const FIRST: &str = "the first byte of a block";

impl Header {
    /// Parses the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`HeaderError`] as `docs/format.md` section 4, steps 1 to 6, in that order.
    pub fn parse(layout: Layout, bytes: &[u8]) -> Result<Header, HeaderError> {
        let mut fields = Fields { bytes, at: 0 };
        let first = fields.byte()?;
        let header = match first {
            code::RAW => Header::Raw,
            code::ALL_ZERO => Header::AllZero,
            code::TAIL => match usize::from(fields.byte()?) {
                len @ 1..=127 => Header::Tail { len },
                _ => return Err(fields.bad(1, "a tail length of 1 to 127")),
            },
            code::DELTA => delta(layout, &mut fields)?,
            _ if first.wrapping_sub(code::ZERO_VALUE) < 3 => {
                let style = MaskStyle::ALL[usize::from(first - code::ZERO_VALUE)];
                Header::ZeroValue {
                    mask: fields.mask(layout, style)?,
                }
            }
            _ if first >> 5 == code::PREFIX => {
                let z = u32::from(first & 0x1f);
                if z == 0 || z > layout.mant_bits() {
                    return Err(fields.bad(0, FIRST));
                }
                let byte = fields.byte()?;
                let Some(form) = plane_code(layout, byte) else {
                    return Err(fields.bad(1, "a code byte of BP or ZBP after the prefix"));
                };
                planes(layout, &mut fields, form, z)?
            }
            _ => match plane_code(layout, first) {
                Some(form) => planes(layout, &mut fields, form, 0)?,
                None => return Err(fields.bad(0, FIRST)),
            },
        };
        debug_assert_eq!(fields.at, header.header_len(layout));
        Ok(header)
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
            Header::Raw | Header::AllZero => 1,
            Header::Tail { .. } => 2,
            Header::ZeroValue { mask } => 1 + mask.field_len(),
            Header::BitPlane { plane, drops } => 2 + plane.prefix_len() + drops.field_len(layout),
            Header::Delta { .. } => 1 + layout.width_bytes() + layout.word_bytes(),
            Header::ZeroMasked { plane, mask } => 2 + plane.prefix_len() + mask.field_len(),
        }
    }

    /// Bytes that follow the header.
    #[must_use]
    pub const fn payload_len(&self, layout: Layout) -> usize {
        match self {
            Header::Raw => super::BLOCK_BYTES,
            Header::AllZero => 0,
            Header::ZeroValue { mask } => layout.word_bytes() * mask.count(),
            Header::BitPlane { plane, drops } => {
                layout.groups() * plane.planes(layout) as usize - drops.total(layout.groups()) as usize
            }
            Header::Delta { widths, .. } => {
                let (mut sum, mut g) = (0, 0);
                while g < widths.len() {
                    sum += widths[g] as usize;
                    g += 1;
                }
                sum
            }
            Header::ZeroMasked { plane, mask } => {
                let nz = mask.count();
                let partial = plane.partial(layout, nz % GROUP_WORDS).len(layout);
                plane.planes(layout) as usize * (nz / GROUP_WORDS) + partial
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
        match self {
            Header::Raw => out[0] = code::RAW,
            Header::AllZero => out[0] = code::ALL_ZERO,
            Header::Tail { len } => out[..2].copy_from_slice(&[code::TAIL, *len as u8]),
            Header::ZeroValue { mask } => {
                out[0] = code::ZERO_VALUE + mask.style as u8;
                mask.write(&mut out[1..]);
            }
            Header::BitPlane { plane, drops } => {
                let at = write_plane(layout, plane, code::BIT_PLANE + drops.bits as u8, out);
                let n = drops.field_len(layout);
                out[at..at + n].copy_from_slice(&drops.field.to_le_bytes()[..n]);
            }
            Header::ZeroMasked { plane, mask } => {
                let at = write_plane(layout, plane, code::ZERO_MASKED + mask.style as u8, out);
                mask.write(&mut out[at..]);
            }
            Header::Delta { widths, base } => {
                let field = widths.iter().enumerate().fold(0u64, |f, (g, w)| {
                    // All ones stand for the whole word.
                    let width = u64::from(*w).min(u64::from(layout.word_bits()) - 1);
                    f | width << (layout.width_bits() as usize * g)
                });
                let (n, wb) = (layout.width_bytes(), layout.word_bytes());
                out[0] = code::DELTA;
                out[1..1 + n].copy_from_slice(&field.to_le_bytes()[..n]);
                out[1 + n..1 + n + wb].copy_from_slice(&base.to_le_bytes()[..wb]);
            }
        }
        self.header_len(layout)
    }
}

fn planes(
    layout: Layout,
    fields: &mut Fields<'_>,
    (form, sign, k): (u8, SignMode, u32),
    z: u32,
) -> Result<Header, HeaderError> {
    let plane = |e_max| Plane { k, z, sign, e_max };
    if form >= code::ZERO_MASKED {
        let style = MaskStyle::ALL[usize::from(form - code::ZERO_MASKED)];
        // A mask's presence byte is part of what must be there at first.
        fields.need(
            1 + if style == MaskStyle::Whole {
                layout.mask_bytes()
            } else {
                1
            },
        )?;
        return Ok(Header::ZeroMasked {
            plane: plane(fields.byte()?),
            mask: fields.mask(layout, style)?,
        });
    }
    let bits = u32::from(form - code::BIT_PLANE);
    let mut drops = Drops { bits, field: 0 };
    let n = drops.field_len(layout);
    fields.need(1 + n)?;
    let e_max = fields.byte()?;
    let at = fields.at;
    for (i, byte) in fields.take(n)?.iter().enumerate() {
        drops.field |= u16::from(*byte) << (8 * i);
    }
    for g in 0..layout.groups() {
        if drops.of(g) > k {
            let byte = at + g * bits as usize / 8;
            return Err(fields.bad(byte, "no group with more dropped planes than there are"));
        }
    }
    Ok(Header::BitPlane {
        plane: plane(e_max),
        drops,
    })
}

fn delta(layout: Layout, fields: &mut Fields<'_>) -> Result<Header, HeaderError> {
    let n = layout.width_bytes();
    let bytes = fields.take(n + layout.word_bytes())?;
    let little_endian = |bytes: &[u8]| bytes.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b));
    let field = little_endian(&bytes[..n]);
    let mut widths = [0; 8];
    for (g, width) in widths[..layout.groups()].iter_mut().enumerate() {
        let bits = field >> (layout.width_bits() as usize * g) & (layout.word_bits() - 1);
        *width = layout.kept_width(bits) as u8;
    }
    if layout == Layout::W32 && field >> 20 != 0 {
        return Err(fields.bad(3, "bits 7..4 clear"));
    }
    Ok(Header::Delta {
        widths,
        base: little_endian(&bytes[n..]),
    })
}

/// Prefix, code byte and `e_max`; returns their length.
fn write_plane(layout: Layout, plane: &Plane, form: u8, out: &mut [u8]) -> usize {
    debug_assert!(plane.k <= MAX_EXP_PLANES && plane.z <= layout.mant_bits());
    let n = plane.prefix_len();
    out[0] = code::PREFIX << 5 | plane.z as u8;
    out[n] = form << 5 | (plane.sign as u8) << 3 | plane.k as u8;
    out[n + 1] = plane.e_max;
    n + 2
}
