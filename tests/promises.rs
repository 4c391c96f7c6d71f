//! The pages of promises and of break classes tell the truth: each test and model they name is there,
//! and runs on the pools they say.

#[path = "promises/verbs.rs"]
mod verbs;

use std::fs;
use std::path::Path;

const PROMISES: &str = include_str!("../docs/promises.md");
const CLASSES: &str = include_str!("../docs/break-classes.md");

/// A line of a table: a file, the names that are to be found in it, and what they run on.
struct Entry {
    file: &'static str,
    names: Vec<&'static str>,
    on: &'static str,
}

/// What stands between back-quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The lines of the tables.
fn entries(page: &'static str) -> impl Iterator<Item = Entry> {
    page.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let mut next = || cells.next().unwrap_or_default();
        let file = quoted(next()).next().expect("the first cell is a file");
        Entry { file, names: quoted(next()).collect(), on: next() }
    })
}

/// How the tests of a class say what they run on.
fn macro_of(on: &str) -> Option<&'static str> {
    match on {
        "every pool" => Some("on_every_pool"),
        "every single pool" => Some("on_every_single_pool"),
        "every pool of threads" => Some("on_every_thread_pool"),
        "every pool that has threads" => Some("on_every_pool_with_threads"),
        _ => None,
    }
}

/// Whether a test of this name is in this file, and runs on what is said.
fn has_test(source: &str, name: &str, on: &str) -> bool {
    let has = |start: &str| {
        let mut lines = source.lines().map(|line| line.trim_start().trim_start_matches("async "));
        lines.any(|line| line.starts_with(start))
    };
    match macro_of(on) {
        Some(every) => has(&format!("fn {name}<")) && has(&format!("{every}!({name});")),
        None => has(&format!("fn {name}()")),
    }
}

#[track_caller]
fn check(page: &'static str) {
    let (root, mut missing) = (Path::new(env!("CARGO_MANIFEST_DIR")), Vec::new());
    for Entry { file, names, on } in entries(page) {
        let source = fs::read_to_string(root.join(file));
        let source = source.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains("test]") || macro_of(on).is_some(), "{file} has tests");
        assert!(!names.is_empty(), "{file} is there for something");
        missing.extend(names.into_iter().filter(|name| !has_test(&source, name, on)));
    }
    assert!(missing.is_empty(), "the page names what is not there: {missing:?}");
}

/// The sections of a page that have a number: their titles, and what they say.
fn numbered(page: &'static str, sections: usize) -> Vec<(&'static str, &'static str)> {
    let found = page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    let numbered: Vec<_> = found.filter(|(title, _)| title.starts_with(char::is_numeric)).collect();
    assert_eq!(numbered.len(), sections);
    for (index, (title, _)) in numbered.iter().enumerate() {
        assert!(title.starts_with(&format!("{}. ", index + 1)), "{title}");
    }
    numbered
}

#[test]
fn every_test_that_the_page_of_promises_names_exists() {
    check(PROMISES);
}

#[test]
fn every_test_that_the_page_of_break_classes_names_exists() {
    check(CLASSES);
}

#[test]
fn each_of_the_thirteen_promises_has_tests() {
    for (title, text) in numbered(PROMISES, 13) {
        assert!(text.lines().any(|line| line.starts_with("| `tests/")), "{title} has a test");
    }
}

