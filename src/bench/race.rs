//! Measuring throughput.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::num::NonZero;
use std::time::{Duration, Instant};

use super::report::{Data, Direction, Group, ModelReport, Report, Speed, Summary};
use super::{Codec, Element, Error, Machine, Method, machine};
use crate::format::BLOCK_BYTES;
use crate::stat::{FLOATS, Tensor};
use crate::tensor::Float;

/// Those that race on one thread, each against all others.
const SINGLE: [Method; 6] = [
    Method::Planezip,
    Method::ZeroValue,
    Method::Lz4,
    Method::Zstd3,
    Method::BitshuffleLz4,
    Method::Memcpy,
];

/// Key of the codec on several threads.
const PARALLEL: &str = "planezip_threads";

/// Shortest repetition: faster contestants go over the data several times.
const REPETITION: Duration = Duration::from_millis(10);
/// Fewest repetitions, however long they take.
const MIN_ROUNDS: u64 = 5;
/// Raw bytes that a thread takes at a time.
const SPAN: usize = 128 * BLOCK_BYTES;

/// What [`run`] is to do.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Time to spend, spread evenly over models and float types. Each gets at least five rounds, so it may take longer.
    pub seconds: f64,
    /// Threads of the contestant that uses several; 0 for as many as there are processors.
    pub threads: usize,
}

/// A codec and its buffers over some pieces of raw bytes.
struct Worker<'a> {
    codec: Box<dyn Codec>,
    element: Element,
    pieces: Vec<&'a [u8]>,
    streams: Vec<Vec<u8>>,
    restored: Vec<Vec<u8>>,
}

impl<'a> Worker<'a> {
    fn new(method: Method, element: Element, pieces: Vec<&'a [u8]>) -> Result<Self, Error> {
        let buffers = vec![Vec::new(); pieces.len()];
        Ok(Worker {
            codec: method.codec()?,
            element,
            streams: buffers.clone(),
            restored: buffers,
            pieces,
        })
    }

    fn compress(&mut self, passes: u32) -> Result<(), Error> {
        for _ in 0..passes {
            for (raw, stream) in self.pieces.iter().zip(&mut self.streams) {
                self.codec.compress(self.element, black_box(raw), stream)?;
                black_box(stream);
            }
        }
        Ok(())
    }

    fn decompress(&mut self, passes: u32) -> Result<(), Error> {
        for _ in 0..passes {
            let buffers = self.streams.iter().zip(&mut self.restored);
            for (raw, (stream, restored)) in self.pieces.iter().zip(buffers) {
                let stream = black_box(&stream[..]);
                self.codec.decompress(self.element, stream, raw.len(), restored)?;
                black_box(restored);
            }
        }
        Ok(())
    }

    /// Compares what was decompressed last with the raw bytes; returns their number.
    fn check(&self, method: Method) -> Result<u64, Error> {
        for (raw, restored) in self.pieces.iter().zip(&self.restored) {
            method.check(raw, restored)?;
        }
        Ok(self.pieces.iter().map(|raw| raw.len() as u64).sum())
    }
}

#[derive(Clone, Copy)]
enum Way {
    Compress,
    Decompress,
}

/// A method on one or several threads.
struct Contestant<'a> {
    method: Method,
    key: &'static str,
    /// One for each thread.
    workers: Vec<Worker<'a>>,
    /// Times it goes over the data in a repetition, by [`Way`].
    passes: [u32; 2],
    /// Raw bytes per second of each repetition, by [`Way`].
    speeds: [Vec<f64>; 2],
}

impl<'a> Contestant<'a> {
    fn new(method: Method, key: &'static str, workers: Vec<Worker<'a>>) -> Self {
        Contestant {
            method,
            key,
            workers,
            passes: [1; 2],
            speeds: Default::default(),
        }
    }

