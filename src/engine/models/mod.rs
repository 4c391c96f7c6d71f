//! Loom models: every interleaving of a few threads, for each rule of the README.
//!
//! Each model is named after the invariant it holds. CONTRIBUTING says how to run them; the
//! README's table says by which removed rule each of them was seen to fail.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::engine::queue::Queue;
use crate::engine::queue::fast_path::{Claim, FastPath};
use crate::engine::sync::now;
use crate::engine::{
    Counts, End, Ended, Engine, Hooks, Limits, MAX_WORKERS, NoStart, Patience, QueuedTask,
    Settings, ThreadWork, Work, start_worker,
};
use crate::error::Refused;

mod drivers;
mod growth;
mod handles;
mod lend;
mod permits;
mod stop;
mod ready;

/// What the tasks of a model do: they count themselves, and how many run at once. The job
/// [`BLOCKS`] waits until a thread calls [`Count::release`], which the job [`RELEASES`] does.
struct Count {
    ran: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    released: Mutex<bool>,
    release: Condvar,
}

const BLOCKS: usize = 1000;
const RELEASES: usize = 10_000;

impl Count {
    fn release(&self) {
        *self.released.lock().unwrap() = true;
        self.release.notify_all();
    }

    fn await_release(&self) {
        let mut released = self.released.lock().unwrap();
        while !*released {
            released = self.release.wait(released).unwrap();
        }
    }
}

impl QueuedTask for usize {}

impl Work for Arc<Count> {
    type Job = usize;

    const MOST: usize = MAX_WORKERS;

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }
}

impl ThreadWork for Arc<Count> {
    type State = ();

    fn run(&self, _: &mut Option<()>, job: usize, _: Counts) -> End {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.ran.fetch_add(job, Ordering::SeqCst);
        match job {
            BLOCKS => self.await_release(),
            RELEASES => self.release(),
            _ => {}
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        End::Completed
    }
}

/// A small pool: workers are kept for good unless a model says otherwise.
pub(crate) fn settings(capacity: usize, queue: usize) -> Settings {
    let limits = Limits { capacity, queue, waiters: usize::MAX, ..Limits::default() };
    Settings {
        limits,
        name: "model".into(),
        stack_size: None,
        hooks: Hooks::default(),
        faults: None,
    }
}

fn engine(settings: Settings) -> (Arc<Engine<Arc<Count>>>, Arc<Count>) {
    let count = Arc::new(Count {
        ran: AtomicUsize::new(0),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        released: Mutex::new(false),
        release: Condvar::new(),
    });
    (Engine::new(settings, Arc::clone(&count)), count)
}

const WAIT: Patience = Patience::Until(None);

fn drain(engine: &Arc<Engine<Arc<Count>>>) {
    engine.close();
    engine.wait_until(Ended::Workers, None).expect("no task drains from inside");
    assert!(engine.stats().adds_up());
}

/// Explores a model with up to two preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_up_to(2, model);
}

fn explore_up_to(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    // One that takes more steps than this does not come to its end. The longest take a little more than a thousand.
    builder.max_branches = 2_000;
    builder.check(model);
}

#[test]
fn a_ticket_is_taken_once_or_sealed() {
    explore(|| {
        let fast_path = Arc::new(FastPath::new());
        fast_path.publish(2);
        fast_path.open();
        let claims: Vec<_> = (0..2)
            .map(|_| {
                let fast_path = Arc::clone(&fast_path);
                thread::spawn(move || match fast_path.claim(0, &mut 0, false) {
                    Claim::Cell(cell) => {
                        let ended = fast_path.end();
                        (Some(cell), ended)
                    }
                    _ => (None, false),
                })
            })
            .collect();
        fast_path.seal();
        let sealed = fast_path.tally();
        let taken: Vec<_> = claims.into_iter().map(|claim| claim.join().unwrap()).collect();
        assert_eq!(fast_path.tally(), sealed, "after the seal nothing changes without the lock");
        let mut cells: Vec<_> = taken.iter().filter_map(|(cell, _)| *cell).collect();
        cells.sort_unstable();
        assert_eq!(cells, (0..2 - sealed.queued(2)).collect::<Vec<_>>());
        let ended = taken.iter().filter(|(_, ended)| *ended).count();
        assert_eq!(sealed.busy(), cells.len() - ended);
    });
}

