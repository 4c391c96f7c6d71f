//! A web server for static files, in the way of fasthttp: a worker for each connection, no queue, and
//! a clear answer for whoever is one too many.
//!
//! ```sh
//! cargo run --release --example http_server -- 127.0.0.1:8080 .    # until Ctrl-C
//! cargo run --release --example http_server -- --demo              # asks itself a few things
//! ```
//!
//! `GET` and `HEAD` serve files and `/hello`; `POST /echo` sends back what it is sent. The server
//! itself is in `server/`, and nothing in there knows of the command line.

mod demo;
mod server;

use std::error::Error;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use server::{Server, Settings};

/// How long running requests may take when we are told to stop.
const GRACE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    if address == "--demo" {
        return demo::run();
    }
    let root = arguments.next().unwrap_or_else(|| ".".to_owned());

    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        // The second time, nobody listens any more.
        if stop.send(()).is_err() {
            std::process::exit(130);
        }
    })?;

    let server = Server::start(TcpListener::bind(&address)?, Settings::new(&root))?;
    println!("serving {root} on http://{}", server.address());
    stopped.recv()?;
    drop(stopped);

    println!("stopping: {} connections are open", server.connections());
    match server.stop(GRACE) {
        0 => println!("all requests have been answered"),
        cut_off => println!("{cut_off} connections had to be cut off"),
    }
    Ok(())
}
