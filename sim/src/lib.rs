//! The PlaneZip engine RTL, verilated, behind a `cxx` bridge.
//!
//! The build script verilates `rtl/planezip_engine.sv` for 16, 32 and 64 bytes per beat. An [`Engine`] is one
//! instance; several can live in one process, on any threads. Each call of [`Engine::cycle`] is one clock cycle:
//!
//! ```
//! use planezip_sim::{Engine, Inputs, Outputs};
//!
//! let mut engine = Engine::new(32, 1)?;
//! let mut outputs = Outputs::default();
//! // A packet of three bytes into the compressor, and a willing receiver at its output.
//! let mut inputs = Inputs { comp_m_ready: true, ..Inputs::default() };
//! inputs.comp_s.data[..3].copy_from_slice(&[1, 2, 3]);
//! inputs.comp_s.keep = 0b111;
//! inputs.comp_s.last = true;
//! inputs.comp_s.valid = true;
//! for _ in 0..20 {
//!     engine.cycle(&inputs, &mut outputs)?;
//!     if inputs.comp_s.valid && outputs.comp_s_ready {
//!         inputs.comp_s.valid = false;
//!     }
//!     if outputs.comp_m.valid {
//!         break;
//!     }
//! }
//! assert!(outputs.comp_m.valid && outputs.comp_m.last);
//! # Ok::<(), planezip_sim::Error>(())
//! ```
//!
//! Port meanings and timing: `docs/microarchitecture.md`.

use std::fmt;
use std::path::{Path, PathBuf};

use cxx::UniquePtr;
// Linked for Verilator's FST writer.
use libz_sys as _;
use lz4_sys as _;

pub use ffi::{Inputs, Outputs, StreamIn, StreamOut};

/// The widest beat in bytes; the size of the bridge's data arrays.
pub const MAX_BEAT_BYTES: usize = 64;

/// Words of 32 bits in a status (`planezip_pkg::status_t`, 248 bits).
pub const STATUS_WORDS: usize = 8;

#[cxx::bridge(namespace = "planezip_sim")]
mod ffi {
    /// What a stream's sender drives into the engine.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct StreamIn {
        /// `tdata`, byte 0 first; bytes from the engine's beat width on are not looked at.
        data: [u8; 64],
        /// `tkeep`, one bit per byte; bits from the engine's beat width on are not looked at.
        keep: u64,
        /// `tuser`: the dtype, 0 to 3; higher bits are not looked at.
        dtype: u8,
        /// `tlast`.
        last: bool,
        /// `tvalid`.
        valid: bool,
    }

    /// What the engine drives towards a stream's receiver.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct StreamOut {
        /// `tdata`, byte 0 first; zero from the engine's beat width on.
        data: [u8; 64],
        /// `tkeep`, one bit per byte.
        keep: u64,
        /// `tuser`: the bits of `planezip_pkg::status_t`, least significant word first.
        status: [u32; 8],
        /// `tlast`.
        last: bool,
        /// `tvalid`.
        valid: bool,
    }

    /// All input pins of the engine, clock and reset apart.
    #[derive(Clone, Debug, PartialEq, Eq, Default)]
    struct Inputs {
        /// Raw bytes into the compressor.
        comp_s: StreamIn,
        /// The receiver of the compressor's block stream is ready.
        comp_m_ready: bool,
        /// Block stream into the decompressor.
        decomp_s: StreamIn,
        /// The receiver of the decompressor's raw bytes is ready.
        decomp_m_ready: bool,
    }

    /// All output pins of the engine.
    #[derive(Clone, Debug, PartialEq, Eq, Default)]
    struct Outputs {
        /// The compressor takes a beat.
        comp_s_ready: bool,
        /// Block stream out of the compressor.
        comp_m: StreamOut,
        /// The decompressor takes a beat.
        decomp_s_ready: bool,
        /// Raw bytes out of the decompressor.
        decomp_m: StreamOut,
    }

    unsafe extern "C++" {
        include!("dut.h");

        type Dut;

        fn cycle(self: Pin<&mut Dut>, inputs: &Inputs, outputs: &mut Outputs) -> Result<()>;
        fn set_reset(self: Pin<&mut Dut>, active: bool) -> Result<()>;
        fn open_trace(self: Pin<&mut Dut>, path: &str) -> Result<()>;
        fn close_trace(self: Pin<&mut Dut>) -> Result<()>;
        fn time_ps(self: &Dut) -> u64;

        fn new_engine(beat_bytes: u32, seed: u32) -> Result<UniquePtr<Dut>>;
        fn new_loopback(beat_bytes: u32, seed: u32) -> Result<UniquePtr<Dut>>;
    }
}

// SAFETY: a `Dut` owns all of its state (model, context, trace file). The one thing Verilator keeps per thread is a
// pointer to the current context, which every `Dut` method sets before it uses the model.
#[allow(unsafe_code)]
unsafe impl Send for ffi::Dut {}

// `Default` cannot be derived for arrays of more than 32 elements.
impl Default for StreamIn {
    fn default() -> Self {
        StreamIn {
            data: [0; 64],
            keep: 0,
            dtype: 0,
            last: false,
            valid: false,
        }
    }
}

impl Default for StreamOut {
    fn default() -> Self {
        StreamOut {
            data: [0; 64],
            keep: 0,
            status: [0; 8],
            last: false,
            valid: false,
        }
    }
}

