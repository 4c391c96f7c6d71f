//! `FnPool`: errands as arguments, with or without a state per worker.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::tower::{FnService, ServiceError};
use formic::{CallError, Control, FnPool, JoinError, JoinHandle, Refused, Stats};
use futures_util::FutureExt;
use pollster::block_on;
use tower_service::Service;

use super::{fn_pool_unready, threads, verbs};
use crate::books::{Books, drop_unclear, give_up, take_back};
use crate::errand::Errand;
use crate::floor::Floor;
use crate::host::{AT_ONCE, Host, expect_panics, give_back, is_from_inside};
use crate::plan::{Kind, Plan};
use crate::random::Random;
use crate::settings::Settings;
use crate::watch::Watch;

/// A pool that runs errands.
pub(super) type Errands = FnPool<Errand, u64>;

/// A phase with a pool of one function.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let states = Arc::new(AtomicUsize::new(0));
    threads::run(plan, watch, books, |floor| {
        let pool = build(plan, floor, &states, books)?;
        Ok(Arc::new(OnFnPool { pool, settings: plan.settings.clone() }))
    });
    watch.await_that(books, "every state of a worker is dropped", || {
        states.load(Ordering::SeqCst) == 0
    });
}

/// A worker's state, counted while it lives.
pub(super) struct Counted(Arc<AtomicUsize>, u64);

