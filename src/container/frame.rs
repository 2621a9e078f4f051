//! Frames: tag, body length, body, checksum.

use std::io::{self, Read, Write};

use xxhash_rust::xxh3::xxh3_64;

use super::Error;

/// Bytes before a frame's body: tag and body length.
pub(super) const FRAME_HEAD: usize = 5;
/// Bytes after it: the checksum.
pub(super) const CHECKSUM: usize = 8;
/// Most bytes by which a buffer grows ahead of what has arrived.
const GROWTH: usize = 1 << 20;

/// Adds an unsigned LEB128 number.
pub(super) fn put_number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A body being taken apart.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    /// Offset of the frame, for errors.
    offset: u64,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Fields { bytes, offset }
    }

    pub(super) fn error(&self, what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
        Error::Field {
            offset: self.offset,
            what,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }

    pub(super) fn bytes(&mut self, n: u64, what: &'static str) -> Result<&'a [u8], Error> {
        match usize::try_from(n)
            .ok()
            .and_then(|n| self.bytes.split_at_checked(n))
        {
            Some((head, rest)) => {
                self.bytes = rest;
                Ok(head)
            }
            None => Err(self.error(what, format!("{n} bytes"), self.bytes.len())),
        }
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, Error> {
        Ok(self.bytes(1, what)?[0])
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        let mut b = [0; 8];
        b.copy_from_slice(self.bytes(8, what)?);
        Ok(u64::from_le_bytes(b))
    }

    /// An unsigned LEB128 number in its shortest form.
    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, Error> {
        let mut n = 0_u64;
        for shift in (0..64).step_by(7) {
            let b = self.byte(what)?;
            let bits = u64::from(b & 0x7f);
            if bits << shift >> shift != bits || (b == 0 && shift > 0) {
                break;
            }
            n |= bits << shift;
            if b & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(self.error(what, "a 64-bit number in its shortest form", "another encoding"))
    }

    pub(super) fn text(&mut self, what: &'static str) -> Result<String, Error> {
        let n = self.number(what)?;
        let bytes = self.bytes(n, what)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(e) => Err(self.error(what, "UTF-8", e)),
        }
    }

    /// Fails if anything is left.
    pub(super) fn end(&self) -> Result<(), Error> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(self.error(
                "frame body",
                "its fields alone",
                format!("{} bytes more", self.bytes.len()),
            ))
        }
    }
}

/// Completes a frame. `buf` starts with [`FRAME_HEAD`] bytes to be filled in, then holds the body; the checksum is
/// added to it. The caller has checked that the body's length fits.
pub(super) fn seal(tag: u8, buf: &mut Vec<u8>) {
    let len = (buf.len() - FRAME_HEAD) as u32;
    buf[0] = tag;
    buf[1..FRAME_HEAD].copy_from_slice(&len.to_le_bytes());
    let check = xxh3_64(buf);
    buf.extend_from_slice(&check.to_le_bytes());
}

/// Writes frames and counts the bytes.
pub(super) struct FrameWriter<W> {
    out: W,
    pub(super) offset: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn new(out: W) -> Self {
        FrameWriter { out, offset: 0 }
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes a frame that [`seal`] is to complete.
    pub(super) fn frame(&mut self, tag: u8, buf: &mut Vec<u8>) -> Result<(), Error> {
        seal(tag, buf);
        self.raw(buf)
    }

    pub(super) fn into_inner(mut self) -> Result<W, Error> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Where a frame was read, and what it is. Its bytes are in the buffer it was read into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Offset of the frame.
    pub(super) offset: u64,
    pub(super) tag: u8,
    /// What it should be, for errors.
    what: &'static str,
}

impl Frame {
    /// Checks the frame's checksum; `buf` holds the whole frame. Returns its body.
    pub(super) fn check<'a>(&self, buf: &'a [u8]) -> Result<&'a [u8], Error> {
        let (covered, check) = buf.split_at(buf.len() - CHECKSUM);
        let expected = check.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
        let found = xxh3_64(covered);
        if expected != found {
            return Err(Error::Checksum {
                offset: self.offset,
                what: self.what,
                expected,
                found,
            });
        }
        Ok(self.body(buf))
    }

    /// The body of a frame that has been checked.
    pub(super) fn body<'a>(&self, buf: &'a [u8]) -> &'a [u8] {
        &buf[FRAME_HEAD..buf.len() - CHECKSUM]
    }
}

