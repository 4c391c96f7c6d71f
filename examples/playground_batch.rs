//! go-playground's batch: e-mails that one thread queues while another reads the results, and the rest cancelled after
//! a failure.

use std::error::Error;
use std::thread;
use std::time::Duration;

use formic::{JoinError, Pool};

#[derive(Debug, PartialEq)]
enum Sent {
    Delivered(u32),
    Bounced(u32),
    /// It was about to be sent when the batch was cancelled.
    Stopped(u32),
}

fn send_email(number: u32, bounces: bool) -> Sent {
    for _ in 0..10 {
        if formic::is_cancelled() {
            return Sent::Stopped(number);
        }
        thread::sleep(Duration::from_millis(1)); // as if a server had to answer
    }
    if bounces { Sent::Bounced(number) } else { Sent::Delivered(number) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(4);

    // All goes well. One thread queues, and this one reads meanwhile. The batch ends when the spawner has been dropped
    // and every result has been read.
    let mut batch = pool.batch();
    let spawner = batch.spawner();
    let producer = thread::spawn(move || {
        for number in 0..10 {
            spawner.spawn(move || send_email(number, false))?;
        }
        Ok::<(), formic::Error>(())
    });
    let mut delivered = 0;
    for (index, outcome) in batch.indexed() {
        println!("e-mail {index}: {:?}", outcome?);
        delivered += 1;
    }
    assert_eq!(delivered, 10);
    producer.join().expect("it does not panic")?;

    // The first one bounces, and we give up: what is queued never runs, what runs is asked to stop.
    let mut batch = pool.batch();
    for number in 0..10 {
        batch.spawn(move || send_email(number, number == 0))?;
    }
    let (mut bounced, mut delivered, mut stopped, mut never_begun) = (0, 0, 0, 0);
    while let Some(outcome) = batch.next() {
        match outcome {
            Ok(Sent::Bounced(number)) => {
                println!("e-mail {number} has bounced: the batch is cancelled");
                batch.cancel();
                bounced += 1;
            }
            Ok(Sent::Delivered(_)) => delivered += 1,
            Ok(Sent::Stopped(_)) => stopped += 1,
            Err(JoinError::Cancelled) => never_begun += 1,
            Err(other) => return Err(other.into()),
        }
    }
    println!("{delivered} delivered, {stopped} stopped half-way, {never_begun} never begun");
    assert_eq!(bounced, 1);
    assert_eq!(delivered + stopped + never_begun, 9);
    pool.drain()?;
    Ok(())
}
