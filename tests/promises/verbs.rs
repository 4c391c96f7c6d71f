//! The matrix of verbs and types in `docs/guide/verbs.md` is what the sources say, and each empty cell has a reason.
//!
//! A public method that is added or removed makes the test fail. `FORMIC_VERBS=write` writes the page anew. A new empty
//! cell may need a new line in [`REASONS`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/verbs.md");

/// The matrix stands between these two lines of the page.
const BEGIN: &str = "<!-- the matrix -->";
const END: &str = "<!-- the end of the matrix -->";

const COLUMNS: [&str; 14] = [
    "Pool",
    "FnPool",
    "AsyncPool",
    "AsyncFnPool",
    "Multi<Pool>",
    "Multi<FnPool>",
    "Multi<AsyncPool>",
    "Multi<AsyncFnPool>",
    "Control",
    "formic::",
    "Scope",
    "Batch",
    "BatchSpawner",
    "Permit",
];
const POOLS: usize = 4;
const MULTIS: usize = 8;

/// What makes or builds something, or answers no question about tasks.
const NO_VERBS: [&str; 6] = ["new", "try_new", "with_state", "builder", "from_stream", "counts"];

/// Why a cell is empty: which verbs, on which columns, and the reason. The first that fits counts. A verb that ends
/// in `*` stands for all that begin so, and one that begins with `*` for all that end so.
const REASONS: &[(&[&str], &[&str], &str)] = &[
    (&["global"], &["*"], "it is a function of the crate"),
    (
        &["is_cancelled", "on_cancel", "renew_state"],
        &["*"],
        "it is a function of the crate, for the task that calls it",
    ),
    (
        &["next"],
        &["Batch"],
        "a batch has no shards; as an iterator it has a `next` that gives the next outcome",
    ),
    (
        &["drain", "drain_timeout", "wait_idle"],
        &["Control"],
        "the name says how it waits: `blocking_drain`, `drain_async`",
    ),
    (
        &["*"],
        &["Control"],
        "`Control` has the figures, the size and the ends of one pool, and takes no tasks",
    ),
    (&["*"], &["formic::"], "`formic::global()` is a `Pool`, with every verb"),
    (&["*"], &["Scope"], "a scope runs here what its pool refuses; the pool has the rest"),
    (
        &["*"],
        &["Batch", "BatchSpawner"],
        "a batch spawns tasks and gives their outcomes; its pool has the rest",
    ),
    (&["*"], &["Permit"], "a permit is one place for one task, and never waits"),
    (&["into_owned"], &["*"], "it is about a permit: `admit`"),
    (&["balance", "next", "shard", "shards"], &["*"], "it is about several shards"),
    (
        &["take_queued"],
        &["*"],
        "a closure or a future that was accepted has no argument to give back: `discard`",
    ),
    (&["spawn_async"], &["*Async*"], "the plain verb is a future"),
    (&["blocking_submit", "blocking_admit"], &["*"], "the plain verb blocks"),
    (
        &["*_unless"],
        &["*"],
        "the plain verb is a future, which is called off by dropping it; what blocks for a place of such a pool is not called off, and ends at the latest when the pool is closed",
    ),
    (
        &["layer", "service"],
        &["*"],
        "a service calls a function: it needs an `FnPool` or an `AsyncFnPool`",
    ),
    (
        &["call*", "try_call*"],
        &["*"],
        "it needs the function of an `FnPool` or `AsyncFnPool`: `spawn`, and the handle",
    ),
    (
        &["map", "try_map", "for_each", "try_for_each", "scope"],
        &["Multi*"],
        "one shard has it: `multi.next()`; or a batch",
    ),
    (&["scope"], &["AsyncPool"], "a future that borrows may be leaked by its owner"),
    (
        &["map", "try_map", "for_each", "try_for_each", "scope"],
        &["*"],
        "the function is fixed: `submit` each argument, or a batch",
    ),
    (
        &[
            "cancel",
            "cancel_on_drop",
            "first_*",
            "indexed",
            "into_stream",
            "is_empty",
            "join_all*",
            "len",
            "next_*",
            "spawner",
            "try_join_all*",
            "try_next",
        ],
        &["*"],
        "it is about a group of tasks: `batch`",
    ),
];

fn fits(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(rest), Some(_)) => text.contains(rest.trim_end_matches('*')),
        (Some(end), None) => text.ends_with(end),
        (None, Some(start)) => text.starts_with(start),
        (None, None) => pattern == text,
    }
}

/// The number of the reason why a type does not have a verb.
fn reason(verb: &str, column: &str) -> usize {
    let any = |patterns: &[&str], text: &str| patterns.iter().any(|pattern| fits(pattern, text));
    let found =
        REASONS.iter().position(|(verbs, columns, _)| any(verbs, verb) && any(columns, column));
    found.unwrap_or_else(|| panic!("`{verb}` of `{column}` is missing, and REASONS do not say why"))
}

/// Methods by the type they are of, as the sources write it.
type Methods = BTreeMap<String, BTreeSet<String>>;

