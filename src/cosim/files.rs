//! Packets from tensor files: one per tensor.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::EncodeJob;
use crate::format::{BLOCK_BYTES, Dtype, Layout};
use crate::tensor::{DType, Error, Input, Options, SegmentKind, TensorMeta};

/// A tensor of more bytes is cut into packets of this size, to bound memory. A multiple of the block size.
const MAX_PACKET_BYTES: u64 = 64 << 20;

/// What a file holds next.
#[derive(Clone, Debug)]
pub enum FileItem {
    /// A tensor, or a part of one: then without a shape.
    Tensor(TensorMeta, EncodeJob),
    /// Bytes outside the tensors.
    Opaque(Vec<u8>),
}

/// Reads files in order and hands out their tensors as packets.
pub struct FilePackets {
    paths: VecDeque<PathBuf>,
    options: Options,
    /// Blocks that may still be taken; `None`: all.
    left: Option<u64>,
    opaque: bool,
    input: Option<Input>,
    /// The tensor that is being cut, and the bytes taken from it; or opaque bytes, in pieces too.
    current: Option<(SegmentKind, u64)>,
    /// Bytes of the current segment, if it tells.
    len: Option<u64>,
}

impl FilePackets {
    /// Packets of these files: at most `blocks` blocks, tails included. `opaque` says whether the bytes between
    /// tensors are wanted.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, options: Options, blocks: Option<u64>, opaque: bool) -> FilePackets {
        FilePackets {
            paths: paths.into(),
            options,
            left: blocks,
            opaque,
            input: None,
            current: None,
            len: None,
        }
    }

    fn advance(&mut self) -> Result<Option<FileItem>, Box<Error>> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            let Some(input) = &mut self.input else {
                let Some(path) = self.paths.pop_front() else {
                    return Ok(None);
                };
                self.input = Some(Input::open(&path, &self.options)?);
                continue;
            };
            let Some((kind, taken)) = self.current.take() else {
                match input.next_segment()? {
                    None => self.input = None,
                    Some(segment) => {
                        self.len = segment.len;
                        if self.opaque || segment.tensor().is_some() {
                            self.current = Some((segment.kind, 0));
                        }
                    }
                }
                continue;
            };
            let most = match self.left {
                Some(left) => MAX_PACKET_BYTES.min(left.saturating_mul(BLOCK_BYTES as u64)),
                None => MAX_PACKET_BYTES,
            };
            let mut bytes = Vec::new();
            let n = input.read_chunk(&mut bytes, most as usize)? as u64;
            if n == 0 && taken > 0 {
                continue;
            }
            match &kind {
                SegmentKind::Opaque => {
                    if n == 0 {
                        continue;
                    }
                    self.current = Some((kind, taken + n));
                    return Ok(Some(FileItem::Opaque(bytes)));
                }
                SegmentKind::Tensor(meta) => {
                    let name = if meta.name.is_empty() { "array" } else { &meta.name };
                    let label = format!("{} {name}", input.file());
                    let whole = taken == 0 && self.len.is_none_or(|len| len == n);
                    let meta = if whole {
                        meta.clone()
                    } else {
                        TensorMeta {
                            name: format!("{} bytes {taken}..{}", meta.name, taken + n),
                            shape: None,
                            ..meta.clone()
                        }
                    };
                    let label = if whole {
                        label
                    } else {
                        format!("{label} bytes {taken}..{}", taken + n)
                    };
                    if let Some(left) = &mut self.left {
                        *left -= n.div_ceil(BLOCK_BYTES as u64);
                    }
                    // An empty tensor is a packet, but only once.
                    self.current = (n > 0).then_some((kind, taken + n));
                    let job = EncodeJob::new(label, sideband(&meta.dtype), bytes);
                    return Ok(Some(FileItem::Tensor(meta, job)));
                }
            }
        }
    }
}

/// What the dtype sideband says for a tensor: its type, or one of the same layout.
fn sideband(dtype: &DType) -> Dtype {
    match (dtype, dtype.layout()) {
        (DType::Bf16, _) => Dtype::Bf16,
        (DType::F16, _) => Dtype::F16,
        (DType::F32, _) => Dtype::F32,
        (DType::Other { .. }, Layout::W16) => Dtype::Bf16,
        (DType::Other { .. }, Layout::W32) => Dtype::Other,
    }
}

impl Iterator for FilePackets {
    type Item = Result<FileItem, Box<Error>>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance().transpose();
        if let Some(Err(_)) = item {
            self.left = Some(0);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    fn sample(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/sample")
            .join(name)
    }

    #[test]
    fn all_bytes_of_a_file_come_in_order() {
        let path = sample("gpt_bf16.safetensors");
        let mut bytes = Vec::new();
        let mut tensors = 0;
        for item in FilePackets::new(vec![path.clone(), path.clone()], Options::default(), None, true) {
            match item.unwrap() {
                FileItem::Opaque(b) => bytes.extend(b),
                FileItem::Tensor(meta, job) => {
                    assert!(meta.shape.is_some());
                    assert_eq!(job.dtype, Dtype::Bf16);
                    bytes.extend_from_slice(&job.raw);
                    tensors += 1;
                }
            }
        }
        assert!(tensors > 2);
        assert!(bytes == std::fs::read(&path).unwrap().repeat(2));
    }

    #[test]
    fn blocks_are_bounded_exactly() {
        for limit in [0, 1, 7, 300, 1000] {
            let paths = vec![sample("gpt_bf16.safetensors")];
            let blocks: usize = FilePackets::new(paths, Options::default(), Some(limit), false)
                .map(|item| match item.unwrap() {
                    FileItem::Tensor(_, job) => job.raw.len().div_ceil(BLOCK_BYTES),
                    FileItem::Opaque(_) => panic!("not asked for"),
                })
                .sum();
            assert_eq!(blocks as u64, limit);
        }
    }

    #[test]
    fn raw_files_of_any_length_and_bad_files() {
        for len in [0, 1, 128, 1000] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&vec![3; len]).unwrap();
            let options = Options {
                dtype: Some(DType::F32),
                ..Options::default()
            };
            let items: Vec<_> = FilePackets::new(vec![file.path().into()], options, None, true).collect();
            assert_eq!(items.len(), 1);
            match items[0].as_ref().unwrap() {
                FileItem::Tensor(_, job) => assert_eq!((job.raw.len(), job.dtype), (len, Dtype::F32)),
                FileItem::Opaque(_) => panic!("a tensor was expected"),
            }
        }
        let missing = FilePackets::new(vec!["no/such/file.npy".into()], Options::default(), None, false);
        let items: Vec<_> = missing.collect();
        assert!(items.len() == 1 && items[0].is_err());
    }
}
