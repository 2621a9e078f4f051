//! The format's numbers stand once in Rust and once in `rtl/planezip_pkg.sv`: they must agree.

use std::collections::BTreeMap;

use planezip::codec::Verdict;
use planezip::format::{self, Dtype, Form, GROUP_WORDS, Layout, MaskStyle, SignMode, code};

/// Every `Name = value` of the package: parameters and enum members, sized literals included.
fn package_constants() -> BTreeMap<String, u64> {
    let text = include_str!("../rtl/planezip_pkg.sv");
    let mut constants = BTreeMap::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let Some((left, right)) = line.split_once('=') else {
            continue;
        };
        let name = left
            .split_whitespace()
            .last()
            .expect("a name before '='")
            .to_owned();
        let value = right.trim().trim_end_matches([';', ',']).trim();
        let digits = value.rsplit_once("'d").map_or(value, |(_, d)| d);
        if let Ok(v) = digits.parse() {
            assert_eq!(constants.insert(name.clone(), v), None, "{name} is defined twice");
        }
    }
    constants
}

#[test]
fn package_and_crate_agree() {
    let rtl = package_constants();
    let mut expected: BTreeMap<String, u64> = [
        ("BlockBytes", format::BLOCK_BYTES as u64),
        ("GroupWords", GROUP_WORDS as u64),
        ("ExpBits", u64::from(format::EXP_BITS)),
        ("MantBits16", u64::from(Layout::W16.mant_bits())),
        ("MantBits32", u64::from(Layout::W32.mant_bits())),
        ("NumForms", Form::ALL.len() as u64),
        ("FormRaw", Form::Raw.code().into()),
        ("FormZv", Form::ZeroValue.code().into()),
        ("FormBp", Form::BitPlane.code().into()),
        ("FormDbp", Form::DeltaBitPlane.code().into()),
        ("FormZbp", Form::ZeroMasked.code().into()),
        ("SignPos", SignMode::Positive as u64),
        ("SignNeg", SignMode::Negative as u64),
        ("SignKept", SignMode::Kept as u64),
        ("ErrNone", Verdict::Ok as u64),
        ("ErrBadHeader", Verdict::BadHeader as u64),
        ("ErrTruncated", Verdict::Truncated as u64),
        ("ErrTrailing", Verdict::Trailing as u64),
        ("CodeBp", code::BIT_PLANE.into()),
        ("CodeZbp", code::ZERO_MASKED.into()),
        ("CodeOther", code::OTHER.into()),
        ("CodePrefix", code::PREFIX.into()),
        ("CodeRaw", code::RAW.into()),
        ("CodeAllZero", code::ALL_ZERO.into()),
        ("CodeTail", code::TAIL.into()),
        ("CodeDbp", code::DELTA.into()),
        ("CodeZv", code::ZERO_VALUE.into()),
        ("MaskWhole", MaskStyle::Whole as u64),
        ("MaskWithoutZeros", MaskStyle::WithoutZeros as u64),
        ("MaskWithoutOnes", MaskStyle::WithoutOnes as u64),
        ("DtypeBf16", Dtype::Bf16.sideband().into()),
        ("DtypeF16", Dtype::F16.sideband().into()),
        ("DtypeF32", Dtype::F32.sideband().into()),
        ("DtypeOther", Dtype::Other.sideband().into()),
    ]
    .map(|(n, v)| (n.to_owned(), v))
    .into();
    // The engine's counter widths: bytes of a packet, and the blocks in that many bytes.
    expected.insert("BytesW".into(), 40);
    expected.insert("BlocksW".into(), 40 - u64::from(format::BLOCK_BYTES.ilog2()));
    assert_eq!(rtl, expected);
}

#[test]
fn sideband_bit_1_selects_the_layout() {
    for d in [Dtype::Bf16, Dtype::F16, Dtype::F32, Dtype::Other] {
        assert_eq!(d.layout() == Layout::W32, d.sideband() & 2 != 0, "{d:?}");
    }
}
