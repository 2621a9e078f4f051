//! Structured random blocks: one for every corner of every form's header.

use rand::Rng;
use rand::seq::SliceRandom;

use super::StimulusRng;
use crate::codec::decode_block;
use crate::format::{
    BLOCK_BYTES, EXP_BITS, GROUP_WORDS, Header, Layout, MAX_EXP_PLANES, MAX_HEADER_LEN, SignMode,
};

/// What a block is aimed at. The encoder may still find a shorter form for it.
#[derive(Clone, Copy, Debug)]
enum Target {
    Raw,
    AllZero,
    /// Random words, so many of them not zero.
    ZeroValue(usize),
    /// Exponent planes, zero mantissa planes, signs, two bits a group: leading exponent planes that it lacks.
    BitPlane(u32, u32, SignMode, u16),
    /// A group, its width, and the largest width of the others.
    Delta(usize, u32, u32),
    /// As bit plane, and so many words that are not zero.
    ZeroMasked(u32, u32, SignMode, usize),
    /// Mask bytes that are neither empty nor full, and whether the others are full.
    Mask(u32, bool),
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
                    // Drops: random; all or nearly all with the widest planes, which else exceed RAW.
                    let drops = match rng.random_range(0..4) {
                        0 => !(3 << (2 * rng.random_range(0..layout.groups()))),
                        1 => 0x5555,
                        _ => rng.random(),
                    };
                    targets.push(Target::BitPlane(k, z, sign, drops));
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
            // As many planes as there can be: the partial group is a mixed one.
            if nz % GROUP_WORDS > 4 {
                targets.push(Target::ZeroMasked(MAX_EXP_PLANES, 0, SignMode::Kept, nz));
            }
            for _ in 0..2 {
                let (k, z) = (rng.random_range(0..=EXP_BITS), rng.random_range(0..=mb));
                targets.push(Target::ZeroMasked(k, z, SIGNS[rng.random_range(0..3)], nz));
            }
        }
        for bits in 0..1u32 << layout.groups() {
            // One plane less in some groups: one drop bit a group says it best.
            let drops = (0..8).fold(0, |d, g| d | ((bits >> g & 1) as u16) << (2 * g));
            let (k, z) = (rng.random_range(1..=6), rng.random_range(1..mb));
            targets.push(Target::BitPlane(k, z, SIGNS[rng.random_range(0..3)], drops));
        }
        for presence in 1..1u32 << layout.groups() {
            targets.extend([Target::Mask(presence, false), Target::Mask(presence, true)]);
        }
        for g in 0..layout.groups() {
            for drop in 0..4 {
                for _ in 0..4 {
                    let drops = rng.random::<u16>() & !(3 << (2 * g)) | drop << (2 * g);
                    let (k, z) = (rng.random_range(3..=6), rng.random_range(1..mb));
                    targets.push(Target::BitPlane(k, z, SIGNS[rng.random_range(0..3)], drops));
                }
            }
            for width in 0..=layout.word_bits() {
                for others in [1, 3, 8] {
                    targets.push(Target::Delta(g, width, others));
                }
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
        Target::BitPlane(k, z, sign, drops) => {
            let k_max = |g: usize| k.saturating_sub(u32::from(drops >> (2 * (g % 8)) & 3));
            plane_words(layout, k, z, sign, k_max, rng, words);
        }
        Target::ZeroMasked(k, z, sign, nz) => {
            let mut dense = [0; 64];
            plane_words(layout, k, z, sign, |_| k, rng, &mut dense[..nz]);
            for (w, i) in dense.iter().zip(places(n, nz, rng)) {
                words[i] = *w;
            }
        }
        Target::Mask(presence, full) => {
            plane_words(layout, 3, 0, SignMode::Kept, |_| 3, rng, words);
            for (g, group) in words.as_chunks_mut::<GROUP_WORDS>().0.iter_mut().enumerate() {
                if presence >> g & 1 != 0 {
                    // From one word to seven.
                    for i in places(GROUP_WORDS, rng.random_range(1..GROUP_WORDS), rng) {
                        group[i] = 0;
                    }
                } else if !full {
                    group.fill(0);
                }
            }
        }
        Target::Delta(group, width, others) => {
            let mut widths = [0; 8];
            for (g, w) in widths[..layout.groups()].iter_mut().enumerate() {
                *w = if g == group {
                    width as u8
                } else {
                    rng.random_range(0..=others) as u8
                };
                // The width that the field cannot say.
                *w += u8::from(u32::from(*w) + 1 == layout.word_bits());
            }
            let header = Header::Delta {
                widths,
                base: rng.random::<u32>() & word_mask,
            };
            let mut stream = [0; MAX_HEADER_LEN + 8 * 32];
            let mut at = header.write(layout, &mut stream);
            for (g, w) in widths.iter().enumerate() {
                for plane in 0..*w {
                    // Word 0 is the header's; the highest plane of a width is not empty.
                    let first = u8::from(g == 0);
                    stream[at] = rng.random::<u8>() & !first | u8::from(plane + 1 == *w) << 1;
                    at += 1;
                }
            }
            let mut raw = [0; BLOCK_BYTES];
            if decode_block(layout, &stream[..at], &mut raw).is_ok() {
                for (w, bytes) in words.iter_mut().zip(raw.chunks_exact(layout.word_bytes())) {
                    *w = bytes.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b));
                }
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

/// `nz` of `n` places, ascending: spread over the block, in one run, or in whole bytes of the mask.
fn places(n: usize, nz: usize, rng: &mut StimulusRng) -> Vec<usize> {
    if rng.random_bool(0.3) {
        let mut bytes: Vec<usize> = (0..n / 8).collect();
        bytes.shuffle(rng);
        let mut places: Vec<usize> = bytes.iter().flat_map(|b| 8 * b..8 * b + 8).take(nz).collect();
        places.sort_unstable();
        return places;
    }
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
            // In every group once, so that the drop field says what was asked for.
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
    use crate::format::{MAX_BLOCK_LEN, MaskStyle, Partial};

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
                        seen.insert(("zv nz", mask.count() as u32));
                        seen.insert(("zv style", mask.style as u32));
                    }
                    Header::BitPlane { plane, drops } => {
                        seen.insert(("bp k", plane.k));
                        seen.insert(("bp z", plane.z));
                        seen.insert(("bp sign", plane.sign as u32));
                        seen.insert(("bp drop bits", drops.bits()));
                        for g in 0..layout.groups() {
                            seen.insert(("bp drop", 4 * g as u32 + drops.of(g)));
                        }
                        if drops.bits() == 1 {
                            seen.insert(("bp field", (0..8).fold(0, |f, g| f | drops.of(g) << g)));
                        }
                    }
                    Header::Delta { widths, .. } => {
                        for (g, w) in widths[..layout.groups()].iter().enumerate() {
                            seen.insert(("dbp width", 64 * g as u32 + u32::from(*w)));
                        }
                    }
                    Header::ZeroMasked { plane, mask } => {
                        seen.insert(("zbp k", plane.k));
                        seen.insert(("zbp z", plane.z));
                        seen.insert(("zbp sign", plane.sign as u32));
                        seen.insert(("zbp nz", mask.count() as u32));
                        seen.insert(("zbp style", mask.style as u32));
                        if mask.style != MaskStyle::Whole {
                            seen.insert(("mask presence", mask.presence.into()));
                        }
                        let q = mask.count() % GROUP_WORDS;
                        let partial = match plane.partial(layout, q) {
                            Partial::None => "zbp no partial",
                            Partial::Verbatim { .. } => "zbp verbatim",
                            Partial::Halves { verbatim: 0, .. } => "zbp halves",
                            Partial::Halves { .. } => "zbp mixed",
                            Partial::Planes { .. } => "zbp planelets",
                        };
                        seen.insert((partial, q as u32));
                    }
                    Header::Tail { .. } => unreachable!("full blocks only"),
                }
            }
            let mb = layout.mant_bits();
            // The longest forms that still beat RAW bound what an encoder can send.
            let max_nz = if layout == Layout::W16 { 59 } else { 30 };
            let words = layout.words() as u32;
            let groups = layout.groups() as u32;
            // Leaving out one mask byte costs what it saves.
            let few = (1..1u32 << groups).filter(|p| p.count_ones() + 2 <= groups);
            let (bits, fields) = match layout {
                // A single drop bit costs what it saves.
                Layout::W16 => (
                    vec![0, 1, 2],
                    (1..255u32).filter(|f| f.count_ones() > 1).collect(),
                ),
                Layout::W32 => (vec![0, 2], vec![]),
            };
            let wanted: Vec<(&str, Vec<u32>)> = vec![
                ("raw", vec![0]),
                ("all zero", vec![0]),
                ("zv nz", (1..=max_nz).collect()),
                ("zv style", (0..3).collect()),
                ("bp k", (0..=7).collect()),
                ("bp z", (0..=mb).collect()),
                ("bp sign", (0..3).collect()),
                ("bp drop bits", bits),
                ("bp drop", (0..4 * groups).collect()),
                ("bp field", fields),
                (
                    "dbp width",
                    (0..groups)
                        .flat_map(|g| (0..=layout.word_bits()).map(move |w| 64 * g + w))
                        .filter(|gw| gw % 64 != layout.word_bits() - 1)
                        .collect(),
                ),
                ("zbp k", (0..=7).collect()),
                ("zbp z", (0..=mb).collect()),
                ("zbp sign", (0..3).collect()),
                ("zbp nz", (2..words).collect()),
                ("zbp style", (0..3).collect()),
                ("mask presence", few.collect()),
                ("zbp verbatim", (1..=3).collect()),
                ("zbp halves", (1..=4).collect()),
                ("zbp mixed", (5..8).collect()),
                ("zbp planelets", (5..8).collect()),
            ];
            for (name, values) in wanted {
                let missing: Vec<u32> = values
                    .into_iter()
                    .filter(|v| !seen.contains(&(name, *v)))
                    .collect();
                assert!(missing.is_empty(), "{layout:?} {name}: missing {missing:?}");
            }
            let lengths = seen.iter().filter(|(name, _)| *name == "length").count();
            assert!(lengths > 100, "{layout:?}: only {lengths} block lengths");
        }
    }
}
