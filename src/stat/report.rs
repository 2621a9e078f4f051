//! What is reported, and how tensors are added up.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::{FLOATS, Figures, Rivals};
use crate::format::{FORMS, Form};
use crate::tensor::{Float, TensorMeta};

/// Fractions of full blocks by form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Modes {
    /// Kept as they are.
    pub raw: f64,
    /// Zero-value.
    pub zero_value: f64,
    /// Bit planes.
    pub bit_plane: f64,
    /// Bit planes of differences.
    pub delta_bit_plane: f64,
    /// Bit planes of the non-zero words.
    pub zero_masked: f64,
}

impl Modes {
    fn from_fractions(f: [f64; FORMS]) -> Self {
        let of = |form: Form| f[form as usize];
        Modes {
            raw: of(Form::Raw),
            zero_value: of(Form::ZeroValue),
            bit_plane: of(Form::BitPlane),
            delta_bit_plane: of(Form::DeltaBitPlane),
            zero_masked: of(Form::ZeroMasked),
        }
    }

    fn from_blocks(blocks: [u64; FORMS]) -> Self {
        let total = blocks.iter().sum::<u64>().max(1) as f64;
        Modes::from_fractions(blocks.map(|n| n as f64 / total))
    }

    /// The fractions with their forms' names, in the order of the form codes.
    #[must_use]
    pub fn named(&self) -> [(&'static str, f64); FORMS] {
        [
            (Form::Raw.name(), self.raw),
            (Form::ZeroValue.name(), self.zero_value),
            (Form::BitPlane.name(), self.bit_plane),
            (Form::DeltaBitPlane.name(), self.delta_bit_plane),
            (Form::ZeroMasked.name(), self.zero_masked),
        ]
    }
}

/// One tensor's figures.
#[derive(Clone, Debug, Serialize)]
pub struct TensorReport {
    /// The file it is in.
    pub file: String,
    /// Its name, or the file's stem if the file has no names.
    pub name: String,
    /// Element type as safetensors spells it.
    pub dtype: String,
    /// Shape as stored in the file.
    pub shape: Vec<u64>,
    /// The model its file belongs to.
    pub model: String,
    /// The run's precision, if the JSON beside the file gives one.
    pub run: Option<String>,
    /// Bytes in the file.
    pub raw_bytes: u64,
    /// Bytes of its block stream.
    pub compressed_bytes: u64,
    /// Bytes under the plain zero-value codec.
    pub zero_value_bytes: u64,
    /// Bytes it stands for, which are its weight.
    pub weight_bytes: u64,
    /// Raw bytes / block stream bytes; absent for an empty tensor.
    pub ratio: Option<f64>,
    /// Raw bytes / bytes under the plain zero-value codec.
    pub zero_value_ratio: Option<f64>,
    /// Share of elements that equal zero (+0 and -0).
    pub zero_fraction: Option<f64>,
    /// Share of elements whose bits are all zero.
    pub zero_bits_fraction: Option<f64>,
    /// Ratio under the order-0 bound; absent for non-floats and where the bound is no bits at all.
    pub order0_bound: Option<f64>,
    /// Share of full blocks by form.
    pub modes: Modes,
    /// True if it counts towards the summary.
    pub counted: bool,
    /// Why it does not.
    pub not_counted_because: Option<&'static str>,
    /// Bytes under the codecs that are compared with, if asked for; absent for an empty tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rival_bytes: Option<Rivals<u64>>,
    /// Raw bytes / these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rivals: Option<Rivals<f64>>,
    /// The bound as a share of the raw bytes.
    #[serde(skip)]
    order0_share: f64,
    #[serde(skip)]
    float: Option<Float>,
}

impl TensorReport {
    #[expect(
        clippy::too_many_arguments,
        reason = "private constructor called in one place"
    )]
    pub(super) fn new(
        file: &str,
        path: &Path,
        model: &str,
        run: Option<&str>,
        meta: &TensorMeta,
        figures: Figures,
        weight_bytes: u64,
        not_counted_because: Option<&'static str>,
        rival_bytes: Option<Rivals<u64>>,
    ) -> Self {
        let raw = figures.stats.raw_bytes;
        let ratio = |bytes: f64| (bytes > 0.0).then(|| raw as f64 / bytes);
        let share = |n: u64| (figures.elements > 0).then(|| n as f64 / figures.elements as f64);
        let order0_bytes = figures.order0_bits.unwrap_or(0.0) / 8.0;
        TensorReport {
            file: file.into(),
            name: if meta.name.is_empty() {
                path.file_stem()
                    .map_or_else(|| file.into(), |s| s.to_string_lossy().into_owned())
            } else {
                meta.name.clone()
            },
            dtype: meta.dtype.name().into(),
            shape: meta.shape_for(raw),
            model: model.into(),
            run: run.map(Into::into),
            raw_bytes: raw,
            compressed_bytes: figures.stats.comp_bytes,
            zero_value_bytes: figures.zero_value_bytes,
            weight_bytes,
            ratio: ratio(figures.stats.comp_bytes as f64),
            zero_value_ratio: ratio(figures.zero_value_bytes as f64),
            zero_fraction: share(figures.zeros),
            zero_bits_fraction: share(figures.zero_bits),
            order0_bound: ratio(order0_bytes),
            modes: Modes::from_blocks(figures.stats.blocks),
            counted: not_counted_because.is_none(),
            not_counted_because,
            rival_bytes,
            rivals: rival_bytes.map(|r| r.map(|bytes| raw as f64 / bytes as f64)),
            order0_share: if raw > 0 { order0_bytes / raw as f64 } else { 0.0 },
            float: meta.dtype.float(),
        }
    }
}