/// Reads the public methods of one file: of its impl blocks, and of those that its macros make.
#[derive(Default)]
struct Reader {
    methods: Methods,
    /// The type whose impl block this is.
    of: Option<String>,
    /// The macro that is being defined, and what each one has: the type and the method.
    within: Option<String>,
    macros: BTreeMap<String, Vec<(Option<String>, String)>>,
    /// The macro that is being used.
    used: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(name) = line.strip_prefix("macro_rules! ") {
            (self.within, self.of) = (Some(name.trim_end_matches(" {").to_owned()), None);
        } else if line.starts_with(['}', ')']) {
            (self.within, self.used, self.of) = (None, None, None);
        } else if let Some(name) = line.strip_suffix("! {").or(line.strip_suffix("!(")) {
            self.used = Some(name.to_owned());
        } else if let (Some(name), Some(rest)) = (self.used.clone(), text.strip_prefix("impl ")) {
            let rest = rest
                .strip_prefix('[')
                .and_then(|rest| rest.split_once("] "))
                .map_or(rest, |of| of.1);
            self.apply(&name, rest.split(';').next().unwrap_or_default());
            self.used = None;
        } else if let Some((name, arguments)) = call(text) {
            // Within an impl block the macro makes methods of its type, and elsewhere an impl block of what it is given.
            let of = self.of.clone().unwrap_or_else(|| first(arguments).to_owned());
            self.apply(name, &of);
        } else if let Some(name) = self.used.take() {
            self.apply(&name, first(text));
        } else if line.starts_with("impl") || text.starts_with("impl<") && text.ends_with('{') {
            self.of = header(text);
        } else if let Some(name) = method(text) {
            self.note(name, line.starts_with("pub"));
        }
    }

    fn note(&mut self, name: &str, is_free: bool) {
        match (&self.within, &self.of) {
            (Some(within), of) => {
                self.macros.entry(within.clone()).or_default().push((of.clone(), name.to_owned()));
            }
            (None, _) if is_free => self.add("formic::", name),
            (None, Some(of)) => self.add(&of.clone(), name),
            (None, None) => {}
        }
    }

    /// A macro is used for this type.
    fn apply(&mut self, name: &str, pool: &str) {
        for (of, method) in self.macros.get(name).cloned().unwrap_or_default() {
            self.add(&of.map_or(pool.to_owned(), |of| of.replace("$pool", pool)), &method);
        }
    }

    fn add(&mut self, of: &str, method: &str) {
        self.methods.entry(of.to_owned()).or_default().insert(method.to_owned());
    }
}

/// The name and the arguments of a macro that one line uses as an item: `name!(..);`.
fn call(text: &str) -> Option<(&str, &str)> {
    let (name, arguments) = text.strip_suffix(");")?.split_once("!(")?;
    let is_name = name.chars().all(|letter| letter == '_' || letter.is_ascii_lowercase());
    is_name.then_some((name, arguments))
}

/// The first argument of a macro.
fn first(arguments: &str) -> &str {
    arguments.split(',').next().unwrap_or_default().trim()
}

/// The type of an impl block, without its parameters. None if it is the impl of a trait.
fn header(line: &str) -> Option<String> {
    let line = line.strip_prefix("impl")?.trim_end_matches('{').trim();
    let mut depth = 0;
    let end = line.find(|letter| {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        depth == 0
    })?;
    let of = if line.starts_with('<') { &line[end + 1..] } else { line };
    (!of.contains(" for ")).then(|| of.trim().to_owned())
}

/// The functions that the crate exports, in one line of `lib.rs` or in several.
fn exported(source: &str) -> BTreeSet<String> {
    let uses = source.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names =
        uses.flat_map(|item| item.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    names.filter(|name| name.starts_with(char::is_lowercase)).map(str::to_owned).collect()
}

/// The name of a public method.
fn method(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    rest.split(['<', '(']).next()
}

fn read(folder: &Path, all: &mut Methods) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("engine") {
                read(&path, all);
            }
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source is text");
        let mut reader = Reader::default();
        source.lines().for_each(|line| reader.line(line));
        for (of, methods) in reader.methods {
            all.entry(column(&of)).or_default().extend(methods);
        }
    }
}

/// The column of a type: without the types of arguments and results.
fn column(of: &str) -> String {
    let name = |of: &str| of.split('<').next().unwrap_or_default().to_owned();
    match of.strip_prefix("Multi<") {
        Some(shard) if shard != "P>" => format!("Multi<{}>", name(shard.trim_end_matches('>'))),
        _ => name(of),
    }
}

