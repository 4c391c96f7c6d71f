//! `on_cancel`: what is called when a running task is cancelled, by the thread that cancels it.

mod calls; // the functions of a pool's tasks

use std::fmt;
use std::sync::Arc;

use self::calls::{Call, Key};
use crate::engine::{is_cancelled, with_current};

pub(crate) use self::calls::{Cancels, Epoch, Owner, Stoppable};

/// Has `function` called when the task that the calling thread runs is cancelled, as long as the guard lives: to shut
/// down the socket that the task reads from, or to kill the process that it waits for.
///
/// The function is called once, by the thread that cancels: by [`JoinHandle::cancel`](crate::JoinHandle::cancel), a dropped
/// [`cancel_on_drop`](crate::JoinHandle::cancel_on_drop), the cancelling of a batch, a map or a scope, the end of
/// [`FnPool::call_timeout`](crate::FnPool::call_timeout), [`Control::cancel_all`](crate::Control::cancel_all) or a
/// `shutdown` whose grace is over. That thread waits for it, so it should not take long. If the task was cancelled
/// before, the function is called here and now. Outside of a task it is never called.
///
/// If several threads cancel the task at once, one of them calls the function, and the others wait for it, too; a
/// function that itself cancels tasks does not wait for the functions that other threads are in.
///
/// A panic in the function is contained: Rust prints it, and the task and the thread that cancels go on.
///
/// A future can call this, too. When it is cancelled, the function is called first, and then the future is dropped. If
/// all tasks are cancelled and the future is polled before the thread that cancels has come to its function, the thread
/// that is about to drop the future calls it.
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
    let registered = with_current(|cancels, task, owner, epoch| {
        let call = Call::new(function.take().map(|function| Box::new(function) as _), task, epoch);
        let key = cancels.register(owner, &call);
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

impl Drop for OnCancel {
    fn drop(&mut self) {
        if let Some(Registered { cancels, call, key }) = self.0.take() {
            cancels.remove(key);
            call.end();
        }
    }
}

impl fmt::Debug for OnCancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnCancel").finish_non_exhaustive()
    }
}