/// How a model's tensors' own ratios spread, each tensor counting once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The lowest.
    pub min: f64,
    /// The middle one (the lower of two).
    pub median: f64,
    /// The highest.
    pub max: f64,
}

/// One model's figures; shares are weighted by the bytes the tensors stand for.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// Weighted ratio.
    pub ratio: f64,
    /// The same under the plain zero-value codec.
    pub zero_value_ratio: f64,
    /// The same under the order-0 bound; absent if the bound is no bits at all.
    pub order0_bound: Option<f64>,
    /// The same under the codecs that are compared with, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rivals: Option<Rivals<f64>>,
    /// Share of elements that equal zero.
    pub zero_fraction: f64,
    /// Share of elements whose bits are all zero.
    pub zero_bits_fraction: f64,
    /// Share of full blocks by form.
    pub modes: Modes,
    /// Spread of the tensors' own ratios.
    pub spread: Spread,
    /// Tensors counted.
    pub tensors: u64,
    /// Their bytes in the files.
    pub raw_bytes: u64,
    /// The bytes they stand for.
    pub weight_bytes: u64,
}

impl ModelReport {
    /// Adds up tensors; `None` if they weigh nothing.
    fn of(tensors: &[&TensorReport]) -> Option<Self> {
        let sum = |f: &dyn Fn(&TensorReport) -> f64| -> f64 {
            tensors.iter().map(|t| t.weight_bytes as f64 * f(t)).sum()
        };
        let weight = sum(&|_| 1.0);
        if weight == 0.0 {
            return None;
        }
        let mean = |f: &dyn Fn(&TensorReport) -> f64| sum(f) / weight;
        let order0 = mean(&|t| t.order0_share);
        let mut modes = [0.0; FORMS];
        for (i, m) in modes.iter_mut().enumerate() {
            *m = mean(&|t| t.modes.named()[i].1);
        }
        let mut ratios: Vec<f64> = tensors.iter().filter_map(|t| t.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let rivals: Option<Vec<Rivals<f64>>> = tensors.iter().map(|t| t.rivals).collect();
        let rivals = rivals.map(|all| {
            Rivals::combine(&all, |ratios| {
                let coded = tensors.iter().zip(ratios).map(|(t, r)| t.weight_bytes as f64 / r);
                weight / coded.sum::<f64>()
            })
        });
        let at = |i: usize| ratios.get(i).copied().unwrap_or_default();
        Some(ModelReport {
            ratio: 1.0 / mean(&|t| t.ratio.map_or(0.0, f64::recip)),
            zero_value_ratio: 1.0 / mean(&|t| t.zero_value_ratio.map_or(0.0, f64::recip)),
            order0_bound: (order0 > 0.0).then(|| order0.recip()),
            rivals,
            zero_fraction: mean(&|t| t.zero_fraction.unwrap_or(0.0)),
            zero_bits_fraction: mean(&|t| t.zero_bits_fraction.unwrap_or(0.0)),
            modes: Modes::from_fractions(modes),
            spread: Spread {
                min: at(0),
                median: at(ratios.len().saturating_sub(1) / 2),
                max: at(ratios.len().saturating_sub(1)),
            },
            tensors: tensors.len() as u64,
            raw_bytes: tensors.iter().map(|t| t.raw_bytes).sum(),
            weight_bytes: tensors.iter().map(|t| t.weight_bytes).sum(),
        })
    }
}

/// The geometric mean; NaN of nothing.
pub(crate) fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / n).exp()
}