/// The verbs of each column.
fn verbs() -> Vec<BTreeSet<String>> {
    let mut all = Methods::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let exported = exported(&fs::read_to_string(library).expect("the library is there"));
    let functions = all.get_mut("formic::").expect("there are functions");
    functions.retain(|name| exported.contains(name) && !NO_VERBS.contains(&name.as_str()));
    for permit in ["FnPermit", "AsyncPermit", "AsyncFnPermit"] {
        assert_eq!(all["Permit"], all[permit], "every permit has the same verbs");
    }
    let of = |(number, column): (usize, &&str)| {
        let mut verbs = all[*column].clone();
        if number < POOLS {
            verbs.extend(all["Control"].iter().cloned());
        } else if number < MULTIS {
            verbs.extend(all["Multi"].iter().cloned());
        }
        verbs.retain(|verb| !NO_VERBS.contains(&verb.as_str()));
        verbs
    };
    COLUMNS.iter().enumerate().map(of).collect()
}

/// The matrix, and the reasons that it refers to.
fn matrix() -> String {
    let (verbs, mut used) = (verbs(), BTreeMap::new());
    let mut page =
        format!("| verb | `{}` |\n|---|{}\n", COLUMNS.join("` | `"), "---|".repeat(COLUMNS.len()));
    for verb in verbs.iter().flatten().collect::<BTreeSet<_>>() {
        let _ = write!(page, "| `{verb}` |");
        for (of, column) in verbs.iter().zip(COLUMNS) {
            if of.contains(verb) {
                page.push_str(" ✓ |");
            } else {
                let next = used.len() + 1;
                let number = *used.entry(reason(verb, column)).or_insert(next);
                let _ = write!(page, " {number} |");
            }
        }
        page.push('\n');
    }
    let mut reasons: Vec<_> =
        used.into_iter().map(|(reason, number)| (number, REASONS[reason].2)).collect();
    reasons.sort_unstable();
    page.push_str("\nWhy a cell is empty:\n\n");
    for (number, reason) in reasons {
        let _ = writeln!(page, "{number}. {reason}");
    }
    page
}

#[test]
fn the_matrix_of_verbs_is_what_the_sources_say() {
    let page = fs::read_to_string(PAGE).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the matrix begins");
    let (_, after) = rest.split_once(END).expect("the matrix ends");
    let right = format!("{before}{BEGIN}\n\n{}\n{END}{after}", matrix());
    if std::env::var("FORMIC_VERBS").is_ok_and(|what| what == "write") {
        fs::write(PAGE, &right).expect("the page can be written");
    }
    let differs = page.lines().zip(right.lines()).find(|(is, should)| is != should);
    assert!(page == right, "run this test with FORMIC_VERBS=write: {differs:#?}");
}

/// The reader finds what is known to be there, in each form in which the sources write it.
#[test]
fn the_sources_are_read_right() {
    let verbs = verbs();
    let has = |column: &str, verb: &str| {
        let number = COLUMNS.iter().position(|name| *name == column).expect("it is a column");
        verbs[number].contains(verb)
    };
    for (column, verb) in [
        ("Pool", "submit"),
        ("Pool", "stats"),
        ("Pool", "submit_timeout"),
        ("FnPool", "call_within"),
        ("AsyncFnPool", "batch"),
        ("Multi<AsyncPool>", "drain"),
        ("Multi<FnPool>", "resize"),
        ("formic::", "spawn"),
        ("Batch", "spawn_async"),
        ("Batch", "try_join_all"),
        ("Scope", "map"),
        ("Permit", "into_owned"),
        ("Multi<FnPool>", "take_queued"),
        ("Multi<AsyncFnPool>", "take_queued"),
        ("Multi<AsyncFnPool>", "drain_timeout"),
        ("AsyncFnPool", "wait_idle"),
        ("formic::", "on_cancel"),
        ("formic::", "is_cancelled"),
        ("formic::", "renew_state"),
    ] {
        assert!(has(column, verb), "{column}::{verb}");
    }
    assert!(!has("Multi<Pool>", "scope") && !has("Pool", "blocking_submit"));
}

/// Each form in which a source uses a macro.
#[test]
fn a_macro_is_applied_in_each_form() {
    let source = "\
macro_rules! verbs {
    ($pool:ident, $text:literal) => {
        impl<T: Send> Multi<$pool<T>> {
            pub fn verb(&self) {}
        }
    };
}

macro_rules! ends {
    ($($captured:ident),*) => {
        pub fn end(&self) {}
    };
}

verbs!(First, \"one line\");
verbs!(
    Second,
    \"several lines\"
);
verbs! {
    impl Third;
}

impl Fourth {
    ends!();
}

impl<T> Fifth<T> {
    ends!(T);
    pub async fn other(&self) {}
}
";
    let mut reader = Reader::default();
    source.lines().for_each(|line| reader.line(line));
    let found: Vec<_> = reader
        .methods
        .iter()
        .flat_map(|(of, methods)| methods.iter().map(move |method| format!("{of} {method}")))
        .collect();
    let expected = [
        "Fifth<T> end",
        "Fifth<T> other",
        "Fourth end",
        "Multi<First<T>> verb",
        "Multi<Second<T>> verb",
        "Multi<Third<T>> verb",
    ];
    assert_eq!(found, expected);
    let library = "pub use a::{Type, one};\npub use b::{\n    two, Other,\n};\n";
    assert_eq!(exported(library).into_iter().collect::<Vec<_>>(), ["a", "b", "one", "two"]);
}
