//! A worker's buffers. They go from connection to connection, so a request costs no allocation.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;

/// How much of a file is sent at once.
pub(super) const PIECE: u64 = 64 * 1024;

pub(super) struct Buffers {
    /// What has been read and not been answered lies from `start` to `end`.
    input: Vec<u8>,
    start: usize,
    end: usize,
    output: Vec<u8>,
    /// What is kept for the next connection; what a large request made larger is given back.
    kept: usize,
}

impl Buffers {
    /// Room for a head of this size.
    pub(super) fn new(head: usize) -> Self {
        let kept = head.max(PIECE as usize);
        Buffers { input: vec![0; head], start: 0, end: 0, output: Vec::new(), kept }
    }

    /// Forgets everything, for the next connection.
    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
        self.input.truncate(self.kept);
        self.input.shrink_to(self.kept);
        self.output.clear();
        self.output.shrink_to(self.kept);
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// Takes a request of `whole` bytes, all of which have been read; and an empty output for the
    /// answer to it.
    pub(super) fn request(&mut self, whole: usize) -> (&[u8], &mut Vec<u8>) {
        let begin = self.start;
        self.start += whole;
        self.output.clear();
        (&self.input[begin..self.start], &mut self.output)
    }

    /// An empty output.
    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        self.output.clear();
        &mut self.output
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.output
    }

    /// Moves what is unread to the front, so that `whole` bytes from there on fit in.
    pub(super) fn make_room(&mut self, whole: usize) {
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.input.len() < whole {
            self.input.resize(whole, 0);
        }
    }

    /// Reads what there is, and waits if there is nothing; 0 if nothing will come any more.
    pub(super) fn read_from(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() {
            self.make_room(0);
        }
        loop {
            match stream.read(&mut self.input[self.end..]) {
                Ok(length) => {
                    self.end += length;
                    return Ok(length);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
