//! A timer for a future on any executor: a thread that lives as long as the future waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::deadline;

/// Is ready when its time is over.
pub(super) struct Timer {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waker: Option<Waker>,
    stage: Stage,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Runs,
    /// The time is over.
    Over,
    /// The future waits no longer.
    Dropped,
}

impl Timer {
    /// Starts a thread that waits for `time`. If no thread can be started, the time is over at once.
    pub(super) fn start(time: Duration) -> Self {
        let shared: Arc<Shared> = Arc::default();
        let its_own = Arc::clone(&shared);
        let end = deadline(time);
        let started = thread::Builder::new()
            .name("formic-timer".to_owned())
            .spawn(move || its_own.wait_until(end));
        if started.is_err() {
            shared.lock().stage = Stage::Over;
        }
        Timer { shared }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without an end, it waits until the future is dropped.
    fn wait_until(&self, end: Option<Instant>) {
        let mut state = self.lock();
        while state.stage == Stage::Runs {
            let left =
                end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                state.stage = Stage::Over;
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if state.stage == Stage::Over {
            return Poll::Ready(());
        }
        let old = state.waker.replace(context.waker().clone());
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let waker = {
            let mut state = self.shared.lock();
            state.stage = Stage::Dropped;
            state.waker.take()
        };
        drop(waker);
        self.shared.changed.notify_one();
    }
}

/// What `future` is ready with, or `None` when `time` is over before.
pub(crate) async fn within<F: Future>(time: Duration, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut timer = None;
    std::future::poll_fn(move |context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        // No thread is started for what is ready at once.
        let timer = timer.get_or_insert_with(|| Timer::start(time));
        Pin::new(timer).poll(context).map(|()| None)
    })
    .await
}
