//! Compression figures per tensor and per model.
//!
//! Ratios count everything the block stream holds: headers, raw fallback, tails. They are compared with the plain
//! zero-value codec on the same bytes, with an entropy bound, and if asked to with other codecs ([`Rivals`]). How
//! tensors are weighted and grouped is described at [`collect`].

mod figures;
mod load;
mod report;
mod rivals;
mod sidecar;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub use figures::{Accumulator, Figures};
pub use load::{Loaded, Tensor, load};
#[cfg(feature = "bench")]
pub(crate) use report::geometric_mean;
pub use report::{Group, ModelReport, Modes, Report, Spread, Summary, TensorReport};
pub use rivals::Rivals;
pub use sidecar::Sidecar;

use crate::container::{self, Event, MAX_CHUNK_RAW, Reader, Record};
use crate::tensor::{self, DType, Float, Input, Options, TensorMeta};

/// Why figures could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tensor file that cannot be read.
    #[error(transparent)]
    Input(#[from] tensor::Error),
    /// A `.pz` file that cannot be read.
    #[error("{file}: {source}")]
    Container {
        /// The file.
        file: String,
        /// What is wrong.
        #[source]
        source: container::Error,
    },
    /// A path that cannot be looked at.
    #[error("{path}: {source}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong.
        #[source]
        source: io::Error,
    },
    /// A directory without tensor files.
    #[error("{path}: expected .safetensors or .npy files in the directory, found none")]
    NoFiles {
        /// The directory.
        path: String,
    },
    /// Other codecs are to be compared with, and this build has none (the feature `bench` is off).
    #[error("this planezip was built without the codecs to compare with (feature bench is off)")]
    NoRivals,
    /// A codec that is compared with does not do what it should.
    #[cfg(feature = "bench")]
    #[error("{file}: tensor '{tensor}': {source}")]
    Rival {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// What is wrong.
        #[source]
        source: crate::bench::Error,
    },
}

/// A file to take figures of.
#[derive(Clone, Debug)]
struct Found {
    path: PathBuf,
    /// Found in a directory, not named.
    by_directory: bool,
}

/// The files that paths stand for, in order, each once.
fn find(paths: &[PathBuf]) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for path in paths {
        let error = |source| Error::Path {
            path: path.display().to_string(),
            source,
        };
        if fs::metadata(path).map_err(error)?.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            if found.len() == before {
                return Err(Error::NoFiles {
                    path: path.display().to_string(),
                });
            }
        } else {
            found.push(Found {
                path: path.clone(),
                by_directory: false,
            });
        }
    }
    // A file that is named counts as named even if a directory holds it too.
    let key = |f: &Found| fs::canonicalize(&f.path).unwrap_or_else(|_| f.path.clone());
    let named: HashSet<PathBuf> = found.iter().filter(|f| !f.by_directory).map(key).collect();
    let mut seen = HashSet::new();
    found.retain(|f| {
        let key = key(f);
        !(f.by_directory && named.contains(&key)) && seen.insert(key)
    });
    Ok(found)
}

/// Adds the tensor files of a directory and of those below it, by name. Links to directories are not followed.
fn walk(dir: &Path, found: &mut Vec<Found>) -> Result<(), Error> {
    let list = || -> io::Result<Vec<(PathBuf, bool)>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            entries.push((entry.path(), entry.file_type()?.is_dir()));
        }
        entries.sort();
        Ok(entries)
    };
    let entries = list().map_err(|source| Error::Path {
        path: dir.display().to_string(),
        source,
    })?;
    for (path, is_dir) in entries {
        if is_dir {
            walk(&path, found)?;
        } else if path
            .extension()
            .and_then(|e| e.to_str())
            .is_some_and(|e| e.eq_ignore_ascii_case("safetensors") || e.eq_ignore_ascii_case("npy"))
        {
            found.push(Found {
                path,
                by_directory: true,
            });
        }
    }
    Ok(())
}

