//! `AsyncPool`: futures, permits, and items that are pulled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use formic::{AsyncPool, Control, ForEachError, JoinError, JoinHandle, Refused, WhenFull};
use futures_util::StreamExt;

use super::{async_verbs, futures};
use crate::async_errand::{AsyncErrand, AsyncHost, Boxed, Site};
use crate::books::{Books, give_up};
use crate::floor::Floor;
use crate::host::give_back;
use crate::plan::Plan;
use crate::random::Random;
use crate::settings::Settings;
use crate::watch::Watch;

/// A phase with a pool of futures.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let Some(runtime) = futures::runtime(plan, books) else { return };
    let floor = Floor::new(plan.settings.ceiling());
    match runtime.give(plan.settings.on_tokio(AsyncPool::builder())).build() {
        Ok(pool) => {
            let host = Arc::new(OnAsyncPool { pool, fair: fair(plan) });
            futures::drive(plan, watch, books, runtime, host, &floor, &[Arc::clone(&floor)]);
        }
        Err(error) => books.fault(format!("the pool could not be built: {error}")),
    }
}

/// Why a pool may refuse: as its settings say, and for the want of a runtime once that has ended.
pub(super) struct Fair {
    waiting: Vec<Refused>,
    at_once: Vec<Refused>,
}

/// See [`Fair`].
pub(super) fn fair(plan: &Plan) -> Fair {
    let mut waiting = of_futures(&plan.settings).to_vec();
    let mut at_once = vec![Refused::Full, Refused::Closed];
    if plan.ending == crate::plan::Ending::EndRuntime {
        waiting.push(Refused::RuntimeGone);
        at_once.push(Refused::RuntimeGone);
    }
    Fair { waiting, at_once }
}

/// A future does not run on whoever submits it.
fn of_futures(settings: &Settings) -> &'static [Refused] {
    match settings.when_full {
        WhenFull::Wait => settings.fair(),
        _ => &[Refused::Closed, Refused::Full],
    }
}

impl Fair {
    /// If the submitter waits.
    pub(super) fn waiting(&self) -> &[Refused] {
        &self.waiting
    }

    /// If it does not.
    pub(super) fn at_once(&self) -> &[Refused] {
        &self.at_once
    }
}

struct OnAsyncPool {
    pool: AsyncPool,
    fair: Fair,
}

/// An errand whose result nobody wants.
pub(super) async fn unheard(errand: AsyncErrand) {
    errand.run().await;
}

impl AsyncHost for OnAsyncPool {
    fn submit(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<(), Refused>> {
        Box::pin(async move { self.pool.submit(unheard(errand)).await.map_err(give_back) })
    }

    fn spawn(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<JoinHandle<u64>, Refused>> {
        Box::pin(async move { self.pool.spawn(errand.run()).await.map_err(give_back) })
    }

    fn try_submit(&self, errand: AsyncErrand) -> Result<(), Refused> {
        self.pool.try_submit(unheard(errand)).map_err(give_back)
    }

    fn try_spawn(&self, errand: AsyncErrand) -> Result<JoinHandle<u64>, Refused> {
        self.pool.try_spawn(errand.run()).map_err(give_back)
    }

    fn blocking_submit(&self, errand: AsyncErrand) -> Result<(), Refused> {
        self.pool.blocking_submit(unheard(errand)).map_err(give_back)
    }

    fn extra(self: Arc<Self>, site: Site, mut random: Random) -> Boxed<Random> {
        Box::pin(async move {
            if site.depth == 0 && random.once_in(2) {
                async_verbs::pool(&self.pool, &site, &mut random).await;
                return random;
            }
            match random.below(4) {
                0 => self.permit(&site, &mut random).await,
                1 => drop(self.pool.wait_idle().await),
                2 => self.for_each(&site, &mut random).await,
                _ => self.map(&site, &mut random).await,
            }
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

impl OnAsyncPool {
    async fn permit(&self, site: &Site, random: &mut Random) {
        let waits = random.once_in(2);
        let permit = if waits { self.pool.admit().await } else { self.pool.try_admit() };
        let permit = match permit {
            Ok(permit) => permit,
            Err(refused) => {
                let fair = if waits { self.fair.waiting() } else { self.fair.at_once() };
                return site.books.turned_away(refused, fair);
            }
        };
        let Some(errand) = site.errand(random) else { return };
        match random.below(3) {
            0 => permit.submit(unheard(errand)),
            1 => drop(permit.spawn(errand.run())),
            _ => {
                drop(permit);
                give_up(errand);
            }
        }
    }

    /// Errands to be pulled. How many tasks that makes is the pool's affair.
    fn items(site: &Site, random: &mut Random) -> Vec<AsyncErrand> {
        site.books.seats.store(true, Ordering::SeqCst);
        let items = random.within(1, 40);
        (0..items).map_while(|_| site.item(random)).collect()
    }

    async fn for_each(&self, site: &Site, random: &mut Random) {
        let items = Self::items(site, random);
        let numbers: Vec<usize> = items.iter().map(AsyncErrand::number).collect();
        match self.pool.for_each(items, unheard).await {
            Ok(()) => {
                if let Some(left) = numbers.into_iter().find(|number| !site.books.is_gone(*number))
                {
                    site.books.fault(format!("for_each ended, and its item {left} was not gone"));
                }
            }
            Err(ForEachError::Refused(refused)) => self.cut_off(refused, site),
            // A pool that was closed as well may have left items.
            Err(_) => {}
        }
    }

    /// A `map` or `for_each` has items left: it waits for a place, and may be discarded meanwhile.
    fn cut_off(&self, refused: Refused, site: &Site) {
        if refused != Refused::Discarded {
            site.note(Err(refused), self.fair.waiting());
        }
    }

    async fn map(&self, site: &Site, random: &mut Random) {
        let items = Self::items(site, random);
        let numbers: Vec<usize> = items.iter().map(AsyncErrand::number).collect();
        let taken = if random.once_in(2) { numbers.len() } else { random.below(numbers.len()) };
        let mut outcomes = self.pool.map(items, AsyncErrand::run);
        for number in numbers.into_iter().take(taken) {
            match outcomes.next().await {
                // It ends early if the pool is closed, and says so.
                Some(Err(JoinError::Refused(refused))) => {
                    return self.cut_off(refused, site);
                }
                Some(outcome) => site.books.outcome(number, outcome.as_ref().copied()),
                None => return site.books.fault("a map ended before its items did"),
            }
        }
    }
}
