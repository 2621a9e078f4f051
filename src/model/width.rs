//! The width converters between 16-byte ports and 32-byte cores (`docs/microarchitecture.md` section 5).

use super::{Beat, Status, StreamIn, StreamOut, keep};

/// Bytes of a port's beat; a core's has twice as many.
const HALF: usize = 16;

/// 16 to 32 bytes, at each input.
#[derive(Clone, Debug, Default)]
pub(super) struct Upsizer {
    /// First half and its dtype.
    half: Option<([u8; HALF], u8)>,
    /// The output register, as the core's input pins.
    out: StreamIn,
}

impl Upsizer {
    pub(super) fn ready(&self, core_ready: bool) -> bool {
        !self.out.valid || core_ready
    }

    /// The clock edge; returns what the core's input showed before it.
    pub(super) fn step(&mut self, s: &StreamIn, core_ready: bool) -> StreamIn {
        let shown = self.out.clone();
        let fires = s.valid && self.ready(core_ready);
        if core_ready {
            self.out.valid = false;
        }
        if fires {
            let beat = Beat::from_pins(s, HALF);
            let mut low = [0; HALF];
            low.copy_from_slice(&beat.data[..HALF]);
            if self.half.is_none() && !beat.last {
                self.half = Some((low, s.dtype));
            } else {
                let mut out = StreamIn {
                    dtype: s.dtype,
                    last: beat.last,
                    valid: true,
                    ..StreamIn::default()
                };
                let at = match self.half.take() {
                    Some((first, dtype)) => {
                        out.data[..HALF].copy_from_slice(&first);
                        out.dtype = dtype;
                        HALF
                    }
                    None => 0,
                };
                out.data[at..at + HALF].copy_from_slice(&low);
                out.keep = keep(at + beat.len);
                self.out = out;
            }
        }
        shown
    }
}

/// 32 to 16 bytes, at each output.
#[derive(Clone, Debug, Default)]
pub(super) struct Downsizer {
    high: bool,
}

impl Downsizer {
    /// The half that is shown is the core beat's final one.
    fn finishes(&self, core: &StreamOut) -> bool {
        self.high || (core.last && core.keep >> HALF == 0)
    }

    /// Turns the core's output pins into the engine's.
    pub(super) fn output(&self, pins: &mut StreamOut) {
        if !pins.valid {
            return;
        }
        if !self.finishes(pins) || !pins.last {
            pins.last = false;
            pins.status = Status::default();
        }
        if self.high {
            pins.data.copy_within(HALF..2 * HALF, 0);
            pins.keep >>= HALF;
        }
        pins.data[HALF..].fill(0);
        pins.keep &= keep(HALF);
    }

    /// The clock edge; returns the core's ready before it.
    pub(super) fn step(&mut self, core: &StreamOut, m_ready: bool) -> bool {
        let finishes = self.finishes(core);
        if core.valid && m_ready {
            self.high = !finishes;
        }
        m_ready && finishes
    }
}
