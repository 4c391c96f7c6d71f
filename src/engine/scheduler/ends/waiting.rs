//! Waiting for an end: until nothing is left to do, or until a pool is drained.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::engine::scheduler::core::{Actions, Phase, Scheduler};
use crate::engine::sync::MutexGuard;
use crate::engine::wait::{Verdict, WaitMode, Waiter, is_over, park_until};
use crate::engine::wait_list::WaitList;
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
        match what {
            Ended::Tasks => self.is_over(),
            Ended::Workers => self.is_closed() && self.would_end(),
        }
    }

    /// Whether the pool has ended once it is closed.
    fn would_end(&self) -> bool {
        self.worker_table.workers() == 0 && self.is_over()
    }

    /// Tells those who wait for an end, if it has come.
    pub(in crate::engine::scheduler) fn tell_ends(&mut self, actions: &mut Actions) {
        for what in [Ended::Tasks, Ended::Workers] {
            if !self.has_ended(what) {
                continue;
            }
            for waiter in self.those_awaiting(what).take_all() {
                if waiter.decide(Verdict::Granted) {
                    actions.wake.push(waiter);
                }
            }
        }
    }

    /// Joins those who wait for an end, unless it has come.
    fn await_end(&mut self, what: Ended, waiter: &Arc<Waiter>) -> bool {
        if self.has_ended(what) {
            return true;
        }
        self.join_those_awaiting(what, waiter);
        self.heed_waiters();
        false
    }

    fn join_those_awaiting(&mut self, what: Ended, waiter: &Arc<Waiter>) {
        let run_queue = self.those_awaiting(what);
        waiter.set_key(run_queue.next_key());
        run_queue.push(Arc::clone(waiter));
    }

    fn those_awaiting(&mut self, what: Ended) -> &mut WaitList<Arc<Waiter>> {
        match what {
            Ended::Tasks => &mut self.idlers,
            Ended::Workers => &mut self.drainers,
        }
    }

    fn no_longer_await(&mut self, what: Ended, waiter: &Arc<Waiter>) {
        self.those_awaiting(what).remove(waiter.key());
        self.heed_waiters();
    }
}

impl<W: Work> Engine<W> {
    /// An error if [`Engine::drain`] would be refused, for a wait that takes some time.
    pub(crate) fn check_drain(&self) -> Result<(), StillRunning> {
        self.check_outside(Ended::Workers)?;
        let scheduler = self.lock();
        if !W::may_block() && !scheduler.would_end() {
            return Err(in_runtime(&scheduler, Ended::Workers));
        }
        Ok(())
    }

    /// Closes the pool and waits until it has ended. Closes nothing if the wait would be refused.
    pub(crate) fn drain(self: &Arc<Self>, deadline: Option<Instant>) -> Result<(), StillRunning> {
        self.check_outside(Ended::Workers)?;
        let may_block = may_wait::<W>(deadline);
        let scheduler = self.lock();
        if !may_block && !scheduler.would_end() {
            return Err(in_runtime(&scheduler, Ended::Workers));
        }
        let waiter = Waiter::thread();
        self.close_and_await(scheduler, &waiter);
        self.wait(Ended::Workers, &waiter, deadline)
    }

    /// Closes the pool and joins those who wait for its end, in one step: if another thread opened the pool
    /// again in between, the end would have come and gone unseen.
    fn close_and_await(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        waiter: &Arc<Waiter>,
    ) {
        scheduler.join_those_awaiting(Ended::Workers, waiter);
        self.close_scheduler(scheduler, Phase::Closed);
    }

    /// Waits for an end. Says what is left if the end does not come in time, or if the calling thread cannot
    /// wait for it: the thread runs one of the tasks that it would wait for, or polls for a runtime.
    pub(crate) fn wait_until(
        self: &Arc<Self>,
        what: Ended,
        deadline: Option<Instant>,
    ) -> Result<(), StillRunning> {
        self.check_outside(what)?;
        if !may_wait::<W>(deadline) {
            let scheduler = self.lock();
            if !scheduler.has_ended(what) {
                return Err(in_runtime(&scheduler, what));
            }
        }
        let waiter = Waiter::thread();
        if self.lock().await_end(what, &waiter) {
            return self.end_wait(what);
        }
        self.wait(what, &waiter, deadline)
    }

