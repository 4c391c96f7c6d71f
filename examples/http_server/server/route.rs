//! What is answered to a request.

use std::fs::File;

use super::answer::{self, Connection, Status};
use super::buffers::PIECE;
use super::files::{self, Found};
use super::request::{Method, Request};
use super::settings::Settings;

const PLAIN: &str = "text/plain; charset=utf-8";

/// Writes the answer into `out`. A file that is larger than a piece is returned instead, with its
/// length, and follows the head.
pub(super) fn route(
    settings: &Settings,
    request: &Request,
    bytes: &[u8],
    connection: Connection,
    out: &mut Vec<u8>,
) -> Option<(File, u64)> {
    let mut reply = Reply { out, connection, with_body: request.method != Method::Head };
    let target = &bytes[request.target.clone()];
    let body = &bytes[request.head..];
    match (path(target), request.method) {
        (b"/hello", Method::Get | Method::Head) => reply.text(Status::OK, b"Hello, world!\n"),
        (b"/echo", Method::Post) => reply.bytes(Status::OK, "application/octet-stream", body, ""),
        (b"/echo", _) => reply.not_allowed("POST"),
        (path, Method::Get | Method::Head) => match files::find(&settings.root, path) {
            Ok(found) => return reply.file(found),
            Err(status) => reply.error(status),
        },
        _ => reply.not_allowed("GET, HEAD"),
    }
    None
}

/// The answer to a request that could not be read to its end.
pub(super) fn refuse(status: Status, out: &mut Vec<u8>) {
    Reply { out, connection: Connection::Closes, with_body: true }.error(status);
}

/// The target without its query, and without the host that a proxy puts before it.
fn path(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let path = &target[..end];
    match path.strip_prefix(b"http://") {
        Some(rest) => rest.iter().position(|byte| *byte == b'/').map_or(b"/", |at| &rest[at..]),
        None => path,
    }
}

struct Reply<'a> {
    out: &'a mut Vec<u8>,
    connection: Connection,
    /// The answer to `HEAD` tells the length of a body, and has none.
    with_body: bool,
}

impl Reply<'_> {
    fn bytes(&mut self, status: Status, content_type: &str, body: &[u8], allow: &str) {
        let length = body.len() as u64;
        answer::write_head(self.out, status, self.connection, content_type, length, allow);
        if self.with_body {
            self.out.extend_from_slice(body);
        }
    }

    fn text(&mut self, status: Status, text: &[u8]) {
        self.bytes(status, PLAIN, text, "");
    }

    fn error(&mut self, status: Status) {
        self.text(status, status.reason().as_bytes());
    }

    fn not_allowed(&mut self, allow: &str) {
        let status = Status::NOT_ALLOWED;
        self.bytes(status, PLAIN, status.reason().as_bytes(), allow);
    }

    /// Returns the file if it does not fit into the answer.
    fn file(&mut self, found: Found) -> Option<(File, u64)> {
        let Found { mut file, length, content_type } = found;
        if !self.with_body || length > PIECE {
            self.head_of_file(content_type, length);
            return self.with_body.then_some((file, length));
        }
        match files::read(&mut file, length) {
            Ok(content) => self.bytes(Status::OK, content_type, &content, ""),
            Err(_) => self.error(Status::NOT_FOUND),
        }
        None
    }

    fn head_of_file(&mut self, content_type: &str, length: u64) {
        answer::write_head(self.out, Status::OK, self.connection, content_type, length, "");
    }
}
