//! The functions that the tasks of a pool want to be called when they are cancelled, by the task that each is of.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::replace;
use std::ops::RangeBounds;
use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::engine::contain;
use crate::engine::sync::atomic::{AtomicU16, Ordering};
use crate::engine::sync::thread::ThreadId;
use crate::engine::sync::{Mutex, lock, park, thread};
use crate::engine::wait::this_thread;

#[cfg(not(loom))]
thread_local! {
    /// How many functions this thread is in, one inside the other. It has no destructor.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

#[cfg(loom)]
loom::thread_local! {
    static INSIDE: Cell<usize> = Cell::new(0);
}

/// A task that can be asked whether it is to stop.
pub(crate) trait Stoppable: Send + Sync {
    /// Whether it is to stop, if it started in this epoch.
    fn should_stop(&self, epoch: Epoch) -> bool;

    /// Those of its pool.
    fn cancels(&self) -> &Arc<Cancels>;
}

/// What a pool knows of cancelled tasks.
#[derive(Default)]
pub(crate) struct Cancels {
    /// How often all tasks were cancelled. It wraps around: a task is misled only if it runs while that happens 65,536
    /// times.
    epoch: AtomicU16,
    calls: Mutex<Calls>,
}

/// How often all tasks of its pool had been cancelled when a task started.
pub(crate) type Epoch = u16;

/// Whose function it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A task without a handle that lies in no cell: a closure, or a future that is being made.
    #[default]
    Unplaced,
    /// The task without a handle that lies in the cell at this address.
    #[cfg(any(feature = "tokio", test))]
    Cell(usize),
    /// The task state at this address.
    Task(usize),
}

impl Owner {
    /// The owner that a task with a handle is.
    pub(crate) fn task<T: ?Sized>(task: *const T) -> Self {
        Owner::Task(task.cast::<()>().addr())
    }
}

/// Names a registered function: its owner, and a number that is given out once.
pub(super) type Key = (Owner, u64);

/// The functions of all tasks of a pool. Those of one task stand side by side.
#[derive(Default)]
struct Calls {
    next: u64,
    listed: BTreeMap<Key, Arc<Call>>,
}

impl Cancels {
    /// Exact for a task that starts under the pool's lock.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Tasks that have started are to stop. Under the pool's lock.
    pub(crate) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn register(&self, owner: Owner, call: &Arc<Call>) -> Key {
        let mut calls = lock(&self.calls);
        let key = (owner, calls.next);
        calls.next += 1;
        calls.listed.insert(key, Arc::clone(call));
        key
    }

    pub(super) fn remove(&self, key: Key) {
        let call = lock(&self.calls).listed.remove(&key);
        drop(call);
    }

    /// Calls the functions of a task that is to stop.
    pub(crate) fn call_for(&self, owner: Owner) {
        self.call((owner, 0)..=(owner, u64::MAX), |_| true);
    }

    /// Calls the functions of a future that is about to be dropped because all tasks were cancelled, and those that were
    /// registered before their futures were there.
    #[cfg(any(feature = "tokio", test))]
    pub(crate) fn call_old_for(&self, owner: Owner) {
        let epoch = self.epoch();
        for owner in [Owner::Unplaced, owner] {
            self.call((owner, 0)..=(owner, u64::MAX), |call| call.epoch != epoch);
        }
    }

    /// Calls the functions of all tasks that have started before this epoch.
    pub(crate) fn call_all(&self) {
        let epoch = self.epoch();
        self.call(.., |call| call.epoch != epoch);
    }

    fn call(&self, keys: impl RangeBounds<Key>, is_meant: impl Fn(&Call) -> bool) {
        let calls = lock(&self.calls);
        let listed = calls.listed.range(keys).map(|(_, call)| call);
        let meant: Vec<_> = listed.filter(|call| is_meant(call)).cloned().collect();
        drop(calls);
        meant.iter().for_each(|call| call.make());
    }
}

/// A function to be called.
pub(super) struct Call {
    /// The task, if it has a handle. While this is here, no other task has its address.
    _task: Option<Weak<dyn Stoppable>>,
    /// When the task started.
    epoch: Epoch,
    state: Mutex<State>,
}

