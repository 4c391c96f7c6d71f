//! A pool that grows and shrinks by how full its queue is, printing how many workers it has.
//!
//! ```sh
//! cargo run --example growth_by_load
//! ```

use std::error::Error;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use formic::{Growth, Pool};

const WORKERS: usize = 7;
const QUEUE: usize = 10;

/// Prints the figures whenever the number of workers has changed.
struct Watch {
    pool: Pool,
    seen: Vec<usize>,
}

impl Watch {
    fn look(&mut self) {
        let stats = self.pool.stats();
        if self.seen.last() != Some(&stats.workers) {
            let (queued, busy) = (stats.queued, stats.busy);
            println!("{} workers: {busy} busy, {queued} of {QUEUE} queued", stats.workers);
            self.seen.push(stats.workers);
        }
    }
}

/// A task that runs until somebody sends a word.
fn patient(words: &Arc<Mutex<Receiver<()>>>) -> impl FnOnce() + Send + 'static {
    let words = Arc::clone(words);
    move || {
        let word = words.lock().map(|words| words.recv());
        drop(word);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::builder()
        .workers(WORKERS)
        .queue(QUEUE)
        .growth(Growth::by_load(2, 0.5, 0.2))
        .build()?;
    let mut watch = Watch { pool: pool.clone(), seen: Vec::new() };
    let (send, words): (Sender<()>, _) = mpsc::channel();
    let words = Arc::new(Mutex::new(words));

    watch.look();
    println!("-- tasks come in that take their time");
    for _ in 0..WORKERS + QUEUE {
        pool.submit(patient(&words))?;
        watch.look();
    }
    assert_eq!(watch.seen, [0, 1, 3, 5, 7], "by two, while more than five are queued");

    while pool.busy() < WORKERS {
        thread::yield_now(); // until the last one started has a task
    }

    println!("-- they end, one by one");
    for ended in 1..=WORKERS + QUEUE {
        send.send(())?;
        // Whoever finds the queue empty goes, unless it is the last.
        let left = WORKERS.saturating_sub(ended.saturating_sub(QUEUE)).max(1);
        while pool.stats().completed < ended as u64 || pool.workers() > left {
            thread::yield_now();
        }
        watch.look();
    }
    assert_eq!(watch.seen.last(), Some(&1), "the last one stays until it expires");

    pool.drain()?;
    watch.look();
    assert_eq!(pool.stats().completed, (WORKERS + QUEUE) as u64);
    Ok(())
}
