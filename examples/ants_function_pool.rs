//! ants' function pool: one function, a thousand arguments, and nothing is allocated for any of them.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use formic::FnPool;

fn main() -> Result<(), Box<dyn Error>> {
    let sum = Arc::new(AtomicU64::new(0));
    let pool = FnPool::new(10, {
        let sum = Arc::clone(&sum);
        move |number: u64| {
            sum.fetch_add(number, Ordering::Relaxed);
        }
    });

    for number in 0..1000 {
        pool.submit(number)?;
    }
    pool.wait_idle()?;

    println!("{} of {} workers were needed", pool.workers(), pool.capacity());
    println!("0 + 1 + .. + 999 = {}", sum.load(Ordering::Relaxed));
    assert_eq!(sum.load(Ordering::Relaxed), 499_500);
    assert!(pool.workers() <= 10);

    // A function may also return something; then no shared sum is needed.
    let squares = FnPool::new(10, |number: u64| number * number);
    let handles: Vec<_> =
        (0..1000).map(|number| squares.spawn(number)).collect::<Result<_, _>>()?;
    let mut sum = 0;
    for handle in handles {
        sum += handle.join()?;
    }
    println!("0² + 1² + .. + 999² = {sum}");
    assert_eq!(sum, 332_833_500);
    Ok(())
}
