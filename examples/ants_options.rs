//! ants' options: a panic handler, and idle workers that expire.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use formic::FnPool;

fn main() -> Result<(), Box<dyn Error>> {
    let sum = Arc::new(AtomicU64::new(0));
    let (panics, retired) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));

    let add = {
        let sum = Arc::clone(&sum);
        move |number: u64| {
            assert!(number % 250 != 7, "{number} is bad luck");
            sum.fetch_add(number, Ordering::Relaxed);
        }
    };
    let on_panic = {
        let panics = Arc::clone(&panics);
        move |panic: &formic::TaskPanic| {
            println!("the hook was told: {panic}");
            panics.fetch_add(1, Ordering::Relaxed);
        }
    };
    let on_stop = {
        let retired = Arc::clone(&retired);
        move |_| {
            retired.fetch_add(1, Ordering::Relaxed);
        }
    };

    let pool = FnPool::builder()
        .workers(10)
        .prestart(10) // ants calls it warm-up
        .keep_alive(Duration::from_millis(50)) // ExpiryDuration
        .on_panic(on_panic) // PanicHandler
        .on_worker_stop(on_stop)
        .name("adder")
        .build(add)?;
    println!("{} workers are there before the first task", pool.workers());

    // 7, 257, 507 and 757 panic. Rust prints that to the standard error, and the pool goes on.
    for number in 0..1000 {
        pool.submit(number)?;
    }
    pool.wait_idle()?;
    assert_eq!(panics.load(Ordering::Relaxed), 4);
    assert_eq!(sum.load(Ordering::Relaxed), 499_500 - (7 + 257 + 507 + 757));
    println!("the sum without them is {}", sum.load(Ordering::Relaxed));

    // No task comes, so all workers go. No other thread looks after them: each times itself.
    while pool.workers() > 0 {
        thread::sleep(Duration::from_millis(10));
    }
    println!("{} workers have retired, none is left", retired.load(Ordering::Relaxed));
    assert_eq!(retired.load(Ordering::Relaxed), 10);

    // The next task starts one again.
    pool.submit(500)?;
    pool.wait_idle()?;
    println!("and for the next task there is one again: {:?}", pool.stats());
    assert_eq!(pool.stats().completed, 997);
    Ok(())
}
