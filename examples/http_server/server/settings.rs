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
    /// How long the client may receive nothing of an answer; longer, and the connection is closed.
    pub(crate) write_time: Duration,
    /// How long an empty answer may take as a whole; a longer one may take more, by `least_rate`.
    pub(crate) answer_time: Duration,
    /// Bytes per second that the client has to receive at least; see [`Settings::time_for`].
    pub(crate) least_rate: u64,
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
            answer_time: Duration::from_secs(30),
            // Half a megabit per second, which a poor mobile line has.
            least_rate: 64 * 1024,
        }
    }

    /// How long an answer of `length` bytes may take as a whole; then the connection is closed, and the
    /// client lacks the rest.
    ///
    /// `write_time` alone does not bound an answer: a client that receives a little within each
    /// `write_time` keeps its worker for as long as the file lasts. The time grows with the length,
    /// because a constant would either cut off honest downloads of large files or leave a small file
    /// to a slow client for an hour. With the values of [`Settings::new`], a file of 1 MiB keeps a
    /// worker for 46 seconds at most, and one of 1 GiB for less than five hours.
    pub(crate) fn time_for(&self, length: u64) -> Duration {
        self.answer_time + Duration::from_secs(length / self.least_rate.max(1))
    }
}
