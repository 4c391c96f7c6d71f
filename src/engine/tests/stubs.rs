//! What the tests of drivers, run queues and the watchdog share: a cell, an engine without a runtime, and a
//! waker that counts.

use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};
#[cfg(feature = "tokio")]
use std::time::Duration;

#[cfg(feature = "tokio")]
use crate::engine::context::{enter, set_short};
use crate::engine::executor::cell::{Cell, Runnable};
use crate::engine::executor::driver::Drives;
use crate::engine::executor::{DriverThreads, Executor};
use crate::engine::{End, Engine, Hooks, Limits, NoStart, Settings, Work, WorkerKind};
use crate::on_cancel::Cancels;

/// A cell of a future that does in each poll what the script says.
#[track_caller]
pub(crate) fn cell<S>(script: S) -> Arc<Cell<impl Future<Output = ()> + Send + use<S>>>
where
    S: FnMut(&mut Context<'_>) -> Poll<()> + Send + 'static,
{
    Cell::new(poll_fn(script), Location::caller())
}

/// Polls a cell once. A panic is told to no hook.
pub(crate) fn run(cell: Arc<dyn Runnable>) -> Option<End> {
    cell.run(&Cancels::default()).map(|end| end.unwrap_or(End::Panicked))
}

/// Futures whose drivers are turned by hand.
pub(crate) struct ByHand(Arc<Executor>);

impl Work for ByHand {
    type Job = Arc<dyn Runnable>;

    const MOST: usize = 1000;

    fn worker_kind(&self) -> WorkerKind {
        WorkerKind::Drivers(self.0.drivers())
    }

    fn start(_: &Arc<Engine<Self>>, _: usize) -> Result<(), NoStart> {
        Ok(())
    }
}

impl Drives for ByHand {
    fn executor(&self) -> &Arc<Executor> {
        &self.0
    }

    fn begin(_: &Arc<Engine<Self>>, _: usize, job: Self::Job) -> Result<Arc<dyn Runnable>, End> {
        Ok(job)
    }
}

/// With drivers that share a runtime's threads.
pub(crate) fn engine(drivers: usize, capacity: usize) -> Arc<Engine<ByHand>> {
    engine_on(Executor::new(drivers, DriverThreads::Shared), capacity)
}

pub(crate) fn engine_on(executor: Arc<Executor>, capacity: usize) -> Arc<Engine<ByHand>> {
    engine_with(executor, settings(capacity))
}

pub(crate) fn engine_with(executor: Arc<Executor>, settings: Settings) -> Arc<Engine<ByHand>> {
    Engine::new(settings, ByHand(executor))
}

pub(crate) fn settings(capacity: usize) -> Settings {
    let limits = Limits { capacity, queue: 100, waiters: usize::MAX, ..Limits::default() };
    Settings {
        limits,
        name: "by hand".into(),
        stack_size: None,
        hooks: Hooks::default(),
        faults: None,
    }
}

/// Calls this as a future would that is polled by a driver whose polls take so long.
#[cfg(feature = "tokio")]
pub(crate) fn as_polled<R>(time: Duration, call: impl FnOnce() -> R) -> R {
    let executor = Executor::new(1, DriverThreads::Shared);
    executor.poll_stats[0].note(1, time);
    let is_short = executor.poll_stats[0].is_short();
    let _inside = enter(engine_on(executor, 1) as _, false);
    set_short(is_short);
    call()
}

/// Counts how often a driver was woken.
#[derive(Default)]
pub(crate) struct Bell(AtomicUsize);

impl Bell {
    pub(crate) fn rung(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
