//! ants' `Nonblocking` and `MaxBlockingTasks`: what a full pool does with one task too many.

use std::error::Error;
use std::sync::{Arc, RwLock};
use std::thread;

use formic::{Pool, Refused, WhenFull};

fn main() -> Result<(), Box<dyn Error>> {
    refused_at_once()?;
    only_two_may_wait()
}

/// Two workers, no queue: the third task comes back.
fn refused_at_once() -> Result<(), Box<dyn Error>> {
    let pool = Pool::builder().workers(2).queue(0).when_full(WhenFull::Refuse).build()?;
    let door = Arc::new(RwLock::new(()));
    let closed = door.write().expect("nobody panics with the door in hand");

    let task = |number: u32| {
        let door = Arc::clone(&door);
        move || {
            drop(door.read());
            println!("task {number} runs on {:?}", thread::current().name().unwrap_or("?"));
        }
    };
    pool.submit(task(1))?;
    pool.submit(task(2))?;
    // `try_submit` would refuse it whatever the pool is set to.
    let error = pool.submit(task(3)).expect_err("both places are taken");
    assert_eq!(error.reason(), Refused::Full);
    println!("task 3: {error}");

    drop(closed);
    let third = error.into_task();
    third(); // nothing is lost: we run it here
    pool.drain()?;
    assert_eq!(pool.stats().completed, 2);
    assert_eq!(pool.stats().refused, 1);
    Ok(())
}

/// Four workers, no queue, two may wait for a place: of eight submitters, two are sent away.
fn only_two_may_wait() -> Result<(), Box<dyn Error>> {
    let pool = Pool::builder().workers(4).queue(0).waiters(2).build()?;
    let door = Arc::new(RwLock::new(()));
    let closed = door.write().expect("nobody panics with the door in hand");

    let accepted = thread::scope(|threads| {
        let submit = || {
            let at_door = Arc::clone(&door);
            pool.submit(move || drop(at_door.read())).is_ok()
        };
        let submitters: Vec<_> = (0..8).map(|_| threads.spawn(submit)).collect();

        while pool.stats().refused < 2 || pool.waiting() < 2 {
            thread::yield_now();
        }
        let stats = pool.stats();
        println!("{} run, {} wait, {} were refused", stats.busy, stats.waiting, stats.refused);
        assert_eq!((stats.waiting, stats.refused), (2, 2));

        drop(closed);
        let joined = submitters.into_iter().map(|thread| thread.join().expect("it does not panic"));
        joined.filter(|accepted| *accepted).count()
    });
    assert_eq!(accepted, 6);
    pool.drain()?;
    assert_eq!(pool.stats().completed, 6);
    println!("six have run, and two threads know that theirs have not");
    Ok(())
}
