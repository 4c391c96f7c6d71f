//! The threads of a pool: how they are started, leave, and are joined.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::scheduler::core::Actions;
use crate::engine::sync::thread::{JoinHandle, ThreadId};
use crate::engine::sync::{lock, thread};
use crate::engine::{Engine, Work};

#[cfg(not(loom))]
thread_local! {
    /// The pool whose thread this is. It has no destructor, so it can be read until the thread has ended:
    /// also by the destructors of other thread-locals.
    static OWNER: Cell<Option<PoolId>> = const { Cell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static OWNER: Cell<Option<PoolId>> = Cell::new(None);
}

/// Names a pool for as long as the process runs. An address would be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct PoolId(u64);

impl PoolId {
    pub(in crate::engine) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        PoolId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The threads that work, and those that have left. Not by their place in the worker table: a place is
/// vacant, and may be taken again, a moment before its last thread is gone.
#[derive(Default)]
pub(in crate::engine) struct Threads {
    here: HashMap<ThreadId, JoinHandle<()>>,
    left: Vec<JoinHandle<()>>,
}

impl<W: Work> Engine<W> {
    /// Starts a thread for a place of the worker table. The handle is stored before another thread can ask for it,
    /// because that is done under the same lock.
    pub(crate) fn start_thread(
        &self,
        index: usize,
        main: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut builder = thread::Builder::new().name(self.thread_name(index));
        if let Some(bytes) = self.settings.stack_size {
            builder = builder.stack_size(bytes);
        }
        let id = self.id;
        let mut threads = lock(&self.threads);
        let handle = builder.spawn(move || {
            OWNER.with(|owner| owner.set(Some(id)));
            main();
        })?;
        threads.here.insert(handle.thread().id(), handle);
        Ok(())
    }

    /// The name of the thread at this place of the worker table.
    pub(crate) fn thread_name(&self, index: usize) -> String {
        format!("{}-{index}", self.settings.name)
    }

    /// Whether the calling thread is one of the pool's own, also after its worker has left.
    pub(in crate::engine) fn has_this_thread(&self) -> bool {
        OWNER.try_with(Cell::get).is_ok_and(|owner| owner == Some(self.id))
    }

    /// A worker's last step, unless it is needed after all: then it says false. What it does `first` is done
    /// before another thread hears of it. It leaves its handle to be joined, if it has a thread of its own, and joins
    /// the one who left before, so that at most one thread that has left is not joined yet.
    pub(in crate::engine) fn leave(self: &Arc<Self>, index: usize, first: impl FnOnce()) -> bool {
        let mut actions = Actions::default();
        let mut scheduler = self.lock();
        if scheduler.calls_back(index) {
            return false;
        }
        // Before it is let go, so that its handle is there for the thread that hears of that.
        let before = self.leave_handle();
        scheduler.let_go(index, &mut actions);
        drop(scheduler);
        first();
        self.perform(actions);
        join(before);
        true
    }

    /// Puts the calling worker's handle to those of the workers that have left, and takes those.
    fn leave_handle(&self) -> Vec<JoinHandle<()>> {
        let mut threads = lock(&self.threads);
        let before = std::mem::take(&mut threads.left);
        let own = threads.here.remove(&thread::current().id());
        threads.left.extend(own);
        before
    }

    /// Joins the threads of the workers that have left.
    pub(in crate::engine) fn join_left(&self) {
        // Held while the threads are joined, so that a second one who drains does not return
        // before they are. They need the other lock on their way out.
        let _joining = lock(&self.joining);
        let left = std::mem::take(&mut lock(&self.threads).left);
        join(left);
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for handle in threads {
        // A worker's thread contains every panic, so there is nothing to be told.
        drop(handle.join());
    }
}
