//! The work of an `FnPool`: one function.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::engine::{
    Counts, End, Engine, MAX_WORKERS, NoStart, QueueEntry, TaskState, ThreadWork, Unpack, Work,
    contain, start_worker,
};

/// What a worker calls: the function, with the worker's state inside.
type Call<T, R> = Box<dyn FnMut(T) -> R>;

/// An argument with a handle to its result.
pub(crate) type Spawned<T, R> = TaskState<Calls<T, R>, T, R>;

/// What the workers of an [`FnPool`](crate::FnPool) do: they call its function.
pub(crate) struct Calls<T, R> {
    /// Makes what a worker calls, on the worker's own thread.
    make: Box<dyn Fn() -> Call<T, R> + Send + Sync>,
    state: WorkerState,
}

/// Whether each worker has a state of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerState {
    None,
    Own,
}

/// An argument in the line.
pub(crate) enum Job<T: Send + 'static, R: Send + 'static> {
    /// Fire and forget.
    Bare(T, &'static Location<'static>),
    Spawned(QueueEntry<Calls<T, R>, T, R>),
}

impl<T: Send + 'static, R: Send + 'static> Calls<T, R> {
    pub(crate) fn new<S, I, F>(state: WorkerState, init: I, function: F) -> Self
    where
        S: 'static,
        I: Fn() -> S + Send + Sync + 'static,
        F: Fn(&mut S, T) -> R + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        let make = move || -> Call<T, R> {
            let (mut state, function) = (init(), Arc::clone(&function));
            Box::new(move |argument| function(&mut state, argument))
        };
        Calls { make: Box::new(make), state }
    }
}

impl<T: Send + 'static, R: Send + 'static> Work for Calls<T, R> {
    type Job = Job<T, R>;

    const MOST: usize = MAX_WORKERS;

    fn runs_anywhere(&self) -> bool {
        self.state == WorkerState::None
    }

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }

    fn origin(job: &Job<T, R>) -> Option<&'static Location<'static>> {
        match job {
            Job::Bare(_, origin) => Some(origin),
            Job::Spawned(_) => None,
        }
    }

    fn kill(job: &Job<T, R>) -> bool {
        match job {
            Job::Bare(..) => true,
            Job::Spawned(queue_entry) => queue_entry.kill(),
        }
    }

    fn is_tombstone(job: &Job<T, R>) -> bool {
        match job {
            Job::Bare(..) => false,
            Job::Spawned(queue_entry) => queue_entry.is_tombstone(),
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> ThreadWork for Calls<T, R> {
    type State = Call<T, R>;

    fn run(&self, state: &mut Option<Call<T, R>>, job: Job<T, R>, counts: Counts) -> End {
        let mut call = |argument| state.get_or_insert_with(&self.make)(argument);
        match job {
            Job::Bare(argument, _) => {
                drop(call(argument));
                End::Completed
            }
            Job::Spawned(queue_entry) => queue_entry.run(counts, call),
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Unpack<T, R> for Calls<T, R> {
    /// With a state of its own: that of the worker may be in use further up the stack.
    fn job(queue_entry: QueueEntry<Self, T, R>) -> Job<T, R> {
        Job::Spawned(queue_entry)
    }

    fn run_here(task_state: &Arc<TaskState<Self, T, R>>) -> bool {
        task_state.run_for_joiner(|argument| {
            let mut call = (task_state.engine().work().make)();
            let outcome = catch_unwind(AssertUnwindSafe(|| call(argument)));
            // To drop the state may panic, which says nothing about the outcome.
            contain(|| drop(call));
            outcome.unwrap_or_else(|payload| resume_unwind(payload))
        })
    }
}
