//! Choosing a block's form: every form costed, the smallest taken.

use super::planes::{Words, delta, exponent, mantissa, sign};
use crate::format::{Drops, GROUP_WORDS, Header, Layout, MAX_EXP_PLANES, Mask, Plane, SignMode};

/// Bits needed to write `x`.
fn bit_length(x: u32) -> u32 {
    u32::BITS - x.leading_zeros()
}

fn sign_mode(any: bool, all: bool) -> SignMode {
    match (any, all) {
        (false, _) => SignMode::Positive,
        (true, true) => SignMode::Negative,
        (true, false) => SignMode::Kept,
    }
}

/// The header of the smallest form for a full block's words (`layout.words()` of them count).
/// Among equally small ones the first in the order of [`candidates`].
#[must_use]
pub fn choose(layout: Layout, words: &[u32; 64]) -> Header {
    let (header, _) = candidates(layout, words)
        .into_iter()
        .flatten()
        .map(|h| (h, h.block_len(layout)))
        // min_by_key keeps the first of equals.
        .min_by_key(|&(_, len)| len)
        .unwrap_or((Header::Raw, 0));
    header
}

/// The smallest header of every form for a full block's words, in the order of the form codes; `None` where the form
/// cannot code it (and for every form but ZV where all words are zero).
#[must_use]
pub fn candidates(layout: Layout, words: &Words) -> [Option<Header>; crate::format::FORMS] {
    let words = &words[..layout.words()];
    let mut mask = 0u64;
    let mut mant_or = 0;
    let (mut e_max, mut min_nz) = (0, u8::MAX);
    let (mut any_neg, mut all_neg, mut nz_neg) = (false, true, true);
    let mut group_min = [u8::MAX; 8];
    for (i, &w) in words.iter().enumerate() {
        let (s, e) = (sign(layout, w) != 0, exponent(layout, w));
        mant_or |= mantissa(layout, w);
        e_max = e_max.max(e);
        any_neg |= s;
        all_neg &= s;
        let g = &mut group_min[i / GROUP_WORDS];
        *g = (*g).min(e);
        if w != 0 {
            mask |= 1 << i;
            min_nz = min_nz.min(e);
            nz_neg &= s;
        }
    }
    if mask == 0 {
        return [None, Some(Header::AllZero), None, None, None];
    }

    let z = mant_or.trailing_zeros().min(layout.mant_bits());
    let group_min = &group_min[..layout.groups()];
    let min = group_min.iter().copied().min().unwrap_or(0);
    let plane = |min: u8, sign: SignMode| {
        let k = bit_length(u32::from(e_max - min));
        (k <= MAX_EXP_PLANES).then_some(Plane { k, z, sign, e_max })
    };
    let bit_plane = plane(min, sign_mode(any_neg, all_neg)).map(|plane| {
        let mut zero = [0; 8];
        for (z, m) in zero.iter_mut().zip(group_min) {
            *z = plane.k - bit_length(u32::from(e_max - m));
        }
        let header = |bits| Header::BitPlane {
            plane,
            drops: Drops::new(bits, &zero[..layout.groups()]),
        };
        // Under W32 two bits a group take one byte, as one bit would.
        let variants = match layout {
            Layout::W16 => &[0, 1, 2][..],
            Layout::W32 => &[0, 2],
        };
        variants
            .iter()
            .map(|&bits| header(bits))
            .min_by_key(|h| h.block_len(layout))
            .unwrap_or(header(0))
    });
    let mask = Mask::smallest(layout, mask);

    [
        Some(Header::Raw),
        Some(Header::ZeroValue { mask }),
        bit_plane,
        Some(delta_header(layout, words)),
        plane(min_nz, sign_mode(any_neg, nz_neg)).map(|plane| Header::ZeroMasked { plane, mask }),
    ]
}

fn delta_header(layout: Layout, words: &[u32]) -> Header {
    let mut widths = [0; 8];
    let mut before = words[0];
    for (width, group) in widths.iter_mut().zip(words.as_chunks::<GROUP_WORDS>().0) {
        let bits = bit_length(delta(layout, before, group).iter().fold(0, |or, c| or | c));
        *width = layout.kept_width(bits) as u8;
        before = group[GROUP_WORDS - 1];
    }
    Header::Delta {
        widths,
        base: words[0],
    }
}
