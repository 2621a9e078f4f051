//! The RTL's file lists for the different tools name the same files in the same order.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn rtl() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rtl")
}

/// The list entries of a file in `rtl/` that are SystemVerilog sources: one a line, with or without a YAML dash.
fn listed(name: &str) -> Vec<String> {
    let text = fs::read_to_string(rtl().join(name)).unwrap();
    text.lines()
        .map(|line| line.trim().trim_start_matches("- "))
        .filter(|entry| entry.ends_with(".sv") && !entry.contains(char::is_whitespace))
        .map(str::to_string)
        .collect()
}

#[test]
fn all_lists_agree() {
    let expected = listed("planezip.f");
    assert_eq!(expected.first().map(String::as_str), Some("planezip_pkg.sv"));
    for name in ["planezip.core", "Bender.yml"] {
        assert_eq!(listed(name), expected, "rtl/{name} and rtl/planezip.f");
    }
}

#[test]
fn the_list_holds_every_source_once() {
    let list = listed("planezip.f");
    let expected: BTreeSet<String> = fs::read_dir(rtl())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".sv"))
        .collect();
    assert_eq!(list.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(list.len(), expected.len(), "a file is listed twice");
}
