//! The codec on x86-64 with AVX2, BMI1, BMI2, LZCNT and POPCNT: the bytes of the portable path, faster.
//!
//! A group of eight words is transposed in registers. Its planelets then stand in order, with gaps where planes are left
//! out; one byte shuffle closes them (W16), or a shifted copy does (W32).
//!
//! Functions that do not transpose take the parameter for GFNI all the same: what has one caller is inlined.
//!
//! # Why this is sound
//! The functions here need the CPU features they name; the only way in is [`Avx2`], which exists only where all of them
//! were detected. Loads and stores go through [`load`], [`load_half`], [`store`] and [`store_half`], which check their
//! range like a slice access.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::plan::{Plan, Summary};
use crate::format::{
    BLOCK_BYTES, Form, GROUP_WORDS, Layout, MAX_BLOCK_LEN, MAX_HEADER_LEN, MaskStyle, Partial, Plane,
    SignMode, code,
};

/// Bytes behind a block that [`Avx2::encode_blocks`] may write.
pub(super) const SLACK: usize = 32;

/// Bytes from a block's start that [`Avx2::decode_blocks`] may look at: any header, any payload, one load more.
const WINDOW: usize = MAX_HEADER_LEN + BLOCK_BYTES + 32;

/// Proof that the CPU has what this module needs. GFNI transposes in two instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2 {
    gfni: bool,
}

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        all.then_some(Avx2 { gfni: false })
    }

    /// The same with GFNI, where there is that too.
    pub(super) fn detect_gfni() -> Option<Avx2> {
        Avx2::detect()?;
        is_x86_feature_detected!("gfni").then_some(Avx2 { gfni: true })
    }

    pub(super) const fn gfni(self) -> bool {
        self.gfni
    }

    /// Encodes full blocks one behind the other from the start of `out`, which has [`MAX_BLOCK_LEN`] bytes for each and
    /// [`SLACK`] more; counts them by form and returns their length.
    pub(super) fn encode_blocks(
        self,
        layout: Layout,
        blocks: &[[u8; BLOCK_BYTES]],
        out: &mut [u8],
        forms: &mut [u64],
    ) -> usize {
        // SAFETY: the features were detected, or there would be no `self`.
        unsafe {
            match (layout, self.gfni) {
                (Layout::W16, false) => encode_blocks_16::<false>(blocks, out, forms),
                (Layout::W16, true) => encode_blocks_16::<true>(blocks, out, forms),
                (Layout::W32, false) => encode_blocks_32::<false>(blocks, out, forms),
                (Layout::W32, true) => encode_blocks_32::<true>(blocks, out, forms),
            }
        }
    }

    /// Decodes blocks from `at` on into `raw`, counts them by form, and returns where it stopped and how many there were:
    /// before a block that needs a closer look (raw, a tail, one that may not be valid, or less than [`WINDOW`]
    /// bytes from the end), if not with the last of `raw`.
    pub(super) fn decode_blocks(
        self,
        layout: Layout,
        stream: &[u8],
        at: usize,
        raw: &mut [[u8; BLOCK_BYTES]],
        forms: &mut [u64],
    ) -> (usize, usize) {
        // SAFETY: the features were detected, or there would be no `self`.
        unsafe {
            match (layout, self.gfni) {
                (Layout::W16, false) => decode_blocks_16::<false>(stream, at, raw, forms),
                (Layout::W16, true) => decode_blocks_16::<true>(stream, at, raw, forms),
                (Layout::W32, false) => decode_blocks_32::<false>(stream, at, raw, forms),
                (Layout::W32, true) => decode_blocks_32::<true>(stream, at, raw, forms),
            }
        }
    }
}

// ---- memory ------------------------------------------------------------------------------------------------------

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn load(from: &[u8], at: usize) -> __m256i {
    let bytes: &[u8] = &from[at..at + 32];
    // SAFETY: the slice has 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn load_half(from: &[u8], at: usize) -> __m128i {
    let bytes: &[u8] = &from[at..at + 16];
    // SAFETY: the slice has 16 bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn store(to: &mut [u8], at: usize, v: __m256i) {
    let bytes: &mut [u8] = &mut to[at..at + 32];
    // SAFETY: the slice has 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), v) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn store_half(to: &mut [u8], at: usize, v: __m128i) {
    let bytes: &mut [u8] = &mut to[at..at + 16];
    // SAFETY: the slice has 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), v) }
}

fn put_u64(out: &mut [u8], at: usize, x: u64) {
    out[at..at + 8].copy_from_slice(&x.to_le_bytes());
}

fn get_u64(from: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&from[at..at + 8]);
    u64::from_le_bytes(bytes)
}

// ---- tables ------------------------------------------------------------------------------------------------------

/// A one in each byte.
const ONES: u64 = u64::MAX / 255;
/// Zeroes a byte in a shuffle.
const NONE: u8 = 0x80;

/// `[z][kg][sign kept]`: from planelets 0..16, with the sign at 15, to those that are written.
static CLOSE: [[[[u8; 16]; 2]; 8]; 8] = close_table(false);
/// The way back.
static OPEN: [[[[u8; 16]; 2]; 8]; 8] = close_table(true);

const fn close_table(inverse: bool) -> [[[[u8; 16]; 2]; 8]; 8] {
    let mut table = [[[[NONE; 16]; 2]; 8]; 8];
    let mut i = 0;
    while i < 128 {
        let (z, kg, s) = (i / 16, i / 2 % 8, i % 2);
        let mut p = z;
        while p < 7 + kg + s {
            let place = if p == 7 + kg { 15 } else { p };
            if inverse {
                table[z][kg][s][place] = (p - z) as u8;
            } else {
                table[z][kg][s][p - z] = place as u8;
            }
            p += 1;
        }
        i += 1;
    }
    table
}

/// By mask byte: 16-bit words that are there, side by side.
static COMPACT_16: [[u8; 16]; 256] = word_table_16(false);
/// The way back.
static EXPAND_16: [[u8; 16]; 256] = word_table_16(true);

const fn word_table_16(inverse: bool) -> [[u8; 16]; 256] {
    let mut table = [[NONE; 16]; 256];
    let mut m = 0;
    while m < 256 {
        let (mut i, mut n) = (0, 0);
        while i < 8 {
            if m >> i & 1 == 1 {
                let (from, to) = if inverse { (n, i) } else { (i, n) };
                table[m][2 * to] = 2 * from as u8;
                table[m][2 * to + 1] = 2 * from as u8 + 1;
                n += 1;
            }
            i += 1;
        }
        m += 1;
    }
    table
}

/// By mask byte: 32-bit words that are there, side by side; what stands in the other places does not matter.
static COMPACT_32: [u64; 256] = word_table_32(false);
/// The way back.
static EXPAND_32: [u64; 256] = word_table_32(true);

const fn word_table_32(inverse: bool) -> [u64; 256] {
    let mut table = [0; 256];
    let mut m = 0;
    while m < 256 {
        let (mut i, mut n) = (0, 0);
        while i < 8 {
            if m >> i & 1 == 1 {
                let (from, to) = if inverse { (n, i) } else { (i, n) };
                table[m] |= from << (8 * to);
                n += 1;
            }
            i += 1;
        }
        m += 1;
    }
    table
}

