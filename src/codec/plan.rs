//! Choosing a block's form: every form costed from a summary of the words, the smallest taken.

use super::planes::{Words, delta, exponent, mantissa, sign};
use crate::format::{
    BLOCK_BYTES, Drops, FORMS, Form, GROUP_WORDS, Header, Layout, MAX_EXP_PLANES, Mask, MaskStyle, Plane,
    SignMode,
};

/// A one in each byte.
const ONES: u64 = u64::MAX / 255;

/// Bits needed to write `x`.
fn bit_length(x: u32) -> u32 {
    u32::BITS - x.leading_zeros()
}

/// What the choice of a form needs to know of a full block's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// Bit i: word i is not zero.
    pub(super) mask: u64,
    /// OR of the mantissas.
    pub(super) mant_or: u32,
    /// Some sign is set.
    pub(super) any_neg: bool,
    /// The signs of all non-zero words are set.
    pub(super) all_neg: bool,
    /// Largest E.
    pub(super) e_max: u8,
    /// Smallest E of the non-zero words.
    pub(super) e_min: u8,
    /// Byte g: smallest E of group g, zero words included. 0 beyond the last group.
    pub(super) group_min: u64,
    /// Byte g: planes of group g's differences. 0 beyond the last group.
    pub(super) widths: u64,
}

impl Summary {
    /// The summary of a block's words (`layout.words()` of them count).
    pub(super) fn of(layout: Layout, words: &Words) -> Summary {
        let mut s = Summary {
            mask: 0,
            mant_or: 0,
            any_neg: false,
            all_neg: true,
            e_max: 0,
            e_min: u8::MAX,
            group_min: 0,
            widths: 0,
        };
        let mut before = words[0];
        for (g, group) in words[..layout.words()]
            .as_chunks::<GROUP_WORDS>()
            .0
            .iter()
            .enumerate()
        {
            let mut least = u8::MAX;
            for (j, &w) in group.iter().enumerate() {
                let (negative, e) = (sign(layout, w) != 0, exponent(layout, w));
                s.mant_or |= mantissa(layout, w);
                s.e_max = s.e_max.max(e);
                s.any_neg |= negative;
                least = least.min(e);
                if w != 0 {
                    s.mask |= 1 << (GROUP_WORDS * g + j);
                    s.e_min = s.e_min.min(e);
                    s.all_neg &= negative;
                }
            }
            let bits = bit_length(delta(layout, before, group).iter().fold(0, |or, c| or | c));
            before = group[GROUP_WORDS - 1];
            s.group_min |= u64::from(least) << (8 * g);
            s.widths |= u64::from(layout.kept_width(bits)) << (8 * g);
        }
        s
    }
}

/// The smallest header of each form, as lengths and what it takes to make the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Bytes of the smallest block in each form, by form code; [`Plan::IMPOSSIBLE`] where the form cannot code it.
    lens: [u32; FORMS],
    pub(super) plane: Plane,
    pub(super) masked: Plane,
    pub(super) drop_bits: u32,
    /// Byte g: leading exponent planes, at most three, that group g does not need.
    pub(super) drops: u64,
    pub(super) style: MaskStyle,
}

impl Plan {
    const IMPOSSIBLE: u32 = u32::MAX;

    /// Costs every form of a block that is not all zero.
    // Inlined, so that bits are counted by the caller's instructions.
    #[inline(always)]
    pub(super) fn new(layout: Layout, s: &Summary) -> Plan {
        let groups = layout.groups() as u32;
        let in_groups = ONES >> (64 - 8 * groups);
        let wb = layout.word_bytes() as u32;
        let nz = s.mask.count_ones();
        let any_zero = nz < layout.words() as u32;
        let z = s.mant_or.trailing_zeros().min(layout.mant_bits());
        let plane = |e_min: u8, all_neg: bool| Plane {
            k: bit_length(u32::from(s.e_max - e_min)),
            z,
            sign: match (s.any_neg, all_neg) {
                (false, _) => SignMode::Positive,
                (true, true) => SignMode::Negative,
                (true, false) => SignMode::Kept,
            },
            e_max: s.e_max,
        };
        // A zero word has E = 0 and no sign.
        let bp = plane(if any_zero { 0 } else { s.e_min }, s.all_neg && !any_zero);
        let masked = plane(s.e_min, s.all_neg);
        let header = 2 + u32::from(z > 0);

        // Groups that need their first, one of their first two, three exponent planes.
        let reach = u64::from(s.e_max) * in_groups - s.group_min;
        let plane_of = |i: u32| {
            if bp.k > i {
                reach >> (bp.k - 1 - i) & in_groups
            } else {
                in_groups
            }
        };
        let first = plane_of(0);
        let second = first | plane_of(1);
        let third = second | plane_of(2);
        let drops = 3 * in_groups - first - second - third;
        let saved_1 = (groups - first.count_ones()) as i32 - 1;
        let saved_2 = (3 * groups - first.count_ones() - second.count_ones() - third.count_ones()) as i32
            - groups as i32 / 4;
        // Under W32 two bits a group take one byte, as one bit would.
        let saved_1 = if layout == Layout::W16 { saved_1 } else { 0 };
        let (drop_bits, saved) = if saved_2 > saved_1.max(0) {
            (2, saved_2)
        } else if saved_1 > 0 {
            (1, saved_1)
        } else {
            (0, 0)
        };

        let possible = |plane: &Plane, len: u32| {
            if plane.k <= MAX_EXP_PLANES {
                len
            } else {
                Plan::IMPOSSIBLE
            }
        };
        let bytes = layout.mask_bytes() as u32;
        // Without zeros the mask is a presence byte alone, and ZBP is BP behind it.
        let mut style = MaskStyle::WithoutOnes;
        let mut mask_len = 1;
        let mut payload = groups * bp.planes(layout);
        if any_zero {
            // Mask bytes that are 0x00, that are 0xFF.
            let in_mask = ONES >> (64 - 8 * bytes);
            let zero_bytes = |m: u64| {
                let low = 0x7f * in_mask;
                bytes - ((((m & low) + low) | m) & (0x80 * in_mask)).count_ones()
            };
            let (zeros, ones) = (zero_bytes(s.mask), zero_bytes(!s.mask & (0xff * in_mask)));
            (style, mask_len) = if zeros > 1 && zeros >= ones {
                (MaskStyle::WithoutZeros, bytes + 1 - zeros)
            } else if ones > 1 {
                (MaskStyle::WithoutOnes, bytes + 1 - ones)
            } else {
                (MaskStyle::Whole, bytes)
            };
            let partial = masked.partial(layout, nz as usize % GROUP_WORDS).len(layout);
            payload = masked.planes(layout) * (nz / GROUP_WORDS as u32) + partial as u32;
        }
        let widths = (s.widths.wrapping_mul(ONES) >> 56) as u32;
        Plan {
            lens: [
                BLOCK_BYTES as u32 + 1,
                1 + mask_len + wb * nz,
                possible(&bp, header + groups * bp.planes(layout) - saved as u32),
                1 + layout.width_bytes() as u32 + wb + widths,
                possible(&masked, header + mask_len + payload),
            ],
            plane: bp,
            masked,
            drop_bits,
            drops,
            style,
        }
    }

