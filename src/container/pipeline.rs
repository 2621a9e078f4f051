//! Jobs in three stages: read in order, worked on by several threads, written in order.
//!
//! Memory is bounded by a fixed number of batches of jobs that go round: whoever reads waits for one that was
//! written. No stage
//! waits for anything but an earlier one, and each ends when the stages before or after it are gone, so that an error
//! anywhere ends all.

use std::io;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::Error;

/// Most threads that encode or decode; more are taken as this many. Reading, checksums and writing, which follow the
/// order of the file, keep no more busy.
pub const MAX_THREADS: usize = 32;

/// Jobs are handed on together until they hold this many bytes: to wake a thread costs more than a small job.
const BATCH_BYTES: usize = 1 << 16;
/// Most jobs handed on together.
const BATCH_JOBS: usize = 256;
/// Capacity that the buffers of a job may keep if it is not the first of its batch.
const SMALL: usize = 1 << 12;

/// A piece of work, with the buffers it needs. It is used again and again.
pub(super) trait Job: Default + Send + 'static {
    /// Cuts each buffer's capacity down to `capacity` if it has more.
    fn trim(&mut self, capacity: usize);
}

/// Jobs that are handed on together.
struct Batch<J> {
    /// Its place in the order.
    place: u64,
    /// The jobs; those from `used` on are for another time.
    jobs: Vec<J>,
    used: usize,
}

impl<J: Job> Batch<J> {
    /// Fills the batch. False if `read` has no more jobs.
    fn fill(&mut self, place: u64, read: &mut impl FnMut(&mut J) -> Option<usize>) -> bool {
        (self.place, self.used) = (place, 0);
        let mut bytes = 0;
        while bytes < BATCH_BYTES && self.used < BATCH_JOBS {
            if self.used == self.jobs.len() {
                self.jobs.push(J::default());
            }
            let Some(n) = read(&mut self.jobs[self.used]) else {
                return false;
            };
            bytes += n;
            self.used += 1;
        }
        true
    }

    fn jobs(&mut self) -> &mut [J] {
        &mut self.jobs[..self.used]
    }

    /// A batch of large jobs has one: only the first job's buffers stay large.
    fn trim(&mut self) {
        for job in self.jobs().iter_mut().skip(1) {
            job.trim(SMALL);
        }
    }
}

/// A batch under way. `None` tells of a thread that panicked.
type Sent<J> = Option<Box<Batch<J>>>;

/// Runs jobs on the calling thread alone: `read` fills one and tells how many bytes it holds, or `None` if there are no
/// more; `work` does it; `write` takes the result.
pub(super) fn run_alone<J: Job, S: Default, E>(
    mut read: impl FnMut(&mut J) -> Option<usize>,
    work: fn(&mut S, &mut J),
    mut write: impl FnMut(&mut J) -> Result<(), E>,
) -> Result<(), E> {
    let mut job = J::default();
    let mut state = S::default();
    while read(&mut job).is_some() {
        work(&mut state, &mut job);
        write(&mut job)?;
    }
    Ok(())
}

/// The same with `threads` threads for `work` and one for `read`; with one thread, as [`run_alone`]. `write` runs on
/// the calling thread and sees the jobs in the order of `read`. Jobs are used again: a stage may find what an earlier
/// use left.
///
/// An error of `write` ends the run at once. The thread that reads may go on until its reader returns.
///
/// # Errors
/// Those of `write`; an I/O error if the threads cannot be started.
pub(super) fn run<J, S, E>(
    threads: NonZero<usize>,
    mut read: impl FnMut(&mut J) -> Option<usize> + Send + 'static,
    work: fn(&mut S, &mut J),
    mut write: impl FnMut(&mut J) -> Result<(), E>,
) -> Result<(), E>
where
    J: Job,
    S: Default + 'static,
    E: From<Error>,
{
    let threads = threads.get().min(MAX_THREADS);
    if threads == 1 {
        return run_alone(read, work, write);
    }
    // One for each worker, one that waits for it, and one each for who reads and writes. All channels have room for
    // all batches, so that only waiting for one ever blocks.
    let batches = 2 * threads + 2;
    let (free, to_fill) = sync_channel::<Box<Batch<J>>>(batches);
    let (filled, to_do) = sync_channel::<Box<Batch<J>>>(batches);
    let (done, to_write) = sync_channel::<Sent<J>>(batches + threads + 1);
    for _ in 0..batches {
        let _ = free.send(Box::new(Batch {
            place: 0,
            jobs: Vec::new(),
            used: 0,
        }));
    }
    let to_do = Arc::new(Mutex::new(to_do));
    let mut handles: Vec<JoinHandle<()>> = Vec::new();
    for _ in 0..threads {
        let (to_do, done) = (Arc::clone(&to_do), Alarm(done.clone()));
        let worker = thread::Builder::new().name("planezip-worker".into());
        match worker.spawn(move || worker_loop(&to_do, work, &done)) {
            Ok(handle) => handles.push(handle),
            // Fewer do as well.
            Err(_) if !handles.is_empty() => break,
            Err(e) => return Err(Error::Io(e).into()),
        }
    }
    let alarm = Alarm(done);
    let reader = thread::Builder::new().name("planezip-reader".into());
    let reading = move || {
        // Held to the end: it tells of a panic here.
        let _alarm = alarm;
        for (place, mut batch) in (0..).zip(to_fill) {
            let more = batch.fill(place, &mut read);
            if filled.send(batch).is_err() || !more {
                break;
            }
        }
    };
    handles.push(reader.spawn(reading).map_err(Error::Io)?);

    // Batches that are done before their turn.
    let mut early: Vec<Sent<J>> = Vec::new();
    early.resize_with(batches, || None);
    let mut turn = 0;
    for sent in to_write {
        let Some(batch) = sent else {
            return Err(Error::Io(io::Error::other("a thread of the pipeline panicked")).into());
        };
        // No two can meet: there are `batches` of them, and that of `turn` is not written yet.
        let place = batch.place;
        early[(place % batches as u64) as usize] = Some(batch);
        while let Some(mut batch) = early[(turn % batches as u64) as usize].take() {
            for job in batch.jobs() {
                write(job)?;
            }
            turn += 1;
            batch.trim();
            // Refused only once everything has been read.
            let _ = free.send(batch);
        }
    }
    for handle in handles {
        // All have let go of `done`, and none panicked: there would have been word of it.
        let _ = handle.join();
    }
    Ok(())
}

