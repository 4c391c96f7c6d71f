//! The driver: takes tasks from the queue and polls their futures until they end.
//!
//! It knows nothing of the runtime that runs it: that calls [`Driver::turn`], and calls it again when
//! the driver is woken. To the scheduler it is a worker, which is started, called, goes idle and leaves like a thread. But
//! it takes as many tasks as may run, and goes idle with regard to the queue only: the futures that it drives wake it by
//! themselves.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::engine::context::{begin_poll, enter, set_epoch, set_short};
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::{Executor, Owner, PollStats, watchdog};
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::scheduler::core::{Actions, Phase, Scheduler};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::now;
use crate::engine::{Engine, Work};
use crate::error::TaskPanic;
use crate::on_cancel::{self, Epoch};

/// After so many polls, which is a stride, a driver asks the queue for more tasks and tells which have ended.
const STRIDE: u64 = 32;
/// After so long a driver lets the runtime see to other tasks, timers and sockets.
const TURN: Duration = Duration::from_micros(250);
/// So many polls in a row are short before a watchdog is worth its thread.
const SHORT_POLLS: u64 = 512;
/// It takes so many tasks at a time.
const TASKS_PER_REFILL: usize = 64;

/// The work of drivers.
pub(crate) trait Drives: Work {
    fn executor(&self) -> &Arc<Executor>;

    /// Makes a cell of a job for the run queue with this number, or says how its task has ended. Does not panic.
    fn begin(
        engine: &Arc<Engine<Self>>,
        run_queue: usize,
        job: Self::Job,
    ) -> Result<Arc<dyn Runnable>, End>;
}

/// What a driver wants after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// To go on when others had a chance to run.
    Yield,
    /// To be woken.
    Sleep,
    /// Nothing any more.
    Leave,
}

/// Where a driver is in its life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has had no turn.
    New,
    Begun,
    /// It was told to leave.
    Gone,
}

/// See the module's first lines.
pub(crate) struct Driver<W: Drives> {
    engine: Arc<Engine<W>>,
    owner: Arc<Owner>,
    me: usize,
    waker: Waker,
    stage: Stage,
    /// The thread that started it relies on it, or it was dropped before that.
    settled: Arc<AtomicBool>,
    jobs: Vec<W::Job>,
    fresh: Vec<Arc<dyn Runnable>>,
    /// Cells that have ended and still stand in their run queues.
    ended: Vec<Arc<dyn Runnable>>,
    /// How long a turn takes.
    time: Duration,
    /// How many polls in a row were short.
    short: u64,
}

impl<W: Drives> Driver<W> {
    /// A driver that is woken by this waker, and by what the thread that starts it says that it relies on it from then on.
    /// That returns false if the driver was dropped before its first turn: that thread may hold the engine's lock.
    pub(crate) fn new(
        engine: &Arc<Engine<W>>,
        me: usize,
        waker: Waker,
    ) -> (Self, impl FnOnce() -> bool + use<W>) {
        let settled = Arc::new(AtomicBool::new(false));
        let driver = Driver {
            engine: Arc::clone(engine),
            owner: Owner::of(engine.work.executor(), me),
            me,
            waker,
            stage: Stage::New,
            settled: Arc::clone(&settled),
            jobs: Vec::new(),
            fresh: Vec::new(),
            ended: Vec::new(),
            time: TURN,
            short: 0,
        };
        (driver, move || !settled.swap(true, Ordering::AcqRel))
    }

    fn executor(&self) -> &Executor {
        &self.owner.executor
    }

    fn poll_stats(&self) -> &PollStats {
        &self.executor().poll_stats[self.me]
    }

    /// Works for a while. What `budget` returns lives for one poll.
    pub(crate) fn turn<B>(&mut self, mut budget: impl FnMut() -> B) -> Turn {
        let engine = Arc::clone(&self.engine);
        // The runtime may turn the driver inside of a task.
        let _inside = enter(Arc::clone(&engine) as _, false);
        set_short(self.poll_stats().is_short());
        self.stage = Stage::Begun;
        self.executor().rise(self.me);
        if self.executor().is_spare(self.me)
            && let Some(turn) = self.rest()
        {
            return turn;
        }
        let (since, before) = (now(), self.poll_stats().polls());
        self.refill(true);
        loop {
            // What is ready on its own run queue comes first, except once in a stride: that may never be empty.
            let own_last = (self.poll_stats().polls() - before).is_multiple_of(STRIDE);
            let Some(cell) = self.owner.executor.next(self.me, own_last) else {
                match self.rest() {
                    Some(turn) => return turn,
                    None => continue,
                }
            };
            let granted = budget();
            self.poll(cell);
            drop(granted);
            if self.is_turn_over(since, before) {
                return Turn::Yield;
            }
        }
    }

