//! Verbs that every pool of futures and every `Multi` of them has beside `submit` and `spawn`, from outside.

use formic::{AsyncFnPool, AsyncPool, Batch, JoinError, JoinHandle, Multi, Refused, SubmitError};
use futures_util::{FutureExt, StreamExt};

use super::async_pool::unheard;
use crate::async_errand::{AsyncErrand, Site};
use crate::books::{give_up, take_back, unclear_while};
use crate::random::Random;

/// Why a call may come back that waits, and whose wait has an end.
const WAITED: [Refused; 5] =
    [Refused::Closed, Refused::Full, Refused::TimedOut, Refused::RuntimeGone, Refused::NoRuntime];

fn came_back<F>(error: SubmitError<F>, site: &Site) {
    site.note(Err(error.reason()), &WAITED);
    match error.reason() {
        // The pool was not asked, or the future that waited was dropped: it has refused nothing.
        Refused::NoRuntime | Refused::TimedOut => give_up(error.into_task()),
        _ => take_back(error.into_task()),
    }
}

fn submitted<F>(answer: Result<(), SubmitError<F>>, site: &Site) {
    if let Err(error) = answer {
        came_back(error, site);
    }
}

async fn spawned(handle: JoinHandle<u64>, number: usize, site: &Site) {
    site.books.outcome(number, handle.await.as_ref().copied());
}

/// An outcome whose task is known only if it returned.
fn heard(outcome: &Result<u64, JoinError>, site: &Site) {
    if let Ok(number) = outcome {
        site.books.outcome(*number as usize, Ok(*number));
    }
}

/// Reads a batch of so many tasks in some way.
async fn read<P>(mut batch: Batch<u64, P>, tasks: usize, site: &Site, random: &mut Random)
where
    P: Send + 'static,
{
    // What is left of it may be cancelled while it runs.
    (0..tasks).for_each(|_| site.note_halt());
    if random.once_in(4) {
        batch.cancel();
    }
    let read = match random.below(5) {
        0 => return drop(batch),
        1 => return drop(batch.cancel_on_drop()),
        2 => {
            let first = batch.first_returned_async().await;
            return first.iter().for_each(|number| heard(&Ok(*number), site));
        }
        3 => batch.into_stream().inspect(|outcome| heard(outcome, site)).count().await,
        _ => batch.join_all_async().await.iter().inspect(|outcome| heard(outcome, site)).count(),
    };
    if read != tasks {
        site.books.fault(format!("a batch of {tasks} had {read} outcomes"));
    }
}

/// Makes the verbs of one kind of pool. `$submit` makes of an errand what has no handle, and `$spawn` what has one.
macro_rules! verbs {
    ($any:ident, $pool:ty, $submit:expr, $spawn:expr) => {
        pub(super) async fn $any(pool: &$pool, site: &Site, random: &mut Random) {
            let Some(errand) = site.errand(random) else { return };
            match random.below(7) {
                0 => {
                    let waiting = pool.submit_timeout($submit(errand), random.micros(300));
                    submitted(unclear_while(waiting).await, site);
                }
                1 => submitted(pool.submit_async($submit(errand)).await, site),
                2 => {
                    // Given up while it waits: neither accepted nor refused.
                    let mut waiting = Box::pin(pool.submit_async($submit(errand)));
                    if let Some(answer) = waiting.as_mut().now_or_never() {
                        submitted(answer, site);
                    }
                    give_up(waiting);
                }
                3 => match pool.admit().await {
                    Ok(permit) => permit.into_owned().submit($submit(errand)),
                    Err(refused) => {
                        give_up(errand);
                        site.books.turned_away(refused, &WAITED);
                    }
                },
                4 => {
                    let (mut batch, mut tasks) = (pool.batch(), 0);
                    match batch.try_spawn($spawn(errand)) {
                        Ok(_) => tasks += 1,
                        Err(error) => came_back(error, site),
                    }
                    for _ in 0..random.below(5) {
                        let Some(errand) = site.errand(random) else { break };
                        match batch.spawn($spawn(errand)).await {
                            Ok(_) => tasks += 1,
                            Err(error) => came_back(error, site),
                        }
                    }
                    read(batch, tasks, site, random).await;
                }
                way => {
                    give_up(errand);
                    let most = random.within(1, 6);
                    let permits: Result<Vec<_>, _> = match way {
                        5 => pool.admit_many(most).await.map(Iterator::collect),
                        _ => pool.try_admit_many(most).map(Iterator::collect),
                    };
                    match permits {
                        Err(refused) => site.books.turned_away(refused, &WAITED),
                        Ok(permits) if permits.is_empty() || permits.len() > most => {
                            site.books.fault(format!("{} permits of {most}", permits.len()));
                        }
                        Ok(permits) => {
                            for permit in permits {
                                let Some(errand) = site.errand(random) else { return };
                                let number = errand.number();
                                match random.below(3) {
                                    0 => permit.submit($submit(errand)),
                                    1 => spawned(permit.spawn($spawn(errand)), number, site).await,
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

verbs!(pool, AsyncPool, unheard, AsyncErrand::run);
verbs!(multi, Multi<AsyncPool>, unheard, AsyncErrand::run);
verbs!(fn_pool, AsyncFnPool<AsyncErrand, u64>, std::convert::identity, std::convert::identity);
verbs!(
    multi_fn,
    Multi<AsyncFnPool<AsyncErrand, u64>>,
    std::convert::identity,
    std::convert::identity
);
