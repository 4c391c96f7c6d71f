//! A client that says what it wants, byte by byte if need be, and reads one answer at a time.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::common::PATIENCE;
use crate::server::Server;

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: me\r\n\r\n")
}

pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: me\r\nContent-Length: {length}\r\n\r\n{body}")
}

impl Client {
    #[track_caller]
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, unread: Vec::new() }
    }

    #[track_caller]
    pub(crate) fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes());
    }

    #[track_caller]
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes it");
    }

    /// Whether it was sent; the server may have closed already.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Whether the beginning of an answer is here.
    pub(crate) fn has_answer(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let outcome = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).unwrap();
        !outcome.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.answer_to_head();
        let length = answer.header("content-length").expect("an answer tells its length");
        let length = length.parse().expect("it is a number");
        while self.unread.len() < length {
            self.read_more();
        }
        answer.body = self.unread.drain(..length).collect();
        answer
    }

    /// An answer without a body.
    #[track_caller]
    pub(crate) fn answer_to_head(&mut self) -> Answer {
        let end = loop {
            match self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.read_more(),
            }
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8(head).expect("a head is text");
        let mut lines = head.trim_end().lines();
        let first = lines.next().expect("there is a first line");
        let status = first.strip_prefix("HTTP/1.1 ").expect("it is HTTP")[..3].parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").expect("a header has a value");
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Answer { status, headers: lines.map(header).collect(), body: Vec::new() }
    }

    /// Returns when the server has closed the connection; it sends nothing more before that.
    #[track_caller]
    pub(crate) fn await_end(&mut self) {
        let length = self.stream.read(&mut [0; 64]).expect("the server closes in time");
        assert_eq!((length, self.unread.len()), (0, 0), "there was more than the answer");
    }

    #[track_caller]
    fn read_more(&mut self) {
        let mut buffer = [0; 16 * 1024];
        let length = self.stream.read(&mut buffer).expect("the server answers in time");
        assert!(length > 0, "the server closed, after {:?}", String::from_utf8_lossy(&self.unread));
        self.unread.extend_from_slice(&buffer[..length]);
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }
}
