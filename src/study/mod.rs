//! What the format's features bring: ratios of variants with one feature less, more or different, on any corpus.
//!
//! Sizes alone are computed, block by block, every variant over the same blocks; tensors are chosen, weighted and
//! grouped as [`stat`] does it. `docs/format-ledger.md` is made from this.

mod costs;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;

use crate::format::{BLOCK_BYTES, Layout};
use crate::stat::{self, Tensor};
use crate::tensor::Float;
use costs::{Difference, Drops, HeaderStyle, MaskForm, Predictor, Rest, Widths, Words};

/// Bytes of a block in RAW.
const RAW: u32 = BLOCK_BYTES as u32 + 1;

/// One way to code a block.
type Cost = fn(&Words<'_>) -> u32;

/// A variant of the format.
struct Variant {
    key: &'static str,
    what: &'static str,
    /// Forms of the format that it has.
    kept: Vec<Form>,
    /// Forms of its own.
    own: Vec<Cost>,
}

/// A form of the format, beside RAW and the single byte for a block of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Zv,
    Bp0,
    Bp1,
    Bp2,
    Dbp,
    Zbp,
}

impl Form {
    const ALL: [Form; 6] = [Form::Zv, Form::Bp0, Form::Bp1, Form::Bp2, Form::Dbp, Form::Zbp];

    fn cost(self, w: &Words<'_>) -> u32 {
        match self {
            Form::Zv => w.zero_value(MaskForm::Thin),
            Form::Bp0 => w.bit_plane(HeaderStyle::Codes, Drops::None),
            // Under W32 two bits a group take one byte, as one bit would.
            Form::Bp1 if w.layout == Layout::W32 => costs::NEVER,
            Form::Bp1 => w.bit_plane(HeaderStyle::Codes, Drops::One),
            Form::Bp2 => w.bit_plane(HeaderStyle::Codes, Drops::Two),
            Form::Dbp => w.delta(Predictor::Odd, Difference::Modular, Widths::Each),
            Form::Zbp => w.zero_masked(HeaderStyle::Codes, MaskForm::Thin, Rest::Halves),
        }
    }
}

/// The format without some of its forms.
fn without(left_out: &[Form]) -> Vec<Form> {
    Form::ALL.into_iter().filter(|f| !left_out.contains(f)).collect()
}

