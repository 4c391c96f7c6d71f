//! Models of workers that are not ready: another one takes the task, and none is left behind.

use std::sync::Arc;
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{WAIT, drain, explore, settings};
use crate::engine::{
    Counts, End, Ended, Engine, Lack, MAX_WORKERS, NoStart, ThreadWork, Work, start_worker,
};

/// Tasks that count themselves, of workers that must be ready.
#[derive(Default)]
struct Moody {
    ran: AtomicUsize,
    /// How many answers are still no. With [`NEVER`] the worker at place 0 is never ready, with [`NONE`] no worker is.
    refusals: AtomicUsize,
    /// What a worker is asked for: an answer, or a state.
    asks_for_state: bool,
}

const NEVER: usize = 1000;
const NONE: usize = 2000;

impl Work for Arc<Moody> {
    type Job = usize;

    const MOST: usize = MAX_WORKERS;

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }
}

impl ThreadWork for Arc<Moody> {
    type State = ();

    fn lacks(&self, state: &Option<()>) -> Lack {
        match (self.asks_for_state, state) {
            (false, _) => Lack::Answer,
            (true, None) => Lack::State,
            (true, Some(())) => Lack::Nothing,
        }
    }

    fn get_ready(&self, state: &mut Option<()>, index: usize) -> Result<(), Duration> {
        let refusals = self.refusals.load(Ordering::SeqCst);
        match refusals {
            // A worker that is never ready parks for good, so that the model ends.
            NONE => return Err(Duration::MAX),
            NEVER if index == 0 => return Err(Duration::MAX),
            NEVER | 0 => {}
            _ => {
                self.refusals.store(refusals - 1, Ordering::SeqCst);
                return Err(Duration::from_millis(1));
            }
        }
        *state = Some(());
        Ok(())
    }

    fn run(&self, _: &mut Option<()>, job: usize, _: Counts) -> End {
        self.ran.fetch_add(job, Ordering::SeqCst);
        End::Completed
    }
}

fn engine(
    capacity: usize,
    refusals: usize,
    asks_for_state: bool,
) -> (Arc<Engine<Arc<Moody>>>, Arc<Moody>) {
    let refusals = AtomicUsize::new(refusals);
    let work = Arc::new(Moody { refusals, asks_for_state, ..Moody::default() });
    (Engine::new(settings(capacity, 8), Arc::clone(&work)), work)
}

/// Workers that are not ready go, too.
fn drain_all(engine: &Arc<Engine<Arc<Moody>>>) {
    let stats = drain(engine);
    assert_eq!((stats.workers, stats.unready), (0, 0));
}

#[test]
fn a_task_that_no_worker_was_ready_for_is_run_later() {
    explore(|| {
        let (engine, work) = engine(1, 1, false);
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        drain_all(&engine);
        assert_eq!(work.ran.load(Ordering::SeqCst), 11);
    });
}

/// The worker at place 0 is never ready, and parks for good.
#[test]
fn a_task_that_a_worker_declines_is_given_to_another() {
    for asks_for_state in [false, true] {
        explore(move || {
            let (engine, work) = engine(2, NEVER, asks_for_state);
            engine.submit(1, WAIT).unwrap();
            engine.wait_until(Ended::Tasks, None).unwrap();
            assert_eq!(work.ran.load(Ordering::SeqCst), 1);
            drain_all(&engine);
        });
    }
}

#[test]
fn a_task_that_a_worker_declines_is_given_to_an_idle_one() {
    explore(|| {
        let (engine, work) = engine(2, NEVER, false);
        engine.prestart(2).unwrap();
        engine.submit(1, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(work.ran.load(Ordering::SeqCst), 1);
        drain_all(&engine);
    });
}

#[test]
fn a_worker_that_is_not_ready_goes_when_the_pool_shrinks() {
    explore(|| {
        let (engine, work) = engine(2, NONE, false);
        engine.submit(1, WAIT).unwrap();
        // The first one has declined, and the second one is on its way, declines, or has.
        while engine.stats().workers < 2 {
            thread::yield_now();
        }
        engine.change_limits(|limits| limits.capacity = 1);
        while engine.stats().workers > 1 {
            thread::yield_now();
        }
        assert_eq!(engine.discard(), 1);
        drain_all(&engine);
        assert_eq!(work.ran.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn workers_that_are_not_ready_go_when_their_tasks_are_discarded() {
    explore(|| {
        let (engine, work) = engine(1, NONE, true);
        engine.submit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let closer = thread::spawn(move || other.wait_until(Ended::Workers, None).unwrap());
        assert_eq!(engine.discard(), 1);
        closer.join().unwrap();
        assert_eq!(work.ran.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_worker_becomes_ready_while_the_pool_shrinks() {
    explore(|| {
        let (engine, work) = engine(2, 1, false);
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        engine.change_limits(|limits| limits.capacity = 1);
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(work.ran.load(Ordering::SeqCst), 11);
        while engine.stats().workers > 1 {
            thread::yield_now();
        }
        drain_all(&engine);
    });
}
