//! An engine, whatever its workers do: what a `Control` holds.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Ended, Engine, Load, NoStart, Work};
use crate::error::{ReopenError, StillRunning};
use crate::stats::Stats;

/// An engine, whatever its workers do.
pub(super) trait Steer: Send + Sync {
    fn stats(&self) -> Stats;
    fn load(&self) -> Load;
    fn is_closed(&self) -> bool;
    fn minimum(&self) -> usize;
    fn most(&self) -> usize;
    fn check_outside(&self, what: Ended) -> Result<(), StillRunning>;
    #[cfg(feature = "tokio")]
    fn still_running(&self) -> StillRunning;
    fn resize(self: Arc<Self>, workers: usize);
    fn prestart(self: Arc<Self>, workers: usize) -> Result<(), NoStart>;
    fn close(self: Arc<Self>);
    fn discard(self: Arc<Self>) -> usize;
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

    fn load(&self) -> Load {
        Engine::load(self)
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
        Engine::check_outside(self, what)
    }

    #[cfg(feature = "tokio")]
    fn still_running(&self) -> StillRunning {
        Engine::still_running(self)
    }

    fn resize(self: Arc<Self>, workers: usize) {
        Engine::resize(&self, workers);
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

    fn reopen(self: Arc<Self>) -> Result<(), ReopenError> {
        Engine::reopen(&self)
    }

    fn drain(self: Arc<Self>, deadline: Option<Instant>) -> Ending {
        Engine::drain(&self, deadline)
    }

    fn wait_until(self: Arc<Self>, what: Ended, deadline: Option<Instant>) -> Ending {
        Engine::wait_until(&self, what, deadline)
    }

    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>> {
        Box::pin(async move { Engine::until(&self, what).await })
    }
}
