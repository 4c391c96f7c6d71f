//! The way in: a task is let in at once, after a wait, or comes back to its owner.

mod held;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use crate::engine::scheduler::core::{Actions, Scheduler};
use crate::engine::scheduler::gate::{Admission, TIMED_PARK};
use crate::engine::sync::MutexGuard;
use crate::engine::wait::{Verdict, WaitMode, Waiter, park_until};
use crate::engine::{Engine, Work};
use crate::error::Refused;

pub(crate) use self::held::Held;

/// What a submitter does when there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It takes the refusal.
    None,
    /// It goes elsewhere, so that the task is not refused yet, and not counted as such.
    Elsewhere,
    /// A thread that waits, if need be until the given time.
    Until(Option<Instant>),
    /// A future that waits to be woken.
    Future,
    /// It runs the task itself.
    RunHere,
    /// It must not wait, because what it would wait for may wait for it: it enters beyond the bound.
    Beyond,
}

impl Patience {
    fn would_wait(self) -> bool {
        matches!(self, Patience::Until(_) | Patience::Future | Patience::Beyond)
    }

    /// Whether the task is refused for good.
    fn counts(self, refused: Refused) -> bool {
        match self {
            Patience::Elsewhere => false,
            Patience::RunHere => refused != Refused::Full,
            _ => true,
        }
    }
}

/// A refusal, with the task if there was one.
type Back<J> = (Option<J>, Refused);

impl<J> Scheduler<J> {
    /// The usual case: whether a task may enter without a closer look.
    #[inline]
    pub(super) fn is_clear(&self) -> bool {
        self.queue.published() < self.gate.clear_until
    }
}

/// What came of asking for a place.
enum Asked<'a, J> {
    /// There is a place, as long as the lock is held.
    Entered(MutexGuard<'a, Scheduler<J>>, Option<J>),
    /// There is none, and the waiter has joined the queue for one, with its task.
    Waiting(Arc<Waiter>),
}

impl<W: Work> Engine<W> {
    /// Puts a job into the queue, or gives it back with the reason.
    #[inline]
    pub(crate) fn submit(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        let scheduler = self.lock();
        if scheduler.is_clear()
            || (patience.would_wait() && self.is_let_through(&scheduler, patience))
        {
            self.put(scheduler, job);
            return Ok(());
        }
        self.submit_slowly(scheduler, job, patience)
    }

    /// A worker never waits at its own gate: the place it would wait for may be its own. Without a worker, a
    /// task is let through only after the first one has been started.
    fn is_let_through(&self, scheduler: &Scheduler<W::Job>, patience: Patience) -> bool {
        let may_not_wait = patience == Patience::Beyond || self.is_inside();
        may_not_wait && !scheduler.is_closed() && scheduler.worker_table.present() > 0
    }

    #[cold]
    #[inline(never)]
    fn submit_slowly(
        self: &Arc<Self>,
        scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        let back = match self.ask(scheduler, Some(job), patience, Waiter::thread) {
            Ok(Asked::Entered(scheduler, job)) => {
                if let Some(job) = job {
                    self.put(scheduler, job);
                }
                return Ok(());
            }
            Ok(Asked::Waiting(waiter)) => self.await_verdict(&waiter, patience),
            Err(back) => Err(back),
        };
        match back {
            // Only a task that was asked for comes back, and it always does.
            Err((Some(job), refused)) => Err((job, refused)),
            Err((None, _)) | Ok(()) => Ok(()),
        }
    }

