//! A `Control` has no type parameter, because pools of every kind dereference to it: this trait hides what the workers
//! of its engine do. Everything else is in `Control`, once.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Ended, Engine, Limits, NoStart, Work, WorkerKind};
use crate::error::{ReopenError, StillRunning};
use crate::multi::load::Load;
use crate::stats::Stats;

/// What a `Control` asks of an engine; the engine's methods of the same names say what each one does.
pub(super) trait AnyEngine: Send + Sync {
    fn stats(&self) -> Stats;
    /// How many tasks are queued and running, and how many may be: none in a closed pool.
    fn load(&self) -> Load;
    fn is_closed(&self) -> bool;
    fn still_running(&self) -> StillRunning;
    fn limits(&self) -> Limits;
    /// More tasks than this cannot run at once.
    fn most(&self) -> usize;
    fn worker_kind(&self) -> WorkerKind;
    /// `blocks` says whether the calling thread is to be blocked meanwhile.
    fn check_wait(&self, what: Ended, blocks: bool) -> Ending;
    fn change_limits(self: Arc<Self>, change: &mut dyn FnMut(&mut Limits));
    fn prestart(self: Arc<Self>, workers: usize) -> Result<(), NoStart>;
    fn close(self: Arc<Self>);
    fn discard(self: Arc<Self>) -> usize;
    fn cancel_all(self: Arc<Self>) -> (usize, usize);
    fn reopen(self: Arc<Self>) -> Result<(), ReopenError>;
    fn wait_until(self: Arc<Self>, what: Ended, deadline: Option<Instant>) -> Ending;
    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>>;
}

/// How a wait for the end ended.
type Ending = Result<(), StillRunning>;

impl<W: Work> AnyEngine for Engine<W> {
    fn stats(&self) -> Stats {
        Engine::stats(self)
    }

    fn load(&self) -> Load {
        let ((queued, running), (places, _)) = (self.glance().tasks(), self.glance().places());
        Load::new((queued + running, places))
    }

    fn is_closed(&self) -> bool {
        Engine::is_closed(self)
    }

    fn still_running(&self) -> StillRunning {
        Engine::still_running(self)
    }

    fn limits(&self) -> Limits {
        Engine::limits(self)
    }

    fn most(&self) -> usize {
        W::MOST
    }

    fn worker_kind(&self) -> WorkerKind {
        self.work().worker_kind()
    }

    fn check_wait(&self, what: Ended, blocks: bool) -> Ending {
        Engine::check_wait(self, what, !blocks || W::may_block())
    }

    fn change_limits(self: Arc<Self>, change: &mut dyn FnMut(&mut Limits)) {
        Engine::change_limits(&self, change);
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

    fn cancel_all(self: Arc<Self>) -> (usize, usize) {
        Engine::cancel_all(&self)
    }

    fn reopen(self: Arc<Self>) -> Result<(), ReopenError> {
        Engine::reopen(&self)
    }

    fn wait_until(self: Arc<Self>, what: Ended, deadline: Option<Instant>) -> Ending {
        Engine::wait_until(&self, what, deadline)
    }

    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>> {
        Box::pin(async move { Engine::until(&self, what).await })
    }
}
