//! The implementations of the block format that have to agree.

use planezip::codec::{self, DecodeError, Stats};
use planezip::format::Layout;

type Encode = fn(Layout, &[u8], &mut Vec<u8>) -> Stats;
type Decode = fn(Layout, &[u8], u64, &mut Vec<u8>) -> Result<Stats, DecodeError>;

pub(crate) struct Codec {
    pub(crate) name: &'static str,
    pub(crate) encode: Encode,
    pub(crate) decode: Decode,
}

const fn codec(name: &'static str, encode: Encode, decode: Decode) -> Codec {
    Codec { name, encode, decode }
}

/// Every one of these must give the same bytes, figures and errors. One more is one more line.
pub(crate) const CODECS: &[Codec] = &[codec("golden", codec::encode, codec::decode)];
