//! tunny's web server: connections come as they like, the heavy work goes through a few workers.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use formic::FnPool;

/// Something that keeps a core busy: how many primes there are below `limit`.
fn count_primes(limit: u64) -> usize {
    let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (2..limit).filter(is_prime).count()
}

/// Reads one request and gives its number to the pool. This thread waits; the core does not.
fn answer(stream: &TcpStream, pool: &FnPool<u64, usize>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request_line = String::new();
    reader.read_line(&mut request_line)?;
    let mut length = 0;
    for line in reader.by_ref().lines() {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;

    let (status, text) = match (request_line.starts_with("POST /work "), body.trim().parse::<u64>())
    {
        (false, _) => ("404 Not Found", "try POST /work".to_owned()),
        (_, Err(error)) => ("400 Bad Request", error.to_string()),
        (_, Ok(limit)) => match pool.call(limit) {
            Ok(primes) => ("200 OK", primes.to_string()),
            Err(error) => ("503 Service Unavailable", error.to_string()),
        },
    };
    let length = text.len();
    write!(&*stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{text}")
}

/// Sends a request to our own server, and returns the answer's status line and body.
fn post(address: SocketAddr, path: &str, body: &str) -> io::Result<(String, String)> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\nHost: me\r\nContent-Length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok((head.lines().next().unwrap_or("").to_owned(), text.to_owned()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let cores = thread::available_parallelism()?.get();
    let pool = FnPool::new(cores, count_primes);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    println!("POST /work goes to http://{address}/work, and to {cores} workers");

    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let pool = pool.clone();
            thread::spawn(move || answer(&stream, &pool));
        }
    });
    for (path, body, expected) in [
        ("/work", "10", ("HTTP/1.1 200 OK", "4")),
        ("/work", "10000", ("HTTP/1.1 200 OK", "1229")),
        ("/work", "many", ("HTTP/1.1 400 Bad Request", "invalid digit found in string")),
        ("/play", "10", ("HTTP/1.1 404 Not Found", "try POST /work")),
    ] {
        let (status, text) = post(address, path, body)?;
        println!("POST {path} {body}: {status}, {text}");
        assert_eq!((status.as_str(), text.as_str()), expected);
    }
    Ok(())
}
