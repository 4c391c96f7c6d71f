//! Everything at once, with books of its own: every task ran once, came back, or was discarded.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Census, Random, block_on, poll_once, stress_time};
use formic::{Pool, Refused, Stats, SubmitError};

/// What became of the tasks, as their owners saw it.
#[derive(Default)]
struct Books {
    made: AtomicU64,
    completed: AtomicU64,
    panicked: AtomicU64,
    /// Refused, and dropped by its owner.
    returned: AtomicU64,
    /// Dropped without having been run or returned.
    dropped: AtomicU64,
    /// A permit that was refused; there was no task yet.
    turned_away: AtomicU64,
    /// What `discard` said.
    discarded: AtomicU64,
    /// A task that ran or ended twice.
    twice: AtomicU64,
    bad_figures: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::SeqCst);
}

/// A task's entry in the books.
struct Ticket {
    books: Arc<Books>,
    settled: AtomicBool,
}

impl Ticket {
    fn new(books: &Arc<Books>) -> Self {
        add(&books.made);
        Ticket { books: Arc::clone(books), settled: AtomicBool::new(false) }
    }

    fn settle(&self, as_what: &AtomicU64) {
        add(as_what);
        if self.settled.swap(true, Ordering::SeqCst) {
            add(&self.books.twice);
        }
    }
}

thread_local! {
    /// This thread drops a task that was refused.
    static TAKING_BACK: Cell<bool> = const { Cell::new(false) };
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.settled.load(Ordering::SeqCst) {
            let taken_back = TAKING_BACK.get();
            self.settle(if taken_back { &self.books.returned } else { &self.books.dropped });
        }
    }
}

/// What a task does.
struct Errand {
    ticket: Ticket,
    kind: u64,
}

impl Errand {
    fn new(books: &Arc<Books>, random: &mut Random) -> Self {
        Errand { ticket: Ticket::new(books), kind: random.below(1000) }
    }

    fn run(self) {
        match self.kind {
            0..800 => {}
            800..900 => thread::yield_now(),
            900..980 => (0..1000).for_each(|_| std::hint::spin_loop()),
            980..985 => thread::park_timeout(Duration::from_micros(100)),
            _ => {
                self.ticket.settle(&self.ticket.books.panicked);
                // Unwinds without the message that a panic prints.
                resume_unwind(Box::new("an errand that fails"));
            }
        }
        self.ticket.settle(&self.ticket.books.completed);
    }
}

/// One who submits in every way there is.
fn submit_any(pool: &Pool, books: &Arc<Books>, random: &mut Random) {
    let permit = match random.below(6) {
        way @ 0..=2 => {
            let errand = Errand::new(books, random);
            return if way == 0 { try_now(pool, errand) } else { submit(pool, errand) };
        }
        3 => pool.admit_timeout(Duration::from_micros(random.below(200))),
        4 => block_on(pool.admit_async()),
        _ => match poll_once(pin!(pool.admit_async())) {
            Poll::Ready(permit) => permit,
            // Given up: neither accepted nor refused.
            Poll::Pending => return,
        },
    };
    match permit {
        Ok(permit) if random.below(10) == 0 => drop(permit),
        Ok(permit) => {
            let errand = Errand::new(books, random);
            permit.submit(move || errand.run());
        }
        Err(_) => add(&books.turned_away),
    }
}

fn submit(pool: &Pool, errand: Errand) {
    let Err(error) = pool.submit(move || errand.run()) else {
        return;
    };
    assert_eq!(error.reason(), Refused::Closed);
    take_back(error);
}

fn try_now(pool: &Pool, errand: Errand) {
    let Err(error) = pool.try_submit(move || errand.run()) else {
        return;
    };
    assert!([Refused::Closed, Refused::Full].contains(&error.reason()));
    take_back(error);
}

fn take_back<F>(error: SubmitError<F>) {
    TAKING_BACK.set(true);
    drop(error.into_task());
    TAKING_BACK.set(false);
}

