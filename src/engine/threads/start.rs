//! How the threads of a pool are started, and how they leave.

use std::sync::Arc;

use crate::engine::sync::thread;
use crate::engine::thread_list::join_all;
use crate::engine::{Engine, NoStart, Work};

impl<W: Work> Engine<W> {
    /// Starts a thread for a place of the worker table.
    pub(crate) fn start_thread(
        &self,
        index: usize,
        main: impl FnOnce() + Send + 'static,
    ) -> Result<(), NoStart> {
        let mut builder = thread::Builder::new().name(self.thread_name(index));
        if let Some(bytes) = self.settings.stack_size {
            builder = builder.stack_size(bytes);
        }
        self.threads.spawn(builder, main).map_err(NoStart::Thread)
    }

    /// The name of the thread at this place of the worker table.
    pub(crate) fn thread_name(&self, index: usize) -> String {
        format!("{}-{index}", self.settings.name)
    }

    /// A worker's last step, unless it is needed after all: then it says false. Another worker may be at its place at once.
    /// It joins the one who left before, so that at most one thread that has left is not joined yet.
    pub(in crate::engine) fn leave(self: &Arc<Self>, index: usize) -> bool {
        let before = self.decide(|scheduler, actions| {
            if scheduler.calls_back(index) {
                return None;
            }
            // Before it is let go, so that its handle is there for the thread that hears of that.
            let before = self.threads.leave();
            scheduler.let_go(index, actions);
            Some(before)
        });
        before.map(join_all).is_some()
    }
}
