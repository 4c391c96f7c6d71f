//! formic: its `Pool`, with each kind of queue.

use formic::Pool;

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// A [`Pool`] as it comes; only workers and queue are set.
#[derive(Debug)]
pub(crate) struct Formic(Pool);

impl Formic {
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