fn variants() -> Vec<Variant> {
    let v = |key, what, kept, own| Variant { key, what, kept, own };
    vec![
        v("format", "the format", without(&[]), vec![]),
        v(
            "draft_0",
            "draft 0: three-byte headers, one drop bit a group, XOR with the word before in one range, whole masks",
            vec![],
            vec![
                |w| w.zero_value(MaskForm::Whole),
                |w| w.bit_plane(HeaderStyle::Fields, Drops::One),
                |w| w.delta(Predictor::Before, Difference::Xor, Widths::Range),
                |w| w.zero_masked(HeaderStyle::Fields, MaskForm::Whole, Rest::Planelets),
            ],
        ),
        v(
            "no_zv",
            "without ZV (but for blocks of zeros)",
            without(&[Form::Zv]),
            vec![],
        ),
        v(
            "no_bp",
            "without BP",
            without(&[Form::Bp0, Form::Bp1, Form::Bp2]),
            vec![],
        ),
        v("no_dbp", "without DBP", without(&[Form::Dbp]), vec![]),
        v("no_zbp", "without ZBP", without(&[Form::Zbp]), vec![]),
        v(
            "header_fields",
            "three-byte headers in BP and ZBP",
            without(&[Form::Bp0, Form::Bp1, Form::Bp2, Form::Zbp]),
            vec![
                |w| w.bit_plane(HeaderStyle::Fields, Drops::None),
                |w| w.bit_plane(HeaderStyle::Fields, Drops::One),
                |w| w.bit_plane(HeaderStyle::Fields, Drops::Two),
                |w| w.zero_masked(HeaderStyle::Fields, MaskForm::Thin, Rest::Halves),
            ],
        ),
        v(
            "no_drops",
            "BP without drop fields",
            without(&[Form::Bp1, Form::Bp2]),
            vec![],
        ),
        v(
            "no_drops_1",
            "BP without the one-bit field (W32 has none)",
            without(&[Form::Bp1]),
            vec![],
        ),
        v(
            "no_drops_2",
            "BP without the two-bit field",
            without(&[Form::Bp2]),
            vec![],
        ),
        v(
            "presence_2",
            "a presence bit for each of the two top planes in place of the two-bit field",
            without(&[Form::Bp2]),
            vec![|w| w.bit_plane(HeaderStyle::Codes, Drops::Presence)],
        ),
        v(
            "mask_whole",
            "masks always whole",
            without(&[Form::Zv, Form::Zbp]),
            vec![|w| w.zero_value(MaskForm::Whole), |w| {
                w.zero_masked(HeaderStyle::Codes, MaskForm::Whole, Rest::Halves)
            }],
        ),
        v(
            "mask_two_bits",
            "masks with two bits a byte (0x00, 0xFF, written), or whole",
            without(&[Form::Zv, Form::Zbp]),
            vec![
                |w| w.zero_value(MaskForm::Whole).min(w.zero_value(MaskForm::TwoBits)),
                |w| w.zero_masked(HeaderStyle::Codes, MaskForm::Whole, Rest::Halves),
                |w| w.zero_masked(HeaderStyle::Codes, MaskForm::TwoBits, Rest::Halves),
            ],
        ),
        v(
            "rest_planelets",
            "partial groups of ZBP without half planelets",
            without(&[Form::Zbp]),
            vec![|w| w.zero_masked(HeaderStyle::Codes, MaskForm::Thin, Rest::Planelets)],
        ),
        v(
            "rest_exact",
            "partial groups of ZBP bit by bit (a bound)",
            without(&[Form::Zbp]),
            vec![|w| w.zero_masked(HeaderStyle::Codes, MaskForm::Thin, Rest::Exact)],
        ),
        v(
            "zbp_drops",
            "a drop bit for each group of ZBP, where it pays",
            without(&[]),
            vec![|w| w.zero_masked_with_drops()],
        ),
        v(
            "two_references",
            "an exponent reference for each half block, where it pays",
            without(&[]),
            vec![|w| w.two_references()],
        ),
        v(
            "escapes",
            "two-bit exponents with a packed list of escapes, where it pays",
            without(&[]),
            vec![|w| w.escapes()],
        ),
        v(
            "delta_xor",
            "DBP by XOR with the word before",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Before, Difference::Xor, Widths::Each)],
        ),
        v(
            "delta_before",
            "DBP predicted by the word before",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Before, Difference::Modular, Widths::Each)],
        ),
        v(
            "delta_ordered",
            "the same on order-preserving integers",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Before, Difference::Ordered, Widths::Each)],
        ),
        v(
            "delta_group",
            "DBP predicted by the last word of the group before",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Group, Difference::Modular, Widths::Each)],
        ),
        v(
            "delta_fours",
            "DBP predicted in steps of four, then one",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Fours, Difference::Modular, Widths::Each)],
        ),
        v(
            "delta_nonzero",
            "DBP over the non-zero words, behind a mask",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::BeforeNonzero, Difference::Modular, Widths::Each)],
        ),
        v(
            "delta_range",
            "DBP with one range of planes",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Odd, Difference::Modular, Widths::Range)],
        ),
        v(
            "delta_less",
            "DBP with one range and two bits a group",
            without(&[Form::Dbp]),
            vec![|w| w.delta(Predictor::Odd, Difference::Modular, Widths::Less)],
        ),
        v(
            "frame",
            "differences to the block's smallest word, where they pay",
            without(&[]),
            vec![|w| w.delta(Predictor::Least, Difference::Modular, Widths::Less)],
        ),
    ]
}

/// A variant's ratios.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name for scripts.
    pub key: &'static str,
    /// What is different from the format.
    pub what: &'static str,
    /// By float type (`bf16`, `f16`, `f32`).
    pub floats: BTreeMap<&'static str, Ratios>,
}

/// Ratios of a variant for one float type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ratios {
    /// Geometric mean over models.
    pub ratio: f64,
    /// By model, tensors weighted by the bytes they stand for.
    pub models: BTreeMap<String, f64>,
}

/// The figures of all variants; the first is the format itself.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Variants.
    pub rows: Vec<Row>,
    /// Tensors looked at.
    pub tensors: u64,
    /// Raw bytes looked at.
    pub raw_bytes: u64,
    /// Things a user should know.
    pub notes: Vec<String>,
}

