//! The verilated RTL as a device.

use std::path::Path;

use super::{Dut, DutError};
use crate::model::{Inputs, Outputs, Status, StreamIn, StreamOut};

/// The verilated engine.
#[derive(Debug)]
pub struct Rtl {
    engine: planezip_sim::Engine,
    inputs: planezip_sim::Inputs,
    outputs: planezip_sim::Outputs,
}

impl Rtl {
    /// The engine for a beat width, out of reset. State that reset does not touch starts random, by `seed`.
    ///
    /// # Errors
    /// [`DutError`] for a width that it does not have, or if an assertion fails during reset.
    pub fn new(beat_bytes: usize, seed: u64) -> Result<Rtl, DutError> {
        Ok(Rtl {
            engine: planezip_sim::Engine::new(beat_bytes, seed).map_err(error)?,
            inputs: planezip_sim::Inputs::default(),
            outputs: planezip_sim::Outputs::default(),
        })
    }

    /// Puts the engine through reset for so many cycles.
    ///
    /// # Errors
    /// [`DutError`] if an assertion fails.
    pub fn reset(&mut self, cycles: u32) -> Result<(), DutError> {
        self.engine.reset(cycles).map_err(error)
    }
}

fn error(e: planezip_sim::Error) -> DutError {
    DutError(e.to_string())
}

fn drive(pins: &StreamIn, to: &mut planezip_sim::StreamIn) {
    to.data = pins.data;
    to.keep = pins.keep;
    to.dtype = pins.dtype;
    to.last = pins.last;
    to.valid = pins.valid;
}

fn sample(pins: &planezip_sim::StreamOut, to: &mut StreamOut) {
    to.data = pins.data;
    to.keep = pins.keep;
    to.status = Status::from_words(&pins.status);
    to.last = pins.last;
    to.valid = pins.valid;
}

impl Dut for Rtl {
    fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), DutError> {
        drive(&inputs.comp_s, &mut self.inputs.comp_s);
        self.inputs.comp_m_ready = inputs.comp_m_ready;
        drive(&inputs.decomp_s, &mut self.inputs.decomp_s);
        self.inputs.decomp_m_ready = inputs.decomp_m_ready;
        self.engine
            .cycle(&self.inputs, &mut self.outputs)
            .map_err(error)?;
        outputs.comp_s_ready = self.outputs.comp_s_ready;
        sample(&self.outputs.comp_m, &mut outputs.comp_m);
        outputs.decomp_s_ready = self.outputs.decomp_s_ready;
        sample(&self.outputs.decomp_m, &mut outputs.decomp_m);
        Ok(())
    }

    fn open_trace(&mut self, path: &Path) -> Result<(), DutError> {
        self.engine.open_trace(path).map_err(error)
    }

    fn close_trace(&mut self) -> Result<(), DutError> {
        self.engine.close_trace().map_err(error)
    }
}
