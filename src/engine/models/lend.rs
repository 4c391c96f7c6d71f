//! Models of threads that wait for tasks inside of tasks: a waiting task lends its place, and no rule of
//! [`lend`](crate::engine::scheduler::lend) is broken.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use loom::sync::atomic::{AtomicUsize, Ordering};

use super::closures::{self, Pool, pool, submit};
use super::{drain, explore, explore_up_to, settings};
use crate::engine::{Ended, Engine, Hooks, Settings};
use crate::handle::JoinHandle;
use crate::pool::Closures;

/// The tasks of a pool of one that have started and have not waited for another since then. A task that has waited and
/// runs again does not count: the pool may have started another one before it did.
#[derive(Clone)]
struct Running(Arc<AtomicUsize>);

/// One of them, until it is dropped.
struct Runs(Running);

impl Running {
    fn new() -> Self {
        Running(Arc::new(AtomicUsize::new(0)))
    }

    /// A task has started: none other may run.
    fn start(&self) -> Runs {
        assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0, "another one runs and does not wait");
        Runs(self.clone())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A pool whose tasks run on its own workers only.
fn pool_with_a_hook() -> Pool {
    let hooks = Hooks { on_worker_start: Some(Arc::new(|_| ())), ..Hooks::default() };
    Engine::new(Settings { hooks, ..settings(1, 8) }, Closures)
}

fn spawn<T: Send + 'static>(
    pool: &Pool,
    task: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    JoinHandle::new(closures::spawn(pool, task))
}

/// Returns when no task is left. Tasks may submit others until then.
fn wait(pool: &Pool) {
    pool.wait_until(Ended::Tasks, None).unwrap();
}

/// Waits until no task is left, and checks how many have run.
fn drain_all(pool: &Pool, tasks: u64) {
    wait(pool);
    assert_eq!(drain(pool).completed, tasks);
}

#[test]
fn a_waiting_task_lends_its_place_to_the_one_it_waits_for() {
    explore(|| {
        let (pool, running) = (pool(1), Running::new());
        let (own, its) = (Arc::clone(&pool), running.clone());
        submit(&pool, move || {
            let runs = its.start();
            let inner = its.clone();
            let child = spawn(&own, move || drop(inner.start()));
            drop(runs);
            child.join().unwrap();
        });
        submit(&pool, move || drop(running.start()));
        drain_all(&pool, 3);
    });
}

/// The second task inside of another is beyond the depth that one stack has in a model.
#[test]
fn a_task_beyond_the_depth_of_one_stack_is_run_by_another_worker() {
    explore(|| {
        let (pool, running) = (pool(1), Running::new());
        let own = Arc::clone(&pool);
        submit(&pool, move || {
            let (inner, again, runs) = (running.clone(), Arc::clone(&own), running.start());
            let child = spawn(&own, move || {
                let (last, runs) = (inner.clone(), inner.start());
                let grandchild = spawn(&again, move || drop(last.start()));
                drop(runs);
                grandchild.join().unwrap();
            });
            drop(runs);
            child.join().unwrap();
        });
        drain_all(&pool, 3);
    });
}

#[test]
fn two_pools_of_one_call_each_other() {
    explore_up_to(2, || {
        let (pool, other, running) = (pool(1), pool_with_a_hook(), Running::new());
        let (own, between) = (Arc::clone(&pool), Arc::clone(&other));
        submit(&pool, move || {
            let (inner, runs) = (running.clone(), running.start());
            let child = spawn(&between, move || {
                spawn(&own, move || drop(inner.start())).join().unwrap();
            });
            drop(runs);
            child.join().unwrap();
        });
        drain_all(&pool, 2);
        drain_all(&other, 1);
    });
}

#[test]
fn a_task_that_stops_waiting_runs_beside_its_child_and_nothing_else_starts() {
    explore_up_to(2, || {
        let (pool, other, running) = (pool(1), pool_with_a_hook(), Running::new());
        let (own, between) = (Arc::clone(&pool), Arc::clone(&other));
        submit(&pool, move || {
            let (inner, again, runs) = (running.clone(), Arc::clone(&own), running.start());
            let mut child = spawn(&between, move || {
                spawn(&again, move || drop(inner.start())).join().unwrap();
            });
            drop(runs);
            // It waits from here on, and does not any more when the handle is dropped.
            drop(Pin::new(&mut child).poll(&mut Context::from_waker(Waker::noop())));
            drop(child);
            submit(&own, move || drop(running.start()));
        });
        wait(&pool);
        drain_all(&other, 1);
        drain_all(&pool, 3);
    });
}
