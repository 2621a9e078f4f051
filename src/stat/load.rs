//! The tensors that count, with their bytes.

use std::path::Path;

use super::{Error, Request, Selection, Sidecar, Sink, model_names, not_counted, run_float, select, visit};
use crate::tensor::{Float, TensorMeta};

/// A tensor in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The file it is in.
    pub file: String,
    /// Its name within the file.
    pub name: String,
    /// The model its file belongs to.
    pub model: String,
    /// Its element type.
    pub float: Float,
    /// Bytes it stands for, which are its weight.
    pub weight: u64,
    /// Its bytes.
    pub raw: Vec<u8>,
}

/// The tensors of files.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Those that count, in the order of the files.
    pub tensors: Vec<Tensor>,
    /// Number of files looked at.
    pub files: u64,
    /// Files of consecutive iterations that were found in directories and not looked at.
    pub files_left_out: Vec<String>,
    /// Things a user should know.
    pub notes: Vec<String>,
}

struct Loader<'a> {
    file: &'a Path,
    model: &'a str,
    run: Option<Float>,
    sidecar: Option<&'a Sidecar>,
    current: Option<TensorMeta>,
    raw: Vec<u8>,
    tensors: &'a mut Vec<Tensor>,
}

impl Sink for Loader<'_> {
    fn begin(&mut self, meta: &TensorMeta) {
        self.current = Some(meta.clone());
    }

    fn push(&mut self, raw: &[u8]) {
        if self.current.is_some() {
            self.raw.extend_from_slice(raw);
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let raw = std::mem::take(&mut self.raw);
        if let Some(meta) = self.current.take()
            && not_counted(&meta.dtype, self.run, raw.len() as u64).is_none()
            && let Some(float) = meta.dtype.float()
        {
            let of_sidecar = self.sidecar.and_then(|s| s.bytes(&meta.name));
            self.tensors.push(Tensor {
                weight: of_sidecar.unwrap_or(raw.len() as u64),
                file: self.file.display().to_string(),
                name: meta.name,
                model: self.model.to_owned(),
                float,
                raw,
            });
        }
        Ok(())
    }
}

/// Reads the tensors that [`collect`](super::collect) counts, under the same rules, into memory.
///
/// # Errors
/// The first file's [`Error`], in the order of the files.
pub fn load(request: &Request) -> Result<Loaded, Error> {
    let Selection {
        files,
        left_out,
        mut notes,
    } = select(&request.paths)?;
    let mut tensors = Vec::new();
    for ((path, sidecar), model) in files.iter().zip(&model_names(&files)) {
        let mut loader = Loader {
            file: path,
            model,
            run: run_float(sidecar.as_ref()),
            sidecar: sidecar.as_ref(),
            current: None,
            raw: Vec::new(),
            tensors: &mut tensors,
        };
        let of_file = visit(path, &request.options, &mut loader)?;
        notes.extend(of_file.iter().map(|n| format!("{}: {n}", path.display())));
    }
    Ok(Loaded {
        tensors,
        files: files.len() as u64,
        files_left_out: left_out,
        notes,
    })
}
