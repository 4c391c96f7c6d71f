//! The bounded channel with a fixed number of consumers and a `WaitGroup`, in one call.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::Pool;

fn main() -> Result<(), Box<dyn Error>> {
    // Ten consumers and a channel of five.
    let pool = Pool::builder().workers(10).queue(5).build()?;

    // Numbers are made only as fast as they are consumed: never more than fifteen are under way.
    let (made, consumed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (most, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let numbers = (0..1000_usize).inspect(|_| {
        let under_way = made.fetch_add(1, Ordering::SeqCst) + 1 - consumed.load(Ordering::SeqCst);
        most.fetch_max(under_way, Ordering::SeqCst);
    });
    // It borrows all of them, and returns when the last number has been consumed: there is no
    // channel to close and no group to wait for.
    pool.for_each(numbers, |number| {
        sum.fetch_add(number, Ordering::SeqCst);
        consumed.fetch_add(1, Ordering::SeqCst);
    })?;
    let (sum, most) = (sum.into_inner(), most.load(Ordering::SeqCst));
    println!("the sum is {sum}; at most {most} numbers were under way at once");
    assert_eq!(sum, 499_500);
    assert!(most <= 15);

    // The same with results. They come in the order of the input, and the input may be endless.
    let is_prime = |n: u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    let primes: Vec<u64> = pool
        .map(1.., move |n| is_prime(n).then_some(n))
        .filter_map(|outcome| outcome.expect("no number makes it panic"))
        .take(10)
        .collect();
    println!("the first primes are {primes:?}");
    assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    Ok(())
}