    /// The form of the shortest block; among equals the first.
    #[inline(always)]
    pub(super) fn form(&self) -> Form {
        let mut best = 0;
        for form in 1..FORMS {
            if self.lens[form] < self.lens[best] {
                best = form;
            }
        }
        Form::ALL[best]
    }

    /// The header of a form; `None` where it cannot code the block.
    #[inline]
    pub(super) fn header(&self, layout: Layout, s: &Summary, base: u32, form: Form) -> Option<Header> {
        if self.lens[form as usize] == Plan::IMPOSSIBLE {
            return None;
        }
        Some(match form {
            Form::Raw => Header::Raw,
            Form::ZeroValue => Header::ZeroValue {
                mask: Mask::new(layout, s.mask, self.style),
            },
            Form::BitPlane => Header::BitPlane {
                plane: self.plane,
                drops: Drops::new(self.drop_bits, self.drops),
            },
            Form::DeltaBitPlane => Header::Delta {
                widths: s.widths.to_le_bytes(),
                base,
            },
            Form::ZeroMasked => Header::ZeroMasked {
                plane: self.masked,
                mask: Mask::new(layout, s.mask, self.style),
            },
        })
    }
}

/// The header of the smallest form for a full block's words (`layout.words()` of them count).
/// Among equally small ones the first in the order of [`candidates`].
#[must_use]
pub fn choose(layout: Layout, words: &[u32; 64]) -> Header {
    let summary = Summary::of(layout, words);
    if summary.mask == 0 {
        return Header::AllZero;
    }
    let plan = Plan::new(layout, &summary);
    plan.header(layout, &summary, words[0], plan.form())
        .unwrap_or(Header::Raw)
}

/// The smallest header of every form for a full block's words, in the order of the form codes; `None` where the form
/// cannot code it (and for every form but ZV where all words are zero).
#[must_use]
pub fn candidates(layout: Layout, words: &Words) -> [Option<Header>; FORMS] {
    let summary = Summary::of(layout, words);
    if summary.mask == 0 {
        return [None, Some(Header::AllZero), None, None, None];
    }
    let plan = Plan::new(layout, &summary);
    Form::ALL.map(|form| plan.header(layout, &summary, words[0], form))
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// The lengths that the choice is made by are those of the headers.
    #[test]
    fn lengths_are_those_of_the_headers() {
        let mut rng = StdRng::seed_from_u64(4);
        for layout in Layout::ALL {
            for _ in 0..20_000 {
                let (keep, e) = (rng.random::<u32>() | rng.random::<u32>(), rng.random::<u32>());
                let drop = rng.random::<u32>() & rng.random::<u32>() & rng.random::<u32>();
                let density = rng.random_range(0.0..=1.0);
                let mut words = [0; 64];
                for w in &mut words[..layout.words()] {
                    if rng.random_bool(density) {
                        *w = (rng.random::<u32>() & drop | e & keep) & u32::MAX >> (32 - layout.word_bits());
                    }
                }
                let summary = Summary::of(layout, &words);
                if summary.mask == 0 {
                    continue;
                }
                let plan = Plan::new(layout, &summary);
                for form in Form::ALL {
                    if let Some(header) = plan.header(layout, &summary, words[0], form) {
                        assert_eq!(
                            header.block_len(layout) as u32,
                            plan.lens[form as usize],
                            "{header:?} {words:x?}"
                        );
                    }
                }
            }
        }
    }
}
