//! A worker process that is told to stop: at SIGTERM or Ctrl-C it accepts no more, gives what was accepted some
//! time, then stops what is left, and says by its exit code how that went.
//!
//! With `--demo` it sends the signal to itself.

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use formic::{Pool, Refused};

/// How long accepted jobs may take at the end. An orchestrator that kills after 30 seconds leaves room for it.
const GRACE: Duration = Duration::from_secs(20);

/// Stops the pool, and returns the exit code: 0 if every accepted job has run, 1 if some were dropped, 2 if some still run.
fn stop(pool: &Pool, grace: Duration) -> u8 {
    match pool.shutdown(grace) {
        Ok(()) => u8::from(pool.stats().cancelled > 0),
        Err(left) => {
            println!("after {grace:?}: {left}; the process ends with them");
            2
        }
    }
}

/// Submits jobs until the pool refuses them.
fn produce(pool: &Pool, done: &Arc<AtomicUsize>) -> usize {
    for accepted in 0.. {
        let done = Arc::clone(done);
        let job = move || {
            thread::sleep(Duration::from_millis(2));
            done.fetch_add(1, Ordering::Relaxed);
        };
        match pool.submit(job) {
            Ok(()) => {}
            Err(error) if error.reason() == Refused::Closed => return accepted,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the loop has no end")
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let pool = Pool::builder().workers(4).queue(16).build()?;
    let (told, is_told) = mpsc::channel();
    ctrlc::set_handler(move || told.send(()).expect("main waits for it"))?;

    let done = Arc::new(AtomicUsize::new(0));
    let producer = thread::spawn({
        let (pool, done) = (pool.clone(), Arc::clone(&done));
        move || produce(&pool, &done)
    });
    println!("working; send SIGTERM to {}", std::process::id());
    if std::env::args().any(|argument| argument == "--demo") {
        while done.load(Ordering::Relaxed) < 20 {
            thread::yield_now();
        }
        Command::new("kill").arg(std::process::id().to_string()).status()?;
    }

    is_told.recv()?;
    println!("told to stop, with {} jobs in flight", pool.stats().busy + pool.stats().queued);
    let code = stop(&pool, GRACE);
    let accepted = producer.join().expect("the producer does not panic");
    let done = done.load(Ordering::Relaxed);
    println!("{accepted} jobs were accepted, {done} have run");
    assert!(code > 0 || accepted == done);
    Ok(ExitCode::from(code))
}
