//! `AsyncFnPool`: errands as arguments of an async function.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use formic::tower::ServiceError;
use formic::{AsyncFnPool, CallError, Control, JoinError, JoinHandle, Refused};
use futures_util::FutureExt;
use tower_service::Service;

use super::async_pool::{Fair, fair};
use super::{async_verbs, futures};
use crate::async_errand::{AsyncErrand, AsyncHost, Boxed, Site};
use crate::books::{Books, drop_unclear, give_up, take_back, unclear_while};
use crate::floor::Floor;
use crate::host::{expect_panics, give_back};
use crate::plan::Plan;
use crate::random::Random;
use crate::watch::Watch;

/// A phase with a pool of one async function.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let Some(runtime) = futures::runtime(plan, books) else { return };
    let floor = Floor::new(plan.settings.ceiling());
    let builder = runtime.give(plan.settings.on_tokio(AsyncFnPool::builder()));
    match builder.build(AsyncErrand::run) {
        Ok(pool) => {
            let host = Arc::new(OnAsyncFnPool { pool, fair: fair(plan) });
            futures::drive(plan, watch, books, runtime, host, &floor, &[Arc::clone(&floor)]);
        }
        Err(error) => books.fault(format!("the pool could not be built: {error}")),
    }
}

struct OnAsyncFnPool {
    pool: AsyncFnPool<AsyncErrand, u64>,
    fair: Fair,
}

impl AsyncHost for OnAsyncFnPool {
    fn submit(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<(), Refused>> {
        Box::pin(async move { self.pool.submit(errand).await.map_err(give_back) })
    }

    fn spawn(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<JoinHandle<u64>, Refused>> {
        Box::pin(async move { self.pool.spawn(errand).await.map_err(give_back) })
    }

    fn try_submit(&self, errand: AsyncErrand) -> Result<(), Refused> {
        self.pool.try_submit(errand).map_err(give_back)
    }

    fn try_spawn(&self, errand: AsyncErrand) -> Result<JoinHandle<u64>, Refused> {
        self.pool.try_spawn(errand).map_err(give_back)
    }

    fn blocking_submit(&self, errand: AsyncErrand) -> Result<(), Refused> {
        self.pool.blocking_submit(errand).map_err(give_back)
    }

    fn extra(self: Arc<Self>, site: Site, mut random: Random) -> Boxed<Random> {
        Box::pin(async move {
            if site.depth == 0 && random.once_in(2) {
                async_verbs::fn_pool(&self.pool, &site, &mut random).await;
                return random;
            }
            if random.once_in(10) {
                // Their handles hear of it before they are dropped here.
                site.books.taken.store(true, Ordering::SeqCst);
                let taken = self.pool.take_queued();
                site.books.discarded.fetch_add(taken.len() as u64, Ordering::SeqCst);
                taken.into_iter().for_each(|errand| expect_panics(&site.books, || drop(errand)));
                return random;
            }
            let Some(errand) = site.errand(&mut random) else { return random };
            let number = errand.number();
            if random.once_in(4) {
                self.serve(errand, &site, &mut random).await;
                return random;
            }
            if random.once_in(3) {
                self.called(self.pool.call(errand).await, number, &site);
                return random;
            }
            // The timer is the runtime's, so a plain thread has none.
            if tokio::runtime::Handle::try_current().is_ok() && random.once_in(2) {
                // When its time is over, a call is cancelled, wherever it stands.
                site.note_halt();
                let call = self.pool.call_timeout(errand, random.micros(300));
                match unclear_while(call).await {
                    Err(CallError::TimedOut) => {}
                    Err(CallError::Refused(error)) => {
                        let reason = error.reason();
                        drop_unclear(error.into_task());
                        let late = matches!(reason, Refused::TimedOut | Refused::Expired);
                        site.note(Err(reason), if late { &LATE } else { self.fair.waiting() });
                    }
                    answer => self.called(answer, number, &site),
                }
                return random;
            }
            // Dropped, a call is cancelled, wherever it stands.
            site.note_halt();
            let mut call = Box::pin(self.pool.call(errand));
            if let Some(answer) = call.as_mut().now_or_never() {
                self.called(answer, number, &site);
            }
            drop_unclear(call);
            random
        })
    }

    fn controls(&self) -> Vec<&Control> {
        vec![&self.pool]
    }

    fn fair(&self) -> &[Refused] {
        self.fair.waiting()
    }

    fn fair_at_once(&self) -> &[Refused] {
        self.fair.at_once()
    }
}

/// Why a call with a time limit comes back when its time is over.
const LATE: [Refused; 2] = [Refused::TimedOut, Refused::Expired];

impl OnAsyncFnPool {
    /// A call by a service, which may be dropped when it is ready, and its response when it is not there.
    async fn serve(&self, errand: AsyncErrand, site: &Site, random: &mut Random) {
        let (number, mut service) = (errand.number(), self.pool.service());
        match poll_fn(|context| service.poll_ready(context)).await {
            Ok(()) if random.once_in(4) => give_up(errand),
            Ok(()) if random.once_in(2) => {
                site.note_halt();
                drop_unclear(service.call(errand));
            }
            Ok(()) => match service.call(errand).await {
                Ok(value) => site.books.outcome(number, Ok(value)),
                Err(ServiceError::Panicked(panic)) => {
                    site.books.outcome(number, Err(&JoinError::Panicked(panic)));
                }
                Err(ServiceError::Cancelled) => {
                    site.books.outcome(number, Err(&JoinError::Cancelled));
                }
                Err(error) => site.books.fault(format!("a call of a service: {error}")),
            },
            Err(ServiceError::Refused(refused)) => {
                take_back(errand);
                site.note(Err(refused), self.fair.waiting());
            }
            Err(error) => site.books.fault(format!("a service that is not ready: {error}")),
        }
    }

    fn called(&self, answer: Result<u64, CallError<AsyncErrand>>, number: usize, site: &Site) {
        match answer {
            Ok(value) => site.books.outcome(number, Ok(value)),
            Err(CallError::Refused(error)) => {
                site.note(Err(give_back(error)), self.fair.waiting());
            }
            Err(CallError::Cancelled) => site.books.outcome(number, Err(&JoinError::Cancelled)),
            Err(CallError::Panicked(panic)) => {
                site.books.outcome(number, Err(&JoinError::Panicked(panic)));
            }
            Err(_) => site.books.fault("a call without a deadline was over its time"),
        }
    }
}
