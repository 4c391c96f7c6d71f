//! The demo of ants with futures in place of goroutines: a thousand tasks of 10 ms, and a sum.
//!
//! ```sh
//! cargo run --features tokio --example ants_async
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use formic::{AsyncFnPool, AsyncPool, Refused};
use tokio::time::sleep;

const TASKS: u64 = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    greet().await?;
    add_up().await
}

/// ants: `Submit`, `Running`, `Tune`, `Release`, `Reboot`.
async fn greet() -> Result<(), Box<dyn Error>> {
    let greetings = Arc::new(AtomicU64::new(0));
    let greet = || {
        let greetings = Arc::clone(&greetings);
        async move {
            sleep(Duration::from_millis(10)).await;
            greetings.fetch_add(1, Ordering::Relaxed);
        }
    };

    // All of them are in flight at once. One after another they would sleep for ten seconds.
    let pool = AsyncPool::new(TASKS as usize);
    let start = Instant::now();
    for _ in 0..TASKS {
        pool.submit(greet()).await?;
    }
    println!("{} tasks are in flight or queued", pool.busy() + pool.queued());
    pool.wait_idle().await?;
    println!("{TASKS} greetings in {:?}", start.elapsed());
    assert_eq!(greetings.load(Ordering::Relaxed), TASKS);

    // At most a hundred at once from now on.
    pool.resize(100)?;
    for _ in 0..200 {
        pool.submit(greet()).await?;
    }

    // What was accepted is run before the drain is over; after it, nothing more is accepted.
    pool.drain().await?;
    assert_eq!(greetings.load(Ordering::Relaxed), TASKS + 200);
    let error = pool.submit(greet()).await.expect_err("a drained pool accepts nothing");
    assert_eq!(error.reason(), Refused::Closed);

    pool.reopen()?;
    pool.submit(error.into_task()).await?;
    pool.drain().await?;
    assert_eq!(greetings.load(Ordering::Relaxed), TASKS + 201);
    println!("reopened, and the task that was refused has run after all");
    Ok(())
}

/// ants: `NewPoolWithFunc`, `Invoke`. The function is given once; only arguments are submitted.
async fn add_up() -> Result<(), Box<dyn Error>> {
    let sum = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&sum);
    let pool = AsyncFnPool::new(100, move |number: u64| {
        let total = Arc::clone(&total);
        async move {
            sleep(Duration::from_millis(10)).await;
            total.fetch_add(number, Ordering::Relaxed)
        }
    });
    for number in 0..TASKS {
        pool.submit(number).await?;
    }
    pool.drain().await?;
    let sum = sum.load(Ordering::Relaxed);
    println!("the sum of 0..{TASKS} is {sum}");
    assert_eq!(sum, 499_500);
    Ok(())
}
