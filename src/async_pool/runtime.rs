//! Drivers on tokio: what runs a pool's futures, and how it gets along with the rest of a runtime.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Handle;
use tokio::task::{coop, yield_now};

use super::host::OwnRuntime;
use crate::engine::{Driver, Drives, Engine, NoStart, Turn, depth, has_thread, polls_are_short};

/// More futures than this cannot be in flight at once: a run queue counts them in 32 bits.
pub(super) const MOST_TASKS: usize = 1 << 31;

/// Whether a future of a pool that has done `done` pieces of work in this poll goes on with the next one. A
/// few short ones in a row spare polls; more, or long ones, would keep others waiting.
#[inline]
pub(super) fn goes_on(done: usize) -> bool {
    done < 8 && polls_are_short()
}

/// Starts a driver on a runtime. An error if that is no more.
pub(super) fn start_driver<W: Drives>(
    engine: &Arc<Engine<W>>,
    index: usize,
    runtime: &Handle,
) -> Result<(), NoStart> {
    let waker = DriverWaker::new(runtime);
    let (driver, rely) = Driver::new(engine, index, Arc::clone(&waker).into());
    // It runs until its pool ends. No task waits for it, so its handle is not kept.
    drop(runtime.spawn(Driving { driver, waker }));
    make_way(NEW, runtime);
    if rely() { Ok(()) } else { Err(NoStart::RuntimeGone) }
}

/// An error if the runtime has shut down: then it drops a new task at once, and otherwise this one, which
/// never ends, is there until it is aborted.
pub(super) fn check_runtime(runtime: &Handle) -> Result<(), NoStart> {
    let probe = runtime.spawn(std::future::pending::<()>());
    if probe.is_finished() {
        return Err(NoStart::RuntimeGone);
    }
    probe.abort();
    Ok(())
}

/// Starts a driver on a thread of its own, with a runtime that ends with it.
pub(super) fn start_thread<W: Drives>(
    engine: &Arc<Engine<W>>,
    index: usize,
    runtime: OwnRuntime,
    handle: &Handle,
) -> Result<(), NoStart> {
    let waker = DriverWaker::new(handle);
    let (driver, rely) = Driver::new(engine, index, Arc::clone(&waker).into());
    let its_engine = Arc::clone(engine);
    engine.start_thread(index, move || {
        its_engine.hooks().tell_start(&its_engine.thread_name(index), index);
        drop(its_engine);
        runtime.run(Driving { driver, waker });
    })?;
    // The thread has been started, so the driver is not dropped before its first turn.
    let _ = rely();
    Ok(())
}

/// Which drivers were woken on a thread since it last polled one.
///
/// A thread of the runtime keeps the task that was woken on it last in a slot from which no other thread takes. It
/// polls that task next, except when it is due to look at the queue of all threads first. So a thread may poll one
/// driver, and block there, while another driver is in its slot. No thread polls what is ready in the run
/// queue of the driver in the slot: that driver is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Nothing,
    /// Only this one.
    One(usize),
    Several,
}

/// Stands for a driver that has not been polled yet.
const NEW: usize = 0;

thread_local! {
    static WOKEN_HERE: Cell<Woken> = const { Cell::new(Woken::Nothing) };
}

impl Woken {
    fn and(self, driver: usize) -> Self {
        match self {
            Woken::Nothing => Woken::One(driver),
            Woken::One(same) if same == driver => self,
            Woken::One(_) | Woken::Several => Woken::Several,
        }
    }

    /// Whether the slot may hold a driver when the thread polls this one.
    fn includes_other_than(self, driver: usize) -> bool {
        match self {
            Woken::Nothing => false,
            Woken::One(woken) => woken != driver,
            Woken::Several => true,
        }
    }
}

