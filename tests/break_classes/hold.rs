//! A place where tasks wait until the test lets them go: without blocking a thread of a runtime.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use crate::common::eventually;
use crate::kinds::Job;

/// Where tasks wait.
#[derive(Clone, Default)]
pub(crate) struct Hold(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    open: bool,
    passes: usize,
    waiting: usize,
    wakers: VecDeque<Waker>,
}

impl Hold {
    /// A task that waits here.
    pub(crate) fn job(&self) -> Job {
        let hold = self.clone();
        Box::pin(async move { hold.wait().await })
    }

    /// Is ready when somebody lets it pass.
    pub(crate) async fn wait(&self) {
        self.state().waiting += 1;
        std::future::poll_fn(|context| {
            let mut state = self.state();
            if !state.open && state.passes == 0 {
                state.wakers.push_back(context.waker().clone());
                return Poll::Pending;
            }
            state.passes -= usize::from(!state.open);
            state.waiting -= 1;
            Poll::Ready(())
        })
        .await;
    }

    /// Lets everybody through from now on.
    pub(crate) fn open(&self) {
        self.state().open = true;
        self.wake();
    }

    /// Lets one through.
    pub(crate) fn let_one_pass(&self) {
        self.state().passes += 1;
        self.wake();
    }

    /// Returns when so many wait here.
    #[track_caller]
    pub(crate) fn await_waiting(&self, tasks: usize) {
        eventually("tasks wait", || self.state().waiting == tasks);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics here")
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut self.state().wakers);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for OpenAtLast<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Opens in the end, also after a failure, so that what waits can go.
pub(crate) struct OpenAtLast<'a>(pub(crate) &'a Hold);
