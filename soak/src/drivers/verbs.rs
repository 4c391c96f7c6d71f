//! Verbs that every pool of threads and every `Multi` of them has beside `submit` and `spawn`, from outside.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use formic::{
    Batch, BatchError, CancelToken, FnPool, JoinError, JoinHandle, Multi, Pool, Refused,
    SubmitError,
};
use futures_util::{FutureExt, StreamExt};
use pollster::block_on;

use crate::books::{Books, give_up, take_back};
use crate::errand::Errand;
use crate::host::treat;
use crate::random::Random;

/// Why a call may come back that waits, and whose wait has an end.
const WAITED: [Refused; 4] =
    [Refused::Closed, Refused::Full, Refused::TimedOut, Refused::Cancelled];

/// A task that was spawned on its own, whose number is known.
fn spawned<F>(
    answer: Result<JoinHandle<u64>, SubmitError<F>>,
    number: usize,
    books: &Books,
    random: &mut Random,
) {
    match answer {
        Ok(handle) => treat(handle, number, books, random),
        Err(error) => came_back(error, books),
    }
}

fn submitted<F>(answer: Result<(), SubmitError<F>>, books: &Books) {
    if let Err(error) = answer {
        came_back(error, books);
    }
}

fn came_back<F>(error: SubmitError<F>, books: &Books) {
    books.refused(error.reason(), &WAITED);
    match error.reason() {
        // A wait that was called off was given up: the pool has refused nothing.
        Refused::Cancelled => give_up(error.into_task()),
        _ => take_back(error.into_task()),
    }
}

/// A token that is cancelled before the call, during it, or never, by a thread that lives as long as `call` takes.
fn with_token<T>(random: &mut Random, call: impl FnOnce(&CancelToken) -> T) -> T {
    let (token, wait) = (CancelToken::new(), random.micros(200));
    if random.once_in(4) {
        token.cancel();
    }
    thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            thread::park_timeout(wait);
            token.cancel();
        });
        let answer = call(&token);
        canceller.thread().unpark();
        answer
    })
}

/// An outcome whose task is known only if it returned.
fn heard(outcome: &Result<u64, JoinError>, books: &Books) {
    if let Ok(number) = outcome {
        books.outcome(*number as usize, Ok(*number));
    }
}

/// Reads a batch of so many tasks in some way.
fn read<P>(mut batch: Batch<u64, P>, tasks: usize, books: &Books, random: &mut Random) {
    if random.once_in(4) {
        batch.cancel();
    }
    let read = match random.below(7) {
        0 => return drop(batch),
        1 => return drop(batch.cancel_on_drop()),
        2 => {
            batch.first_returned().iter().for_each(|number| heard(&Ok(*number), books));
            return;
        }
        3 => batch.join_all().iter().inspect(|outcome| heard(outcome, books)).count(),
        4 => loop {
            if let Some(all) = batch.join_all_timeout(Duration::from_micros(50)) {
                break all.iter().inspect(|outcome| heard(outcome, books)).count();
            }
        },
        5 => block_on(batch.into_stream().inspect(|outcome| heard(outcome, books)).count()),
        _ => batch.inspect(|outcome| heard(outcome, books)).count(),
    };
    if read != tasks {
        books.fault(format!("a batch of {tasks} had {read} outcomes"));
    }
}