fn is_pz(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("pz"))
}

/// Takes a file's tensors one after another.
trait Sink {
    /// A tensor begins.
    fn begin(&mut self, meta: &TensorMeta);
    /// Its next bytes: a multiple of 128 of them unless they are its last. Outside a tensor: bytes to pass over.
    fn push(&mut self, raw: &[u8]);
    /// The tensor is complete.
    fn end(&mut self) -> Result<(), Error>;
}

/// Hands a file's tensors to a sink; returns what the user should know.
fn visit(path: &Path, options: &Options, sink: &mut dyn Sink) -> Result<Vec<String>, Error> {
    if is_pz(path) {
        let container = |source| Error::Container {
            file: path.display().to_string(),
            source,
        };
        let file = fs::File::open(path).map_err(|e| container(e.into()))?;
        let mut reader = Reader::new(BufReader::with_capacity(1 << 16, file)).map_err(container)?;
        let mut within = false;
        while let Some(event) = reader.next_event().map_err(container)? {
            match event {
                Event::Record(Record::Tensor { meta, .. }) => {
                    sink.begin(meta);
                    within = true;
                }
                Event::Record(Record::Opaque) => {}
                Event::Chunk(raw) => sink.push(raw),
                Event::RecordEnd(_) => {
                    if std::mem::take(&mut within) {
                        sink.end()?;
                    }
                }
            }
        }
        return Ok(Vec::new());
    }

    let mut input = Input::open(path, options)?;
    let mut chunk = Vec::new();
    while let Some(segment) = input.next_segment()? {
        if let Some(meta) = segment.tensor() {
            sink.begin(meta);
        }
        while input.read_chunk(&mut chunk, MAX_CHUNK_RAW)? > 0 {
            sink.push(&chunk);
        }
        if segment.tensor().is_some() {
            sink.end()?;
        }
    }
    Ok(input.notes().to_vec())
}

/// A tensor's figures, and its size under every codec that is compared with.
type TensorFigures = (TensorMeta, Figures, Option<Rivals<u64>>);

/// Figures of one file's tensors.
struct FileFigures {
    tensors: Vec<TensorFigures>,
    notes: Vec<String>,
}

/// Takes figures of tensors.
struct Taker<'a> {
    file: &'a Path,
    done: &'a dyn Fn(u64),
    compare: Option<Compare>,
    current: Option<(TensorMeta, Accumulator)>,
    tensors: Vec<TensorFigures>,
}

impl Sink for Taker<'_> {
    fn begin(&mut self, meta: &TensorMeta) {
        self.current = Some((meta.clone(), Accumulator::new(&meta.dtype)));
    }

    fn push(&mut self, raw: &[u8]) {
        if let Some((_, figures)) = &mut self.current {
            figures.push(raw);
            if let Some(compare) = &mut self.compare {
                // Counts as done when the others are.
                compare.raw.extend_from_slice(raw);
                return;
            }
        }
        (self.done)(raw.len() as u64);
    }

    fn end(&mut self) -> Result<(), Error> {
        if let Some((meta, figures)) = self.current.take() {
            let mut sizes = None;
            if let Some(compare) = &mut self.compare {
                sizes = compare.sizes(self.file, &meta)?;
                (self.done)(compare.raw.len() as u64);
                compare.raw.clear();
            }
            self.tensors.push((meta, figures.finish(), sizes));
        }
        Ok(())
    }
}

/// Compares tensors as wholes.
struct Compare {
    raw: Vec<u8>,
    #[cfg(feature = "bench")]
    rivals: crate::bench::Comparison,
}

impl Compare {
    #[cfg(feature = "bench")]
    fn new(file: &Path) -> Result<Self, Error> {
        let rivals = crate::bench::Comparison::new().map_err(|source| Error::Rival {
            file: file.display().to_string(),
            tensor: String::new(),
            source,
        })?;
        Ok(Compare {
            raw: Vec::new(),
            rivals,
        })
    }

