//! Futures that wait for a place.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Asked, Held, Patience};
use crate::engine::wait::{Verdict, Waiter};
use crate::engine::{Engine, Work};
use crate::error::Refused;

impl<W: Work> Engine<W> {
    /// Holds a place as soon as there is one, and with it others that are free, up to `most` together.
    pub(crate) fn admit_async(self: &Arc<Self>, most: usize) -> Admit<'_, W> {
        Admit { engine: self, waiter: None, most }
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
}

/// A future that is ready when places are held, or refused. Dropped, it leaves the queue, and a place it was
/// given meanwhile goes to the next.
pub(crate) struct Admit<'a, W: Work> {
    engine: &'a Arc<Engine<W>>,
    waiter: Option<Arc<Waiter>>,
    most: usize,
}

impl<'a, W: Work> Admit<'a, W> {
    /// Asks for a place for the first time.
    fn ask(&mut self, context: &Context<'_>) -> Poll<Result<Held<'a, W>, Refused>> {
        let (engine, most) = (self.engine, self.most);
        // To clone a waker calls a user's code, so it is done without the lock.
        let waiter = Waiter::future(context.waker());
        match engine.ask(engine.lock(), None, Patience::Future, || waiter) {
            Ok(Asked::Entered(scheduler, _)) => Poll::Ready(Ok(engine.hold(scheduler, most))),
            Ok(Asked::Waiting(waiter)) => {
                self.waiter = Some(waiter);
                Poll::Pending
            }
            Ok(Asked::RunHere(_)) => Poll::Ready(Err(Refused::Full)),
            Err((_, refused)) => Poll::Ready(Err(refused)),
        }
    }
}

impl<'a, W: Work> Future for Admit<'a, W> {
    type Output = Result<Held<'a, W>, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (engine, most) = (self.engine, self.most);
        let Some(waiter) = &self.waiter else { return self.ask(context) };
        // First the waker, then the look: a verdict that comes later wakes it.
        waiter.set_waker(context.waker());
        let Some(verdict) = waiter.verdict() else { return Poll::Pending };
        self.waiter = None;
        Poll::Ready(match verdict {
            Verdict::Granted => Ok(Held::new(engine, 1).widen(most)),
            Verdict::Closed => {
                let mut scheduler = engine.lock();
                scheduler.gate.refused += 1;
                Err(scheduler.refusal())
            }
        })
    }
}

impl<W: Work> Drop for Admit<'_, W> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        let verdict = self.engine.decide(|scheduler, actions| scheduler.withdraw(&waiter, actions));
        if verdict.is_ok_and(|verdict| verdict == Verdict::Granted) {
            drop(Held::new(self.engine, 1));
        }
    }
}
