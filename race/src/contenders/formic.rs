//! formic: its `Pool`, with each kind of queue, and two of them as one.

use std::time::Duration;

use formic::{Balance, FnPool, Multi, Pool};

use super::{Contender, Refused, Values};
use crate::failure::Failure;
use crate::workloads::Params;

/// A [`Pool`] as it comes; only workers and queue are set.
#[derive(Debug)]
pub(crate) struct Formic(Pool);

impl Formic {
    pub(crate) const DEFAULT_QUEUE: &str =
        "Pool with `workers`, started on demand, and the default queue of 4096";
    pub(crate) const UNBOUNDED: &str = "Pool with `workers`, started on demand, queue_unbounded";
    pub(crate) const FIXED: &str =
        "Pool with workers(n..=n), all of them started beforehand, and the default queue of 4096";
    pub(crate) const BOUNDED: &str = "Pool with `workers`, started on demand, and `queue`";

    /// The queue one gets without asking.
    pub(crate) fn with_default_queue(params: &Params) -> Result<Self, Failure> {
        let builder = Pool::builder().workers(params.workers);
        builder.build().map(Self).map_err(Failure::new)
    }

    /// A queue that takes everything.
    pub(crate) fn unbounded(params: &Params) -> Result<Self, Failure> {
        let builder = Pool::builder().workers(params.workers).queue_unbounded();
        builder.build().map(Self).map_err(Failure::new)
    }

    /// All workers are there from the beginning, and stay.
    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let builder = Pool::builder().workers(params.workers..=params.workers);
        builder.build().map(Self).map_err(Failure::new)
    }

    /// A queue with the bound of the run.
    pub(crate) fn bounded(params: &Params) -> Result<Self, Failure> {
        let builder = Pool::builder().workers(params.workers);
        let builder = builder.queue(params.bound()?);
        builder.build().map(Self).map_err(Failure::new)
    }

    /// Idle workers leave after `time`.
    pub(crate) fn keeping(params: &Params, time: Duration) -> Result<Self, Failure> {
        let builder = Pool::builder().workers(params.workers).keep_alive(time);
        builder.build().map(Self).map_err(Failure::new)
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.0
    }
}

impl Contender for Formic {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.0.submit(task).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.0.drain().map_err(Failure::new)
    }
}

/// Two [`Pool`]s used as one, with half of the workers each.
#[derive(Debug)]
pub(crate) struct FormicMulti(Multi<Pool>);

/// How many pools a [`FormicMulti`] has.
const SHARDS: usize = 2;

impl FormicMulti {
    pub(crate) const HALVES: &str =
        "Multi of two pools in turn, half of `workers` each, and the default queue of 4096 each";

    pub(crate) fn halves(params: &Params) -> Result<Self, Failure> {
        let half = params.workers.div_ceil(SHARDS);
        let pool = || Pool::builder().workers(half).build();
        Multi::try_new(SHARDS, Balance::RoundRobin, pool).map(Self).map_err(Failure::new)
    }
}

impl Contender for FormicMulti {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.0.submit(task).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.0.drain().map_err(Failure::new)
    }
}

/// A [`FnPool`] over one kind of task, which needs no closure for each.
pub(crate) struct FormicValues<T: Send + 'static>(FnPool<T, ()>);

impl<T: Send + 'static> FormicValues<T> {
    pub(crate) const DEFAULT_QUEUE: &str =
        "FnPool with `workers`, started on demand, and the default queue of 4096";

    pub(crate) fn with_default_queue(
        params: &Params,
        function: impl Fn(T) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let builder = FnPool::builder().workers(params.workers);
        builder.build(function).map(Self).map_err(Failure::new)
    }
}

impl<T: Send + 'static> Values<T> for FormicValues<T> {
    #[inline]
    fn submit(&self, value: T) -> Result<(), Refused> {
        self.0.submit(value).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.0.drain().map_err(Failure::new)
    }
}