    #[cfg(not(feature = "bench"))]
    fn new(_file: &Path) -> Result<Self, Error> {
        Err(Error::NoRivals)
    }

    /// Sizes of the tensor that was collected; `None` if it is empty.
    #[cfg(feature = "bench")]
    fn sizes(&mut self, file: &Path, meta: &TensorMeta) -> Result<Option<Rivals<u64>>, Error> {
        if self.raw.is_empty() {
            return Ok(None);
        }
        let sizes = self.rivals.sizes((&meta.dtype).into(), &self.raw);
        sizes.map(Some).map_err(|source| Error::Rival {
            file: file.display().to_string(),
            tensor: meta.name.clone(),
            source,
        })
    }

    #[cfg(not(feature = "bench"))]
    fn sizes(&mut self, _file: &Path, _meta: &TensorMeta) -> Result<Option<Rivals<u64>>, Error> {
        Err(Error::NoRivals)
    }
}

fn file_figures(path: &Path, request: &Request, done: &dyn Fn(u64)) -> Result<FileFigures, Error> {
    let mut taker = Taker {
        file: path,
        done,
        compare: request.compare.then(|| Compare::new(path)).transpose()?,
        current: None,
        tensors: Vec::new(),
    };
    let notes = visit(path, &request.options, &mut taker)?;
    Ok(FileFigures {
        tensors: taker.tensors,
        notes,
    })
}

/// What [`collect`] is to look at.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Files and directories. A directory stands for its `.safetensors` and `.npy` files and those of the
    /// directories below it.
    pub paths: Vec<PathBuf>,
    /// How to take files that do not say.
    pub options: Options,
    /// Threads to use; 0 for as many as there are processors.
    pub threads: usize,
    /// Compare with other codecs too, each compressing every tensor as a whole. Needs the feature `bench`.
    pub compare: bool,
}

/// The files to look at with what stands beside them.
struct Selection {
    files: Vec<(PathBuf, Option<Sidecar>)>,
    /// Files of consecutive iterations that were found in directories.
    left_out: Vec<String>,
    notes: Vec<String>,
}

fn select(paths: &[PathBuf]) -> Result<Selection, Error> {
    let mut selection = Selection {
        files: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    for found in find(paths)? {
        let (sidecar, note) = Sidecar::beside(&found.path);
        selection.notes.extend(note);
        if found.by_directory && sidecar::is_consecutive(&found.path, sidecar.as_ref()) {
            selection.left_out.push(found.path.display().to_string());
        } else {
            selection.files.push((found.path, sidecar));
        }
    }
    Ok(selection)
}

/// The float type of a run, if the JSON gives one.
fn run_float(sidecar: Option<&Sidecar>) -> Option<Float> {
    let run = sidecar?.precision.as_ref()?;
    run.parse::<DType>().ok()?.float()
}

/// Why a tensor does not count.
fn not_counted(dtype: &DType, run: Option<Float>, raw_bytes: u64) -> Option<&'static str> {
    match (dtype.float(), run) {
        (None, _) => Some("not a BF16, F16 or F32 tensor"),
        (Some(float), Some(run)) if float != run => Some("not of its run's precision"),
        _ if raw_bytes == 0 => Some("empty"),
        _ => None,
    }
}

