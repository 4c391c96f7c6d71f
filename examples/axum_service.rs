//! An axum service whose handlers compute, on a bounded pool: it sheds load, gives up on slow requests, and stops in
//! peace. It calls itself, prints the answers, and ends.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::get};
use formic::Pool;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// What the handlers share.
#[derive(Clone)]
struct Service {
    pool: Pool,
    limit: Duration,
    /// Holds the work of `/slow`, so that the example decides when it ends.
    door: Arc<(Mutex<bool>, Condvar)>,
}

impl Service {
    /// Runs work on the pool for a request: 503 if the pool is full, 504 if it takes too long.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StatusCode> {
        let task = self.pool.try_spawn(work).map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
        match timeout(self.limit, task.cancel_on_drop()).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) => Err(StatusCode::INTERNAL_SERVER_ERROR),
            Err(_) => Err(StatusCode::GATEWAY_TIMEOUT),
        }
    }
}

async fn primes(
    State(service): State<Service>,
    Path(limit): Path<u64>,
) -> Result<String, StatusCode> {
    let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    let primes = service.run(move || (2..limit).filter(is_prime).count()).await?;
    Ok(primes.to_string())
}

async fn slow(State(service): State<Service>) -> Result<&'static str, StatusCode> {
    let door = Arc::clone(&service.door);
    let wait = move || {
        let open = door.0.lock().expect("no panic while it is held");
        drop(door.1.wait_while(open, |open| !*open));
        "done"
    };
    service.run(wait).await
}

async fn broken(State(service): State<Service>) -> Result<String, StatusCode> {
    service.run(|| panic!("a bug")).await
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

/// What a client sees, from an idle service to a full one.
fn visit(address: SocketAddr, service: &Service) -> io::Result<()> {
    assert_eq!(ask(address, "/primes/1000")?, "HTTP/1.1 200 OK");
    assert_eq!(ask(address, "/broken")?, "HTTP/1.1 500 Internal Server Error");
    // One runs and one is queued, so there is no place for a third.
    let waiting: Vec<_> = (0..2).map(|_| thread::spawn(move || ask(address, "/slow"))).collect();
    while service.pool.busy() + service.pool.queued() < 2 {
        thread::yield_now();
    }
    assert_eq!(ask(address, "/primes/1000")?, "HTTP/1.1 503 Service Unavailable");
    for thread in waiting {
        let answer = thread.join().expect("a client does not panic")?;
        assert_eq!(answer, "HTTP/1.1 504 Gateway Timeout");
    }
    // The queued one was cancelled with its request, and never ran.
    assert_eq!(service.pool.stats().cancelled, 1);
    *service.door.0.lock().expect("no panic while it is held") = true;
    service.door.1.notify_all();
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    std::panic::set_hook(Box::new(|panic| println!("{panic}")));
    let pool = Pool::builder().workers(1).queue(1).build()?;
    let service = Service { pool, limit: Duration::from_secs(2), door: Arc::default() };
    let app = Router::new()
        .route("/primes/{limit}", get(primes))
        .route("/slow", get(slow))
        .route("/broken", get(broken))
        .with_state(service.clone());

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
    let server = tokio::spawn(server.into_future());

    let visitor = service.clone();
    tokio::task::spawn_blocking(move || visit(address, &visitor)).await??;

    // First no more requests, then no more work: what was accepted runs to its end.
    drop(stop);
    server.await??;
    service.pool.drain_async().await?;
    println!("stopped: {:?}", service.pool.stats());
    Ok(())
}
