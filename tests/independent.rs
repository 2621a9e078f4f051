//! The golden codec against a decoder in another language that was written from docs/format.md alone, and both against
//! streams kept as files.

#[path = "common/decoder.rs"]
mod decoder;

use std::path::PathBuf;

use decoder::Decoder;

use planezip::codec::{self, Verdict};
use planezip::cosim::{Work, foreign, malformed, rng};
use planezip::format::{BLOCK_BYTES, FORMAT_CODE, Layout};

/// What the golden codec makes of a stream, in the same terms.
fn golden(layout: Layout, stream: &[u8]) -> (u8, Vec<u8>) {
    let mut raw = Vec::new();
    let verdict = match codec::decode(layout, stream, u64::MAX, &mut raw) {
        Ok(_) => Verdict::Ok,
        Err(e) => e.verdict().expect("no limit was given"),
    };
    (verdict as u8, raw)
}

fn agree(decoder: &mut Decoder, label: &str, layout: Layout, stream: &[u8]) {
    let (expected, found) = (golden(layout, stream), decoder.decode(layout, stream));
    assert!(
        expected == found,
        "{label} {layout:?}: the golden codec says {} and {} bytes, the independent decoder {} and {} bytes, for {stream:02x?}",
        expected.0,
        expected.1.len(),
        found.0,
        found.1.len()
    );
}

/// Encoders' streams of every form and corner, streams that no encoder makes, damaged ones.
#[test]
fn codec_and_independent_decoder_agree() {
    let mut decoder = Decoder::start();
    for work in planezip::cosim::RandomPackets::new(3000, 5) {
        match work {
            Work::Encode(job) => {
                let layout = job.dtype.layout();
                assert_eq!(
                    decoder.decode(layout, &job.stream),
                    (0, job.raw.to_vec()),
                    "{}",
                    job.label
                );
            }
            Work::Decode(job) => agree(&mut decoder, &job.label, job.dtype.layout(), &job.stream),
        }
    }
    let mut rng = rng(8, 0);
    for i in 0..300 {
        let job = foreign(format!("foreign {i}"), &mut rng);
        agree(&mut decoder, &job.label, job.dtype.layout(), &job.stream);
    }
    for work in malformed(1500, 8) {
        if let Work::Decode(job) = work {
            agree(&mut decoder, &job.label, job.dtype.layout(), &job.stream);
        }
    }
}

/// Every cut and every flipped bit of a stream with all forms in it.
#[test]
fn both_refuse_alike() {
    let mut decoder = Decoder::start();
    for layout in Layout::ALL {
        let mut rng = rng(21, 0);
        let mut stream = Vec::new();
        while stream.len() < 300 {
            stream.extend_from_slice(&foreign(String::new(), &mut rng).stream);
        }
        stream.truncate(300);
        for n in 0..stream.len() {
            agree(&mut decoder, "cut", layout, &stream[..n]);
        }
        for bit in 0..8 * stream.len() {
            let mut flipped = stream.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            agree(&mut decoder, "flipped", layout, &flipped);
        }
    }
}

// ---- golden files --------------------------------------------------------------------------------------------------

/// A set of golden files: what is encoded, its stream, and streams that no encoder makes with what they stand for.
struct Golden {
    layout: Layout,
    name: &'static str,
}

const SETS: [Golden; 2] = [
    Golden {
        layout: Layout::W16,
        name: "w16",
    },
    Golden {
        layout: Layout::W32,
        name: "w32",
    },
];

fn path(set: &Golden, ending: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "tests/golden/v1-candidate-1",
        &format!("{}.{ending}", set.name),
    ]
    .iter()
    .collect()
}

/// The files' contents by ending, as this version of the codec makes them.
fn made(set: &Golden) -> Vec<(&'static str, Vec<u8>)> {
    let mut raw = Vec::new();
    for work in planezip::cosim::RandomPackets::new(1500, 1) {
        if let Work::Encode(job) = work
            && job.dtype.layout() == set.layout
        {
            raw.extend_from_slice(&job.raw[..job.raw.len() / BLOCK_BYTES * BLOCK_BYTES]);
        }
    }
    raw.extend([1, 2, 3, 4, 5]);
    let mut stream = Vec::new();
    codec::encode_with(codec::Path::PORTABLE, set.layout, &raw, &mut stream);
    let mut other = Vec::new();
    let mut rng = rng(2, 0);
    while other.len() < 30_000 {
        let job = foreign(String::new(), &mut rng);
        if job.dtype.layout() == set.layout && job.raw.len().is_multiple_of(BLOCK_BYTES) {
            other.extend_from_slice(&job.stream);
        }
    }
    let (_, other_raw) = golden(set.layout, &other);
    vec![
        ("raw", raw),
        ("stream", stream),
        ("foreign.stream", other),
        ("foreign.raw", other_raw),
    ]
}

