//! What a run queue holds: its cells, and which of them are ready.

use std::collections::HashMap;
use std::sync::Arc;

use super::ready::Ready;
use crate::engine::executor::cell::Runnable;
use crate::engine::waits::Waits;

#[derive(Default)]
pub(super) struct State {
    /// Everything the driver has begun with and that has not ended.
    pub(super) cells: Vec<Option<Arc<dyn Runnable>>>,
    pub(super) vacant: Vec<u32>,
    pub(super) ready: Ready,
    /// What those wait for that have polled a handle.
    pub(super) waits: HashMap<u32, Arc<Waits>>,
}

impl State {
    #[inline]
    #[must_use]
    pub(super) fn remove(&mut self, index: u32) -> Option<Arc<dyn Runnable>> {
        let cell = self.cells[index as usize].take();
        if cell.is_some() {
            self.vacant.push(index);
            if !self.waits.is_empty() {
                self.waits.remove(&index);
            }
        }
        cell
    }
}
