//! Running a task: call it, catch its panic, and tell the hook.
//!
//! A panic may come from a task, from the `Drop` of what it captured, from a hook, and from the
//! `Drop` of a panic's payload. None of them may end a worker, so all of them end here.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use crate::engine::contain::contain;
use crate::engine::scheduler::accounting::End;
use crate::error::TaskPanic;

type PanicHook = Arc<dyn Fn(&TaskPanic) + Send + Sync>;
type WorkerHook = Arc<dyn Fn(usize) + Send + Sync>;

impl End {
    pub(crate) fn is_panic(self) -> bool {
        matches!(self, End::Panicked | End::CountedPanic)
    }

    /// What has still to be counted, after a task has run.
    pub(crate) fn uncounted(self) -> Option<End> {
        (!matches!(self, End::Counted | End::CountedPanic)).then_some(self)
    }
}

/// What a user wants to be told.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_panic: Option<PanicHook>,
    pub(crate) on_worker_start: Option<WorkerHook>,
    pub(crate) on_worker_stop: Option<WorkerHook>,
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
        self.run_apart(worker, || self.on_worker_start.iter().for_each(|hook| hook(index)));
    }

    /// Tells that the thread called `worker` is about to end.
    pub(crate) fn tell_stop(&self, worker: &str, index: usize) {
        self.run_apart(worker, || self.on_worker_stop.iter().for_each(|hook| hook(index)));
    }

    /// Calls something of a user's that belongs to no task, on the thread called `worker`, and tells of its
    /// panic.
    pub(crate) fn run_apart(&self, worker: &str, call: impl FnOnce()) {
        let _: End = self.run(worker, None, || {
            call();
            End::Completed
        });
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
