//! A tensor file as a stream of segments.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use super::{DType, Error, ErrorKind, Float, Segment, SegmentKind, TensorMeta, npy, safetensors};
use crate::container::MAGIC as PZ_MAGIC;

/// How a file's bytes are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Plain bytes of one dtype.
    Raw,
    /// A safetensors file.
    Safetensors,
    /// A numpy array file.
    Npy,
}

impl FileFormat {
    /// Name as `--format` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Raw => "raw",
            FileFormat::Safetensors => "safetensors",
            FileFormat::Npy => "npy",
        }
    }
}

/// Parses the names of [`FileFormat::name`].
impl FromStr for FileFormat {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        [FileFormat::Raw, FileFormat::Safetensors, FileFormat::Npy]
            .into_iter()
            .find(|f| f.name() == s.to_ascii_lowercase())
            .ok_or_else(|| format!("unknown format '{s}': known are raw, safetensors, npy"))
    }
}

/// How to take a file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Element type of raw bytes; for .npy files, of arrays that numpy's own dtypes cannot name.
    pub dtype: Option<DType>,
    /// The format, instead of finding out by extension and content.
    pub format: Option<FileFormat>,
}

/// A tensor file being read from start to end.
pub struct Input {
    file: String,
    format: FileFormat,
    notes: Vec<String>,
    /// Bytes read while finding out the format: they come before `reader`'s.
    head: Vec<u8>,
    head_at: usize,
    reader: Box<dyn Read + Send>,
    /// Offset of the next byte handed out.
    offset: u64,
    segments: VecDeque<Segment>,
    /// Bytes left in the current segment; `None`: until the end of the file.
    left: Option<u64>,
    /// Where the current segment starts, and its length, for errors.
    current: (u64, Option<u64>, String),
}

