//! The page of promises tells the truth: each test and model that it names is there.

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../docs/promises.md");

/// What stands between back-quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The lines of the tables: a file, and the names that are to be found in it.
fn entries() -> Vec<(&'static str, Vec<&'static str>)> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let entry = |row: &'static str| {
        let mut words = quoted(row);
        words.next().map(|file| (file, words.collect()))
    };
    rows.filter_map(entry).collect()
}

/// Whether a function of this name is in this file.
fn has_test(source: &str, name: &str) -> bool {
    let mut lines = source.lines();
    let function = format!("fn {name}()");
    lines.any(|line| line.trim_start().trim_start_matches("async ").starts_with(&function))
}

#[test]
fn every_test_that_the_page_of_promises_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = Vec::new();
    for (file, names) in entries() {
        let source = fs::read_to_string(root.join(file));
        let source = source.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains("test]"), "{file} has tests");
        assert!(!names.is_empty(), "{file} is there for something");
        missing.extend(names.into_iter().filter(|name| !has_test(&source, name)));
    }
    assert!(missing.is_empty(), "the page names what is not there: {missing:?}");
}

#[test]
fn each_of_the_twelve_promises_has_tests() {
    let promises: Vec<&str> = PAGE.split("\n## ").skip(1).collect();
    assert_eq!(promises.len(), 12);
    for (index, promise) in promises.iter().enumerate() {
        let title = promise.lines().next().unwrap_or_default();
        assert!(title.starts_with(&format!("{}. ", index + 1)), "{title}");
        assert!(promise.lines().any(|line| line.starts_with("| `tests/")), "{title} has a test");
    }
}