/// Takes the figures of files. `progress` is told raw bytes done and in total, from any thread.
///
/// Where `NAME.json` stands beside a file and gives a `model`, a `precision` (the run) and a `tensors` list with
/// `key` and `bytes`:
/// - files of one model and run are one group;
/// - a tensor in the file stands for one of `bytes` bytes, and is weighted by them;
/// - of a run only the tensors of its own precision count towards ratios.
///
/// Without it a file is its own model, and all its float tensors count at their own size. Files with consecutive
/// iterations (`iterations` in the JSON, or `consecutive` in the name) are left out if found by a directory.
///
/// A group's ratio is the sum of its weights over the sum of each weight divided by its tensor's ratio; the headline
/// is the geometric mean over models.
///
/// # Errors
/// The first file's [`Error`], in the order of the files.
pub fn collect(request: &Request, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Report, Error> {
    #[cfg(not(feature = "bench"))]
    if request.compare {
        return Err(Error::NoRivals);
    }
    let Selection {
        files,
        left_out,
        mut notes,
    } = select(&request.paths)?;
    let total = files
        .iter()
        .map(|(path, _)| fs::metadata(path).map_or(0, |m| m.len()))
        .sum();
    let done = AtomicU64::new(0);
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<FileFigures, Error>>> = Mutex::default();
    let threads = match request.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((path, _)) = files.get(index) else { break };
                    let add = |n| progress(n + done.fetch_add(n, Ordering::Relaxed), total);
                    let result = file_figures(path, request, &add);
                    if let Ok(mut results) = results.lock() {
                        results.insert(index, result);
                    }
                }
            });
        }
    });
    let results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);

    let names = model_names(&files);
    let mut tensors = Vec::new();
    for (((path, sidecar), model), (_, result)) in files.iter().zip(&names).zip(results) {
        let result = result?;
        let file = path.display().to_string();
        notes.extend(result.notes.iter().map(|n| format!("{file}: {n}")));
        let mut unknown = 0;
        let run = sidecar.as_ref().and_then(|s| s.precision.clone());
        let run_float = run_float(sidecar.as_ref());
        for (meta, figures, sizes) in result.tensors {
            let weight = match sidecar {
                Some(s) if s.has_tensors() => s.bytes(&meta.name).unwrap_or_else(|| {
                    unknown += 1;
                    figures.stats.raw_bytes
                }),
                _ => figures.stats.raw_bytes,
            };
            let not_counted = not_counted(&meta.dtype, run_float, figures.stats.raw_bytes);
            tensors.push(TensorReport::new(
                &file,
                path,
                model,
                run.as_deref(),
                &meta,
                figures,
                weight,
                not_counted,
                sizes,
            ));
        }
        if unknown > 0 {
            notes.push(format!(
                "{file}: {unknown} tensors have no entry in the JSON beside it: weighted by their own size"
            ));
        }
    }
    if !left_out.is_empty() {
        notes.push(format!(
            "{} files of consecutive iterations left out (they are for ratio prediction): {}",
            left_out.len(),
            left_out
                .iter()
                .map(|f| Path::new(f).file_name().map_or(f.into(), |n| n.to_string_lossy()))
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    Ok(Report {
        summary: Summary::of(&tensors),
        files: files.len() as u64,
        files_left_out: left_out,
        notes,
        tensors,
    })
}

/// A model name for each file: the JSON's, else the file's stem, else (where two files share a stem) its path.
fn model_names(files: &[(PathBuf, Option<Sidecar>)]) -> Vec<String> {
    let given = |sidecar: &Option<Sidecar>| sidecar.as_ref().and_then(|s| s.model.clone());
    let stem = |path: &Path| {
        path.file_stem().map_or_else(
            || path.display().to_string(),
            |s| s.to_string_lossy().into_owned(),
        )
    };
    let mut uses: HashMap<String, u64> = HashMap::new();
    let mut models = HashSet::new();
    for (path, sidecar) in files {
        match given(sidecar) {
            Some(model) => {
                models.insert(model);
            }
            None => *uses.entry(stem(path)).or_default() += 1,
        }
    }
    files
        .iter()
        .map(|(path, sidecar)| {
            given(sidecar).unwrap_or_else(|| {
                let stem = stem(path);
                if uses[&stem] > 1 || models.contains(&stem) {
                    path.display().to_string()
                } else {
                    stem
                }
            })
        })
        .collect()
}

/// The float types in the order of a report.
pub const FLOATS: [Float; 3] = [Float::Bf16, Float::F16, Float::F32];
