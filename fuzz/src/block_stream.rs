//! Any bytes as a block stream.

use planezip::codec::{DecodeError, Stats, Verdict, decode_block};
use planezip::container::{self, Error, Writer};
use planezip::format::{BLOCK_BYTES, Header, Layout, MAX_HEADER_LEN, max_stream_len};
use planezip::tensor::{DType, FileFormat, TensorMeta};

use crate::codecs::codecs;

/// Bytes 0 and 1 are the most raw bytes that decoding may give; the stream follows and is read under both layouts.
///
/// Decoding gives a value or the error that a walk over the headers leads to, never more bytes than allowed and never
/// more memory than it has decoded; what decodes can be encoded, decoded to the same bytes and carried in a `.pz` file.
pub fn block_stream(data: &[u8]) {
    let Some((limit, stream)) = data.split_first_chunk::<2>() else {
        return;
    };
    let limit = u64::from(u16::from_le_bytes(*limit));
    for layout in Layout::ALL {
        let whole = agree(layout, stream, u64::MAX);
        let _ = agree(layout, stream, limit);
        if let Ok(raw) = &whole {
            again(layout, raw);
            // The exact length is enough, one byte less is not.
            assert_eq!(agree(layout, stream, raw.len() as u64).as_ref(), Ok(raw));
            if let Some(less) = (raw.len() as u64).checked_sub(1) {
                assert!(matches!(
                    agree(layout, stream, less),
                    Err(DecodeError::TooLong { expected, .. }) if expected == less
                ));
            }
        }
        carried(layout, stream, &whole);
    }
}

/// Decodes by every codec and compares with the walk over the headers.
fn agree(layout: Layout, stream: &[u8], limit: u64) -> Result<Vec<u8>, DecodeError> {
    let mut expected = Vec::new();
    let verdict = walk(layout, stream, limit, &mut expected);
    for codec in codecs() {
        let mut raw = Vec::new();
        let found = codec.decode(layout, stream, limit, &mut raw);
        assert_eq!(found, verdict, "{}", codec.name());
        assert!(raw == expected, "{}: other bytes", codec.name());
        assert!(raw.len() as u64 <= limit);
        assert!(
            raw.capacity() <= 2 * raw.len().max(BLOCK_BYTES),
            "{}: {} bytes of memory for {}",
            codec.name(),
            raw.capacity(),
            raw.len()
        );
        // What stands in the buffer already stays there.
        let mut after = vec![0xa5; 3];
        assert_eq!(codec.decode(layout, stream, limit, &mut after), verdict);
        assert!(after[..3] == [0xa5; 3] && after[3..] == raw);
    }
    if let Err(e) = &verdict {
        assert!(!e.to_string().is_empty());
        let code = match e {
            DecodeError::BadHeader { .. } => Some(Verdict::BadHeader),
            DecodeError::Truncated { needed, have, .. } => {
                assert!(needed > have);
                Some(Verdict::Truncated)
            }
            DecodeError::Trailing { .. } => Some(Verdict::Trailing),
            DecodeError::TooLong { expected, found, .. } => {
                assert!(found > expected);
                None
            }
        };
        assert_eq!(e.verdict(), code);
    }
    verdict.map(|_| expected)
}

/// The stream block by block: what decoding it must give.
fn walk(layout: Layout, stream: &[u8], limit: u64, out: &mut Vec<u8>) -> Result<Stats, DecodeError> {
    let mut stats = Stats::default();
    let mut rest = stream;
    while !rest.is_empty() {
        let here = (stream.len() - rest.len()) as u64;
        let mut raw = [0; BLOCK_BYTES];
        let (header, len) = decode_block(layout, rest, &mut raw).map_err(|mut e| {
            let (DecodeError::BadHeader { offset, .. }
            | DecodeError::Truncated { offset, .. }
            | DecodeError::Trailing { offset, .. }
            | DecodeError::TooLong { offset, .. }) = &mut e;
            assert_eq!(*offset, 0);
            *offset = here;
            e
        })?;
        check_header(layout, rest, &header, len);
        rest = &rest[len..];
        if header.form().is_none() && !rest.is_empty() {
            return Err(DecodeError::Trailing {
                offset: here,
                extra: rest.len(),
            });
        }
        let found = stats.raw_bytes + header.raw_len() as u64;
        if found > limit {
            return Err(DecodeError::TooLong {
                offset: here,
                expected: limit,
                found,
            });
        }
        out.extend_from_slice(&raw[..header.raw_len()]);
        stats.raw_bytes = found;
        if let Some(form) = header.form() {
            stats.blocks[form as usize] += 1;
        }
    }
    stats.comp_bytes = stream.len() as u64;
    Ok(stats)
}

/// The header alone tells the block's length, and there is one header for one meaning.
fn check_header(layout: Layout, block: &[u8], header: &Header, len: usize) {
    let head = header.header_len(layout);
    assert_eq!(header.block_len(layout), len);
    assert_eq!(head + header.payload_len(layout), len);
    assert!(len <= block.len());
    assert_eq!(Header::parse(layout, &block[..head]).as_ref(), Ok(header));
    let mut written = [0; MAX_HEADER_LEN];
    assert_eq!(header.write(layout, &mut written), head);
    assert_eq!(written[..head], block[..head]);
    // One byte less is too few, of the header and of the block.
    assert!(Header::parse(layout, &block[..head - 1]).is_err());
    assert!(matches!(
        decode_block(layout, &block[..len - 1], &mut [0; BLOCK_BYTES]),
        Err(DecodeError::Truncated { .. })
    ));
}

/// Encodes what was decoded and decodes it again.
fn again(layout: Layout, raw: &[u8]) {
    for codec in codecs() {
        let mut stream = Vec::new();
        codec.encode(layout, raw, &mut stream);
        assert!(stream.len() as u64 <= max_stream_len(raw.len() as u64));
        let mut back = Vec::new();
        let stats = codec.decode(layout, &stream, raw.len() as u64, &mut back);
        assert_eq!(
            stats.map(|s| s.raw_bytes),
            Ok(raw.len() as u64),
            "{}",
            codec.name()
        );
        assert!(back == raw, "{}: other bytes", codec.name());
    }
}

/// A `.pz` file takes the stream if and only if it decodes and is no longer than an encoder makes it, and gives back
/// what it decodes to.
fn carried(layout: Layout, stream: &[u8], whole: &Result<Vec<u8>, DecodeError>) {
    let meta = TensorMeta {
        name: String::new(),
        dtype: match layout {
            Layout::W16 => DType::Bf16,
            Layout::W32 => DType::F32,
        },
        shape: None,
        fortran_order: false,
    };
    let raw = whole.as_deref().unwrap_or_default();
    let limit = max_stream_len(raw.len() as u64);
    let mut writer = Writer::new(Vec::new(), FileFormat::Raw).expect("memory takes it");
    match (writer.tensor_stream(&meta, raw, stream), whole) {
        (Ok(totals), Ok(_)) => assert_eq!(totals.stats.comp_bytes, stream.len() as u64),
        (Err(Error::Stream(e)), Err(expected)) => return assert_eq!(&e, expected),
        (Err(Error::StreamTooLong { max, found, .. }), Ok(_)) => {
            assert_eq!((max, found), (limit, stream.len() as u64));
            return assert!(found > max);
        }
        (result, _) => panic!("{result:?} for {whole:?}"),
    }
    let (pz, _) = writer.finish().expect("memory takes it");
    let (back, _) = container::decompress(&pz[..], Vec::new(), &mut |_| {}).expect("just made");
    assert!(back == raw);
}
