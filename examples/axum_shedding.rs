//! An axum service that sheds load: at most so many requests are in flight and so many wait, and the next one is
//! answered with 503 at once. It calls itself, prints the answers, and ends.

use std::error::Error;
use std::future::{IntoFuture, pending};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use axum::error_handling::HandleErrorLayer;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{BoxError, Router, routing::get};
use formic::tower::FnService;
use formic::{AsyncPool, FnPool};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use tower::{ServiceBuilder, ServiceExt};

/// Work that computes, on threads. The handler waits for a place there, and a request that is given up takes its work
/// along.
type Primes = FnService<u64, usize>;

fn count_primes(limit: u64) -> usize {
    let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (2..limit).filter(is_prime).count()
}

async fn primes(
    State(primes): State<Primes>,
    Path(limit): Path<u64>,
) -> Result<String, StatusCode> {
    let primes = primes.oneshot(limit).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(primes.to_string())
}

/// Has no end of its own.
async fn slow() -> &'static str {
    pending().await
}

async fn broken() -> &'static str {
    panic!("a bug")
}

/// What the middleware says becomes an answer. What is left is a panic of a handler, or a pool that is closed.
async fn answer(error: BoxError) -> StatusCode {
    match error {
        error if error.is::<Overloaded>() => StatusCode::SERVICE_UNAVAILABLE,
        error if error.is::<Elapsed>() => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The handlers run on the pool. A request that takes longer than `limit` is dropped, and so is its future.
fn app(requests: &AsyncPool, primes_pool: &FnPool<u64, usize>, limit: Duration) -> Router {
    let on_pool = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(answer))
        .load_shed()
        .timeout(limit)
        .layer(requests.layer());
    Router::new()
        .route("/primes/{limit}", get(primes))
        .route("/slow", get(slow))
        .route("/broken", get(broken))
        .layer(on_pool)
        .with_state(primes_pool.service())
}

/// Asks our own server, and returns the status line.
fn ask(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.lines().next().unwrap_or("").to_owned();
    println!("{path}: {status}");
    Ok(status)
}

/// What a client sees, from an idle service to a full one and back.
fn visit(address: SocketAddr, requests: &AsyncPool) -> io::Result<()> {
    assert_eq!(ask(address, "/primes/1000")?, "HTTP/1.1 200 OK");
    assert_eq!(ask(address, "/broken")?, "HTTP/1.1 500 Internal Server Error");
    // One is in flight and one waits, so there is no place for a third.
    let waiting: Vec<_> = (0..2).map(|_| thread::spawn(move || ask(address, "/slow"))).collect();
    while requests.busy() + requests.queued() < 2 {
        thread::yield_now();
    }
    assert_eq!(ask(address, "/primes/1000")?, "HTTP/1.1 503 Service Unavailable");
    for thread in waiting {
        let answer = thread.join().expect("a client does not panic")?;
        assert_eq!(answer, "HTTP/1.1 504 Gateway Timeout");
    }
    // Both are cancelled with their requests, so there are places again.
    while requests.stats().cancelled < 2 {
        thread::yield_now();
    }
    assert_eq!(ask(address, "/primes/1000")?, "HTTP/1.1 200 OK");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    std::panic::set_hook(Box::new(|panic| println!("{panic}")));
    // As small as can be, so that the example can fill it. A real one has thousands of places.
    let requests = AsyncPool::builder().workers(1).queue(1).build()?;
    let primes = FnPool::new(2, count_primes);
    let app = app(&requests, &primes, Duration::from_secs(2));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
    let server = tokio::spawn(server.into_future());

    let visitor = requests.clone();
    tokio::task::spawn_blocking(move || visit(address, &visitor)).await??;

    // First no more requests, then no more work: what was accepted runs to its end.
    drop(stop);
    server.await??;
    requests.drain().await?;
    primes.drain_async().await?;
    println!("stopped: {:?}", requests.stats());
    Ok(())
}
