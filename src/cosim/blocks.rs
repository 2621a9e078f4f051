//! Structured random blocks: one for every corner of every form's header.

use rand::Rng;
use rand::seq::SliceRandom;

use super::StimulusRng;
use crate::format::{BLOCK_BYTES, EXP_BITS, GROUP_WORDS, Layout, SignMode};

/// What a block is aimed at. The encoder may still find a shorter form for it.
#[derive(Clone, Copy, Debug)]
enum Target {
    Raw,
    AllZero,
    /// Random words, so many of them not zero.
    ZeroValue(usize),
    /// Kept exponent planes, dropped mantissa planes, signs, presence bits.
    BitPlane(u32, u32, SignMode, u8),
    /// Lowest plane, number of planes.
    Delta(u32, u32),
    /// As bit plane, and so many words that are not zero.
    ZeroMasked(u32, u32, SignMode, usize),
    /// One word repeated.
    Constant,
    /// Zeros of either sign, infinities, NaNs, denormals, ones.
    Special,
    /// Masks and planes whose density differs between the halves of the block.
    Mixed,
}

const SIGNS: [SignMode; 3] = [SignMode::Positive, SignMode::Negative, SignMode::Kept];

/// Goes through all targets of a layout in random order, again and again.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    layout: Layout,
    targets: Vec<Target>,
    next: usize,
}

impl Blocks {
    pub(super) fn new(layout: Layout, rng: &mut StimulusRng) -> Blocks {
        let mb = layout.mant_bits();
        let words = layout.words();
        let mut targets = vec![Target::Raw, Target::AllZero, Target::Constant];
        for _ in 0..20 {
            targets.extend([Target::Special, Target::Mixed, Target::Mixed]);
        }
        targets.extend((1..=words).map(Target::ZeroValue));
        for k in 0..=EXP_BITS {
            for z in 0..=mb {
                for sign in SIGNS {
                    // Presence: random; few or all bits with the widest planes, which else exceed RAW.
                    let presence = match rng.random_range(0..4) {
                        0 => 1 << rng.random_range(0..layout.groups()),
                        1 => u8::MAX,
                        _ => rng.random(),
                    };
                    targets.push(Target::BitPlane(k, z, sign, presence));
                    targets.push(Target::ZeroMasked(k, z, sign, rng.random_range(1..words)));
                }
            }
        }
        for nz in 1..words {
            // Few words are worth planes only if there are few planes.
            targets.push(Target::ZeroMasked(
                rng.random_range(0..2),
                mb,
                SIGNS[rng.random_range(0..2)],
                nz,
            ));
            for _ in 0..2 {
                let (k, z) = (rng.random_range(0..=EXP_BITS), rng.random_range(0..=mb));
                targets.push(Target::ZeroMasked(k, z, SIGNS[rng.random_range(0..3)], nz));
            }
        }
        for bits in 0..1u32 << layout.groups() {
            let (k, z) = (rng.random_range(1..=6), rng.random_range(1..mb));
            targets.push(Target::BitPlane(k, z, SIGNS[rng.random_range(0..3)], bits as u8));
        }
        for p in 1..=layout.word_bits().min(31) {
            for lo in 0..=layout.word_bits() - p {
                targets.push(Target::Delta(lo, p));
            }
        }
        targets.shuffle(rng);
        Blocks {
            layout,
            targets,
            next: 0,
        }
    }

    /// Blocks until all targets have been met once.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// The next block.
    pub(super) fn next(&mut self, rng: &mut StimulusRng) -> [u8; BLOCK_BYTES] {
        let target = self.targets[self.next];
        self.next += 1;
        if self.next == self.targets.len() {
            self.next = 0;
            self.targets.shuffle(rng);
        }
        let mut words = [0; 64];
        make(self.layout, target, rng, &mut words[..self.layout.words()]);
        let mut block = [0; BLOCK_BYTES];
        let wb = self.layout.word_bytes();
        for (bytes, w) in block.chunks_exact_mut(wb).zip(words) {
            bytes.copy_from_slice(&w.to_le_bytes()[..wb]);
        }
        block
    }
}

