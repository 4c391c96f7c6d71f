//! Settings of a pool, at random.

use std::sync::Arc;
use std::time::Duration;

use formic::{Builder, Growth, OnThreads, Refused, WhenFull};

use crate::books::Expected;
use crate::floor::Floor;
use crate::random::Random;

/// What a pool is built with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) minimum: usize,
    pub(crate) capacity: usize,
    /// There is no capacity until the first resize.
    unlimited: bool,
    queue: Option<usize>,
    waiters: usize,
    pub(crate) when_full: WhenFull,
    keep_alive: Option<Duration>,
    growth: Growth,
    preallocate: bool,
    prestart: usize,
    /// One in so many calls of a hook panics; never if it is 0.
    hooks_fail: usize,
}

impl Settings {
    /// Any settings that make sense.
    pub(crate) fn any(random: &mut Random) -> Self {
        let most = random.any(&[1, 2, 4, 8, 64]);
        let capacity = random.within(1, most);
        let unlimited = random.once_in(10);
        let minimum = if !unlimited && random.once_in(3) { random.below(capacity + 1) } else { 0 };
        let queue = match random.below(5) {
            0 => Some(0),
            1 => Some(1),
            2 => Some(random.within(2, 16)),
            3 => Some(random.within(100, 5000)),
            _ => None,
        };
        let keep_alive = match random.below(4) {
            0 => None,
            1 => Some(Duration::from_micros(random.within(1, 200) as u64)),
            2 => Some(Duration::from_millis(random.within(1, 20) as u64)),
            _ => Some(Duration::from_secs(10)),
        };
        Settings {
            minimum,
            capacity,
            unlimited,
            queue,
            waiters: if random.once_in(3) { random.below(8) } else { usize::MAX },
            when_full: random.any(&[
                WhenFull::Wait,
                WhenFull::Wait,
                WhenFull::Refuse,
                WhenFull::CallerRuns,
            ]),
            keep_alive,
            growth: growth(queue, random),
            preallocate: queue.is_some() && !unlimited && random.once_in(4),
            prestart: if random.once_in(4) { random.below(capacity + 1) } else { 0 },
            hooks_fail: if random.once_in(3) { random.within(1, 5) } else { 0 },
        }
    }

    /// The same with so few places that most submitters have to wait for one.
    pub(crate) fn narrow(self, random: &mut Random) -> Self {
        let (minimum, unlimited) = (0, false);
        let (waiters, when_full) = (usize::MAX, WhenFull::Wait);
        let (capacity, queue) = (random.within(1, 2), Some(random.below(3)));
        let (growth, preallocate) = (Growth::Eager, false);
        Settings {
            minimum,
            capacity,
            unlimited,
            queue,
            waiters,
            when_full,
            growth,
            preallocate,
            prestart: self.prestart.min(capacity),
            ..self
        }
    }

    /// The same for a pool that refuses no submitter while it is open.
    pub(crate) fn patient(self) -> Self {
        Settings { waiters: usize::MAX, when_full: WhenFull::Wait, ..self }
    }

    /// The same for a pool whose workers have a state that may fail: it has a limit, and no caller runs a task.
    pub(crate) fn stateful(self) -> Self {
        let when_full = match self.when_full {
            WhenFull::CallerRuns => WhenFull::Refuse,
            other => other,
        };
        Settings { unlimited: false, when_full, ..self }
    }

    /// The same with one worker.
    pub(crate) fn single(self) -> Self {
        let (minimum, prestart) = (self.minimum.min(1), self.prestart.min(1));
        Settings { minimum, capacity: 1, unlimited: false, prestart, ..self }
    }

    /// The same for a pool whose threads end soon and which is often full.
    pub(crate) fn restless(self, random: &mut Random) -> Self {
        let keep_alive = Some(Duration::from_micros(random.within(1, 300) as u64));
        let queue = Some(random.below(3));
        let (growth, preallocate) = (Growth::Eager, false);
        Settings { minimum: 0, keep_alive, queue, growth, preallocate, ..self }
    }

    /// How many tasks may run at once.
    pub(crate) fn ceiling(&self) -> usize {
        if self.unlimited { usize::MAX } else { self.capacity }
    }

    /// Why a pool with these may refuse a submitter that waits.
    pub(crate) fn fair(&self) -> &'static [Refused] {
        match self.when_full {
            WhenFull::Wait if self.waiters == usize::MAX => &[Refused::Closed],
            WhenFull::CallerRuns => &[Refused::Closed],
            _ => &[Refused::Closed, Refused::Full],
        }
    }

    /// Why it may refuse one that waits whatever the pool's policy.
    pub(crate) fn fair_if_waiting(&self) -> &'static [Refused] {
        match self.waiters {
            usize::MAX => &[Refused::Closed, Refused::TimedOut, Refused::Expired],
            _ => &[Refused::Closed, Refused::TimedOut, Refused::Expired, Refused::Full],
        }
    }

    /// A capacity to change to.
    pub(crate) fn another_capacity(&self, random: &mut Random) -> usize {
        let least = self.minimum.max(1);
        random.within(least, (2 * self.capacity).max(least))
    }

    /// A builder of threads with these settings, whose workers are counted on the floor.
    pub(crate) fn on_threads<P: OnThreads>(
        &self,
        builder: Builder<P>,
        floor: &Arc<Floor>,
    ) -> Builder<P> {
        let hire = Arc::clone(floor);
        let (fails, calls) = (self.hooks_fail, Arc::new(std::sync::atomic::AtomicUsize::new(0)));
        let fail = move || {
            let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if fails > 0 && call.is_multiple_of(fails) {
                std::panic::resume_unwind(Box::new(Expected));
            }
        };
        let (fail_too, fail_three) = (fail.clone(), fail.clone());
        let builder = self.of_any(builder).keep_alive(self.keep_alive).growth(self.growth);
        let builder = builder.prestart(self.prestart).on_worker_start(move |_| {
            hire.hire();
            fail();
        });
        let builder = builder.on_worker_stop(move |_| fail_too()).on_panic(move |_| fail_three());
        if self.preallocate { builder.preallocate() } else { builder }
    }

    /// A builder of futures with these settings, as far as they have them.
    pub(crate) fn on_tokio<P>(&self, builder: Builder<P>) -> Builder<P> {
        // The runtime starts its drivers when they are needed, so a minimum means nothing to it.
        let builder = self.of_any(builder);
        let builder = if self.unlimited { builder } else { builder.workers(self.capacity) };
        match self.when_full {
            WhenFull::CallerRuns => builder.when_full(WhenFull::Refuse),
            _ => builder,
        }
    }

    fn of_any<P>(&self, builder: Builder<P>) -> Builder<P> {
        let builder = match self.unlimited {
            true => builder.unlimited(),
            false => builder.workers(self.minimum..=self.capacity),
        };
        let builder = builder.name("soak");
        let builder = builder.waiters(self.waiters).when_full(self.when_full);
        match self.queue {
            Some(queue) => builder.queue(queue),
            None => builder.queue_unbounded(),
        }
    }
}

fn growth(queue: Option<usize>, random: &mut Random) -> Growth {
    match queue {
        Some(1..) if random.once_in(3) => {
            let (step, grow_at) = (random.within(1, 4), random.any(&[0.2, 0.5, 1.0]));
            Growth::by_load(step, grow_at, random.any(&[0.0, 0.1]))
        }
        _ => Growth::Eager,
    }
}
