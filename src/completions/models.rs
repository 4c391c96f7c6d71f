//! Loom models of a reader of outcomes and of threads that add tasks; the engine's README says by which removed rule
//! each one fails.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Waker;

use loom::sync::Mutex;
use loom::thread;

use super::{Completions, InFlight, Rest};
use crate::engine::Joinable;
use crate::engine::models::explore;
use crate::error::JoinError;

/// A task that ends when a thread says so.
#[derive(Clone)]
struct Stub(Arc<Mutex<Stage>>);

enum Stage {
    Runs(Option<Waker>),
    Done,
    Cancelled,
}

impl Stub {
    fn new() -> Self {
        Stub(Arc::new(Mutex::new(Stage::Runs(None))))
    }

    fn end(&self, end: Stage) {
        let old = std::mem::replace(&mut *self.0.lock().unwrap(), end);
        if let Stage::Runs(Some(waker)) = old {
            waker.wake();
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(*self.0.lock().unwrap(), Stage::Cancelled)
    }
}

impl InFlight for Stub {
    type Output = ();
    type Settled = ();

    fn task_state(&self) -> Option<&Arc<dyn Joinable<()>>> {
        None
    }

    fn watch(&self, waker: &Waker) -> bool {
        let mut stage = self.0.lock().unwrap();
        let runs = matches!(*stage, Stage::Runs(_));
        if runs {
            *stage = Stage::Runs(Some(waker.clone()));
        }
        runs
    }

    fn is_done(&self) -> bool {
        !matches!(*self.0.lock().unwrap(), Stage::Runs(_))
    }

    fn cancel(&self) {
        self.end(Stage::Cancelled);
    }

    fn take(self) -> Result<(), JoinError> {
        Ok(())
    }

    fn wait(self) -> Result<(), JoinError> {
        Ok(())
    }
}

#[test]
fn the_reader_ends_after_the_last_outcome_and_the_last_spawner() {
    explore(|| {
        let (mut tasks, task) = (Completions::starting_at(0), Stub::new());
        let (producer, added) = (tasks.producer(), task.clone());
        let spawner = thread::spawn(move || {
            assert_eq!(producer.push(added), 0);
            drop(producer);
        });
        let worker = thread::spawn(move || task.end(Stage::Done));
        assert_eq!(tasks.next().map(|(number, _)| number), Some(0));
        assert!(tasks.next().is_none());
        spawner.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn the_last_of_two_spawners_ends_the_reader() {
    explore(|| {
        let mut tasks = Completions::<Stub>::starting_at(0);
        let first = tasks.producer();
        let second = first.clone();
        let threads = [first, second].map(|producer| thread::spawn(move || drop(producer)));
        assert!(tasks.next().is_none());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_future_that_reads_ends_with_the_last_spawner() {
    explore(|| {
        let mut tasks = Completions::<Stub>::starting_at(0);
        let producer = tasks.producer();
        let spawner = thread::spawn(move || drop(producer));
        let next = loom::future::block_on(poll_fn(|context| tasks.poll_next(context)));
        assert!(next.is_none());
        spawner.join().unwrap();
    });
}

#[test]
fn a_task_that_is_added_while_the_reader_goes_is_cancelled() {
    explore(|| {
        let (mut tasks, task) = (Completions::starting_at(0), Stub::new());
        let (producer, added) = (tasks.producer(), task.clone());
        let spawner = thread::spawn(move || drop(producer.push(added)));
        tasks.close(Rest::IsCancelled);
        tasks.cancel();
        spawner.join().unwrap();
        assert!(task.is_cancelled());
    });
}
