//! Scopes: tasks that borrow from the stack of the thread that waits for them.
//!
//! # Why this is sound
//!
//! A scoped task is given to the pool as if it were `'static`. That would be a lie after the scope, so
//! [`Pool::scope`] does not return before every one of its tasks is gone:
//!
//! - It waits for each task's outcome, also if its body panics. An outcome is there only after the
//!   task's closure was consumed by running it, or was dropped: see `TaskState` in the engine. The closure
//!   and everything it owned are gone by then.
//! - The result of a task may borrow, too. It is not kept in the task state, of which the line may hold a
//!   tombstone for longer, but in a result slot that belongs to the scope and is emptied before it returns. A
//!   [`ScopedHandle`] cannot outlive the scope, as its lifetime says.
//! - A task without a handle holds the scope's latch until its closure was consumed or dropped, and the
//!   scope waits for the latch.
//! - Only the scope decides when it returns: its users have a reference to it, which they can neither
//!   drop nor forget to an effect. Forgetting a [`ScopedHandle`] changes nothing: it owns no task.

mod tasks; // what the scope waits for
mod result_slot; // where a task leaves its result
mod handle; // .. and who takes it
mod latch; // tasks without a handle

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

use self::latch::{Latch, Latched};
use self::result_slot::{Empty, ResultSlot, Unfilled};
use self::tasks::Tasks;
use crate::engine::sync::{Mutex, lock};
use crate::engine::{self, Patience};
use crate::error::{JoinError, SubmitError, TaskPanic};
use crate::handle::JoinHandle;
use crate::pool::Pool;

pub use self::handle::ScopedHandle;

/// A place to run tasks that borrow; see [`Pool::scope`].
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let mut halves = [0, 0];
/// let (left, right) = halves.split_at_mut(1);
/// pool.scope(|scope| {
///     scope.submit(|| left[0] = 1);
///     scope.submit(|| right[0] = 2);
/// });
/// assert_eq!(halves, [1, 2]);
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    pool: &'env Pool,
    tasks: Mutex<Tasks>,
    /// For tasks without a handle; none in a scope that a worker waits for.
    latch: Option<Arc<Latch>>,
    /// Neither lifetime may be shortened or lengthened: closures with these lifetimes go in.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