    /// Holds a place, now or after a wait, and with it others that are free, up to `most` together.
    pub(crate) fn admit(
        self: &Arc<Self>,
        most: usize,
        patience: Patience,
    ) -> Result<Held<'_, W>, Refused> {
        let asked = self.ask(self.lock(), None, patience, Waiter::thread);
        let granted = match asked.map_err(reason)? {
            Asked::Entered(scheduler, _) => return Ok(Held::hold(self, scheduler, most)),
            Asked::Waiting(waiter) => self.await_verdict(&waiter, patience),
        };
        granted.map_err(reason)?;
        Ok(Held::new(self, 1).widen(most))
    }

    /// As [`Engine::admit`], for a future. Dropped, it leaves the queue, and a place it was given meanwhile goes to the
    /// next.
    pub(crate) async fn admit_async(self: &Arc<Self>, most: usize) -> Result<Held<'_, W>, Refused> {
        // To clone a waker calls a user's code, so it is done without the lock.
        let waiter = poll_fn(|context| Poll::Ready(Waiter::future(context.waker()))).await;
        let waiter = match self.ask(self.lock(), None, Patience::Future, || waiter) {
            Ok(Asked::Entered(scheduler, _)) => return Ok(Held::hold(self, scheduler, most)),
            Ok(Asked::Waiting(waiter)) => waiter,
            Err((_, refused)) => return Err(refused),
        };
        let mut at_gate = AtGate { engine: self, waiter: Some(Arc::clone(&waiter)) };
        let verdict = poll_fn(|context| {
            // First the waker, then the look: a verdict that comes later wakes it.
            waiter.set_waker(context.waker());
            waiter.verdict().map_or(Poll::Pending, Poll::Ready)
        });
        let verdict = verdict.await;
        at_gate.waiter = None;
        self.heed(&waiter, verdict).map_err(reason)?;
        Ok(Held::new(self, 1).widen(most))
    }

    /// Puts a job into the queue as soon as there is a place, or gives it back. Dropped before, the job is dropped
    /// with the future.
    #[cfg(any(feature = "tokio", test))]
    pub(crate) async fn enter(self: &Arc<Self>, job: W::Job) -> Result<(), (W::Job, Refused)> {
        // A refusal of the first attempt is not counted: the second one asks again, and waits.
        let Err((job, _)) = self.submit(job, Patience::Elsewhere) else { return Ok(()) };
        match self.admit_async(1).await {
            Ok(held) => {
                held.put(job);
                Ok(())
            }
            Err(refused) => Err((job, refused)),
        }
    }

    /// Puts up to `most` more jobs into the queue, as many as could run at once. How many that were.
    #[cfg(feature = "tokio")]
    pub(crate) fn offer(self: &Arc<Self>, most: usize, mut job: impl FnMut() -> W::Job) -> usize {
        let room = self.lock().room_to_run();
        // A job is made without the lock, so there may be no room for it after all.
        let enters = |_: &usize| {
            let job = job();
            let scheduler = self.lock();
            let enters = scheduler.room_to_run() > 0;
            if enters {
                self.put(scheduler, job);
            } else {
                drop(scheduler);
            }
            enters
        };
        (0..room.min(most)).take_while(enters).count()
    }

    /// Puts a job into the queue that was promised a place. If whatever ran the drivers is no more,
    /// no worker will take it, so it is dropped.
    fn put_promised(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        job: W::Job,
    ) {
        if scheduler.worker_table.workers() > 0 {
            return self.put(scheduler, job);
        }
        scheduler.queue.push(job);
        drop(scheduler);
        self.discard();
    }

    /// Puts a job into the queue, for which there is a place, and calls a worker if need be.
    #[inline]
    fn put(self: &Arc<Self>, mut scheduler: MutexGuard<'_, Scheduler<W::Job>>, job: W::Job) {
        scheduler.queue.push(job);
        if !scheduler.worker_table.quiet {
            let mut actions = Actions::default();
            scheduler.call_for_help(&mut actions);
            drop(scheduler);
            self.perform(actions);
        }
    }

    /// Asks for a place, and joins the queue at the gate if the submitter may wait for one.
    fn ask<'a>(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'a, Scheduler<W::Job>>,
        job: Option<W::Job>,
        patience: Patience,
        waiter: impl FnOnce() -> Arc<Waiter>,
    ) -> Result<Asked<'a, W::Job>, Back<W::Job>> {
        let mut admission = scheduler.admission();
        if admission == Admission::Unmanned {
            admission = match self.start_first(&mut scheduler) {
                Ok(()) => scheduler.admission(),
                Err(error) => Admission::Refused(error.into()),
            };
        }
        let may_wait = scheduler.may_wait();
        let refused = match (admission, patience) {
            (Admission::Enter, _) => return Ok(Asked::Entered(scheduler, job)),
            (Admission::Refused(refused), _) => refused,
            _ if patience.would_wait() && self.is_let_through(&scheduler, patience) => {
                return Ok(Asked::Entered(scheduler, job));
            }
            (_, Patience::Until(_)) if may_wait && !W::may_block() => Refused::InRuntime,
            (_, Patience::Until(_) | Patience::Future) if may_wait => {
                let waiter = waiter();
                scheduler.queue_up(Arc::clone(&waiter), job);
                return Ok(Asked::Waiting(waiter));
            }
            _ => Refused::Full,
        };
        scheduler.gate.refused += u64::from(patience.counts(refused));
        Err((job, refused))
    }

    /// Waits until the waiter has a verdict, or until the submitter's time is over.
    fn await_verdict(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        patience: Patience,
    ) -> Result<(), Back<W::Job>> {
        let deadline = match patience {
            Patience::Until(deadline) => deadline,
            _ => None,
        };
        let verdict = match waiter.look() {
            Some(verdict) => verdict,
            None => self.rest_at_gate(waiter, deadline)?,
        };
        self.heed(waiter, verdict)
    }

    /// A submitter that was sent away gets its task back.
    fn heed(&self, waiter: &Arc<Waiter>, verdict: Verdict) -> Result<(), Back<W::Job>> {
        if verdict == Verdict::Granted {
            return Ok(());
        }
        let mut scheduler = self.lock();
        Err((scheduler.reclaim(waiter), scheduler.refusal()))
    }

    fn rest_at_gate(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        deadline: Option<Instant>,
    ) -> Result<Verdict, Back<W::Job>> {
        let mut wait_mode = WaitMode::Looking;
        loop {
            if wait_mode != WaitMode::Parked {
                wait_mode =
                    self.decide(|scheduler, actions| scheduler.rest_at_gate(waiter, actions));
            }
            if let Some(verdict) = waiter.verdict() {
                return Ok(verdict);
            }
            let rest = (wait_mode == WaitMode::TimedPark).then_some(TIMED_PARK);
            if !park_until(deadline, rest) {
                return self.give_up(waiter);
            }
        }
    }

    /// The submitter's time is over, unless it has a verdict after all.
    fn give_up(self: &Arc<Self>, waiter: &Arc<Waiter>) -> Result<Verdict, Back<W::Job>> {
        self.decide(|scheduler, actions| {
            scheduler.withdraw(waiter, actions).map_err(|job| {
                scheduler.gate.refused += 1;
                (job, Refused::TimedOut)
            })
        })
    }
}

fn reason<J>((_, refused): Back<J>) -> Refused {
    refused
}

/// A future waits at the gate. Dropped, it leaves, and a place that it was given goes to the next.
struct AtGate<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    waiter: Option<Arc<Waiter>>,
}

impl<W: Work> Drop for AtGate<'_, W> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        let verdict = self.engine.decide(|scheduler, actions| scheduler.withdraw(&waiter, actions));
        if matches!(verdict, Ok(Verdict::Granted)) {
            drop(Held::new(self.engine, 1));
        }
    }
}
