//! Five eaters and three seats: a semaphore bounds what the number of workers does not.
//!
//! ```sh
//! cargo run --example semaphore
//! ```

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use formic::{Pool, Semaphore};

const EATERS: usize = 5;
const SEATS: usize = 3;
const MEALS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let (pool, seats) = (Pool::new(EATERS), Semaphore::new(SEATS));
    let (seated, most, meals) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));

    // Each eater is a task of its own. While it waits for a seat it blocks its worker, which is
    // fine here: there is a worker for each of them.
    pool.scope(|scope| {
        for eater in 0..EATERS {
            let (seats, seated, most, meals) = (&seats, &seated, &most, &meals);
            let eats = move || {
                for _ in 0..MEALS {
                    let Ok(seat) = seats.acquire(1) else { return };
                    let now = seated.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    println!("eater {eater} sits down: {now} of {SEATS} seats are taken");
                    thread::sleep(Duration::from_millis(5));
                    meals.fetch_add(1, Ordering::SeqCst);
                    seated.fetch_sub(1, Ordering::SeqCst);
                    drop(seat); // the next in the queue sits down
                }
            };
            scope.submit(eats);
        }
    });

    let (most, meals) = (most.into_inner(), meals.into_inner());
    println!("{meals} meals, and never more than {most} at the table");
    assert!(most <= SEATS, "a seat for each");
    assert_eq!(meals, EATERS * MEALS, "everybody has eaten");
    assert_eq!(seats.available(), SEATS, "every seat is free again");

    // Asking for a table that is too small for the party is an error, and nobody waits for it.
    println!("a party of five: {}", seats.acquire(EATERS).expect_err("five are more than three"));
    Ok(())
}
