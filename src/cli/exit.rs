//! How a command's outcome becomes an exit code and a message.

use std::fmt;
use std::process::ExitCode;

/// A check that ran and did not hold (exit code 1), as opposed to a usage or environment error (2).
#[derive(Debug)]
pub(crate) struct CheckFailed(pub String);

impl fmt::Display for CheckFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckFailed {}

/// Prints an error with its causes and picks the exit code: 1 if a [`CheckFailed`] is in the chain, 2 else.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            if e.chain().any(|c| {
                c.downcast_ref::<std::io::Error>()
                    .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            }) {
                // The reader of our output went away: not an error of ours.
                return ExitCode::SUCCESS;
            }
            eprintln!("error: {e:#}");
            ExitCode::from(if e.downcast_ref::<CheckFailed>().is_some() {
                1
            } else {
                2
            })
        }
    }
}