    /// Waits for an end as one of those who wait for it.
    fn wait(
        self: &Arc<Self>,
        what: Ended,
        waiter: &Arc<Waiter>,
        deadline: Option<Instant>,
    ) -> Result<(), StillRunning> {
        if waiter.look().is_some() {
            return self.end_wait(what);
        }
        waiter_parks(self, waiter);
        while waiter.verdict().is_none() {
            if !park_until(deadline, None) {
                let mut scheduler = self.lock();
                if waiter.verdict().is_none() {
                    scheduler.no_longer_await(what, waiter);
                    return Err(scheduler.still_running());
                }
            }
        }
        self.end_wait(what)
    }

    /// The end has come: what is left of it is done.
    fn end_wait(&self, what: Ended) -> Result<(), StillRunning> {
        if what == Ended::Workers {
            self.join_left();
        }
        Ok(())
    }

    /// As [`Engine::wait_until`] for [`Ended::Tasks`], and as [`Engine::drain`] for [`Ended::Workers`], for a
    /// future. The pool is closed when it is first polled.
    pub(crate) fn until(self: &Arc<Self>, what: Ended) -> UntilEnd<'_, W> {
        UntilEnd { engine: self, what, waiter: None }
    }

    /// An error if the calling thread would wait for itself: for a task that it runs, or, as a thread of the
    /// pool, for its own end.
    pub(crate) fn check_outside(&self, what: Ended) -> Result<(), StillRunning> {
        let waits_for_itself = match what {
            Ended::Tasks => self.is_inside(),
            Ended::Workers => self.is_inside() || self.has_this_thread(),
        };
        if !waits_for_itself {
            return Ok(());
        }
        Err(StillRunning { cause: Cause::FromInside, ..self.lock().still_running() })
    }
}

/// Whether the calling thread may wait for tasks of such a pool until `deadline`.
fn may_wait<W: Work>(deadline: Option<Instant>) -> bool {
    is_over(deadline) || W::may_block()
}

fn in_runtime<J>(scheduler: &Scheduler<J>, what: Ended) -> StillRunning {
    let instead = match what {
        Ended::Tasks => "wait_idle_async",
        Ended::Workers => "drain_async",
    };
    StillRunning { cause: Cause::InRuntime(instead), ..scheduler.still_running() }
}

fn waiter_parks<W: Work>(engine: &Engine<W>, waiter: &Waiter) {
    let _scheduler = engine.lock();
    waiter.set_wait_mode(WaitMode::Parked);
}

/// A future that is ready when an end has come. Dropped, it waits no longer.
pub(crate) struct UntilEnd<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    what: Ended,
    waiter: Option<Arc<Waiter>>,
}

impl<W: Work> Future for UntilEnd<'_, W> {
    type Output = Result<(), StillRunning>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (engine, what) = (self.engine, self.what);
        let ended = if let Some(waiter) = &self.waiter {
            waiter.set_waker(context.waker());
            waiter.verdict().is_some()
        } else {
            engine.check_outside(what)?;
            let waiter = Waiter::future(context.waker());
            let ended = match what {
                Ended::Tasks => engine.lock().await_end(what, &waiter),
                Ended::Workers => {
                    engine.close_and_await(engine.lock(), &waiter);
                    waiter.verdict().is_some()
                }
            };
            self.waiter = Some(waiter);
            ended
        };
        if !ended {
            return Poll::Pending;
        }
        self.waiter = None;
        Poll::Ready(engine.end_wait(what))
    }
}

impl<W: Work> Drop for UntilEnd<'_, W> {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            self.engine.lock().no_longer_await(self.what, &waiter);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::scheduler::ends::tests::scheduler;

    #[test]
    fn a_waiter_that_gives_up_is_removed_from_its_run_queue() {
        for what in [Ended::Tasks, Ended::Workers] {
            let mut scheduler = scheduler(1);
            let (one, two) = (Waiter::thread(), Waiter::thread());
            scheduler.queue.push(0);
            assert!(!scheduler.await_end(what, &one) && !scheduler.await_end(what, &two));
            scheduler.no_longer_await(what, &one);
            let left = scheduler.those_awaiting(what);
            assert!(left.len() == 1 && left.first().is_some_and(|left| Arc::ptr_eq(left, &two)));
        }
    }
}
