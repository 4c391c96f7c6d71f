//! A cell: a future that a driver runs, and the waker of that future in one.
//!
//! | state   | it is                                   | becomes                                  |
//! |---------|-----------------------------------------|------------------------------------------|
//! | Ready   | in its list's queue, or about to be     | Polling, by whoever takes it out         |
//! | Polling | being polled                            | Waiting; Again if it was woken meanwhile |
//! | Again   | being polled, and to be polled again    | Ready                                    |
//! | Waiting | nobody's, until it is woken             | Ready                                    |
//! | Over    | ended or dropped: to wake it does nothing | Ready, if it is used again             |
//!
//! Only whoever made it Polling changes it from there on, so a future is polled by one driver at a
//! time, although any of them may do it.

use std::any::Any;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Wake, Waker};

use super::list::List;
use super::polling::set_place;
use super::run::{Counts, End, contain};
use super::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use super::sync::{Mutex, lock};

const READY: u8 = 0;
const POLLING: u8 = 1;
const AGAIN: u8 = 2;
const WAITING: u8 = 3;
const OVER: u8 = 4;

/// What a driver knows of a cell.
pub(crate) struct Header {
    state: AtomicU8,
    /// Where it stands in its list.
    index: AtomicU32,
    /// The list of the driver that began with it, for good.
    home: OnceLock<Arc<List>>,
}

/// A future that says how it ended.
pub(crate) trait Errand: Future<Output = End> + Send {
    /// Says who counts it.
    fn set_counts(self: Pin<&mut Self>, counts: Counts);

    /// Where it was submitted.
    fn origin(&self) -> Option<&'static Location<'static>>;

    /// What is to be counted when it is dropped before its end: nothing if it does that itself.
    fn end_by_drop(&self) -> End;
}

/// See the module's first lines.
pub(crate) struct Cell<F, K = NoStock> {
    header: Header,
    /// Locked for as long as it is polled; nobody ever waits for it.
    body: Mutex<Option<F>>,
    /// Where it goes when it is over.
    stock: K,
}

/// What becomes of a cell whose future is over.
pub(crate) trait Keeps<F>: Send + Sync + Sized {
    /// Keeps it to be used again, or gives it back.
    fn keep(cell: Arc<Cell<F, Self>>) -> Option<Arc<Cell<F, Self>>>;
}

/// It is used once.
pub(crate) struct NoStock;

impl<F> Keeps<F> for NoStock {
    fn keep(cell: Arc<Cell<F, Self>>) -> Option<Arc<Cell<F, Self>>> {
        Some(cell)
    }
}

/// It goes back to its stock, if that is still there.
pub(crate) struct FromStock<F>(Weak<Stock<F>>);

impl<F: Send> Keeps<F> for FromStock<F> {
    fn keep(cell: Arc<Cell<F, Self>>) -> Option<Arc<Cell<F, Self>>> {
        let Some(stock) = cell.stock.0.upgrade() else { return Some(cell) };
        lock(&stock).push(cell);
        None
    }
}

/// What a future without a handle has panicked with, and where it was submitted.
pub(crate) struct Panic {
    pub(crate) payload: Box<dyn Any + Send>,
    pub(crate) origin: Option<&'static Location<'static>>,
}

/// Cells that wait for their next future.
pub(crate) type Stock<F> = Mutex<Vec<Arc<Cell<F, FromStock<F>>>>>;

/// A cell of whatever future.
pub(crate) trait Runnable: Any + Send + Sync {
    fn header(&self) -> &Header;

    /// What wakes the cell.
    fn waker(self: Arc<Self>) -> Waker;

