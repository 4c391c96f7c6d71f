//! Running a task: call it, catch its panic, and tell the hook.
//!
//! A panic may come from a task, from the `Drop` of what it captured, from a hook, and from the
//! `Drop` of a panic's payload. None of them may end a worker, so all of them end here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use crate::engine::scheduler::lend::Guest;
use crate::error::TaskPanic;

type PanicHook = Arc<dyn Fn(&TaskPanic) + Send + Sync>;
type WorkerHook = Arc<dyn Fn(usize) + Send + Sync>;

/// What a user wants to be told.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_panic: Option<PanicHook>,
    pub(crate) on_worker_start: Option<WorkerHook>,
    pub(crate) on_worker_stop: Option<WorkerHook>,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum End {
    Completed,
    Panicked,
    /// It was not there any more: its handle had it cancelled, or run elsewhere.
    Tombstone,
    /// It was dropped while it ran.
    Cancelled,
    /// It completed, and has been counted.
    Counted,
    /// It panicked, and has been counted.
    CountedPanic,
}

/// Who counts a task that is counted before its outcome shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// It has a ticket of the queue.
    Ticket,
    #[cfg_attr(
        not(any(feature = "tokio", test)),
        expect(dead_code, reason = "for pools of futures")
    )]
    /// It has one, and a driver runs it.
    Driver,
    /// Its submitter runs it.
    Caller,
    /// The thread that joins it runs it, and its ticket is a tombstone.
    Guest(Guest),
    /// It was taken out of its turn for a lent place, and its ticket is a tombstone.
    Claimed,
}

impl End {
    pub(crate) fn is_panic(self) -> bool {
        matches!(self, End::Panicked | End::CountedPanic)
    }

    /// What has still to be counted.
    pub(crate) fn uncounted(self) -> Option<End> {
        (!matches!(self, End::Counted | End::CountedPanic)).then_some(self)
    }
}

impl Hooks {
    /// Runs a task of `origin` on the thread called `worker`.
    #[inline]
    pub(crate) fn run(
        &self,
        worker: &str,
        origin: Option<&'static Location<'static>>,
        task: impl FnOnce() -> End,
    ) -> End {
        match catch_unwind(AssertUnwindSafe(task)) {
            Ok(end) => end,
            Err(payload) => self.tell_panic(TaskPanic::new(payload, worker, origin)),
        }
    }

    /// Whether a user is told when workers start or end.
    pub(crate) fn tell_of_workers(&self) -> bool {
        self.on_worker_start.is_some() || self.on_worker_stop.is_some()
    }

    /// Tells that the thread called `worker` has started.
    pub(crate) fn tell_start(&self, worker: &str, index: usize) {
        if let Some(hook) = &self.on_worker_start {
            self.run_apart(worker, || hook(index));
        }
    }

    /// Tells that the thread called `worker` is about to end.
    pub(crate) fn tell_stop(&self, worker: &str, index: usize) {
        if let Some(hook) = &self.on_worker_stop {
            self.run_apart(worker, || hook(index));
        }
    }

    /// Calls something of a user's that belongs to no task, on the thread called `worker`, and tells of its
    /// panic.
    pub(crate) fn run_apart(&self, worker: &str, call: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
            let _: End = self.tell_panic(TaskPanic::new(payload, worker, None));
        }
    }

    /// Without a hook there is nothing to do: Rust printed the panic when it began.
    #[cold]
    pub(crate) fn tell_panic(&self, panic: TaskPanic) -> End {
        if let Some(hook) = &self.on_panic {
            contain(|| hook(&panic));
        }
        contain(|| drop(panic));
        End::Panicked
    }
}

/// Calls something of a user's that has no handle to carry its panic. Rust has printed it.
pub(crate) fn contain(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        drop_payload(payload);
    }
}

/// Drops a payload. If that panics too, the new payload is given up instead of being dropped,
/// because it may do the same for ever.
fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}
