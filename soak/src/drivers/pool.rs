//! `Pool`: closures, permits, and clones that come and go.

use std::sync::Arc;

use formic::{Control, JoinHandle, Permit, Pool, Refused, Stats, WhenFull};
use futures_util::FutureExt;
use pollster::block_on;

use super::{groups, threads, verbs};
use crate::books::Books;
use crate::errand::Errand;
use crate::host::{AT_ONCE, Host, give_back, is_from_inside, treat};
use crate::plan::Plan;
use crate::random::Random;
use crate::settings::Settings;
use crate::watch::Watch;

/// A phase with a pool of closures.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    threads::run(plan, watch, books, |floor| {
        let pool = plan.settings.on_threads(Pool::builder(), floor).build()?;
        Ok(Arc::new(OnPool { pool, settings: plan.settings.clone() }))
    });
}

struct OnPool {
    pool: Pool,
    settings: Settings,
}

/// Gives a closure to a pool.
pub(super) fn submit(pool: &Pool, errand: Errand, wait: bool) -> Result<(), Refused> {
    let task = move || _ = errand.run();
    let answer = if wait { pool.submit(task) } else { pool.try_submit(task) };
    answer.map_err(give_back)
}

/// The same with a handle.
pub(super) fn spawn(pool: &Pool, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused> {
    let task = move || errand.run();
    let answer = if wait { pool.spawn(task) } else { pool.try_spawn(task) };
    answer.map_err(give_back)
}

impl Host for OnPool {
    threads::one_pool!();

    fn submit(&self, errand: Errand, wait: bool) -> Result<(), Refused> {
        submit(&self.pool, errand, wait)
    }

    fn spawn(&self, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused> {
        spawn(&self.pool, errand, wait)
    }

    fn extra(self: Arc<Self>, books: &Arc<Books>, depth: usize, random: &mut Random) {
        let pool = self.pool.clone();
        let fair = self.settings.fair();
        groups::any(&pool, &(self as Arc<dyn Host>), fair, books, depth, random);
    }

    fn outside(&self, books: &Arc<Books>, random: &mut Random) {
        let fair = fair_for_permits(&self.settings);
        match random.below(20) {
            10..18 => verbs::pool(&self.pool, books, random),
            18 | 19 => verbs::results(&self.pool, books, random),
            0 => drop(self.pool.wait_idle()),
            1 => drop(self.pool.wait_idle_async().now_or_never()),
            2 => use_permit(self.pool.try_admit(), &AT_ONCE, books, random),
            3 | 4 => use_permit(self.pool.admit(), fair, books, random),
            5 | 6 => use_permit(self.pool.admit_timeout(random.micros(300)), fair, books, random),
            7 => use_permit(block_on(self.pool.admit_async()), fair, books, random),
            _ => {
                // Given up while it waits: neither accepted nor refused.
                if let Some(permit) = self.pool.admit_async().now_or_never() {
                    use_permit(permit, fair, books, random);
                }
            }
        }
    }
}

fn fair_for_permits(settings: &Settings) -> &'static [Refused] {
    match settings.when_full {
        WhenFull::Wait => settings.fair_if_waiting(),
        _ => &[Refused::Closed, Refused::TimedOut, Refused::Full],
    }
}

fn use_permit(
    permit: Result<Permit<'_>, Refused>,
    fair: &[Refused],
    books: &Arc<Books>,
    random: &mut Random,
) {
    let permit = match permit {
        Ok(permit) => permit,
        Err(refused) => return books.turned_away(refused, fair),
    };
    let Some(errand) = Errand::alone(books, random) else { return };
    match random.below(3) {
        0 => {
            let number = errand.number();
            treat(permit.spawn(move || errand.run()), number, books, random);
        }
        1 => permit.submit(move || _ = errand.run()),
        _ => {
            drop(permit);
            crate::books::give_up(errand);
        }
    }
}
