//! What several test files share.

use std::io::Write;

/// Says on the terminal that a test, or a part of it, did not run and why. Written to the stream itself: the test
/// runner hides what a passing test prints with `println!`, and a skip must not be hidden.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{test}: SKIPPED, {why}");
}