#[test]
fn a_block_is_not_used_again_while_a_worker_reads_it() {
    explore(|| {
        let fast_path = crate::engine::sync::Arc::new(FastPath::new());
        let mut queue = Queue::new(crate::engine::sync::Arc::clone(&fast_path));
        queue.push(1);
        queue.push(2);
        let (first, mut claimed) = queue.open().unwrap();
        let worker = thread::spawn(move || {
            let second = claimed.next(&fast_path, true).ok();
            (second, claimed)
        });
        // This thread has the lock: it takes the rest, and fills the blocks anew.
        let rest = queue.take_all();
        assert!(queue.open().is_none(), "nothing is left, and the spent block is let go");
        queue.push(3);
        queue.push(4);
        let (second, claimed) = worker.join().unwrap();
        queue.give_back(claimed);
        let mut all = vec![first];
        all.extend(second.into_iter().chain(rest));
        all.extend(queue.take_all());
        assert_eq!(all, [1, 2, 3, 4]);
    });
}

#[test]
fn an_accepted_task_is_run() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        for job in [1, 10, 100] {
            engine.submit(job, WAIT).unwrap();
        }
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 111);
    });
}

#[test]
fn two_workers_take_each_task_once() {
    explore(|| {
        let (engine, count) = engine(settings(2, 8));
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
    });
}

#[test]
fn a_parked_worker_is_woken() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        engine.submit(1, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}

#[test]
fn over_is_one_look() {
    // To be seen in neither of two looks takes a task four turns.
    explore_up_to(4, || {
        let (engine, count) = engine(settings(1, 8));
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}

#[test]
fn retirement_leaves_no_task_behind() {
    explore(|| {
        let mut settings = settings(1, 8);
        settings.limits.keep_alive = Some(Duration::from_nanos(1));
        let (engine, count) = engine(settings);
        engine.submit(1, WAIT).unwrap();
        thread::yield_now();
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}

#[test]
fn waiting_submitters_get_the_freed_places() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(10, WAIT).unwrap());
        engine.submit(1, WAIT).unwrap();
        submitter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        assert_eq!(count.most.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_parked_submitter_gets_a_place_that_is_freed_on_the_fast_path() {
    explore(|| {
        let (engine, count) = engine(settings(1, 1));
        engine.submit(1, WAIT).unwrap();
        engine.submit(BLOCKS, WAIT).unwrap();
        let (other, releaser) = (Arc::clone(&engine), Arc::clone(&count));
        let submitter = thread::spawn(move || {
            other.submit(10, WAIT).unwrap();
            releaser.release();
        });
        submitter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11 + BLOCKS);
    });
}

#[test]
fn a_task_is_not_held_back_by_one_that_blocks() {
    explore(|| {
        let (engine, count) = engine(settings(2, 8));
        engine.submit(BLOCKS, WAIT).unwrap();
        engine.submit(RELEASES, WAIT).unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), BLOCKS + RELEASES);
    });
}

#[test]
fn a_short_task_is_not_held_back_by_one_that_blocks() {
    // The largest of the models: two preemptions take it a minute.
    explore_up_to(1, || {
        let (engine, count) = engine(settings(2, 8));
        // Now tasks are known to be short.
        engine.submit(1, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        engine.submit(BLOCKS, WAIT).unwrap();
        engine.submit(RELEASES, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1 + BLOCKS + RELEASES);
        drain(&engine);
    });
}

#[test]
fn close_refuses_or_runs() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || {
            let first = other.submit(1, WAIT);
            let second = other.submit(10, WAIT);
            [(1, first), (10, second)]
                .into_iter()
                .map(|(job, outcome)| match outcome {
                    Ok(()) => job,
                    Err((back, refused)) => {
                        assert_eq!((back, refused), (job, Refused::Closed));
                        0
                    }
                })
                .sum::<usize>()
        });
        drain(&engine);
        let ran = count.ran.load(Ordering::SeqCst);
        assert_eq!(submitter.join().unwrap(), ran, "what was accepted has run when drain returns");
        assert_eq!(count.ran.load(Ordering::SeqCst), ran, "and nothing runs afterwards");
    });
}

