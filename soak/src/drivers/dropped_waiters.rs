//! Dropped waiters: thousands of futures wait for one place, and leave the queue in any order.
//!
//! The time that a future takes to enter the queue and to leave it must not depend on how many others
//! wait. So the processor time of each is compared between a short and a long queue. After that, half
//! of a queue leaves, and the others must get the place in the order in which they came.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pollster::block_on;
use rustix::time::{ClockId, clock_gettime};

use super::futures::{self, Ground};
use super::goal::{For, Goal, Wait};
use crate::books::Books;
use crate::plan::Plan;
use crate::random::Random;
use crate::watch::Watch;

/// How many times more futures wait in the long queue. A future that looks at all others takes that many
/// times longer there.
const LONGER: usize = 32;

/// How many times more processor time a future may take in the long queue. Those that look at no other
/// took up to 2.3 times as much, because the long queue does not fit into the caches. Those that do took
/// 13 to 73 times as much.
const TIMES_LONGER: u32 = 6;

/// The processor time of a future in the long queue that is never too much. Those that look at no other
/// took 230 to 720 ns, the others more than 6 us.
const NEVER_TOO_LONG: Duration = Duration::from_micros(2);

/// Which future leaves first.
#[derive(Clone, Copy, Debug)]
enum Order {
    OldestFirst,
    NewestFirst,
    Random,
}

/// Why futures leave.
#[derive(Clone, Copy, Debug)]
enum Reason {
    Dropped,
    /// The semaphore or the pool is closed, and each future hears of it when it is polled.
    Closed,
    /// The semaphore becomes too small for each of them; a pool is closed.
    TooSmall,
}

/// How a queue is emptied.
#[derive(Clone, Copy, Debug)]
struct Way {
    order: Order,
    reason: Reason,
}

/// A phase with futures that wait.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let Some(ground) = futures::runtime(plan, books) else { return };
    let mut random = Random::new(plan.seed);
    let (goal, few) = (random.any(&For::ALL), random.within(800, 1500));
    let way = Way {
        order: random.any(&[Order::OldestFirst, Order::NewestFirst, Order::Random]),
        reason: random.any(&[Reason::Dropped, Reason::Dropped, Reason::Closed, Reason::TooSmall]),
    };
    watch.show(move || Some(format!("{few} futures wait for {goal:?}, {way:?}")));
    let mut queue = Queue { ground, goal, books, watch, random };
    queue.compare_times(few, way);
    queue.check_survivors(few);
}

/// Where futures wait.
struct Queue<'a> {
    ground: Ground,
    goal: For,
    books: &'a Books,
    watch: &'a Watch,
    random: Random,
}

impl Queue<'_> {
    /// A future takes about as long in a long queue as in a short one.
    fn compare_times(&mut self, few: usize, way: Way) {
        let short = (0..3).filter_map(|_| self.time_of_each(few, way)).min();
        let limit = NEVER_TOO_LONG.max(TIMES_LONGER * short.unwrap_or_default());
        // Another program may have used the caches, so one time that is too long says nothing.
        let mut times = Vec::new();
        for _ in 0..3 {
            match self.time_of_each(LONGER * few, way) {
                Some(time) if time > limit => times.push(time),
                _ => return,
            }
        }
        self.books.fault(format!(
            "{} futures wait for {:?}, {way:?}: each takes {times:?}, of {few} each takes {short:?}",
            LONGER * few,
            self.goal
        ));
    }

    /// The processor time that each of `count` futures takes to wait and to leave.
    fn time_of_each(&mut self, count: usize, way: Way) -> Option<Duration> {
        let goal = self.taken_goal()?;
        let mut order: Vec<usize> = (0..count).collect();
        match way.order {
            Order::OldestFirst => {}
            Order::NewestFirst => order.reverse(),
            Order::Random => self.random.shuffle(&mut order),
        }
        let mut waits: Vec<Option<Wait<'_>>> = (0..count).map(|_| Some(goal.wait())).collect();
        let begin = processor_time();
        self.begin_to_wait(&mut waits);
        match way.reason {
            Reason::Dropped => {}
            Reason::Closed => goal.close(),
            Reason::TooSmall => goal.make_too_small(),
        }
        for number in order {
            let polled = waits[number].take().map(|mut wait| match way.reason {
                Reason::Dropped => None,
                Reason::Closed | Reason::TooSmall => wait.as_mut().now_or_never(),
            });
            if let Some(Some(Some(_))) = polled {
                self.books.fault("a future got a place that is taken");
            }
        }
        let taken = processor_time() - begin;
        drop(waits);
        self.end(goal);
        Some(taken / count as u32)
    }

    /// Polls each for the first time: the place is taken, so that they wait.
    fn begin_to_wait(&self, waits: &mut [Option<Wait<'_>>]) {
        for wait in waits.iter_mut().flatten() {
            if wait.as_mut().now_or_never().is_some() {
                self.books.fault(format!("a future did not have to wait for {:?}", self.goal));
            }
        }
        self.watch.beat();
    }

    /// After half of the queue was dropped, the others get what they wait for, in order.
    fn check_survivors(&mut self, count: usize) {
        let Some(goal) = self.taken_goal() else { return };
        let mut waits: Vec<Option<Wait<'_>>> = (0..count).map(|_| Some(goal.wait())).collect();
        self.begin_to_wait(&mut waits);
        let mut order: Vec<usize> = (0..count).collect();
        self.random.shuffle(&mut order);
        for number in order.into_iter().take(count / 2) {
            waits[number] = None;
        }
        if goal.waiting().is_some_and(|waiting| waiting != count - count / 2) {
            self.books.fault(format!("{:?} wait, of {count} half were dropped", goal.waiting()));
        }
        goal.release();
        let mut survivors = waits.into_iter().flatten().peekable();
        while let Some(survivor) = survivors.next() {
            let got = block_on(survivor);
            let early = survivors.peek_mut().and_then(|next| next.as_mut().now_or_never());
            if got.is_none() || (self.goal.is_exclusive() && early.is_some()) {
                return self.books.fault("a future was passed over, or came too early");
            }
            if early.is_some() {
                drop(survivors.next());
            }
            drop(got);
            self.watch.beat();
        }
        drop(survivors);
        self.end(goal);
    }

    fn taken_goal(&self) -> Option<Goal> {
        let goal = Goal::taken(self.goal, &self.ground);
        goal.map_err(|error| self.books.fault(format!("nothing to wait for: {error}"))).ok()
    }

    fn end(&self, goal: Goal) {
        if let Some(left) = goal.end() {
            self.books.fault(left);
        }
        self.watch.beat();
    }
}

/// The processor time of the calling thread. Other threads and programs do not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
