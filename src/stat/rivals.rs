//! One figure for each codec that is compared with.

use serde::Serialize;

/// A figure for each codec that tensors are compared with (`crate::bench`, feature `bench`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rivals<T> {
    /// The plain zero-value codec.
    pub zero_value: T,
    /// lz4, acceleration 1.
    pub lz4: T,
    /// zstd, level 3.
    pub zstd_3: T,
    /// zstd, level 19.
    pub zstd_19: T,
    /// Bit transposition in blocks of 8 KiB and lz4.
    pub bitshuffle_lz4: T,
}

impl<T> Rivals<T> {
    /// The same of other figures.
    ///
    /// # Errors
    /// The first that `f` gives.
    pub fn try_map<U, E>(self, mut f: impl FnMut(T) -> Result<U, E>) -> Result<Rivals<U>, E> {
        Ok(Rivals {
            zero_value: f(self.zero_value)?,
            lz4: f(self.lz4)?,
            zstd_3: f(self.zstd_3)?,
            zstd_19: f(self.zstd_19)?,
            bitshuffle_lz4: f(self.bitshuffle_lz4)?,
        })
    }

    /// The same of other figures.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Rivals<U> {
        Rivals {
            zero_value: f(self.zero_value),
            lz4: f(self.lz4),
            zstd_3: f(self.zstd_3),
            zstd_19: f(self.zstd_19),
            bitshuffle_lz4: f(self.bitshuffle_lz4),
        }
    }

    /// The figures, to be changed in place.
    pub fn as_mut(&mut self) -> Rivals<&mut T> {
        Rivals {
            zero_value: &mut self.zero_value,
            lz4: &mut self.lz4,
            zstd_3: &mut self.zstd_3,
            zstd_19: &mut self.zstd_19,
            bitshuffle_lz4: &mut self.bitshuffle_lz4,
        }
    }

    /// The figures with names for tables; the zero-value codec first.
    pub fn named(self) -> [(&'static str, T); 5] {
        [
            ("ZV", self.zero_value),
            ("lz4", self.lz4),
            ("zstd -3", self.zstd_3),
            ("zstd -19", self.zstd_19),
            ("bitshuffle+lz4", self.bitshuffle_lz4),
        ]
    }
}

impl Rivals<f64> {
    /// Combines figures of several, one codec at a time.
    pub(super) fn combine(all: &[Rivals<f64>], f: impl Fn(&[f64]) -> f64) -> Rivals<f64> {
        let of = |figure: &dyn Fn(&Rivals<f64>) -> f64| f(&all.iter().map(figure).collect::<Vec<_>>());
        Rivals {
            zero_value: of(&|r| r.zero_value),
            lz4: of(&|r| r.lz4),
            zstd_3: of(&|r| r.zstd_3),
            zstd_19: of(&|r| r.zstd_19),
            bitshuffle_lz4: of(&|r| r.bitshuffle_lz4),
        }
    }
}