#[test]
fn close_sends_waiting_submitters_away() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(1, WAIT));
        engine.close();
        assert_eq!(submitter.join().unwrap(), Err((1, Refused::Closed)));
        drop(held);
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_time_out_and_a_grant_exclude_each_other() {
    explore(|| {
        let (engine, _) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let waiter = thread::spawn(move || match other.admit(1, Patience::Until(Some(now()))) {
            Ok(held) => drop(held),
            Err(refused) => assert_eq!(refused, Refused::TimedOut),
        });
        drop(held);
        waiter.join().unwrap();
        assert!(engine.admit(1, Patience::None).is_ok(), "the place is free again");
        assert_eq!(engine.stats().waiting, 0);
        drain(&engine);
    });
}

#[test]
fn a_dropped_future_gives_its_place_back() {
    explore(|| {
        let (engine, _) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let waiter = thread::spawn(move || {
            let mut future = pin!(other.admit_async(1));
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..2 {
                if let Poll::Ready(held) = future.as_mut().poll(&mut context) {
                    drop(held.unwrap());
                    break;
                }
            }
        });
        drop(held);
        waiter.join().unwrap();
        assert!(engine.admit(1, Patience::None).is_ok(), "the place is free again");
        drain(&engine);
    });
}

#[test]
fn a_waiting_future_is_woken() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let other = Arc::clone(&engine);
        let waiter = thread::spawn(move || {
            loom::future::block_on(async {
                // Another task polls it once, as when a future moves from task to task.
                let mut future = pin!(other.admit_async(1));
                let mut elsewhere = Context::from_waker(Waker::noop());
                let held = match future.as_mut().poll(&mut elsewhere) {
                    Poll::Ready(held) => held,
                    Poll::Pending => future.await,
                };
                held.unwrap().put(10);
            });
        });
        engine.submit(1, WAIT).unwrap();
        waiter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
    });
}

#[test]
fn the_end_is_told_to_futures() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        engine.submit(1, WAIT).unwrap();
        loom::future::block_on(engine.until(Ended::Tasks)).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
        engine.close();
        loom::future::block_on(engine.until(Ended::Workers)).unwrap();
        assert_eq!(engine.stats().workers, 0);
    });
}

#[test]
fn a_larger_capacity_lets_submitters_in() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(1, WAIT).unwrap());
        engine.change_limits(|limits| limits.capacity = 2);
        submitter.join().unwrap();
        drop(held);
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_task_is_run_or_discarded() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        for job in [1, 1, 1] {
            engine.submit(job, WAIT).unwrap();
        }
        let discarded = engine.discard();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst) + discarded, 3);
        assert_eq!(engine.stats().cancelled, discarded as u64);
    });
}

#[test]
fn a_smaller_capacity_is_kept() {
    explore(|| {
        let (engine, count) = engine(settings(2, 8));
        engine.prestart(2).unwrap();
        engine.change_limits(|limits| limits.capacity = 1);
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        assert_eq!(count.most.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn the_last_worker_goes_when_no_permit_relies_on_it() {
    explore(|| {
        let (engine, _) = engine(settings(2, 8));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let starter = thread::spawn(move || other.prestart(2).unwrap());
        engine.close();
        drop(held);
        starter.join().unwrap();
        drain(&engine);
    });
}

#[test]
fn a_permit_outlives_close() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let closer = thread::spawn(move || drain(&other));
        held.put(1);
        closer.join().unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_drain_sees_its_end_although_the_pool_is_opened_again() {
    explore(|| {
        let (engine, _) = engine(settings(1, 4));
        let other = Arc::clone(&engine);
        let opener = thread::spawn(move || other.reopen().is_ok());
        engine.wait_until(Ended::Workers, None).unwrap();
        opener.join().unwrap();
    });
}
