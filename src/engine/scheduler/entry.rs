//! The way in: a task is let in at once, after a wait, or comes back to its owner.

mod waiting;

use std::sync::Arc;
use std::time::Instant;

use crate::engine::scheduler::crew::{Acts, Crew};
use crate::engine::scheduler::gate::Admission;
use crate::engine::sync::{MutexGuard, thread};
use crate::engine::task::current::unheard;
use crate::engine::task::run::{Counts, contain};
use crate::engine::wait::{Verdict, Waiter, park_until};
use crate::engine::{Engine, NoStart, ThreadWork, Work};
use crate::error::Refused;

pub(crate) use self::waiting::Held;

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
    Entered(MutexGuard<'a, Crew<J>>, Option<J>),
    /// There is none, and the waiter has joined the queue for one, with its task.
    Waiting(Arc<Waiter>),
    RunHere(Option<J>),
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
        if crew.is_clear() || (patience.would_wait() && self.is_let_through(&crew, patience)) {
            self.put(crew, job);
            return Ok(());
        }
        self.submit_slowly(crew, job, patience)
    }

    /// A worker never waits at its own gate: the place it would wait for may be its own. Without a worker, a
    /// task is let through only after the first one has been started.
    fn is_let_through(&self, crew: &Crew<W::Job>, patience: Patience) -> bool {
        let may_not_wait = patience == Patience::Beyond || self.is_inside();
        may_not_wait && !crew.is_closed() && crew.roster.present() > 0
    }

    #[cold]
    #[inline(never)]
    fn submit_slowly(
        self: &Arc<Self>,
        crew: MutexGuard<'_, Crew<W::Job>>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        let back = match self.ask(crew, Some(job), patience, Waiter::thread) {
            Ok(Asked::Entered(crew, job)) => {
                if let Some(job) = job {
                    self.put(crew, job);
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

    /// Holds a place, now or after a wait.
    pub(crate) fn admit(self: &Arc<Self>, patience: Patience) -> Result<Held<'_, W>, Refused> {
        match self.ask(self.lock(), None, patience, Waiter::thread) {
            Ok(Asked::Entered(crew, _)) => Ok(self.hold(crew)),
            Ok(Asked::RunHere(_)) => Err(Refused::Full),
            Ok(Asked::Waiting(waiter)) => match self.await_verdict(&waiter, patience) {
                Ok(()) => Ok(Held { engine: self }),
                Err((_, refused)) => Err(refused),
            },
            Err((_, refused)) => Err(refused),
        }
    }

    /// Puts up to `most` more jobs into the line, as many as could run at once. How many that were.
    #[cfg(feature = "tokio")]
    pub(crate) fn offer(self: &Arc<Self>, most: usize, mut job: impl FnMut() -> W::Job) -> usize {
        let room = self.lock().room_to_run();
        // A job is made without the lock, so there may be no room for it after all.
        let enters = |_: &usize| {
            let job = job();
            let crew = self.lock();
            let enters = crew.room_to_run() > 0;
            if enters {
                self.put(crew, job);
            } else {
                drop(crew);
            }
            enters
        };
        (0..room.min(most)).take_while(enters).count()
    }

    /// Puts a job into the line that was promised a place. If whatever ran the drivers is no more,
    /// nobody will take it, so it is dropped.
    fn put_promised(self: &Arc<Self>, mut crew: MutexGuard<'_, Crew<W::Job>>, job: W::Job) {
        if crew.roster.workers() > 0 {
            return self.put(crew, job);
        }
        crew.line.push(job);
        drop(crew);
        self.discard();
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

    fn ask<'a>(
        self: &Arc<Self>,
        mut crew: MutexGuard<'a, Crew<W::Job>>,
        job: Option<W::Job>,
        patience: Patience,
        waiter: impl FnOnce() -> Arc<Waiter>,
    ) -> Result<Asked<'a, W::Job>, Back<W::Job>> {
        let mut admission = crew.admission();
        if admission == Admission::Unmanned {
            if let Err(error) = self.start_first(&mut crew) {
                let refused = match error {
                    NoStart::Thread(_) => Refused::NoWorker,
                    NoStart::RuntimeGone => Refused::RuntimeGone,
                };
                return Err(refuse(&mut crew, job, refused, patience));
            }
            admission = crew.admission();
        }
        let may_wait = crew.may_wait();
        let refused = match (admission, patience) {
            (Admission::Enter, _) => return Ok(Asked::Entered(crew, job)),
            (Admission::Closed, _) => crew.refusal(),
            _ if patience.would_wait() && self.is_let_through(&crew, patience) => {
                return Ok(Asked::Entered(crew, job));
            }
            (_, Patience::Until(_)) if may_wait && !W::may_block() => Refused::InRuntime,
            (_, Patience::Until(_) | Patience::Future) if may_wait => {
                return Ok(queue_up(crew, waiter(), job));
            }
            (_, Patience::RunHere) => return Ok(Asked::RunHere(job)),
            _ => Refused::Full,
        };
        Err(refuse(&mut crew, job, refused, patience))
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
            None => self.park_at_gate(waiter, deadline)?,
        };
        match verdict {
            Verdict::Granted => Ok(()),
            Verdict::Closed => {
                let mut crew = self.lock();
                Err((crew.reclaim(waiter), crew.refusal()))
            }
        }
    }

    fn park_at_gate(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        deadline: Option<Instant>,
    ) -> Result<Verdict, Back<W::Job>> {
        self.decide(|crew, acts| crew.park_at_gate(waiter, acts));
        loop {
            if let Some(verdict) = waiter.verdict() {
                return Ok(verdict);
            }
            if !park_until(deadline, None) {
                return self.give_up(waiter);
            }
        }
    }

    /// The submitter's time is over, unless it has a verdict after all.
    fn give_up(self: &Arc<Self>, waiter: &Arc<Waiter>) -> Result<Verdict, Back<W::Job>> {
        self.decide(|crew, acts| {
            crew.withdraw(waiter, acts).map_err(|job| {
                crew.gate.refused += 1;
                (job, Refused::TimedOut)
            })
        })
    }
}

impl<W: ThreadWork> Engine<W> {
    /// As [`Engine::submit`], for those who run the job themselves if the pool is full.
    #[inline]
    pub(crate) fn submit_or_run(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        match self.submit(job, patience) {
            Err((job, Refused::Full)) if patience == Patience::RunHere => {
                self.run_here(job);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Runs a job on the calling thread, which is no worker and takes no worker's place.
    pub(crate) fn run_here(self: &Arc<Self>, job: W::Job) {
        let thread = thread::current();
        let name = thread.name().unwrap_or("<unnamed>");
        let origin = W::origin(&job);
        let mut state = None;
        let end = unheard(|| {
            self.hooks().run(name, origin, || self.work.run(&mut state, job, Counts::Caller))
        });
        contain(|| drop(state));
        if let Some(end) = end.uncounted() {
            self.count(end, Counts::Caller);
        }
    }
}

fn queue_up<'a, J>(
    mut crew: MutexGuard<'a, Crew<J>>,
    waiter: Arc<Waiter>,
    job: Option<J>,
) -> Asked<'a, J> {
    crew.queue_up(Arc::clone(&waiter), job);
    Asked::Waiting(waiter)
}

fn refuse<J>(crew: &mut Crew<J>, job: Option<J>, refused: Refused, patience: Patience) -> Back<J> {
    if patience != Patience::Elsewhere {
        crew.gate.refused += 1;
    }
    (job, refused)
}
