//! What can be put under test.

use std::path::Path;

use crate::model::{Engine, Inputs, Outputs};

/// The device under test cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DutError(pub String);

/// A device with the engine's pins, out of reset.
pub trait Dut {
    /// One clock cycle: drives `inputs`, samples all outputs of that cycle into `outputs`, then the clock edge.
    ///
    /// # Errors
    /// [`DutError`] if the device stops by itself, for instance at a failed assertion.
    fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), DutError>;

    /// Records waves to a file from here on.
    ///
    /// # Errors
    /// [`DutError`] if it cannot.
    fn open_trace(&mut self, path: &Path) -> Result<(), DutError> {
        Err(DutError(format!(
            "{}: this device records no waves",
            path.display()
        )))
    }

    /// Finishes the waves, if any are recorded.
    ///
    /// # Errors
    /// [`DutError`] if the file cannot be completed.
    fn close_trace(&mut self) -> Result<(), DutError> {
        Ok(())
    }
}

/// The cycle model as a device.
#[derive(Clone, Debug)]
pub struct ModelDut(pub Engine);

impl Dut for ModelDut {
    fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), DutError> {
        self.0.outputs(outputs);
        self.0.step(inputs);
        Ok(())
    }
}
