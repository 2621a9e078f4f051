//! The independent decoder as a process, for tests and fuzz targets.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use planezip::format::Layout;

/// `tests/independent/planezip_decoder.py`, answering.
pub struct Decoder {
    child: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl Decoder {
    /// Starts it.
    pub fn start() -> Decoder {
        // The package is the project, or one folder below.
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = [root, &root.join("..")]
            .iter()
            .map(|r| r.join("tests/independent/planezip_decoder.py"))
            .find(|p| p.is_file())
            .expect("the decoder's script in the source tree");
        let mut child = Command::new("python3")
            .arg(script)
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 (3.10 or newer), which the project's set-up needs as well");
        Decoder {
            requests: child.stdin.take(),
            answers: child.stdout.take().expect("piped"),
            child,
        }
    }

    /// The verdict, and the bytes before a fault.
    pub fn decode(&mut self, layout: Layout, stream: &[u8]) -> (u8, Vec<u8>) {
        let mut request = vec![u8::from(layout == Layout::W32)];
        request.extend((stream.len() as u32).to_le_bytes());
        request.extend(stream);
        let pipe = self.requests.as_mut().expect("open until dropped");
        pipe.write_all(&request).expect("a decoder that listens");
        pipe.flush().expect("a decoder that listens");
        let mut head = [0; 5];
        self.answers.read_exact(&mut head).expect("an answer");
        let len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let mut raw = vec![0; len as usize];
        self.answers.read_exact(&mut raw).expect("an answer's bytes");
        (head[0], raw)
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // Its input ends, and so does it.
        self.requests = None;
        let _ = self.child.wait();
    }
}