/// Reads until `buf` holds `want` bytes or the file ends, growing only as bytes arrive.
fn fill(reader: &mut dyn Read, buf: &mut Vec<u8>, want: u64) -> io::Result<()> {
    let missing = want.saturating_sub(buf.len() as u64);
    reader.take(missing).read_to_end(buf)?;
    Ok(())
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// See [`ErrorKind`].
    pub fn open(path: &Path, options: &Options) -> Result<Input, Error> {
        let name = path.display().to_string();
        let open = || -> Result<(File, Option<u64>), ErrorKind> {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(ErrorKind::Directory);
            }
            let len = metadata.is_file().then_some(metadata.len());
            Ok((file, len))
        };
        match open() {
            Ok((file, len)) => Input::from_reader(file, &name, len, options),
            Err(kind) => Err(Error {
                file: name,
                kind: Box::new(kind),
            }),
        }
    }

    /// Takes a file from a reader. `name` is used in errors and its extension to find out the format; `len` is the
    /// number of bytes there are, if known (it lets a truncated file be found before any of it is used).
    ///
    /// # Errors
    /// See [`ErrorKind`].
    pub fn from_reader(
        reader: impl Read + Send + 'static,
        name: &str,
        len: Option<u64>,
        options: &Options,
    ) -> Result<Input, Error> {
        let mut input = Input {
            file: name.to_owned(),
            format: FileFormat::Raw,
            notes: Vec::new(),
            head: Vec::new(),
            head_at: 0,
            reader: Box::new(reader),
            offset: 0,
            segments: VecDeque::new(),
            left: Some(0),
            current: (0, None, String::new()),
        };
        match input.start(len, options) {
            Ok(()) => Ok(input),
            Err(kind) => Err(input.error(kind)),
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error {
            file: self.file.clone(),
            kind: Box::new(kind),
        }
    }

    /// The file, as errors name it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The format found or asked for.
    #[must_use]
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// Things a user should know about the file, such as arrays that are not taken as tensors.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn start(&mut self, len: Option<u64>, options: &Options) -> Result<(), ErrorKind> {
        let extension = Path::new(&self.file)
            .extension()
            .and_then(|e| e.to_str())
            .map(str::to_ascii_lowercase);
        fill(&mut self.reader, &mut self.head, 16)?;
        let by_content = self.sniff();
        self.format = match (options.format, extension.as_deref()) {
            (Some(format), _) => format,
            (None, Some("safetensors")) => FileFormat::Safetensors,
            (None, Some("npy")) => FileFormat::Npy,
            (None, _) if options.dtype.is_some() => {
                if let Some(found) = by_content {
                    self.notes.push(format!(
                        "looks like a .{} file but is taken as raw bytes, since a dtype was given",
                        found.name()
                    ));
                }
                FileFormat::Raw
            }
            (None, _) => match by_content {
                Some(format) => format,
                None if self.head.starts_with(&PZ_MAGIC) => return Err(ErrorKind::AlreadyPz),
                None => {
                    let found = self.head.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>();
                    return Err(ErrorKind::UnknownFormat {
                        found: if found.is_empty() {
                            "(none: the file is empty)".into()
                        } else {
                            found.join(" ")
                        },
                    });
                }
            },
        };
        match self.format {
            FileFormat::Raw => self.start_raw(options),
            FileFormat::Safetensors => self.start_safetensors(len, options, by_content),
            FileFormat::Npy => self.start_npy(len, options),
        }
    }

    /// The format that the first bytes speak for.
    fn sniff(&self) -> Option<FileFormat> {
        if self.head.starts_with(npy::MAGIC) {
            return Some(FileFormat::Npy);
        }
        let (len, json) = self.head.split_first_chunk::<8>()?;
        let len = u64::from_le_bytes(*len);
        ((2..=safetensors::MAX_HEADER_BYTES).contains(&len) && json.starts_with(b"{\"")
            || len >= 2 && json.starts_with(b"{}"))
        .then_some(FileFormat::Safetensors)
    }

    fn start_raw(&mut self, options: &Options) -> Result<(), ErrorKind> {
        let dtype = options.dtype.clone().ok_or(ErrorKind::DTypeMissing)?;
        self.segments.push_back(Segment {
            kind: SegmentKind::Tensor(TensorMeta {
                name: String::new(),
                dtype,
                shape: None,
                fortran_order: false,
            }),
            len: None,
        });
        Ok(())
    }

    /// Queues the header (all of `head`) and what follows it.
    fn queue(&mut self, segments: Vec<Segment>) {
        self.segments.push_back(Segment {
            kind: SegmentKind::Opaque,
            len: Some(self.head.len() as u64),
        });
        self.segments.extend(segments);
    }

    fn start_safetensors(
        &mut self,
        len: Option<u64>,
        options: &Options,
        by_content: Option<FileFormat>,
    ) -> Result<(), ErrorKind> {
        if let Some(dtype) = &options.dtype {
            return Err(ErrorKind::DTypeConflict {
                asked: dtype.name().into(),
                found: "a safetensors file, which names its own dtypes".into(),
            });
        }
        let have = len.unwrap_or(u64::MAX).max(self.head.len() as u64);
        let Some(&length) = self.head.first_chunk::<8>() else {
            return Err(ErrorKind::Truncated {
                offset: 0,
                what: "the header length".into(),
                expected: 8,
                found: self.head.len() as u64,
            });
        };
        let length = u64::from_le_bytes(length);
        if by_content == Some(FileFormat::Npy) {
            return Err(ErrorKind::Header {
                offset: 0,
                expected: "a safetensors header".into(),
                found: "a .npy file (--format npy reads it)".into(),
            });
        }
        if length > safetensors::MAX_HEADER_BYTES {
            return Err(ErrorKind::HeaderTooLarge {
                offset: 0,
                max: safetensors::MAX_HEADER_BYTES,
                found: length,
            });
        }
        let truncated = |found: u64| ErrorKind::Truncated {
            offset: 8,
            what: "the header".into(),
            expected: length,
            found,
        };
        if have - 8 < length {
            return Err(truncated(have - 8));
        }
        // A header may be shorter than what was read to find out the format.
        let beyond = self.head.len().saturating_sub(8 + length as usize);
        let beyond = self.head.split_off(self.head.len() - beyond);
        fill(&mut self.reader, &mut self.head, 8 + length)?;
        if (self.head.len() as u64) < 8 + length {
            return Err(truncated(self.head.len() as u64 - 8));
        }
        let segments = safetensors::segments(&self.head, len, &mut self.notes)?;
        self.queue(segments);
        self.head.extend_from_slice(&beyond);
        Ok(())
    }

    fn start_npy(&mut self, len: Option<u64>, options: &Options) -> Result<(), ErrorKind> {
        let asked: Option<Float> = options.dtype.as_ref().and_then(DType::float);
        if !self.head.starts_with(npy::MAGIC) {
            let found = if self.head.len() < npy::MAGIC.len() {
                format!("{} bytes", self.head.len())
            } else {
                "other bytes".into()
            };
            return Err(ErrorKind::Header {
                offset: 0,
                expected: "the .npy magic \\x93NUMPY".into(),
                found,
            });
        }
        let Some((text_at, length)) = npy::header_len(&self.head) else {
            return Err(ErrorKind::Header {
                offset: 6,
                expected: "version 1.0, 2.0 or 3.0 and a header length".into(),
                found: self.head[6..]
                    .iter()
                    .map(|b| format!("{b:02x} "))
                    .collect::<String>(),
            });
        };
        if length > npy::MAX_HEADER_BYTES {
            return Err(ErrorKind::HeaderTooLarge {
                offset: 8,
                max: npy::MAX_HEADER_BYTES,
                found: length,
            });
        }
        let end = text_at as u64 + length;
        let beyond = self.head.len().saturating_sub(end as usize);
        let beyond = self.head.split_off(self.head.len() - beyond);
        fill(&mut self.reader, &mut self.head, end)?;
        if (self.head.len() as u64) < end {
            return Err(ErrorKind::Truncated {
                offset: text_at as u64,
                what: "the header".into(),
                expected: length,
                found: (self.head.len() - text_at) as u64,
            });
        }
        let segments = npy::segments(&self.head[text_at..], text_at as u64, len, asked, &mut self.notes)?;
        self.queue(segments);
        self.head.extend_from_slice(&beyond);
        Ok(())
    }

    /// Reads up to `buf.len()` bytes.
    fn read_some(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.head_at < self.head.len() {
            let n = (&self.head[self.head_at..]).read(buf)?;
            self.head_at += n;
            if self.head_at == self.head.len() {
                self.head = Vec::new();
                self.head_at = 0;
            }
            return Ok(n);
        }
        loop {
            match self.reader.read(buf) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Moves on to the next segment, skipping what is left of the current one. `None` at the end of the file. An
    /// opaque segment that runs to the end of the file may turn out to be empty.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], or [`ErrorKind::Truncated`] if the file ends within the segment that is skipped.
    pub fn next_segment(&mut self) -> Result<Option<Segment>, Error> {
        let mut scratch = Vec::new();
        while self.read_chunk(&mut scratch, 1 << 16)? > 0 {}
        let Some(segment) = self.segments.pop_front() else {
            return Ok(None);
        };
        self.left = segment.len;
        let what = match &segment.kind {
            SegmentKind::Opaque => "a part outside the tensors".into(),
            SegmentKind::Tensor(meta) if meta.name.is_empty() => "the array".into(),
            SegmentKind::Tensor(meta) => format!("tensor '{}'", meta.name),
        };
        self.current = (self.offset, segment.len, what);
        Ok(Some(segment))
    }

    /// Replaces `buf` by the next bytes of the current segment: `max` of them, fewer only at the segment's end.
    /// Returns their number; 0 means that the segment is done.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], or [`ErrorKind::Truncated`] if the file ends first.
    pub fn read_chunk(&mut self, buf: &mut Vec<u8>, max: usize) -> Result<usize, Error> {
        let want = self
            .left
            .map_or(max, |left| usize::try_from(left).unwrap_or(max).min(max));
        buf.resize(want, 0);
        let mut have = 0;
        while have < want {
            match self.read_some(&mut buf[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) => return Err(self.error(e.into())),
            }
        }
        buf.truncate(have);
        self.offset += have as u64;
        match &mut self.left {
            Some(left) => {
                *left -= have as u64;
                if have < want {
                    let (start, len, what) = &self.current;
                    return Err(self.error(ErrorKind::Truncated {
                        offset: *start,
                        what: what.clone(),
                        expected: len.unwrap_or(0),
                        found: self.offset - start,
                    }));
                }
            }
            None if have < want => self.left = Some(0),
            None => {}
        }
        Ok(have)
    }
}