enum State {
    Waiting(Box<dyn FnOnce() + Send>),
    /// The thread that calls it, and the threads that wait for that.
    Calling(ThreadId, Vec<Waker>),
    Over,
}

impl Call {
    pub(super) fn new(
        function: Option<Box<dyn FnOnce() + Send>>,
        task: Option<&Arc<dyn Stoppable>>,
        epoch: Epoch,
    ) -> Arc<Self> {
        let state = Mutex::new(function.map_or(State::Over, State::Waiting));
        Arc::new(Call { _task: task.map(Arc::downgrade), epoch, state })
    }

    /// Calls the function, unless another thread has. If another thread is in it, blocks until that thread is through;
    /// not inside of a function, because two that wait for each other would wait for ever.
    pub(super) fn make(&self) {
        let mut state = lock(&self.state);
        match replace(&mut *state, State::Over) {
            State::Waiting(function) => {
                *state = State::Calling(thread::current().id(), Vec::new());
                drop(state);
                self.call(function);
            }
            other => {
                *state = other;
                drop(state);
                if INSIDE.with(Cell::get) == 0 {
                    self.wait();
                }
            }
        }
    }

    fn call(&self, function: Box<dyn FnOnce() + Send>) {
        INSIDE.with(|inside| inside.set(inside.get() + 1));
        contain(function);
        INSIDE.with(|inside| inside.set(inside.get() - 1));
        let state = replace(&mut *lock(&self.state), State::Over);
        if let State::Calling(_, waiters) = state {
            waiters.into_iter().for_each(Waker::wake);
        }
    }

    /// Drops the function, or waits until another thread has called it.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        match replace(&mut *state, State::Over) {
            State::Waiting(function) => {
                drop(state);
                drop(function);
            }
            other => {
                *state = other;
                drop(state);
                self.wait();
            }
        }
    }

    /// Blocks until no other thread is in the function.
    fn wait(&self) {
        loop {
            let mut state = lock(&self.state);
            match &mut *state {
                State::Calling(thread, waiters) if *thread != thread::current().id() => {
                    let waker = this_thread();
                    if !waiters.iter().any(|waiter| waiter.will_wake(&waker)) {
                        waiters.push(waker);
                    }
                }
                _ => return,
            }
            drop(state);
            park(None);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::sync::atomic::AtomicUsize;

    fn register(cancels: &Cancels, owner: Owner, called: &Arc<AtomicUsize>, digit: usize) -> Key {
        let called = Arc::clone(called);
        let function = Box::new(move || _ = called.fetch_add(digit, Ordering::Relaxed));
        cancels.register(owner, &Call::new(Some(function), None, cancels.epoch()))
    }

    #[test]
    fn the_functions_of_one_task_are_called_once_and_no_others() {
        let (cancels, called) = (Cancels::default(), Arc::new(AtomicUsize::new(0)));
        register(&cancels, Owner::Task(8), &called, 1);
        register(&cancels, Owner::Task(8), &called, 10);
        register(&cancels, Owner::Task(16), &called, 100);
        register(&cancels, Owner::Unplaced, &called, 1000);
        let removed = register(&cancels, Owner::Task(8), &called, 10_000);
        cancels.remove(removed);
        for _ in 0..2 {
            cancels.call_for(Owner::Task(8));
            assert_eq!(called.load(Ordering::Relaxed), 11);
        }
        cancels.call_all();
        assert_eq!(called.load(Ordering::Relaxed), 11, "all of them are of this epoch");
        cancels.begin_epoch();
        register(&cancels, Owner::Unplaced, &called, 100_000);
        cancels.call_all();
        assert_eq!(called.load(Ordering::Relaxed), 1111, "the last one came later");
    }

    #[test]
    fn before_a_future_is_dropped_its_old_functions_are_called() {
        let (cancels, called) = (Cancels::default(), Arc::new(AtomicUsize::new(0)));
        register(&cancels, Owner::Cell(8), &called, 1);
        register(&cancels, Owner::Cell(16), &called, 10);
        register(&cancels, Owner::Unplaced, &called, 100);
        cancels.begin_epoch();
        register(&cancels, Owner::Cell(8), &called, 1000);
        cancels.call_old_for(Owner::Cell(8));
        assert_eq!(called.load(Ordering::Relaxed), 101);
    }
}
