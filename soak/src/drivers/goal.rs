//! A goal: something that one holder has, and futures wait for.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::mpsc;

use formic::{AsyncFnPool, AsyncPool, BuildError, Control, Pool, Semaphore, SemaphorePermit};
use tokio::sync::oneshot;

use super::futures::Ground;

/// What a future waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// A permit of a semaphore.
    Permit,
    /// A permit of a `Pool`.
    Admission,
    /// A permit of an `AsyncPool`.
    AsyncAdmission,
    /// A place for a future that it submits to an `AsyncPool`.
    Submission,
    /// A place for a call of an `AsyncFnPool`, and its result.
    Call,
    /// A pool without tasks.
    Idleness,
    /// The end of a pool.
    End,
}

impl For {
    pub(super) const ALL: [For; 7] = [
        For::Permit,
        For::Admission,
        For::AsyncAdmission,
        For::Submission,
        For::Call,
        For::Idleness,
        For::End,
    ];

    /// Whether the next future goes on waiting while one holds what it got.
    pub(super) fn is_exclusive(self) -> bool {
        matches!(self, For::Permit | For::Admission | For::AsyncAdmission)
    }
}

/// Anything that is held until it is dropped.
pub(super) trait Held {}

impl<T> Held for T {}

/// A future that waits. It is ready with what it got, or with none if it is refused.
pub(super) type Wait<'a> = Pin<Box<dyn Future<Output = Option<Box<dyn Held + 'a>>> + 'a>>;

/// An argument: what a call waits for before it returns.
type UntilDropped = Option<oneshot::Receiver<()>>;

enum Subject {
    Semaphore(Semaphore),
    Threads(Pool),
    Futures(AsyncPool),
    Function(AsyncFnPool<UntilDropped, ()>),
}

/// See the module's first line.
pub(super) struct Goal {
    wanted: For,
    subject: Subject,
    /// Dropped, it makes room for those that wait.
    taken: Cell<Option<Box<dyn Held>>>,
}

impl Goal {
    /// A goal with one place, which is taken.
    pub(super) fn taken(wanted: For, ground: &Ground) -> Result<Self, BuildError> {
        let (subject, taken): (_, Box<dyn Held>) = match wanted {
            For::Permit => {
                let semaphore = Semaphore::new(1);
                let permit = semaphore.acquire(1).map(SemaphorePermit::into_owned);
                (Subject::Semaphore(semaphore), Box::new(permit))
            }
            For::Admission | For::Idleness | For::End => {
                let pool = Pool::builder().workers(1).queue(0).build()?;
                let (release, released) = mpsc::channel::<()>();
                drop(pool.submit(move || _ = released.recv()));
                (Subject::Threads(pool), Box::new(release))
            }
            For::AsyncAdmission | For::Submission => {
                let pool = ground.give(AsyncPool::builder().workers(1).queue(0)).build()?;
                let (release, released) = oneshot::channel::<()>();
                drop(pool.try_submit(async move { drop(released.await) }));
                (Subject::Futures(pool), Box::new(release))
            }
            For::Call => {
                let builder = ground.give(AsyncFnPool::builder().workers(1).queue(0));
                let pool = builder.build(|released: UntilDropped| async move {
                    if let Some(released) = released {
                        drop(released.await);
                    }
                })?;
                let (release, released) = oneshot::channel::<()>();
                drop(pool.try_submit(Some(released)));
                (Subject::Function(pool), Box::new(release))
            }
        };
        Ok(Goal { wanted, subject, taken: Cell::new(Some(taken)) })
    }

    /// A future that waits from its first poll on.
    pub(super) fn wait(&self) -> Wait<'_> {
        match (&self.subject, self.wanted) {
            (Subject::Semaphore(semaphore), _) => {
                Box::pin(async { held(semaphore.acquire_async(1).await) })
            }
            (Subject::Threads(pool), For::Idleness) => {
                Box::pin(async { held(pool.wait_idle_async().await) })
            }
            (Subject::Threads(pool), For::End) => {
                Box::pin(async { held(pool.drain_async().await) })
            }
            (Subject::Threads(pool), _) => Box::pin(async { held(pool.admit_async().await) }),
            (Subject::Futures(pool), For::Submission) => {
                Box::pin(async { held(pool.submit(async {}).await) })
            }
            (Subject::Futures(pool), _) => Box::pin(async { held(pool.admit().await) }),
            (Subject::Function(pool), _) => Box::pin(async { held(pool.call(None).await) }),
        }
    }

    /// How many wait, where that is told.
    pub(super) fn waiting(&self) -> Option<usize> {
        match (&self.subject, self.wanted) {
            (Subject::Semaphore(semaphore), _) => Some(semaphore.waiting()),
            (_, For::Idleness | For::End) => None,
            _ => self.control().map(Control::waiting),
        }
    }

    /// Refuses those that wait.
    pub(super) fn close(&self) {
        match &self.subject {
            Subject::Semaphore(semaphore) => semaphore.close(),
            _ => self.control().into_iter().for_each(Control::close),
        }
    }

    /// Refuses those that wait because they want more than there is, or closes.
    pub(super) fn make_too_small(&self) {
        match &self.subject {
            Subject::Semaphore(semaphore) => semaphore.resize(0),
            _ => self.close(),
        }
    }

    /// Makes room for those that wait.
    pub(super) fn release(&self) {
        drop(self.taken.take());
    }

    /// Ends it, and says what is left of it.
    pub(super) fn end(self) -> Option<String> {
        self.release();
        if let Subject::Semaphore(semaphore) = &self.subject {
            let left = semaphore.waiting() > 0 || semaphore.available() != semaphore.size();
            return left.then(|| format!("no future is left, and {semaphore:?}"));
        }
        let control = self.control()?;
        let (drained, stats) = (control.blocking_drain(), control.stats());
        let left = drained.is_err() || stats.waiting + stats.queued + stats.busy > 0;
        left.then(|| format!("no future is left, and {stats:?}"))
    }

    fn control(&self) -> Option<&Control> {
        match &self.subject {
            Subject::Semaphore(_) => None,
            Subject::Threads(pool) => Some(pool),
            Subject::Futures(pool) => Some(pool),
            Subject::Function(pool) => Some(pool),
        }
    }
}

fn held<'a, T: 'a, E>(answer: Result<T, E>) -> Option<Box<dyn Held + 'a>> {
    answer.ok().map(|got| Box::new(got) as Box<dyn Held>)
}
