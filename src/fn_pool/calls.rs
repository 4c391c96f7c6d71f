//! The work of an `FnPool`: one function.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::job::Job;
use super::renew::watch_renewal;
use super::state::{Kept, Maker};
use crate::engine::{
    Counts, End, Engine, Hooks, Lack, MAX_WORKERS, NoStart, QueueEntry, QueuedTask, TaskState,
    ThreadWork, Unpack, Work, contain, start_worker,
};

/// What the workers of an [`FnPool`](crate::FnPool) do: they call its function.
pub(crate) struct Calls<T, R> {
    pub(super) maker: Maker<T, R>,
    pub(super) hooks: Hooks,
    on_result: Option<ResultHook<R>>,
}

/// Is given the result of a call that has no handle.
pub(crate) type ResultHook<R> = Arc<dyn Fn(R) + Send + Sync>;

impl<T: Send + 'static, R: Send + 'static> Calls<T, R> {
    pub(crate) fn new(maker: Maker<T, R>, hooks: Hooks, on_result: Option<ResultHook<R>>) -> Self {
        Calls { maker, hooks, on_result }
    }

    /// Calls something of a user's that belongs to no call, and tells of its panic.
    pub(super) fn apart(&self, call: impl FnOnce()) {
        let thread = thread::current();
        self.hooks.run_apart(thread.name().unwrap_or("<unnamed>"), call);
    }

    fn tell_result(&self, result: R) {
        match &self.on_result {
            None => drop(result),
            Some(hook) => self.apart(|| hook(result)),
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Work for Calls<T, R> {
    type Job = Job<Self, T, R>;

    const MOST: usize = MAX_WORKERS;

    fn runs_anywhere(&self) -> bool {
        matches!(self.maker, Maker::Stateless(_))
    }

    fn queued_task(job: &Self::Job) -> Option<&dyn QueuedTask> {
        job.queued_task()
    }

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }

    fn origin(job: &Self::Job) -> Option<&'static Location<'static>> {
        job.origin()
    }
}

impl<T: Send + 'static, R: Send + 'static> ThreadWork for Calls<T, R> {
    type State = Kept<T, R>;

    #[inline]
    fn lacks(&self, kept: &Option<Kept<T, R>>) -> Lack {
        match &self.maker {
            Maker::Stateless(_) | Maker::Sure(_) => Lack::Nothing,
            Maker::Tried(tried) => tried.lacks(kept.as_ref()),
        }
    }

    fn get_ready(&self, kept: &mut Option<Kept<T, R>>, index: usize) -> Result<(), Duration> {
        match &self.maker {
            Maker::Stateless(_) | Maker::Sure(_) => Ok(()),
            Maker::Tried(tried) => tried.get_ready(self, kept.get_or_insert_default(), index),
        }
    }

    fn run(&self, kept: &mut Option<Kept<T, R>>, job: Self::Job, counts: Counts) -> End {
        let mut renewed = false;
        let mut call = |argument| {
            let callee = self.maker.callee(kept);
            match self.maker {
                Maker::Stateless(_) => callee.call(argument),
                _ => watch_renewal(&mut renewed, || callee.call(argument)),
            }
        };
        let end = match job {
            Job::Bare(argument, _) => {
                self.tell_result(call(argument));
                End::Completed
            }
            Job::Spawned(queue_entry) => queue_entry.run(counts, |_, argument| call(argument)),
        };
        if renewed {
            self.apart(|| drop(kept.take()));
        }
        end
    }
}

impl<T: Send + 'static, R: Send + 'static> Unpack<T, R> for Calls<T, R> {
    fn job(task_state: Arc<TaskState<Self, T, R>>, claimed: bool) -> Self::Job {
        Job::Spawned(QueueEntry::new(task_state, claimed))
    }

    fn call(&self, argument: T) -> R {
        let mut kept = None;
        let callee = self.maker.callee(&mut kept);
        let outcome = catch_unwind(AssertUnwindSafe(|| callee.call(argument)));
        // To drop what was called may panic, which says nothing about the outcome.
        contain(|| drop(kept));
        outcome.unwrap_or_else(|payload| resume_unwind(payload))
    }
}