    /// After a poll of a turn that has begun at this time, after so many polls. Once in a stride the driver looks at the
    /// clock and takes new tasks. Where polls are long it looks at the clock after each one.
    fn is_turn_over(&mut self, since: Instant, before: u64) -> bool {
        let polls = self.poll_stats().count() - before;
        let strode = polls.is_multiple_of(STRIDE);
        if !strode && self.poll_stats().is_short() {
            return false;
        }
        let time = now() - since;
        self.poll_stats().note(polls, time);
        let (short, is_over) = (self.poll_stats().is_short(), time >= self.time);
        set_short(short);
        if strode || is_over {
            self.refill(true);
        }
        if is_over {
            self.note_turn(polls, short);
        }
        is_over
    }

    /// A turn of so many polls has taken its time.
    fn note_turn(&mut self, polls: u64, short: bool) {
        self.short = if short { self.short + polls } else { 0 };
        if self.short >= SHORT_POLLS && self.executor().drivers() > 1 {
            watchdog::start(&self.engine);
        }
    }

    /// Nothing is ready: takes new tasks, or sleeps, or leaves. None if there is something to do.
    fn rest(&mut self) -> Option<Turn> {
        let turn = self.refill(false)?;
        let rests = match turn {
            Turn::Leave => self.leave(),
            _ => self.executor().sleep(self.me, &self.waker),
        };
        if rests {
            return Some(turn);
        }
        // Something has come meanwhile, so it is not idle.
        self.executor().rise(self.me);
        self.refill(true);
        None
    }

    fn poll(&mut self, cell: Arc<dyn Runnable>) {
        let engine = &self.engine;
        let Some(end) = Arc::clone(&cell).run(&engine.cancels) else { return };
        let tell = |panic: TaskPanic| engine.hooks().tell_panic(panic.on(engine.name()));
        self.note(end.unwrap_or_else(tell));
        self.ended.push(cell);
    }

    /// Counts a task as ended.
    fn note(&self, end: End) {
        if let End::Completed = end {
            self.engine.fast_path.end_driven();
            self.serve_if_stuck();
        } else if let Some(end) = end.uncounted() {
            self.engine.count(end, Counts::Ticket);
        }
    }

    /// This driver comes to the lock soon, if the next future does not keep it from that. If a thread
    /// waits for the place that is free now, and no other driver is up to give that place away, it does so at once.
    fn serve_if_stuck(&self) {
        if self.executor().others_sleep() && self.engine.is_wanted() {
            self.engine.decide(|scheduler, actions| {
                scheduler.serve_waiters(actions);
                scheduler.call_for_help(actions);
            });
        }
    }

    /// Takes new tasks. If there are none, and nothing is ready, what it wants then.
    fn refill(&mut self, is_ready: bool) -> Option<Turn> {
        if !self.ended.is_empty() {
            self.owner.executor.remove(&mut self.ended);
        }
        let (me, jobs) = (self.me, &mut self.jobs);
        let (turn, epoch) = self.engine.decide(|scheduler, actions| {
            scheduler.worker_table.worker(me).waker.get_or_insert_with(|| self.waker.clone());
            (scheduler.refill(me, is_ready, jobs, actions), self.engine.cancels.epoch())
        });
        self.begin_all(epoch);
        turn
    }

    fn begin_all(&mut self, epoch: Epoch) {
        // The function of a pool may ask whether it is cancelled before it has made its future. It polls no cell meanwhile.
        drop(begin_poll(on_cancel::Owner::Unplaced, epoch, None));
        let mut jobs = std::mem::take(&mut self.jobs);
        for job in jobs.drain(..) {
            match W::begin(&self.engine, self.owner.run_queue, job) {
                Ok(cell) => self.fresh.push(cell),
                Err(end) => self.note(end),
            }
        }
        self.jobs = jobs;
        if !self.fresh.is_empty() {
            self.fresh.iter().for_each(|cell| cell.header().set_epoch(epoch));
            self.owner.executor.add(&self.owner, &mut self.fresh);
        }
    }

