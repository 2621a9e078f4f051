//! The implementations of the block format that have to agree.

use planezip::codec::{self, DecodeError, Path, Stats};
use planezip::format::Layout;

/// One of the codec's paths.
pub(crate) struct Codec(Path);

impl Codec {
    pub(crate) fn name(&self) -> &'static str {
        self.0.name()
    }

    pub(crate) fn encode(&self, layout: Layout, raw: &[u8], out: &mut Vec<u8>) -> Stats {
        codec::encode_with(self.0, layout, raw, out)
    }

    pub(crate) fn decode(
        &self,
        layout: Layout,
        stream: &[u8],
        max_raw: u64,
        out: &mut Vec<u8>,
    ) -> Result<Stats, DecodeError> {
        codec::decode_with(self.0, layout, stream, max_raw, out)
    }
}

/// Every one of these, the portable path and the fast ones that this machine has, must give the same bytes, figures
/// and errors.
pub(crate) fn codecs() -> impl Iterator<Item = Codec> {
    Path::all().map(Codec)
}
