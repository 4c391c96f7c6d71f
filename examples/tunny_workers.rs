//! tunny's worker objects: each worker has a state of its own, with a beginning and an end.

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use formic::{CallError, FnPool};

static OPENED: AtomicUsize = AtomicUsize::new(0);
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// As if it were dear to make: a connection, a parser. It never leaves its thread, so it may hold what
/// could not be sent to another one.
struct Connection {
    queries: Rc<Cell<u32>>,
}

impl Connection {
    /// Called on the worker's own thread, before its first task.
    fn open() -> Self {
        OPENED.fetch_add(1, Ordering::Relaxed);
        Connection { queries: Rc::default() }
    }

    fn query(&mut self, question: &str) -> String {
        assert!(question != "drop table", "the connection is in a bad way");
        self.queries.set(self.queries.get() + 1);
        format!("{question}: {} letters, answer {}", question.len(), self.queries.get())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        CLOSED.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = FnPool::with_state(1, Connection::open, Connection::query);
    for (question, answer) in
        [("who", "who: 3 letters, answer 1"), ("how", "how: 3 letters, answer 2")]
    {
        let said = pool.call(question)?;
        println!("{said}");
        assert_eq!(said, answer);
    }
    assert_eq!(OPENED.load(Ordering::Relaxed), 1);

    // After a panic nobody trusts the state any more. The worker stays, and gets a new one.
    let error = pool.call("drop table").expect_err("it panics");
    println!("{error}");
    assert!(matches!(error, CallError::Panicked(_)));
    assert_eq!(pool.call("why")?, "why: 3 letters, answer 1");
    assert_eq!((OPENED.load(Ordering::Relaxed), CLOSED.load(Ordering::Relaxed)), (2, 1));

    // SetSize and QueueLength.
    pool.resize(8)?;
    for _ in 0..100 {
        pool.submit("when")?;
    }
    println!("{} workers at most, {} questions are queued", pool.capacity(), pool.queued());

    // When a worker goes, its state goes with it.
    pool.drain()?;
    let (opened, closed) = (OPENED.load(Ordering::Relaxed), CLOSED.load(Ordering::Relaxed));
    println!("{opened} connections were opened, {closed} were closed");
    assert_eq!(opened, closed);
    block_until_ready()
}

/// `BlockUntilReady`: the first worker's server is down, so the second worker takes all tasks.
fn block_until_ready() -> Result<(), Box<dyn Error>> {
    let is_up = Arc::new(AtomicBool::new(false));
    let server = Arc::clone(&is_up);
    let connect = move |worker: usize| {
        if worker > 0 || server.load(Ordering::Relaxed) { Ok(worker) } else { Err("no route") }
    };
    let pool = FnPool::builder()
        .workers(2)
        .state(connect)
        .retry(Duration::from_millis(1), Duration::from_millis(100))
        .on_state_error(|worker, error, attempt| println!("{worker}: {error}, attempt {attempt}"))
        .build(|worker: &mut usize, ()| *worker)?;
    for _ in 0..10 {
        assert_eq!(pool.call(())?, 1);
    }
    println!("{} of {} workers are not ready", pool.stats().unready, pool.workers());
    is_up.store(true, Ordering::Relaxed);
    pool.drain()?;
    Ok(())
}
