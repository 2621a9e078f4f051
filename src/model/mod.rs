//! Cycle model of the RTL engine: predicts every output pin of `planezip_engine` in every cycle.
//!
//! Written from `docs/microarchitecture.md` and `docs/format.md` alone. The bytes come from the golden codec, the timing
//! from the model's own registers. No output pin of the engine depends on an input pin of the same cycle, so
//! [`Engine::outputs`] needs the registers only; [`Engine::step`] is the clock edge.
//!
//! ```
//! use planezip::model::{Engine, Inputs, Outputs};
//!
//! let mut engine = Engine::new(32)?;
//! let mut pins = Outputs::default();
//! // A packet of three bytes into the compressor, and a willing receiver at its output.
//! let mut inputs = Inputs { comp_m_ready: true, ..Inputs::default() };
//! inputs.comp_s.data[..3].copy_from_slice(&[1, 2, 3]);
//! inputs.comp_s.keep = 0b111;
//! inputs.comp_s.last = true;
//! inputs.comp_s.valid = true;
//! let mut cycles = 0;
//! while !pins.comp_m.valid {
//!     engine.outputs(&mut pins);
//!     engine.step(&inputs);
//!     inputs.comp_s.valid = false;
//!     cycles += 1;
//! }
//! assert_eq!(cycles, 5); // in cycle 0, out in cycle 4
//! assert_eq!(pins.comp_m.data[..5], [0xC2, 3, 1, 2, 3]);
//! # Ok::<(), planezip::model::BeatBytesError>(())
//! ```

mod compressor;
mod decompressor;
mod pins;
mod units;
mod width;

pub use pins::{Inputs, MAX_BEAT_BYTES, Outputs, STATUS_WORDS, Status, StreamIn, StreamOut};

use compressor::Compressor;
use decompressor::Decompressor;
use width::{Downsizer, Upsizer};

/// Beat widths in bytes that the engine has.
pub const BEAT_BYTES: [usize; 3] = [16, 32, 64];

/// A beat width that the engine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("beat width {found} bytes, expected 16, 32 or 64")]
pub struct BeatBytesError {
    /// The width asked for, in bytes.
    pub found: usize,
}

/// A beat on its way between the engine's parts: bytes from `len` on are zero.
#[derive(Clone, Copy, Debug)]
struct Beat {
    data: [u8; MAX_BEAT_BYTES],
    len: usize,
    last: bool,
}

impl Beat {
    const EMPTY: Beat = Beat {
        data: [0; MAX_BEAT_BYTES],
        len: 0,
        last: false,
    };

    /// What an input port carries: all of the beat, or on a packet's last beat the bytes that `tkeep` marks.
    fn from_pins(pins: &StreamIn, beat_bytes: usize) -> Beat {
        let len = if pins.last {
            (pins.keep.trailing_ones() as usize).min(beat_bytes)
        } else {
            beat_bytes
        };
        let mut data = [0; MAX_BEAT_BYTES];
        data[..len].copy_from_slice(&pins.data[..len]);
        Beat {
            data,
            len,
            last: pins.last,
        }
    }

    fn to_pins(self, status: Status) -> StreamOut {
        StreamOut {
            data: self.data,
            keep: keep(self.len),
            status,
            last: self.last,
            valid: true,
        }
    }
}

/// `tkeep` of a beat with `len` bytes.
const fn keep(len: usize) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// Converters between a port of 16 bytes and a core of 32.
#[derive(Clone, Debug, Default)]
struct Converters {
    up: Upsizer,
    down: Downsizer,
}

/// The cycle model of one engine, both channels.
#[derive(Clone, Debug)]
pub struct Engine {
    beat_bytes: usize,
    compressor: Compressor,
    decompressor: Decompressor,
    /// Compress and decompress side, for 16 bytes per beat.
    converters: Option<Box<(Converters, Converters)>>,
}

impl Engine {
    /// An engine of `beat_bytes` (16, 32 or 64) bytes per beat that comes out of reset.
    ///
    /// # Errors
    /// [`BeatBytesError`] for another width.
    pub fn new(beat_bytes: usize) -> Result<Engine, BeatBytesError> {
        if !BEAT_BYTES.contains(&beat_bytes) {
            return Err(BeatBytesError { found: beat_bytes });
        }
        let core = beat_bytes.max(32);
        Ok(Engine {
            beat_bytes,
            compressor: Compressor::new(core),
            decompressor: Decompressor::new(core),
            converters: (beat_bytes == 16).then(Box::default),
        })
    }

    /// Bytes per beat.
    #[must_use]
    pub fn beat_bytes(&self) -> usize {
        self.beat_bytes
    }

    /// All output pins in this cycle.
    pub fn outputs(&self, pins: &mut Outputs) {
        let (c, d) = (&self.compressor, &self.decompressor);
        match &self.converters {
            None => {
                pins.comp_s_ready = c.ready();
                c.output(&mut pins.comp_m);
                pins.decomp_s_ready = d.ready();
                d.output(&mut pins.decomp_m);
            }
            Some(converters) => {
                let (cc, dc) = &**converters;
                pins.comp_s_ready = cc.up.ready(c.ready());
                c.output(&mut pins.comp_m);
                cc.down.output(&mut pins.comp_m);
                pins.decomp_s_ready = dc.up.ready(d.ready());
                d.output(&mut pins.decomp_m);
                dc.down.output(&mut pins.decomp_m);
            }
        }
    }

    /// The clock edge that ends this cycle.
    pub fn step(&mut self, inputs: &Inputs) {
        let (c, d) = (&mut self.compressor, &mut self.decompressor);
        match &mut self.converters {
            None => {
                c.step(&inputs.comp_s, inputs.comp_m_ready);
                d.step(&inputs.decomp_s, inputs.decomp_m_ready);
            }
            Some(converters) => {
                let (cc, dc) = &mut **converters;
                let mut shown = StreamOut::default();
                c.output(&mut shown);
                let ready = cc.down.step(&shown, inputs.comp_m_ready);
                let s = cc.up.step(&inputs.comp_s, c.ready());
                c.step(&s, ready);
                d.output(&mut shown);
                let ready = dc.down.step(&shown, inputs.decomp_m_ready);
                let s = dc.up.step(&inputs.decomp_s, d.ready());
                d.step(&s, ready);
            }
        }
    }
}
