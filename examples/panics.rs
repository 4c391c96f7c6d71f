//! A panic costs one task: half of these fail, and the pool with its two workers goes on.

use std::error::Error;
use std::sync::mpsc;

use formic::{JoinError, Pool};

fn work(number: u32) -> u32 {
    assert!(number % 2 == 1, "{number} is even");
    number * 10
}

fn main() -> Result<(), Box<dyn Error>> {
    // Rust prints each panic to the standard error. The hook is for what you do about it.
    let (sender, receiver) = mpsc::channel();
    let pool = Pool::builder()
        .workers(2)
        .name("brave")
        .on_panic(move |panic| drop(sender.send(panic.message().to_owned())))
        .build()?;

    // Without a handle, the hook is who hears of it.
    for number in 1..=10 {
        pool.submit(move || {
            work(number);
        })?;
    }
    pool.wait_idle()?;
    let mut messages: Vec<String> = receiver.try_iter().collect();
    messages.sort();
    println!("without handles, the hook heard: {}", messages.join(", "));
    assert_eq!(messages.len(), 5);

    // With a handle, the panic is the outcome.
    let mut batch = pool.batch();
    for number in 1..=10 {
        batch.spawn(move || work(number))?;
    }
    let (mut values, mut failures) = (Vec::new(), 0);
    for outcome in batch.join_all() {
        match outcome {
            Ok(value) => values.push(value),
            Err(JoinError::Panicked(panic)) => {
                println!("{panic}");
                failures += 1;
            }
            Err(other) => return Err(other.into()),
        }
    }
    println!("{values:?} came through");
    assert_eq!(values, [10, 30, 50, 70, 90]);
    assert_eq!(failures, 5);

    // No worker was lost.
    let stats = pool.stats();
    println!("{} of {} tasks panicked; workers: {}", stats.panicked, stats.accepted, stats.workers);
    assert_eq!((stats.completed, stats.panicked), (10, 10));
    assert_eq!(pool.spawn(|| work(7))?.join()?, 70);
    Ok(())
}
