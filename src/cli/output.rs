//! Writing results: files that appear whole or not at all, standard output, progress.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tempfile::NamedTempFile;

use super::interrupt;

const BUFFER_BYTES: usize = 1 << 18;

/// True for `-`, which stands for standard input or output.
pub(crate) fn is_stdio(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where a result goes.
enum Target {
    Stdout(io::Stdout),
    /// A device or pipe, written to in place.
    Special(File),
    /// A file under a temporary name in its directory, and the name it gets when complete.
    File(NamedTempFile, PathBuf),
}

impl Write for Target {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Target::Stdout(out) => out.write(buf),
            Target::Special(out) => out.write(buf),
            Target::File(out, _) => out.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Stdout(out) => out.flush(),
            Target::Special(out) => out.flush(),
            Target::File(out, _) => out.flush(),
        }
    }
}

/// A result being written. Dropped before [`Output::commit`], or ended by a signal, a file leaves no trace.
pub(crate) struct Output(BufWriter<Target>);

impl Write for Output {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output {
    /// Starts a result at `path`, which is made from `input`.
    pub(crate) fn create(path: &Path, input: &Path) -> anyhow::Result<Self> {
        let target = if is_stdio(path) {
            if io::stdout().is_terminal() {
                bail!(
                    "refusing to write binary data to a terminal: give -o FILE, or send it to a pipe or file"
                );
            }
            Target::Stdout(io::stdout())
        } else {
            Self::create_file(path, input)?
        };
        Ok(Output(BufWriter::with_capacity(BUFFER_BYTES, target)))
    }

    fn create_file(path: &Path, input: &Path) -> anyhow::Result<Target> {
        let cannot = || format!("cannot write {}", path.display());
        // Links are written through, as other tools do.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if let Ok(metadata) = fs::metadata(&real) {
            if metadata.is_dir() {
                bail!("{}: is a directory, expected a file name", cannot());
            }
            if !metadata.is_file() {
                let file = File::options().write(true).open(&real).with_context(cannot)?;
                return Ok(Target::Special(file));
            }
            if !is_stdio(input) && fs::canonicalize(input).is_ok_and(|input| input == real) {
                bail!("{}: it is the input; give another name with -o", cannot());
            }
        }
        let dir = match real.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".planezip-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As for any new file: the process's mask decides, not the private mode of temporary files.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = interrupt::create(|| builder.tempfile_in(dir)).with_context(cannot)?;
        Ok(Target::File(file, real))
    }

    /// What was written, to be read again from its start; `None` for standard output, devices and pipes.
    pub(crate) fn reopen(&mut self) -> anyhow::Result<Option<File>> {
        self.0.flush()?;
        match self.0.get_ref() {
            Target::File(file, _) => Ok(Some(file.reopen()?)),
            Target::Stdout(_) | Target::Special(_) => Ok(None),
        }
    }

    /// Completes the result: a file gets its name.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        let mut target = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        target.flush()?;
        if let Target::File(file, path) = target {
            interrupt::persist(file, &path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Opens a file or standard input for reading; the length if it is known.
pub(crate) fn open(path: &Path) -> anyhow::Result<(Box<dyn Read + Send>, Option<u64>)> {
    if is_stdio(path) {
        return Ok((
            Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin())),
            None,
        ));
    }
    let cannot = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(cannot)?;
    let metadata = file.metadata().with_context(cannot)?;
    if metadata.is_dir() {
        bail!("{}: is a directory, expected a file", cannot());
    }
    let len = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, file)), len))
}

/// How many threads to use: as many as asked for, or one per processor.
pub(crate) fn threads(asked: Option<NonZero<usize>>) -> NonZero<usize> {
    asked
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZero::<usize>::MIN)
}

/// A progress bar of bytes on standard error, or nothing where that is no terminal.
pub(crate) fn progress(what: &'static str, total: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
    }
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{msg} {spinner} {bytes} {bytes_per_sec}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}

/// A progress bar of time (in milliseconds) on standard error, or nothing where that is no terminal.
#[cfg(feature = "bench")]
pub(crate) fn progress_of_time(what: &'static str) -> ProgressBar {
    let bar = progress(what, Some(0));
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {percent}%") {
        bar.set_style(style);
    }
    bar
}

/// Prints text to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a value to standard output as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

/// `1 byte`, `2 bytes`.
pub(crate) fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
