//! Futures that wait for a place.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Asked, Held, Patience};
use crate::engine::scheduler::core::Scheduler;
use crate::engine::sync::MutexGuard;
use crate::engine::wait::{Verdict, Waiter};
use crate::engine::{Engine, Work};
use crate::error::Refused;

impl<W: Work> Engine<W> {
    /// Holds a place as soon as there is one, and with it others that are free, up to `most` together.
    pub(crate) fn admit_async(self: &Arc<Self>, most: usize) -> Admit<'_, W> {
        Admit { gate: AtGate { engine: self, waiter: None }, most }
    }

    #[cfg(any(feature = "tokio", test))]
    /// Puts a job into the queue as soon as there is a place.
    pub(crate) fn enter(self: &Arc<Self>, job: W::Job) -> Enter<'_, W> {
        Enter { gate: AtGate { engine: self, waiter: None }, job: Some(job) }
    }
}

/// Asks for a place on behalf of a future. Dropped, it leaves the queue, and a place it was given
/// meanwhile goes to the next.
struct AtGate<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    waiter: Option<Arc<Waiter>>,
}

/// A place for a future.
enum Place<'a, W: Work> {
    /// As long as the lock is held.
    Now(MutexGuard<'a, Scheduler<W::Job>>),
    Held(Held<'a, W>),
}

impl<'a, W: Work> AtGate<'a, W> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Place<'a, W>, Refused>> {
        let engine = self.engine;
        let Some(waiter) = &self.waiter else {
            let scheduler = engine.lock();
            if scheduler.is_clear() {
                return Poll::Ready(Ok(Place::Now(scheduler)));
            }
            drop(scheduler);
            // To clone a waker calls a user's code, so it is done without the lock.
            let waiter = Waiter::future(context.waker());
            return match engine.ask(engine.lock(), None, Patience::Future, || waiter) {
                Ok(Asked::Entered(scheduler, _)) => Poll::Ready(Ok(Place::Now(scheduler))),
                Ok(Asked::Waiting(waiter)) => {
                    self.waiter = Some(waiter);
                    Poll::Pending
                }
                Ok(Asked::RunHere(_)) => Poll::Ready(Err(Refused::Full)),
                Err((_, refused)) => Poll::Ready(Err(refused)),
            };
        };
        // First the waker, then the look: a verdict that comes later wakes it.
        waiter.set_waker(context.waker());
        let Some(verdict) = waiter.verdict() else {
            return Poll::Pending;
        };
        self.waiter = None;
        Poll::Ready(match verdict {
            Verdict::Granted => Ok(Place::Held(Held::new(engine, 1))),
            Verdict::Closed => {
                let mut scheduler = engine.lock();
                scheduler.gate.refused += 1;
                Err(scheduler.refusal())
            }
        })
    }
}

impl<W: Work> Drop for AtGate<'_, W> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        let verdict = self.engine.decide(|scheduler, actions| scheduler.withdraw(&waiter, actions));
        if verdict.is_ok_and(|verdict| verdict == Verdict::Granted) {
            drop(Held::new(self.engine, 1));
        }
    }
}

/// A future that is ready when places are held, or refused.
pub(crate) struct Admit<'a, W: Work> {
    gate: AtGate<'a, W>,
    most: usize,
}

impl<'a, W: Work> Future for Admit<'a, W> {
    type Output = Result<Held<'a, W>, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (engine, most) = (self.gate.engine, self.most);
        self.gate.poll(context).map_ok(|place| match place {
            Place::Now(scheduler) => engine.hold(scheduler, most),
            Place::Held(held) => held.widen(most),
        })
    }
}

#[cfg(any(feature = "tokio", test))]
/// A future that is ready when its job is in the queue, or comes back. Dropped before, the job is
/// dropped with it.
pub(crate) struct Enter<'a, W: Work> {
    gate: AtGate<'a, W>,
    job: Option<W::Job>,
}

// A job is moved, never pinned.
#[cfg(any(feature = "tokio", test))]
impl<W: Work> Unpin for Enter<'_, W> {}

#[cfg(any(feature = "tokio", test))]
impl<W: Work> Future for Enter<'_, W> {
    type Output = Result<(), (W::Job, Refused)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Poll::Ready(place) = this.gate.poll(context) else { return Poll::Pending };
        let Some(job) = this.job.take() else {
            panic!("a future was polled after it had given its result")
        };
        Poll::Ready(match place {
            Ok(Place::Now(scheduler)) => {
                this.gate.engine.put(scheduler, job);
                Ok(())
            }
            Ok(Place::Held(held)) => {
                held.put(job);
                Ok(())
            }
            Err(refused) => Err((job, refused)),
        })
    }
}
