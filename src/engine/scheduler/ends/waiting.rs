//! Waiting for an end: until nothing is left to do, or until a pool is drained.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::actions::Actions;
use crate::engine::scheduler::core::{Phase, Scheduler};
use crate::engine::wait::{Verdict, Waiter, is_over, waker};
use crate::engine::{Engine, Work};
use crate::error::{Cause, StillRunning};

/// What can be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// No accepted task is left.
    Tasks,
    /// The pool is closed, and no worker is left.
    Workers,
}

impl<J> Scheduler<J> {
    pub(super) fn has_ended(&self, what: Ended) -> bool {
        (what == Ended::Tasks || self.is_closed()) && self.would_end(what)
    }

    /// Whether the end has come once the pool is closed.
    fn would_end(&self, what: Ended) -> bool {
        (what == Ended::Tasks || self.worker_table.workers() == 0) && self.pending() == 0
    }

    /// Tells those who wait for an end, if it has come.
    pub(in crate::engine::scheduler) fn tell_ends(&mut self, actions: &mut Actions) {
        for what in [Ended::Tasks, Ended::Workers] {
            if self.has_ended(what) {
                let told = self.awaiting_ends[what as usize].take_all();
                actions.wake.extend(told.inspect(|waiter| waiter.decide(Verdict::Granted)));
            }
        }
    }

    fn await_end(&mut self, what: Ended, waiter: &Arc<Waiter>) {
        let those_awaiting = &mut self.awaiting_ends[what as usize];
        waiter.set_key(those_awaiting.next_key());
        those_awaiting.push(Arc::clone(waiter));
        self.heed_waiters();
    }

    fn no_longer_await(&mut self, what: Ended, waiter: &Arc<Waiter>) {
        self.awaiting_ends[what as usize].remove(waiter.key());
        self.heed_waiters();
    }
}

impl<W: Work> Engine<W> {
    /// An error if the calling thread would wait for itself: for a task that it runs, or, as a thread of the
    /// pool, for its own end. Also if it would block for a while, and may not.
    pub(crate) fn check_wait(&self, what: Ended, may_block: bool) -> Result<(), StillRunning> {
        let is_worker = || what == Ended::Workers && self.threads.is_one();
        let cause = if self.is_inside() || is_worker() {
            Cause::FromInside
        } else if may_block || self.lock().would_end(what) {
            return Ok(());
        } else {
            Cause::InRuntime(match what {
                Ended::Tasks => "wait_idle_async",
                Ended::Workers => "drain_async",
            })
        };
        Err(StillRunning { cause, ..self.still_running() })
    }

    /// Waits for an end; closes the pool first if that is the end of its workers. Says what is left if the end does not
    /// come in time, or if the calling thread cannot wait for it: the thread runs one of the tasks that it would wait
    /// for, or polls for a runtime. Then the pool is not closed.
    pub(crate) fn wait_until(
        self: &Arc<Self>,
        what: Ended,
        deadline: Option<Instant>,
    ) -> Result<(), StillRunning> {
        self.check_wait(what, is_over(deadline) || W::may_block())?;
        let end = AwaitedEnd::of(self, what, Waiter::thread());
        if end.waiter.wait(deadline, || None).is_none() {
            // A verdict is given under the lock, so the end either has come after all or is told as it stands.
            let scheduler = self.lock();
            if end.waiter.verdict().is_none() {
                return Err(scheduler.still_running());
            }
        }
        end.join_left();
        Ok(())
    }

    /// As [`Engine::wait_until`], for a future. The pool is closed when it is first polled.
    pub(crate) async fn until(self: &Arc<Self>, what: Ended) -> Result<(), StillRunning> {
        self.check_wait(what, true)?;
        let end = AwaitedEnd::of(self, what, Waiter::future(&waker().await));
        poll_fn(|context| end.waiter.poll(context)).await;
        end.join_left();
        Ok(())
    }
}

/// An end that a thread or a future waits for. Dropped, it is not waited for any longer.
struct AwaitedEnd<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    what: Ended,
    waiter: Arc<Waiter>,
}

impl<'a, W: Work> AwaitedEnd<'a, W> {
    /// If it is the end of the workers, the pool is closed in the same step: if another thread opened it again in
    /// between, the end would have come and gone unseen.
    fn of(engine: &'a Arc<Engine<W>>, what: Ended, waiter: Arc<Waiter>) -> Self {
        engine.decide(|scheduler, actions| {
            scheduler.await_end(what, &waiter);
            match what {
                Ended::Tasks => scheduler.tell_ends(actions),
                Ended::Workers => scheduler.close(Phase::Closed, actions),
            }
        });
        AwaitedEnd { engine, what, waiter }
    }

    fn join_left(&self) {
        if self.what == Ended::Workers {
            self.engine.threads.join_left();
        }
    }
}

impl<W: Work> Drop for AwaitedEnd<'_, W> {
    fn drop(&mut self) {
        self.engine.lock().no_longer_await(self.what, &self.waiter);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::scheduler::ends::tests::scheduler;

    #[test]
    fn a_waiter_that_gives_up_is_removed_from_its_list() {
        for what in [Ended::Tasks, Ended::Workers] {
            let mut scheduler = scheduler(1);
            let (one, two) = (Waiter::thread(), Waiter::thread());
            scheduler.queue.push(0);
            for waiter in [&one, &two] {
                scheduler.await_end(what, waiter);
            }
            scheduler.no_longer_await(what, &one);
            let left = &scheduler.awaiting_ends[what as usize];
            assert!(left.len() == 1 && left.first().is_some_and(|left| Arc::ptr_eq(left, &two)));
        }
    }
}