impl Pool {
    /// Runs `body` with a scope on which tasks can be started that borrow from the caller's stack.
    /// Returns when all of them have ended. Tasks start in the order in which they were submitted. A worker
    /// that waits here runs tasks of the scope that have not started, ahead of older tasks in the queue, so
    /// that scopes inside scopes work with one worker, too.
    ///
    /// # Panics
    ///
    /// If `body` panics, or a task whose panic was not taken by its handle: after all of them have
    /// ended, with the first such panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let mut numbers = vec![1, 2, 3, 4];
    /// pool.scope(|scope| {
    ///     for number in &mut numbers {
    ///         scope.submit(move || *number *= 10);
    ///     }
    /// });
    /// assert_eq!(numbers, [10, 20, 30, 40]);
    /// ```
    ///
    /// What does not live as long as the scope cannot be borrowed:
    ///
    /// ```compile_fail,E0597
    /// let pool = formic::Pool::new(1);
    /// pool.scope(|scope| {
    ///     let inside = 1;
    ///     scope.submit(|| println!("{}", &inside));
    /// });
    /// ```
    ///
    /// What is borrowed by a task cannot be changed meanwhile:
    ///
    /// ```compile_fail,E0506
    /// let pool = formic::Pool::new(1);
    /// let mut number = 1;
    /// pool.scope(|scope| {
    ///     scope.submit(|| println!("{number}"));
    ///     number = 2;
    /// });
    /// ```
    ///
    /// A handle cannot leave its scope:
    ///
    /// ```compile_fail
    /// let pool = formic::Pool::new(1);
    /// let number = 1;
    /// let handle = pool.scope(|scope| scope.spawn(|| number));
    /// handle.join().unwrap();
    /// ```
    ///
    /// A scope cannot leave, either:
    ///
    /// ```compile_fail
    /// let pool = formic::Pool::new(1);
    /// let mut kept = None;
    /// pool.scope(|scope| kept = Some(scope));
    /// ```
    ///
    /// A task that is not `Send` is not accepted:
    ///
    /// ```compile_fail,E0277
    /// let pool = formic::Pool::new(1);
    /// let number = std::rc::Rc::new(1);
    /// pool.scope(|scope| scope.submit(|| println!("{number}")));
    /// ```
    #[doc(alias = "scoped")]
    pub fn scope<'env, T>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        let tasks = Tasks::new();
        // A worker that waits runs tasks that have not started, so it needs a handle for each.
        let latch = (engine::depth() == 0).then(|| Latch::new(self.engine()));
        let scope = Scope { pool: self, tasks: Mutex::new(tasks), latch, lifetimes: PhantomData };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        scope.wait_for_all();
        let panic = lock(&scope.tasks).take_panic();
        let panic = panic.or_else(|| scope.latch.as_ref().and_then(|latch| latch.take_panic()));
        match (outcome, panic) {
            (Err(payload), _) => resume_unwind(payload),
            (Ok(_), Some(panic)) => panic.resume(),
            (Ok(value), None) => value,
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Runs a closure that may borrow from outside of the scope. If the pool has no place for it, does what
    /// [`Builder::when_full`](crate::Builder::when_full) says: by default it waits for one.
    ///
    /// Cannot fail. If the pool refuses the closure, because it is closed, has no worker, or is full and
    /// refuses then, the calling thread runs it: it waits for the scope anyway. [`Stats`](crate::Stats) counts such a
    /// closure as refused, and as accepted when it has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let pool = formic::Pool::new(2);
    /// let sum = AtomicU32::new(0);
    /// pool.scope(|scope| {
    ///     for number in 1..=10 {
    ///         let sum = &sum;
    ///         scope.submit(move || drop(sum.fetch_add(number, Ordering::Relaxed)));
    ///     }
    /// });
    /// assert_eq!(sum.into_inner(), 55);
    /// ```
    #[track_caller]
    pub fn submit<F>(&'scope self, task: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        let origin = Location::caller();
        let Some(latch) = &self.latch else {
            let handle = self.pool.spawn_or_run(without_lifetime(Box::new(task)), origin);
            return self.remember(handle, None);
        };
        // SAFETY: the task is called or dropped before `'scope` ends, because `Pool::scope` waits for
        // the latch, which the task lets go of after everything else.
        let task = unsafe { Latched::task(task, latch.hold(), origin) };
        self.pool.submit_or_run(task);
    }

    /// Runs a closure that may borrow from outside of the scope, and returns a handle to its result,
    /// which may borrow as well. Waits for a place and cannot fail, as [`submit`](Scope::submit).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let text = String::from("two words");
    /// let first = pool.scope(|scope| {
    ///     scope.spawn(|| text.split(' ').next()).join().expect("it does not panic")
    /// });
    /// assert_eq!(first, Some("two"));
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, task: F) -> ScopedHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let origin = Location::caller();
        let (slot, run) = fill_slot(origin);
        let whole = without_lifetime(Box::new(move || run(task)));
        let handle = self.pool.spawn_or_run(whole, origin);
        self.hand_out(handle, slot)
    }

    /// As [`spawn`](Scope::spawn), but never waits and never runs the closure here.
    ///
    /// # Errors
    ///
    /// As [`Pool::try_spawn`]: the closure comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Pool, Refused};
    ///
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit()?; // the only place is taken
    /// let text = String::from("formic");
    /// pool.scope(|scope| {
    ///     let error = scope.try_spawn(|| text.len()).unwrap_err();
    ///     assert_eq!(error.reason(), Refused::Full);
    /// });
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn try_spawn<F, T>(&'scope self, task: F) -> Result<ScopedHandle<'scope, T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_from(task, Patience::None, Location::caller())
    }

    /// Starts a task, or gives it back.
    pub(crate) fn spawn_from<F, T>(
        &'scope self,
        task: F,
        patience: Patience,
        origin: &'static Location<'static>,
    ) -> Result<ScopedHandle<'scope, T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // The task is in the middle, so that it can be given back if it is refused.
        let shared = Arc::new(Mutex::new(Some(task)));
        let inside = Arc::clone(&shared);
        let (slot, run) = fill_slot(origin);
        let whole = without_lifetime(Box::new(move || {
            let task = lock(&inside).take();
            drop(inside);
            if let Some(task) = task {
                run(task);
            }
        }));
        let error = match self.pool.spawn_from(whole, patience, origin) {
            Ok(handle) => {
                // If the task was discarded it may be dropped here, and a panic after the handle was made
                // would leak that.
                engine::contain(|| drop(shared));
                return Ok(self.hand_out(handle, slot));
            }
            Err(error) => error,
        };
        let (reason, task) = (error.reason(), lock(&shared).take());
        drop(error);
        match task {
            Some(task) => Err(SubmitError::new(task, reason)),
            None => unreachable!("a task that was refused has not run"),
        }
    }

    /// Remembers a task, and makes the handle to its result.
    fn hand_out<T: Send + 'scope>(
        &'scope self,
        handle: JoinHandle<()>,
        slot: Arc<ResultSlot<T>>,
    ) -> ScopedHandle<'scope, T> {
        let task_state = handle.task_state().cloned();
        let ours: Arc<dyn Empty + 'scope> = Arc::clone(&slot) as _;
        // SAFETY: only the lifetime changes. The scope empties the result slot before it returns, and what
        // is left then is an empty result slot, which has nothing of `'scope` in it.
        let ours: Arc<dyn Empty + 'static> = unsafe { std::mem::transmute(ours) };
        self.remember(handle, Some(ours));
        ScopedHandle::new(slot, task_state)
    }

    pub(crate) fn pool(&self) -> &Pool {
        self.pool
    }
}

/// A result slot, and what runs a task so that its result lies there afterwards.
fn fill_slot<F, T>(
    origin: &'static Location<'static>,
) -> (Arc<ResultSlot<T>>, impl FnOnce(F) + use<F, T>)
where
    F: FnOnce() -> T,
{
    let slot = ResultSlot::new();
    let queue_entry = Unfilled(Arc::clone(&slot));
    let run = move |task: F| {
        let outcome = catch_unwind(AssertUnwindSafe(task));
        let panicked = outcome.is_err();
        queue_entry.fill(
            outcome
                .map_err(|payload| JoinError::Panicked(TaskPanic::caught(payload, Some(origin)))),
        );
        if panicked {
            // The pool is to count it as such. What it carried is in the result slot.
            resume_unwind(Box::new(()));
        }
    };
    (slot, run)
}

/// A task as the pool takes it.
fn without_lifetime<'scope>(
    task: Box<dyn FnOnce() + Send + 'scope>,
) -> Box<dyn FnOnce() + Send + 'static> {
    // SAFETY: only the lifetime changes. The closure is gone before `'scope` ends, because `Pool::scope`
    // waits until it was consumed or dropped: see the head of this file. Each caller gives the closure to the
    // pool and remembers its handle, or drops the closure at once because it was refused.
    unsafe { std::mem::transmute(task) }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pool", self.pool).finish_non_exhaustive()
    }
}
