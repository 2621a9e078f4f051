//! Whole files: tensor file to `.pz` and back.

use std::io::{Read, Write};

use super::{Error, Event, MAX_CHUNK_RAW, Reader, Summary, Writer};
use crate::tensor::{self, Input, SegmentKind};

/// Compressing failed while reading the input or while writing the output.
#[derive(Debug, thiserror::Error)]
pub enum CompressError {
    /// The tensor file.
    #[error(transparent)]
    Input(#[from] tensor::Error),
    /// The `.pz` file.
    #[error(transparent)]
    Output(#[from] Error),
}

/// Compresses a tensor file. `progress` is told the number of raw bytes done after each chunk.
///
/// # Errors
/// [`CompressError`].
pub fn compress<W: Write>(
    input: &mut Input,
    out: W,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Summary), CompressError> {
    let mut writer = Writer::new(out, input.format())?;
    let mut chunk = Vec::new();
    let mut done = 0;
    while let Some(segment) = input.next_segment()? {
        let mut n = input.read_chunk(&mut chunk, MAX_CHUNK_RAW)?;
        let mut record = match &segment.kind {
            SegmentKind::Opaque if n == 0 => continue,
            SegmentKind::Opaque => writer.opaque()?,
            SegmentKind::Tensor(meta) => writer.tensor(meta)?,
        };
        while n > 0 {
            record.write(&chunk)?;
            done += n as u64;
            progress(done);
            n = input.read_chunk(&mut chunk, MAX_CHUNK_RAW)?;
        }
        record.finish()?;
    }
    Ok(writer.finish()?)
}

/// Restores the original file from a `.pz` file. `progress` is told the number of `.pz` bytes read.
///
/// On an error, what was written so far is not to be trusted.
///
/// # Errors
/// Any [`Error`] of reading, or [`Error::Io`] of writing.
pub fn decompress<R: Read, W: Write>(
    input: R,
    mut out: W,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, Summary), Error> {
    let mut reader = Reader::new(input)?;
    loop {
        match reader.next_event()? {
            None => break,
            Some(Event::Chunk(raw)) => out.write_all(raw)?,
            Some(_) => {}
        }
        progress(reader.summary_offset());
    }
    out.flush()?;
    Ok((out, reader.summary()))
}

/// Decodes a `.pz` file and compares it with the original, byte for byte. Returns the number of bytes compared.
///
/// # Errors
/// [`Error::Verify`] at the first difference; any [`Error`] of reading.
pub fn verify<R: Read, O: Read>(pz: R, mut original: O, progress: &mut dyn FnMut(u64)) -> Result<u64, Error> {
    let mut reader = Reader::new(pz)?;
    let mut buf = Vec::new();
    let mut at = 0;
    while let Some(event) = reader.next_event()? {
        let Event::Chunk(raw) = event else { continue };
        buf.clear();
        (&mut original).take(raw.len() as u64).read_to_end(&mut buf)?;
        if buf != raw {
            let same = buf.iter().zip(raw).take_while(|(a, b)| a == b).count();
            return Err(Error::Verify {
                offset: at + same as u64,
                what: match buf.get(same) {
                    Some(byte) => format!("expected byte 0x{byte:02x}, found 0x{:02x}", raw[same]),
                    None => "the original ends, the decoded file goes on".into(),
                },
            });
        }
        at += raw.len() as u64;
        progress(at);
    }
    buf.clear();
    if original.take(1).read_to_end(&mut buf)? > 0 {
        return Err(Error::Verify {
            offset: at,
            what: "the decoded file ends, the original goes on".into(),
        });
    }
    Ok(at)
}