fn make(layout: Layout, target: Target, rng: &mut StimulusRng, words: &mut [u32]) {
    let n = words.len();
    let word_mask = u32::MAX >> (32 - layout.word_bits());
    match target {
        Target::Raw => rng.fill(words),
        Target::AllZero => {}
        Target::Constant => words.fill(rng.random::<u32>() & word_mask),
        Target::ZeroValue(nz) => {
            for i in places(n, nz, rng) {
                words[i] = rng.random::<u32>() & word_mask | 1;
            }
        }
        Target::BitPlane(k, z, sign, presence) => {
            let k_max = |g: usize| k.saturating_sub(u32::from(presence >> (g % 8) & 1 == 0));
            plane_words(layout, k, z, sign, k_max, rng, words);
        }
        Target::ZeroMasked(k, z, sign, nz) => {
            let mut dense = [0; 64];
            plane_words(layout, k, z, sign, |_| k, rng, &mut dense[..nz]);
            for (w, i) in dense.iter().zip(places(n, nz, rng)) {
                words[i] = *w;
            }
        }
        Target::Delta(lo, p) => {
            let mask = ((1u64 << p) - 1) as u32;
            // Planes below the range that are constant but not zero make this the shortest form.
            let mut w = rng.random::<u32>() & word_mask | u32::from(lo > 0);
            for (i, word) in words.iter_mut().enumerate() {
                if i > 0 {
                    // The ends of the range are set at least once each.
                    let ends = if i == 1 { 1 | 1 << (p - 1) } else { 0 };
                    w ^= ((rng.random::<u32>() | ends) & mask) << lo & word_mask;
                }
                *word = w;
            }
        }
        Target::Special => {
            let (mb, wb) = (layout.mant_bits(), layout.word_bits());
            let sign = 1 << (wb - 1);
            let inf = 0xff << mb;
            let one = 0x7f << mb;
            let choices = [
                0,
                sign,
                inf,
                inf | sign,
                inf | 1,
                inf | 1 << (mb - 1),
                1,
                sign | 1,
                (1 << mb) - 1,
                one,
                one | sign,
                one - 1,
                one + 1,
                inf - 1,
                word_mask,
            ];
            let some = rng.random_range(1..=choices.len());
            for w in words {
                *w = choices[rng.random_range(0..some)];
            }
        }
        Target::Mixed => {
            let density: [f64; 2] = [rng.random(), rng.random()];
            let bits = rng.random_range(0..=layout.word_bits());
            let low = rng.random_range(0..=layout.word_bits() - bits);
            let keep = (((1u64 << bits) - 1) << low) as u32;
            let base = rng.random::<u32>() & word_mask;
            for (i, w) in words.iter_mut().enumerate() {
                if rng.random_bool(density[2 * i / n]) {
                    *w = base & !keep | rng.random::<u32>() & keep;
                }
            }
        }
    }
}

/// `nz` of `n` places, ascending: spread over the block, or in one run.
fn places(n: usize, nz: usize, rng: &mut StimulusRng) -> Vec<usize> {
    if rng.random_bool(0.2) {
        let first = rng.random_range(0..=n - nz);
        return (first..first + nz).collect();
    }
    let mut places = rand::seq::index::sample(rng, n, nz).into_vec();
    places.sort_unstable();
    places
}

