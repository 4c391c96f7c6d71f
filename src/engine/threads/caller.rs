//! A submitter that runs its task itself, because the pool is full.

use std::sync::Arc;

use crate::engine::contain::contain;
use crate::engine::context::{as_current, set_epoch};
use crate::engine::scheduler::accounting::Counts;
use crate::engine::scheduler::entry::Patience;
use crate::engine::sync::thread;
use crate::engine::{Engine, ThreadWork};
use crate::error::Refused;
use crate::on_cancel::Stoppable;

impl<W: ThreadWork> Engine<W> {
    /// As [`Engine::submit`], for those who run the job themselves if the pool is full.
    #[inline]
    pub(crate) fn submit_or_run(
        self: &Arc<Self>,
        job: W::Job,
        patience: Patience,
    ) -> Result<(), (W::Job, Refused)> {
        match self.submit(job, patience) {
            Err((job, Refused::Full)) if patience == Patience::RunHere => {
                self.run_here(job);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Runs a job on the calling thread, which is no worker and takes no worker's place.
    pub(crate) fn run_here(self: &Arc<Self>, job: W::Job) {
        let thread = thread::current();
        let name = thread.name().unwrap_or("<unnamed>");
        let origin = W::origin(&job);
        let mut state = None;
        let this: Arc<dyn Stoppable> = Arc::clone(self) as _;
        let outer = set_epoch(self.cancels.epoch());
        let end = as_current(this, || {
            self.hooks().run(name, origin, || self.work.run(&mut state, job, Counts::Caller))
        });
        set_epoch(outer);
        contain(|| drop(state));
        if let Some(end) = end.uncounted() {
            self.count(end, Counts::Caller);
        }
    }
}
