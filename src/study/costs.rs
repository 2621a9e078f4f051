//! What a block would take in each form that was considered: sizes alone, in bytes, with headers.

use crate::format::{GROUP_WORDS, Layout};

/// A size that never wins.
pub(super) const NEVER: u32 = 1 << 16;

fn bit_length(x: u32) -> u32 {
    u32::BITS - x.leading_zeros()
}

/// How the header of BP and ZBP is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderStyle {
    /// Three bytes: form and k; sign mode and z; `e_max`.
    Fields,
    /// Two bytes, one more where z is not 0.
    Codes,
}

/// What BP says of the leading exponent planes of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drops {
    /// Nothing.
    None,
    /// One bit a group: the top plane is there or not.
    One,
    /// Two bits a group: 0 to 3 leading planes are not.
    Two,
    /// Two bits a group, one for each of the two top planes.
    Presence,
}

/// How the words go that do not fill a group of ZBP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// As planelets or verbatim, whichever is shorter.
    Planelets,
    /// Or as half planelets, with words beyond four verbatim.
    Halves,
    /// In so many bits as they have: a bound, not a format.
    Exact,
}

/// How a mask goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaskForm {
    Whole,
    /// Or a presence byte and the bytes that are not 0x00, or not 0xFF.
    Thin,
    /// Two bits a byte: 0x00, 0xFF or written.
    TwoBits,
}

/// What predicts a word of DBP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    /// The word before.
    Before,
    /// The word before, among the non-zero ones, behind a mask.
    BeforeNonzero,
    /// The last word of the group before.
    Group,
    /// The nearest word at an odd place before it; the format's.
    Odd,
    /// Words 3 and 7 from the anchor four before, the others from the word before.
    Fours,
    /// The smallest word of the block (frame of reference).
    Least,
}

/// How differences are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    Xor,
    /// Modulo the word's range, sign folded into the lowest bit.
    Modular,
    /// The same on the map of floats to integers that keeps their order.
    Ordered,
}

/// What DBP says of its groups' planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widths {
    /// One range of planes for the block.
    Range,
    /// That, and two bits a group: 0 to 3 planes less.
    Less,
    /// A width each.
    Each,
}

/// A block's words.
pub(super) struct Words<'a> {
    pub(super) layout: Layout,
    pub(super) words: &'a [u32],
    /// Bit i: word i is not zero.
    pub(super) mask: u64,
    pub(super) nonzero: &'a [u32],
}

/// What the plane forms need to know of a sequence of words.
struct Planes {
    n: usize,
    k: u32,
    z: u32,
    /// Planes beside the exponent's.
    fixed: u32,
    /// `e_max - E`.
    r: Vec<u32>,
}

impl Planes {
    fn of(layout: Layout, words: &[u32]) -> Planes {
        let mb = layout.mant_bits();
        let e: Vec<u32> = words.iter().map(|w| w >> mb & 0xff).collect();
        let e_max = e.iter().copied().max().unwrap_or(0);
        let r: Vec<u32> = e.iter().map(|e| e_max - e).collect();
        let mant = words.iter().fold(0, |or, w| or | w & ((1 << mb) - 1));
        let z = mant.trailing_zeros().min(mb);
        let negative = words
            .iter()
            .filter(|w| **w >> (layout.word_bits() - 1) & 1 == 1)
            .count();
        let sign = u32::from(negative != 0 && negative != words.len());
        Planes {
            n: words.len(),
            k: bit_length(r.iter().copied().max().unwrap_or(0)),
            z,
            fixed: mb - z + sign,
            r,
        }
    }

    /// Bytes of the header, or [`NEVER`] where its k has no room.
    fn header(&self, style: HeaderStyle) -> u32 {
        match style {
            HeaderStyle::Fields => 3,
            HeaderStyle::Codes if self.k > 7 => NEVER,
            HeaderStyle::Codes => 2 + u32::from(self.z > 0),
        }
    }