/// Whatever an owner may do to a pool while it is used.
fn disturb(pool: &Pool, books: &Books, random: &mut Random) {
    match random.below(20) {
        0..=9 => pool.resize(1 + random.below(6) as usize).expect("a good capacity"),
        10..=12 => _ = books.discarded.fetch_add(pool.discard() as u64, Ordering::SeqCst),
        13..=14 => pool.prestart(1).unwrap_or_default(),
        // To wait for it could take as long as the submitters go on.
        15 => drop(poll_once(pin!(pool.wait_idle_async()))),
        16 => drop(pool.drain_timeout(Duration::from_micros(random.below(300)))),
        17 => drop(poll_once(pin!(pool.drain_async()))),
        18 => pool.drain().expect("this is no task"),
        _ => block_on(pool.drain_async()).expect("this is no task"),
    }
    // A pool that is closed and not at its end stays so for a while; then it is drained above.
    drop(pool.reopen());
    thread::park_timeout(Duration::from_micros(random.below(300)));
}

fn check(stats: Stats, books: &Books) {
    if !stats.adds_up() || stats.workers > 6 || stats.busy > 6 {
        add(&books.bad_figures);
    }
}

fn compare(books: &Books, stats: Stats) {
    let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    println!("{} tasks, {stats:?}", read(&books.made));
    assert_eq!(read(&books.twice), 0, "a task ended twice");
    assert_eq!(read(&books.bad_figures), 0, "the figures did not add up at some instant");
    let ended = read(&books.completed) + read(&books.panicked) + read(&books.dropped);
    assert_eq!(read(&books.made), ended + read(&books.returned), "a task was lost");
    assert_eq!(stats.accepted, ended);
    assert_eq!(stats.completed, read(&books.completed));
    assert_eq!(stats.panicked, read(&books.panicked));
    assert_eq!(stats.cancelled, read(&books.dropped));
    assert_eq!(stats.cancelled, read(&books.discarded));
    assert_eq!(stats.refused, read(&books.returned) + read(&books.turned_away));
    assert_eq!((stats.queued, stats.busy, stats.workers, stats.waiting), (0, 0, 0, 0));
}

fn mix_everything(test: &str, queue: usize, keep_alive: Duration) {
    let seed = common::seed(test);
    let census = Census::default();
    let pool = Pool::builder().workers(6).queue(queue).keep_alive(keep_alive);
    let pool = pool.on_worker_start(census.hook()).build().expect("the settings are good");
    let (books, stop) = (Arc::new(Books::default()), AtomicBool::new(false));
    let end = Instant::now() + stress_time(Duration::from_secs(2));
    thread::scope(|scope| {
        for number in 0..5 {
            let (pool, books, stop) = (&pool, &books, &stop);
            scope.spawn(move || {
                let mut random = Random(seed ^ (number + 1) << 32);
                while !stop.load(Ordering::Relaxed) {
                    submit_any(pool, books, &mut random);
                    check(pool.stats(), books);
                }
            });
        }
        let mut random = Random(seed);
        while Instant::now() < end {
            disturb(&pool, &books, &mut random);
        }
        stop.store(true, Ordering::Relaxed);
    });
    pool.drain().expect("this is no task");
    assert_eq!(census.count(), 0, "every thread is joined");
    compare(&books, pool.stats());
    assert_eq!(Arc::strong_count(&books), 1, "nothing is left behind");
}

#[test]
fn every_task_runs_once_or_comes_back_or_is_discarded() {
    let test = "every_task_runs_once_or_comes_back_or_is_discarded";
    mix_everything(test, 16, Duration::from_secs(10));
}

#[test]
fn no_task_is_lost_while_workers_come_and_go() {
    let test = "no_task_is_lost_while_workers_come_and_go";
    mix_everything(test, 0, Duration::from_micros(100));
}

#[test]
fn no_task_is_lost_behind_a_long_queue() {
    let test = "no_task_is_lost_behind_a_long_queue";
    mix_everything(test, 1000, Duration::from_millis(1));
}
