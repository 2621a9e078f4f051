//! Figures of one tensor's bytes.

use crate::codec::{self, Stats};
use crate::format::{BLOCK_BYTES, Layout};
use crate::tensor::{DType, Float};

/// Figures of one tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Raw bytes, block stream bytes, full blocks by form.
    pub stats: Stats,
    /// Bytes under the plain zero-value codec.
    pub zero_value_bytes: u64,
    /// Whole elements.
    pub elements: u64,
    /// Elements that equal zero: of floats both +0 and -0.
    pub zeros: u64,
    /// Elements whose bits are all zero.
    pub zero_bits: u64,
    /// Bits under the order-0 bound (floats only): the entropy of sign and exponent over the tensor's elements, and
    /// the mantissa bits of those that are not zero.
    pub order0_bits: Option<f64>,
}

/// Takes figures of a tensor's bytes as they pass.
pub struct Accumulator {
    layout: Layout,
    float: Option<Float>,
    element_bytes: usize,
    figures: Figures,
    /// Elements by sign and exponent.
    histogram: Box<[u64; 512]>,
    stream: Vec<u8>,
}

impl Accumulator {
    /// For a tensor of the given type.
    #[must_use]
    pub fn new(dtype: &DType) -> Self {
        let element_bytes = dtype
            .element_bytes()
            .and_then(|n| usize::try_from(n).ok())
            // An element that can straddle two pieces is looked at byte by byte.
            .filter(|&n| n > 0 && BLOCK_BYTES.is_multiple_of(n))
            .unwrap_or(1);
        Accumulator {
            layout: dtype.layout(),
            float: dtype.float(),
            element_bytes,
            figures: Figures::default(),
            histogram: Box::new([0; 512]),
            stream: Vec::new(),
        }
    }

    /// Adds the next bytes: a multiple of 128 of them unless they are the tensor's last.
    pub fn push(&mut self, raw: &[u8]) {
        self.stream.clear();
        self.figures
            .stats
            .add(&codec::encode(self.layout, raw, &mut self.stream));
        self.figures.zero_value_bytes += codec::zero_value_len(self.layout, raw);

        let mut zeros = 0;
        let mut zero_bits = 0;
        let mut count = |bits: u32, sign: u32, shift: u32| {
            zeros += u64::from(bits & !sign == 0);
            zero_bits += u64::from(bits == 0);
            self.histogram[(bits >> shift) as usize & 0x1ff] += 1;
        };
        match self.float {
            Some(float @ (Float::Bf16 | Float::F16)) => {
                let (elements, _) = raw.as_chunks::<2>();
                for e in elements {
                    count(u16::from_le_bytes(*e).into(), 0x8000, float.mantissa_bits());
                }
            }
            Some(float @ Float::F32) => {
                let (elements, _) = raw.as_chunks::<4>();
                for e in elements {
                    count(u32::from_le_bytes(*e), 0x8000_0000, float.mantissa_bits());
                }
            }
            None => {
                zero_bits = raw
                    .chunks_exact(self.element_bytes)
                    .filter(|e| e.iter().all(|&b| b == 0))
                    .count() as u64;
                zeros = zero_bits;
            }
        }
        self.figures.zeros += zeros;
        self.figures.zero_bits += zero_bits;
        self.figures.elements += (raw.len() / self.element_bytes) as u64;
    }

    /// The figures of all that was added.
    #[must_use]
    pub fn finish(self) -> Figures {
        let n = self.figures.elements as f64;
        let order0_bits = self.float.map(|float| {
            let entropy: f64 = self
                .histogram
                .iter()
                .filter(|&&c| c > 0)
                .map(|&c| c as f64 * (n / c as f64).log2())
                .sum();
            let coded = self.figures.elements - self.figures.zeros;
            entropy + coded as f64 * f64::from(float.mantissa_bits())
        });
        Figures {
            order0_bits,
            ..self.figures
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dtype: &DType, raw: &[u8]) -> Figures {
        let mut a = Accumulator::new(dtype);
        for piece in raw.chunks(256) {
            a.push(piece);
        }
        a.finish()
    }

    #[test]
    fn zeros_of_both_signs_are_zero_but_only_one_is_zero_bits() {
        let raw: Vec<u8> = [0x0000_u16, 0x8000, 0x3f80, 0x0001]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        for dtype in [DType::Bf16, DType::F16] {
            let f = of(&dtype, &raw);
            assert_eq!((f.elements, f.zeros, f.zero_bits), (4, 2, 1));
        }
        let raw: Vec<u8> = [0.0_f32, -0.0, 1.0]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        let f = of(&DType::F32, &raw);
        assert_eq!((f.elements, f.zeros, f.zero_bits), (3, 2, 1));
    }

    #[test]
    fn order0_bound_of_known_data() {
        // Half zeros, half 1.0: one bit of entropy per element and seven mantissa bits of every other.
        let raw: Vec<u8> = (0..1000)
            .flat_map(|i| if i % 2 == 0 { [0, 0] } else { [0x80, 0x3f] })
            .collect();
        let bits = of(&DType::Bf16, &raw).order0_bits.unwrap();
        approx::assert_relative_eq!(bits, 1000.0 + 500.0 * 7.0);
        assert_eq!(of(&DType::Bf16, &[0; 512]).order0_bits, Some(0.0));
    }

    #[test]
    fn pieces_add_up() {
        let raw: Vec<u8> = (0..5000_u32)
            .flat_map(|i| (i.wrapping_mul(0x9e37_79b9) >> (i % 31)).to_le_bytes())
            .collect();
        for dtype in [
            DType::Bf16,
            DType::F16,
            DType::F32,
            DType::from_safetensors("I64"),
        ] {
            let mut whole = Accumulator::new(&dtype);
            whole.push(&raw);
            assert_eq!(whole.finish(), of(&dtype, &raw));
        }
    }

    #[test]
    fn other_types_count_zero_elements() {
        let raw = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let f = of(&DType::from_safetensors("I64"), &raw);
        assert_eq!((f.elements, f.zeros, f.order0_bits), (2, 1, None));
        let f = of(&DType::from_safetensors("UNKNOWN"), &raw);
        assert_eq!((f.elements, f.zeros), (19, 18));
    }
}
