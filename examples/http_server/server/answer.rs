//! How answers are written: into one buffer, so that most of them leave in one piece.

use std::io::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    code: u16,
    reason: &'static str,
}

impl Status {
    pub(super) const OK: Status = Status::new(200, "OK");
    pub(super) const BAD_REQUEST: Status = Status::new(400, "Bad Request");
    pub(super) const FORBIDDEN: Status = Status::new(403, "Forbidden");
    pub(super) const NOT_FOUND: Status = Status::new(404, "Not Found");
    pub(super) const NOT_ALLOWED: Status = Status::new(405, "Method Not Allowed");
    pub(super) const TIMEOUT: Status = Status::new(408, "Request Timeout");
    pub(super) const BODY_TOO_LARGE: Status = Status::new(413, "Content Too Large");
    pub(super) const HEAD_TOO_LARGE: Status = Status::new(431, "Request Header Fields Too Large");
    pub(super) const NOT_IMPLEMENTED: Status = Status::new(501, "Not Implemented");
    pub(super) const VERSION: Status = Status::new(505, "HTTP Version Not Supported");

    const fn new(code: u16, reason: &'static str) -> Self {
        Status { code, reason }
    }

    pub(super) fn reason(self) -> &'static str {
        self.reason
    }
}

/// For connections that find no worker.
pub(super) const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nbusy\n";

pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What becomes of the connection after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    Stays,
    /// It stays although the client speaks HTTP/1.0, so it has to be told.
    StaysByRequest,
    Closes,
}

/// Writes the head of an answer. `allow` names the methods that are allowed, where one was not.
pub(super) fn write_head(
    out: &mut Vec<u8>,
    status: Status,
    connection: Connection,
    content_type: &str,
    length: u64,
    allow: &str,
) {
    let Status { code, reason } = status;
    // To write into a vector does not fail.
    drop(write!(out, "HTTP/1.1 {code} {reason}\r\nContent-Type: {content_type}\r\n"));
    drop(write!(out, "Content-Length: {length}\r\n"));
    if !allow.is_empty() {
        drop(write!(out, "Allow: {allow}\r\n"));
    }
    out.extend_from_slice(match connection {
        Connection::Stays => b"\r\n".as_slice(),
        Connection::StaysByRequest => b"Connection: keep-alive\r\n\r\n",
        Connection::Closes => b"Connection: close\r\n\r\n",
    });
}
