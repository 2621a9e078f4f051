//! Tells `planezip bench` what it was built with: the compiler, and the versions of crates in Cargo.lock.

use std::process::Command;
use std::{env, fs};

/// Crates whose version a benchmark report gives.
const CRATES: [&str; 3] = ["fearless_simd", "lzzzz", "zstd"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    let rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    let rustc = rustc.as_deref().map_or("unknown", str::trim);
    println!("cargo::rustc-env=PLANEZIP_RUSTC={rustc}");
    let lock = fs::read_to_string("Cargo.lock").unwrap_or_default();
    for name in CRATES {
        let version = lock
            .split_once(&format!("name = \"{name}\"\nversion = \""))
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or("unknown", |(version, _)| version);
        println!(
            "cargo::rustc-env=PLANEZIP_CRATE_{}={version}",
            name.to_uppercase()
        );
    }
}