fn worker_loop<J: Job, S: Default>(
    to_do: &Mutex<Receiver<Box<Batch<J>>>>,
    work: fn(&mut S, &mut J),
    done: &Alarm<J>,
) {
    let mut state = S::default();
    loop {
        let next = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut batch) = next else { return };
        for job in batch.jobs() {
            work(&mut state, job);
        }
        if done.0.send(Some(batch)).is_err() {
            return;
        }
    }
}

/// Sends word if its thread panics: a job is lost then, and nobody must wait for it.
struct Alarm<J>(SyncSender<Sent<J>>);

impl<J> Drop for Alarm<J> {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[derive(Default)]
    struct Square {
        n: u64,
        square: u64,
    }

    impl Job for Square {
        fn trim(&mut self, _: usize) {}
    }

    fn threads(n: usize) -> NonZero<usize> {
        NonZero::new(n).unwrap_or(NonZero::<usize>::MIN)
    }

    fn up_to(end: u64) -> impl FnMut(&mut Square) -> Option<usize> + Send {
        let mut n = 0;
        move |job| {
            job.n = n;
            n += 1;
            // Alone or with others.
            (n <= end).then_some(if n % 100 < 50 { BATCH_BYTES } else { 1 })
        }
    }

    fn square(_: &mut (), job: &mut Square) {
        // Out of order as often as not.
        thread::sleep(Duration::from_micros(job.n.wrapping_mul(7919) % 50));
        job.square = job.n * job.n;
    }

    #[test]
    fn results_come_in_order() {
        for n in [1, 2, 3, 8, 1000] {
            let mut seen = Vec::new();
            let result = run(threads(n), up_to(5000), square, |job: &mut Square| {
                seen.push(job.square);
                Ok::<_, Error>(())
            });
            assert!(result.is_ok());
            assert_eq!(seen, (0..5000).map(|n| n * n).collect::<Vec<_>>(), "{n} threads");
        }
    }

    #[test]
    fn an_error_ends_the_run_even_while_the_reader_waits() {
        let (keep, blocked) = std::sync::mpsc::channel::<()>();
        let mut source = up_to(u64::MAX);
        let read = move |job: &mut Square| {
            source(job);
            // From the third job on, reading takes for ever.
            if job.n == 3 {
                let _ = blocked.recv();
            }
            Some(BATCH_BYTES)
        };
        let result = run(threads(2), read, square, |job: &mut Square| {
            if job.n == 2 {
                Err(Error::Io(io::Error::other("full")))
            } else {
                Ok(())
            }
        });
        assert!(matches!(result, Err(Error::Io(e)) if e.to_string() == "full"));
        drop(keep);
    }

    #[test]
    fn a_panic_in_a_thread_is_an_error() {
        let panics: fn(&mut (), &mut Square) = |(), job| assert!(job.n != 5, "a panic on purpose");
        let result = run(threads(3), up_to(u64::MAX), panics, |_| Ok::<_, Error>(()));
        assert!(matches!(result, Err(Error::Io(e)) if e.to_string().contains("panicked")));
        let mut source = up_to(u64::MAX);
        let read = move |job: &mut Square| {
            let bytes = source(job);
            assert!(job.n != 5, "a panic on purpose");
            bytes
        };
        let result = run(threads(3), read, square, |_| Ok::<_, Error>(()));
        assert!(matches!(result, Err(Error::Io(e)) if e.to_string().contains("panicked")));
    }
}