/// What can go wrong in a simulation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine does not come in this beat width.
    #[error("beat width {found} bytes, expected 16, 32 or 64")]
    BeatBytes {
        /// The width asked for.
        found: usize,
    },
    /// An assertion in the RTL failed, or it stopped by itself. The instance must not be used further.
    #[error("cycle {cycle}: {message}")]
    Rtl {
        /// Cycles simulated before.
        cycle: u64,
        /// What the RTL or the simulator said.
        message: String,
    },
    /// The waveform file cannot be written.
    #[error("{path}: {message}")]
    Trace {
        /// The file asked for.
        path: PathBuf,
        /// The reason.
        message: String,
    },
}

/// One simulated instance of the engine.
pub struct Engine {
    dut: UniquePtr<ffi::Dut>,
    beat_bytes: usize,
    cycles: u64,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("beat_bytes", &self.beat_bytes)
            .field("cycles", &self.cycles)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes an engine of `beat_bytes` (16, 32 or 64) bytes per beat and resets it.
    ///
    /// State that reset does not touch starts random, by `seed`: the same seed gives the same run.
    ///
    /// # Errors
    /// [`Error::BeatBytes`] for another width, [`Error::Rtl`] if an assertion fails during reset.
    pub fn new(beat_bytes: usize, seed: u64) -> Result<Self, Error> {
        Self::from_factory(ffi::new_engine, beat_bytes, seed)
    }

    /// Makes a module that has the engine's ports and loops them back (`sim/rtl/planezip_loopback.sv`), to check
    /// the bridge's marshalling.
    ///
    /// # Errors
    /// As [`Engine::new`].
    #[doc(hidden)]
    pub fn loopback(beat_bytes: usize, seed: u64) -> Result<Self, Error> {
        Self::from_factory(ffi::new_loopback, beat_bytes, seed)
    }

    fn from_factory(
        factory: fn(u32, u32) -> Result<UniquePtr<ffi::Dut>, cxx::Exception>,
        beat_bytes: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        if ![16, 32, 64].contains(&beat_bytes) {
            return Err(Error::BeatBytes { found: beat_bytes });
        }
        let dut = factory(beat_bytes as u32, fold_seed(seed)).map_err(|e| rtl_error(0, &e))?;
        let mut engine = Engine {
            dut,
            beat_bytes,
            cycles: 0,
        };
        engine.reset(2)?;
        Ok(engine)
    }

    /// Bytes per beat.
    pub fn beat_bytes(&self) -> usize {
        self.beat_bytes
    }

    /// Clock cycles simulated so far, those in reset included.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Simulated time in picoseconds: what a waveform viewer shows. A cycle is 1000 ps.
    pub fn time_ps(&self) -> u64 {
        self.dut.time_ps()
    }

    /// Simulates one clock cycle: drives `inputs` while the clock is low, samples every output into `outputs`, then
    /// raises the clock. So `outputs` are the pins in the very cycle of `inputs`, ready after combinational paths.
    ///
    /// # Errors
    /// [`Error::Rtl`] if an assertion in the RTL fails.
    pub fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), Error> {
        self.dut
            .pin_mut()
            .cycle(inputs, outputs)
            .map_err(|e| rtl_error(self.cycles, &e))?;
        self.cycles += 1;
        Ok(())
    }

    /// Asserts the asynchronous reset, runs `cycles` cycles with all inputs low, and releases it.
    ///
    /// # Errors
    /// [`Error::Rtl`] if an assertion in the RTL fails.
    pub fn reset(&mut self, cycles: u32) -> Result<(), Error> {
        self.set_reset(true)?;
        let mut outputs = Outputs::default();
        for _ in 0..cycles {
            self.cycle(&Inputs::default(), &mut outputs)?;
        }
        self.set_reset(false)
    }

    /// Drives the reset pin, between two cycles: `true` puts the engine into reset until the call with `false`.
    ///
    /// # Errors
    /// [`Error::Rtl`] if an assertion in the RTL fails.
    pub fn set_reset(&mut self, active: bool) -> Result<(), Error> {
        self.dut
            .pin_mut()
            .set_reset(active)
            .map_err(|e| rtl_error(self.cycles, &e))
    }

    /// Writes a waveform of every signal to `path` (FST) from the next cycle on, until [`Engine::close_trace`] or
    /// the end of the engine. A waveform that is open already is closed first.
    ///
    /// # Errors
    /// [`Error::Trace`] if the file cannot be written or its name is not UTF-8.
    pub fn open_trace(&mut self, path: &Path) -> Result<(), Error> {
        let error = |message: String| Error::Trace {
            path: path.to_path_buf(),
            message,
        };
        let name = path
            .to_str()
            .ok_or_else(|| error("the file name is not UTF-8".into()))?;
        // The writer itself does not say why it cannot open a file.
        std::fs::File::create(path).map_err(|e| error(e.to_string()))?;
        self.dut
            .pin_mut()
            .open_trace(name)
            .map_err(|e| error(e.to_string()))
    }

    /// Finishes the waveform; does nothing if none is open.
    ///
    /// # Errors
    /// [`Error::Rtl`] if the simulator cannot finish it.
    pub fn close_trace(&mut self) -> Result<(), Error> {
        self.dut
            .pin_mut()
            .close_trace()
            .map_err(|e| rtl_error(self.cycles, &e))
    }
}

fn rtl_error(cycle: u64, e: &cxx::Exception) -> Error {
    Error::Rtl {
        cycle,
        message: e.what().to_string(),
    }
}

/// Verilator's seed has fewer bits than ours: mixes all of them in.
fn fold_seed(seed: u64) -> u32 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}
