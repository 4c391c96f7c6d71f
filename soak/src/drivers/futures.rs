//! What is done to every pool of futures: many submit, as threads or as tasks of the same runtime, one
//! disturbs, and then it comes to an end, or its runtime does.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use formic::OnTokio;
use pollster::block_on;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use super::threads;
use crate::async_errand::{AsyncHost, Site};
use crate::books::Books;
use crate::floor::Floor;
use crate::plan::{Ending, Plan};
use crate::random::Random;
use crate::watch::Watch;

/// A runtime for one phase; its threads end with it. It is for those who submit, and for their pool, unless that
/// has threads of its own.
pub(super) struct Ground {
    handle: Handle,
    kept: Option<Kept>,
    own_threads: Option<usize>,
}

impl Ground {
    /// The runtime of those who submit.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Tells a pool what to run on.
    pub(super) fn give<P: OnTokio>(&self, builder: formic::Builder<P>) -> formic::Builder<P> {
        match self.own_threads {
            Some(threads) => builder.own_threads(threads),
            None => builder.runtime(self.handle.clone()),
        }
    }
}

enum Kept {
    Threads(Runtime),
    /// A current-thread runtime belongs to the thread that turns it until it is told to stop.
    Turned(oneshot::Sender<()>, thread::JoinHandle<()>),
}

impl Drop for Ground {
    fn drop(&mut self) {
        match self.kept.take() {
            Some(Kept::Threads(runtime)) => drop(runtime),
            Some(Kept::Turned(stop, turner)) => {
                drop(stop);
                // It does not panic: a driver contains what its futures do.
                drop(turner.join());
            }
            None => {}
        }
    }
}

/// A runtime with some threads, or a current-thread one.
pub(super) fn runtime(plan: &Plan, books: &Books) -> Option<Ground> {
    let mut random = Random::of(plan.seed, 7);
    let built = match random.below(6) {
        0 | 1 => turned(),
        threads => {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(threads - 1).thread_name("soak-rt").enable_time();
            runtime.build().map(|runtime| Ground {
                handle: runtime.handle().clone(),
                kept: Some(Kept::Threads(runtime)),
                own_threads: None,
            })
        }
    };
    let own = random.once_in(3) && plan.ending != Ending::EndRuntime;
    let own_threads = if own { Some(random.within(1, 4)) } else { None };
    let mut ground = built.map_err(|error| books.fault(format!("no runtime: {error}"))).ok()?;
    ground.own_threads = own_threads;
    Some(ground)
}

fn turned() -> std::io::Result<Ground> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
    let turner = thread::Builder::new().name("soak-turner".to_owned());
    let turner = turner.spawn(move || drop(runtime.block_on(stopped)))?;
    Ok(Ground { handle, kept: Some(Kept::Turned(stop, turner)), own_threads: None })
}

/// Drives a pool, or shards, through a phase and to its end. `floor` is where all tasks run, and there
/// is one more for each shard, by which its size is known.
pub(super) fn drive(
    plan: &Plan,
    watch: &Watch,
    books: &Arc<Books>,
    runtime: Ground,
    host: Arc<dyn AsyncHost>,
    floor: &Arc<Floor>,
    floors: &[Arc<Floor>],
) {
    let seen = Arc::downgrade(&host);
    watch.show(move || seen.upgrade().map(|host| format!("{:?}", host.stats())));
    let site = Site { host, books: Arc::clone(books), floor: Arc::clone(floor), depth: 0 };
    let by_threads = plan.ending == Ending::EndRuntime || plan.seed.is_multiple_of(2);
    let runtime = if by_threads {
        submit_by_threads(plan, watch, &site, runtime, floors)
    } else {
        submit_by_tasks(plan, watch, &site, &runtime.handle, floors);
        Some(runtime)
    };
    finish(plan, site, floors);
    // Without the runtime nothing would run on.
    watch.await_that(books, "what was accepted runs to its end", || Arc::strong_count(books) == 1);
    drop(runtime);
}

fn over(plan: &Plan, books: &Books, begun: Instant) -> bool {
    books.are_full() || begun.elapsed() >= plan.time
}

fn submit_by_tasks(
    plan: &Plan,
    watch: &Watch,
    site: &Site,
    runtime: &Handle,
    floors: &[Arc<Floor>],
) {
    let begun = Instant::now();
    let submitters: Vec<_> = (0..plan.threads as u64)
        .map(|number| {
            let (site, watch, plan) = (site.clone(), watch.clone(), plan.clone());
            runtime.spawn(async move {
                let mut random = Random::of(plan.seed, number + 1);
                while !over(&plan, &site.books, begun) {
                    random = site.act(random).await;
                    watch.beat();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    disturb(plan, watch, site, floors, begun);
    for submitter in submitters {
        if let Err(error) = block_on(submitter) {
            site.books.fault(format!("a submitter: {error}"));
        }
    }
}

fn submit_by_threads(
    plan: &Plan,
    watch: &Watch,
    site: &Site,
    runtime: Ground,
    floors: &[Arc<Floor>],
) -> Option<Ground> {
    let begun = Instant::now();
    thread::scope(|scope| {
        for number in 0..plan.threads as u64 {
            scope.spawn(move || {
                let mut random = Random::of(plan.seed, number + 1);
                while !over(plan, &site.books, begun) {
                    random = if random.once_in(3) {
                        submit_and_block(site, random)
                    } else {
                        block_on(site.act(random))
                    };
                    watch.beat();
                }
            });
        }
        disturb(plan, watch, site, floors, begun);
        // With everybody still at it.
        if plan.ending == Ending::EndRuntime {
            drop(runtime);
            return None;
        }
        Some(runtime)
    })
}

fn submit_and_block(site: &Site, mut random: Random) -> Random {
    let Some(errand) = site.errand(&mut random) else { return random };
    let number = errand.number();
    if random.once_in(2) {
        site.note(site.host.blocking_submit(errand), site.host.fair());
        return random;
    }
    match block_on(Arc::clone(&site.host).spawn(errand)) {
        Err(refused) => site.note(Err(refused), site.host.fair()),
        Ok(mut handle) => {
            let outcome = handle.join_timeout(random.micros(2000)).unwrap_or_else(|| {
                site.note_halt();
                handle.cancel();
                handle.join()
            });
            site.books.outcome(number, outcome.as_ref().copied());
        }
    }
    random
}

fn disturb(plan: &Plan, watch: &Watch, site: &Site, floors: &[Arc<Floor>], begun: Instant) {
    let mut random = Random::new(plan.seed);
    // A runtime ends in the middle of it.
    let half = plan.ending == Ending::EndRuntime;
    let over = || over(plan, &site.books, begun) || (half && begun.elapsed() >= plan.time / 2);
    while !over() {
        site.books.sample(site.host.stats());
        if plan.disturbed {
            let number = random.below(floors.len());
            let (control, floor) = (site.host.controls()[number], &floors[number]);
            threads::disturb(plan, &site.books, control, floor, &mut random);
        }
        thread::park_timeout(random.micros(500));
        watch.beat();
    }
}

fn finish(plan: &Plan, site: Site, floors: &[Arc<Floor>]) {
    if plan.ending == Ending::DropHandles {
        return drop(site);
    }
    let mut random = Random::of(plan.seed, 0);
    for (control, floor) in site.host.controls().into_iter().zip(floors) {
        threads::end(plan.ending, control, floor, &site.books, &mut random);
    }
    site.books.compare(site.host.stats());
}
