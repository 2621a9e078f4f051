//! Any bytes as a `.pz` file.

use planezip::codec::Stats;
use planezip::container::{
    self, Error, Event, MAGIC, MAX_CHUNK_RAW, Reader, Record, RecordTotals, Summary, Writer,
};
use planezip::format::{BLOCK_BYTES, FORMAT_CODE, Header, Layout};
use planezip::tensor::FileFormat;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::trickle::Trickle;

/// Values of byte 0 (modulo 3).
pub(crate) mod mode {
    /// The file as it is.
    pub(crate) const PLAIN: u8 = 0;
    /// Checksums of frames are made right.
    pub(crate) const FRAMES: u8 = 1;
    /// So are the totals and checksums in the frames that end a record or the file.
    pub(crate) const TOTALS: u8 = 2;
}

/// The most raw bytes that a byte of a file stands for: DEFLATE gives 1032 for one, a block 128.
const MAX_EXPANSION: usize = 1040;

/// Byte 0 says how much of the file that follows is made right first: else nearly every input would end at the first
/// checksum.
///
/// The reader gives a typed error or the original, the same however its input comes, and never more than the file can
/// stand for; what it reads, written again, is read as the same.
pub fn container(data: &[u8]) {
    let Some(pz) = pz(data) else { return };
    let whole = read(&pz[..]);
    assert!(
        whole == read(Trickle::new(&pz[..])),
        "another result from small reads"
    );
    assert!(whole.raw.len() <= MAX_EXPANSION * pz.len());

    let mut raw = Vec::new();
    let result = container::decompress(&pz[..], &mut raw, &mut |_| {}).map(|(_, summary)| summary);
    assert!(raw == whole.raw);
    match (&whole.result, result) {
        (Ok((format, summary)), Ok(found)) => {
            assert_eq!(*summary, found);
            complete(&pz, *format, &whole, summary);
        }
        (Err(text), Err(e)) => {
            assert_eq!(*text, e.to_string());
            assert!(!matches!(e, Error::Io(_)), "{e:?}");
            assert!(!text.is_empty());
            let _ = (e.hint(), e.is_corruption());
        }
        (found, expected) => panic!("{found:?}, {expected:?}"),
    }
}

/// The file that an input of [`container()`] stands for; `None` for no input at all.
#[must_use]
pub fn pz(data: &[u8]) -> Option<Vec<u8>> {
    let (&first, rest) = data.split_first()?;
    Some(match first % 3 {
        mode::PLAIN => rest.to_vec(),
        mode => sealed(rest, mode == mode::TOTALS),
    })
}

#[derive(PartialEq, Eq)]
struct Read {
    records: Records,
    raw: Vec<u8>,
    result: Result<(FileFormat, Summary), String>,
}

fn read(input: impl std::io::Read) -> Read {
    let mut all = Read {
        records: Vec::new(),
        raw: Vec::new(),
        result: Err(String::new()),
    };
    all.result = events(input, &mut all.records, &mut all.raw).map_err(|e| e.to_string());
    all
}

/// Each with its raw bytes' range and its totals.
type Records = Vec<(Record, std::ops::Range<usize>, Option<RecordTotals>)>;

fn events(
    input: impl std::io::Read,
    records: &mut Records,
    raw: &mut Vec<u8>,
) -> Result<(FileFormat, Summary), Error> {
    let mut reader = Reader::new(input)?;
    while let Some(event) = reader.next_event()? {
        match event {
            Event::Record(record) => {
                assert!(records.last().is_none_or(|(_, _, totals)| totals.is_some()));
                records.push((record.clone(), raw.len()..raw.len(), None));
            }
            Event::Chunk(bytes) => {
                let (_, range, totals) = records.last_mut().expect("within a record");
                assert!(totals.is_none());
                assert!((1..=MAX_CHUNK_RAW).contains(&bytes.len()));
                assert_eq!(range.len() % BLOCK_BYTES, 0, "after a part of a block");
                raw.extend_from_slice(bytes);
                range.end = raw.len();
            }
            Event::RecordEnd(found) => {
                let (_, range, totals) = records.last_mut().expect("within a record");
                assert!(totals.replace(found).is_none());
                assert_eq!(found.stats.raw_bytes, range.len() as u64);
                assert_eq!(found.checksum, xxh3_64(&raw[range.clone()]));
            }
        }
    }
    assert!(reader.next_event()?.is_none());
    Ok((reader.format(), reader.summary()))
}

