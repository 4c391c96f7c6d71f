//! The steps of a test, their answers, and the settings of pools.

use formic::{Balance, Refused};

use super::places::Id;
use super::shard::Left;

/// How a call asks for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A call that never waits.
    Try,
    /// A call that blocks a thread of its own.
    Thread,
    /// A future, which the test polls.
    Future,
}

/// The operation that a call requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// A task without a handle.
    Submit,
    /// A task with a handle.
    Spawn,
    /// A task, and a wait for its result.
    Call,
    /// A permit.
    Admit,
    /// A wait until no task is left.
    WaitIdle,
    /// The end of the pool, and a wait until no worker is left.
    Drain,
}

/// The kind of task that a pool runs. A running closure that is cancelled is asked to stop. A running future that is
/// cancelled is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Closures,
    Futures,
}

/// The properties of a kind of pool.
#[derive(Debug)]
pub(crate) struct Traits {
    pub(crate) runs: Runs,
    pub(crate) shards: usize,
    pub(crate) ways: &'static [(By, Verb)],
    pub(crate) variants: &'static [Variant],
}

/// A property in which pools of one kind differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Plain,
    /// The function of the pool has a state for each worker.
    WithState,
    Balanced(Balance),
    OnRuntime,
    OnCurrentThread,
    OnOwnThreads,
}

/// The settings of a pool, or of each shard.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) variant: Variant,
    pub(crate) capacity: usize,
    pub(crate) queue: usize,
    /// How many submitters may wait.
    pub(crate) waiters: Option<usize>,
}

/// One step of a test. `shard` names one pool of a `Multi`; without it, a step concerns all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Enter {
        id: Id,
        by: By,
        verb: Verb,
    },
    /// Polls a future that waits for a place or for a result.
    Poll {
        id: Id,
    },
    /// Drops a future or a permit.
    Abandon {
        id: Id,
    },
    /// Puts a task into the place that a permit holds.
    Use {
        id: Id,
        verb: Verb,
    },
    /// Lets a running task return.
    Return {
        id: Id,
    },
    /// Lets a running task panic.
    Panic {
        id: Id,
    },
    Cancel {
        id: Id,
    },
    DropHandle {
        id: Id,
        cancel: bool,
    },
    /// Polls the handle of a task that has not ended.
    Watch {
        id: Id,
    },
    /// Takes the outcome of a task that has ended, by `join` or by polling the handle.
    Join {
        id: Id,
        polls: bool,
    },
    Resize {
        shard: Option<usize>,
        capacity: usize,
    },
    Discard {
        shard: Option<usize>,
    },
    CancelAll {
        shard: Option<usize>,
    },
    SetQueue {
        shard: Option<usize>,
        tasks: usize,
    },
    SetWaiters {
        shard: Option<usize>,
        submitters: usize,
    },
    Close {
        shard: Option<usize>,
    },
    /// Drains with a timeout of zero.
    DrainNow {
        shard: Option<usize>,
    },
    /// Drains pools in which nothing is left.
    Drain,
    Reopen {
        shard: Option<usize>,
    },
}

/// The answer of a step to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    /// The task has a place in the pool.
    Entered,
    /// A permit is held.
    Permit,
    /// A future is pending.
    Pending,
    Refused(Refused),
    Cancelled(bool),
    Outcome(Outcome),
    Discarded(usize),
    /// So many tasks were queued and dropped, and so many ran and are stopped.
    Stopped {
        queued: usize,
        running: usize,
    },
    /// The work that keeps each pool from its end.
    Left(Vec<Left>),
    Reopened(Vec<Reopening>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reopening {
    Opened,
    WasOpen,
    Left(Left),
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Panicked,
    Cancelled,
}

/// The outcome that the handle of a task reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) end: End,
    /// The task returned, and had been asked to stop.
    pub(crate) asked: bool,
}
