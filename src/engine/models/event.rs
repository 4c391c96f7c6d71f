//! What one thread waits for until another one, or a task, lets it happen.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Poll, Waker};

use loom::sync::{Condvar, Mutex};

/// Something that happens once, and that a future or a thread can wait for.
#[derive(Clone, Default)]
pub(super) struct Event(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<(bool, Option<Waker>)>,
    told: Condvar,
    polls: StdMutex<usize>,
}

impl Event {
    pub(super) fn happen(&self) {
        let mut state = self.0.state.lock().unwrap();
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        self.0.told.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Blocks the thread.
    pub(super) fn block(&self) {
        let mut state = self.0.state.lock().unwrap();
        while !state.0 {
            state = self.0.told.wait(state).unwrap();
        }
    }

    /// How often it was polled.
    pub(super) fn polls(&self) -> usize {
        *self.0.polls.lock().unwrap()
    }
}

impl Future for Event {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        *self.0.polls.lock().unwrap() += 1;
        let mut state = self.0.state.lock().unwrap();
        if state.0 {
            return Poll::Ready(1);
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}
