//! What a race ran on.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::Serialize;

/// The machine, and what this program was built with.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name, or its architecture where the system gives no name.
    pub cpu: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// The compiler.
    pub rustc: &'static str,
    /// True for a build without debug assertions (`--release`); others say little about speed.
    pub release: bool,
    /// Versions: this program, the C libraries, the crates that bring them.
    pub versions: BTreeMap<&'static str, String>,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn here() -> Self {
        let versions = [
            ("planezip", env!("CARGO_PKG_VERSION")),
            ("lz4", lzzzz::version_string()),
            ("lzzzz crate", env!("PLANEZIP_CRATE_LZZZZ")),
            ("zstd", zstd::zstd_safe::version_string()),
            ("zstd crate", env!("PLANEZIP_CRATE_ZSTD")),
            ("fearless_simd crate", env!("PLANEZIP_CRATE_FEARLESS_SIMD")),
        ];
        Machine {
            cpu: cpu(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            rustc: env!("PLANEZIP_RUSTC"),
            release: !cfg!(debug_assertions),
            versions: versions.map(|(name, version)| (name, version.to_owned())).into(),
        }
    }
}

/// Time for which this process's first thread was ready to run and had no processor, so far; `None` where the system
/// does not tell.
pub(super) fn waited() -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(
        text.split_whitespace().nth(1)?.parse().ok()?,
    ))
}

fn cpu() -> String {
    // Linux on x86; elsewhere the file is missing or has no such line.
    fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