/// A file that was read to its end.
fn complete(pz: &[u8], format: FileFormat, read: &Read, summary: &Summary) {
    let raw = &read.raw;
    let tensors = |r: &&(Record, _, Option<RecordTotals>)| matches!(r.0, Record::Tensor { .. });
    assert_eq!(summary.pz_bytes, pz.len() as u64);
    assert_eq!(summary.raw_bytes, raw.len() as u64);
    assert_eq!(summary.checksum, xxh3_64(raw));
    assert_eq!(
        summary.tensors,
        read.records.iter().filter(tensors).count() as u64
    );
    assert_eq!(summary.opaque, read.records.len() as u64 - summary.tensors);
    let mut stats = Stats::default();
    for (_, _, totals) in read.records.iter().filter(tensors) {
        stats.add(&totals.expect("complete").stats);
    }
    assert_eq!(summary.tensor_stats, stats);
    let compared = container::verify(pz, &raw[..], &mut |_| {}).expect("the original");
    assert_eq!(compared, raw.len() as u64);

    // Shorter or longer it is refused.
    let refused = |pz: &[u8]| container::decompress(pz, Vec::new(), &mut |_| {}).expect_err("damaged");
    assert!(matches!(refused(&pz[..pz.len() - 1]), Error::Truncated { .. }));
    assert!(matches!(refused(&[pz, b"x"].concat()), Error::Trailing { .. }));

    // Written again.
    let mut writer = Writer::new(Vec::new(), format).expect("memory takes it");
    for (record, range, totals) in &read.records {
        let mut out = match record {
            Record::Tensor { meta, .. } => writer.tensor(meta),
            Record::Opaque => writer.opaque(),
        }
        .expect("it was in a file");
        out.write(&raw[range.clone()]).expect("memory takes it");
        let found = out.finish().expect("memory takes it");
        assert_eq!(Some(found.checksum), totals.map(|t| t.checksum));
    }
    let (pz, _) = writer.finish().expect("memory takes it");
    let again = self::read(&pz[..]);
    assert!(again.raw == *raw);
    assert_eq!(again.records.len(), read.records.len());
    for ((a, range, _), (b, expected, _)) in again.records.iter().zip(&read.records) {
        assert_eq!(range, expected);
        match (a, b) {
            // The writer takes the dtype's own layout.
            (Record::Tensor { meta: a, layout }, Record::Tensor { meta: b, .. }) => {
                assert_eq!(a, b);
                assert_eq!(*layout, a.dtype.layout());
            }
            _ => assert_eq!(a, b),
        }
    }
    assert_eq!(again.result.map(|(f, _)| f), Ok(format));
}

/// A frame (docs/container.md, section 2).
pub(crate) fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut f = vec![tag];
    f.extend_from_slice(&(body.len() as u32).to_le_bytes());
    f.extend_from_slice(body);
    let check = xxh3_64(&f);
    f.extend_from_slice(&check.to_le_bytes());
    f
}

fn number(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// The same frames with right checksums; with `totals` the frames that end a record or the file also say what there is.
pub(crate) fn sealed(pz: &[u8], totals: bool) -> Vec<u8> {
    let (magic, mut rest) = pz.split_at(pz.len().min(MAGIC.len()));
    let mut out = magic.to_vec();
    let (mut tensors, mut opaque, mut raw_bytes) = (0, 0, 0);
    let mut hash = Xxh3::new();
    let mut start = out.len();
    while let Some((head, after)) = rest.split_first_chunk::<5>() {
        let [tag, a, b, c, d] = *head;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some((body, after)) = after.split_at_checked(len) else {
            break;
        };
        rest = &after[after.len().min(8)..];
        if matches!(tag, b'T' | b'O') {
            start = out.len();
        }
        let mut made = Vec::new();
        match tag {
            b'E' if totals => {
                let (stats, raw, is_tensor) = record(&out[start..]);
                number(stats.raw_bytes, &mut made);
                number(stats.comp_bytes, &mut made);
                if is_tensor {
                    stats.blocks.iter().for_each(|n| number(*n, &mut made));
                    tensors += 1;
                } else {
                    opaque += 1;
                }
                made.extend_from_slice(&xxh3_64(&raw).to_le_bytes());
                hash.update(&raw);
                raw_bytes += stats.raw_bytes;
                start = out.len();
            }
            b'Z' if totals => {
                for n in [tensors, opaque, raw_bytes] {
                    number(n, &mut made);
                }
                made.extend_from_slice(&hash.digest().to_le_bytes());
            }
            _ => made.extend_from_slice(body),
        }
        out.extend_from_slice(&frame(tag, &made));
    }
    out.extend_from_slice(rest);
    out
}

/// What the frames of a record without its end hold: totals, raw bytes, whether it is a tensor.
fn record(frames: &[u8]) -> (Stats, Vec<u8>, bool) {
    let layout = match (frames.first(), frames.get(5)) {
        (Some(b'T'), Some(0)) => Some(Layout::W16),
        (Some(b'T'), _) => Some(Layout::W32),
        _ => None,
    };
    let pz = [&MAGIC[..], &frame(b'H', &[0, FORMAT_CODE, 0]), frames].concat();
    let mut raw = Vec::new();
    // It ends in an error, at the latest where the record's end is missing.
    let _ = events(&pz[..], &mut Vec::new(), &mut raw);
    let mut stats = Stats {
        raw_bytes: raw.len() as u64,
        ..Stats::default()
    };
    let mut rest = frames;
    while let Some((head, after)) = rest.split_first_chunk::<5>() {
        let len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let (body, after) = after.split_at(len);
        rest = &after[8..];
        let (b'C', Some(mut payload)) = (head[0], body.get(4..)) else {
            continue;
        };
        stats.comp_bytes += payload.len() as u64;
        while let Some(layout) = layout
            && let Ok(header) = Header::parse(layout, payload)
            && let Some(after) = payload.get(header.block_len(layout)..)
        {
            if let Some(form) = header.form() {
                stats.blocks[form as usize] += 1;
            }
            payload = after;
        }
    }
    (stats, raw, layout.is_some())
}
