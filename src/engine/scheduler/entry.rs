//! The way in: a task is let in at once, after a wait, or comes back to its owner.

mod held;

use std::future::poll_fn;
use std::mem::replace;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::scheduler::core::{Actions, Scheduler};
use crate::engine::scheduler::gate::{Back, TIMED_PARK};
use crate::engine::sync::MutexGuard;
use crate::engine::wait::{Verdict, Waiter, waker};
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

impl<W: Work> Engine<W> {
    /// Puts a job into the queue, or gives it back with the reason.
    #[inline]
    pub(crate) fn submit(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        let scheduler = self.lock();
        let is_clear = scheduler.queue.published() < scheduler.gate.clear_until;
        if is_clear || self.is_let_through(&scheduler, patience) {
            self.put(scheduler, job);
            return Ok(());
        }
        match self.enter_slowly(scheduler, Some(job), patience) {
            Err((Some(job), refused)) => Err((job, refused)),
            // Only a task that was asked for comes back, and it always does.
            Err((None, _)) | Ok(()) => Ok(()),
        }
    }

    /// A worker never waits at its own gate: the place it would wait for may be its own. Without a worker, a
    /// task is let through only after the first one has been started.
    fn is_let_through(&self, scheduler: &Scheduler<W::Job>, patience: Patience) -> bool {
        let waits = matches!(patience, Patience::Until(_) | Patience::Future);
        let may_not_wait = patience == Patience::Beyond || waits && self.is_inside();
        may_not_wait && !scheduler.is_closed() && scheduler.worker_table.present() > 0
    }

    /// Holds a place, now or after a wait, and with it others that are free, up to `most` together.
    pub(crate) fn admit(
        self: &Arc<Self>,
        most: usize,
        patience: Patience,
    ) -> Result<Held<'_, W>, Refused> {
        self.enter_slowly(self.lock(), None, patience).map_err(|(_, refused)| refused)?;
        Ok(Held::new(self, 1).widen(most))
    }

    /// Puts the job into the queue, or holds a place for one to come: now, or after a wait on the calling thread.
    #[inline(never)]
    fn enter_slowly(
        self: &Arc<Self>,
        scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        job: Option<W::Job>,
        patience: Patience,
    ) -> Result<(), Back<W::Job>> {
        let Some(waiter) = self.ask(scheduler, job, patience, Waiter::thread)? else {
            return Ok(());
        };
        let deadline = if let Patience::Until(deadline) = patience { deadline } else { None };
        let mut gathers = true;
        let rest = || {
            if replace(&mut gathers, false) {
                return Some(TIMED_PARK);
            }
            self.decide(|scheduler, actions| scheduler.rely_on(&waiter, actions));
            waiter.verdict().map(|_| Duration::ZERO)
        };
        waiter.wait(deadline, rest);
        self.leave_gate(&waiter)
    }

    /// As [`Engine::admit`], for a future. Dropped, it leaves the queue, and a place it was given meanwhile goes to the
    /// next.
    pub(crate) async fn admit_async(self: &Arc<Self>, most: usize) -> Result<Held<'_, W>, Refused> {
        // To clone a waker calls a user's code, so it is done without the lock.
        let waiter = Waiter::future(&waker().await);
        let asked = self.ask(self.lock(), None, Patience::Future, || waiter);
        if let Some(waiter) = asked.map_err(|(_, refused)| refused)? {
            let mut at_gate = AtGate { engine: self, waiter: Some(Arc::clone(&waiter)) };
            poll_fn(|context| waiter.poll(context)).await;
            at_gate.waiter = None;
            self.leave_gate(&waiter).map_err(|(_, refused)| refused)?;
        }
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
        let mut scheduler = self.lock();
        let room = scheduler.room_to_run().min(most);
        let places = scheduler.hold_free_places(room);
        // A job is made without the lock.
        drop(scheduler);
        Held::new(self, places).map(|place| place.put(job())).count()
    }

    /// Puts a job into the queue, for which there is a place, and calls a worker if need be.
    #[inline]
    pub(super) fn put(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        job: W::Job,
    ) {
        scheduler.queue.push(job);
        if !scheduler.worker_table.quiet {
            let mut actions = Actions::default();
            scheduler.call_for_help(&mut actions);
            drop(scheduler);
            self.perform(actions);
        }
    }

    /// Asks for a place, and joins the queue at the gate if the submitter may wait for one. If there is a place, the job
    /// takes it, or it is held.
    fn ask(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        job: Option<W::Job>,
        patience: Patience,
        waiter: impl FnOnce() -> Arc<Waiter>,
    ) -> Result<Option<Arc<Waiter>>, Back<W::Job>> {
        let mut admission = scheduler.admission();
        if admission == Err(Refused::NoWorker) {
            let started = self.start_first(&mut scheduler);
            admission = started.map_err(Refused::from).and_then(|()| scheduler.admission());
        }
        if admission == Err(Refused::Full) && self.is_let_through(&scheduler, patience) {
            admission = Ok(());
        }
        let refused = match (admission, patience) {
            (Ok(()), _) => {
                match job {
                    Some(job) => self.put(scheduler, job),
                    None => scheduler.hold_place(),
                }
                return Ok(None);
            }
            (Err(Refused::Full), Patience::Until(_) | Patience::Future) if scheduler.may_wait() => {
                if patience == Patience::Future || W::may_block() {
                    let waiter = waiter();
                    scheduler.queue_up(Arc::clone(&waiter), job);
                    return Ok(Some(waiter));
                }
                Refused::InRuntime
            }
            (Err(refused), _) => refused,
        };
        let is_run_here = (patience, refused) == (Patience::RunHere, Refused::Full);
        scheduler.gate.refused += u64::from(patience != Patience::Elsewhere && !is_run_here);
        Err((job, refused))
    }

    /// A submitter has its verdict, or its time is over. If it does not enter, it gets its task back.
    fn leave_gate(self: &Arc<Self>, waiter: &Waiter) -> Result<(), Back<W::Job>> {
        if waiter.verdict() == Some(Verdict::Granted) {
            return Ok(());
        }
        self.decide(|scheduler, actions| {
            scheduler.withdraw(waiter, actions).inspect_err(|_| scheduler.gate.refused += 1)
        })
    }
}

/// A future waits at the gate. Dropped, it leaves, and a place that it was given goes to the next.
struct AtGate<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    waiter: Option<Arc<Waiter>>,
}

impl<W: Work> Drop for AtGate<'_, W> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        let left = self.engine.decide(|scheduler, actions| scheduler.withdraw(&waiter, actions));
        if left.is_ok() {
            drop(Held::new(self.engine, 1));
        }
    }
}
