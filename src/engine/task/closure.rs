//! A task: a closure of any type in a cell of one size, without an allocation if it is small.
//!
//! A closure of up to 48 bytes lies in the task itself; a larger one, or one that wants more than
//! 16-byte alignment, lies in a box and the task holds the box. A task fills one cache line.

use std::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use std::panic::Location;
use std::ptr::from_ref;

use crate::engine::QueuedTask;
use crate::engine::scheduler::accounting::{Counts, End};

/// What fits into a task without an allocation.
pub(crate) const INLINE_BYTES: usize = 48;

/// Sixteen-byte aligned room for a small closure.
type Room = [MaybeUninit<u128>; INLINE_BYTES / 16];

/// A closure that can be called once.
pub(crate) struct Task {
    /// Holds a value of the type that `vtable` was made for, until the task is called or dropped.
    room: Room,
    vtable: &'static VTable,
    origin: &'static Location<'static>,
}

/// What can be done with the closure in a task's room. The caller's word is that the room holds what the table was made for.
struct VTable {
    /// Moves the closure out of the room and calls it.
    call: unsafe fn(*mut Room, Counts) -> End,
    /// See [`RunOnce::queued_task`]. It is there as long as the closure is.
    queued_task: unsafe fn(*const Room) -> Option<*const dyn QueuedTask>,
    /// Drops the closure in place: it is not used again.
    drop: unsafe fn(*mut Room),
}

// SAFETY: `Task::new` takes closures that are `Send`, and a task holds nothing else but references
// to statics.
unsafe impl Send for Task {}

impl Task {
    /// Puts a closure into a task. The caller's line of code is remembered as its origin.
    #[track_caller]
    pub(crate) fn new<F: FnOnce() + Send + 'static>(closure: F) -> Self {
        if fits::<F>() { Task::queued(closure) } else { Task::queued(Box::new(closure)) }
    }

    /// The same task, as submitted by this line of code.
    pub(crate) fn with_origin(mut self, origin: &'static Location<'static>) -> Self {
        self.origin = origin;
        self
    }

    /// Puts a queued task into a task: something small that has a life beside the queue.
    #[track_caller]
    pub(crate) fn queued<C: RunOnce + Send + 'static>(queued: C) -> Self {
        // SAFETY: it borrows nothing that could be gone.
        unsafe { Task::borrowing(queued) }
    }

    /// As [`Task::queued`], for a queued task that borrows.
    ///
    /// # Safety
    ///
    /// The task is called or dropped before what the queued task borrows is gone.
    #[track_caller]
    pub(crate) unsafe fn borrowing<C: RunOnce + Send>(queued: C) -> Self {
        assert!(fits::<C>(), "only what fits is put into the room");
        let mut room: Room = [MaybeUninit::uninit(); INLINE_BYTES / 16];
        // SAFETY: the room is large enough and aligned for a `C`, as asserted above.
        unsafe { room.as_mut_ptr().cast::<C>().write(queued) };
        let vtable = const {
            &VTable {
                // SAFETY: by the caller's word the room holds a `C`, which no other call moves out.
                call: |room, counts| unsafe { room.cast::<C>().read() }.run(counts),
                // SAFETY: by the caller's word the room holds a `C`.
                queued_task: |room| unsafe { &*room.cast::<C>() }.queued_task().map(from_ref),
                // SAFETY: by the caller's word the room holds a `C`, which is not used again.
                drop: |room| unsafe { room.cast::<C>().drop_in_place() },
            }
        };
        Task { room, vtable, origin: Location::caller() }
    }

    /// Where the task was submitted.
    pub(crate) fn origin(&self) -> &'static Location<'static> {
        self.origin
    }

    /// What stands behind it, if that has a handle.
    pub(crate) fn queued_task(&self) -> Option<&dyn QueuedTask> {
        // SAFETY: the room holds what `vtable` was made for.
        let queued_task = unsafe { (self.vtable.queued_task)(&raw const self.room) };
        // SAFETY: it is there as long as the closure, which is there as long as the task is borrowed.
        queued_task.map(|task| unsafe { &*task })
    }

    /// Calls the closure. Everything it owned is gone when this returns, also by a panic.
    pub(crate) fn call(self, counts: Counts) -> End {
        let mut task = ManuallyDrop::new(self);
        // SAFETY: the room holds the closure that `vtable` was made for, and it is moved out here
        // and never again: `ManuallyDrop` keeps `Task::drop` away from it.
        unsafe { (task.vtable.call)(&raw mut task.room, counts) }
    }

    /// Gives the closure back.
    ///
    /// # Safety
    ///
    /// The task was made by [`Task::new`] from an `F`.
    pub(crate) unsafe fn into_closure<F: FnOnce() + Send + 'static>(self) -> F {
        let task = ManuallyDrop::new(self);
        if fits::<F>() {
            // SAFETY: the room holds an `F`, by the caller's word; it is moved out once.
            unsafe { task.room.as_ptr().cast::<F>().read() }
        } else {
            // SAFETY: the room holds an `F` in its box, by the caller's word; moved out once.
            *unsafe { task.room.as_ptr().cast::<Box<F>>().read() }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: a task that was called or taken apart is in `ManuallyDrop`, so here the closure
        // is still in the room.
        unsafe { (self.vtable.drop)(&raw mut self.room) };
    }
}

