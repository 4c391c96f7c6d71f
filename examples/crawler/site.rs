//! The web site: pages that link to each other, some slow, some failing at first.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use formic::AsyncPool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    /// How often each page was asked for, and how often it was delivered.
    asked: Box<[AtomicU32]>,
    delivered: Box<[AtomicU32]>,
}

impl Site {
    /// Serves so many pages until the runtime ends.
    pub(crate) async fn open(pages: usize) -> io::Result<Arc<Site>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let count = || (0..pages).map(|_| AtomicU32::new(0)).collect();
        let address = listener.local_addr()?;
        let site = Arc::new(Site { address, asked: count(), delivered: count() });
        tokio::spawn(Arc::clone(&site).listen(listener));
        Ok(site)
    }

    /// How many pages were delivered so often.
    pub(crate) fn delivered(&self, times: u32) -> usize {
        let counts = self.delivered.iter().map(|count| count.load(Ordering::Relaxed));
        counts.filter(|count| *count == times).count()
    }

    async fn listen(self: Arc<Self>, listener: TcpListener) {
        let connections = AsyncPool::new(10_000);
        loop {
            // A visitor who is gone before it was let in is no reason to close.
            let Ok((stream, _)) = listener.accept().await else { continue };
            let site = Arc::clone(&self);
            let serve = async move { drop(site.serve(stream).await) };
            if connections.submit(serve).await.is_err() {
                return;
            }
        }
    }

    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let request = read_request(&mut stream).await?;
        let answer = self.answer(&request).await;
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    }

    async fn answer(&self, path: &str) -> String {
        let page = path.strip_prefix("/page/").and_then(|number| number.parse::<usize>().ok());
        let Some(page) = page.filter(|page| *page < self.asked.len()) else {
            return answer("404 Not Found", "there is no such page");
        };
        let before = self.asked[page].fetch_add(1, Ordering::Relaxed);
        if page % 10 == 3 && before < 2 {
            return answer("503 Service Unavailable", "come back later");
        }
        if page % 50 == 7 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.delivered[page].fetch_add(1, Ordering::Relaxed);
        answer("200 OK", &self.text(page))
    }

    /// Each page leads to two new ones, beyond the last page in the end, and to some that are known.
    fn text(&self, page: usize) -> String {
        let links = [2 * page + 1, 2 * page + 2, page / 2, page * 7 % self.asked.len(), 0];
        links.map(|link| format!("<a href=\"/page/{link}\">{link}</a>\n")).concat()
    }
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Reads a request up to the end of its headers, and returns its path.
async fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&bytes).map_err(io::Error::other)?;
        if let (true, Some(path)) = (parsed.is_complete(), request.path) {
            return Ok(path.to_owned());
        }
        if stream.read_buf(&mut bytes).await? == 0 || bytes.len() > 4096 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