impl Counted {
    pub(super) fn new(states: &Arc<AtomicUsize>) -> Self {
        states.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(states), 0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Builds a pool of errands, with a state or without.
pub(super) fn build(
    plan: &Plan,
    floor: &Arc<Floor>,
    states: &Arc<AtomicUsize>,
    books: &Arc<Books>,
) -> Result<Errands, formic::BuildError> {
    let builder = plan.settings.on_threads(FnPool::builder(), floor);
    if plan.kind == Kind::FnPool {
        // A pool that lives on in a thread-local would keep the books.
        let books = Arc::downgrade(books);
        let hear = move |number: u64| {
            if let Some(books) = books.upgrade() {
                books.outcome(number as usize, Ok(number));
            }
        };
        return builder.on_result(hear).build(Errand::run);
    }
    if plan.kind == Kind::FnPoolUnready {
        return fn_pool_unready::build(builder, states);
    }
    let states = Arc::clone(states);
    builder.build_with(
        move || Counted::new(&states),
        |state: &mut Counted, errand: Errand| {
            state.1 += 1;
            errand.run()
        },
    )
}

struct OnFnPool {
    pool: Errands,
    settings: Settings,
}

/// Gives an errand to a pool.
pub(super) fn submit(pool: &Errands, errand: Errand, wait: bool) -> Result<(), Refused> {
    let answer = if wait { pool.submit(errand) } else { pool.try_submit(errand) };
    answer.map_err(give_back)
}

impl Host for OnFnPool {
    threads::one_pool!();

    fn submit(&self, errand: Errand, wait: bool) -> Result<(), Refused> {
        submit(&self.pool, errand, wait)
    }

    fn spawn(&self, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused> {
        let answer = if wait { self.pool.spawn(errand) } else { self.pool.try_spawn(errand) };
        answer.map_err(give_back)
    }

    fn extra(self: Arc<Self>, books: &Arc<Books>, depth: usize, random: &mut Random) {
        let (pool, fair) = (self.pool.clone(), self.settings.fair());
        let patient = self.settings.fair_if_waiting();
        let host: Arc<dyn Host> = self;
        let Some(errand) = Errand::any(books, &host, depth, random) else { return };
        let number = errand.number();
        match random.below(6) {
            0 => called(pool.call(errand), number, fair, books, Back::FromGate),
            1 => {
                let answer = pool.call_timeout(errand, random.micros(300));
                called(answer, number, patient, books, Back::Unclear);
            }
            2 => called(block_on(pool.call_async(errand)), number, patient, books, Back::FromGate),
            3 => serve(&mut pool.service(), errand, patient, books, random),
            _ => {
                let mut call = Box::pin(pool.call_async(errand));
                if let Some(answer) = call.as_mut().now_or_never() {
                    called(answer, number, patient, books, Back::FromGate);
                }
                drop_unclear(call);
            }
        }
    }

    fn outside(&self, books: &Arc<Books>, random: &mut Random) {
        match random.below(12) {
            0..6 => return verbs::fn_pool(&self.pool, books, random),
            6 => return take_queued(&self.pool, books),
            7 | 8 => return call_in_runtime(&self.pool, books, random),
            _ => {}
        }
        let Some(errand) = Errand::alone(books, random) else { return };
        if let Err(refused) = submit(&self.pool.clone(), errand, false) {
            books.refused(refused, &AT_ONCE);
        }
        if random.once_in(10) {
            // From outside, it can be waited for.
            if let Err(left) = self.pool.wait_idle() {
                books.fault(format!("a wait from outside: {left:?}"));
            }
        }
    }
}

/// Takes arguments out of the queue. The pool counts them as cancelled.
pub(super) fn take_queued(pool: &Errands, books: &Books) {
    // Their handles hear of it before they are dropped here.
    books.taken.store(true, Ordering::SeqCst);
    drop_taken(pool.take_queued(), books);
}

/// Drops arguments that were taken out of a queue.
pub(super) fn drop_taken(taken: Vec<Errand>, books: &Books) {
    books.discarded.fetch_add(taken.len() as u64, Ordering::SeqCst);
    taken.into_iter().for_each(|errand| expect_panics(books, || drop(errand)));
}

/// Calls that need a timer, and one that does not wait.
fn call_in_runtime(pool: &Errands, books: &Arc<Books>, random: &mut Random) {
    let Some(errand) = Errand::alone(books, random) else { return };
    let number = errand.number();
    if random.once_in(3) {
        let answer = block_on(pool.try_call_async(errand));
        return called(answer, number, &AT_ONCE, books, Back::FromGate);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return give_up(errand) };
    let answer = runtime.block_on(pool.call_within(errand, random.micros(500)));
    called(answer, number, &LATE, books, Back::Unclear);
}

/// Why a call with a time limit may come back.
const LATE: [Refused; 4] = [Refused::Closed, Refused::Full, Refused::TimedOut, Refused::Expired];

/// A call by a service, which may be dropped when it is ready, and its response when it is not there.
fn serve(
    service: &mut FnService<Errand, u64>,
    errand: Errand,
    fair: &[Refused],
    books: &Books,
    random: &mut Random,
) {
    let number = errand.number();
    match block_on(poll_fn(|context| service.poll_ready(context))) {
        Ok(()) if random.once_in(4) => give_up(errand),
        Ok(()) => {
            let response = service.call(errand);
            if random.once_in(2) {
                return drop_unclear(response);
            }
            match block_on(response) {
                Ok(value) => books.outcome(number, Ok(value)),
                Err(ServiceError::Panicked(panic)) => {
                    books.outcome(number, Err(&JoinError::Panicked(panic)));
                }
                Err(ServiceError::Cancelled) => books.outcome(number, Err(&JoinError::Cancelled)),
                Err(error) => books.fault(format!("a call of a service: {error}")),
            }
        }
        Err(ServiceError::Refused(refused)) => {
            take_back(errand);
            books.refused(refused, fair);
        }
        Err(error) => books.fault(format!("a service that is not ready: {error}")),
    }
}

/// Where a refused argument comes back from.
#[derive(Clone, Copy)]
pub(super) enum Back {
    FromGate,
    /// From the gate or from the queue.
    Unclear,
}

/// What came of a call.
pub(super) fn called(
    answer: Result<u64, CallError<Errand>>,
    number: usize,
    fair: &[Refused],
    books: &Books,
    back: Back,
) {
    match (answer, back) {
        (Ok(value), _) => books.outcome(number, Ok(value)),
        (Err(CallError::Refused(error)), Back::FromGate) => books.refused(give_back(error), fair),
        (Err(CallError::Refused(error)), Back::Unclear) => {
            books.refused(error.reason(), fair);
            drop_unclear(error.into_task());
        }
        (Err(CallError::Cancelled), _) => books.outcome(number, Err(&JoinError::Cancelled)),
        (Err(CallError::Panicked(panic)), _) => {
            books.outcome(number, Err(&JoinError::Panicked(panic)));
        }
        // It runs on, and has been asked to stop.
        (Err(_), _) => {}
    }
}
