//! Who is connected, so that a server that stops can tell those who only sit there.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct Guests {
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    seats: HashMap<u64, Arc<Seat>>,
    next: u64,
}

/// A connection, and whether it waits for a request.
struct Seat {
    stream: TcpStream,
    idle: AtomicBool,
}

/// A connection that is in the list for as long as this lives.
pub(super) struct Guest<'a> {
    guests: &'a Guests,
    number: u64,
    seat: Arc<Seat>,
}

impl Guests {
    pub(super) fn enter(&self, stream: TcpStream) -> Guest<'_> {
        let seat = Arc::new(Seat { stream, idle: AtomicBool::new(true) });
        let mut list = self.lock();
        let number = list.next;
        list.next += 1;
        list.seats.insert(number, Arc::clone(&seat));
        drop(list);
        Guest { guests: self, number, seat }
    }

    /// Those who wait for a request will find that none comes.
    ///
    /// The server sets `stopping`, and then looks here who is idle. A connection says that it is idle,
    /// and then looks whether the server is stopping. Both are `SeqCst`, so one of them sees the other.
    pub(super) fn dismiss_idle(&self) {
        for seat in self.lock().seats.values() {
            if seat.idle.load(Ordering::SeqCst) {
                seat.close(Shutdown::Read);
            }
        }
    }

    /// Ends every connection, whatever it is at.
    pub(super) fn cut_off(&self) {
        for seat in self.lock().seats.values() {
            seat.close(Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest<'_> {
    pub(super) fn stream(&self) -> &TcpStream {
        &self.seat.stream
    }

    pub(super) fn set_idle(&self, idle: bool) {
        // SeqCst: see `Guests::dismiss_idle`.
        self.seat.idle.store(idle, Ordering::SeqCst);
    }

    /// What has arrived can still be read, and then the end.
    pub(super) fn read_no_more(&self) {
        self.seat.close(Shutdown::Read);
    }
}

impl Seat {
    /// Fails only if the connection is gone already.
    fn close(&self, how: Shutdown) {
        drop(self.stream.shutdown(how));
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.guests.lock().seats.remove(&self.number);
    }
}
