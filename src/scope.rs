//! Scopes: tasks that borrow from the stack of whoever waits for them.
//!
//! # Why this is sound
//!
//! A scoped task is given to the pool as if it were `'static`. That would be a lie after the scope, so
//! [`Pool::scope`] does not return before every one of its tasks is gone:
//!
//! - It waits for each task's outcome, also if its body panics. An outcome is there only after the
//!   task's closure was consumed by running it, or was dropped: see `Parcel` in the engine. The closure
//!   and everything it owned are gone by then.
//! - The result of a task may borrow, too. It is not kept in the parcel, of which the line may hold a
//!   ghost for longer, but in a drawer that belongs to the scope and is emptied before it returns. A
//!   [`ScopedHandle`] cannot outlive the scope, as its lifetime says.
//! - A task without a handle holds the scope's latch until its closure was consumed or dropped, and the
//!   scope waits for the latch.
//! - Only the scope decides when it returns: its users have a reference to it, which they can neither
//!   drop nor forget to an effect. Forgetting a [`ScopedHandle`] changes nothing: it owns no task.

mod latch; // tasks without a handle

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use self::latch::{Latch, Latched};
use crate::engine::task::Task;
use crate::engine::{self, Joinable};
use crate::error::{JoinError, SubmitError, TaskPanic};
use crate::handle::JoinHandle;
use crate::pool::Pool;

/// A place to run tasks that borrow; see [`Pool::scope`].
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let mut halves = [0, 0];
/// let (left, right) = halves.split_at_mut(1);
/// pool.scope(|scope| {
///     scope.submit(|| left[0] = 1).expect("the pool is open");
///     scope.submit(|| right[0] = 2).expect("the pool is open");
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

/// What a scope has to wait for.
struct Tasks {
    handles: Vec<Started>,
    /// When there are so many, those that have ended are let go.
    tidy_at: usize,
    panic: Option<TaskPanic>,
}

/// A task of a scope, and its drawer if it has a result.
struct Started {
    handle: JoinHandle<()>,
    /// Emptied before the scope returns.
    drawer: Option<Arc<dyn Empty>>,
}

impl Started {
    /// Whether the task has ended, and left nothing in its drawer.
    fn is_over(&self) -> bool {
        self.handle.is_finished() && self.drawer.as_ref().is_none_or(|drawer| drawer.is_empty())
    }
}

/// Where a task leaves its result.
struct Drawer<T>(Mutex<Content<T>>);

struct Content<T> {
    outcome: Option<Result<T, JoinError>>,
    waker: Option<Waker>,
}

/// Can be emptied, whatever is in it; the panic that nobody took is returned.
trait Empty: Send + Sync {
    fn empty(&self) -> Option<TaskPanic>;
    fn is_empty(&self) -> bool;
}

