//! Batches of a `Pool` that one thread fills while another reads, from outside or inside of the pool.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use formic::{Batch, BatchSpawner, JoinError, Pool, Refused};
use pollster::block_on;

use crate::books::{Books, drop_unclear};
use crate::errand::Errand;
use crate::host::{AT_ONCE, Host, give_back};
use crate::random::Random;

/// Fills a batch on a thread of its own, and reads it here in some way.
pub(super) fn any(
    pool: &Pool,
    host: &Arc<dyn Host>,
    books: &Arc<Books>,
    depth: usize,
    random: &mut Random,
) {
    let errand = |random: &mut Random| Errand::any(books, host, depth, random);
    let errands: Vec<_> = (0..random.within(1, 10)).map_while(|_| errand(random)).collect();
    let mut batch = pool.batch();
    let spawners = [batch.spawner(), batch.spawner()];
    if random.once_in(4) {
        batch = batch.cancel_on_drop();
    }
    thread::scope(|scope| {
        let filling = scope.spawn(move || fill(errands, &spawners, books));
        let heard = read(batch, books, random);
        let spawned = filling.join().unwrap_or(0);
        if heard.is_some_and(|heard| heard != spawned) {
            books.fault(format!("a batch of {spawned} had {heard:?} outcomes"));
        }
    });
}

/// Never waits for a place: the reader may hold the only one. How many tasks were accepted.
fn fill(errands: Vec<Errand>, spawners: &[BatchSpawner<u64>; 2], books: &Books) -> usize {
    let mut spawned = 0;
    for (errand, spawner) in errands.into_iter().zip(spawners.iter().cycle()) {
        match spawner.try_spawn(move || errand.run()) {
            Ok(_) => spawned += 1,
            // The pool has not heard of it.
            Err(error) if error.reason() == Refused::BatchGone => drop_unclear(error.into_task()),
            Err(error) => books.refused(give_back(error), &AT_ONCE),
        }
    }
    spawned
}

/// How many outcomes there were, if all were read.
fn read(mut batch: Batch<u64>, books: &Books, random: &mut Random) -> Option<usize> {
    let hear = |outcome: &Result<u64, JoinError>| {
        if let Ok(number) = outcome {
            books.outcome(*number as usize, Ok(*number));
        }
    };
    if random.once_in(4) {
        batch.cancel();
    }
    match random.below(6) {
        0 => {
            batch.try_next().iter().for_each(hear);
            None
        }
        1 => {
            batch.first_returned().iter().for_each(|number| hear(&Ok(*number)));
            None
        }
        2 => Some(batch.indexed().inspect(|(_, outcome)| hear(outcome)).count()),
        3 => Some(block_on(batch.join_all_async()).iter().inspect(|outcome| hear(outcome)).count()),
        4 => loop {
            if let Some(all) = batch.join_all_timeout(Duration::from_micros(50)) {
                break Some(all.iter().inspect(|outcome| hear(outcome)).count());
            }
        },
        _ => Some(batch.inspect(hear).count()),
    }
}
