//! `on_cancel`: what is called when a running task is cancelled, by the thread that cancels it.

use std::fmt;
use std::mem::replace;
use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::engine::sync::atomic::{AtomicU16, Ordering};
use crate::engine::sync::thread::ThreadId;
use crate::engine::sync::{Mutex, lock, park, thread};
use crate::engine::wait::this_thread;
use crate::engine::wait_list::{Key, WaitList};
use crate::engine::{contain, is_cancelled, with_current};

/// Has `function` called when the task that the calling thread runs is cancelled, as long as the guard lives: to shut
/// down the socket that the task reads from, or to kill the process that it waits for.
///
/// The function is called once, by the thread that cancels: by [`JoinHandle::cancel`](crate::JoinHandle::cancel), a dropped
/// [`cancel_on_drop`](crate::JoinHandle::cancel_on_drop), the cancelling of a batch, a map or a scope, the end of
/// [`FnPool::call_timeout`](crate::FnPool::call_timeout), [`Control::cancel_all`](crate::Control::cancel_all) or a
/// `shutdown` whose grace is over. That thread waits for it, so it should not take long. If the task was cancelled
/// before, the function is called here and now. Outside of a task it is never called.
///
/// A panic in the function is contained: Rust prints it, and the task and the thread that cancels go on.
///
/// A future can call this, too. When it is cancelled, the function is called first, and then the future is dropped.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use std::io::Read;
/// use std::net::{Shutdown, TcpListener, TcpStream};
/// use std::time::Duration;
///
/// let server = TcpListener::bind("127.0.0.1:0")?; // it never answers
/// let address = server.local_addr()?;
/// let fetch = FnPool::new(1, move |()| {
///     let mut socket = TcpStream::connect(address).unwrap();
///     let other = socket.try_clone().unwrap();
///     let _guard = formic::on_cancel(move || drop(other.shutdown(Shutdown::Both)));
///     socket.read_to_end(&mut Vec::new()).unwrap() // blocks until the socket is shut down
/// });
/// assert!(fetch.call_timeout((), Duration::from_millis(20)).is_err());
/// fetch.drain()?; // so its worker is free again
/// assert_eq!(fetch.workers(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Interrupt")]
#[doc(alias = "add_callback")]
#[doc(alias = "CancellationToken")]
pub fn on_cancel(function: impl FnOnce() + Send + 'static) -> OnCancel {
    // Outside of a task the function is dropped by this thread, which looks at nothing then.
    let mut function = Some(function);
    let registered = with_current(|cancels, task, epoch| {
        let state = match function.take() {
            Some(function) => State::Waiting(Box::new(function)),
            None => State::Over,
        };
        let task = task.map(Arc::downgrade);
        let call = Arc::new(Call { task, epoch, state: Mutex::new(state) });
        let key = lock(&cancels.calls).push(Arc::clone(&call));
        Registered { cancels: Arc::clone(cancels), call, key }
    });
    // First the registration, then the look: a thread that cancels later finds the call.
    if let Some(registered) = &registered
        && is_cancelled()
    {
        registered.call.make();
    }
    OnCancel(registered)
}

/// Has a function called when a task is cancelled, until it is dropped: see [`on_cancel`].
///
/// Dropped, it drops the function. If another thread is in the function at that moment, the drop blocks until that thread
/// is through: after it, nothing of the function runs any more. The function may drop its own guard.
///
/// A task may see [`is_cancelled`](crate::is_cancelled) before the thread that cancels has reached the function. If the
/// task drops the guard in that moment, the function is not called.
///
/// A guard that is kept longer than its task may be called by [`Control::cancel_all`](crate::Control::cancel_all) all the
/// same, if the task had no handle.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
///
/// let pool = formic::Pool::new(1);
/// let (sender, receiver) = mpsc::channel();
/// let (begun, has_begun) = mpsc::channel();
/// let handle = pool.spawn(move || {
///     let guard = formic::on_cancel(move || sender.send("cancelled").unwrap());
///     begun.send(()).unwrap();
///     let message = receiver.recv(); // blocks until the function is called
///     drop(guard); // and until it has returned
///     message
/// })?;
/// has_begun.recv()?;
/// handle.cancel();
/// assert_eq!(handle.join()?, Ok("cancelled"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the function is not called any more when the guard is dropped"]
pub struct OnCancel(Option<Registered>);

struct Registered {
    cancels: Arc<Cancels>,
    call: Arc<Call>,
    key: Key,
}

/// A task that can be asked whether it is to stop.
pub(crate) trait Stoppable: Send + Sync {
    fn should_stop(&self) -> bool;

    /// Those of its pool.
    fn cancels(&self) -> &Arc<Cancels>;
}

/// What a pool knows of cancelled tasks.
#[derive(Default)]
pub(crate) struct Cancels {
    /// How often all tasks were cancelled. It wraps around: a task is misled only if it runs while that happens 65,536
    /// times.
    epoch: AtomicU16,
    calls: Calls,
}

/// How often all tasks of its pool had been cancelled when a task started.
pub(crate) type Epoch = u16;

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

    /// Calls the functions of a task that is to stop.
    pub(crate) fn call_for(&self, task: *const ()) {
        let is_it = |own: &Weak<dyn Stoppable>| std::ptr::eq(own.as_ptr().cast(), task);
        self.call(|call| call.task.as_ref().is_some_and(is_it));
    }

    /// Calls the functions of all tasks that have started before this epoch.
    pub(crate) fn call_all(&self) {
        let epoch = self.epoch();
        self.call(|call| call.epoch != epoch);
    }

    fn call(&self, is_meant: impl Fn(&Call) -> bool) {
        let meant: Vec<_> =
            lock(&self.calls).iter().filter(|call| is_meant(call)).cloned().collect();
        meant.iter().for_each(|call| call.make());
    }
}

/// The functions of all tasks of a pool.
type Calls = Mutex<WaitList<Arc<Call>>>;

/// A function to be called.
struct Call {
    /// The task, if it has a handle. While this is here, no other task has its address.
    task: Option<Weak<dyn Stoppable>>,
    /// When the task started.
    epoch: Epoch,
    state: Mutex<State>,
}

enum State {
    Waiting(Box<dyn FnOnce() + Send>),
    /// The thread that calls it, and who waits for that.
    Calling(ThreadId, Option<Waker>),
    Over,
}

impl Call {
    /// Calls the function, unless another thread does or has.
    fn make(&self) {
        let mut state = lock(&self.state);
        let function = match replace(&mut *state, State::Over) {
            State::Waiting(function) => function,
            other => {
                *state = other;
                return;
            }
        };
        *state = State::Calling(thread::current().id(), None);
        drop(state);
        contain(function);
        let state = replace(&mut *lock(&self.state), State::Over);
        if let State::Calling(_, Some(waker)) = state {
            waker.wake();
        }
    }

    /// Drops the function, or waits until another thread has called it.
    fn end(&self) {
        loop {
            let mut state = lock(&self.state);
            match &mut *state {
                State::Calling(thread, waiter) if *thread != thread::current().id() => {
                    *waiter = Some(this_thread());
                }
                State::Calling(..) | State::Over => return,
                State::Waiting(_) => {
                    let function = replace(&mut *state, State::Over);
                    drop(state);
                    drop(function);
                    return;
                }
            }
            drop(state);
            park(None);
        }
    }
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        if let Some(Registered { cancels, call, key }) = self.0.take() {
            drop(lock(&cancels.calls).remove(key));
            call.end();
        }
    }
}

impl fmt::Debug for OnCancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnCancel").finish_non_exhaustive()
    }
}
