//! Which implementation codes the blocks.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;

/// An implementation of the codec that this machine can run. All make the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Path(pub(super) Kind);

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

impl Path {
    /// Plain Rust, on every machine.
    pub const PORTABLE: Path = Path(Kind::Portable);

    /// The fastest one, looked for once.
    #[must_use]
    pub fn best() -> Path {
        static BEST: OnceLock<Path> = OnceLock::new();
        *BEST.get_or_init(|| Path::all().last().unwrap_or(Path::PORTABLE))
    }

    /// All that this machine can run, the fastest last.
    pub fn all() -> impl Iterator<Item = Path> {
        #[cfg(target_arch = "x86_64")]
        let fast = [Avx2::detect(), Avx2::detect_gfni()]
            .into_iter()
            .flatten()
            .map(|avx2| Path(Kind::Avx2(avx2)));
        #[cfg(not(target_arch = "x86_64"))]
        let fast = [];
        std::iter::once(Path::PORTABLE).chain(fast)
    }

    /// A name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(avx2) if avx2.gfni() => "avx2+gfni",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
        }
    }
}
