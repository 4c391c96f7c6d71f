//! The way in: a task is let in at once, after a wait, or comes back to its owner.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::crew::{Acts, Crew};
use super::gate::Admission;
use super::run::End;
use super::sync::{MutexGuard, thread};
use super::wait::{Verdict, Waiter, park_until};
use super::{Engine, Work};
use crate::error::Refused;

/// What a submitter does when there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It takes the refusal.
    None,
    /// It waits, if need be until the given time.
    Until(Option<Instant>),
    /// It runs the task itself.
    RunHere,
}

/// What came of asking for a place.
enum Asked<'a, J> {
    /// There is a place, as long as the lock is held.
    Entered(MutexGuard<'a, Crew<J>>),
    /// There is none, and the waiter has joined the queue for one.
    Waiting(Arc<Waiter>),
    RunHere,
}

impl<W: Work> Engine<W> {
    /// Puts a job into the line, or gives it back with the reason.
    #[inline]
    pub(crate) fn submit(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        let crew = self.lock();
        if crew.is_clear() {
            self.put(crew, job);
            return Ok(());
        }
        drop(crew);
        self.submit_slowly(job, patience)
    }

    #[cold]
    #[inline(never)]
    fn submit_slowly(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        match self.ask(patience, Waiter::thread) {
            Ok(Asked::Entered(crew)) => self.put(crew, job),
            Ok(Asked::RunHere) => self.run_here(job),
            Ok(Asked::Waiting(waiter)) => match self.wait_for_place(&waiter, patience) {
                Ok(held) => held.put(job),
                Err(refused) => return Err((job, refused)),
            },
            Err(refused) => return Err((job, refused)),
        }
        Ok(())
    }

    /// Holds a place, now or after a wait.
    pub(crate) fn admit(self: &Arc<Self>, patience: Patience) -> Result<Held<'_, W>, Refused> {
        match self.ask(patience, Waiter::thread)? {
            Asked::Entered(crew) => Ok(self.hold(crew)),
            Asked::Waiting(waiter) => self.wait_for_place(&waiter, patience),
            Asked::RunHere => Err(Refused::Full),
        }
    }

    /// Holds a place as soon as there is one.
    pub(crate) fn admit_async(self: &Arc<Self>) -> Admit<'_, W> {
        Admit { engine: self, waiter: None }
    }

    /// Puts a job into the line, for which there is a place, and calls a worker if need be.
    #[inline]
    fn put(self: &Arc<Self>, mut crew: MutexGuard<'_, Crew<W::Job>>, job: W::Job) {
        crew.line.push(job);
        if !crew.roster.quiet {
            let mut acts = Acts::default();
            crew.call_for_help(&mut acts);
            drop(crew);
            self.perform(acts);
        }
    }

    fn hold(self: &Arc<Self>, mut crew: MutexGuard<'_, Crew<W::Job>>) -> Held<'_, W> {
        crew.hold_place();
        Held { engine: self }
    }

    fn ask(
        self: &Arc<Self>,
        patience: Patience,
        waiter: impl FnOnce() -> Arc<Waiter>,
    ) -> Result<Asked<'_, W::Job>, Refused> {
        let mut crew = self.lock();
        let mut admission = crew.admission();
        if admission == Admission::Unmanned {
            if self.start_first(&mut crew).is_err() {
                crew.gate.refused += 1;
                return Err(Refused::NoWorker);
            }
            admission = crew.admission();
        }
        let refused = match (admission, patience) {
            (Admission::Enter, _) => return Ok(Asked::Entered(crew)),
            (Admission::Closed, _) => Refused::Closed,
            (Admission::Scarce, Patience::None | Patience::RunHere) => {
                return Ok(Asked::Entered(crew));
            }
            (Admission::Scarce, Patience::Until(_)) if !crew.may_wait() => {
                return Ok(Asked::Entered(crew));
            }
            (_, Patience::RunHere) => return Ok(Asked::RunHere),
            // A worker never waits at its own gate: the place it would wait for may be its own.
            (_, Patience::Until(_)) if self.is_inside() => return Ok(Asked::Entered(crew)),
            (_, Patience::Until(_)) => {
                let waiter = waiter();
                match crew.queue_up(Arc::clone(&waiter)) {
                    Ok(()) => return Ok(Asked::Waiting(waiter)),
                    Err(refused) => refused,
                }
            }
            (_, Patience::None) => Refused::Full,
        };
        crew.gate.refused += 1;
        Err(refused)
    }

    /// Waits until the waiter has a verdict, or until the submitter's time is over.
    fn wait_for_place(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        patience: Patience,
    ) -> Result<Held<'_, W>, Refused> {
        let deadline = match patience {
            Patience::Until(deadline) => deadline,
            _ => None,
        };
        let look = self.lock().should_look_at_gate();
        let verdict = if look { waiter.look() } else { None };
        match verdict.or_else(|| self.rest_at_gate(waiter, deadline)) {
            Some(Verdict::Granted) => Ok(Held { engine: self }),
            Some(Verdict::Closed) => Err(Refused::Closed),
            None => Err(Refused::TimedOut),
        }
    }

    fn rest_at_gate(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        deadline: Option<Instant>,
    ) -> Option<Verdict> {
        let mut progress = None;
        loop {
            let mut acts = Acts::default();
            let rest = self.lock().rest_at_gate(waiter, &mut progress, &mut acts);
            self.perform(acts);
            if let Some(verdict) = waiter.verdict() {
                return Some(verdict);
            }
            if !park_until(deadline, rest) {
                return self.give_up(waiter);
            }
        }
    }

    /// The submitter's time is over, unless it has a verdict after all.
    fn give_up(self: &Arc<Self>, waiter: &Arc<Waiter>) -> Option<Verdict> {
        let mut acts = Acts::default();
        let mut crew = self.lock();
        let verdict = crew.withdraw(waiter, &mut acts);
        if verdict.is_none() {
            crew.gate.refused += 1;
        }
        drop(crew);
        self.perform(acts);
        verdict
    }

    /// Runs a job on the calling thread, which is no worker and takes no worker's place.
    fn run_here(&self, job: W::Job) {
        let thread = thread::current();
        let name = thread.name().unwrap_or("<unnamed>");
        let origin = W::origin(&job);
        let end = self.hooks().run(name, origin, || {
            self.work.run(&mut self.work.prepare(), job);
        });
        let mut crew = self.lock();
        match end {
            End::Completed => crew.run_by_callers.completed += 1,
            End::Panicked => crew.run_by_callers.panicked += 1,
        }
    }
}