/// By number: so many bytes of ones.
static FIRST: [[u8; 32]; 33] = {
    let mut table = [[0; 32]; 33];
    let mut n = 0;
    while n <= 32 {
        let mut i = 0;
        while i < n {
            table[n][i] = 0xff;
            i += 1;
        }
        n += 1;
    }
    table
};

/// GF2P8AFFINEQB: in each quarter the bytes of `x` by the bit matrix in `a`. As assembly, so that what it is inlined into
/// need not be built for GFNI; called only where that was detected.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn affine(x: __m256i, a: __m256i) -> __m256i {
    let y;
    // SAFETY: reads and writes the named registers alone; `Avx2::gfni` is behind every use.
    unsafe {
        std::arch::asm!(
            "vgf2p8affineqb {y}, {x}, {a}, 0",
            y = lateout(ymm_reg) y,
            x = in(ymm_reg) x,
            a = in(ymm_reg) a,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    y
}

// ---- transposition -----------------------------------------------------------------------------------------------

/// Transposes the 8x8 bit matrix in each quarter (see `planes::transpose8x8`). Its own inverse.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn transpose<const G: bool>(x: __m256i) -> __m256i {
    if G {
        // Row i of the matrix by unit vector j is bit j of byte 7 - i; then the bits of each byte change places.
        let unit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        let reverse = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        return affine(affine(unit, x), reverse);
    }
    let step = |x, t: __m256i, mask: i64| {
        let t = _mm256_and_si256(_mm256_xor_si256(x, t), _mm256_set1_epi64x(mask));
        (t, _mm256_xor_si256(x, t))
    };
    let (t, x) = step(x, _mm256_srli_epi64(x, 7), 0x00aa_00aa_00aa_00aa);
    let x = _mm256_xor_si256(x, _mm256_slli_epi64(t, 7));
    let (t, x) = step(x, _mm256_srli_epi64(x, 14), 0x0000_cccc_0000_cccc);
    let x = _mm256_xor_si256(x, _mm256_slli_epi64(t, 14));
    let (t, x) = step(x, _mm256_srli_epi64(x, 28), 0x0000_0000_f0f0_f0f0);
    _mm256_xor_si256(x, _mm256_slli_epi64(t, 28))
}

/// The 16 planelets of the group of 16-bit words in each half.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn planelets_16<const G: bool>(words: __m256i) -> __m256i {
    let by_byte = _mm256_setr_epi8(
        0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11,
        13, 15,
    );
    transpose::<G>(_mm256_shuffle_epi8(words, by_byte))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn from_planelets_16<const G: bool>(planelets: __m256i) -> __m256i {
    let by_word = _mm256_setr_epi8(
        0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14,
        7, 15,
    );
    _mm256_shuffle_epi8(transpose::<G>(planelets), by_word)
}

/// Transposes the 4x4 byte matrix in each half. Its own inverse.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn turn_bytes(x: __m256i) -> __m256i {
    let turned = _mm256_setr_epi8(
        0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7,
        11, 15,
    );
    _mm256_shuffle_epi8(x, turned)
}

/// The 32 planelets of a group of 32-bit words.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn planelets_32<const G: bool>(words: __m256i) -> __m256i {
    let halves = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    transpose::<G>(_mm256_permutevar8x32_epi32(turn_bytes(words), halves))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn from_planelets_32<const G: bool>(planelets: __m256i) -> __m256i {
    let halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    turn_bytes(_mm256_permutevar8x32_epi32(transpose::<G>(planelets), halves))
}