/// The golden files of this candidate: encoded as they were, decoded to what they were, by both decoders.
///
/// `PLANEZIP_WRITE_GOLDEN=1` writes them anew, which is right only where the version or candidate changes.
#[test]
fn golden_files_hold() {
    assert_eq!(FORMAT_CODE, 0x11, "another candidate has a directory of its own");
    let mut decoder = Decoder::start();
    for set in &SETS {
        if std::env::var_os("PLANEZIP_WRITE_GOLDEN").is_some() {
            for (ending, bytes) in made(set) {
                std::fs::write(path(set, ending), bytes).expect("a directory to write to");
            }
        }
        let file = |ending: &str| std::fs::read(path(set, ending)).expect("a golden file");
        for path in codec::Path::all() {
            let mut stream = Vec::new();
            codec::encode_with(path, set.layout, &file("raw"), &mut stream);
            assert!(
                stream == file("stream"),
                "{} encoded by {}",
                set.name,
                path.name()
            );
        }
        for (stream, raw) in [("stream", "raw"), ("foreign.stream", "foreign.raw")] {
            let expected = (0, file(raw));
            assert!(
                golden(set.layout, &file(stream)) == expected,
                "{} {stream}",
                set.name
            );
            assert!(
                decoder.decode(set.layout, &file(stream)) == expected,
                "{} {stream}, independent",
                set.name
            );
        }
    }
}

/// Every value that a header can have stands in a golden stream.
#[test]
fn golden_files_cover_the_format() {
    use planezip::format::{Form, Header, MaskStyle, Partial};
    for set in &SETS {
        let mut seen = std::collections::BTreeSet::new();
        for ending in ["stream", "foreign.stream"] {
            let stream = std::fs::read(path(set, ending)).expect("a golden file");
            let mut at = 0;
            while at < stream.len() {
                let header = Header::parse(set.layout, &stream[at..]).expect("a header");
                at += header.block_len(set.layout);
                seen.insert(format!("{:?}", header.form()));
                match header {
                    Header::BitPlane { plane, drops } => {
                        seen.insert(format!("bp k{} {:?}", plane.k, plane.sign));
                        seen.insert(format!("bp z{}", plane.z));
                        seen.insert(format!("bp drops{}", drops.bits()));
                    }
                    Header::ZeroMasked { plane, mask } => {
                        let q = mask.count() % 8;
                        let partial = match plane.partial(set.layout, q) {
                            Partial::Halves { verbatim: 0, .. } => "halves",
                            Partial::Halves { .. } => "mixed",
                            Partial::Verbatim { .. } => "verbatim",
                            Partial::Planes { .. } => "planes",
                            Partial::None => "none",
                        };
                        seen.insert(format!("zbp k{} {:?}", plane.k, plane.sign));
                        seen.insert(format!("zbp z{}", plane.z));
                        seen.insert(format!("zbp {:?}", mask.style));
                        seen.insert(format!("zbp q{q} {partial}"));
                    }
                    Header::ZeroValue { mask } => {
                        seen.insert(format!("zv {:?}", mask.style));
                    }
                    Header::Delta { widths, .. } => {
                        seen.extend(widths[..set.layout.groups()].iter().map(|w| format!("dbp {w}")));
                    }
                    _ => {}
                }
            }
        }
        let mut wanted: Vec<String> = Form::ALL.iter().map(|f| format!("{:?}", Some(f))).collect();
        wanted.push("None".into());
        for sign in ["Positive", "Negative", "Kept"] {
            for k in 0..8 {
                wanted.extend([format!("bp k{k} {sign}"), format!("zbp k{k} {sign}")]);
            }
        }
        for z in 0..=set.layout.mant_bits() {
            wanted.extend([format!("bp z{z}"), format!("zbp z{z}")]);
        }
        wanted.extend(["bp drops0".into(), "bp drops2".into()]);
        wanted.extend(MaskStyle::ALL.iter().map(|s| format!("zbp {s:?}")));
        wanted.extend(MaskStyle::ALL.iter().map(|s| format!("zv {s:?}")));
        let word = set.layout.word_bits();
        wanted.extend((0..=word).filter(|w| *w != word - 1).map(|w| format!("dbp {w}")));
        for (q, how) in [
            (1, "verbatim"),
            (2, "verbatim"),
            (3, "verbatim"),
            (1, "halves"),
            (4, "halves"),
        ] {
            wanted.push(format!("zbp q{q} {how}"));
        }
        for q in 5..8 {
            wanted.extend([format!("zbp q{q} mixed"), format!("zbp q{q} planes")]);
        }
        wanted.retain(|w| !seen.contains(w));
        assert!(wanted.is_empty(), "{}: {wanted:?}", set.name);
    }
}