    /// The driver's last step, unless it is needed after all.
    fn leave(&mut self) -> bool {
        let has_thread = self.executor().is_apart();
        if has_thread {
            self.engine.hooks().tell_stop(&self.engine.thread_name(self.me), self.me);
        }
        // First: when its place is vacant, the next driver there rises.
        self.executor().leave(self.me);
        let gone = self.engine.leave(self.me);
        if gone {
            self.stage = Stage::Gone;
        } else if has_thread {
            self.engine.hooks().tell_start(&self.engine.thread_name(self.me), self.me);
        }
        gone
    }

    /// Whatever ran the driver is no more: so are its tasks.
    fn lose(&mut self) {
        // First of all no thread is let in any more.
        self.engine.close_as(Phase::RuntimeGone);
        for cell in self.executor().lose(self.me) {
            if cell.abandon() == End::Cancelled {
                self.engine.count(End::Cancelled, Counts::Ticket);
            }
        }
        self.engine.decide_loss(|scheduler, actions| scheduler.lose(self.me, actions));
    }
}

impl<W: Drives> Engine<W> {
    /// The future that the calling thread polls starts another task of this pool: it is not concerned if all were
    /// cancelled before.
    pub(crate) fn start_task_here(&self) {
        set_epoch(self.cancels.epoch());
    }

    /// How often all tasks were cancelled.
    pub(crate) fn cancel_epoch(&self) -> Epoch {
        self.cancels.epoch()
    }

    /// Whether something stands in the queue, or a thread waits for a place or the end. Only a hint.
    pub(crate) fn is_wanted(&self) -> bool {
        self.fast_path.hurry() || self.fast_path.tally().queued(self.fast_path.published()) > 0
    }
}

impl<W: Drives> Drop for Driver<W> {
    fn drop(&mut self) {
        let is_lost = match self.stage {
            // AcqRel: with the thread that starts it. The later one knows of the other.
            Stage::New => self.settled.swap(true, Ordering::AcqRel),
            Stage::Begun => true,
            Stage::Gone => false,
        };
        if is_lost {
            self.lose();
        }
    }
}

impl<J> Scheduler<J> {
    /// A driver takes tasks. If there are none and nothing is ready for it either, what it is to do then. It
    /// counts as idle only when it has nothing to poll: while it polls, it may be stuck with one, so others are called for
    /// new tasks.
    pub(crate) fn refill(
        &mut self,
        me: usize,
        is_ready: bool,
        jobs: &mut Vec<J>,
        actions: &mut Actions,
    ) -> Option<Turn> {
        self.come_to_lock(me);
        self.serve_waiters(actions);
        self.queue.pop_some(TASKS_PER_REFILL.min(self.free_places()), jobs);
        self.queue.fast_path.begin_driven(jobs.len());
        while jobs.len() < TASKS_PER_REFILL
            && let Some(job) = self.take_awaited(actions)
        {
            jobs.push(job);
        }
        if is_ready || !jobs.is_empty() {
            self.worker_table.set(me, WorkerState::Engaged);
        }
        if !jobs.is_empty() {
            self.call_for_help(actions);
            self.start_all(actions);
            return None;
        }
        if is_ready {
            return None;
        }
        if self.needs_no_driver() {
            self.worker_table.set(me, WorkerState::Leaving);
            self.call_last_to_go(actions);
            return Some(Turn::Leave);
        }
        self.worker_table.push_idle(me);
        Some(Turn::Sleep)
    }

    /// Another driver may have to help with what one begins, so all of them are there from then on.
    fn start_all(&mut self, actions: &mut Actions) {
        while self.can_start() {
            actions.start.push(self.worker_table.add(WorkerState::Starting));
        }
    }

    /// Whether a driver may go. It stays while tasks run, of whichever driver, because it may have to
    /// help with them. Only the accounting can tell: whether its own run queue is empty may change with every
    /// poll by another driver.
    fn needs_no_driver(&self) -> bool {
        self.is_closed()
            && self.queue.queued() == 0
            && self.queue.fast_path.driven() == 0
            && self.accounting.out_of_turn == 0
            && self.may_go(0)
    }

    fn come_to_lock(&mut self, me: usize) {
        if self.worker_table.worker_state(me) == WorkerState::Idle {
            self.worker_table.remove_idle(me);
        } else {
            self.worker_table.set(me, WorkerState::Asking);
        }
    }

    /// A driver is gone without having been told to leave: whatever ran it is no more, or will be soon.
    pub(crate) fn lose(&mut self, me: usize, actions: &mut Actions) {
        self.come_to_lock(me);
        self.worker_table.remove(me);
        // It may have had the last of the tasks that the others stay for.
        self.call_last_to_go(actions);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
