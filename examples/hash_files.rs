//! A parallel `sha256sum`: hashes files and whole folders on all cores, with a progress bar.
//!
//! ```sh
//! cargo run --release --example hash_files -- src Cargo.toml | sha256sum --check
//! ```
//!
//! What cannot be read gets a line on the standard error, and the exit code is 1; the rest is hashed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use formic::{BuildError, Pool};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

type Hash = [u8; 32];

fn main() -> ExitCode {
    let mut roots: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if roots.is_empty() {
        roots.push(PathBuf::from("."));
    }
    match hash_all(&roots) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        // Whoever read our output has enough of it.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hash_files: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line for each file, in order, and returns how many could not be read.
fn hash_all(roots: &[PathBuf]) -> io::Result<usize> {
    let (files, mut failures) = list(roots);
    let bar = ProgressBar::new(files.len() as u64).with_style(style());
    let pool = Pool::builder().name("hash").build().map_err(into_io)?;

    // Files are hashed side by side. Their outcomes come in the order of the list all the same.
    let hashes = pool.map(files.clone(), |path| hash(&path));
    for (path, outcome) in files.iter().zip(hashes) {
        let line = match outcome.unwrap_or_else(|panic| Err(io::Error::other(panic.to_string()))) {
            Ok(hash) => bar.suspend(|| print(&hash, path)),
            Err(error) => {
                failures.push(format!("{}: {error}", path.display()));
                Ok(())
            }
        };
        line?;
        bar.inc(1);
    }
    bar.finish_and_clear();

    for failure in &failures {
        eprintln!("hash_files: {failure}");
    }
    Ok(failures.len())
}

/// The files below the roots, sorted by name, and what went wrong on the way.
fn list(roots: &[PathBuf]) -> (Vec<PathBuf>, Vec<String>) {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for entry in roots.iter().flat_map(|root| WalkDir::new(root).sort_by_file_name()) {
        match entry {
            // A root may be a link to a file; links further down are passed over.
            Ok(entry) if entry.depth() == 0 && entry.path().is_file() => {
                files.push(entry.into_path());
            }
            Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) => failures.push(describe(&error)),
        }
    }
    (files, failures)
}

/// In the words of `sha256sum`: the path, and why it cannot be read.
fn describe(error: &walkdir::Error) -> String {
    match (error.path(), error.io_error()) {
        (Some(path), Some(reason)) => format!("{}: {reason}", path.display()),
        _ => error.to_string(),
    }
}

fn hash(path: &Path) -> io::Result<Hash> {
    let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
    let mut buffer = [0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

/// As `sha256sum` does it: a name with a line break or a backslash is escaped, and marked by a
/// backslash before the hash.
fn print(hash: &Hash, path: &Path) -> io::Result<()> {
    let mut line = Vec::with_capacity(128);
    for byte in hash {
        write!(line, "{byte:02x}")?;
    }
    line.extend_from_slice(b"  ");
    let name = path.as_os_str().as_encoded_bytes();
    for &byte in name {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            _ => line.push(byte),
        }
    }
    if line.len() > 66 + name.len() {
        line.insert(0, b'\\');
    }
    line.push(b'\n');
    io::stdout().lock().write_all(&line)
}

fn style() -> ProgressStyle {
    let style =
        ProgressStyle::with_template("{bar:40} {pos} of {len} files, {elapsed}, {eta} left");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn into_io(error: BuildError) -> io::Error {
    io::Error::other(error)
}
