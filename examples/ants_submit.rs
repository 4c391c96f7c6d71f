//! ants: submit a thousand tasks, change the size, release the pool and open it again.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use formic::{Pool, Refused};

const TASKS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let greetings = Arc::new(AtomicUsize::new(0));
    let greet = || {
        let greetings = Arc::clone(&greetings);
        move || {
            thread::sleep(Duration::from_millis(10));
            greetings.fetch_add(1, Ordering::Relaxed);
        }
    };

    // Every task gets a worker at once. One after another they would sleep for ten seconds.
    let pool = Pool::builder().unlimited().build()?;
    let start = Instant::now();
    for _ in 0..TASKS {
        pool.submit(greet())?;
    }
    pool.wait_idle()?;
    println!("{TASKS} greetings in {:?}, by {} workers", start.elapsed(), pool.workers());
    assert_eq!(greetings.load(Ordering::Relaxed), TASKS);

    // Ten workers from now on. The rest retire at once, and `submit` waits when it has to.
    pool.resize(10)?;
    println!("now there is room for {} workers", pool.capacity());
    for _ in 0..100 {
        pool.submit(greet())?;
    }

    // What was accepted is run before `drain` returns; after it, nothing more is accepted.
    pool.drain()?;
    assert_eq!(greetings.load(Ordering::Relaxed), TASKS + 100);
    let error = pool.submit(greet()).expect_err("a drained pool accepts nothing");
    assert_eq!(error.reason(), Refused::Closed);
    println!("drained, {} workers left: {error}", pool.workers());

    pool.reopen()?;
    pool.submit(error.into_task())?;
    pool.drain()?;
    assert_eq!(greetings.load(Ordering::Relaxed), TASKS + 101);
    println!("reopened, and the task that was refused has run after all");
    Ok(())
}
