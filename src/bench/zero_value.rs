//! The plain zero-value codec, as bytes: what [`codec::zero_value_len`](crate::codec::zero_value_len) counts.
//!
//! A full block of 128 bytes is one header byte (1), a mask with a bit for every non-zero word, and these words; or,
//! where that is no shorter, a header byte (0) and the raw block. A tail is `0x80` plus its length, and its bytes.

use crate::format::{BLOCK_BYTES, Layout};

const RAW: u8 = 0;
const MASKED: u8 = 1;
const TAIL: u8 = 0x80;
/// Header byte, longest mask, a block, and room for a word that is written but not kept.
const ROOM: usize = 1 + 8 + BLOCK_BYTES + 4;

/// Appends the code of a tensor's bytes.
pub(super) fn encode(layout: Layout, raw: &[u8], out: &mut Vec<u8>) {
    let (blocks, tail) = raw.as_chunks::<BLOCK_BYTES>();
    for block in blocks {
        match layout {
            Layout::W16 => encode_block::<2>(block, out),
            Layout::W32 => encode_block::<4>(block, out),
        }
    }
    if !tail.is_empty() {
        out.push(TAIL | tail.len() as u8);
        out.extend_from_slice(tail);
    }
}

fn encode_block<const W: usize>(block: &[u8; BLOCK_BYTES], out: &mut Vec<u8>) {
    let mask_bytes = BLOCK_BYTES / W / 8;
    let mut buffer = [0; ROOM];
    let mut at = 1 + mask_bytes;
    let mut mask = 0_u64;
    for (i, word) in block.as_chunks::<W>().0.iter().enumerate() {
        buffer[at..at + W].copy_from_slice(word);
        let kept = *word != [0; W];
        mask |= u64::from(kept) << i;
        at += W * usize::from(kept);
    }
    if at > BLOCK_BYTES {
        out.push(RAW);
        out.extend_from_slice(block);
    } else {
        buffer[0] = MASKED;
        buffer[1..=mask_bytes].copy_from_slice(&mask.to_le_bytes()[..mask_bytes]);
        out.extend_from_slice(&buffer[..at]);
    }
}

/// Appends the raw bytes of a code; `None` if it is malformed.
pub(super) fn decode(layout: Layout, mut code: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while let Some((&header, rest)) = code.split_first() {
        let used = match header {
            RAW => {
                out.extend_from_slice(rest.get(..BLOCK_BYTES)?);
                BLOCK_BYTES
            }
            MASKED => match layout {
                Layout::W16 => decode_block::<2>(rest, out)?,
                Layout::W32 => decode_block::<4>(rest, out)?,
            },
            _ if header > TAIL => {
                let len = usize::from(header & !TAIL);
                out.extend_from_slice(rest.get(..len)?);
                len
            }
            _ => return None,
        };
        code = &rest[used..];
    }
    Some(())
}

fn decode_block<const W: usize>(code: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mask_bytes = BLOCK_BYTES / W / 8;
    let mut mask = [0; 8];
    mask[..mask_bytes].copy_from_slice(code.get(..mask_bytes)?);
    let mask = u64::from_le_bytes(mask);
    let end = mask_bytes + W * mask.count_ones() as usize;
    let mut words = [0; ROOM];
    let payload = code.get(mask_bytes..end)?;
    words[..payload.len()].copy_from_slice(payload);
    let mut block = [0; BLOCK_BYTES];
    let mut at = 0;
    for (i, word) in block.as_chunks_mut::<W>().0.iter_mut().enumerate() {
        let kept = mask >> i & 1 == 1;
        let next = &words[at..at + W];
        for (byte, next) in word.iter_mut().zip(next) {
            *byte = if kept { *next } else { 0 };
        }
        at += W * usize::from(kept);
    }
    out.extend_from_slice(&block);
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::zero_value_len;

    #[test]
    fn round_trip_and_length() {
        for layout in Layout::ALL {
            for density in 0..=16 {
                let raw: Vec<u8> = (0..2000_u32)
                    .flat_map(|i| {
                        let x = i.wrapping_mul(0x9e37_79b9) >> 7;
                        if x % 16 < density { x | 1 } else { 0 }.to_le_bytes()
                    })
                    .collect();
                for len in [0, 1, 127, 128, 129, 7993, 8000] {
                    let mut code = Vec::new();
                    encode(layout, &raw[..len], &mut code);
                    assert_eq!(code.len() as u64, zero_value_len(layout, &raw[..len]));
                    let mut back = Vec::new();
                    assert_eq!(decode(layout, &code, &mut back), Some(()));
                    assert_eq!(back, &raw[..len]);
                }
            }
        }
    }

    #[test]
    fn malformed_code_is_refused() {
        for code in [&[MASKED, 1][..], &[RAW; 128], &[TAIL], &[TAIL | 5, 0], &[2]] {
            assert_eq!(decode(Layout::W16, code, &mut Vec::new()), None);
        }
    }
}
