//! A reader that hands out its bytes in small pieces.

use std::io::{self, Read};

pub(crate) struct Trickle<R> {
    inner: R,
    state: u32,
}

impl<R: Read> Trickle<R> {
    pub(crate) fn new(inner: R) -> Self {
        Trickle { inner, state: 1 }
    }
}

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Mostly a few bytes, now and then very many, so that long inputs do not take long.
        let most = match self.state >> 28 {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            n @ 1..=12 => n as usize,
            _ => 1 << 16,
        };
        let n = buf.len().min(most);
        self.inner.read(&mut buf[..n])
    }
}
