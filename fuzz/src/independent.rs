//! The golden decoder against the independent one (`tests/independent/planezip_decoder.py`).

#[path = "../../tests/common/decoder.rs"]
mod decoder;

use std::cell::RefCell;

use planezip::codec::{self, Verdict};
use planezip::format::Layout;

use decoder::Decoder;

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::start());
}

/// Byte 0 chooses the layout; the rest is the stream. Both decoders give the same verdict and the same bytes before a
/// fault.
pub fn independent(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else {
        return;
    };
    let layout = Layout::ALL[usize::from(first & 1)];
    let mut raw = Vec::new();
    let verdict = match codec::decode(layout, stream, u64::MAX, &mut raw) {
        Ok(_) => Verdict::Ok,
        Err(e) => e.verdict().expect("no limit was given"),
    };
    let other = DECODER.with_borrow_mut(|decoder| decoder.decode(layout, stream));
    assert!(
        other == (verdict as u8, raw),
        "{layout:?}: {verdict:?}, and verdict {}",
        other.0
    );
}
