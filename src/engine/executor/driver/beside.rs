//! Futures that begin beside those of a driver, without a way through the queue.

use std::sync::Arc;

use super::Drives;
use crate::engine::Engine;
use crate::engine::context::set_epoch;
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::polling::owner_here;
use crate::engine::scheduler::core::Actions;
use crate::on_cancel::Epoch;

impl<W: Drives> Engine<W> {
    /// The future that the calling thread polls starts another task of this pool: it is not concerned if all were
    /// cancelled before.
    pub(crate) fn start_task_here(&self) {
        set_epoch(self.cancels.epoch());
    }

    /// How often all tasks were cancelled.
    pub(crate) fn cancel_epoch(&self) -> Epoch {
        self.cancels.epoch()
    }

    /// The number of the run queue whose driver polls on the calling thread, if it is one of this pool's.
    pub(crate) fn run_queue_here(&self) -> Option<usize> {
        owner_here(self.work.executor()).map(|owner| owner.run_queue)
    }

    /// Begins with up to `most` more futures beside those of the driver that polls on the calling thread, without a
    /// way through the queue. Returns how many; None if a task is queued, which comes first, or no driver polls here.
    pub(crate) fn begin_beside(
        self: &Arc<Self>,
        most: usize,
        mut cell: impl FnMut() -> Arc<dyn Runnable>,
    ) -> Option<usize> {
        let owner = owner_here(self.work.executor())?;
        let mut actions = Actions::default();
        let mut scheduler = self.lock();
        let begun = scheduler.begin_beside(most, &mut actions)?;
        let epoch = self.cancels.epoch();
        drop(scheduler);
        self.perform(actions);
        let cells = (0..begun).map(|_| cell()).inspect(|cell| cell.header().set_epoch(epoch));
        owner.executor.add(&owner, &mut cells.collect());
        Some(begun)
    }
}