/// Bytes of a tensor in each variant.
fn sizes(tensor: &Tensor, variants: &[Variant]) -> Vec<u64> {
    let layout = match tensor.float {
        Float::Bf16 | Float::F16 => Layout::W16,
        Float::F32 => Layout::W32,
    };
    let (blocks, tail) = tensor.raw.as_chunks::<BLOCK_BYTES>();
    let rest = if tail.is_empty() { 0 } else { tail.len() as u64 + 2 };
    let mut totals = vec![rest; variants.len()];
    let mut words = Vec::with_capacity(64);
    let mut nonzero = Vec::with_capacity(64);
    for block in blocks {
        words.clear();
        words.extend(
            block
                .chunks_exact(layout.word_bytes())
                .map(|b| b.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b))),
        );
        nonzero.clear();
        nonzero.extend(words.iter().copied().filter(|w| *w != 0));
        if nonzero.is_empty() {
            totals.iter_mut().for_each(|t| *t += 1);
            continue;
        }
        let mask = words
            .iter()
            .enumerate()
            .fold(0, |m, (i, w)| m | u64::from(*w != 0) << i);
        let of_block = Words {
            layout,
            words: &words,
            mask,
            nonzero: &nonzero,
        };
        // The variants share most of their forms: these are costed once.
        let shared = Form::ALL.map(|form| form.cost(&of_block));
        for (total, variant) in totals.iter_mut().zip(variants) {
            let kept = variant.kept.iter().map(|form| shared[*form as usize]);
            let own = variant.own.iter().map(|cost| cost(&of_block));
            *total += u64::from(kept.chain(own).fold(RAW, u32::min));
        }
    }
    totals
}

/// Takes the figures of all variants. `progress` is told raw bytes done and in total, from any thread.
///
/// # Errors
/// [`stat::Error`] of the first file that cannot be read.
pub fn run(request: &stat::Request, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Report, stat::Error> {
    let loaded = stat::load(request)?;
    let variants = variants();
    let total: u64 = loaded.tensors.iter().map(|t| t.raw.len() as u64).sum();
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let threads = match request.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let work = || {
        let mut of_thread = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(tensor) = loaded.tensors.get(index) else {
                return of_thread;
            };
            of_thread.push((index, sizes(tensor, &variants)));
            let n = tensor.raw.len() as u64;
            progress(n + done.fetch_add(n, Ordering::Relaxed), total);
        }
    };
    let mut all: Vec<(usize, Vec<u64>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|w| w.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    });
    // The order of sums does not depend on threads.
    all.sort_unstable_by_key(|(index, _)| *index);

    let rows = variants
        .iter()
        .enumerate()
        .map(|(v, variant)| {
            let mut sums: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
            for (index, sizes) in &all {
                let tensor = &loaded.tensors[*index];
                let weight = tensor.weight as f64;
                let sum = sums.entry((float_key(tensor.float), &tensor.model)).or_default();
                sum.0 += weight;
                sum.1 += weight * sizes[v] as f64 / tensor.raw.len() as f64;
            }
            let mut floats: BTreeMap<&str, Ratios> = BTreeMap::new();
            for ((float, model), (raw, compressed)) in sums {
                let ratios = floats.entry(float).or_default();
                ratios.models.insert(model.to_owned(), raw / compressed);
            }
            for ratios in floats.values_mut() {
                let logs: f64 = ratios.models.values().map(|r| r.ln()).sum();
                ratios.ratio = (logs / ratios.models.len() as f64).exp();
            }
            Row {
                key: variant.key,
                what: variant.what,
                floats,
            }
        })
        .collect();
    Ok(Report {
        rows,
        tensors: loaded.tensors.len() as u64,
        raw_bytes: total,
        notes: loaded.notes,
    })
}

const fn float_key(float: Float) -> &'static str {
    match float {
        Float::Bf16 => "bf16",
        Float::F16 => "f16",
        Float::F32 => "f32",
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::codec;

    /// The first variant is the format: its sizes are the codec's.
    #[test]
    fn the_format_costs_what_the_codec_takes() {
        let mut rng = StdRng::seed_from_u64(6);
        for (float, layout) in [(Float::Bf16, Layout::W16), (Float::F32, Layout::W32)] {
            for _ in 0..3000 {
                let (keep, drop) = (rng.random::<u32>(), rng.random::<u32>() & rng.random::<u32>());
                let density = rng.random_range(0.0..=1.0);
                let raw: Vec<u8> = (0..rng.random_range(1..200))
                    .flat_map(|_| {
                        let w = if rng.random_bool(density) {
                            rng.random::<u32>() & drop | keep
                        } else {
                            0
                        };
                        w.to_le_bytes()
                    })
                    .collect();
                let mut stream = Vec::new();
                codec::encode(layout, &raw, &mut stream);
                let tensor = Tensor {
                    file: String::new(),
                    name: String::new(),
                    model: String::new(),
                    float,
                    weight: raw.len() as u64,
                    raw,
                };
                assert_eq!(sizes(&tensor, &variants())[0], stream.len() as u64);
            }
        }
    }
}
