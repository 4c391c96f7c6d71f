//! What is done to every pool of threads: many submit, one disturbs, and then it comes to an end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use formic::{BuildError, Control, PrestartError, Refused};
use futures_util::FutureExt;
use pollster::block_on;

use crate::books::Books;
use crate::floor::Floor;
use crate::host::{Host, act};
use crate::plan::{Ending, Kind, Plan};
use crate::random::Random;
use crate::watch::Watch;

/// A phase with one pool, which `build` makes.
pub(super) fn run(
    plan: &Plan,
    watch: &Watch,
    books: &Arc<Books>,
    build: impl FnOnce(&Arc<Floor>) -> Result<Arc<dyn Host>, BuildError>,
) {
    let floor = Floor::new(plan.settings.ceiling());
    match build(&floor) {
        Ok(host) => drive(plan, watch, books, host, &[floor]),
        Err(error) => books.fault(format!("the pool could not be built: {error}")),
    }
}

/// What every host of one pool has.
macro_rules! one_pool {
    () => {
        fn controls(&self) -> Vec<&Control> {
            vec![&self.pool]
        }

        fn stats(&self) -> Stats {
            self.pool.stats()
        }

        fn fair(&self) -> &[Refused] {
            self.settings.fair()
        }

        fn refuses_end_from_inside(&self) -> bool {
            is_from_inside(self.pool.drain(), self.pool.wait_idle())
        }
    };
}
pub(super) use one_pool;

/// Drives a pool, or shards with a floor each, through a phase and to its end.
pub(crate) fn drive(
    plan: &Plan,
    watch: &Watch,
    books: &Arc<Books>,
    host: Arc<dyn Host>,
    floors: &[Arc<Floor>],
) {
    let seen = Arc::downgrade(&host);
    watch.show(move || seen.upgrade().map(|host| format!("{:?}", all_stats(&*host))));
    let end = Instant::now() + plan.time;
    let over = || books.are_full() || Instant::now() >= end;
    thread::scope(|scope| {
        for number in 0..plan.threads {
            let (host, over) = (&host, &over);
            scope.spawn(move || {
                let mut random = Random::of(plan.seed, number as u64 + 1);
                while !over() {
                    act(host, books, &mut random);
                    watch.beat();
                }
            });
        }
        let mut random = Random::new(plan.seed);
        while plan.disturbed && !over() {
            let number = random.below(floors.len());
            disturb(plan, books, host.controls()[number], &floors[number], &mut random);
            thread::park_timeout(random.micros(500));
            watch.beat();
        }
    });
    finish(plan, books, host, floors);
}

/// Longer than any task of a soak takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn all_stats(host: &dyn Host) -> Vec<formic::Stats> {
    host.controls().into_iter().map(Control::stats).collect()
}

/// Whatever an owner may do to a pool while it is used.
pub(super) fn disturb(
    plan: &Plan,
    books: &Books,
    control: &Control,
    floor: &Floor,
    random: &mut Random,
) {
    if plan.entangled && random.below(4) > 0 {
        return close_for_a_while(control, random);
    }
    match random.below(20) {
        0..10 => resize(control, floor, plan.settings.another_capacity(random), books),
        10 => discard(control, books),
        11 => cancel_all(control, books),
        12..14 => prestart(control, random.within(1, 8), books),
        // Refused by a pool of futures.
        14 if random.once_in(3) => drop(control.set_keep_alive(random.micros(2000))),
        14 if random.once_in(2) => drop(control.set_queue(random.below(64))),
        14 if random.once_in(2) => {
            drop(control.set_minimum(random.below(plan.settings.minimum + 1)));
        }
        // Where no submitter is refused because of it, the number stays.
        14 if plan.kind != Kind::Global
            && plan.settings.fair_if_waiting().contains(&Refused::Full) =>
        {
            control.set_waiters(random.below(8));
        }
        14 => drop(control.wait_idle_async().now_or_never()),
        15 => drop(control.blocking_drain_timeout(random.micros(300))),
        16 => drop(control.drain_async().now_or_never()),
        17 => control.close(),
        18 => drained(control.blocking_drain(), floor, books),
        _ => drained(block_on(control.drain_async()), floor, books),
    }
    // One that is closed and not at its end stays so for a while.
    drop(control.reopen());
}

/// Closes one shard while the others go on, and opens it again.
fn close_for_a_while(control: &Control, random: &mut Random) {
    match random.below(3) {
        0 => control.close(),
        1 => drop(control.blocking_drain_timeout(random.micros(1000))),
        _ => drop(control.drain_async().now_or_never()),
    }
    thread::park_timeout(random.micros(2000));
    // A task that runs on keeps the shard closed until the next time.
    drop(control.reopen());
}

fn resize(control: &Control, floor: &Floor, to: usize, books: &Books) {
    let change = || match control.resize(to) {
        Ok(()) if control.capacity() == to => {}
        answer => books.fault(format!("a resize to {to}: {answer:?}, {:?}", control.stats())),
    };
    // Of futures, those that run count as workers.
    floor.resize(to, change, || control.stats().workers <= to);
}

fn discard(control: &Control, books: &Books) {
    books.discarded.fetch_add(control.discard() as u64, Ordering::SeqCst);
}

/// Queued tasks are dropped, and so are running futures. Running closures may hear of it.
fn cancel_all(control: &Control, books: &Books) {
    let cancelled = control.cancel_all();
    books.discarded.fetch_add(cancelled.queued as u64, Ordering::SeqCst);
    books.halts.fetch_add(cancelled.futures as u64, Ordering::SeqCst);
}

fn prestart(control: &Control, workers: usize, books: &Books) {
    if let Err(PrestartError::Thread(error)) = control.prestart(workers) {
        books.fault(format!("a thread could not be started: {error}"));
    }
}

/// After a drain no thread is left, not even one that drops its thread-locals.
fn drained(answer: Result<(), formic::StillRunning>, floor: &Floor, books: &Books) {
    if let Err(left) = answer {
        books.fault(format!("a drain from outside: {left:?}"));
    }
    if floor.threads() > 0 {
        books.fault(format!("{} threads are left after a drain", floor.threads()));
    }
}

fn finish(plan: &Plan, books: &Books, host: Arc<dyn Host>, floors: &[Arc<Floor>]) {
    if plan.ending == Ending::DropHandles {
        return drop(host);
    }
    let mut random = Random::of(plan.seed, 0);
    for (control, floor) in host.controls().into_iter().zip(floors) {
        end(plan.ending, control, floor, books, &mut random);
    }
    books.compare(host.stats());
    books.compare_discarded();
}

pub(super) fn end(
    ending: Ending,
    control: &Control,
    floor: &Floor,
    books: &Books,
    random: &mut Random,
) {
    match ending {
        Ending::DrainAsync => return drained(block_on(control.drain_async()), floor, books),
        Ending::Discard => discard(control, books),
        Ending::Shutdown => {
            cancel_all(control, books);
            let ended = if random.once_in(2) {
                control.blocking_shutdown(PATIENCE)
            } else {
                block_on(control.shutdown_async(PATIENCE))
            };
            return drained(ended, floor, books);
        }
        Ending::Deadlines => {
            let in_time =
                (0..5).any(|_| control.blocking_drain_timeout(random.micros(500)).is_ok());
            if !in_time {
                discard(control, books);
            }
        }
        _ => {}
    }
    drained(control.blocking_drain(), floor, books);
}