/// Reads frames and counts the bytes.
pub(super) struct FrameReader<R> {
    input: R,
    pub(super) offset: u64,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn new(input: R) -> Self {
        FrameReader { input, offset: 0 }
    }

    /// Fills `buf`, or its start if the input ends. Returns the number of bytes.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        let mut have = 0;
        while have < buf.len() {
            match self.input.read(&mut buf[have..]) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(have)
    }

    /// Fills `buf` from `from` up to `to`, in place of what it held there, and cuts it off at `to` or where the input
    /// ends. Memory grows only as bytes arrive.
    fn fill(&mut self, buf: &mut Vec<u8>, from: usize, to: usize) -> Result<(), Error> {
        let mut have = from;
        loop {
            let end = to.min(buf.len().max(have + GROWTH));
            if buf.len() < end {
                buf.resize(end, 0);
            }
            have += self.read(&mut buf[have..end])?;
            if have < end || end == to {
                buf.truncate(have);
                return Ok(());
            }
        }
    }

    /// Up to `n` bytes that are not in a frame.
    pub(super) fn raw(&mut self, n: usize) -> Result<Vec<u8>, Error> {
        let mut buf = Vec::new();
        self.fill(&mut buf, 0, n)?;
        self.offset += buf.len() as u64;
        Ok(buf)
    }

    /// Reads a whole frame into `buf`, in place of what it holds. Its tag must be a key of `allowed`, which gives the
    /// longest body for it. The checksum is left to [`Frame::check`].
    pub(super) fn frame(
        &mut self,
        what: &'static str,
        allowed: &[(u8, u32)],
        buf: &mut Vec<u8>,
    ) -> Result<Frame, Error> {
        let offset = self.offset;
        let truncated = |expected: usize, found: usize| Error::Truncated {
            offset,
            what,
            expected: expected as u64,
            found: found as u64,
        };
        let mut head = [0; FRAME_HEAD];
        let have = self.read(&mut head)?;
        if let Some(&tag) = head[..have].first()
            && !allowed.iter().any(|(t, _)| *t == tag)
        {
            let tags = allowed.iter().map(|(t, _)| format!("'{}'", char::from(*t)));
            return Err(Error::Field {
                offset,
                what: "frame tag",
                expected: tags.collect::<Vec<_>>().join(" or "),
                found: format!("0x{tag:02x}"),
            });
        }
        let [tag, a, b, c, d] = head;
        if have < FRAME_HEAD {
            return Err(truncated(FRAME_HEAD, have));
        }
        let len = u32::from_le_bytes([a, b, c, d]);
        let max = allowed.iter().find(|(t, _)| *t == tag).map_or(0, |(_, max)| *max);
        if len > max {
            return Err(Error::Field {
                offset,
                what: "frame length",
                expected: format!("at most {max}"),
                found: len.to_string(),
            });
        }
        let end = FRAME_HEAD + len as usize + CHECKSUM;
        if buf.len() < FRAME_HEAD {
            buf.resize(FRAME_HEAD, 0);
        }
        buf[..FRAME_HEAD].copy_from_slice(&head);
        self.fill(buf, FRAME_HEAD, end)?;
        if buf.len() < end {
            return Err(truncated(end, buf.len()));
        }
        self.offset += end as u64;
        Ok(Frame { offset, tag, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_round_trip(n in prop_oneof![any::<u64>(), 0..300u64, (0..64u32).prop_map(|b| 1 << b)]) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, n);
            let mut fields = Fields::new(&bytes, 0);
            prop_assert_eq!(fields.number("n").unwrap(), n);
            prop_assert!(fields.end().is_ok());
        }

        #[test]
        fn a_number_has_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut fields = Fields::new(&bytes, 0);
            if let Ok(n) = fields.number("n") {
                let mut again = Vec::new();
                put_number(&mut again, n);
                prop_assert!(bytes.starts_with(&again));
                prop_assert_eq!(again.len(), bytes.len() - fields.bytes.len());
            }
        }
    }

    #[test]
    fn the_largest_number_takes_ten_bytes() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, u64::MAX);
        assert_eq!(bytes.len(), 10);
        bytes[9] = 2;
        assert!(Fields::new(&bytes, 0).number("n").is_err());
    }
}