/// What lies in a task's room and can be run there.
pub(crate) trait RunOnce {
    /// Runs the task, if it is still there.
    fn run(self, counts: Counts) -> End;

    /// The task, if it has a handle.
    fn queued_task(&self) -> Option<&(dyn QueuedTask + 'static)> {
        None
    }
}

/// A closure without a handle.
impl<F: FnOnce()> RunOnce for F {
    // Left to itself, the compiler calls it or not as other code comes and goes.
    #[inline]
    fn run(self, _: Counts) -> End {
        self();
        End::Completed
    }
}

/// Whether a task holds such a value without an allocation.
pub(crate) const fn fits<F>() -> bool {
    size_of::<F>() <= INLINE_BYTES && align_of::<F>() <= align_of::<Room>()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_task_fills_one_cache_line() {
        assert_eq!(size_of::<Task>(), 64);
    }

    /// Runs `check` for a closure that captures `token` and `ballast`.
    fn with_size<const BYTES: usize>(check: impl Fn(Task, &Arc<()>, &Arc<AtomicUsize>)) {
        let (token, calls) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let (inside, count) = (Arc::clone(&token), Arc::clone(&calls));
        let ballast = [7_u8; BYTES];
        let task = Task::new(move || {
            assert!(ballast.iter().all(|byte| *byte == 7));
            count.fetch_add(1, Ordering::Relaxed);
            drop(inside);
        });
        check(task, &token, &calls);
        assert_eq!(Arc::strong_count(&token), 1, "the captures are gone");
    }

    #[test]
    fn a_task_is_called_once_and_drops_its_captures() {
        let check = |task: Task, _: &Arc<()>, calls: &Arc<AtomicUsize>| {
            assert_eq!(task.call(Counts::Ticket), End::Completed);
            assert_eq!(calls.load(Ordering::Relaxed), 1);
        };
        with_size::<0>(check);
        with_size::<32>(check);
        with_size::<33>(check);
        with_size::<500>(check);
    }

    #[test]
    fn a_task_that_is_never_called_drops_its_captures() {
        let check = |task: Task, token: &Arc<()>, calls: &Arc<AtomicUsize>| {
            assert_eq!(Arc::strong_count(token), 2);
            drop(task);
            assert_eq!(calls.load(Ordering::Relaxed), 0);
        };
        with_size::<0>(check);
        with_size::<32>(check);
        with_size::<500>(check);
    }

    /// Makes a task of a closure, takes it apart again and calls the closure.
    fn there_and_back<F: FnOnce() + Send + 'static>(closure: F) {
        // SAFETY: the task was made from an `F` on this line.
        let closure = unsafe { Task::new(closure).into_closure::<F>() };
        closure();
    }

    #[test]
    fn a_closure_comes_back_from_its_task() {
        let calls = Arc::new(AtomicUsize::new(0));
        let (small, large) = (Arc::clone(&calls), Arc::clone(&calls));
        let ballast = [1_usize; 40];
        there_and_back(move || {
            small.fetch_add(1, Ordering::Relaxed);
        });
        there_and_back(move || {
            large.fetch_add(ballast.iter().sum(), Ordering::Relaxed);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 41);
        assert_eq!(Arc::strong_count(&calls), 1);
    }

    #[test]
    fn a_closure_keeps_its_alignment() {
        #[repr(align(64))]
        struct Wide(u8);
        let wide = Wide(3);
        there_and_back(move || {
            let wide = wide;
            assert_eq!((&raw const wide).addr() % 64, 0);
            assert_eq!(wide.0, 3);
        });
    }

    #[test]
    fn a_panic_drops_the_captures() {
        let token = Arc::new(());
        let inside = Arc::clone(&token);
        let task = Task::new(move || {
            let _inside = inside;
            panic!("on purpose");
        });
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| task.call(Counts::Ticket)));
        assert!(outcome.is_err());
        assert_eq!(Arc::strong_count(&token), 1);
    }

    #[test]
    fn a_closure_has_no_handle() {
        assert!(Task::new(|| {}).queued_task().is_none());
    }

    /// A queued task that says about itself what it was told.
    struct Told {
        alive: bool,
    }

    impl RunOnce for Told {
        fn run(self, _: Counts) -> End {
            if self.alive { End::Completed } else { End::Tombstone }
        }

        fn queued_task(&self) -> Option<&(dyn QueuedTask + 'static)> {
            Some(self)
        }
    }

    impl QueuedTask for Told {
        fn kill(&self) -> bool {
            self.alive
        }

        fn is_tombstone(&self) -> bool {
            !self.alive
        }

        fn discard(&self) {}
    }

    #[test]
    fn a_queued_task_is_asked_whether_it_is_alive() {
        for alive in [true, false] {
            let task = Task::queued(Told { alive });
            let told = task.queued_task().map(|told| (told.kill(), told.is_tombstone()));
            assert_eq!(told, Some((alive, !alive)));
            let end = if alive { End::Completed } else { End::Tombstone };
            assert_eq!(task.call(Counts::Ticket), end);
        }
    }
}
