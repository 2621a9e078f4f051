//! Choosing a block's form: every form costed, the smallest taken.

use super::planes::{Words, exponent, mantissa, sign};
use crate::format::{EXP_BITS, GROUP_WORDS, Header, Layout, Plane, SignMode};

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
/// Among equally small ones the lowest form code.
#[must_use]
pub fn choose(layout: Layout, words: &[u32; 64]) -> Header {
    let (header, _) = candidates(layout, words)
        .into_iter()
        .flatten()
        .map(|h| (h, h.block_len(layout)))
        // min_by_key keeps the first of equals; candidates come in the order of form codes.
        .min_by_key(|&(_, len)| len)
        .unwrap_or((Header::Raw, 0));
    header
}

/// Every form's header for a full block's words, in the order of the form codes; `None` where the form cannot code it
/// (and for every form but ZV where all words are zero).
#[must_use]
pub fn candidates(layout: Layout, words: &Words) -> [Option<Header>; crate::format::FORMS] {
    let words = &words[..layout.words()];
    let mut mask = 0u64;
    let (mut mant_or, mut delta_or) = (0, 0);
    let (mut e_max, mut min_nz) = (0, u8::MAX);
    let (mut any_neg, mut all_neg, mut nz_neg) = (false, true, true);
    let mut group_min = [u8::MAX; 8];
    let mut previous = words[0];
    for (i, &w) in words.iter().enumerate() {
        let (s, e) = (sign(layout, w) != 0, exponent(layout, w));
        delta_or |= w ^ previous;
        previous = w;
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
    let min = group_min[..layout.groups()].iter().copied().min().unwrap_or(0);
    let k = bit_length(u32::from(e_max - min));
    debug_assert!(k <= EXP_BITS);
    let presence = group_min[..layout.groups()]
        .iter()
        .enumerate()
        .filter(|&(_, &m)| k > 0 && u32::from(e_max - m) >> (k - 1) != 0)
        .fold(0, |p, (g, _)| p | 1 << g);
    let plane = Plane {
        k,
        z,
        sign: sign_mode(any_neg, all_neg),
        e_max,
    };
    let masked = Plane {
        k: bit_length(u32::from(e_max - min_nz)),
        z,
        sign: sign_mode(any_neg, nz_neg),
        e_max,
    };

    let lo = if delta_or == 0 {
        0
    } else {
        delta_or.trailing_zeros()
    };
    let p = bit_length(delta_or) - lo;
    let delta = (p <= 31).then_some(Header::Delta {
        lo,
        p,
        base: words[0],
    });

    [
        Some(Header::Raw),
        Some(Header::ZeroValue { mask }),
        Some(Header::BitPlane { plane, presence }),
        delta,
        Some(Header::ZeroMasked { plane: masked, mask }),
    ]
}
