//! Element types and their names.

use std::fmt;
use std::str::FromStr;

use crate::format::Layout;

/// An element type.
///
/// The three float types the engine is made for have their own variants; everything else keeps the name its file
/// gave it and passes losslessly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// bfloat16, little-endian.
    Bf16,
    /// IEEE half precision, little-endian.
    F16,
    /// IEEE single precision, little-endian.
    F32,
    /// Any other type, by the name its file uses.
    Other {
        /// The name, as in the file.
        name: String,
        /// Bits per element, if known.
        bits: Option<u64>,
    },
}

/// The float types that ratios are reported for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Float {
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
}

impl Float {
    /// Bytes per element.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Float::Bf16 | Float::F16 => 2,
            Float::F32 => 4,
        }
    }

    /// Mantissa bits; sign and exponent take the rest.
    #[must_use]
    pub fn mantissa_bits(self) -> u32 {
        match self {
            Float::Bf16 => 7,
            Float::F16 => 10,
            Float::F32 => 23,
        }
    }

    /// Short lower-case name: `bf16`, `f16`, `f32`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Float::Bf16 => "bf16",
            Float::F16 => "f16",
            Float::F32 => "f32",
        }
    }
}

/// Every spelling `--dtype` accepts, lower case (upper case works too).
pub const DTYPE_NAMES: [(&str, Float); 20] = [
    ("bf16", Float::Bf16),
    ("bfloat16", Float::Bf16),
    ("torch.bfloat16", Float::Bf16),
    ("f16", Float::F16),
    ("fp16", Float::F16),
    ("float16", Float::F16),
    ("half", Float::F16),
    ("<f2", Float::F16),
    ("f2", Float::F16),
    ("e", Float::F16),
    ("torch.float16", Float::F16),
    ("torch.half", Float::F16),
    ("f32", Float::F32),
    ("fp32", Float::F32),
    ("float32", Float::F32),
    ("float", Float::F32),
    ("single", Float::F32),
    ("<f4", Float::F32),
    ("f4", Float::F32),
    ("torch.float32", Float::F32),
];

/// A `--dtype` value that names no float type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDTypeError {
    found: String,
}

impl fmt::Display for ParseDTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown dtype '{}': known are ", self.found)?;
        for (i, (name, _)) in DTYPE_NAMES.iter().enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { ", " })?;
        }
        if self.found.starts_with('>') {
            f.write_str(" (big-endian data is not taken: swap its bytes first)")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseDTypeError {}

impl From<Float> for DType {
    fn from(float: Float) -> Self {
        match float {
            Float::Bf16 => DType::Bf16,
            Float::F16 => DType::F16,
            Float::F32 => DType::F32,
        }
    }
}

/// Parses one of [`DTYPE_NAMES`].
impl FromStr for DType {
    type Err = ParseDTypeError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let lower = s.trim().to_ascii_lowercase();
        DTYPE_NAMES
            .iter()
            .find(|(name, _)| *name == lower)
            .map(|&(_, float)| float.into())
            .ok_or(ParseDTypeError { found: s.to_owned() })
    }
}

impl DType {
    /// The type a safetensors header names: any string is taken.
    #[must_use]
    pub fn from_safetensors(name: &str) -> Self {
        match name {
            "BF16" => DType::Bf16,
            "F16" => DType::F16,
            "F32" => DType::F32,
            _ => {
                let known = serde_json::from_value::<::safetensors::Dtype>(name.into()).ok();
                DType::Other {
                    name: name.to_owned(),
                    bits: known.map(|d| d.bitsize() as u64),
                }
            }
        }
    }

    /// The name, as safetensors spells it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            DType::Bf16 => "BF16",
            DType::F16 => "F16",
            DType::F32 => "F32",
            DType::Other { name, .. } => name,
        }
    }

    /// The float type that ratios are reported for, if it is one.
    #[must_use]
    pub fn float(&self) -> Option<Float> {
        match self {
            DType::Bf16 => Some(Float::Bf16),
            DType::F16 => Some(Float::F16),
            DType::F32 => Some(Float::F32),
            DType::Other { .. } => None,
        }
    }

    /// Bits per element, if known.
    #[must_use]
    pub fn bits(&self) -> Option<u64> {
        match self {
            DType::Bf16 | DType::F16 => Some(16),
            DType::F32 => Some(32),
            DType::Other { bits, .. } => *bits,
        }
    }

    /// Whole bytes per element; `None` if unknown or not a whole number.
    #[must_use]
    pub fn element_bytes(&self) -> Option<u64> {
        self.bits().filter(|b| b % 8 == 0).map(|b| b / 8)
    }

    /// The layout its blocks are coded under: 16-bit words for types of one or two bytes, else 32-bit words.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match self.bits() {
            Some(1..=16) => Layout::W16,
            _ => Layout::W32,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_accepted_in_any_case() {
        for (name, float) in DTYPE_NAMES {
            assert_eq!(name.parse(), Ok(DType::from(float)));
            assert_eq!(name.to_uppercase().parse(), Ok(DType::from(float)));
        }
    }

    #[test]
    fn the_error_lists_every_name() {
        let text = "f64".parse::<DType>().unwrap_err().to_string();
        for (name, _) in DTYPE_NAMES {
            assert!(text.contains(name), "{name} missing in: {text}");
        }
        assert!(
            ">f4"
                .parse::<DType>()
                .unwrap_err()
                .to_string()
                .contains("big-endian")
        );
    }

    #[test]
    fn layouts() {
        let layout = |name| DType::from_safetensors(name).layout();
        for narrow in [
            "BF16", "F16", "I8", "U8", "BOOL", "I16", "U16", "F8_E4M3", "F8_E5M2", "F4",
        ] {
            assert_eq!(layout(narrow), Layout::W16, "{narrow}");
        }
        for wide in ["F32", "I32", "U32", "I64", "U64", "F64", "NEW_TYPE"] {
            assert_eq!(layout(wide), Layout::W32, "{wide}");
        }
    }
}
