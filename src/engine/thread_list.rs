//! The threads of a pool: which are its own, and which have left and have to be joined. No decision depends on them.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::mem::{replace, take};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::sync::thread::{self, Builder, JoinHandle, ThreadId};
use crate::engine::sync::{Mutex, lock};

#[cfg(not(loom))]
thread_local! {
    /// The pool whose thread this is. It has no destructor, so it can be read until the thread has ended:
    /// also by the destructors of other thread-locals.
    static OWNER: Cell<Option<u64>> = const { Cell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static OWNER: Cell<Option<u64>> = Cell::new(None);
}

/// See the module's first lines.
pub(in crate::engine) struct ThreadList {
    /// Names the pool for as long as the process runs. An address would be used again.
    pool: u64,
    threads: Mutex<Threads>,
    /// Held by the thread that joins all of them.
    joining: Mutex<()>,
}

/// Not by their place in the worker table: a place is vacant, and may be taken again, a moment before its last thread is
/// gone.
#[derive(Default)]
struct Threads {
    here: HashMap<ThreadId, JoinHandle<()>>,
    left: Vec<JoinHandle<()>>,
}

pub(in crate::engine) fn join_all(left: Vec<JoinHandle<()>>) {
    for handle in left {
        // A worker's thread contains every panic, so there is nothing to be told.
        drop(handle.join());
    }
}

impl ThreadList {
    pub(in crate::engine) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let pool = NEXT.fetch_add(1, Ordering::Relaxed);
        ThreadList { pool, threads: Mutex::default(), joining: Mutex::default() }
    }

    /// Starts a thread. Its handle is stored before another thread can ask for it, because that is done under the same
    /// lock.
    pub(in crate::engine) fn spawn(
        &self,
        builder: Builder,
        main: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let pool = self.pool;
        let mut threads = lock(&self.threads);
        let handle = builder.spawn(move || {
            OWNER.with(|owner| owner.set(Some(pool)));
            main();
        })?;
        threads.here.insert(handle.thread().id(), handle);
        Ok(())
    }

    /// Whether the calling thread is one of the pool's own, also after its worker has left.
    pub(in crate::engine) fn is_one(&self) -> bool {
        OWNER.try_with(Cell::get).is_ok_and(|owner| owner == Some(self.pool))
    }

    /// The calling worker leaves, and takes those that have left before. Its thread, if it has one of its own, is joined
    /// by the next that leaves, or by [`ThreadList::join_left`].
    pub(in crate::engine) fn leave(&self) -> Vec<JoinHandle<()>> {
        let mut threads = lock(&self.threads);
        let own = threads.here.remove(&thread::current().id());
        replace(&mut threads.left, own.into_iter().collect())
    }

    /// Joins the threads that have left.
    pub(in crate::engine) fn join_left(&self) {
        // Held while the threads are joined, so that a second one who drains does not return
        // before they are. They need the other lock on their way out.
        let _joining = lock(&self.joining);
        let left = take(&mut lock(&self.threads).left);
        join_all(left);
    }
}
