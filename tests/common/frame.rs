//! A frame of the container, written from docs/container.md.

use xxhash_rust::xxh3::xxh3_64;

/// Tag, length, body, checksum.
pub fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut f = vec![tag];
    f.extend_from_slice(&(body.len() as u32).to_le_bytes());
    f.extend_from_slice(body);
    let check = xxh3_64(&f);
    f.extend_from_slice(&check.to_le_bytes());
    f
}
