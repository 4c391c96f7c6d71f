//! Waiting for an end: until nothing is left to do, or until a pool is drained.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::engine::actions::Actions;
use crate::engine::scheduler::core::{Phase, Scheduler};
use crate::engine::spin::look;
use crate::engine::wait::{Verdict, Waiter, is_over, park_until, this_thread};
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
        (what == Ended::Tasks || self.is_closed()) && self.would_end(what)
    }

    /// Whether the end has come once the pool is closed.
    fn would_end(&self, what: Ended) -> bool {
        (what == Ended::Tasks || self.worker_table.workers() == 0) && self.is_over()
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

    fn those_awaiting(&mut self, what: Ended) -> &mut WaitList<Arc<Waiter>> {
        match what {
            Ended::Tasks => &mut self.idlers,
            Ended::Workers => &mut self.drainers,
        }
    }

    fn await_end(&mut self, what: Ended, waiter: &Arc<Waiter>) {
        let those_awaiting = self.those_awaiting(what);
        waiter.set_key(those_awaiting.next_key());
        those_awaiting.push(Arc::clone(waiter));
        self.heed_waiters();
    }

    fn no_longer_await(&mut self, what: Ended, waiter: &Arc<Waiter>) {
        self.those_awaiting(what).remove(waiter.key());
        self.heed_waiters();
    }

    /// An error if a thread would block for an end that must not block.
    fn check_block(&self, what: Ended, may_block: bool) -> Result<(), StillRunning> {
        if may_block || self.would_end(what) {
            return Ok(());
        }
        let instead = match what {
            Ended::Tasks => "wait_idle_async",
            Ended::Workers => "drain_async",
        };
        Err(StillRunning { cause: Cause::InRuntime(instead), ..self.still_running() })
    }
}

impl<W: Work> Engine<W> {
    /// An error if a wait for the end of the pool would be refused that takes some time.
    pub(crate) fn check_drain(&self) -> Result<(), StillRunning> {
        self.check_outside(Ended::Workers)?;
        self.lock().check_block(Ended::Workers, W::may_block())
    }

    /// Waits for an end; closes the pool first if that is the end of its workers. Says what is left if the end does not
    /// come in time, or if the calling thread cannot wait for it: the thread runs one of the tasks that it would wait
    /// for, or polls for a runtime. Then the pool is not closed.
    pub(crate) fn wait_until(
        self: &Arc<Self>,
        what: Ended,
        deadline: Option<Instant>,
    ) -> Result<(), StillRunning> {
        let may_block = is_over(deadline) || W::may_block();
        let mut end = UntilEnd { engine: self, what, may_block, waiter: None };
        if end.begin(&this_thread())? || look(|| end.has_ended().then_some(())).is_some() {
            return end.end();
        }
        while !end.has_ended() {
            if !park_until(deadline, None) {
                return end.give_up();
            }
        }
        end.end()
    }

    /// As [`Engine::wait_until`], for a future. The pool is closed when it is first polled.
    pub(crate) fn until(self: &Arc<Self>, what: Ended) -> UntilEnd<'_, W> {
        UntilEnd { engine: self, what, may_block: true, waiter: None }
    }

    /// An error if the calling thread would wait for itself: for a task that it runs, or, as a thread of the
    /// pool, for its own end.
    pub(crate) fn check_outside(&self, what: Ended) -> Result<(), StillRunning> {
        let is_worker = || what == Ended::Workers && self.threads.is_one();
        if !self.is_inside() && !is_worker() {
            return Ok(());
        }
        Err(StillRunning { cause: Cause::FromInside, ..self.lock().still_running() })
    }
}

/// A future that is ready when an end has come. Dropped, it waits no longer.
pub(crate) struct UntilEnd<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    what: Ended,
    may_block: bool,
    waiter: Option<Arc<Waiter>>,
}

impl<W: Work> UntilEnd<'_, W> {
    /// Joins those who wait, unless there is nothing to wait for: then true. If they wait for the end of the workers,
    /// the pool is closed in the same step: if another thread opened it again in between, the end would have come and
    /// gone unseen.
    fn begin(&mut self, waker: &Waker) -> Result<bool, StillRunning> {
        self.engine.check_outside(self.what)?;
        let waiter = Waiter::future(waker);
        let mut scheduler = self.engine.lock();
        scheduler.check_block(self.what, self.may_block)?;
        if self.what == Ended::Tasks && scheduler.is_over() {
            return Ok(true);
        }
        scheduler.await_end(self.what, &waiter);
        if self.what == Ended::Workers {
            self.engine.close_scheduler(scheduler, Phase::Closed);
        }
        let has_ended = waiter.verdict().is_some();
        self.waiter = Some(waiter);
        Ok(has_ended)
    }

    fn has_ended(&self) -> bool {
        self.waiter.as_ref().is_some_and(|waiter| waiter.verdict().is_some())
    }

    /// The time is over. Says what is left, unless the end has come after all.
    fn give_up(&self) -> Result<(), StillRunning> {
        let scheduler = self.engine.lock();
        if self.has_ended() {
            drop(scheduler);
            return self.end();
        }
        Err(scheduler.still_running())
    }

    /// The end has come: what is left of it is done.
    fn end(&self) -> Result<(), StillRunning> {
        if self.what == Ended::Workers {
            self.engine.threads.join_left();
        }
        Ok(())
    }
}

impl<W: Work> Future for UntilEnd<'_, W> {
    type Output = Result<(), StillRunning>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let has_ended = match &self.waiter {
            Some(waiter) => {
                waiter.set_waker(context.waker());
                waiter.verdict().is_some()
            }
            None => self.begin(context.waker())?,
        };
        if has_ended { Poll::Ready(self.end()) } else { Poll::Pending }
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
    fn a_waiter_that_gives_up_is_removed_from_its_list() {
        for what in [Ended::Tasks, Ended::Workers] {
            let mut scheduler = scheduler(1);
            let (one, two) = (Waiter::thread(), Waiter::thread());
            scheduler.queue.push(0);
            for waiter in [&one, &two] {
                scheduler.await_end(what, waiter);
            }
            scheduler.no_longer_await(what, &one);
            let left = scheduler.those_awaiting(what);
            assert!(left.len() == 1 && left.first().is_some_and(|left| Arc::ptr_eq(left, &two)));
        }
    }
}
