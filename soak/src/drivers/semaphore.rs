//! `Semaphore`: weights that come and go, held by threads.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use formic::{AcquireError, CancelToken, Semaphore, SemaphorePermit};
use futures_util::FutureExt;
use pollster::block_on;

use crate::books::Books;
use crate::floor::Floor;
use crate::plan::{Ending, Plan};
use crate::random::Random;
use crate::watch::Watch;

/// A phase with a semaphore. Its permits are no tasks, so the books hold only its faults.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let size = plan.settings.capacity;
    let (semaphore, floor) = (Semaphore::new(size), Floor::new(size));
    let seen = semaphore.clone();
    watch.show(move || Some(format!("{seen:?}")));
    let begun = Instant::now();
    let over = || begun.elapsed() >= plan.time;
    thread::scope(|scope| {
        for number in 0..plan.threads as u64 {
            let (semaphore, floor) = (&semaphore, &floor);
            scope.spawn(move || {
                let mut random = Random::of(plan.seed, number + 1);
                while !over() && !semaphore.is_closed() {
                    acquire(plan, semaphore, floor, books, &mut random);
                    watch.beat();
                }
            });
        }
        let mut random = Random::new(plan.seed);
        while !over() {
            if plan.disturbed {
                resize(&semaphore, &floor, random.within(1, 2 * size));
            }
            thread::park_timeout(random.micros(500));
            watch.beat();
        }
        if plan.ending == Ending::Discard {
            semaphore.close();
        }
    });
    if semaphore.available() != semaphore.size() || semaphore.waiting() > 0 || floor.used() > 0 {
        books.fault(format!("nobody is left, and {semaphore:?}"));
    }
}

fn resize(semaphore: &Semaphore, floor: &Floor, to: usize) {
    // Something is free only if no more than the size is held.
    floor.resize(to, || semaphore.resize(to), || semaphore.available() > 0);
}

fn acquire(
    plan: &Plan,
    semaphore: &Semaphore,
    floor: &Arc<Floor>,
    books: &Books,
    random: &mut Random,
) {
    let weight = random.within(0, plan.settings.capacity + 1);
    if random.once_in(8) {
        // The permit outlives the reference to the semaphore.
        return match block_on(semaphore.acquire_owned_async(weight)) {
            Ok(permit) => {
                let entered = floor.enter(permit.weight(), books);
                drop(entered);
            }
            Err(AcquireError::Closed) if plan.ending != Ending::Discard => {
                books.fault("an open semaphore said that it is closed");
            }
            Err(_) => {}
        };
    }
    let token = CancelToken::new();
    if random.once_in(2) {
        token.cancel();
    }
    let permit = match random.below(7) {
        6 => semaphore.acquire_unless(&token, weight),
        0 => semaphore.try_acquire(weight),
        1 => semaphore.acquire_timeout(weight, random.micros(300)),
        2 => block_on(semaphore.acquire_async(weight)),
        3 => match semaphore.acquire_async(weight).now_or_never() {
            Some(permit) => permit,
            None => return,
        },
        _ => semaphore.acquire(weight),
    };
    match permit {
        Ok(permit) => hold(permit, weight, floor, books, random),
        Err(AcquireError::Closed) if plan.ending != Ending::Discard => {
            books.fault("an open semaphore said that it is closed");
        }
        Err(_) => {}
    }
}

fn hold(
    permit: SemaphorePermit<'_>,
    weight: usize,
    floor: &Arc<Floor>,
    books: &Books,
    random: &mut Random,
) {
    if permit.weight() != weight {
        books.fault(format!("{weight} were asked for, {} granted", permit.weight()));
    }
    let entered = floor.enter(weight, books);
    if random.once_in(10) {
        thread::park_timeout(random.micros(100));
    }
    // It is counted for no longer than it is held.
    drop(entered);
    if random.once_in(2) { drop(permit.into_owned()) } else { drop(permit) }
}
