//! What a race reports.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Machine;
use crate::tensor::Float;

/// Speed over many repetitions, in GB (10^9 raw bytes) per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// The median (the slower of two).
    pub median: f64,
    /// The slowest.
    pub min: f64,
    /// The fastest.
    pub max: f64,
    /// Distance between the quartiles as a share of the median.
    pub spread: f64,
}

impl Speed {
    /// Of at least one repetition.
    pub(super) fn of(mut all: Vec<f64>) -> Self {
        all.sort_by(f64::total_cmp);
        let at = |num: usize, den: usize| all.get((all.len() - 1) * num / den).copied().unwrap_or(f64::NAN);
        Speed {
            median: at(1, 2),
            min: at(0, 1),
            max: at(1, 1),
            spread: (at(3, 4) - at(1, 4)) / at(1, 2),
        }
    }
}

/// One direction's figures; contestants by their keys.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Direction {
    /// Speeds.
    pub gb_per_s: BTreeMap<&'static str, Speed>,
    /// The codec's speed on one thread / that of each other contestant on one thread.
    pub planezip_over: BTreeMap<&'static str, f64>,
    /// The codec's speed on all threads / that on one.
    pub speedup: f64,
}

/// One model's figures.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// Tensors measured.
    pub tensors: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// Bytes that a pass of the copy reads and writes: what the caches would have to hold.
    pub working_set_bytes: u64,
    /// Repetitions of each contestant and direction.
    pub rounds: u64,
    /// Bytes of each contestant's streams.
    pub stream_bytes: BTreeMap<&'static str, u64>,
    /// Raw bytes to streams.
    pub compress: Direction,
    /// Streams to raw bytes.
    pub decompress: Direction,
}

/// Geometric means over models in one direction.
#[derive(Clone, Debug, Serialize)]
pub struct Means {
    /// Of the median speeds.
    pub gb_per_s: BTreeMap<&'static str, f64>,
    /// Of the codec's speed over the others'.
    pub planezip_over: BTreeMap<&'static str, f64>,
    /// Of the speed on all threads over that on one.
    pub speedup: f64,
}

/// The figures of one float type.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Raw bytes to streams: geometric means over models.
    pub compress: Means,
    /// Streams to raw bytes: geometric means over models.
    pub decompress: Means,
    /// The models.
    pub models: BTreeMap<String, ModelReport>,
}

impl Group {
    /// Adds up models.
    pub(super) fn of(models: BTreeMap<String, ModelReport>) -> Self {
        let means = |direction: &dyn Fn(&ModelReport) -> &Direction| {
            let mean = |f: &dyn Fn(&Direction) -> f64| {
                crate::stat::geometric_mean(models.values().map(|m| f(direction(m))))
            };
            let first = models.values().next().map(direction);
            let keys = |of: &dyn Fn(&Direction) -> Vec<&'static str>| first.map(of).unwrap_or_default();
            Means {
                gb_per_s: keys(&|d| d.gb_per_s.keys().copied().collect())
                    .into_iter()
                    .map(|key| (key, mean(&|d| d.gb_per_s[key].median)))
                    .collect(),
                planezip_over: keys(&|d| d.planezip_over.keys().copied().collect())
                    .into_iter()
                    .map(|key| (key, mean(&|d| d.planezip_over[key])))
                    .collect(),
                speedup: mean(&|d| d.speedup),
            }
        };
        Group {
            compress: means(&|m| &m.compress),
            decompress: means(&|m| &m.decompress),
            models,
        }
    }
}

/// Figures by float type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// BF16 tensors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bf16: Option<Group>,
    /// F16 tensors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f16: Option<Group>,
    /// F32 tensors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f32: Option<Group>,
}

impl Summary {
    /// The groups there are, with their float types.
    pub fn groups(&self) -> impl Iterator<Item = (Float, &Group)> {
        crate::stat::FLOATS
            .into_iter()
            .zip([&self.bf16, &self.f16, &self.f32])
            .filter_map(|(float, group)| Some((float, group.as_ref()?)))
    }
}

/// What was measured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Data {
    /// Tensors.
    pub tensors: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// Bytes that were compressed, decompressed and found equal, over all contestants.
    pub verified_bytes: u64,
}

/// All figures of a race.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The machine.
    pub machine: Machine,
    /// The data.
    pub data: Data,
    /// Threads of the contestant that uses several.
    pub threads: usize,
    /// Share of the time for which the first thread was ready to run and had no processor: more than a few hundredths
    /// mean that other programs ran, and that no speed here says much. Absent where the system does not tell.
    pub waited_share: Option<f64>,
    /// Figures by float type and model.
    pub summary: Summary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        let speed = Speed::of(vec![5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!((speed.median, speed.min, speed.max), (3.0, 1.0, 5.0));
        approx::assert_relative_eq!(speed.spread, 2.0 / 3.0);
        let one = Speed::of(vec![7.0]);
        assert_eq!((one.median, one.min, one.max, one.spread), (7.0, 7.0, 7.0, 0.0));
    }
}
