//! Place and route with OpenROAD (`area/openroad/`).

use std::path::Path;

use serde::Serialize;

use super::pdk::{Pdk, PdkError, Root};
use super::report::Report;
use super::synth::{Options, Rtl};

/// Layout.
#[derive(Debug, Clone, Serialize)]
pub struct Layout {}
impl Layout {
    /// x
    pub fn describe(&self) -> String {
        String::new()
    }
}
/// x
pub fn check(_pdk: &Pdk, _root: Option<&Root>) -> Result<(), PdkError> {
    Ok(())
}
/// x
#[allow(clippy::too_many_arguments)]
pub fn run(
    _openroad: &Path,
    _pdk: &Pdk,
    _root: Option<&Root>,
    _rtl: &Rtl,
    _options: &Options,
    _report: &Report,
    _dir: &Path,
    _progress: &(dyn Fn(&str) + Sync),
) -> Result<Layout, PdkError> {
    Ok(Layout {})
}