/// Code words of BP and ZBP with the sign on its own bit, from words and back: `e_max - E` in place of E.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn relative_16(words: __m256i, e_max: u8) -> __m256i {
    let field = _mm256_set1_epi16(0x7f80);
    let r = _mm256_sub_epi16(
        _mm256_set1_epi16(i16::from(e_max) << 7),
        _mm256_and_si256(words, field),
    );
    _mm256_or_si256(_mm256_and_si256(r, field), _mm256_andnot_si256(field, words))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn relative_32(words: __m256i, e_max: u8) -> __m256i {
    let field = _mm256_set1_epi32(0x7f80_0000);
    let r = _mm256_sub_epi32(
        _mm256_set1_epi32(i32::from(e_max) << 23),
        _mm256_and_si256(words, field),
    );
    _mm256_or_si256(_mm256_and_si256(r, field), _mm256_andnot_si256(field, words))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn low_half(v: __m256i) -> __m128i {
    _mm256_castsi256_si128(v)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn high_half(v: __m256i) -> __m128i {
    _mm256_extracti128_si256::<1>(v)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn or_halves(v: __m256i) -> __m128i {
    _mm_or_si128(low_half(v), high_half(v))
}

/// Smallest byte.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn least(v: __m256i) -> u8 {
    let v = _mm_min_epu8(low_half(v), high_half(v));
    let v = _mm_and_si128(_mm_min_epu8(v, _mm_srli_epi16::<8>(v)), _mm_set1_epi16(0xff));
    _mm_extract_epi16::<0>(_mm_minpos_epu16(v)) as u8
}

// ---- summaries ---------------------------------------------------------------------------------------------------

/// A block's words: two groups (W16) or one (W32) each.
type Block = [__m256i; 4];

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn read(raw: &[u8; BLOCK_BYTES]) -> Block {
    [load(raw, 0), load(raw, 32), load(raw, 64), load(raw, 96)]
}

/// DBP's code words.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn deltas_16<const G: bool>(v: &Block) -> Block {
    // Each word's predecessor, then at odd places that of the word before.
    let again = _mm256_setr_epi8(
        0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13, 0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12,
        13,
    );
    let mut before = _mm256_broadcastw_epi16(low_half(v[0]));
    let mut codes = *v;
    for (code, &words) in codes.iter_mut().zip(v) {
        let seam = _mm256_permute2x128_si256::<0x21>(before, words);
        let predictions = _mm256_shuffle_epi8(_mm256_alignr_epi8::<14>(words, seam), again);
        let d = _mm256_sub_epi16(words, predictions);
        *code = _mm256_xor_si256(_mm256_add_epi16(d, d), _mm256_srai_epi16::<15>(d));
        before = words;
    }
    codes
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn deltas_32<const G: bool>(v: &Block) -> Block {
    let mut before = _mm256_broadcastd_epi32(low_half(v[0]));
    let mut codes = *v;
    for (code, &words) in codes.iter_mut().zip(v) {
        let seam = _mm256_permute2x128_si256::<0x21>(before, words);
        let predictions = _mm256_shuffle_epi32::<0xa0>(_mm256_alignr_epi8::<12>(words, seam));
        let d = _mm256_sub_epi32(words, predictions);
        *code = _mm256_xor_si256(_mm256_add_epi32(d, d), _mm256_srai_epi32::<31>(d));
        before = words;
    }
    codes
}

/// ORs of the vectors' halves: dword i of half h is that of vector i's half h, over its dwords.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn or_dwords(v: &Block) -> __m256i {
    let pair = |a, b| _mm256_or_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (a, b) = (
        _mm256_castsi256_ps(pair(v[0], v[1])),
        _mm256_castsi256_ps(pair(v[2], v[3])),
    );
    _mm256_or_si256(
        _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(a, b)),
        _mm256_castps_si256(_mm256_shuffle_ps::<0xdd>(a, b)),
    )
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_16<const G: bool>(codes: &Block) -> u64 {
    let or = or_dwords(codes);
    let or = _mm256_and_si256(
        _mm256_or_si256(or, _mm256_srli_epi32::<16>(or)),
        _mm256_set1_epi32(0xffff),
    );
    // Bit length from the exponent of the number as a float.
    let float = _mm256_castps_si256(_mm256_cvtepi32_ps(or));
    let bits = _mm256_sub_epi32(_mm256_srli_epi32::<23>(float), _mm256_set1_epi32(126));
    let bits = _mm256_max_epi32(bits, _mm256_setzero_si256());
    let bits = _mm256_sub_epi32(bits, _mm256_cmpeq_epi32(bits, _mm256_set1_epi32(15)));
    // Dword i of half h is group 2i + h.
    let pairs = _mm_or_si128(low_half(bits), _mm_slli_epi32::<8>(high_half(bits)));
    _mm_cvtsi128_si64(_mm_packus_epi32(pairs, pairs)) as u64
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn widths_32<const G: bool>(codes: &Block) -> u64 {
    let or = or_halves(or_dwords(codes));
    let (a, b) = (_mm_cvtsi128_si64(or) as u64, _mm_extract_epi64::<1>(or) as u64);
    let width = |x: u64| {
        let bits = 32 - (x as u32).leading_zeros();
        u64::from(bits + u32::from(bits == 31))
    };
    width(a) | width(a >> 32) << 8 | width(b) << 16 | width(b >> 32) << 24
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn summary_16<const G: bool>(v: &Block, codes: &Block) -> Summary {
    let zero = _mm256_setzero_si256();
    let pack = |a, b| _mm256_permute4x64_epi64::<0xd8>(_mm256_packs_epi16(a, b));
    let is_zero = |x| _mm256_cmpeq_epi16(x, zero);
    let zeros = [
        pack(is_zero(v[0]), is_zero(v[1])),
        pack(is_zero(v[2]), is_zero(v[3])),
    ];
    let bits = |v| u64::from(_mm256_movemask_epi8(v) as u32);
    let mask = !(bits(zeros[0]) | bits(zeros[1]) << 32);

    let e = |x| _mm256_srli_epi16::<8>(_mm256_add_epi16(x, x));
    let pack_e = |a, b| _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi16(e(a), e(b)));
    let exps = [pack_e(v[0], v[1]), pack_e(v[2], v[3])];
    let most = _mm256_max_epu8(exps[0], exps[1]);
    let nonzero = _mm256_min_epu8(
        _mm256_or_si256(exps[0], zeros[0]),
        _mm256_or_si256(exps[1], zeros[1]),
    );
    // Smallest byte of each quarter in its lowest byte.
    let quarter_min = |x| {
        let x = _mm256_min_epu8(x, _mm256_srli_epi64::<32>(x));
        let x = _mm256_min_epu8(x, _mm256_srli_epi64::<16>(x));
        _mm256_min_epu8(x, _mm256_srli_epi64::<8>(x))
    };
    let n = NONE as i8;
    let first = _mm256_setr_epi8(
        0, 8, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, 0, 8, n, n, n, n, n, n, n, n, n, n, n, n,
    );
    let second = _mm256_setr_epi8(
        n, n, n, n, 0, 8, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, 0, 8, n, n, n, n, n, n, n, n,
    );
    let group_min = _mm256_or_si256(
        _mm256_shuffle_epi8(quarter_min(exps[0]), first),
        _mm256_shuffle_epi8(quarter_min(exps[1]), second),
    );

    let or = _mm256_or_si256(_mm256_or_si256(v[0], v[1]), _mm256_or_si256(v[2], v[3]));
    let or = or_halves(or);
    let or = (_mm_cvtsi128_si64(or) | _mm_extract_epi64::<1>(or)) as u64;
    let or = or | or >> 32;
    // Saturation keeps the sign; in which order does not matter for a count.
    let negative = |a, b| _mm256_movemask_epi8(_mm256_packs_epi16(a, b)).count_ones();
    let negatives = negative(v[0], v[1]) + negative(v[2], v[3]);
    Summary {
        mask,
        mant_or: (or | or >> 16) as u32 & 0x7f,
        any_neg: negatives != 0,
        all_neg: negatives == mask.count_ones(),
        e_max: !least(_mm256_xor_si256(most, _mm256_set1_epi8(-1))),
        e_min: least(nonzero),
        group_min: _mm_cvtsi128_si64(or_halves(group_min)) as u64,
        widths: widths_16::<G>(codes),
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn summary_32<const G: bool>(v: &Block, codes: &Block) -> Summary {
    let zero = _mm256_setzero_si256();
    let e = |x| _mm256_srli_epi32::<24>(_mm256_add_epi32(x, x));
    let is_zero = |x| _mm256_cmpeq_epi32(x, zero);
    // Dword g of half h: words 4h .. 4h + 3 of group g.
    let exps = _mm256_packus_epi16(
        _mm256_packus_epi32(e(v[0]), e(v[1])),
        _mm256_packus_epi32(e(v[2]), e(v[3])),
    );
    let zeros = _mm256_packs_epi16(
        _mm256_packs_epi32(is_zero(v[0]), is_zero(v[1])),
        _mm256_packs_epi32(is_zero(v[2]), is_zero(v[3])),
    );
    let signs = |x| _mm256_movemask_ps(_mm256_castsi256_ps(x)) as u32;
    let by_group = |a: [u32; 4]| a[0] | a[1] << 8 | a[2] << 16 | a[3] << 24;
    let mask = !by_group([
        signs(is_zero(v[0])),
        signs(is_zero(v[1])),
        signs(is_zero(v[2])),
        signs(is_zero(v[3])),
    ]);
    let negatives = by_group([signs(v[0]), signs(v[1]), signs(v[2]), signs(v[3])]).count_ones();

    let least_of = _mm_min_epu8(low_half(exps), high_half(exps));
    let least_of = _mm_min_epu8(least_of, _mm_srli_epi32::<16>(least_of));
    let least_of = _mm_min_epu8(least_of, _mm_srli_epi32::<8>(least_of));
    let n = NONE as i8;
    let firsts = _mm_setr_epi8(0, 4, 8, 12, n, n, n, n, n, n, n, n, n, n, n, n);

    let or = _mm256_or_si256(_mm256_or_si256(v[0], v[1]), _mm256_or_si256(v[2], v[3]));
    let or = or_halves(or);
    let or = (_mm_cvtsi128_si64(or) | _mm_extract_epi64::<1>(or)) as u64;
    Summary {
        mask: u64::from(mask),
        mant_or: (or | or >> 32) as u32 & 0x7f_ffff,
        any_neg: negatives != 0,
        all_neg: negatives == mask.count_ones(),
        e_max: !least(_mm256_xor_si256(exps, _mm256_set1_epi8(-1))),
        e_min: least(_mm256_or_si256(exps, zeros)),
        group_min: _mm_cvtsi128_si64(_mm_shuffle_epi8(least_of, firsts)) as u64,
        widths: widths_32::<G>(codes),
    }
}

// ---- encoding ----------------------------------------------------------------------------------------------------

/// Prefix, code byte, `e_max`; returns their length.
#[inline]
fn put_plane(plane: &Plane, field: u8, out: &mut [u8]) -> usize {
    let n = usize::from(plane.z > 0);
    out[0] = code::PREFIX << 5 | plane.z as u8;
    out[n] = field << 5 | (plane.sign as u8) << 3 | plane.k as u8;
    out[n + 1] = plane.e_max;
    n + 2
}

/// The mask, of `MK` bytes; returns its length.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn put_mask<const MK: u32, const G: bool>(bits: u64, style: MaskStyle, out: &mut [u8], at: usize) -> usize {
    let all = u64::MAX >> (64 - 8 * MK);
    let odd = match style {
        MaskStyle::Whole => {
            put_u64(out, at, bits);
            return at + MK as usize;
        }
        MaskStyle::WithoutZeros => bits,
        MaskStyle::WithoutOnes => !bits & all,
    };
    // Highest bit of each byte that is not zero.
    let low = 0x7f * ONES;
    let there = (((odd & low) + low) | odd) & (0x80 * ONES) & all;
    out[at] = _pext_u64(there, 0x80 * ONES) as u8;
    put_u64(out, at + 1, _pext_u64(bits, (there >> 7) * 0xff));
    at + 1 + there.count_ones() as usize
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn encode_blocks_16<const G: bool>(blocks: &[[u8; BLOCK_BYTES]], out: &mut [u8], forms: &mut [u64]) -> usize {
    let mut at = 0;
    for raw in blocks {
        let (form, len) = encode_16::<G>(raw, &mut out[at..at + MAX_BLOCK_LEN + SLACK]);
        forms[form as usize] += 1;
        at += len;
    }
    at
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn encode_blocks_32<const G: bool>(blocks: &[[u8; BLOCK_BYTES]], out: &mut [u8], forms: &mut [u64]) -> usize {
    let mut at = 0;
    for raw in blocks {
        let (form, len) = encode_32::<G>(raw, &mut out[at..at + MAX_BLOCK_LEN + SLACK]);
        forms[form as usize] += 1;
        at += len;
    }
    at
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn encode_16<const G: bool>(raw: &[u8; BLOCK_BYTES], out: &mut [u8]) -> (Form, usize) {
    let v = read(raw);
    let codes = deltas_16::<G>(&v);
    let s = summary_16::<G>(&v, &codes);
    if s.mask == 0 {
        out[0] = code::ALL_ZERO;
        return (Form::ZeroValue, 1);
    }
    let plan = Plan::new(Layout::W16, &s);
    let form = plan.form();
    let len = match form {
        Form::Raw => put_raw(raw, out),
        Form::ZeroValue => {
            out[0] = code::ZERO_VALUE + plan.style as u8;
            let at = put_mask::<8, G>(s.mask, plan.style, out, 1);
            compact_16::<G>(raw, s.mask, out, at)
        }
        Form::BitPlane => {
            let plane = &plan.plane;
            let mut at = put_plane(plane, code::BIT_PLANE + plan.drop_bits as u8, out);
            let field = match plan.drop_bits {
                0 => 0,
                1 => _pext_u64(plan.drops | plan.drops >> 1, ONES),
                _ => _pext_u64(plan.drops, 3 * ONES),
            };
            put_u64(out, at, field);
            at += plan.drop_bits as usize;
            let close = &CLOSE[plane.z as usize];
            let kept = plane.sign.planes() as usize;
            let fixed = 7 - plane.z as usize + kept;
            let drops = if plan.drop_bits == 2 {
                plan.drops
            } else {
                (plan.drops | plan.drops >> 1) & (plan.drop_bits as u64 * ONES)
            };
            for (i, &words) in v.iter().enumerate() {
                let planelets = planelets_16::<G>(relative_16(words, plane.e_max));
                let kg = [16 * i, 16 * i + 8].map(|g| plane.k as usize - (drops >> g & 3) as usize);
                store_half(
                    out,
                    at,
                    _mm_shuffle_epi8(low_half(planelets), load_half(&close[kg[0] & 7][kept], 0)),
                );
                at += fixed + kg[0];
                store_half(
                    out,
                    at,
                    _mm_shuffle_epi8(high_half(planelets), load_half(&close[kg[1] & 7][kept], 0)),
                );
                at += fixed + kg[1];
            }
            at
        }
        Form::DeltaBitPlane => {
            out[0] = code::DELTA;
            let field = s.widths - (s.widths >> 4 & ONES);
            put_u64(
                out,
                1,
                _pext_u64(field, 0x0f * ONES) | u64::from(raw[0]) << 32 | u64::from(raw[1]) << 40,
            );
            let mut at = 7;
            for (i, &words) in codes.iter().enumerate() {
                let planelets = planelets_16::<G>(words);
                store_half(out, at, low_half(planelets));
                at += (s.widths >> (16 * i) & 0xff) as usize;
                store_half(out, at, high_half(planelets));
                at += (s.widths >> (16 * i + 8) & 0xff) as usize;
            }
            at
        }
        Form::ZeroMasked => {
            let plane = &plan.masked;
            let at = put_plane(plane, code::ZERO_MASKED + plan.style as u8, out);
            let mut at = put_mask::<8, G>(s.mask, plan.style, out, at);
            let nz = s.mask.count_ones() as usize;
            let q = nz % GROUP_WORDS;
            let pads = (GROUP_WORDS - q) % GROUP_WORDS;
            // Pads are zero code words.
            let mut words = [0; BLOCK_BYTES + 64];
            store(&mut words, 0, _mm256_set1_epi16(i16::from(plane.e_max) << 7));
            compact_16::<G>(raw, s.mask, &mut words, 2 * pads);
            let kept = plane.sign.planes() as usize;
            let close = load_half(&CLOSE[plane.z as usize][plane.k as usize & 7][kept], 0);
            let group_len = plane.planes(Layout::W16) as usize;
            let mut from = 0;
            let end = 2 * (pads + nz);
            if q > 0 {
                let words = load(&words, 0);
                let planelets = low_half(planelets_16::<G>(relative_16(words, plane.e_max)));
                at = put_partial_16::<G>(plane, q, low_half(words), planelets, out, at);
                from = 16;
            }
            while from < end {
                let planelets = planelets_16::<G>(relative_16(load(&words, from), plane.e_max));
                store_half(out, at, _mm_shuffle_epi8(low_half(planelets), close));
                at += group_len;
                if from + 16 < end {
                    store_half(out, at, _mm_shuffle_epi8(high_half(planelets), close));
                    at += group_len;
                }
                from += 32;
            }
            at
        }
    };
    (form, len)
}

fn put_raw(raw: &[u8; BLOCK_BYTES], out: &mut [u8]) -> usize {
    out[0] = code::RAW;
    out[1..=BLOCK_BYTES].copy_from_slice(raw);
    BLOCK_BYTES + 1
}

/// Writes the words that the mask marks side by side, from `at` on; returns where they end.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn compact_16<const G: bool>(raw: &[u8; BLOCK_BYTES], mask: u64, out: &mut [u8], mut at: usize) -> usize {
    for g in 0..8 {
        let m = (mask >> (8 * g)) as u8;
        let shuffle = load_half(&COMPACT_16[usize::from(m)], 0);
        store_half(out, at, _mm_shuffle_epi8(load_half(raw, 16 * g), shuffle));
        at += 2 * m.count_ones() as usize;
    }
    at
}

/// The partial group of a ZBP block: its words, pads in front, and their planelets with the sign at 15.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn put_partial_16<const G: bool>(
    plane: &Plane,
    q: usize,
    words: __m128i,
    planelets: __m128i,
    out: &mut [u8],
    at: usize,
) -> usize {
    let kept = plane.sign.planes() as usize;
    let k = plane.k as usize & 7;
    // The words alone, without pads.
    let mut bytes = [0; 48];
    store_half(&mut bytes, 0, words);
    let verbatim = load_half(&bytes, 2 * (GROUP_WORDS - q));
    match plane.partial(Layout::W16, q) {
        Partial::None => at,
        Partial::Verbatim { .. } => {
            store_half(out, at, verbatim);
            at + 2 * q
        }
        Partial::Planes { lo, hi } => {
            store_half(
                out,
                at,
                _mm_shuffle_epi8(planelets, load_half(&CLOSE[lo & 7][k][kept], 0)),
            );
            at + hi - lo
        }
        Partial::Halves { lo, hi, verbatim: n } => {
            store_half(out, at, verbatim);
            let at = at + 2 * n;
            let planelets = _mm_shuffle_epi8(planelets, load_half(&CLOSE[0][k][kept], 0));
            let even = _mm_and_si128(_mm_srli_epi16::<4>(planelets), _mm_set1_epi16(0x0f));
            let odd = _mm_and_si128(_mm_srli_epi16::<8>(planelets), _mm_set1_epi16(0xf0));
            let halves = _mm_or_si128(even, odd);
            let halves = _mm_cvtsi128_si64(_mm_packus_epi16(halves, halves)) as u64;
            put_u64(out, at, halves >> (8 * lo));
            at + hi - lo
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn encode_32<const G: bool>(raw: &[u8; BLOCK_BYTES], out: &mut [u8]) -> (Form, usize) {
    let v = read(raw);
    let codes = deltas_32::<G>(&v);
    let s = summary_32::<G>(&v, &codes);
    if s.mask == 0 {
        out[0] = code::ALL_ZERO;
        return (Form::ZeroValue, 1);
    }
    let plan = Plan::new(Layout::W32, &s);
    let form = plan.form();
    let len = match form {
        Form::Raw => put_raw(raw, out),
        Form::ZeroValue => {
            out[0] = code::ZERO_VALUE + plan.style as u8;
            let at = put_mask::<4, G>(s.mask, plan.style, out, 1);
            compact_32::<G>(&v, s.mask, out, at)
        }
        Form::BitPlane => {
            let plane = &plan.plane;
            let mut at = put_plane(plane, code::BIT_PLANE + plan.drop_bits as u8, out);
            let mut drops = 0;
            if plan.drop_bits == 2 {
                drops = plan.drops;
                out[at] = _pext_u64(drops, 3 * ONES) as u8;
                at += 1;
            }
            for (g, &words) in v.iter().enumerate() {
                let kg = plane.k - (drops >> (8 * g) & 3) as u32;
                at = put_group_32::<G>(plane, kg, words, out, at);
            }
            at
        }
        Form::DeltaBitPlane => {
            out[0] = code::DELTA;
            let field = s.widths - (s.widths >> 5 & ONES);
            put_u64(out, 1, _pext_u64(field, 0x1f * ONES));
            out[4..8].copy_from_slice(&raw[..4]);
            let mut at = 8;
            for (g, &words) in codes.iter().enumerate() {
                store(out, at, planelets_32::<G>(words));
                at += (s.widths >> (8 * g) & 0xff) as usize;
            }
            at
        }
        Form::ZeroMasked => {
            let plane = &plan.masked;
            let at = put_plane(plane, code::ZERO_MASKED + plan.style as u8, out);
            let mut at = put_mask::<4, G>(s.mask, plan.style, out, at);
            let nz = s.mask.count_ones() as usize;
            let q = nz % GROUP_WORDS;
            let pads = (GROUP_WORDS - q) % GROUP_WORDS;
            let mut words = [0; BLOCK_BYTES + 64];
            store(&mut words, 0, _mm256_set1_epi32(i32::from(plane.e_max) << 23));
            compact_32::<G>(&v, s.mask, &mut words, 4 * pads);
            let mut from = 0;
            if q > 0 {
                at = put_partial_32::<G>(plane, q, &words, out, at);
                from = 32;
            }
            while from < 4 * (pads + nz) {
                at = put_group_32::<G>(plane, plane.k, load(&words, from), out, at);
                from += 32;
            }
            at
        }
    };
    (form, len)
}

/// Writes a group that keeps `kg` exponent planes.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn put_group_32<const G: bool>(plane: &Plane, kg: u32, words: __m256i, out: &mut [u8], at: usize) -> usize {
    let planelets = planelets_32::<G>(relative_32(words, plane.e_max));
    let z = plane.z as usize;
    if z == 0 {
        store(out, at, planelets);
    } else {
        let mut bytes = [0; 64];
        store(&mut bytes, 0, planelets);
        store(out, at, load(&bytes, z & 31));
    }
    let at = at + 23 + kg as usize - z;
    if plane.sign == SignMode::Kept {
        out[at] = _mm256_movemask_ps(_mm256_castsi256_ps(words)) as u8;
        return at + 1;
    }
    at
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn compact_32<const G: bool>(v: &Block, mask: u64, out: &mut [u8], mut at: usize) -> usize {
    for (g, &words) in v.iter().enumerate() {
        let m = (mask >> (8 * g)) as u8;
        let places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(COMPACT_32[usize::from(m)] as i64));
        store(out, at, _mm256_permutevar8x32_epi32(words, places));
        at += 4 * m.count_ones() as usize;
    }
    at
}

/// The partial group of a ZBP block from its words, pads in front.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn put_partial_32<const G: bool>(plane: &Plane, q: usize, words: &[u8], out: &mut [u8], at: usize) -> usize {
    let first = 4 * (GROUP_WORDS - q);
    match plane.partial(Layout::W32, q) {
        Partial::None => at,
        Partial::Verbatim { words: n } => {
            store(out, at, load(words, first));
            at + 4 * n
        }
        Partial::Planes { .. } => put_group_32::<G>(plane, plane.k, load(words, 0), out, at),
        Partial::Halves { lo, hi, verbatim } => {
            store(out, at, load(words, first));
            let at = at + 4 * verbatim;
            // The sign to its place, nothing above it.
            let words = load(words, 0);
            let mut planelets = [0; 64];
            store(
                &mut planelets,
                0,
                planelets_32::<G>(relative_32(words, plane.e_max)),
            );
            let top = 23 + plane.k as usize;
            planelets[top..32].fill(0);
            if plane.sign == SignMode::Kept {
                planelets[top] = _mm256_movemask_ps(_mm256_castsi256_ps(words)) as u8;
            }
            let x = load(&planelets, 0);
            let even = _mm256_and_si256(_mm256_srli_epi16::<4>(x), _mm256_set1_epi16(0x0f));
            let odd = _mm256_and_si256(_mm256_srli_epi16::<8>(x), _mm256_set1_epi16(0xf0));
            let halves = _mm256_or_si256(even, odd);
            let halves = _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi16(halves, halves));
            let mut bytes = [0; 48];
            store_half(&mut bytes, 0, low_half(halves));
            store_half(out, at, load_half(&bytes, lo & 15));
            at + hi - lo
        }
    }
}

// ---- decoding ----------------------------------------------------------------------------------------------------

#[inline]
fn fill_sign(sign: SignMode) -> bool {
    sign == SignMode::Negative
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn words_16<const G: bool>(plane: &Plane, planelets: __m256i) -> __m256i {
    let words = relative_16(from_planelets_16::<G>(planelets), plane.e_max);
    let sign = if fill_sign(plane.sign) { i16::MIN } else { 0 };
    _mm256_or_si256(words, _mm256_set1_epi16(sign))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn words_32<const G: bool>(plane: &Plane, planelets: __m256i) -> __m256i {
    let words = relative_32(from_planelets_32::<G>(planelets), plane.e_max);
    let sign = if fill_sign(plane.sign) { i32::MIN } else { 0 };
    _mm256_or_si256(words, _mm256_set1_epi32(sign))
}

/// A full block's header, as far as the loops below look.
struct Head {
    plane: Plane,
    /// BP: byte g: planes that group g leaves out. DBP: byte g: planes of group g.
    groups: u64,
    /// Non-zero words.
    mask: u64,
    /// DBP: word 0.
    base: u32,
    form: Form,
    /// Bytes of the header.
    len: usize,
}

/// Reads a header; `None` if it takes a closer look. The stream has [`WINDOW`] bytes from `at` on.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn head<const WIDE: bool, const G: bool>(stream: &[u8], at: usize) -> Option<Head> {
    let layout = if WIDE { Layout::W32 } else { Layout::W16 };
    let mk = layout.mask_bytes();
    let all = u64::MAX >> (64 - 8 * mk);
    let in_groups = ONES & all;
    let bytes = &stream[at..at + WINDOW];
    let mut code = bytes[0];
    let mut z = 0;
    let mut len = 2;
    if code >> 5 == code::PREFIX {
        z = u32::from(code & 0x1f);
        code = bytes[1];
        len = 3;
        if z == 0 || z > layout.mant_bits() || code >= code::OTHER << 5 {
            return None;
        }
    }
    let mask_at = |style: u8, at: usize| {
        if style == 0 {
            return (get_u64(bytes, at) & all, at + mk);
        }
        let presence = u64::from(bytes[at]);
        let there = _pdep_u64(presence, in_groups) * 0xff;
        let missing = if style == 2 { !there & all } else { 0 };
        let mask = _pdep_u64(get_u64(bytes, at + 1), there) | missing;
        // A presence bit too many makes the mask empty here, and the header is refused elsewhere.
        let mask = if presence >> mk == 0 { mask } else { 0 };
        (mask, at + 1 + presence.count_ones() as usize)
    };
    let sign = match code >> 3 & 3 {
        0 => SignMode::Positive,
        1 => SignMode::Negative,
        _ => SignMode::Kept,
    };
    let mut head = Head {
        plane: Plane {
            k: u32::from(code & 7),
            z,
            sign,
            e_max: bytes[len - 1],
        },
        groups: 0,
        mask: 0,
        base: 0,
        form: Form::BitPlane,
        len,
    };
    let field = code >> 5;
    if field < code::OTHER {
        if code >> 3 & 3 == 3 || (WIDE && field == code::BIT_PLANE + 1) {
            return None;
        }
        if field < code::ZERO_MASKED {
            let two = u64::from(u16::from_le_bytes([bytes[len], bytes[len + 1]]));
            let (drops, n) = match field {
                0 => (0, 0),
                1 => (_pdep_u64(two, in_groups), 1),
                _ => (_pdep_u64(two, 3 * in_groups), mk / 4),
            };
            head.groups = drops;
            head.len += n;
            // No group drops more than k.
            let fits = (drops + u64::from(127 - head.plane.k) * ONES) & (0x80 * ONES) == 0;
            return fits.then_some(head);
        }
        head.form = Form::ZeroMasked;
        (head.mask, head.len) = mask_at(field - code::ZERO_MASKED, len);
        return (head.mask != 0).then_some(head);
    }
    match code {
        code::ALL_ZERO => {
            head.form = Form::ZeroValue;
            head.len = 1;
        }
        code::DELTA => {
            let field = get_u64(bytes, 1);
            head.form = Form::DeltaBitPlane;
            if WIDE {
                let widths = _pdep_u64(field, 0x1f * in_groups);
                // The field's highest value stands for one more.
                head.groups = widths + ((widths + in_groups) >> 5 & in_groups);
                head.base = (field >> 24) as u32;
                head.len = 8;
                if field >> 20 & 0xf != 0 {
                    return None;
                }
            } else {
                let widths = _pdep_u64(field, 0x0f * in_groups);
                head.groups = widths + ((widths + in_groups) >> 4 & in_groups);
                head.base = (field >> 32) as u32;
                head.len = 7;
            }
        }
        code::ZERO_VALUE..=0xC6 => {
            head.form = Form::ZeroValue;
            (head.mask, head.len) = mask_at(code - code::ZERO_VALUE, 1);
            if head.mask == 0 {
                return None;
            }
        }
        _ => return None,
    }
    Some(head)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode_blocks_16<const G: bool>(
    stream: &[u8],
    mut at: usize,
    blocks: &mut [[u8; BLOCK_BYTES]],
    forms: &mut [u64],
) -> (usize, usize) {
    for (i, raw) in blocks.iter_mut().enumerate() {
        // A payload that is longer than a block's bytes is left to others too: no encoder makes it.
        if stream.len() - at < WINDOW {
            return (at, i);
        }
        let Some(h) = head::<false, G>(stream, at) else {
            return (at, i);
        };
        let len = payload_len::<false, G>(&h);
        if len > BLOCK_BYTES {
            return (at, i);
        }
        let bytes = &stream[at + h.len..at + h.len + len + 32];
        match h.form {
            Form::Raw => return (at, i),
            Form::BitPlane => bit_plane_16::<G>(&h.plane, h.groups, bytes, raw),
            Form::DeltaBitPlane => delta_16::<G>(h.groups, h.base, bytes, raw),
            Form::ZeroMasked => zero_masked_16::<G>(&h.plane, h.mask, bytes, raw),
            Form::ZeroValue if h.mask == 0 => raw.fill(0),
            Form::ZeroValue => expand_16::<G>(bytes, 0, h.mask, raw),
        }
        forms[h.form as usize] += 1;
        at += h.len + len;
    }
    (at, blocks.len())
}

/// Bytes behind a header.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn payload_len<const WIDE: bool, const G: bool>(h: &Head) -> usize {
    let layout = if WIDE { Layout::W32 } else { Layout::W16 };
    let sum = |bytes: u64| (bytes.wrapping_mul(ONES) >> 56) as usize;
    let nz = h.mask.count_ones() as usize;
    match h.form {
        Form::Raw => BLOCK_BYTES,
        Form::BitPlane => layout.groups() * h.plane.planes(layout) as usize - sum(h.groups),
        Form::DeltaBitPlane => sum(h.groups),
        Form::ZeroValue => layout.word_bytes() * nz,
        Form::ZeroMasked => {
            let partial = h.plane.partial(layout, nz % GROUP_WORDS).len(layout);
            h.plane.planes(layout) as usize * (nz / GROUP_WORDS) + partial
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn bit_plane_16<const G: bool>(plane: &Plane, drops: u64, bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let open = &OPEN[plane.z as usize & 7];
    let kept = plane.sign.planes() as usize;
    let fixed = 7 - plane.z as usize + kept;
    let mut at = 0;
    for i in 0..4 {
        let kg = [2 * i, 2 * i + 1].map(|g| plane.k as usize - (drops >> (8 * g) & 3) as usize);
        let first = _mm_shuffle_epi8(load_half(bytes, at), load_half(&open[kg[0] & 7][kept], 0));
        at += fixed + kg[0];
        let second = _mm_shuffle_epi8(load_half(bytes, at), load_half(&open[kg[1] & 7][kept], 0));
        at += fixed + kg[1];
        store(raw, 32 * i, words_16::<G>(plane, _mm256_set_m128i(second, first)));
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn delta_16<const G: bool>(widths: u64, base: u32, bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let mut at = 0;
    let mut base = base as u16;
    let odd = _mm256_set1_epi32(0xffff_0000_u32 as i32);
    for i in 0..4 {
        let [a, b] = [16 * i, 16 * i + 8].map(|g| (widths >> g & 0xff) as usize);
        let group =
            |at: usize, width: usize| _mm_and_si128(load_half(bytes, at), load_half(&FIRST[width], 0));
        let (first, second) = (group(at, a), group(at + a, b));
        at += a + b;
        let codes = from_planelets_16::<G>(_mm256_set_m128i(second, first));
        let sign = _mm256_sub_epi16(
            _mm256_setzero_si256(),
            _mm256_and_si256(codes, _mm256_set1_epi16(1)),
        );
        let d = _mm256_xor_si256(_mm256_srli_epi16::<1>(codes), sign);
        // Running sums of the odd places, each also for the even place behind it.
        let sums = _mm256_and_si256(d, odd);
        let sums = _mm256_add_epi16(sums, _mm256_slli_si256::<4>(sums));
        let sums = _mm256_add_epi16(sums, _mm256_slli_si256::<8>(sums));
        let even = _mm256_add_epi16(_mm256_andnot_si256(odd, d), _mm256_slli_si256::<2>(sums));
        let sums = _mm256_add_epi16(sums, even);
        let middle = base.wrapping_add(_mm256_extract_epi16::<7>(sums) as u16);
        let ahead = _mm256_set_m128i(_mm_set1_epi16(middle as i16), _mm_set1_epi16(base as i16));
        store(raw, 32 * i, _mm256_add_epi16(sums, ahead));
        base = middle.wrapping_add(_mm256_extract_epi16::<15>(sums) as u16);
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn zero_masked_16<const G: bool>(plane: &Plane, mask: u64, bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let mut words = [0; BLOCK_BYTES + 64];
    let (nz, kept, k) = (
        mask.count_ones() as usize,
        plane.sign.planes() as usize,
        plane.k as usize & 7,
    );
    let q = nz % GROUP_WORDS;
    let mut to = 2 * q;
    let mut at = 0;
    match plane.partial(Layout::W16, q) {
        Partial::None => {}
        Partial::Verbatim { words: n } => {
            store_half(&mut words, 0, load_half(bytes, 0));
            at = 2 * n;
        }
        Partial::Planes { lo, hi } => {
            let x = _mm_shuffle_epi8(load_half(bytes, 0), load_half(&OPEN[lo & 7][k][kept], 0));
            at = hi - lo;
            let mut group = [0; 48];
            store(&mut group, 0, words_16::<G>(plane, _mm256_set_m128i(x, x)));
            store_half(&mut words, 0, load_half(&group, 2 * (GROUP_WORDS - q)));
        }
        Partial::Halves { lo, hi, verbatim } => {
            store_half(&mut words, 0, load_half(bytes, 0));
            at = 2 * verbatim;
            let n = hi - lo;
            let halves = get_u64(bytes, at) & (u64::MAX >> (64 - 8 * n));
            at += n;
            let x = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((halves << (8 * lo)) as i64));
            let even = _mm_and_si128(_mm_slli_epi16::<4>(x), _mm_set1_epi16(0xf0));
            let odd = _mm_slli_epi16::<8>(_mm_and_si128(x, _mm_set1_epi16(0xf0)));
            let x = _mm_shuffle_epi8(_mm_or_si128(even, odd), load_half(&OPEN[0][k][kept], 0));
            let mut group = [0; 48];
            store(&mut group, 0, words_16::<G>(plane, _mm256_set_m128i(x, x)));
            store_half(
                &mut words,
                2 * verbatim,
                load_half(&group, 2 * (GROUP_WORDS - (q - verbatim))),
            );
        }
    }
    let open = load_half(&OPEN[plane.z as usize & 7][k][kept], 0);
    let group_len = plane.planes(Layout::W16) as usize;
    while to < 2 * nz {
        let first = _mm_shuffle_epi8(load_half(bytes, at), open);
        let second = _mm_shuffle_epi8(load_half(bytes, at + group_len), open);
        store(
            &mut words,
            to,
            words_16::<G>(plane, _mm256_set_m128i(second, first)),
        );
        at += 2 * group_len;
        to += 32;
    }
    expand_16::<G>(&words, 0, mask, raw);
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn expand_16<const G: bool>(words: &[u8], mut at: usize, mask: u64, raw: &mut [u8; BLOCK_BYTES]) {
    for g in 0..8 {
        let m = (mask >> (8 * g)) as u8;
        let shuffle = load_half(&EXPAND_16[usize::from(m)], 0);
        store_half(raw, 16 * g, _mm_shuffle_epi8(load_half(words, at), shuffle));
        at += 2 * m.count_ones() as usize;
    }
}

/// A group's planelets, the sign at 31, from where it is written.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn open_32(plane: &Plane, kg: u32, bytes: &[u8], at: usize) -> (__m256i, usize) {
    let (z, top) = (plane.z as usize, 23 + kg as usize);
    let n = top - z;
    let mut x = _mm256_and_si256(load(bytes, at), load(&FIRST[n], 0));
    if z > 0 {
        let mut shifted = [0; 64];
        store(&mut shifted, z & 31, x);
        x = load(&shifted, 0);
    }
    if plane.sign == SignMode::Kept {
        x = _mm256_insert_epi8::<31>(x, bytes[at + n] as i8);
        return (x, at + n + 1);
    }
    (x, at + n)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode_blocks_32<const G: bool>(
    stream: &[u8],
    mut at: usize,
    blocks: &mut [[u8; BLOCK_BYTES]],
    forms: &mut [u64],
) -> (usize, usize) {
    for (i, raw) in blocks.iter_mut().enumerate() {
        if stream.len() - at < WINDOW {
            return (at, i);
        }
        let Some(h) = head::<true, G>(stream, at) else {
            return (at, i);
        };
        let len = payload_len::<true, G>(&h);
        if len > BLOCK_BYTES {
            return (at, i);
        }
        let bytes = &stream[at + h.len..at + h.len + len + 32];
        match h.form {
            Form::Raw => return (at, i),
            Form::BitPlane => bit_plane_32::<G>(&h.plane, h.groups, bytes, raw),
            Form::DeltaBitPlane => delta_32::<G>(h.groups, h.base, bytes, raw),
            Form::ZeroMasked => zero_masked_32::<G>(&h.plane, h.mask, bytes, raw),
            Form::ZeroValue if h.mask == 0 => raw.fill(0),
            Form::ZeroValue => expand_32::<G>(bytes, h.mask, raw),
        }
        forms[h.form as usize] += 1;
        at += h.len + len;
    }
    (at, blocks.len())
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn bit_plane_32<const G: bool>(plane: &Plane, drops: u64, bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let mut at = 0;
    for g in 0..4 {
        let (planelets, end) = open_32(plane, plane.k - (drops >> (8 * g) & 3) as u32, bytes, at);
        store(raw, 32 * g, words_32::<G>(plane, planelets));
        at = end;
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn delta_32<const G: bool>(widths: u64, base: u32, bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let mut at = 0;
    let mut ahead = _mm256_set1_epi32(base as i32);
    let odd = _mm256_set1_epi64x(0xffff_ffff_0000_0000_u64 as i64);
    for g in 0..4 {
        let width = (widths >> (8 * g) & 0xff) as usize;
        let codes = from_planelets_32::<G>(_mm256_and_si256(load(bytes, at), load(&FIRST[width], 0)));
        at += width;
        let sign = _mm256_sub_epi32(
            _mm256_setzero_si256(),
            _mm256_and_si256(codes, _mm256_set1_epi32(1)),
        );
        let d = _mm256_xor_si256(_mm256_srli_epi32::<1>(codes), sign);
        let sums = _mm256_and_si256(d, odd);
        let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
        // The lower half's sum goes into the upper half's odd places.
        let carry = _mm256_permutevar8x32_epi32(sums, _mm256_setr_epi32(0, 0, 0, 0, 0, 3, 0, 3));
        let sums = _mm256_add_epi32(sums, carry);
        let behind = _mm256_permutevar8x32_epi32(sums, _mm256_setr_epi32(0, 0, 1, 0, 3, 0, 5, 0));
        let sums = _mm256_add_epi32(sums, _mm256_add_epi32(_mm256_andnot_si256(odd, d), behind));
        let words = _mm256_add_epi32(sums, ahead);
        store(raw, 32 * g, words);
        ahead = _mm256_permutevar8x32_epi32(words, _mm256_set1_epi32(7));
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn zero_masked_32<const G: bool>(plane: &Plane, mask: u64, bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let mut words = [0; BLOCK_BYTES + 64];
    let nz = mask.count_ones() as usize;
    let q = nz % GROUP_WORDS;
    let mut to = 4 * q;
    let mut at = 0;
    match plane.partial(Layout::W32, q) {
        Partial::None => {}
        Partial::Verbatim { words: n } => {
            store(&mut words, 0, load(bytes, 0));
            at = 4 * n;
        }
        Partial::Planes { .. } => {
            let (planelets, end) = open_32(plane, plane.k, bytes, 0);
            at = end;
            let mut group = [0; 64];
            store(&mut group, 0, words_32::<G>(plane, planelets));
            store(&mut words, 0, load(&group, 4 * (GROUP_WORDS - q)));
        }
        Partial::Halves { lo, hi, verbatim } => {
            store(&mut words, 0, load(bytes, 0));
            at = 4 * verbatim;
            let n = hi - lo;
            let mut halves = [0; 48];
            let x = _mm_and_si128(load_half(bytes, at), load_half(&FIRST[n], 0));
            store_half(&mut halves, lo & 15, x);
            at += n;
            let x = _mm256_cvtepu8_epi16(load_half(&halves, 0));
            let even = _mm256_and_si256(_mm256_slli_epi16::<4>(x), _mm256_set1_epi16(0xf0));
            let odd = _mm256_slli_epi16::<8>(_mm256_and_si256(x, _mm256_set1_epi16(0xf0)));
            let mut planelets = [0; 32];
            store(&mut planelets, 0, _mm256_or_si256(even, odd));
            let top = 23 + plane.k as usize;
            let sign = planelets[top];
            planelets[top..].fill(0);
            if plane.sign == SignMode::Kept {
                planelets[31] = sign;
            }
            let mut group = [0; 64];
            store(&mut group, 0, words_32::<G>(plane, load(&planelets, 0)));
            store(
                &mut words,
                4 * verbatim,
                load(&group, 4 * (GROUP_WORDS - (q - verbatim))),
            );
        }
    }
    while to < 4 * nz {
        let (planelets, end) = open_32(plane, plane.k, bytes, at);
        store(&mut words, to, words_32::<G>(plane, planelets));
        at = end;
        to += 32;
    }
    expand_32::<G>(&words, mask, raw);
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn expand_32<const G: bool>(words: &[u8], mask: u64, raw: &mut [u8; BLOCK_BYTES]) {
    let mut at = 0;
    for g in 0..4 {
        let m = (mask >> (8 * g)) as u8;
        let places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(EXPAND_32[usize::from(m)] as i64));
        // Ones in the lanes whose bit is set.
        let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let there = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(m)), bit), bit);
        let spread = _mm256_permutevar8x32_epi32(load(words, at), places);
        store(raw, 32 * g, _mm256_and_si256(spread, there));
        at += 4 * m.count_ones() as usize;
    }
}
