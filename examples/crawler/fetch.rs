//! The client: one page over one connection, again if need be.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use formic::Semaphore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ATTEMPTS: u32 = 5;

/// What came of asking for a page.
pub(crate) enum Fetched {
    Text(String),
    /// There is no such page, and asking again would not help.
    Missing,
    /// It was asked for as often as is decent.
    GaveUp,
}

pub(crate) struct Client {
    host: SocketAddr,
    /// A guest does not take all connections of the house, nor all files this process may open.
    connections: Semaphore,
}

impl Client {
    pub(crate) fn new(host: SocketAddr, connections: usize) -> Self {
        Client { host, connections: Semaphore::new(connections) }
    }

    /// Fetches a page, with a pause before each further attempt.
    pub(crate) async fn fetch(&self, path: &str) -> Fetched {
        for attempt in 0..ATTEMPTS {
            match self.ask(path).await {
                Ok((200, text)) => return Fetched::Text(text),
                Ok((404, _)) => return Fetched::Missing,
                Ok(_) | Err(_) => {
                    // Nobody's connection is held meanwhile.
                    tokio::time::sleep(Duration::from_millis(5 << attempt)).await;
                }
            }
        }
        Fetched::GaveUp
    }

    async fn ask(&self, path: &str) -> Result<(u16, String), Box<dyn Error + Send + Sync>> {
        let _one = self.connections.acquire_async(1).await?;
        let mut stream = TcpStream::connect(self.host).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;

        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut answer = httparse::Response::new(&mut headers);
        match (answer.parse(&bytes)?, answer.code) {
            (httparse::Status::Complete(start), Some(code)) => {
                Ok((code, String::from_utf8(bytes.split_off(start))?))
            }
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}
