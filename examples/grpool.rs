//! grpool: a hundred workers that are always there, a queue of fifty, and a wait for all jobs.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use formic::Pool;

fn main() -> Result<(), Box<dyn Error>> {
    // A minimum of a hundred: they are started here, and never expire.
    let pool = Pool::builder().workers(100..=100).queue(50).name("job").build()?;
    assert_eq!(pool.workers(), 100);

    for number in 0..10 {
        pool.submit(move || {
            let thread = thread::current();
            println!("job {number} on {}", thread.name().unwrap_or("an unnamed thread"));
        })?;
    }
    // grpool counts jobs by hand (WaitCount, JobDone); here the pool knows when it is idle.
    pool.wait_idle()?;

    // A hundred run and fifty are queued; `submit` waits for a place for each of the rest.
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..1000 {
        let done = Arc::clone(&done);
        pool.submit(move || {
            thread::sleep(Duration::from_millis(1));
            done.fetch_add(1, Ordering::Relaxed);
        })?;
        let stats = pool.stats();
        assert!(stats.queued + stats.busy <= 150);
    }
    pool.wait_idle()?;
    println!("{} jobs are done, {} workers are idle", done.load(Ordering::Relaxed), pool.workers());
    assert_eq!(done.load(Ordering::Relaxed), 1000);
    assert_eq!(pool.workers(), 100);

    // Release.
    pool.drain()?;
    assert_eq!(pool.workers(), 0);
    Ok(())
}