    fn planes(&self) -> u32 {
        self.fixed + self.k
    }

    /// Bytes of the words that do not fill a group.
    fn rest(&self, layout: Layout, rest: Rest) -> u32 {
        let (q, wb) = ((self.n % GROUP_WORDS) as u32, layout.word_bytes() as u32);
        let planes = self.planes();
        let half = (self.z + planes).div_ceil(2);
        match (rest, q) {
            (_, 0) => 0,
            (Rest::Planelets, _) => planes.min(q * wb),
            (Rest::Exact, _) => (planes * q).div_ceil(8),
            (Rest::Halves, 1..=4) => (q * wb).min(half - self.z / 2),
            (Rest::Halves, _) => planes.min((q - 4) * wb + half),
        }
    }
}

impl Words<'_> {
    pub(super) fn zero_value(&self, mask: MaskForm) -> u32 {
        1 + self.mask_len(mask) + (self.nonzero.len() * self.layout.word_bytes()) as u32
    }

    pub(super) fn mask_len(&self, form: MaskForm) -> u32 {
        let bytes = &self.mask.to_le_bytes()[..self.layout.mask_bytes()];
        let n = bytes.len() as u32;
        let count = |byte| bytes.iter().filter(|b| **b == byte).count() as u32;
        let (zeros, ones) = (count(0), count(0xff));
        match form {
            MaskForm::Whole => n,
            MaskForm::Thin => n.min(1 + n - zeros).min(1 + n - ones),
            MaskForm::TwoBits => (2 * n).div_ceil(8) + n - zeros - ones,
        }
    }

    pub(super) fn bit_plane(&self, header: HeaderStyle, drops: Drops) -> u32 {
        let p = Planes::of(self.layout, self.words);
        let groups = self.layout.groups() as u32;
        let (mut one, mut two, mut both) = (0, 0, 0);
        for group in p.r.chunks(GROUP_WORDS) {
            let or = group.iter().fold(0, |or, r| or | r);
            let spare = p.k - bit_length(or);
            one += spare.min(1);
            two += spare.min(3);
            both += (1..=2.min(p.k)).filter(|i| or >> (p.k - i) & 1 == 0).count() as u32;
        }
        let field = |bits: u32| (groups * bits).div_ceil(8);
        let whole = p.header(header) + groups * p.planes();
        match drops {
            Drops::None => whole,
            Drops::One => whole + field(1) - one,
            Drops::Two => whole + field(2) - two,
            Drops::Presence => whole + field(2) - both,
        }
    }

    pub(super) fn zero_masked(&self, header: HeaderStyle, mask: MaskForm, rest: Rest) -> u32 {
        let p = Planes::of(self.layout, self.nonzero);
        let groups = (p.n / GROUP_WORDS) as u32;
        p.header(header) + self.mask_len(mask) + groups * p.planes() + p.rest(self.layout, rest)
    }

    /// ZBP with one drop bit for each of its groups, the partial one in front.
    pub(super) fn zero_masked_with_drops(&self) -> u32 {
        let p = Planes::of(self.layout, self.nonzero);
        if p.k == 0 {
            return NEVER;
        }
        let q = p.n % GROUP_WORDS;
        let saved = p.r[q..]
            .chunks(GROUP_WORDS)
            .filter(|g| g.iter().all(|r| r >> (p.k - 1) == 0))
            .count() as u32;
        self.zero_masked(HeaderStyle::Codes, MaskForm::Thin, Rest::Halves) + 1 - saved
    }

    /// BP with two half blocks that have an `e_max` and a k each.
    pub(super) fn two_references(&self) -> u32 {
        let whole = Planes::of(self.layout, self.words);
        let half = self.words.len() / 2;
        let groups = self.layout.groups() as u32 / 2;
        let k: u32 = [&self.words[..half], &self.words[half..]]
            .into_iter()
            .map(|w| Planes::of(self.layout, w).k)
            .sum();
        whole.header(HeaderStyle::Codes) + 2 + groups * (2 * whole.fixed + k)
    }

    /// BP with exponents in two bits each, a window of three values from `o` on and an escape; what is outside follows,
    /// packed across the block.
    pub(super) fn escapes(&self) -> u32 {
        let p = Planes::of(self.layout, self.words);
        let most = p.r.iter().copied().max().unwrap_or(0);
        let groups = self.layout.groups() as u32;
        let best = (0..=most.min(3))
            .map(|o| {
                let outside = p.r.iter().filter(|r| **r < o || **r >= o + 3).count() as u32;
                let bits = bit_length(most.saturating_sub(3)).max(bit_length(o.saturating_sub(1)));
                outside.div_ceil(8) * bits
            })
            .min()
            .unwrap_or(0);
        p.header(HeaderStyle::Codes) + 1 + groups * (p.fixed + 2) + best
    }

    pub(super) fn delta(&self, predictor: Predictor, difference: Difference, widths: Widths) -> u32 {
        let layout = self.layout;
        let bits = layout.word_bits();
        let wb = layout.word_bytes() as u32;
        let all = u32::MAX >> (32 - bits);
        let sequence = match predictor {
            Predictor::BeforeNonzero => self.nonzero,
            _ => self.words,
        };
        let Some(&first) = sequence.first() else {
            return NEVER;
        };
        let least = sequence.iter().copied().min().unwrap_or(0);
        let value = |w: u32| match difference {
            Difference::Ordered if w >> (bits - 1) == 1 => !w & all,
            Difference::Ordered => w | 1 << (bits - 1),
            _ => w,
        };
        let codes: Vec<u32> = (0..sequence.len())
            .map(|i| {
                let (start, j) = (i - i % GROUP_WORDS, i % GROUP_WORDS);
                let ahead = if start == 0 { first } else { sequence[start - 1] };
                let within = |place: Option<usize>| place.map_or(ahead, |p| sequence[start + p]);
                let prediction = match predictor {
                    Predictor::Before | Predictor::BeforeNonzero => within(j.checked_sub(1)),
                    Predictor::Group => ahead,
                    Predictor::Odd => within(crate::format::PREDICTOR[j]),
                    Predictor::Fours => {
                        within([None, Some(0), Some(1), None, Some(3), Some(4), Some(5), Some(3)][j])
                    }
                    Predictor::Least => return sequence[i] - least,
                };
                if difference == Difference::Xor {
                    return sequence[i] ^ prediction;
                }
                let d =
                    (value(sequence[i]).wrapping_sub(value(prediction)) << (32 - bits)) as i32 >> (32 - bits);
                (d << 1 ^ d >> 31) as u32 & all
            })
            .collect();
        let or = codes.iter().fold(0, |or, c| or | c);
        let lo = if or == 0 { 0 } else { or.trailing_zeros() };
        let groups = codes
            .chunks(GROUP_WORDS)
            .map(|g| bit_length(g.iter().fold(0, |or, c| or | c)));
        let n = codes.len().div_ceil(GROUP_WORDS) as u32;
        let range = bit_length(or) - lo;
        let mask = match predictor {
            Predictor::BeforeNonzero => self.mask_len(MaskForm::Thin),
            _ => 0,
        };
        mask + wb
            + match widths {
                Widths::Range if range > 31 => NEVER,
                Widths::Range => 2 + n * range,
                Widths::Less => {
                    let least = range.saturating_sub(3);
                    2 + (2 * n).div_ceil(8) + groups.map(|w| w.saturating_sub(lo).max(least)).sum::<u32>()
                }
                Widths::Each => {
                    let field = (n * layout.width_bits()).div_ceil(8);
                    1 + field + groups.map(|w| layout.kept_width(w)).sum::<u32>()
                }
            }
    }
}
