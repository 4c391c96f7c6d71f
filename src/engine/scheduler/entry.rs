//! The way in: a task is let in at once, after a wait, or comes back to its owner.

mod held;
mod waiting;

use std::sync::Arc;
use std::time::Instant;

use crate::engine::scheduler::core::{Actions, Scheduler};
use crate::engine::scheduler::gate::{Admission, DOZE};
use crate::engine::sync::MutexGuard;
use crate::engine::wait::{Verdict, WaitMode, Waiter, park_until};
use crate::engine::{Engine, NoStart, Work};
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
}

/// A refusal, with the task if there was one.
type Back<J> = (Option<J>, Refused);

/// What came of asking for a place.
enum Asked<'a, J> {
    /// There is a place, as long as the lock is held.
    Entered(MutexGuard<'a, Scheduler<J>>, Option<J>),
    /// There is none, and the waiter has joined the queue for one, with its task.
    Waiting(Arc<Waiter>),
    RunHere(Option<J>),
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
            Ok(Asked::RunHere(job)) => Err((job, Refused::Full)),
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
        match self.ask(self.lock(), None, patience, Waiter::thread) {
            Ok(Asked::Entered(scheduler, _)) => Ok(self.hold(scheduler, most)),
            Ok(Asked::RunHere(_)) => Err(Refused::Full),
            Ok(Asked::Waiting(waiter)) => match self.await_verdict(&waiter, patience) {
                Ok(()) => Ok(Held::new(self, 1).widen(most)),
                Err((_, refused)) => Err(refused),
            },
            Err((_, refused)) => Err(refused),
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

    /// Holds the place that the caller may enter, and others that are free, up to `most` together.
    fn hold(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        most: usize,
    ) -> Held<'_, W> {
        scheduler.hold_place();
        let more = if most > 1 { scheduler.hold_free_places(most - 1) } else { 0 };
        Held::new(self, 1 + more)
    }

    fn ask<'a>(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'a, Scheduler<W::Job>>,
        job: Option<W::Job>,
        patience: Patience,
        waiter: impl FnOnce() -> Arc<Waiter>,
    ) -> Result<Asked<'a, W::Job>, Back<W::Job>> {
        let mut admission = scheduler.admission();
        if admission == Admission::Unmanned {
            if let Err(error) = self.start_first(&mut scheduler) {
                let refused = match error {
                    NoStart::Thread(_) => Refused::NoWorker,
                    NoStart::RuntimeGone => Refused::RuntimeGone,
                };
                return Err(refuse(&mut scheduler, job, refused, patience));
            }
            admission = scheduler.admission();
        }
        let may_wait = scheduler.may_wait();
        let refused = match (admission, patience) {
            (Admission::Enter, _) => return Ok(Asked::Entered(scheduler, job)),
            (Admission::Closed, _) => scheduler.refusal(),
            _ if patience.would_wait() && self.is_let_through(&scheduler, patience) => {
                return Ok(Asked::Entered(scheduler, job));
            }
            (_, Patience::Until(_)) if may_wait && !W::may_block() => Refused::InRuntime,
            (_, Patience::Until(_) | Patience::Future) if may_wait => {
                return Ok(queue_up(scheduler, waiter(), job));
            }
            (_, Patience::RunHere) => return Ok(Asked::RunHere(job)),
            _ => Refused::Full,
        };
        Err(refuse(&mut scheduler, job, refused, patience))
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
        match verdict {
            Verdict::Granted => Ok(()),
            Verdict::Closed => {
                let mut scheduler = self.lock();
                Err((scheduler.reclaim(waiter), scheduler.refusal()))
            }
        }
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
            let rest = (wait_mode == WaitMode::Dozing).then_some(DOZE);
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

fn queue_up<'a, J>(
    mut scheduler: MutexGuard<'a, Scheduler<J>>,
    waiter: Arc<Waiter>,
    job: Option<J>,
) -> Asked<'a, J> {
    scheduler.queue_up(Arc::clone(&waiter), job);
    Asked::Waiting(waiter)
}

fn refuse<J>(
    scheduler: &mut Scheduler<J>,
    job: Option<J>,
    refused: Refused,
    patience: Patience,
) -> Back<J> {
    if patience != Patience::Elsewhere {
        scheduler.gate.refused += 1;
    }
    (job, refused)
}
