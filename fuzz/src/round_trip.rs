//! Any bytes as a tensor.

use planezip::codec::{Stats, candidates, choose, decode_block, encode_block};
use planezip::format::{BLOCK_BYTES, Form, Header, Layout, MAX_BLOCK_LEN, max_stream_len};

use crate::codecs::codecs;

/// Bytes of the input before the data.
pub(crate) const HEAD: usize = 4;

/// Bits of byte 0.
pub(crate) mod shape {
    /// 32-bit words instead of 16-bit ones.
    pub(crate) const W32: u8 = 1;
    /// Every byte becomes a word, spread over its high and low bits.
    pub(crate) const WIDEN: u8 = 2;
    /// Exponents within `2^(byte 1 mod 8)` of each other.
    pub(crate) const EXPONENTS: u8 = 4;
    /// Words are small steps from the ones before.
    pub(crate) const RAMP: u8 = 8;
    /// Words repeat: the first few again and again.
    pub(crate) const REPEAT: u8 = 16;
    /// Zeros by a mask that the data's first bytes give.
    pub(crate) const ZEROS: u8 = 32;
    /// Low mantissa bits cleared, as many as byte 2 says.
    pub(crate) const COARSE: u8 = 64;
    /// One sign.
    pub(crate) const SIGN: u8 = 128;
}

/// Byte 0 says what is made of the data (bytes 4 and on), bytes 1 to 3 how; see the source.
///
/// Every codec encodes it within the size limit, whole and in pieces to the same bytes, each block under the smallest
/// of the forms that can hold it, and decodes it to the same data; the figures add up.
pub fn round_trip(data: &[u8]) {
    let Some((head, data)) = data.split_first_chunk::<HEAD>() else {
        return;
    };
    let layout = if head[0] & shape::W32 == 0 {
        Layout::W16
    } else {
        Layout::W32
    };
    let raw = tensor(layout, *head, data);
    let n = raw.len() as u64;

    let mut expected = None;
    for codec in codecs() {
        let mut stream = Vec::new();
        let stats = codec.encode(layout, &raw, &mut stream);
        assert!(stream.len() as u64 <= max_stream_len(n));
        assert_eq!((stats.raw_bytes, stats.comp_bytes), (n, stream.len() as u64));
        assert_eq!(stats.blocks.iter().sum::<u64>(), n / BLOCK_BYTES as u64);

        let mut back = Vec::new();
        assert_eq!(
            codec.decode(layout, &stream, n, &mut back),
            Ok(stats),
            "{}",
            codec.name()
        );
        assert!(back == raw, "{}: other bytes", codec.name());

        // In pieces, after bytes that are there already.
        let at = usize::from(head[3]) * BLOCK_BYTES;
        let (first, second) = raw.split_at(if at < raw.len() { at } else { 0 });
        let mut pieces = vec![0x5a];
        let mut sum = codec.encode(layout, first, &mut pieces);
        sum.add(&codec.encode(layout, second, &mut pieces));
        assert_eq!(sum, stats, "{}: in pieces", codec.name());
        assert!(
            pieces[0] == 0x5a && pieces[1..] == stream,
            "{}: in pieces",
            codec.name()
        );

        let expected = expected.get_or_insert_with(|| (stream.clone(), stats));
        assert_eq!(stats, expected.1, "{}", codec.name());
        assert!(stream == expected.0, "{}: another stream", codec.name());
    }
    if let Some((stream, stats)) = expected {
        blocks(layout, &raw, &stream, &stats);
    }
}

