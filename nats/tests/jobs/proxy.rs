//! A proxy between a client and the server: it withholds confirmations, and cuts connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::common::Server;

pub(crate) struct Proxy {
    port: u16,
    withholds: Arc<AtomicBool>,
    /// The number of cuts. A connection ends when it changes.
    cuts: watch::Sender<u64>,
}

impl Proxy {
    pub(crate) async fn start(server: &Server) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            withholds: Arc::default(),
            cuts: watch::Sender::new(0),
        };
        let (address, withholds) = (server.address(), Arc::clone(&proxy.withholds));
        let cuts = proxy.cuts.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&address).await.unwrap();
                let mut cut = cuts.clone();
                cut.mark_unchanged();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let withholds = Arc::clone(&withholds);
                tokio::spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        () = forward(from_client, to_server) => {}
                        () = filter(from_server, to_client, &withholds) => {}
                    }
                });
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// From now on no confirmation of an answer reaches the client, or each does.
    pub(crate) fn withhold_confirmations(&self, withholds: bool) {
        self.withholds.store(withholds, Relaxed);
    }

    /// Ends each connection. The client may connect again.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    tokio::io::copy(&mut from, &mut to).await.ok();
}

/// Forwards whole frames of the server.
async fn filter(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, withholds: &AtomicBool) {
    let mut buffer = Vec::new();
    while from.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        while let Some((length, is_confirmation)) = frame(&buffer) {
            let frame: Vec<u8> = buffer.drain(..length).collect();
            if !(is_confirmation && withholds.load(Relaxed)) && to.write_all(&frame).await.is_err()
            {
                return;
            }
        }
    }
}

/// The length of the first frame, if all of it is there, and whether it confirms an answer: an empty reply to a request.
fn frame(buffer: &[u8]) -> Option<(usize, bool)> {
    let line = buffer.windows(2).position(|two| two == b"\r\n")?;
    let words: Vec<&str> = std::str::from_utf8(&buffer[..line]).unwrap().split(' ').collect();
    let payload = match words[0] {
        "MSG" | "HMSG" => words.last()?.parse::<usize>().unwrap() + 2,
        _ => 0,
    };
    let length = line + 2 + payload;
    // async-nats has all of its requests answered on the subscription 0.
    let is_confirmation = words[0] == "MSG" && words[2] == "0" && payload == 2;
    (buffer.len() >= length).then_some((length, is_confirmation))
}
