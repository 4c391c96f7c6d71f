//! One connection, request by request, on one worker.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::Shared;
use super::answer::{self, Connection as After, Status};
use super::buffers::{Buffers, PIECE};
use super::guests::Guest;
use super::request::Request;
use super::route;

/// How long a client that has got its last answer may take to close.
const FAREWELL: Duration = Duration::from_millis(500);

/// Why there is no request.
enum Stop {
    /// The client has closed, or has said nothing for too long, or cannot be reached.
    Gone,
    /// The client is told, and then the connection is closed.
    Refused(Status),
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Stop::Gone
    }
}

pub(super) fn serve(shared: &Shared, buffers: &mut Buffers, stream: TcpStream) {
    let guest = shared.guests.enter(stream);
    buffers.clear();
    let mut connection = Connection { shared, guest, buffers, read_limit: None, write_limit: None };
    let last_was_sent = match connection.serve() {
        Ok(()) => true,
        Err(Stop::Refused(status)) => connection.refuse(status).is_ok(),
        Err(Stop::Gone) => false,
    };
    if last_was_sent {
        say_farewell(connection.guest.stream());
    }
}

/// Says that nothing more will be sent, and reads until the client has closed. To close while there
/// is something unread would reset the connection, and the client might lose the last answer.
pub(super) fn say_farewell(stream: &TcpStream) {
    let deadline = Instant::now() + FAREWELL;
    if stream.shutdown(Shutdown::Write).is_err() || stream.set_read_timeout(Some(FAREWELL)).is_err()
    {
        return;
    }
    let mut scrap = [0; 4096];
    let mut stream = stream;
    while let Ok(1..) = stream.read(&mut scrap) {
        if Instant::now() > deadline {
            return;
        }
    }
}

struct Connection<'a> {
    shared: &'a Shared,
    guest: Guest<'a>,
    buffers: &'a mut Buffers,
    /// The time limits for one read and for one write that the socket has now.
    read_limit: Option<Duration>,
    write_limit: Option<Duration>,
}

impl Connection<'_> {
    /// Returns when the last answer has been sent.
    fn serve(&mut self) -> Result<(), Stop> {
        self.guest.stream().set_nodelay(true)?;
        let mut is_new = true;
        loop {
            let request = self.read_head(is_new)?;
            self.read_body(&request)?;
            let after = self.after(&request);
            self.answer(&request, after)?;
            if after == After::Closes {
                return Ok(());
            }
            is_new = false;
        }
    }

    /// Waits for a request, and reads it as far as the empty line.
    fn read_head(&mut self, is_new: bool) -> Result<Request, Stop> {
        let settings = &self.shared.settings;
        let mut deadline = None;
        loop {
            let unread = self.buffers.unread();
            let has_begun = !unread.is_empty();
            if has_begun {
                let head = &unread[..unread.len().min(settings.head)];
                if let Some(request) = Request::parse(head).map_err(Stop::Refused)? {
                    return Ok(request);
                }
                if head.len() == settings.head {
                    return Err(Stop::Refused(Status::HEAD_TOO_LARGE));
                }
                let end = deadline.get_or_insert_with(|| Instant::now() + settings.head_time);
                self.read_until(*end)?;
            } else {
                self.await_request(is_new)?;
            }
        }
    }

    /// Who has been answered before may leave in silence. Who has just come is told that it took too
    /// long.
    fn await_request(&mut self, is_new: bool) -> Result<(), Stop> {
        let settings = &self.shared.settings;
        self.guest.set_idle(true);
        if self.shared.is_stopping() {
            self.guest.read_no_more();
        }
        self.limit_read(if is_new { settings.head_time } else { settings.idle_time })?;
        let outcome = self.buffers.read_from(self.guest.stream());
        self.guest.set_idle(false);
        match outcome {
            Ok(1..) => Ok(()),
            Err(error) if is_new && is_timeout(&error) => Err(Stop::Refused(Status::TIMEOUT)),
            _ => Err(Stop::Gone),
        }
    }

    fn read_body(&mut self, request: &Request) -> Result<(), Stop> {
        let settings = &self.shared.settings;
        if request.body > settings.body {
            return Err(Stop::Refused(Status::BODY_TOO_LARGE));
        }
        let whole = request.head + request.body;
        if self.buffers.unread().len() >= whole {
            return Ok(());
        }
        self.buffers.make_room(whole);
        if request.expects_continue {
            self.limit_write(Instant::now() + settings.answer_time)?;
            self.guest.stream().write_all(answer::CONTINUE)?;
        }
        let deadline = Instant::now() + settings.body_time;
        while self.buffers.unread().len() < whole {
            self.read_until(deadline)?;
        }
        Ok(())
    }

    /// Reads some more of a request that has begun.
    fn read_until(&mut self, deadline: Instant) -> Result<(), Stop> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Stop::Refused(Status::TIMEOUT));
        }
        self.limit_read(left)?;
        match self.buffers.read_from(self.guest.stream()) {
            Ok(0) => Err(Stop::Gone),
            Ok(_) => Ok(()),
            Err(error) if is_timeout(&error) => Err(Stop::Refused(Status::TIMEOUT)),
            Err(_) => Err(Stop::Gone),
        }
    }

    /// The usual request finds the limit as it needs it, and spares the call.
    fn limit_read(&mut self, time: Duration) -> io::Result<()> {
        if self.read_limit != Some(time) {
            self.guest.stream().set_read_timeout(Some(time))?;
            self.read_limit = Some(time);
        }
        Ok(())
    }

    /// Allows the next write its usual time, or what is left until `deadline` if that is less. Also
    /// here, the usual answer spares the call.
    fn limit_write(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let time = left.min(self.shared.settings.write_time);
        if self.write_limit != Some(time) {
            self.guest.stream().set_write_timeout(Some(time))?;
            self.write_limit = Some(time);
        }
        Ok(())
    }

    fn after(&self, request: &Request) -> After {
        match request.keep_alive && !self.shared.is_stopping() {
            true if request.is_old => After::StaysByRequest,
            true => After::Stays,
            false => After::Closes,
        }
    }

    fn answer(&mut self, request: &Request, after: After) -> io::Result<()> {
        let (bytes, output) = self.buffers.request(request.head + request.body);
        let rest = route::route(&self.shared.settings, request, bytes, after, output);
        let length = output.len() as u64 + rest.as_ref().map_or(0, |(_, length)| *length);
        let deadline = Instant::now() + self.shared.settings.time_for(length);
        self.send(deadline)?;
        match rest {
            Some((file, length)) => self.send_file(file, length, deadline),
            None => Ok(()),
        }
    }

    fn refuse(&mut self, status: Status) -> io::Result<()> {
        route::refuse(status, self.buffers.output());
        self.send(Instant::now() + self.shared.settings.answer_time)
    }

    /// Sends the bytes of the output, in one call if the client keeps up.
    fn send(&mut self, deadline: Instant) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.buffers.written().len() {
            self.limit_write(deadline)?;
            match self.guest.stream().write(&self.buffers.written()[sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => sent += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A file that has become shorter meanwhile breaks the promise of the head, and the connection.
    fn send_file(&mut self, mut file: File, mut left: u64, deadline: Instant) -> io::Result<()> {
        while left > 0 {
            let output = self.buffers.output();
            let read = (&mut file).take(left.min(PIECE)).read_to_end(output)?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            left -= read as u64;
            self.send(deadline)?;
        }
        Ok(())
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
