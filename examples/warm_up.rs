//! Warm-up: workers that are started before the first task comes, so that no task waits for a
//! thread to be made.
//!
//! ```sh
//! cargo run --example warm_up
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use formic::Pool;

const WORKERS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let started = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&started);
    let pool = Pool::builder()
        .workers(WORKERS)
        .on_worker_start(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()?;

    println!("built:     {} of {} workers", pool.workers(), pool.capacity());
    assert_eq!(pool.workers(), 0, "a pool starts no thread before it needs one");

    pool.prestart(WORKERS)?; // or Builder::prestart, to have it done by build
    println!("warmed up: {} of {} workers", pool.workers(), pool.capacity());
    assert_eq!(pool.workers(), WORKERS);

    // The workers are there; a moment later all of them rest, ready to be woken.
    while pool.idle() < WORKERS || started.load(Ordering::Relaxed) < WORKERS {
        std::thread::yield_now();
    }
    let warm = first_task(&pool)?;
    assert_eq!(started.load(Ordering::Relaxed), WORKERS, "the task found a running worker");
    assert_eq!(pool.workers(), WORKERS);
    let cold = first_task(&Pool::new(WORKERS))?;
    println!("the first task began after {warm:?} here, and after {cold:?} in a cold pool");

    // Unlike a minimum (`workers(8..=8)`), a warm-up does not last: idle workers retire.
    pool.drain()?;
    println!("drained:   {} of {} workers", pool.workers(), pool.capacity());
    assert_eq!((pool.workers(), pool.stats().completed), (0, 1));
    Ok(())
}

/// How long the task waited for a worker.
fn first_task(pool: &Pool) -> Result<Duration, Box<dyn Error>> {
    let submitted = Instant::now();
    let began = pool.spawn(Instant::now)?.join()?;
    Ok(began - submitted)
}
