//! Every example comes to a good end. They assert their outcome themselves; here they are run.

#[cfg(unix)]
use std::io::{BufRead, BufReader, Read, Write};
#[cfg(unix)]
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use crate::common::PATIENCE;
use formic::Pool;

/// What an example is called with, if it needs to be told something in order to come to an end.
fn arguments(example: &str) -> &'static [&'static str] {
    match example {
        "hash_files" => &["examples"],
        "http_server" | "sigterm" => &["--demo"],
        _ => &[],
    }
}

#[test]
fn every_example_comes_to_a_good_end() {
    let examples = examples_in_the_folder();
    assert!(examples.len() >= 10, "found only {examples:?}");

    let failures: Vec<String> = Pool::new(4)
        .map(examples, |example| run(&example).err().map(|error| format!("{example}: {error}")))
        .filter_map(|outcome| outcome.expect("to run an example does not panic"))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[cfg(unix)] // elsewhere a path has backslashes, which are escaped
#[test]
fn the_hasher_says_what_sha256sum_says_and_goes_on_after_a_failure() {
    let folder = env::temp_dir().join(format!("formic-hash-{}", std::process::id()));
    fs::create_dir_all(folder.join("b")).expect("a folder for temporary files");
    fs::write(folder.join("a"), "abc").expect("a file there");
    fs::write(folder.join("b").join("empty"), "").expect("a file there");
    let (missing, root) = (folder.join("missing"), folder.to_str().expect("a plain name"));

    let arguments = [missing.to_str().expect("a plain name"), root];
    let output = finish(&built("hash_files"), &arguments).expect("it is built");
    fs::remove_dir_all(&folder).expect("it is ours");

    // The first is the example of the standard, the second the hash of nothing.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let (a, empty) = (folder.join("a"), folder.join("b").join("empty"));
    let expected = format!("{abc}  {}\n{nothing}  {}\n", a.display(), empty.display());
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("missing"), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn the_web_server_stops_in_peace_when_it_is_interrupted() {
    let mut server = Command::new(built("http_server"))
        .args(["127.0.0.1:0", env!("CARGO_MANIFEST_DIR")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is built");
    let mut output = BufReader::new(server.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it says where it listens");
    let (_, address) = line.trim_end().rsplit_once('/').expect("by its address");

    let mut client = TcpStream::connect(address).expect("it listens");
    client.write_all(b"GET /hello HTTP/1.1\r\nHost: me\r\n\r\n").expect("it reads");
    let mut answer = [0; 15];
    client.read_exact(&mut answer).expect("it answers");
    assert_eq!(text(&answer), "HTTP/1.1 200 OK");

    // The connection stays open, and does not keep the server from its end.
    let ended = interrupt(&mut server);
    line.clear();
    output.read_to_string(&mut line).expect("it says how it went");
    assert!(ended && line.contains("all requests have been answered"), "{line}");
}

#[cfg(all(unix, feature = "tokio"))]
#[test]
fn the_crawler_lets_pages_in_flight_end_when_it_is_interrupted() {
    // Far more pages than it can fetch before it is interrupted.
    let mut crawler = Command::new(built("crawler"))
        .arg("1000000")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is built");
    let mut output = BufReader::new(crawler.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it says what it will do");

    let ended = interrupt(&mut crawler);
    line.clear();
    output.read_to_string(&mut line).expect("it says how it went");
    assert!(ended && line.contains("interrupted: "), "{line}");
    assert!(crawler.wait().expect("it has ended").success(), "no page was fetched twice");
}

/// Sends what Ctrl-C sends, and waits for the program's end; one that hangs is ended.
#[cfg(unix)]
fn interrupt(child: &mut Child) -> bool {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().expect("there is a kill");
    assert!(sent.success());
    let ended = ends(child).expect("it can be waited for");
    if !ended {
        child.kill().expect("it is ours");
    }
    ended
}

/// All of them, so that none can be forgotten: `examples/name.rs` and `examples/name/main.rs`.
fn examples_in_the_folder() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = fs::read_dir(folder).expect("there are examples");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let examples = paths.filter(|path| {
        path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").exists()
    });
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = examples.filter_map(stem).collect();
    names.sort();
    names
}

fn run(example: &str) -> Result<(), String> {
    let program = built(example);
    if !program.exists() {
        // Those for which a feature is needed are not built without it.
        return match needs_a_feature(example) {
            true => Ok(()),
            false => Err("is not built; `cargo build --examples` does that".to_owned()),
        };
    }
    let output = finish(&program, arguments(example)).map_err(|error| error.to_string())?;
    if output.status.success() && !output.stdout.is_empty() {
        return Ok(());
    }
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    Err(format!("{}\nstdout:\n{printed}\nstderr:\n{errors}", output.status))
}

/// Where cargo has put it: beside the folder of this test's own program.
fn built(example: &str) -> PathBuf {
    let test = env::current_exe().expect("this program has a path");
    let profile = test.ancestors().nth(2).expect("it lies in target/<profile>/deps");
    profile.join("examples").join(example).with_extension(env::consts::EXE_EXTENSION)
}

fn needs_a_feature(example: &str) -> bool {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("there is a manifest");
    let name = format!("name = \"{example}\"");
    let mut sections = manifest.split("[[example]]").skip(1);
    sections.any(|section| section.contains(&name) && section.contains("required-features"))
}

/// Waits for the program's end; one that hangs is ended.
fn finish(program: &Path, arguments: &[&str]) -> io::Result<Output> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if !ends(&mut child)? {
        child.kill()?;
    }
    child.wait_with_output()
}

/// What an example prints fits into the pipe, so it does not wait for somebody who reads.
fn ends(child: &mut Child) -> io::Result<bool> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