impl<T: Send> Empty for Drawer<T> {
    fn empty(&self) -> Option<TaskPanic> {
        let outcome = locked(&self.0).outcome.take();
        match outcome {
            Some(Err(error)) => error.into_panic(),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        locked(&self.0).outcome.is_none()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Runs `body` with a scope on which tasks can be started that borrow from the caller's stack.
    /// Returns when all of them have ended. A worker that waits here runs what nobody has begun with,
    /// so that scopes inside scopes work with one worker, too.
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
    ///         scope.submit(move || *number *= 10).expect("the pool is open");
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
    ///     scope.submit(|| println!("{}", &inside)).unwrap();
    /// });
    /// ```
    ///
    /// What is borrowed by a task cannot be changed meanwhile:
    ///
    /// ```compile_fail,E0506
    /// let pool = formic::Pool::new(1);
    /// let mut number = 1;
    /// pool.scope(|scope| {
    ///     scope.submit(|| println!("{number}")).unwrap();
    ///     number = 2;
    /// });
    /// ```
    ///
    /// A handle cannot leave its scope:
    ///
    /// ```compile_fail
    /// let pool = formic::Pool::new(1);
    /// let number = 1;
    /// let handle = pool.scope(|scope| scope.spawn(|| number).unwrap());
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
    /// pool.scope(|scope| scope.submit(|| println!("{number}")).unwrap());
    /// ```
    #[doc(alias = "scoped")]
    pub fn scope<'env, T>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        let tasks = Tasks { handles: Vec::new(), tidy_at: 64, panic: None };
        // A worker that waits runs what nobody has begun with, so it needs a handle for each task.
        let latch = engine::inside().is_none().then(|| Latch::new(self.engine()));
        let scope = Scope { pool: self, tasks: Mutex::new(tasks), latch, lifetimes: PhantomData };
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        scope.wait_for_all();
        let panic = locked(&scope.tasks).panic.take();
        let panic = panic.or_else(|| scope.latch.as_ref().and_then(|latch| latch.take_panic()));
        match (outcome, panic) {
            (Err(payload), _) => resume_unwind(payload),
            (Ok(_), Some(panic)) => panic.resume(),
            (Ok(value), None) => value,
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Runs a closure that may borrow from outside of the scope. Waits for a place as
    /// [`Pool::submit`] does.
    ///
    /// # Errors
    ///
    /// As [`Pool::submit`]: the closure comes back.
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
    ///         let add = move || drop(sum.fetch_add(number, Ordering::Relaxed));
    ///         scope.submit(add).expect("the pool is open");
    ///     }
    /// });
    /// assert_eq!(sum.into_inner(), 55);
    /// ```
    #[track_caller]
    pub fn submit<F>(&'scope self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce() + Send + 'scope,
    {
        let Some(latch) = &self.latch else {
            return self.start(task, None, true, |task| task()).map(drop);
        };
        let latched = Latched { task, hold: latch.hold(), origin: Location::caller() };
        // SAFETY: the task is called or dropped before `'scope` ends, because `Pool::scope` waits for
        // the latch, which the task lets go of after everything else.
        let task = unsafe { Task::borrowing(latched) };
        self.pool.submit_task(task).map_err(|(task, refused)| {
            // SAFETY: the pool gives back the task that it was given, made from a `Latched<F>`.
            let latched = unsafe { task.into_errand::<Latched<F>>() };
            SubmitError::new(latched.task, refused)
        })
    }

    /// Runs a closure that may borrow from outside of the scope, and returns a handle to its result,
    /// which may borrow as well. Waits for a place as [`Pool::spawn`] does.
    ///
    /// # Errors
    ///
    /// As [`Pool::spawn`]: the closure comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let text = String::from("two words");
    /// let first = pool.scope(|scope| {
    ///     let handle = scope.spawn(|| text.split(' ').next()).expect("the pool is open");
    ///     handle.join().expect("it does not panic")
    /// });
    /// assert_eq!(first, Some("two"));
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, task: F) -> Result<ScopedHandle<'scope, T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(task, true)
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
        self.spawn_with(task, false)
    }

    #[track_caller]
    fn spawn_with<F, T>(
        &'scope self,
        task: F,
        wait: bool,
    ) -> Result<ScopedHandle<'scope, T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let content = Content { outcome: None, waker: None };
        let drawer = Arc::new(Drawer(Mutex::new(content)));
        let (slip, origin) = (Unfilled(Arc::clone(&drawer)), Location::caller());
        let run =
            move |task: F| {
                let outcome = catch_unwind(AssertUnwindSafe(task));
                let panicked = outcome.is_err();
                slip.fill(outcome.map_err(|payload| {
                    JoinError::Panicked(TaskPanic::caught(payload, Some(origin)))
                }));
                if panicked {
                    // The pool is to count it as such. What it carried is in the drawer.
                    resume_unwind(Box::new(()));
                }
            };
        let ours: Arc<dyn Empty + 'scope> = Arc::clone(&drawer) as _;
        // SAFETY: only the lifetime changes. The scope empties the drawer before it returns, and what
        // is left then is an empty drawer, which has nothing of `'scope` in it.
        let ours: Arc<dyn Empty + 'static> = unsafe { std::mem::transmute(ours) };
        let parcel = self.start(task, Some(ours), wait, run)?;
        Ok(ScopedHandle { drawer, parcel, cancel_on_drop: false, scope: PhantomData })
    }

    pub(crate) fn pool(&self) -> &Pool {
        self.pool
    }

    /// Gives a task to the pool, to be run by `run`, and remembers it.
    #[track_caller]
    fn start<F: Send + 'scope>(
        &'scope self,
        task: F,
        drawer: Option<Arc<dyn Empty>>,
        wait: bool,
        run: impl FnOnce(F) + Send + 'scope,
    ) -> Result<Option<Arc<dyn Joinable<()>>>, SubmitError<F>> {
        // The task is in the middle, so that it can be given back if it is refused.
        let shared = Arc::new(Mutex::new(Some(task)));
        let inside = Arc::clone(&shared);
        let whole: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let task = locked(&inside).take();
            drop(inside);
            if let Some(task) = task {
                run(task);
            }
        });
        // SAFETY: only the lifetime changes. The closure is gone before `'scope` ends, because
        // `Pool::scope` waits until it was consumed or dropped: see the head of this file. A closure
        // that is refused is dropped below.
        let whole: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(whole) };
        let spawned = if wait { self.pool.spawn(whole) } else { self.pool.try_spawn(whole) };
        match spawned {
            Ok(handle) => {
                let parcel = handle.parcel();
                self.remember(Started { handle, drawer });
                Ok(parcel)
            }
            Err(error) => {
                let reason = error.reason();
                let task = locked(&shared).take();
                drop(error);
                match task {
                    Some(task) => Err(SubmitError::new(task, reason)),
                    None => Ok(None),
                }
            }
        }
    }

    fn remember(&self, started: Started) {
        let mut tasks = locked(&self.tasks);
        tasks.handles.push(started);
        if tasks.handles.len() < tasks.tidy_at {
            return;
        }
        let all = std::mem::take(&mut tasks.handles);
        let (ended, going_on): (Vec<_>, _) = all.into_iter().partition(Started::is_over);
        tasks.tidy_at = (2 * going_on.len()).max(64);
        tasks.handles = going_on;
        drop(tasks);
        ended.into_iter().for_each(|task| self.settle(task));
    }

    /// Waits for a task and keeps its panic, if it is the first that nobody took.
    fn settle(&self, task: Started) {
        let outcome = task.handle.join();
        let panic = match task.drawer {
            Some(drawer) => drawer.empty(),
            None => outcome.err().and_then(JoinError::into_panic),
        };
        let mut tasks = locked(&self.tasks);
        if tasks.panic.is_none() {
            tasks.panic = panic;
        }
    }

    /// Tasks may start others as long as they run, so this goes on until there are none.
    fn wait_for_all(&self) {
        loop {
            while let Some(task) = self.next_with_handle() {
                // What is dropped there may panic, and that must not keep us from the rest.
                engine::contain(|| self.settle(task));
            }
            if let Some(latch) = &self.latch {
                engine::block_on(|context| latch.poll(context));
            }
            // Those without a handle may have started some with one.
            if locked(&self.tasks).handles.is_empty() {
                return;
            }
        }
    }

    fn next_with_handle(&self) -> Option<Started> {
        locked(&self.tasks).handles.pop()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pool", self.pool).finish_non_exhaustive()
    }
}

