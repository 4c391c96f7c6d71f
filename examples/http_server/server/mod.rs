//! The server: accepts connections, gives each to a worker or turns it away, and stops in peace.

mod settings; // what it stands
mod guests; // who is connected
mod connection; // one connection, request by request
mod buffers; // .. where its bytes lie
mod request; // .. what is asked
mod route; // .. what is answered to it
mod answer; // .. how that is written
mod files; // .. and found

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use formic::FnPool;

use buffers::Buffers;
use guests::Guests;
pub(crate) use settings::Settings;

/// A running server. Dropped without [`stop`](Server::stop), it runs on.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    workers: FnPool<TcpStream, ()>,
    farewells: FnPool<TcpStream, ()>,
    acceptor: JoinHandle<()>,
}

/// What all connections need.
struct Shared {
    settings: Settings,
    guests: Guests,
    stopping: AtomicBool,
}

impl Shared {
    fn is_stopping(&self) -> bool {
        // SeqCst: see `Guests::dismiss_idle`.
        self.stopping.load(Ordering::SeqCst)
    }
}

impl Server {
    pub(crate) fn start(listener: TcpListener, mut settings: Settings) -> io::Result<Self> {
        settings.root = settings.root.canonicalize()?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            settings,
            guests: Guests::default(),
            stopping: AtomicBool::new(false),
        });
        let workers = start_workers(&shared)?;
        let farewells = start_farewells()?;
        let acceptor = {
            let (shared, workers, farewells) =
                (Arc::clone(&shared), workers.clone(), farewells.clone());
            let accept = move || accept(&listener, &shared, &workers, &farewells);
            thread::Builder::new().name("accept".to_owned()).spawn(accept)?
        };
        Ok(Server { address, shared, workers, farewells, acceptor })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections have a worker.
    pub(crate) fn connections(&self) -> usize {
        self.workers.busy()
    }

    /// Accepts no more connections, closes those that have asked for nothing, and gives the others
    /// `time` to be answered. Then they are cut off; returns how many that were.
    pub(crate) fn stop(self, time: Duration) -> usize {
        // SeqCst: see `Guests::dismiss_idle`.
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The acceptor sleeps until somebody comes.
        drop(TcpStream::connect(reachable(self.address)));
        drop(self.acceptor.join());

        self.shared.guests.dismiss_idle();
        let cut_off = match self.workers.drain_timeout(time) {
            Ok(()) => 0,
            Err(left) => {
                self.shared.guests.cut_off();
                // A worker whose connection is gone comes back from whatever it waited for.
                self.workers.drain_timeout(Duration::from_secs(1)).ok();
                left.running()
            }
        };
        self.farewells.discard();
        self.farewells.drain_timeout(Duration::from_secs(1)).ok();
        cut_off
    }
}

/// One worker for each connection, and its buffers with it. Nothing is queued: a client that would
/// have to wait for another one to leave is told so at once.
fn start_workers(shared: &Arc<Shared>) -> io::Result<FnPool<TcpStream, ()>> {
    let shared = Arc::clone(shared);
    let buffers = {
        let head = shared.settings.head;
        move || Buffers::new(head)
    };
    FnPool::builder()
        .workers(shared.settings.connections)
        .queue(0)
        .name("http")
        .build_with(buffers, move |buffers, stream| {
            connection::serve(&shared, buffers, stream);
        })
        .map_err(io::Error::other)
}

/// A few more for those who were turned away: they have their answer, and get a moment to read it.
/// Not too many at once, for each of them keeps a descriptor.
fn start_farewells() -> io::Result<FnPool<TcpStream, ()>> {
    FnPool::builder()
        .workers(4)
        .queue(256)
        .name("farewell")
        .build(|stream: TcpStream| connection::say_farewell(&stream))
        .map_err(io::Error::other)
}

fn accept(
    listener: &TcpListener,
    shared: &Shared,
    workers: &FnPool<TcpStream, ()>,
    farewells: &FnPool<TcpStream, ()>,
) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) if shared.is_stopping() => turn_away(stream, farewells),
            Ok(stream) => {
                if let Err(error) = workers.try_submit(stream) {
                    turn_away(error.into_task(), farewells);
                }
            }
            // No more descriptors, most likely: some will be free in a moment.
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
        if shared.is_stopping() {
            return;
        }
    }
}

/// What is written to a new connection fits into its send buffer, so this does not wait.
fn turn_away(stream: TcpStream, farewells: &FnPool<TcpStream, ()>) {
    if (&stream).write_all(answer::BUSY).is_ok() {
        // If too many are being turned away, some may find a reset instead of their answer.
        drop(farewells.try_submit(stream));
    }
}

/// Where this machine reaches a listener that listens everywhere.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
