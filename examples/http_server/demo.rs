//! The server asks itself a few things, and stops.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::server::{Server, Settings};

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = Server::start(listener, Settings::new(env!("CARGO_MANIFEST_DIR")))?;
    println!("http://{} serves {}", server.address(), env!("CARGO_MANIFEST_DIR"));

    for (request, expected) in [
        ("GET /hello", "200 OK"),
        ("HEAD /Cargo.toml", "200 OK"),
        ("POST /echo", "200 OK"),
        ("GET /echo", "405 Method Not Allowed"),
        ("GET /no/such/file", "404 Not Found"),
        ("GET /../../etc/passwd", "403 Forbidden"),
    ] {
        let answer = ask(server.address(), request)?;
        let status = answer.lines().next().unwrap_or_default();
        println!("{request}: {status}");
        assert!(status.ends_with(expected), "{answer}");
    }

    let cut_off = server.stop(Duration::from_secs(10));
    println!("stopped; {cut_off} connections had to be cut off");
    assert_eq!(cut_off, 0);
    Ok(())
}

fn ask(address: SocketAddr, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let headers = "Host: me\r\nConnection: close\r\nContent-Length: 5";
    write!(stream, "{request} HTTP/1.1\r\n{headers}\r\n\r\nhello")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
