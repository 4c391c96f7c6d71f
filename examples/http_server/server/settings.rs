//! What the server serves, and how much of anything it stands.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The folder whose files are served.
    pub(crate) root: PathBuf,
    /// Connections at once, each with a worker of its own; the next is answered with 503.
    pub(crate) connections: usize,
    /// Bytes of a request's head, from its first line to the empty one; more is answered with 431.
    pub(crate) head: usize,
    /// Bytes of a request's body; more is answered with 413.
    pub(crate) body: usize,
    /// How long a head may take, from its first byte, and a new connection until its first byte;
    /// longer is answered with 408.
    pub(crate) head_time: Duration,
    /// How long a body may take; longer is answered with 408.
    pub(crate) body_time: Duration,
    /// How long a connection may stay silent between two requests; longer, and it is closed.
    pub(crate) idle_time: Duration,
    /// How long the client may take to receive a piece of 64 KiB; one that is slower is left.
    pub(crate) write_time: Duration,
}

impl Settings {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Settings {
            root: root.into(),
            connections: 256,
            head: 8 * 1024,
            body: 1024 * 1024,
            head_time: Duration::from_secs(5),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(15),
            write_time: Duration::from_secs(10),
        }
    }
}