/// Makes the verbs of one kind of pool. `$submit` makes of an errand what has no handle, and `$spawn` what has one.
macro_rules! verbs {
    ($any:ident, $pool:ty, $submit:expr, $spawn:expr) => {
        pub(super) fn $any(pool: &$pool, books: &Arc<Books>, random: &mut Random) {
            let Some(errand) = Errand::alone(books, random) else { return };
            let number = errand.number();
            match random.below(10) {
                0 => submitted(pool.submit_timeout($submit(errand), random.micros(300)), books),
                1 => {
                    let task = $submit(errand);
                    submitted(with_token(random, |token| pool.submit_unless(token, task)), books);
                }
                2 => submitted(block_on(pool.submit_async($submit(errand))), books),
                3 => spawned(block_on(pool.spawn_async($spawn(errand))), number, books, random),
                4 => {
                    // Given up while it waits: neither accepted nor refused.
                    let mut waiting = Box::pin(pool.spawn_async($spawn(errand)));
                    if let Some(answer) = waiting.as_mut().now_or_never() {
                        spawned(answer, number, books, random);
                    }
                    give_up(waiting);
                }
                5 => match with_token(random, |token| pool.admit_unless(token)) {
                    Ok(permit) => {
                        // A permit may be kept, and used by another thread.
                        let (permit, task) = (permit.into_owned(), $submit(errand));
                        thread::scope(|scope| {
                            drop(scope.spawn(move || permit.submit(task)).join())
                        });
                    }
                    Err(refused) => {
                        give_up(errand);
                        if refused != Refused::Cancelled {
                            books.turned_away(refused, &WAITED);
                        }
                    }
                },
                6 => {
                    let mut batch = pool.batch();
                    let mut tasks = usize::from(batch.try_spawn($spawn(errand)).map_or_else(
                        |error| {
                            came_back(error, books);
                            false
                        },
                        |_| true,
                    ));
                    for _ in 0..random.below(5) {
                        let Some(errand) = Errand::alone(books, random) else { break };
                        match batch.spawn($spawn(errand)) {
                            Ok(_) => tasks += 1,
                            Err(error) => came_back(error, books),
                        }
                    }
                    read(batch, tasks, books, random);
                }
                way => {
                    give_up(errand);
                    let most = random.within(1, 6);
                    let permits = match way {
                        7 => pool.admit_many(most).map(Iterator::collect::<Vec<_>>),
                        8 => pool.try_admit_many(most).map(Iterator::collect),
                        _ => block_on(pool.admit_many_async(most)).map(Iterator::collect),
                    };
                    match permits {
                        Err(refused) => books.turned_away(refused, &WAITED),
                        Ok(permits) if permits.is_empty() || permits.len() > most => {
                            books.fault(format!("{} permits of {most}", permits.len()));
                        }
                        Ok(permits) => {
                            for permit in permits {
                                let Some(errand) = Errand::alone(books, random) else { return };
                                let number = errand.number();
                                match random.below(3) {
                                    0 => permit.submit($submit(errand)),
                                    1 => treat(permit.spawn($spawn(errand)), number, books, random),
                                    _ => {
                                        drop(permit);
                                        give_up(errand);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
}

verbs!(pool, Pool, unheard, returns);
verbs!(fn_pool, FnPool<Errand, u64>, std::convert::identity, std::convert::identity);
verbs!(multi, Multi<Pool>, unheard, returns);
verbs!(multi_fn, Multi<FnPool<Errand, u64>>, std::convert::identity, std::convert::identity);

fn unheard(errand: Errand) -> impl FnOnce() + Send + 'static {
    move || _ = errand.run()
}

fn returns(errand: Errand) -> impl FnOnce() -> u64 + Send + 'static {
    move || errand.run()
}

/// A batch of tasks that may fail: at most one value or one error is kept, and nothing is left behind.
pub(super) fn results(pool: &Pool, books: &Arc<Books>, random: &mut Random) {
    let mut batch = pool.batch::<Result<u64, u64>>();
    let mut tasks = 0;
    for _ in 0..random.within(1, 8) {
        let Some(errand) = Errand::alone(books, random) else { break };
        let fails = random.once_in(3);
        match batch.try_spawn(move || if fails { Err(errand.run()) } else { Ok(errand.run()) }) {
            Ok(_) => tasks += 1,
            Err(error) => came_back(error, books),
        }
    }
    let failed = |error: &BatchError<u64>| {
        if let BatchError::Failed { error, .. } = error {
            books.outcome(*error as usize, Ok(*error));
        }
    };
    match random.below(4) {
        0 => match batch.first_success() {
            Ok(number) => books.outcome(number as usize, Ok(number)),
            Err(errors) if errors.len() == tasks => errors.iter().for_each(failed),
            Err(errors) => books.fault(format!("{} errors of {tasks} tasks", errors.len())),
        },
        1 => match block_on(batch.first_success_async()) {
            Ok(number) => books.outcome(number as usize, Ok(number)),
            Err(errors) => errors.iter().for_each(failed),
        },
        way => {
            let all =
                if way == 2 { batch.try_join_all() } else { block_on(batch.try_join_all_async()) };
            match all {
                Ok(numbers) if numbers.len() == tasks => {
                    numbers
                        .into_iter()
                        .for_each(|number| books.outcome(number as usize, Ok(number)));
                }
                Ok(numbers) => books.fault(format!("{} values of {tasks} tasks", numbers.len())),
                Err(error) => failed(&error),
            }
        }
    }
}
