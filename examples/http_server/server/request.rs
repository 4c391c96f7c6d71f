//! The head of a request, as far as the server cares.

use std::ops::Range;

use super::answer::Status;

/// More headers than a browser sends.
const MOST_HEADERS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Post,
    Other,
}

/// The wish of the client for the time after the answer, over all options of all `Connection` lines.
/// The later variant outweighs the earlier one: a client that also says `close` sends no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    None,
    KeepAlive,
    Close,
}

/// It owns nothing: the target is a part of the bytes it was parsed from.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Where the target lies in the bytes.
    pub(super) target: Range<usize>,
    pub(super) keep_alive: bool,
    /// HTTP/1.0, where a connection is closed unless both say otherwise.
    pub(super) is_old: bool,
    /// It wants to be told that its body is welcome before it sends it.
    pub(super) expects_continue: bool,
    /// Bytes of the head, and of the body that follows.
    pub(super) head: usize,
    pub(super) body: usize,
}

impl Request {
    /// `None` if there is more to come.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Request>, Status> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let head = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Status::HEAD_TOO_LARGE),
            Err(httparse::Error::Version) => return Err(Status::VERSION),
            Err(_) => return Err(Status::BAD_REQUEST),
        };
        let target = parsed.path.unwrap_or_default();
        let start = target.as_ptr() as usize - bytes.as_ptr() as usize;
        let is_old = parsed.version == Some(0);
        let mut request = Request {
            method: method(parsed.method.unwrap_or_default()),
            target: start..start + target.len(),
            keep_alive: false,
            is_old,
            expects_continue: false,
            head,
            body: 0,
        };
        request.heed(parsed.headers)?;
        Ok(Some(request))
    }

    fn heed(&mut self, headers: &[httparse::Header<'_>]) -> Result<(), Status> {
        let (mut hosts, mut length, mut wish) = (0, None, Wish::None);
        for header in headers {
            let (name, value) = (header.name, header.value.trim_ascii());
            if name.eq_ignore_ascii_case("host") {
                hosts += 1;
            } else if name.eq_ignore_ascii_case("connection") {
                wish = wish.max(Wish::of(value));
            } else if name.eq_ignore_ascii_case("content-length") {
                let this = number(value).ok_or(Status::BAD_REQUEST)?;
                // Two lengths are two opinions about where the next request begins.
                if length.replace(this).is_some_and(|other| other != this) {
                    return Err(Status::BAD_REQUEST);
                }
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(Status::NOT_IMPLEMENTED);
            } else if name.eq_ignore_ascii_case("expect") {
                self.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
            }
        }
        self.body = length.unwrap_or(0);
        self.keep_alive = match wish {
            Wish::None => !self.is_old,
            Wish::KeepAlive => true,
            Wish::Close => false,
        };
        if hosts != 1 && !self.is_old { Err(Status::BAD_REQUEST) } else { Ok(()) }
    }
}

impl Wish {
    /// The strongest wish in one line of comma-separated options. Options of other names are ignored.
    fn of(line: &[u8]) -> Self {
        let options = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let wishes = options.map(|option| match option {
            _ if option.eq_ignore_ascii_case(b"close") => Wish::Close,
            _ if option.eq_ignore_ascii_case(b"keep-alive") => Wish::KeepAlive,
            _ => Wish::None,
        });
        wishes.max().unwrap_or(Wish::None)
    }
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        _ => Method::Other,
    }
}

/// Digits and nothing else. A number that does not fit is far above every limit.
fn number(text: &[u8]) -> Option<usize> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = text.iter().map(|digit| usize::from(digit - b'0'));
    Some(digits.fold(0, |sum: usize, digit| sum.saturating_mul(10).saturating_add(digit)))
}