/// Every test of the class's own file is on the page, and its row of the table agrees with them.
#[test]
fn each_of_the_twelve_break_classes_is_told_in_full() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (number, (title, text)) in (1..).zip(numbered(CLASSES, 12)) {
        let files = quoted(text).filter(|word| word.contains("/break_classes/"));
        let files: Vec<&str> = files.collect();
        let file = files.first().unwrap_or_else(|| panic!("{title} has a file"));
        assert!(file.contains(&format!("class_{number:02}_")), "{file}");
        let source = fs::read_to_string(root.join(file)).expect("the file is there");
        let tests = source.lines().filter_map(|line| {
            let in_macro = line.strip_prefix("on_every_").and_then(|rest| rest.split_once('('));
            in_macro.map(|(_, rest)| rest.trim_end_matches(");"))
        });
        let plain = source.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split_once('('));
        for test in tests.chain(plain.map(|(name, _)| name)) {
            assert!(quoted(text).any(|word| word == test), "{title}: {test} is not on the page");
        }
        let row = CLASSES.lines().find(|line| line.starts_with(&format!("| {number}. ")));
        let row: Vec<&str> = row.expect("it has a row").split('|').map(str::trim).collect();
        let every =
            source.contains("\non_every_pool!") || source.contains("\non_every_single_pool!");
        let threads = every || source.contains("\non_every_thread_pool!");
        assert_eq!(row[2].starts_with("yes"), threads, "{title}: threads");
        assert!(!every || row[4].starts_with("yes"), "{title}: futures");
    }
}

/// The rooms of the engine. Each may use those that stand before it, and the files beside the rooms, which use none.
const ROOMS: [&str; 5] = ["queue", "scheduler", "task", "threads", "executor"];

/// What `engine/mod.rs` shows of each room: the name, and the number of the room.
fn shown_by_rooms(engine: &Path) -> Vec<(String, usize)> {
    let source = fs::read_to_string(engine.join("mod.rs")).expect("a source is text");
    let mut shown = Vec::new();
    for (_, paths) in source.split(';').filter_map(|text| text.split_once("use self::")) {
        for (number, room) in ROOMS.iter().enumerate() {
            let room = format!("{room}::");
            let paths = paths.split(&room).skip(1);
            let words = paths.flat_map(|path| path.split(|letter: char| !is_of_name(letter)));
            let names =
                words.filter(|word| word.contains('_') || word.starts_with(char::is_uppercase));
            shown.extend(names.map(|name| (name.to_owned(), number)));
        }
    }
    shown
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// What a source names of the engine: a path, or several in braces. Tests excepted.
fn names_of_engine(source: &str) -> Vec<String> {
    let source = source.split("mod tests {").next().unwrap_or_default();
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join(" ");
    let end = |path: &str| match path.starts_with('{') {
        true => path.find('}'),
        false => path.find(|letter: char| !is_of_name(letter) && letter != ':'),
    };
    let paths = code.split("crate::engine::").skip(1);
    paths.map(|path| path[..end(path).unwrap_or(path.len())].to_owned()).collect()
}

/// Whether this names something of a room after the first `allowed`, by its path or as shown by `engine/mod.rs`.
fn is_of_later_room(name: &str, allowed: usize, shown: &[(String, usize)]) -> bool {
    match ROOMS.iter().position(|room| name.starts_with(&format!("{room}::"))) {
        Some(room) => room >= allowed,
        None => name
            .split(|letter| !is_of_name(letter))
            .any(|word| shown.iter().any(|(shown, room)| word == shown && *room >= allowed)),
    }
}

/// What the sources below `folder` name of rooms after the first `allowed`, tests excepted.
fn uses_of_later_rooms(
    folder: &Path,
    allowed: usize,
    shown: &[(String, usize)],
    found: &mut Vec<String>,
) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "models");
        let is_room = allowed == 0 && path.is_dir();
        if is_test || is_room || path.ends_with("engine/mod.rs") {
            continue;
        }
        if path.is_dir() {
            uses_of_later_rooms(&path, allowed, shown, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a source is text");
            let names = names_of_engine(&source).into_iter();
            let later = names.filter(|name| is_of_later_room(name, allowed, shown));
            found.extend(later.map(|name| format!("{}: {name}", path.display())));
        }
    }
}

#[test]
fn the_rooms_of_the_engine_depend_on_each_other_in_one_direction() {
    let (engine, mut found) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine"), Vec::new());
    let shown = shown_by_rooms(&engine);
    assert!(
        shown.contains(&("QueueEntry".to_owned(), 2)),
        "what the rooms show is read: {shown:?}"
    );
    uses_of_later_rooms(&engine, 0, &shown, &mut found);
    for (number, room) in ROOMS.iter().enumerate() {
        uses_of_later_rooms(&engine.join(room), number + 1, &shown, &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}