/// Words whose exponent spread has `k` bits, with `z` zero planes; group g's differences have `k_max(g)` bits.
fn plane_words(
    layout: Layout,
    k: u32,
    z: u32,
    sign: SignMode,
    k_max: impl Fn(usize) -> u32,
    rng: &mut StimulusRng,
    words: &mut [u32],
) {
    let mb = layout.mant_bits();
    let least = if k == 0 { 0 } else { 1 << (k - 1) };
    let e_max = rng.random_range(least.max(1)..=255u32);
    let peak = rng.random_range(0..words.len());
    let n = words.len();
    for (i, w) in words.iter_mut().enumerate() {
        let most = ((1u32 << k_max(i / GROUP_WORDS)) - 1).min(e_max);
        let mut r = rng.random_range(0..=most);
        if i == peak {
            r = 0;
        } else if (i + n - peak) % GROUP_WORDS == 1 || i + 1 == n {
            // In every group once, so that presence bits say what was asked for.
            r = most;
        }
        let mut m = rng.random::<u32>() & ((1 << mb) - 1) & !((1 << z) - 1);
        if z < mb && i == peak {
            m |= 1 << z;
        }
        let s = match sign {
            SignMode::Positive => 0,
            SignMode::Negative => 1,
            SignMode::Kept => rng.random_range(0..2),
        };
        *w = s << (layout.word_bits() - 1) | (e_max - r) << mb | m;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::codec::encode_block;
    use crate::cosim::rng;
    use crate::format::{Header, MAX_BLOCK_LEN};

    /// One round of targets reaches every value that each header field can take in an encoder's stream.
    #[test]
    fn a_round_reaches_every_header_corner() {
        for layout in Layout::ALL {
            let mut rng = rng(1, 0);
            let mut blocks = Blocks::new(layout, &mut rng);
            let mut seen = BTreeSet::new();
            for _ in 0..blocks.len() {
                let block = blocks.next(&mut rng);
                let mut out = [0; MAX_BLOCK_LEN];
                let (_, len) = encode_block(layout, &block, &mut out);
                seen.insert(("length", len as u32));
                let header = Header::parse(layout, &out[..len]).unwrap();
                match header {
                    Header::Raw => {
                        seen.insert(("raw", 0));
                    }
                    Header::AllZero => {
                        seen.insert(("all zero", 0));
                    }
                    Header::ZeroValue { mask } => {
                        seen.insert(("zv nz", mask.count_ones()));
                    }
                    Header::BitPlane { plane, presence } => {
                        seen.insert(("bp k", plane.k));
                        seen.insert(("bp z", plane.z));
                        seen.insert(("bp sign", plane.sign as u32));
                        seen.insert(("bp presence", presence.into()));
                    }
                    Header::Delta { lo, p, .. } => {
                        seen.insert(("dbp lo", lo));
                        seen.insert(("dbp p", p));
                    }
                    Header::ZeroMasked { plane, mask } => {
                        let nz = mask.count_ones();
                        seen.insert(("zbp k", plane.k));
                        seen.insert(("zbp z", plane.z));
                        seen.insert(("zbp sign", plane.sign as u32));
                        seen.insert(("zbp nz", nz));
                        let q = nz as usize % GROUP_WORDS;
                        if q > 0 {
                            let planes = plane.planes(layout) as usize;
                            let verbatim = crate::format::header::partial_verbatim(layout, q, planes);
                            seen.insert((if verbatim { "zbp verbatim" } else { "zbp planelets" }, q as u32));
                        }
                    }
                    Header::Tail { .. } => unreachable!("full blocks only"),
                }
            }
            let mb = layout.mant_bits();
            // The longest forms that still beat RAW bound what an encoder can send.
            let max_p = if layout == Layout::W16 { 15 } else { 30 };
            let max_nz = if layout == Layout::W16 { 59 } else { 30 };
            let words = layout.words() as u32;
            let wanted: Vec<(&str, Vec<u32>)> = vec![
                ("raw", vec![0]),
                ("all zero", vec![0]),
                ("zv nz", (1..=max_nz).collect()),
                ("bp k", (0..=8).collect()),
                ("bp z", (0..=mb).collect()),
                ("bp sign", (0..3).collect()),
                ("bp presence", (0..1 << layout.groups()).collect()),
                ("dbp p", (0..=max_p).collect()),
                ("zbp k", (0..=8).collect()),
                ("zbp z", (0..=mb).collect()),
                ("zbp sign", (0..3).collect()),
                ("zbp nz", (2..words).collect()),
                ("zbp verbatim", (1..=3).collect()),
                ("zbp planelets", (3..8).collect()),
            ];
            for (name, values) in wanted {
                let missing: Vec<u32> = values
                    .into_iter()
                    .filter(|v| !seen.contains(&(name, *v)))
                    .collect();
                assert!(missing.is_empty(), "{layout:?} {name}: missing {missing:?}");
            }
            let los = seen.iter().filter(|(name, _)| *name == "dbp lo").count() as u32;
            assert!(los >= mb, "{layout:?}: only {los} values of lo");
            let lengths = seen.iter().filter(|(name, _)| *name == "length").count();
            assert!(lengths > 100, "{layout:?}: only {lengths} block lengths");
        }
    }
}