/// A driver was woken or started by the calling thread, and may be in its slot: see [`Woken`]. If the thread polls a
/// task of a pool, which may block it, the slot is freed at once, and otherwise before the thread polls a driver.
fn make_way(driver: usize, runtime: &Handle) {
    if depth() > 0 && !has_thread() {
        free_slot(runtime);
    } else {
        // A thread that ends may wake a driver.
        let _ = WOKEN_HERE.try_with(|woken| woken.set(woken.get().and(driver)));
    }
}

/// Has the other threads of the runtime take what is in the slot of this one: one more task takes the slot, and the
/// runtime notifies a thread of the task that leaves it.
fn free_slot(runtime: &Handle) {
    if runtime.metrics().num_workers() > 1 {
        drop(runtime.spawn(async {}));
    }
}

/// Wakes a driver, and makes way for it.
struct DriverWaker {
    /// Of the driver's task: there from its first turn on, before which it needs not be woken.
    task: OnceLock<Waker>,
    runtime: Handle,
}

impl DriverWaker {
    fn new(runtime: &Handle) -> Arc<Self> {
        Arc::new(DriverWaker { task: OnceLock::new(), runtime: runtime.clone() })
    }
}

impl Wake for DriverWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.task.get().into_iter().for_each(Waker::wake_by_ref);
        make_way(Arc::as_ptr(self) as usize, &self.runtime);
    }
}

/// A driver as a task of the runtime.
struct Driving<W: Drives> {
    driver: Driver<W>,
    waker: Arc<DriverWaker>,
}

impl<W: Drives> Driving<W> {
    /// Goes on after others. The only thread of a runtime sees to its timers and sockets before. Where
    /// there are more, a driver must not wait for that: it would stay with this thread, also if the
    /// next task blocks it.
    fn yield_turn(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.waker.runtime.metrics().num_workers() > 1 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        pin!(yield_now()).poll(context)
    }
}

// Nothing in it is pinned.
impl<W: Drives> Unpin for Driving<W> {}

impl<W: Drives> Future for Driving<W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Every waker of a task of the runtime wakes it, for good.
        self.waker.task.get_or_init(|| context.waker().clone());
        let woken = WOKEN_HERE.replace(Woken::Nothing);
        if woken.includes_other_than(Arc::as_ptr(&self.waker) as usize) {
            free_slot(&self.waker.runtime);
        }
        // Tokio gives a task so many operations per turn, and makes the ones beyond that wait. Each
        // future gets as many as if it were a task, or a few short ones do: what they used is given back.
        let budget = || coop::poll_proceed(&mut Context::from_waker(Waker::noop()));
        match self.driver.turn(budget) {
            Turn::Leave => Poll::Ready(()),
            Turn::Sleep => Poll::Pending,
            Turn::Yield => self.yield_turn(context),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::{NEW, Woken, goes_on};
    use crate::engine::tests::stubs::as_polled;

    #[test]
    fn eight_short_pieces_are_done_in_a_row_and_long_ones_one_by_one() {
        let in_a_row = || (1..).take_while(|done| goes_on(*done)).take(100).count() + 1;
        assert_eq!(as_polled(Duration::from_micros(1), in_a_row), 8);
        assert_eq!(as_polled(Duration::from_millis(1), in_a_row), 1);
        assert_eq!(in_a_row(), 1, "where no driver polls, nothing is known");
    }

    #[test]
    fn a_thread_knows_whether_it_has_woken_another_driver_than_the_one_it_polls() {
        let after = |woken: &[usize]| {
            let woken = woken.iter().fold(Woken::Nothing, |woken, driver| woken.and(*driver));
            [1, 2].map(|polled| woken.includes_other_than(polled))
        };
        assert_eq!(after(&[]), [false, false]);
        assert_eq!(after(&[1]), [false, true]);
        assert_eq!(after(&[1, 1]), [false, true]);
        assert_eq!(after(&[2, 1]), [true, true], "the second wake may have been of no effect");
        assert_eq!(after(&[NEW]), [true, true]);
    }
}
