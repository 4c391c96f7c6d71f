//! Futures that begin beside those of a driver, without a way through the queue.

use std::sync::Arc;

use super::Drives;
use crate::engine::Engine;
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::polling::driver_of;
use crate::engine::scheduler::core::Actions;
use crate::engine::task::current::set_epoch;
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

    /// The number of the driver that polls on the calling thread, if it is one of this pool's.
    pub(crate) fn driver_here(&self) -> Option<usize> {
        driver_of(self.work.executor())
    }

    /// Begins with up to `most` more futures beside those of the driver that polls on the calling thread, without a
    /// way through the queue. Returns how many; None if a task is queued, which comes first, or no driver polls here.
    pub(crate) fn begin_beside(
        self: &Arc<Self>,
        most: usize,
        mut cell: impl FnMut() -> Arc<dyn Runnable>,
    ) -> Option<usize> {
        let driver = self.driver_here()?;
        let mut actions = Actions::default();
        let mut scheduler = self.lock();
        let begun = scheduler.begin_beside(most, &mut actions)?;
        let epoch = self.cancels.epoch();
        drop(scheduler);
        self.perform(actions);
        let cells = (0..begun).map(|_| cell()).inspect(|cell| cell.header().set_epoch(epoch));
        self.work.executor().run_queue(driver).add(&mut cells.collect());
        Some(begun)
    }
}