/// A place at the gate that is held for a task to come.
pub(crate) struct Held<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
}

impl<W: Work> Held<'_, W> {
    /// Puts a job into the place.
    pub(crate) fn put(self, job: W::Job) {
        let held = ManuallyDrop::new(self);
        let mut crew = held.engine.lock();
        crew.release_place();
        held.engine.put(crew, job);
    }
}

impl<W: Work> Drop for Held<'_, W> {
    fn drop(&mut self) {
        let mut acts = Acts::default();
        let mut crew = self.engine.lock();
        crew.release_place();
        crew.serve_waiters(&mut acts);
        crew.call_last_to_go(&mut acts);
        drop(crew);
        self.engine.perform(acts);
    }
}

/// A future that is ready when a place is held, or refused. Dropped, it leaves the queue, and a
/// place it was given meanwhile goes to the next.
pub(crate) struct Admit<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    waiter: Option<Arc<Waiter>>,
}

impl<'a, W: Work> Future for Admit<'a, W> {
    type Output = Result<Held<'a, W>, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let engine = self.engine;
        let Some(waiter) = &self.waiter else {
            let wait = Patience::Until(None);
            return match engine.ask(wait, || Waiter::future(context.waker())) {
                Ok(Asked::Entered(crew)) => Poll::Ready(Ok(engine.hold(crew))),
                Ok(Asked::Waiting(waiter)) => {
                    self.waiter = Some(waiter);
                    Poll::Pending
                }
                Ok(Asked::RunHere) => Poll::Ready(Err(Refused::Full)),
                Err(refused) => Poll::Ready(Err(refused)),
            };
        };
        // First the waker, then the look: a verdict that comes later wakes it.
        waiter.set_waker(context.waker());
        let Some(verdict) = waiter.verdict() else {
            return Poll::Pending;
        };
        self.waiter = None;
        Poll::Ready(match verdict {
            Verdict::Granted => Ok(Held { engine }),
            Verdict::Closed => Err(Refused::Closed),
        })
    }
}

impl<W: Work> Drop for Admit<'_, W> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        let mut acts = Acts::default();
        let verdict = self.engine.lock().withdraw(&waiter, &mut acts);
        self.engine.perform(acts);
        if verdict == Some(Verdict::Granted) {
            drop(Held { engine: self.engine });
        }
    }
}
