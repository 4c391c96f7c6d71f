//! `renew_state`: a call asks for a new state.

use std::cell::Cell;

use crate::engine::depth;

thread_local! {
    /// How many tasks deep the call with a state is that this thread runs, if it runs one, and whether it has asked for
    /// a new state.
    static CALL: Cell<Option<(usize, bool)>> = const { Cell::new(None) };
}

/// Has the worker's state dropped after this call, and made anew before the next one. For a call that finds its
/// connection broken, and for [`StateBuilder::ready`](crate::StateBuilder::ready).
///
/// Elsewhere this does nothing: outside of a call, in a call without a state, and in a task that the call joins and
/// runs itself. It never blocks.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
///
/// let pool = FnPool::with_state(1, || 0, |calls: &mut u32, last: bool| {
///     *calls += 1;
///     if last {
///         formic::renew_state();
///     }
///     *calls
/// });
/// assert_eq!((pool.call(false)?, pool.call(true)?), (1, 2));
/// assert_eq!(pool.call(false)?, 1); // with a new state
/// # Ok::<(), formic::CallError<bool>>(())
/// ```
#[doc(alias = "reconnect")]
#[doc(alias = "invalidate")]
pub fn renew_state() {
    // Where the thread-local is gone, no call runs.
    let _ = CALL.try_with(|call| {
        if let Some((depth_of_call, _)) = call.get()
            && depth_of_call == depth()
        {
            call.set(Some((depth_of_call, true)));
        }
    });
}

/// Runs a call with a state, and says whether it asked for a new one.
pub(super) fn watch_renewal<R>(renewed: &mut bool, call: impl FnOnce() -> R) -> R {
    let _watch = Watch { outer: CALL.replace(Some((depth(), false))), renewed };
    call()
}

/// Ends a call also if it panics.
struct Watch<'a> {
    outer: Option<(usize, bool)>,
    renewed: &'a mut bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        *self.renewed = CALL.replace(self.outer).is_some_and(|(_, renewed)| renewed);
    }
}
