//! mortar: tasks with parameters, workers that stay, and a close that runs what was accepted.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use formic::{Pool, Refused};

/// What a task of mortar gets as its parameters, a closure simply captures.
type Line = (u32, u32, &'static str);

fn main() -> Result<(), Box<dyn Error>> {
    // Ten workers at most. Once started they stay until the pool is closed.
    let pool = Pool::builder().workers(10).keep_alive(None).build()?;
    let lines: Arc<Mutex<Vec<Line>>> = Arc::default();
    let write = |line: Line| {
        let lines = Arc::clone(&lines);
        move || lines.lock().unwrap_or_else(PoisonError::into_inner).push(line)
    };

    for number in 0..1000 {
        pool.submit(write((number, number * 2, "hello")))?;
    }
    pool.submit(write((1000, 0, "hi!")))?;

    // From here on nothing is accepted, and what was accepted is run.
    pool.close();
    let error = pool.submit(write((1001, 0, "too late"))).expect_err("the pool is closed");
    assert_eq!(error.reason(), Refused::Closed);
    println!("{error}");

    // Returns when all tasks have run and all threads have ended.
    pool.drain()?;
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    lines.sort_unstable();
    println!("{:?} .. {:?}: {} lines", lines[0], lines[1000], lines.len());
    assert_eq!(lines.len(), 1001);
    assert!(lines[..1000].iter().all(|(number, double, _)| number * 2 == *double));
    assert_eq!(pool.workers(), 0);
    Ok(())
}
