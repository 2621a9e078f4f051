//! How a command's outcome becomes an exit code and a message.

use std::fmt;
use std::process::ExitCode;

use planezip::{container, tensor};

/// A check that ran and did not hold (exit code 1), as opposed to a usage or environment error (2).
#[derive(Debug)]
pub(crate) struct CheckFailed(pub String);

impl fmt::Display for CheckFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckFailed {}

/// The messages of an error and its causes. Errors that repeat their cause's text are not printed twice.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.ends_with(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// What the user can do about an error of the library.
fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(e) = cause.downcast_ref::<tensor::Error>() {
            e.kind.hint()
        } else if let Some(e) = cause.downcast_ref::<container::Error>() {
            e.hint().map(Into::into)
        } else {
            None
        }
    })
}

/// Prints an error with its causes and picks the exit code: 1 if a [`CheckFailed`] is in the chain, 2 else.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(broken_pipe) {
        // The reader of our output went away: not an error of ours.
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {}", message(&error));
    if let Some(hint) = hint(&error) {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(if error.downcast_ref::<CheckFailed>().is_some() {
        1
    } else {
        2
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_told_once() {
        let io = std::io::Error::other("disk on fire");
        let error = anyhow::Error::from(container::Error::Io(io)).context(CheckFailed("x.pz".into()));
        assert_eq!(message(&error), "x.pz: cannot read or write: disk on fire");
        let twice = Err::<(), _>(std::fmt::Error)
            .context(format!("a: {}", std::fmt::Error))
            .unwrap_err();
        assert_eq!(message(&twice), format!("a: {}", std::fmt::Error));
    }
}
