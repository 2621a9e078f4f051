//! Jobs in three stages: read in order, worked on by several threads, written in order.
//!
//! Memory is bounded by a fixed number of jobs that go round: whoever reads waits for a job that was written. No stage
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

/// A job under way: its place in the order, and what it is about. `None` tells of a thread that panicked.
type Sent<J> = Option<(u64, Box<J>)>;

/// Runs jobs on the calling thread alone: `read` fills one or says that there are no more, `work` does it, `write`
/// takes the result.
pub(super) fn run_alone<J: Default, S: Default, E>(
    mut read: impl FnMut(&mut J) -> bool,
    work: fn(&mut S, &mut J),
    mut write: impl FnMut(&mut J) -> Result<(), E>,
) -> Result<(), E> {
    let mut job = J::default();
    let mut state = S::default();
    while read(&mut job) {
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
    mut read: impl FnMut(&mut J) -> bool + Send + 'static,
    work: fn(&mut S, &mut J),
    mut write: impl FnMut(&mut J) -> Result<(), E>,
) -> Result<(), E>
where
    J: Default + Send + 'static,
    S: Default + 'static,
    E: From<Error>,
{
    let threads = threads.get().min(MAX_THREADS);
    if threads == 1 {
        return run_alone(read, work, write);
    }
    // One for each worker, one that waits for it, and one each for who reads and writes. All channels have room for
    // all jobs, so that only waiting for a job ever blocks.
    let jobs = 2 * threads + 2;
    let (free, to_fill) = sync_channel::<Box<J>>(jobs);
    let (filled, to_do) = sync_channel::<(u64, Box<J>)>(jobs);
    let (done, to_write) = sync_channel::<Sent<J>>(jobs + threads + 1);
    for _ in 0..jobs {
        let _ = free.send(Box::default());
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
        for (place, mut job) in (0..).zip(to_fill) {
            if !read(&mut job) || filled.send((place, job)).is_err() {
                break;
            }
        }
    };
    handles.push(reader.spawn(reading).map_err(Error::Io)?);

    // Jobs that are done before their turn.
    let mut early: Vec<Option<Box<J>>> = Vec::new();
    early.resize_with(jobs, || None);
    let mut turn = 0;
    for sent in to_write {
        let Some((place, job)) = sent else {
            return Err(Error::Io(io::Error::other("a thread of the pipeline panicked")).into());
        };
        // No two can meet: there are `jobs` of them, and `turn` is not written yet.
        early[(place % jobs as u64) as usize] = Some(job);
        while let Some(mut job) = early[(turn % jobs as u64) as usize].take() {
            write(&mut job)?;
            turn += 1;
            // Refused only once everything has been read.
            let _ = free.send(job);
        }
    }
    for handle in handles {
        // All have let go of `done`, and none panicked: there would have been word of it.
        let _ = handle.join();
    }
    Ok(())
}

fn worker_loop<J, S: Default>(
    to_do: &Mutex<Receiver<(u64, Box<J>)>>,
    work: fn(&mut S, &mut J),
    done: &Alarm<J>,
) {
    let mut state = S::default();
    loop {
        let next = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((place, mut job)) = next else { return };
        work(&mut state, &mut job);
        if done.0.send(Some((place, job))).is_err() {
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
    struct Job {
        n: u64,
        square: u64,
    }

    fn threads(n: usize) -> NonZero<usize> {
        NonZero::new(n).unwrap_or(NonZero::<usize>::MIN)
    }

    fn up_to(end: u64) -> impl FnMut(&mut Job) -> bool + Send {
        let mut n = 0;
        move |job| {
            job.n = n;
            n += 1;
            n <= end
        }
    }

    fn square(_: &mut (), job: &mut Job) {
        // Out of order as often as not.
        thread::sleep(Duration::from_micros(job.n.wrapping_mul(7919) % 50));
        job.square = job.n * job.n;
    }

    #[test]
    fn results_come_in_order() {
        for n in [1, 2, 3, 8, 1000] {
            let mut seen = Vec::new();
            let result = run(threads(n), up_to(500), square, |job: &mut Job| {
                seen.push(job.square);
                Ok::<_, Error>(())
            });
            assert!(result.is_ok());
            assert_eq!(seen, (0..500).map(|n| n * n).collect::<Vec<_>>(), "{n} threads");
        }
    }

    #[test]
    fn an_error_ends_the_run_even_while_the_reader_waits() {
        let (keep, blocked) = std::sync::mpsc::channel::<()>();
        let mut source = up_to(u64::MAX);
        let read = move |job: &mut Job| {
            source(job);
            // From the third job on, reading takes for ever.
            if job.n == 3 {
                let _ = blocked.recv();
            }
            true
        };
        let result = run(threads(2), read, square, |job: &mut Job| {
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
        let panics: fn(&mut (), &mut Job) = |(), job| assert!(job.n != 5, "a panic on purpose");
        let result = run(threads(3), up_to(u64::MAX), panics, |_| Ok::<_, Error>(()));
        assert!(matches!(result, Err(Error::Io(e)) if e.to_string().contains("panicked")));
        let mut source = up_to(u64::MAX);
        let read = move |job: &mut Job| {
            assert!(source(job) && job.n != 5, "a panic on purpose");
            true
        };
        let result = run(threads(3), read, square, |_| Ok::<_, Error>(()));
        assert!(matches!(result, Err(Error::Io(e)) if e.to_string().contains("panicked")));
    }
}