    fn single(method: Method, element: Element, tensors: &[&'a Tensor]) -> Result<Self, Error> {
        let pieces = tensors.iter().map(|t| &t.raw[..]).collect();
        let worker = Worker::new(method, element, pieces)?;
        Ok(Self::new(method, method.key(), vec![worker]))
    }

    /// The codec on several threads: the tensors' blocks are dealt out in spans, to each thread in turn.
    fn parallel(threads: usize, element: Element, tensors: &[&'a Tensor]) -> Result<Self, Error> {
        let spans: Vec<&[u8]> = tensors.iter().flat_map(|t| t.raw.chunks(SPAN)).collect();
        let workers = (0..threads.clamp(1, spans.len().max(1)))
            .map(|n| {
                let mine = spans.iter().skip(n).step_by(threads).copied().collect();
                Worker::new(Method::Planezip, element, mine)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self::new(Method::Planezip, PARALLEL, workers))
    }

    fn go(&mut self, way: Way, passes: u32) -> Result<Duration, Error> {
        let run = |worker: &mut Worker| match way {
            Way::Compress => worker.compress(passes),
            Way::Decompress => worker.decompress(passes),
        };
        let start = Instant::now();
        if let [worker] = &mut self.workers[..] {
            run(worker)?;
        } else {
            std::thread::scope(|scope| {
                let handles: Vec<_> = self
                    .workers
                    .iter_mut()
                    .map(|worker| scope.spawn(|| run(worker)))
                    .collect();
                handles.into_iter().try_for_each(|handle| {
                    handle
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
            })?;
        }
        Ok(start.elapsed())
    }

    /// Fills the buffers, checks the round trip, and finds how many passes make a repetition.
    fn prepare(&mut self) -> Result<u64, Error> {
        for way in [Way::Compress, Way::Decompress] {
            // The first pass allocates, the second does not.
            self.go(way, 1)?;
            let pass = self.go(way, 1)?.max(Duration::from_nanos(100));
            self.passes[way as usize] = (REPETITION.as_secs_f64() / pass.as_secs_f64()).ceil() as u32;
        }
        self.check()
    }

    fn check(&self) -> Result<u64, Error> {
        self.workers.iter().map(|w| w.check(self.method)).sum()
    }

    fn repeat(&mut self, way: Way, raw_bytes: u64) -> Result<(), Error> {
        let passes = self.passes[way as usize];
        let time = self.go(way, passes)?.as_secs_f64();
        self.speeds[way as usize].push(raw_bytes as f64 * f64::from(passes) / time);
        Ok(())
    }

    fn stream_bytes(&self) -> u64 {
        let streams = self.workers.iter().flat_map(|w| &w.streams);
        streams.map(|s| s.len() as u64).sum()
    }
}

fn direction(contestants: &mut [Contestant], way: Way) -> Direction {
    let gb_per_s: BTreeMap<_, _> = contestants
        .iter_mut()
        .map(|c| {
            let speeds = c.speeds[way as usize].iter().map(|s| s / 1e9).collect();
            (c.key, Speed::of(speeds))
        })
        .collect();
    let own = gb_per_s[Method::Planezip.key()].median;
    let others = SINGLE.iter().filter(|m| **m != Method::Planezip);
    Direction {
        planezip_over: others
            .map(|m| (m.key(), own / gb_per_s[m.key()].median))
            .collect(),
        speedup: gb_per_s[PARALLEL].median / own,
        gb_per_s,
    }
}

/// Races all contestants over one model's tensors; also returns the bytes that were verified.
fn model(
    float: Float,
    tensors: &[&Tensor],
    threads: usize,
    share: Duration,
    progress: &mut dyn FnMut(Duration),
) -> Result<(ModelReport, u64), Error> {
    let element = Element::from(float);
    let mut contestants = SINGLE
        .iter()
        .map(|method| Contestant::single(*method, element, tensors))
        .collect::<Result<Vec<_>, _>>()?;
    contestants.push(Contestant::parallel(threads, element, tensors)?);
    let mut verified = 0;
    for c in &mut contestants {
        verified += c.prepare()?;
    }
    let raw_bytes = tensors.iter().map(|t| t.raw.len() as u64).sum();
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < MIN_ROUNDS || start.elapsed() < share {
        // Another one is first in every round.
        contestants.rotate_left(1);
        for c in &mut contestants {
            c.repeat(Way::Compress, raw_bytes)?;
            c.repeat(Way::Decompress, raw_bytes)?;
            progress(start.elapsed().min(share));
        }
        rounds += 1;
    }
    for c in &contestants {
        c.check()?;
    }
    let report = ModelReport {
        tensors: tensors.len() as u64,
        raw_bytes,
        working_set_bytes: 2 * raw_bytes,
        rounds,
        stream_bytes: contestants.iter().map(|c| (c.key, c.stream_bytes())).collect(),
        compress: direction(&mut contestants, Way::Compress),
        decompress: direction(&mut contestants, Way::Decompress),
    };
    Ok((report, verified))
}

/// Measures the throughput of the codec and of its rivals.
///
/// One model's tensors of one float type at a time: every contestant goes over all of them, tensor by tensor, each
/// with its own contexts and buffers, which are filled before the clock starts; the timed loops do not allocate. In a
/// round each contestant compresses once and decompresses once, for ten milliseconds or one pass over the data,
/// whichever is longer; the contestants take turns in going first. Speeds are raw bytes over time, medians over
/// rounds. All round trips are checked before and after.
///
/// Beside the contestants on one thread the codec runs on several, which get spans of 16 KiB of the tensors in turn
/// (blocks do not depend on each other); starting the threads is in its time.
///
/// `progress` is told the time spent and the time to spend.
///
/// # Errors
/// [`Error`]; [`Error::Differs`] if a contestant loses data.
pub fn run(
    tensors: &[Tensor],
    request: &Request,
    progress: &mut dyn FnMut(Duration, Duration),
) -> Result<Report, Error> {
    let machine = Machine::here();
    let threads = NonZero::new(request.threads).map_or(machine.processors, NonZero::get);
    let mut groups: BTreeMap<(Float, &str), Vec<&Tensor>> = BTreeMap::new();
    for t in tensors.iter().filter(|t| !t.raw.is_empty()) {
        groups.entry((t.float, &t.model)).or_default().push(t);
    }
    if groups.is_empty() {
        return Err(Error::NoTensors);
    }
    let (start, waited_before) = (Instant::now(), machine::waited());
    let total = Duration::try_from_secs_f64(request.seconds).unwrap_or_default();
    let share = total / groups.len() as u32;
    let mut data = Data::default();
    let mut models: BTreeMap<Float, BTreeMap<String, ModelReport>> = BTreeMap::new();
    for (i, ((float, name), tensors)) in groups.into_iter().enumerate() {
        let before = share * i as u32;
        let (report, verified) = model(float, &tensors, threads, share, &mut |time| {
            progress(before + time, total);
        })?;
        data.tensors += report.tensors;
        data.raw_bytes += report.raw_bytes;
        data.verified_bytes += verified;
        models.entry(float).or_default().insert(name.to_owned(), report);
    }
    let waited = machine::waited().zip(waited_before);
    let waited_share =
        waited.map(|(after, before)| after.saturating_sub(before).div_duration_f64(start.elapsed()));
    let [bf16, f16, f32] = FLOATS.map(|float| models.remove(&float).map(Group::of));
    Ok(Report {
        machine,
        data,
        threads,
        waited_share,
        summary: Summary { bf16, f16, f32 },
    })
}