/// The figures of one float type: geometric means over models.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Geometric mean of the models' ratios.
    pub ratio: f64,
    /// Geometric mean of the models' zero-value ratios.
    pub zero_value_ratio: f64,
    /// Geometric mean of the models' order-0 bounds; absent if one has none.
    pub order0_bound: Option<f64>,
    /// Geometric means of the models' ratios under the codecs that are compared with, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rivals: Option<Rivals<f64>>,
    /// The models.
    pub models: BTreeMap<String, ModelReport>,
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
    /// Adds up the tensors that count.
    #[must_use]
    pub fn of(tensors: &[TensorReport]) -> Self {
        let group = |float: Float| -> Option<Group> {
            let mut by_model: BTreeMap<&str, Vec<&TensorReport>> = BTreeMap::new();
            for t in tensors.iter().filter(|t| t.counted && t.float == Some(float)) {
                by_model.entry(&t.model).or_default().push(t);
            }
            let models: BTreeMap<String, ModelReport> = by_model
                .into_iter()
                .filter_map(|(name, tensors)| Some((name.to_owned(), ModelReport::of(&tensors)?)))
                .collect();
            if models.is_empty() {
                return None;
            }
            let mean_of = |all: &[f64]| geometric_mean(all.iter().copied());
            let geometric_mean = |f: &dyn Fn(&ModelReport) -> f64| geometric_mean(models.values().map(f));
            let rivals: Option<Vec<Rivals<f64>>> = models.values().map(|m| m.rivals).collect();
            Some(Group {
                ratio: geometric_mean(&|m| m.ratio),
                zero_value_ratio: geometric_mean(&|m| m.zero_value_ratio),
                order0_bound: models
                    .values()
                    .all(|m| m.order0_bound.is_some())
                    .then(|| geometric_mean(&|m| m.order0_bound.unwrap_or(1.0))),
                rivals: rivals.map(|all| Rivals::combine(&all, mean_of)),
                models,
            })
        };
        let [bf16, f16, f32] = FLOATS.map(group);
        Summary { bf16, f16, f32 }
    }

    /// The groups there are, with their float types.
    pub fn groups(&self) -> impl Iterator<Item = (Float, &Group)> {
        FLOATS
            .into_iter()
            .zip([&self.bf16, &self.f16, &self.f32])
            .filter_map(|(float, group)| Some((float, group.as_ref()?)))
    }
}

/// All figures of a run of `planezip stat`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Figures by float type and model.
    pub summary: Summary,
    /// Number of files looked at.
    pub files: u64,
    /// Files of consecutive iterations that were found in directories and not looked at.
    pub files_left_out: Vec<String>,
    /// Things a user should know.
    pub notes: Vec<String>,
    /// Every tensor, in the order of the files.
    pub tensors: Vec<TensorReport>,
}
