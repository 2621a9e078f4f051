//! The engine's pins.

use crate::format::FORMS;

/// Bytes of the widest beat; the size of the data arrays.
pub const MAX_BEAT_BYTES: usize = 64;

/// Words of 32 bits that hold a status (`planezip_pkg::status_t`).
pub const STATUS_WORDS: usize = 8;

const BYTES_BITS: u32 = 40;
const BLOCKS_BITS: u32 = 33;

/// What a stream's sender drives into the engine. Bytes and keep bits from the beat width on are not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamIn {
    /// `tdata`, byte 0 first.
    pub data: [u8; MAX_BEAT_BYTES],
    /// `tkeep`, one bit per byte.
    pub keep: u64,
    /// `tuser`: the dtype, 0 to 3.
    pub dtype: u8,
    /// `tlast`.
    pub last: bool,
    /// `tvalid`.
    pub valid: bool,
}

impl Default for StreamIn {
    fn default() -> Self {
        StreamIn {
            data: [0; MAX_BEAT_BYTES],
            keep: 0,
            dtype: 0,
            last: false,
            valid: false,
        }
    }
}

/// What the engine drives towards a stream's receiver. Bytes and keep bits from the beat width on are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOut {
    /// `tdata`, byte 0 first.
    pub data: [u8; MAX_BEAT_BYTES],
    /// `tkeep`, one bit per byte.
    pub keep: u64,
    /// `tuser`.
    pub status: Status,
    /// `tlast`.
    pub last: bool,
    /// `tvalid`.
    pub valid: bool,
}

impl Default for StreamOut {
    fn default() -> Self {
        StreamOut {
            data: [0; MAX_BEAT_BYTES],
            keep: 0,
            status: Status::default(),
            last: false,
            valid: false,
        }
    }
}

/// All input pins of the engine, clock and reset apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Raw bytes into the compressor.
    pub comp_s: StreamIn,
    /// The receiver of the compressor's block stream is ready.
    pub comp_m_ready: bool,
    /// Block stream into the decompressor.
    pub decomp_s: StreamIn,
    /// The receiver of the decompressor's raw bytes is ready.
    pub decomp_m_ready: bool,
}

/// All output pins of the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The compressor takes a beat.
    pub comp_s_ready: bool,
    /// Block stream out of the compressor.
    pub comp_m: StreamOut,
    /// The decompressor takes a beat.
    pub decomp_s_ready: bool,
    /// Raw bytes out of the decompressor.
    pub decomp_m: StreamOut,
}

/// A packet's status, as on `tuser` of its last beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// [`crate::codec::Verdict`] as a number (3 bits).
    pub error: u8,
    /// Bytes on the raw side (40 bits).
    pub raw_bytes: u64,
    /// Bytes on the compressed side (40 bits).
    pub comp_bytes: u64,
    /// Full blocks by form code (33 bits each).
    pub blocks: [u64; FORMS],
}

impl Status {
    /// Fields from the least significant on: value and width.
    fn fields(&self) -> [(u64, u32); FORMS + 3] {
        let [raw, zv, bp, dbp, zbp] = self.blocks;
        [
            (zbp, BLOCKS_BITS),
            (dbp, BLOCKS_BITS),
            (bp, BLOCKS_BITS),
            (zv, BLOCKS_BITS),
            (raw, BLOCKS_BITS),
            (self.comp_bytes, BYTES_BITS),
            (self.raw_bytes, BYTES_BITS),
            (u64::from(self.error), 3),
        ]
    }

    /// The bits of `tuser`, least significant word first.
    #[must_use]
    pub fn to_words(&self) -> [u32; STATUS_WORDS] {
        let mut words = [0; STATUS_WORDS];
        let mut at = 0;
        for (value, width) in self.fields() {
            for (i, word) in spread(value & ((1 << width) - 1), at) {
                words[i] |= word;
            }
            at += width as usize;
        }
        words
    }

    /// The status that `tuser` shows. Bits above the status are not looked at.
    #[must_use]
    pub fn from_words(words: &[u32; STATUS_WORDS]) -> Status {
        if *words == [0; STATUS_WORDS] {
            return Status::default();
        }
        let mut at = 0;
        let mut take = |width: u32| {
            let w = |i: usize| u128::from(words.get(i).copied().unwrap_or(0));
            let (i, shift) = (at / 32, at % 32);
            at += width as usize;
            let bits = (w(i) | w(i + 1) << 32 | w(i + 2) << 64) >> shift;
            bits as u64 & ((1 << width) - 1)
        };
        let mut blocks = [0; FORMS];
        for b in blocks.iter_mut().rev() {
            *b = take(BLOCKS_BITS);
        }
        let comp_bytes = take(BYTES_BITS);
        let raw_bytes = take(BYTES_BITS);
        let error = take(3) as u8;
        Status {
            error,
            raw_bytes,
            comp_bytes,
            blocks,
        }
    }
}

/// The parts of `value`, at bit `at`, by word.
fn spread(value: u64, at: usize) -> impl Iterator<Item = (usize, u32)> {
    let bits = u128::from(value) << (at % 32);
    (0..3)
        .map(move |i| (at / 32 + i, (bits >> (32 * i)) as u32))
        .filter(|(i, _)| *i < STATUS_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_bit_survives_packing() {
        for bit in 0..248 {
            let mut words = [0u32; STATUS_WORDS];
            words[bit / 32] = 1 << (bit % 32);
            let status = Status::from_words(&words);
            assert_ne!(status, Status::default(), "bit {bit}");
            assert_eq!(status.to_words(), words, "bit {bit}");
        }
    }

    #[test]
    fn fields_stand_where_the_package_puts_them() {
        let status = Status {
            error: 5,
            raw_bytes: 1,
            comp_bytes: 3,
            blocks: [1, 0, 0, 0, 9],
        };
        let words = status.to_words();
        assert_eq!(words[0], 9); // zbp: bits 32..0
        assert_eq!(words[132 / 32] >> (132 % 32), 1); // raw: bits 164..132
        assert_eq!(words[165 / 32] >> (165 % 32) & 3, 3); // comp_bytes: bits 204..165
        assert_eq!(words[205 / 32] >> (205 % 32) & 1, 1); // raw_bytes: bits 244..205
        assert_eq!(words[245 / 32] >> (245 % 32), 5); // error: bits 247..245
    }
}
