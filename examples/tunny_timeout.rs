//! tunny's time limit: four callers, each waits for a second; who takes longer is asked to stop.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use formic::{CallError, FnPool};

/// The n-th Fibonacci number, the slow way; `None` if somebody has asked us to stop.
fn fib(n: u32) -> Option<u64> {
    match n {
        0 | 1 => Some(u64::from(n)),
        // Asked only now and then: the small numbers take no time.
        20.. if formic::is_cancelled() => None,
        _ => Some(fib(n - 1)? + fib(n - 2)?),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = FnPool::new(4, fib);
    let start = Instant::now();

    // Two of them are quick. The other two would take longer than anybody has.
    let outcomes = thread::scope(|threads| {
        let call = |n| {
            let pool = &pool;
            threads.spawn(move || (n, pool.call_timeout(n, Duration::from_secs(1))))
        };
        let callers = [10, 15, 90, 93].map(call);
        callers.map(|caller| caller.join().expect("it does not panic"))
    });

    let (mut results, mut too_slow) = (Vec::new(), Vec::new());
    for (n, outcome) in outcomes {
        match outcome {
            Ok(Some(number)) => {
                println!("fib({n}) = {number}");
                results.push(number);
            }
            Err(error @ CallError::TimedOut) => {
                println!("fib({n}): {error}");
                too_slow.push(n);
            }
            Ok(None) => unreachable!("nobody but the time limit cancels"),
            // If it had not started, the argument would come back.
            Err(other) => return Err(other.into()),
        }
    }
    assert_eq!(results, [55, 610]);
    assert_eq!(too_slow, [90, 93]);

    // The workers have heard of it: without that, this would take some thousand years.
    pool.drain()?;
    println!("all workers are free again, after {:?}", start.elapsed());
    assert_eq!(pool.stats().completed, 4);
    Ok(())
}
