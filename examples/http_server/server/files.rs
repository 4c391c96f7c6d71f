//! From the path of a request to a file below the root, and nowhere else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::answer::Status;

pub(super) struct Found {
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) content_type: &'static str,
}

/// `root` is the folder's true path, without links.
pub(super) fn find(root: &Path, path: &[u8]) -> Result<Found, Status> {
    let path = root.join(relative(path)?);
    // Links are followed first, so that none leads out of the root.
    let mut path = path.canonicalize().map_err(|_| Status::NOT_FOUND)?;
    if path.is_dir() {
        path = path.join("index.html").canonicalize().map_err(|_| Status::NOT_FOUND)?;
    }
    if !path.starts_with(root) {
        return Err(Status::FORBIDDEN);
    }
    // To open a pipe would wait for somebody at its other end.
    let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        return Err(Status::NOT_FOUND);
    }
    let file = File::open(&path).map_err(|_| Status::NOT_FOUND)?;
    let length = file.metadata().map_err(|_| Status::NOT_FOUND)?.len();
    Ok(Found { file, length, content_type: content_type(&path) })
}

pub(super) fn read(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut content)?;
    Ok(content)
}

/// Hidden files, the way up, and whatever could be a drive or another separator are refused.
fn relative(path: &[u8]) -> Result<PathBuf, Status> {
    let Some(path) = path.strip_prefix(b"/") else { return Err(Status::BAD_REQUEST) };
    let path = String::from_utf8(decoded(path)?).map_err(|_| Status::BAD_REQUEST)?;
    let mut relative = PathBuf::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part.starts_with('.') || part.contains(['\\', ':', '\0']) {
            return Err(Status::FORBIDDEN);
        }
        relative.push(part);
    }
    Ok(relative)
}

/// `%41` becomes `A`.
fn decoded(path: &[u8]) -> Result<Vec<u8>, Status> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(*digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(Status::BAD_REQUEST) };
        decoded.push((high * 16 + low) as u8);
    }
    Ok(decoded)
}

fn content_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "txt" | "md" | "rs" | "toml" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}
