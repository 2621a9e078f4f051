//! Temporary files leave no trace if a signal ends the program.
//!
//! SIGKILL cannot be caught: the file stays then, under its temporary name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// Files that have only their temporary name. Held while one is made or gets its name, so that a signal finds it either
/// listed or complete.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary file that signals remove.
pub(super) fn create(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    watch();
    let mut files = unfinished();
    let file = make()?;
    files.push(file.path().to_path_buf());
    Ok(file)
}

/// Gives a file that [`create`] made its name.
pub(super) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    let mut files = unfinished();
    files.retain(|listed| listed != file.path());
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Waits for signals in the background, from the first call on. They end the program as ever, once the files are gone.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::sync::Once;

    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let (ready, wait) = std::sync::mpsc::channel::<()>();
        let watcher = std::thread::Builder::new().name("planezip-signals".into());
        // Without a watcher, signals still end the program: only the file stays.
        let _ = watcher.spawn(move || {
            let ignored = ignored();
            let heard = [SIGHUP, SIGINT, SIGTERM]
                .into_iter()
                .filter(|signal| ignored >> (signal - 1) & 1 == 0);
            let signals = Signals::new(heard);
            drop(ready);
            let Ok(mut signals) = signals else { return };
            if let Some(signal) = signals.forever().next() {
                // Not released: nothing gets its name from here on.
                let files = unfinished();
                for file in files.iter() {
                    let _ = fs::remove_file(file);
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
        // No file before it listens; word of that is that its end of the channel is gone.
        let _ = wait.recv();
    });
}

#[cfg(not(unix))]
fn watch() {}

/// Bit `n - 1`: signal `n` is ignored, as after `nohup`, and must stay so. Known on Linux only.
#[cfg(unix)]
fn ignored() -> u64 {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return 0;
    };
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
