//! Waiting: one mechanism for threads and futures. A blocked thread is just another waker.
//!
//! A thread or a future that waits has a [`Waiter`]. The thread that decides the wait holds the lock of the queue,
//! puts a [`Verdict`] into the waiter, and wakes it after the lock is free. To wake a parked thread costs
//! thousands of times what the verdict costs, so a thread first spins for a while.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::engine::spin::look;
use crate::engine::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::engine::sync::{Mutex, lock, now, park, thread};
use crate::engine::wait_list::Key;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    /// What was waited for is there; at the gate, a place is held for the waiter.
    Granted = 1,
    /// Sent away: the pool or the semaphore was closed, or there will never be so much.
    Closed = 2,
}

/// One who waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// Zero, or a [`Verdict`]. Written once, under the engine's lock.
    verdict: AtomicU8,
    /// It is let in as soon as there is a place; otherwise places may gather. Read and written under the engine's lock.
    eager: AtomicBool,
    /// Where it stands in the one list that it waits in. Read and written under that list's lock.
    key: AtomicU64,
    waker: Mutex<Waker>,
}

impl Waiter {
    /// For the calling thread, which lets places gather at first.
    pub(crate) fn thread() -> Arc<Self> {
        Waiter::new(this_thread(), false)
    }

    /// For a future with this waker.
    pub(crate) fn future(waker: &Waker) -> Arc<Self> {
        Waiter::new(waker.clone(), true)
    }

    fn new(waker: Waker, eager: bool) -> Arc<Self> {
        let (verdict, eager) = (AtomicU8::new(0), AtomicBool::new(eager));
        Arc::new(Waiter { verdict, eager, key: AtomicU64::new(0), waker: Mutex::new(waker) })
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        // Acquire: pairs with the Release in `decide`: who sees the verdict sees what led to it.
        match self.verdict.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Verdict::Granted),
            _ => Some(Verdict::Closed),
        }
    }

    /// Under the engine's lock. The waiter is woken after it.
    pub(crate) fn decide(&self, verdict: Verdict) {
        // Release: pairs with the Acquire in `verdict`.
        self.verdict.store(verdict as u8, Ordering::Release);
    }

    pub(crate) fn is_eager(&self) -> bool {
        self.eager.load(Ordering::Relaxed)
    }

    /// Under the engine's lock.
    pub(crate) fn set_eager(&self) {
        self.eager.store(true, Ordering::Relaxed);
    }

    /// The waiter's key in the list that it waits in.
    pub(crate) fn key(&self) -> Key {
        self.key.load(Ordering::Relaxed)
    }

    /// Under the lock of the list that it joins.
    pub(crate) fn set_key(&self, key: Key) {
        self.key.store(key, Ordering::Relaxed);
    }

    /// Remembers whom to wake; a future may be polled by another task than before.
    fn set_waker(&self, waker: &Waker) {
        let mut kept = lock(&self.waker);
        if !kept.will_wake(waker) {
            // The old waker is foreign code, so it is dropped after the lock.
            let old = std::mem::replace(&mut *kept, waker.clone());
            drop(kept);
            drop(old);
        }
    }

    /// Outside the engine's lock.
    pub(crate) fn wake(&self) {
        let waker = lock(&self.waker).clone();
        waker.wake();
    }

    /// The calling thread waits for the verdict. None if there was none in time. Before it parks, `rest` says for how
    /// long at most.
    pub(crate) fn wait(
        &self,
        deadline: Option<Instant>,
        rest: impl FnMut() -> Option<Duration>,
    ) -> Option<Verdict> {
        block_until(deadline, |_| self.verdict(), rest)
    }

    /// Looks for the verdict, for a future.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Verdict> {
        if self.verdict().is_none() {
            // First the waker, then the look: a verdict that comes later wakes it.
            self.set_waker(context.waker());
        }
        self.verdict().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Whether a wait until `deadline` would be no wait.
pub(crate) fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| deadline <= now())
}

/// Parks until `deadline`, or for `rest`, whichever comes first. False when the deadline is over.
fn park_until(deadline: Option<Instant>, rest: Option<Duration>) -> bool {
    let Some(deadline) = deadline else {
        park(rest);
        return true;
    };
    let left = deadline.saturating_duration_since(now());
    if left.is_zero() {
        return false;
    }
    park(Some(rest.map_or(left, |rest| rest.min(left))));
    true
}

/// The waker of the task that awaits this.
pub(crate) async fn waker() -> Waker {
    poll_fn(|context| Poll::Ready(context.waker().clone())).await
}

/// Blocks the thread, which spins before it parks, until `poll` finds something. Given a waker, `poll` has that woken
/// when there may be something to find. None if it found nothing in time. Before the thread parks, `retry` says for how
/// long at most.
pub(crate) fn block_until<R>(
    deadline: Option<Instant>,
    mut poll: impl FnMut(Option<&Waker>) -> Option<R>,
    mut retry: impl FnMut() -> Option<Duration>,
) -> Option<R> {
    if let Some(found) = poll(None).or_else(|| look(|| poll(None))) {
        return Some(found);
    }
    let waker = this_thread();
    loop {
        if let Some(found) = poll(Some(&waker)) {
            return Some(found);
        }
        if !park_until(deadline, retry()) {
            return poll(None);
        }
    }
}

/// A waker that unparks the thread it was made on.
struct Bell(thread::Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

fn new_bell() -> Waker {
    Arc::new(Bell(thread::current())).into()
}

/// The waker that unparks the calling thread.
pub(crate) fn this_thread() -> Waker {
    thread_local! {
        // One allocation per thread, not per wait.
        static WAKER: Waker = new_bell();
    }
    // A model's threads are not the system's.
    if cfg!(loom) {
        return new_bell();
    }
    // A wait inside the destructor of another thread-local comes after ours is gone.
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| new_bell())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_looks_sees_its_verdict() {
        let waiter = Waiter::thread();
        assert_eq!(waiter.wait(Some(now()), || None), None);
        waiter.decide(Verdict::Granted);
        assert_eq!(waiter.wait(None, || None), Some(Verdict::Granted));
    }
}
