//! `Multi`: shards of closures or of one function, each disturbed by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::{Balance, BuildError, Control, JoinHandle, Multi, Pool, Refused, Shard, Stats};

use super::{fn_pool, groups, pool, threads, verbs};
use crate::books::Books;
use crate::errand::Errand;
use crate::floor::Floor;
use crate::host::{Host, give_back};
use crate::plan::{Kind, Plan};
use crate::random::Random;
use crate::settings::Settings;
use crate::watch::Watch;

/// A phase with shards.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let floors: Vec<_> = (0..plan.shards).map(|_| Floor::new(plan.settings.ceiling())).collect();
    let states = Arc::new(AtomicUsize::new(0));
    match build(plan, &floors, &states, books) {
        Ok(host) => threads::drive(plan, watch, books, host, &floors),
        Err(error) => books.fault(format!("the shards could not be built: {error}")),
    }
    watch.await_that(books, "every state of a worker is dropped", || {
        states.load(Ordering::SeqCst) == 0
    });
}

fn build(
    plan: &Plan,
    floors: &[Arc<Floor>],
    states: &Arc<AtomicUsize>,
    books: &Arc<Books>,
) -> Result<Arc<dyn Host>, BuildError> {
    let balance = [Balance::RoundRobin, Balance::LeastLoaded, Balance::PowerOfTwo];
    let balance = Random::new(plan.seed).any(&balance);
    let (settings, mut floors) = (plan.settings.clone(), floors.iter());
    let entangled = plan.entangled;
    let mut floor = || floors.next().cloned().unwrap_or_default();
    if plan.kind == Kind::MultiFn {
        let make = || fn_pool::build(plan, &floor(), states, books);
        let multi = Multi::try_new(plan.shards, balance, make)?;
        return Ok(Arc::new(OnFnShards(multi, settings, entangled)));
    }
    let make = || plan.settings.on_threads(Pool::builder(), &floor()).build();
    let multi = Multi::try_new(plan.shards, balance, make)?;
    Ok(Arc::new(OnShards(multi, settings, entangled)))
}

/// The last field says whether every second errand uses the shards itself.
struct OnShards(Multi<Pool>, Settings, bool);

/// As [`OnShards`].
struct OnFnShards(Multi<fn_pool::Errands>, Settings, bool);

/// What is the same for shards of any kind.
macro_rules! shards {
    () => {
        fn submit(&self, errand: Errand, wait: bool) -> Result<(), Refused> {
            let task = self.task(errand);
            let answer = if wait { self.0.submit(task) } else { self.0.try_submit(task) };
            answer.map_err(give_back)
        }

        fn controls(&self) -> Vec<&Control> {
            self.0.shards().iter().map(|shard| &**shard).collect()
        }

        fn stats(&self) -> Stats {
            self.0.stats()
        }

        fn fair(&self) -> &[Refused] {
            self.1.fair()
        }

        fn is_entangled(&self) -> bool {
            self.2
        }

        fn refuses_end_from_inside(&self) -> bool {
            let one = |errors: formic::ShardErrors<formic::StillRunning>| {
                errors.iter().any(|(_, left)| left.is_from_inside())
            };
            self.0.drain().is_err_and(one) && self.0.wait_idle().is_err_and(one)
        }
    };
}

impl OnShards {
    fn task(&self, errand: Errand) -> impl FnOnce() + Send + 'static {
        move || _ = errand.run()
    }
}

impl OnFnShards {
    fn task(&self, errand: Errand) -> Errand {
        errand
    }
}

impl Host for OnShards {
    shards!();

    fn spawn(&self, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused> {
        let task = move || errand.run();
        let answer = if wait { self.0.spawn(task) } else { self.0.try_spawn(task) };
        answer.map_err(give_back)
    }

    fn extra(self: Arc<Self>, books: &Arc<Books>, depth: usize, random: &mut Random) {
        // A task that waits at the gate of another shard may wait for itself, so only from outside.
        if depth == 0 {
            let (pool, fair) = (self.0.next().clone(), self.1.fair());
            groups::any(&pool, &(self as Arc<dyn Host>), fair, books, depth, random);
        }
    }

    fn outside(&self, books: &Arc<Books>, random: &mut Random) {
        match random.below(10) {
            0..4 => return verbs::multi(&self.0, books, random),
            4 => return change_all(&self.0, books, random),
            _ => {}
        }
        let Some(errand) = Errand::alone(books, random) else { return };
        let shard = &self.0.shards()[random.below(self.0.shards().len())];
        if let Err(refused) = pool::submit(shard, errand, true) {
            books.refused(refused, self.fair());
        }
        if random.once_in(20) {
            drop(self.0.clone().wait_idle());
        }
    }
}

impl Host for OnFnShards {
    shards!();

    fn spawn(&self, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused> {
        let answer = if wait { self.0.spawn(errand) } else { self.0.try_spawn(errand) };
        answer.map_err(give_back)
    }

    fn extra(self: Arc<Self>, books: &Arc<Books>, depth: usize, random: &mut Random) {
        if depth == 0 {
            let (shard, fair) = (self.0.next().clone(), self.1.fair());
            let host: Arc<dyn Host> = self;
            let Some(errand) = Errand::any(books, &host, depth, random) else { return };
            let number = errand.number();
            fn_pool::called(shard.call(errand), number, fair, books, fn_pool::Back::FromGate);
        }
    }

    fn outside(&self, books: &Arc<Books>, random: &mut Random) {
        match random.below(10) {
            0..4 => return verbs::multi_fn(&self.0, books, random),
            4 => return change_all(&self.0, books, random),
            5 => return fn_pool::drop_taken(taken(&self.0, books), books),
            _ => {}
        }
        let Some(errand) = Errand::alone(books, random) else { return };
        let shard = &self.0.shards()[random.below(self.0.shards().len())];
        if let Err(refused) = fn_pool::submit(shard, errand, true) {
            books.refused(refused, self.fair());
        }
    }
}

/// Takes arguments out of all queues.
fn taken(multi: &Multi<fn_pool::Errands>, books: &Books) -> Vec<Errand> {
    books.taken.store(true, Ordering::SeqCst);
    multi.take_queued()
}

/// What is done to all shards at once.
fn change_all<P: Shard>(multi: &Multi<P>, books: &Books, random: &mut Random) {
    match random.below(4) {
        0 => {
            let cancelled = multi.cancel_all();
            books.discarded.fetch_add(cancelled.queued as u64, Ordering::SeqCst);
        }
        1 => drop(multi.set_keep_alive(random.micros(5000))),
        2 => drop(multi.set_queue(random.within(1, 64))),
        _ => drop(multi.set_minimum(0)),
    }
}
