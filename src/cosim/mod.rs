//! Cosimulation: the RTL engine against the cycle model and the golden codec.
//!
//! A [`Dut`] is anything with the engine's pins: the verilated RTL (`Rtl`, feature `cosim`), or the model itself
//! ([`ModelDut`]), which lets the harness be tested without Verilator. [`run`] drives a `Dut` and the model with the
//! same [`Work`] under a [`Profile`] of stalls and compares every output pin in every cycle; beside that it checks
//! the AXI4-Stream rules, the bytes against the golden codec, and that both channels keep moving.
//!
//! The page for users is `docs/cosim.md`.

mod blocks;
mod dut;
mod files;
mod harness;
mod lane;
mod malformed;
mod random;
mod report;
#[cfg(feature = "cosim")]
mod rtl;
mod stall;
mod work;

pub use dut::{Dut, DutError, ModelDut};
pub use files::{FileItem, FilePackets};
pub use harness::{Config, Direction, Error, Observer, run};
pub use malformed::malformed;
pub use random::{RandomPackets, foreign};
pub use report::{Channel, ChannelReport, Failure, FailureKind, Place, Report};
#[cfg(feature = "cosim")]
pub use rtl::Rtl;
pub use stall::{Profile, Stalls};
pub use work::{DecodeJob, EncodeJob, Work};

/// The random number generator of all stimulus: its sequence is the same on every platform and in every version.
pub type StimulusRng = rand_chacha::ChaCha8Rng;

/// A generator for one purpose (`stream`) of a run with this seed.
#[must_use]
pub fn rng(seed: u64, stream: u64) -> StimulusRng {
    use rand::SeedableRng;
    let mut rng = StimulusRng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}
