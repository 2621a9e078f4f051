//! `NAME.json` beside a tensor file: model, run, and the full sizes its tensors stand for.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::Deserialize;

/// What the JSON beside a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sidecar {
    /// The model.
    pub model: Option<String>,
    /// The run's precision, as written (`bf16`, `fp32`).
    pub precision: Option<String>,
    /// True if it lists iterations instead of tensors.
    pub iterations: bool,
    bytes: HashMap<String, u64>,
}

#[derive(Deserialize)]
struct Tensor {
    key: Option<String>,
    bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Iteration {
    #[serde(default)]
    tensors: Vec<Tensor>,
}

#[derive(Deserialize)]
struct Document {
    model: Option<String>,
    precision: Option<String>,
    tensors: Option<Vec<Tensor>>,
    iterations: Option<Vec<Iteration>>,
}

impl Sidecar {
    /// Reads the JSON beside `path`, if there is one. One that is of another kind is not used, and said so in the
    /// note.
    pub(super) fn beside(path: &Path) -> (Option<Sidecar>, Option<String>) {
        let json = path.with_extension("json");
        if json == path {
            return (None, None);
        }
        let file = match File::open(&json) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return (None, None),
            Err(e) => return (None, Some(format!("{}: not used: {e}", json.display()))),
        };
        match serde_json::from_reader::<_, Document>(BufReader::new(file)) {
            Ok(f) if f.model.is_none() && f.tensors.is_none() && f.iterations.is_none() => (
                None,
                Some(format!(
                    "{}: not used: it names no model and no tensors",
                    json.display()
                )),
            ),
            Ok(f) => {
                let iterations = f.iterations.is_some();
                let of_iterations = f.iterations.into_iter().flatten().flat_map(|i| i.tensors);
                let bytes = f
                    .tensors
                    .into_iter()
                    .flatten()
                    .chain(of_iterations)
                    .filter_map(|t| Some((t.key?, t.bytes?)))
                    .collect();
                let sidecar = Sidecar {
                    model: f.model,
                    precision: f.precision,
                    iterations,
                    bytes,
                };
                (Some(sidecar), None)
            }
            Err(e) => (None, Some(format!("{}: not used: {e}", json.display()))),
        }
    }

    /// True if it gives any tensor's size.
    #[must_use]
    pub fn has_tensors(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The full size in bytes of the tensor that `name` in the file stands for.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.bytes.get(name).copied()
    }
}

/// True for a file of several consecutive iterations.
pub(super) fn is_consecutive(path: &Path, sidecar: Option<&Sidecar>) -> bool {
    sidecar.is_some_and(|s| s.iterations)
        || path
            .file_stem()
            .is_some_and(|s| s.to_string_lossy().split('_').any(|part| part == "consecutive"))
}