    /// Polls the future. Its end, if it has come. If it panicked, it is gone.
    fn poll(&self, context: &mut Context<'_>) -> Result<Option<End>, Panic>;

    /// Has it counted as run by somebody who joins it, or not.
    fn set_adopted(&self, adopted: bool) {
        self.set_counts(if adopted { Counts::Joiner } else { Counts::Driver });
    }

    /// It was taken out of the line to be dropped, and is counted there. True: it would have run.
    fn kill(&self) -> bool {
        self.set_counts(Counts::Dropper);
        true
    }

    fn set_counts(&self, counts: Counts);

    /// Drops the future, and says how it is to be counted.
    fn abandon(&self) -> End;

    /// After its end. It comes back if it is not kept to be used again.
    fn put_away(self: Arc<Self>) -> Option<Arc<dyn Runnable>>;

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl Header {
    fn new() -> Self {
        Header { state: AtomicU8::new(READY), index: AtomicU32::new(0), home: OnceLock::new() }
    }

    /// Gives it its place in its list.
    pub(crate) fn settle(&self, home: &Arc<List>, index: u32) {
        let own = self.home.get_or_init(|| Arc::clone(home));
        debug_assert!(Arc::ptr_eq(own, home), "a cell has one home");
        self.index.store(index, Ordering::Relaxed);
        // Release: pairs with the Acquire of whoever wakes it, and reads where.
        self.state.store(READY, Ordering::Release);
    }

    pub(crate) fn index(&self) -> u32 {
        self.index.load(Ordering::Relaxed)
    }

    pub(crate) fn home(&self) -> Option<&Arc<List>> {
        self.home.get()
    }

    /// Somebody wakes it.
    pub(crate) fn wake(&self) {
        let mut seen = self.state.load(Ordering::Acquire);
        loop {
            let next = match seen {
                WAITING => READY,
                POLLING => AGAIN,
                OVER => return,
                // Written all the same: if it were only read, whoever polls it might have gone on by
                // then, without having seen what the waker's owner did before.
                same => same,
            };
            // Release: what the waker's owner did is there for whoever polls. Acquire: pairs with
            // the Release in `settle`.
            let done = self.state.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Acquire);
            match done {
                Ok(WAITING) => break,
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
        if let Some(home) = self.home.get() {
            home.push_ready(self.index());
        }
    }

    /// False if it is not to be polled: it was lost with its driver after it had become ready.
    #[must_use]
    fn begin_poll(&self) -> bool {
        // Acquire: pairs with the Release in `wake`.
        let begun =
            self.state.compare_exchange(READY, POLLING, Ordering::AcqRel, Ordering::Relaxed);
        begun.is_ok()
    }

    /// True if it must be polled again.
    #[must_use]
    fn end_poll(&self) -> bool {
        let change = |from, to| {
            self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        // Otherwise it was woken meanwhile, or it is over because its driver is gone.
        !change(POLLING, WAITING) && change(AGAIN, READY)
    }

    fn set_over(&self) {
        self.state.store(OVER, Ordering::Release);
    }
}

/// What came of a poll.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Waits,
    /// It was woken meanwhile, so it must be polled again.
    Again,
    Ended(End),
}

/// Polls a cell that was taken out of a list's queue. `run` calls what it is given, and tells of a panic.
pub(crate) fn poll(
    cell: &Arc<dyn Runnable>,
    run: impl FnOnce(&mut dyn FnMut() -> Result<Option<End>, Panic>) -> Option<End>,
) -> Polled {
    let header = cell.header();
    if !header.begin_poll() {
        return Polled::Waits;
    }
    let waker = borrowed_waker(cell);
    set_place(header);
    match run(&mut || cell.poll(&mut Context::from_waker(&waker))) {
        Some(end) => {
            header.set_over();
            Polled::Ended(end)
        }
        None if header.end_poll() => Polled::Again,
        None => Polled::Waits,
    }
}

/// A cell's waker that is not to outlive this reference to it, and so is not counted as one more.
fn borrowed_waker(cell: &Arc<dyn Runnable>) -> ManuallyDrop<Waker> {
    // SAFETY: the first of the two is there for as long as the second one is used, which ends up in the
    // waker and is never dropped: so the count stays what it is. Whoever clones the waker counts one more.
    let second = unsafe { std::ptr::read(cell) };
    ManuallyDrop::new(second.waker())
}

/// Drops the future of a cell that nobody polls, and nobody will.
pub(crate) fn abandon(cell: &Arc<dyn Runnable>) -> End {
    cell.header().set_over();
    let mut end = End::Cancelled;
    contain(|| end = cell.abandon());
    end
}

impl<F: Errand + 'static> Cell<F> {
    pub(crate) fn new(body: F) -> Arc<Self> {
        Arc::new(Cell { header: Header::new(), body: Mutex::new(Some(body)), stock: NoStock })
    }

    /// Takes out what has never been polled.
    pub(crate) fn take(&self) -> Option<F> {
        lock(&self.body).take()
    }
}

impl<F: Errand + 'static> Cell<F, FromStock<F>> {
    /// A cell from the stock, or a new one for it.
    pub(crate) fn from_stock(stock: &Arc<Stock<F>>, body: F) -> Arc<Self> {
        let kept = lock(stock).pop();
        let Some(cell) = kept else {
            let stock = FromStock(Arc::downgrade(stock));
            return Arc::new(Cell { header: Header::new(), body: Mutex::new(Some(body)), stock });
        };
        *lock(&cell.body) = Some(body);
        cell
    }
}

impl<F: Errand + 'static, K: Keeps<F> + 'static> Runnable for Cell<F, K> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn waker(self: Arc<Self>) -> Waker {
        Waker::from(self)
    }

    fn poll(&self, context: &mut Context<'_>) -> Result<Option<End>, Panic> {
        let mut body = lock(&self.body);
        // SAFETY: the body lies in an `Arc` and is not moved out of it once it has been polled: it is
        // dropped in its place, and `take` is for those that never were.
        let mut body = unsafe { Pin::new_unchecked(&mut *body) };
        // Who has dropped it has counted it.
        let Some(errand) = body.as_mut().as_pin_mut() else { return Ok(Some(End::Counted)) };
        // It is gone before the lock is free, also by a panic. So it is counted once: by whoever polled
        // it to its end, or by whoever finds it there and drops it.
        match catch_unwind(AssertUnwindSafe(|| errand.poll(context))) {
            Ok(Poll::Pending) => Ok(None),
            Ok(Poll::Ready(end)) => {
                body.set(None);
                Ok(Some(end))
            }
            Err(payload) => {
                // An errand may be at another task by now than when it was polled.
                let origin = body.as_ref().get_ref().as_ref().and_then(Errand::origin);
                contain(|| body.set(None));
                Err(Panic { payload, origin })
            }
        }
    }

    fn set_counts(&self, counts: Counts) {
        let mut body = lock(&self.body);
        // SAFETY: as in `poll`.
        let body = unsafe { Pin::new_unchecked(&mut *body) };
        if let Some(errand) = body.as_pin_mut() {
            errand.set_counts(counts);
        }
    }

    fn abandon(&self) -> End {
        let mut body = lock(&self.body);
        let end = body.as_ref().map_or(End::Counted, Errand::end_by_drop);
        // SAFETY: as in `poll`.
        unsafe { Pin::new_unchecked(&mut *body) }.set(None);
        end
    }

    fn put_away(self: Arc<Self>) -> Option<Arc<dyn Runnable>> {
        K::keep(self).map(|cell| cell as Arc<dyn Runnable>)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<F: Errand + 'static, K: Keeps<F> + 'static> Wake for Cell<F, K> {
    fn wake(self: Arc<Self>) {
        self.header.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.header.wake();
    }
}