/// Each block stands in the stream as it is encoded alone, under the smallest form, and decodes alone.
fn blocks(layout: Layout, raw: &[u8], mut stream: &[u8], stats: &Stats) {
    let mut counted = Stats {
        raw_bytes: stats.raw_bytes,
        comp_bytes: stats.comp_bytes,
        ..Stats::default()
    };
    let (full, tail) = raw.as_chunks::<BLOCK_BYTES>();
    for block in full {
        let mut encoded = [0; MAX_BLOCK_LEN];
        let (form, len) = encode_block(layout, block, &mut encoded);
        counted.blocks[form as usize] += 1;
        let mut back = [0; BLOCK_BYTES];
        let (header, used) = decode_block(layout, stream, &mut back).expect("the encoder made it");
        assert_eq!((header.form(), used), (Some(form), len));
        assert_eq!(&back, block);
        assert_eq!(stream[..len], encoded[..len]);
        stream = &stream[len..];

        let words = words(layout, block);
        assert_eq!(choose(layout, &words), header);
        let forms = candidates(layout, &words);
        let smallest = Form::ALL
            .into_iter()
            .filter_map(|f| Some((forms[f as usize].as_ref()?.block_len(layout), f)))
            .min();
        assert_eq!(smallest, Some((len, form)));
        for (f, header) in Form::ALL.into_iter().zip(&forms) {
            assert!(header.as_ref().is_none_or(|h| h.form() == Some(f)));
        }
    }
    assert_eq!(&counted, stats);
    if tail.is_empty() {
        assert!(stream.is_empty());
    } else {
        assert_eq!(
            Header::parse(layout, stream),
            Ok(Header::Tail { len: tail.len() })
        );
        assert_eq!(&stream[2..], tail);
    }
}

/// A block's words.
fn words(layout: Layout, block: &[u8; BLOCK_BYTES]) -> [u32; 64] {
    let mut words = [0; 64];
    for (w, b) in words.iter_mut().zip(block.chunks_exact(layout.word_bytes())) {
        *w = b.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b));
    }
    words
}

/// The tensor's bytes. Data that is not a whole number of words keeps its last bytes as they are.
fn tensor(layout: Layout, [what, a, b, _]: [u8; HEAD], data: &[u8]) -> Vec<u8> {
    let wb = layout.word_bytes();
    let bits = layout.word_bits();
    let mant = layout.mant_bits();
    let has = |bit: u8| what & bit != 0;
    let mut words: Vec<u32>;
    let mut rest: &[u8] = &[];
    if has(shape::WIDEN) {
        words = data
            .iter()
            .map(|&x| u32::from(x) << (bits - 8) | u32::from(x).reverse_bits() >> 24)
            .collect();
    } else {
        let chunks = data.chunks_exact(wb);
        rest = chunks.remainder();
        words = chunks
            .map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b)))
            .collect();
    }
    let all = u32::MAX >> (32 - bits);
    if has(shape::REPEAT) && !words.is_empty() {
        let period = (1 + usize::from(a >> 3)).min(words.len());
        for i in period..words.len() {
            words[i] = words[i - period];
        }
    }
    if has(shape::RAMP) {
        let mut w = words.first().copied().unwrap_or(0);
        for x in words.iter_mut().skip(1) {
            w = w.wrapping_add(*x & 0xff >> (b >> 5)) & all;
            *x = w;
        }
    }
    if has(shape::EXPONENTS) {
        let top = 0xff - (a >> 3);
        for w in &mut words {
            let e = (*w >> mant) as u8 & ((1 << (a & 7)) - 1) as u8;
            *w = *w & !(0xff << mant) | u32::from(top.wrapping_sub(e)) << mant;
        }
    }
    if has(shape::COARSE) {
        let clear = u32::from(b & 0x1f).min(mant);
        for w in &mut words {
            *w = *w >> clear << clear;
        }
    }
    if has(shape::SIGN) {
        for w in &mut words {
            *w = *w & all >> 1 | u32::from(b >> 7) << (bits - 1);
        }
    }
    if has(shape::ZEROS) {
        let mask = &data[..data.len().min(8)];
        for (i, w) in words.iter_mut().enumerate() {
            let byte = mask[i / 8 % mask.len()];
            if byte >> (i % 8) & 1 == 0 {
                *w = 0;
            }
        }
    }
    let mut raw: Vec<u8> = words
        .iter()
        .flat_map(|w| w.to_le_bytes().into_iter().take(wb))
        .collect();
    raw.extend_from_slice(rest);
    raw
}
