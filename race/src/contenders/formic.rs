//! formic: its `Pool`, with each kind of queue.

use std::time::Duration;

use formic::Pool;

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// A [`Pool`] as it comes; only workers and queue are set.
#[derive(Debug)]
pub(crate) struct Formic(Pool);

impl Formic {
    pub(crate) const DEFAULT_QUEUE: &str =
        "Pool with `workers`, started on demand, and the default queue of 4096";
    pub(crate) const UNBOUNDED: &str = "Pool with `workers`, started on demand, queue_unbounded";
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