/// A drawer that says `Cancelled` if its task is dropped without having run.
struct Unfilled<T>(Arc<Drawer<T>>);

impl<T> Unfilled<T> {
    fn fill(&self, outcome: Result<T, JoinError>) {
        let mut content = locked(&self.0.0);
        if content.outcome.is_none() {
            content.outcome = Some(outcome);
        }
        let waker = content.waker.take();
        drop(content);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Unfilled<T> {
    fn drop(&mut self) {
        self.fill(Err(JoinError::Cancelled));
    }
}

/// A handle to a task of a [`Scope`]. Dropped, the scope still waits for the task.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let words = ["one", "two", "three"];
/// let letters: usize = pool.scope(|scope| {
///     let spawn = |word: &'static str| scope.spawn(move || word.len()).expect("the pool is open");
///     let handles: Vec<_> = words.into_iter().map(spawn).collect();
///     handles.into_iter().map(|handle| handle.join().expect("no panic")).sum()
/// });
/// assert_eq!(letters, 11);
/// ```
#[must_use = "use `Scope::submit` if nobody wants the result"]
pub struct ScopedHandle<'scope, T> {
    drawer: Arc<Drawer<T>>,
    parcel: Option<Arc<dyn Joinable<()>>>,
    cancel_on_drop: bool,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedHandle<'_, T> {
    /// Waits for the result. A worker that waits here runs the task itself if nobody has begun with it.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: the task panicked, was cancelled before it was started, or was dropped by
    /// [`Control::discard`](crate::Control::discard). A panic that was taken here goes no further.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let text = String::from("two words");
    /// let words = pool.scope(|scope| {
    ///     scope.spawn(|| text.split(' ').count()).expect("the pool is open").join()
    /// });
    /// assert_eq!(words?, 2);
    /// # Ok::<(), formic::JoinError>(())
    /// ```
    pub fn join(mut self) -> Result<T, JoinError> {
        self.cancel_on_drop = false;
        if let Some(parcel) = &self.parcel {
            engine::help_out(parcel);
        }
        engine::block_on(|context| self.poll(context))
    }

    /// As [`JoinHandle::cancel`]: true if nobody has begun with the task, which then never runs.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let words = ["one", "two"];
    /// pool.scope(|scope| {
    ///     let handle = scope.spawn(|| words.len()).expect("the pool is open");
    ///     let cancelled = handle.cancel();
    ///     assert_eq!(handle.join().is_err(), cancelled);
    /// });
    /// ```
    #[allow(clippy::must_use_candidate, reason = "what is asked for is the cancelling")]
    pub fn cancel(&self) -> bool {
        self.parcel.as_ref().is_some_and(|parcel| parcel.cancel())
    }

    /// Cancels the task when the handle is dropped before the result was taken. The scope waits for it
    /// all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.scope(|scope| {
    ///     let endless = || {
    ///         while !formic::is_cancelled() {
    ///             std::thread::yield_now();
    ///         }
    ///     };
    ///     drop(scope.spawn(endless).expect("the pool is open").cancel_on_drop());
    /// });
    /// pool.wait_idle()?;
    /// assert_eq!(pool.stats().completed + pool.stats().cancelled, 1);
    /// # Ok::<(), formic::StillRunning>(())
    /// ```
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }

    /// Whether the result is there. Then [`join`](ScopedHandle::join) does not wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.scope(|scope| {
    ///     let handle = scope.spawn(|| ()).expect("the pool is open");
    ///     while !handle.is_finished() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert!(handle.join().is_ok());
    /// });
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let counted = self.parcel.as_ref().is_none_or(|parcel| parcel.is_done());
        counted && locked(&self.drawer.0).outcome.is_some()
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Result<T, JoinError>> {
        // The drawer is filled a moment before the task is counted.
        if self.parcel.as_ref().is_some_and(|parcel| parcel.watch(context.waker())) {
            return Poll::Pending;
        }
        let mut content = locked(&self.drawer.0);
        match content.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                content.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for ScopedHandle<'_, T> {
    fn drop(&mut self) {
        if self.cancel_on_drop {
            self.cancel();
        }
    }
}

impl<T> fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedHandle")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
