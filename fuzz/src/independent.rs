//! The golden decoder against the independent one (`tests/independent/planezip_decoder.py`).

use std::cell::RefCell;
use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use planezip::codec::{self, Verdict};
use planezip::format::Layout;

/// The independent decoder, answering requests. It ends with this process, when its input does.
struct Decoder {
    requests: ChildStdin,
    answers: ChildStdout,
}

impl Decoder {
    fn start() -> Decoder {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/independent/planezip_decoder.py"
        );
        let mut child = Command::new("python3")
            .args([script, "--serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        Decoder {
            requests: child.stdin.take().expect("piped"),
            answers: child.stdout.take().expect("piped"),
        }
    }

    fn decode(&mut self, layout: Layout, stream: &[u8]) -> (u8, Vec<u8>) {
        let mut request = vec![u8::from(layout == Layout::W32)];
        request.extend((stream.len() as u32).to_le_bytes());
        request.extend(stream);
        self.requests.write_all(&request).expect("a decoder that listens");
        self.requests.flush().expect("a decoder that listens");
        let mut head = [0; 5];
        self.answers.read_exact(&mut head).expect("an answer");
        let len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let mut raw = vec![0; len as usize];
        self.answers.read_exact(&mut raw).expect("an answer's bytes");
        (head[0], raw)
    }
}

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::start());
}

/// Byte 0 chooses the layout; the rest is the stream. Both decoders give the same verdict and the same bytes before a
/// fault.
pub fn independent(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else {
        return;
    };
    let layout = Layout::ALL[usize::from(first & 1)];
    let mut raw = Vec::new();
    let verdict = match codec::decode(layout, stream, u64::MAX, &mut raw) {
        Ok(_) => Verdict::Ok,
        Err(e) => e.verdict().expect("no limit was given"),
    };
    let other = DECODER.with_borrow_mut(|decoder| decoder.decode(layout, stream));
    assert!(
        other == (verdict as u8, raw),
        "{layout:?}: {verdict:?}, and verdict {}",
        other.0
    );
}
