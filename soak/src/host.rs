//! A host: any pool of threads, as far as all of them do the same. What every submitter does to it
//! is here; what only one kind of pool can do is with its driver.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use formic::{Control, JoinHandle, Refused, Stats, StillRunning, SubmitError};
use futures_util::FutureExt;
use pollster::block_on;

use crate::books::{Books, Expected, take_back};
use crate::errand::Errand;
use crate::random::Random;

/// Any pool of threads.
pub(crate) trait Host: Send + Sync {
    /// Submits an errand. What is refused is noted and dropped.
    fn submit(&self, errand: Errand, wait: bool) -> Result<(), Refused>;

    /// The same with a handle.
    fn spawn(&self, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused>;

    /// The pool, or each of its shards.
    fn controls(&self) -> Vec<&Control>;

    /// The figures of all of them.
    fn stats(&self) -> Stats;

    /// Why it may refuse, if the submitter waits.
    fn fair(&self) -> &[Refused];

    /// Whether a task of the pool gets an error if it waits for the pool's end.
    fn refuses_end_from_inside(&self) -> bool;

    /// Whether every second errand uses its own pool.
    fn is_entangled(&self) -> bool {
        false
    }

    /// What only this kind of pool can do, from anywhere.
    fn extra(self: Arc<Self>, books: &Arc<Books>, depth: usize, random: &mut Random);

    /// What only a submitter outside of the pool can do.
    fn outside(&self, books: &Arc<Books>, random: &mut Random);
}

/// Why a submitter that does not wait may be refused.
pub(crate) const AT_ONCE: [Refused; 2] = [Refused::Full, Refused::Closed];

/// One act of a submitter outside of the pool.
pub(crate) fn act(host: &Arc<dyn Host>, books: &Arc<Books>, random: &mut Random) {
    match random.below(100) {
        0..75 => use_host(host, books, 0, random),
        75..90 => Arc::clone(host).extra(books, 0, random),
        _ => host.outside(books, random),
    }
    if random.once_in(8) {
        host.controls().into_iter().for_each(|control| books.sample(control.stats()));
    }
}

/// What a task does to its own pool.
pub(crate) fn nest(host: &Arc<dyn Host>, books: &Arc<Books>, depth: usize, random: &mut Random) {
    for _ in 0..random.within(1, 3) {
        if host.is_entangled() && random.once_in(2) {
            spawn_and_join(host, books, depth, random);
        } else if random.once_in(3) {
            Arc::clone(host).extra(books, depth, random);
        } else {
            use_host(host, books, depth, random);
        }
    }
}

fn use_host(host: &Arc<dyn Host>, books: &Arc<Books>, depth: usize, random: &mut Random) {
    let Some(errand) = Errand::any(books, host, depth, random) else { return };
    let (number, wait) = (errand.number(), random.below(3) > 0);
    let fair = if wait { host.fair() } else { &AT_ONCE };
    let refused = if random.once_in(2) {
        host.submit(errand, wait).err()
    } else {
        match host.spawn(errand, wait) {
            Ok(handle) => return treat(handle, number, books, random),
            Err(refused) => Some(refused),
        }
    };
    if let Some(refused) = refused {
        books.refused(refused, fair);
        if refused == Refused::Closed {
            std::thread::park_timeout(random.micros(100));
        }
    }
}

/// Joins a task of the same pool, come what may.
fn spawn_and_join(host: &Arc<dyn Host>, books: &Arc<Books>, depth: usize, random: &mut Random) {
    let Some(errand) = Errand::any(books, host, depth, random) else { return };
    let number = errand.number();
    match host.spawn(errand, true) {
        Ok(handle) => books.outcome(number, handle.join().as_ref().copied()),
        Err(refused) => books.refused(refused, host.fair()),
    }
}

/// Whatever one may do with a handle.
pub(crate) fn treat(
    mut handle: JoinHandle<u64>,
    number: usize,
    books: &Books,
    random: &mut Random,
) {
    let outcome = match random.below(8) {
        0 => return drop(handle),
        // Whether this cancels it is not told, so it is not counted as told.
        1 => return drop(handle.cancel_on_drop()),
        2 => return give_up_awaiting(handle, number, books),
        3 => {
            cancel(&handle, books);
            handle.join()
        }
        4 => block_on(handle),
        5 => handle.join_timeout(random.micros(300)).unwrap_or_else(|| {
            cancel(&handle, books);
            handle.join()
        }),
        _ => handle.join(),
    };
    books.outcome(number, outcome.as_ref().copied());
    if let Err(formic::JoinError::Panicked(panic)) = outcome {
        expect(panic.into_payload(), books);
    }
}

fn cancel(handle: &JoinHandle<u64>, books: &Books) {
    if handle.cancel() {
        books.discarded.fetch_add(1, Ordering::SeqCst);
        if !handle.is_finished() {
            books.fault("a task was cancelled, and has no outcome");
        }
    }
}

fn give_up_awaiting(handle: JoinHandle<u64>, number: usize, books: &Books) {
    if let Some(outcome) = handle.now_or_never() {
        books.outcome(number, outcome.as_ref().copied());
    }
}

/// Calls something that may panic as a task of ours did.
pub(crate) fn expect_panics(books: &Books, call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        expect(payload, books);
    }
}

/// No other panic than ours may come out of a pool.
pub(crate) fn expect(payload: Box<dyn Any + Send>, books: &Books) {
    if !payload.is::<Expected>() {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
        books.fault(format!("a panic that is not ours: {text:?}"));
    }
}

/// Drops a refused task, and says why it was refused.
pub(crate) fn give_back<F>(error: SubmitError<F>) -> Refused {
    let reason = error.reason();
    take_back(error.into_task());
    reason
}

/// Whether both waits for the end were refused because they came from inside.
pub(crate) fn is_from_inside(
    drained: Result<(), StillRunning>,
    idle: Result<(), StillRunning>,
) -> bool {
    let refused = |ended: Result<(), StillRunning>| ended.is_err_and(|left| left.is_from_inside());
    refused(drained) && refused(idle)
}
