//! An engine, whatever its workers do: what a `Control` holds.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Cancelled;
use super::limits::check_minimum;
use super::size::check_capacity;
use crate::engine::{Ended, Engine, NoStart, Work, WorkerKind};
use crate::error::{BuildError, ReopenError, ResizeError, StillRunning};
use crate::stats::Stats;

/// An engine, whatever its workers do.
pub(super) trait Steer: Send + Sync {
    fn stats(&self) -> Stats;
    fn tasks_and_places(&self) -> (usize, usize);
    fn is_closed(&self) -> bool;
    fn minimum(&self) -> usize;
    fn most(&self) -> usize;
    fn check_outside(&self, what: Ended) -> Result<(), StillRunning>;
    fn check_drain(&self) -> Result<(), StillRunning>;
    fn still_running(&self) -> StillRunning;
    fn worker_kind(&self) -> WorkerKind;
    fn grows_by_load(&self) -> bool;
    fn is_preallocated(&self) -> bool;
    fn resize(self: Arc<Self>, workers: usize) -> Result<(), ResizeError>;
    fn set_queue(self: Arc<Self>, tasks: usize);
    fn set_waiters(self: Arc<Self>, submitters: usize);
    fn set_minimum(self: Arc<Self>, workers: usize) -> Result<(), BuildError>;
    fn set_keep_alive(self: Arc<Self>, time: Option<Duration>);
    fn prestart(self: Arc<Self>, workers: usize) -> Result<(), NoStart>;
    fn close(self: Arc<Self>);
    fn discard(self: Arc<Self>) -> usize;
    fn cancel_all(self: Arc<Self>) -> Cancelled;
    fn reopen(self: Arc<Self>) -> Result<(), ReopenError>;
    fn drain(self: Arc<Self>, deadline: Option<Instant>) -> Result<(), StillRunning>;
    fn wait_until(
        self: Arc<Self>,
        what: Ended,
        deadline: Option<Instant>,
    ) -> Result<(), StillRunning>;
    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>>;
}

/// How a wait for the end ended.
type Ending = Result<(), StillRunning>;

impl<W: Work> Steer for Engine<W> {
    fn stats(&self) -> Stats {
        Engine::stats(self)
    }

    fn tasks_and_places(&self) -> (usize, usize) {
        Engine::tasks_and_places(self)
    }

    fn is_closed(&self) -> bool {
        Engine::is_closed(self)
    }

    fn minimum(&self) -> usize {
        Engine::minimum(self)
    }

    fn most(&self) -> usize {
        W::MOST
    }

    fn check_outside(&self, what: Ended) -> Result<(), StillRunning> {
        self.check_wait(what, true)
    }

    fn check_drain(&self) -> Result<(), StillRunning> {
        self.check_wait(Ended::Workers, W::may_block())
    }

    fn still_running(&self) -> StillRunning {
        Engine::still_running(self)
    }

    fn worker_kind(&self) -> WorkerKind {
        self.work().worker_kind()
    }

    fn grows_by_load(&self) -> bool {
        Engine::settings(self).limits.growth.is_some()
    }

    fn is_preallocated(&self) -> bool {
        Engine::settings(self).limits.preallocate
    }

    fn resize(self: Arc<Self>, workers: usize) -> Result<(), ResizeError> {
        self.change_limits(|limits| {
            check_capacity(workers, limits.minimum, W::MOST)?;
            limits.capacity = workers;
            Ok(())
        })
    }

    fn set_queue(self: Arc<Self>, tasks: usize) {
        self.change_limits(|limits| limits.queue = tasks);
    }

    fn set_waiters(self: Arc<Self>, submitters: usize) {
        self.change_limits(|limits| limits.waiters = submitters);
    }

    fn set_minimum(self: Arc<Self>, workers: usize) -> Result<(), BuildError> {
        self.change_limits(|limits| {
            check_minimum(workers, limits.capacity.min(W::MOST))?;
            limits.minimum = workers;
            Ok::<(), BuildError>(())
        })?;
        Ok(Engine::prestart(&self, workers)?)
    }

    fn set_keep_alive(self: Arc<Self>, time: Option<Duration>) {
        self.change_limits(|limits| limits.keep_alive = time);
    }

    fn prestart(self: Arc<Self>, workers: usize) -> Result<(), NoStart> {
        Engine::prestart(&self, workers)
    }

    fn close(self: Arc<Self>) {
        Engine::close(&self);
    }

    fn discard(self: Arc<Self>) -> usize {
        Engine::discard(&self)
    }

    fn cancel_all(self: Arc<Self>) -> Cancelled {
        let (queued, running) = Engine::cancel_all(&self);
        match self.work().worker_kind() {
            WorkerKind::Threads => Cancelled { queued, futures: 0, asked: running },
            WorkerKind::Drivers(_) => Cancelled { queued, futures: running, asked: 0 },
        }
    }

    fn reopen(self: Arc<Self>) -> Result<(), ReopenError> {
        Engine::reopen(&self)
    }

    fn drain(self: Arc<Self>, deadline: Option<Instant>) -> Ending {
        Engine::wait_until(&self, Ended::Workers, deadline)
    }

    fn wait_until(self: Arc<Self>, what: Ended, deadline: Option<Instant>) -> Ending {
        Engine::wait_until(&self, what, deadline)
    }

    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>> {
        Box::pin(async move { Engine::until(&self, what).await })
    }
}
