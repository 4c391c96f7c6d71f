//! The driver: takes tasks from the queue and polls their futures until they end.
//!
//! It knows nothing of the runtime that runs it: that calls [`Driver::turn`], and calls it again when
//! the driver is woken.

mod begun;
mod poll_turn;

use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

pub(crate) use self::begun::Begun;
use self::poll_turn::PollTurn;
use crate::engine::context::{enter, set_epoch, set_owner, set_short};
use crate::engine::executor::cell::{self, Polled, Runnable};
use crate::engine::executor::drive::{Has, Refill};
use crate::engine::executor::watchdog::{self, PollStats};
use crate::engine::executor::{Executor, Owner};
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::scheduler::core::{Actions, Phase};
use crate::engine::{Engine, Work};
use crate::on_cancel::{self, Epoch};

/// After so many polls a driver asks the queue for more tasks and tells which have ended.
const POLLS_PER_REFILL: usize = 32;
/// After so long a driver lets the runtime see to other tasks, timers and sockets.
const TURN: Duration = Duration::from_micros(250);
/// So many polls in a row are short before a watchdog is worth its thread.
const SHORT_POLLS: usize = 512;
/// It takes so many tasks at a time.
const TASKS_PER_REFILL: usize = 64;

/// The work of drivers.
pub(crate) trait Drives: Work {
    fn executor(&self) -> &Arc<Executor>;

    /// Makes a cell of a job for the run queue with this number. May panic.
    fn begin(engine: &Arc<Engine<Self>>, run_queue: usize, job: Self::Job) -> Begin;
}

/// What came of beginning with a job.
pub(crate) enum Begin {
    Cell(Arc<dyn Runnable>),
    /// There is nothing to poll.
    Ended(End),
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

/// See the module's first lines.
pub(crate) struct Driver<W: Drives> {
    engine: Arc<Engine<W>>,
    owner: Arc<Owner>,
    me: usize,
    jobs: Vec<W::Job>,
    fresh: Vec<Arc<dyn Runnable>>,
    /// Cells that have ended and still stand in their run queues.
    ended: Vec<Arc<dyn Runnable>>,
    begun: Begun,
    /// The scheduler does not know how it is woken.
    unknown: bool,
    gone: bool,
    /// See [`PollTurn`].
    stride: usize,
    /// How long a turn takes.
    time: Duration,
    /// How many polls in a row were short.
    short: usize,
    /// It was woken to look for something ready, and has not done so.
    notified: bool,
    /// It takes the next future from another run queue, if one is ready there.
    helps: bool,
}

impl<W: Drives> Driver<W> {
    pub(crate) fn new(engine: &Arc<Engine<W>>, me: usize) -> (Self, Begun) {
        let begun = Begun::default();
        let driver = Driver {
            engine: Arc::clone(engine),
            owner: Owner::of(engine.work.executor(), me),
            me,
            jobs: Vec::new(),
            fresh: Vec::new(),
            ended: Vec::new(),
            begun: begun.clone(),
            unknown: true,
            gone: false,
            stride: POLLS_PER_REFILL,
            time: TURN,
            short: 0,
            notified: false,
            helps: false,
        };
        (driver, begun)
    }

    fn executor(&self) -> &Executor {
        &self.owner.executor
    }

    fn poll_stats(&self) -> &PollStats {
        &self.executor().poll_stats[self.me]
    }

    /// Works for a while. What `budget` returns lives for one poll.
    pub(crate) fn turn<B>(&mut self, context: &Context<'_>, mut budget: impl FnMut() -> B) -> Turn {
        // The thread that started it and dies now is not there to be told.
        let _ = self.begun.rely();
        let engine = Arc::clone(&self.engine);
        // The runtime may turn the driver inside of a task.
        let _inside = enter(Arc::clone(&engine) as _, false);
        self.note_short();
        if let Some(turn) = self.rise(context) {
            return turn;
        }
        let mut poll_turn = PollTurn::begin(self.stride);
        self.refill(context, Has::Ready);
        loop {
            let Some(cell) = self.next() else {
                match self.rest(context) {
                    Some(turn) => {
                        poll_turn.count(self.poll_stats());
                        return turn;
                    }
                    None => continue,
                }
            };
            let granted = budget();
            self.poll(cell);
            drop(granted);
            if poll_turn.has_polled() {
                self.refill(context, Has::Ready);
                let is_over = poll_turn.is_over(self.poll_stats(), self.time);
                self.note_short();
                self.helps = self.executor().is_apart();
                if is_over {
                    self.end_poll_turn(&poll_turn);
                    return Turn::Yield;
                }
            }
        }
    }

    /// The driver is up. If another one is, and is enough, it rests.
    fn rise(&mut self, context: &Context<'_>) -> Option<Turn> {
        let rise = self.executor().rise(self.me, context.waker());
        self.unknown |= rise.unknown;
        self.notified = rise.notified;
        if self.executor().is_spare(self.me) { self.rest(context) } else { None }
    }

    /// What is ready on its own run queue comes first, except once in a stride: that may never be empty.
    fn next(&mut self) -> Option<Arc<dyn Runnable>> {
        let others =
            if std::mem::take(&mut self.helps) { self.executor().steal(self.me) } else { None };
        others.or_else(|| self.owner.executor.next(self.me, &mut self.notified))
    }

    /// Whether polls are short, so that what is polled knows it, too.
    fn note_short(&self) {
        set_short(self.poll_stats().is_short());
    }

    fn end_poll_turn(&mut self, poll_turn: &PollTurn) {
        self.stride = poll_turn.stride;
        let short = self.poll_stats().is_short();
        self.short = if short { self.short.saturating_add(poll_turn.polls) } else { 0 };
        if self.short >= SHORT_POLLS && self.executor().drivers() > 1 {
            watchdog::start(&self.engine);
        }
    }

    /// Nothing is ready: takes new tasks, or sleeps, or leaves. None if there is something to do.
    fn rest(&mut self, context: &Context<'_>) -> Option<Turn> {
        match self.refill(context, Has::Waiting) {
            Refill::Leave if self.leave() => return Some(Turn::Leave),
            Refill::Idle if self.executor().sleep(self.me) => return Some(Turn::Sleep),
            Refill::Took => return None,
            _ => {}
        }
        // Something has come meanwhile, so it is not idle.
        self.refill(context, Has::Ready);
        None
    }

    fn poll(&mut self, cell: Arc<dyn Runnable>) {
        let engine = &self.engine;
        let polled = cell::poll(&cell, &engine.cancels, |panic| {
            engine.hooks().tell_panic(panic.on(engine.name()))
        });
        match polled {
            Polled::Waits => {}
            Polled::Again => cell.header().push_ready(),
            Polled::Ended(end) => {
                self.note(end);
                self.ended.push(cell);
            }
        }
    }

    /// Counts a task as ended.
    fn note(&self, end: End) {
        self.engine.count_driven(end);
        if end == End::Completed {
            self.serve_if_stuck();
        }
    }

    /// This driver comes to the lock soon, if the next future does not keep it from that. If a thread
    /// waits for the place that is free now, and no other driver is up to give that place away, it does so at once.
    fn serve_if_stuck(&self) {
        if self.executor().others_sleep() && self.engine.is_wanted() {
            let mut actions = Actions::default();
            let mut scheduler = self.engine.lock();
            scheduler.serve_waiters(&mut actions);
            scheduler.call_for_help(&mut actions);
            drop(scheduler);
            self.engine.perform(actions);
        }
    }

    fn refill(&mut self, context: &Context<'_>, has: Has) -> Refill {
        if !self.ended.is_empty() {
            self.owner.executor.remove(&mut self.ended);
        }
        let mut actions = Actions::default();
        let mut scheduler = self.engine.lock();
        if std::mem::take(&mut self.unknown) {
            scheduler.worker_table.worker(self.me).waker = Some(context.waker().clone());
        }
        let room = (TASKS_PER_REFILL, &mut self.jobs);
        let refill = scheduler.refill(self.me, has, room, &mut actions);
        let epoch = self.engine.cancels.epoch();
        drop(scheduler);
        self.engine.perform(actions);
        self.begin_all(epoch);
        refill
    }

    fn begin_all(&mut self, epoch: Epoch) {
        // The function of a pool may ask whether it is cancelled before it has made its future.
        set_epoch(epoch);
        // It polls no cell meanwhile.
        set_owner(on_cancel::Owner::Unplaced);
        let mut jobs = std::mem::take(&mut self.jobs);
        for job in jobs.drain(..) {
            self.begin(job);
        }
        self.jobs = jobs;
        if !self.fresh.is_empty() {
            self.fresh.iter().for_each(|cell| cell.header().set_epoch(epoch));
            self.owner.executor.add(&self.owner, &mut self.fresh);
        }
    }

    fn begin(&mut self, job: W::Job) {
        match self.engine.begin(self.owner.run_queue, job) {
            Begin::Cell(cell) => self.fresh.push(cell),
            Begin::Ended(end) => self.note(end),
        }
    }

    /// The driver's last step, unless it is needed after all.
    fn leave(&mut self) -> bool {
        let has_thread = self.executor().is_apart();
        if has_thread {
            self.engine.hooks().tell_stop(&self.engine.thread_name(self.me), self.me);
        }
        self.gone = self.engine.leave(self.me, || self.executor().leave(self.me));
        if has_thread && !self.gone {
            self.engine.hooks().tell_start(&self.engine.thread_name(self.me), self.me);
        }
        self.gone
    }

    /// Whatever ran the driver is no more: so are its tasks.
    fn lose(&mut self) {
        // First of all no thread is let in any more.
        self.engine.close_as(Phase::RuntimeGone);
        for cell in self.executor().lose(self.me) {
            if cell::abandon(&cell) == End::Cancelled {
                self.engine.count(End::Cancelled, Counts::Driver);
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

    /// Counts a task that a driver had as ended.
    pub(crate) fn count_driven(self: &Arc<Self>, end: End) {
        match end {
            End::Completed => self.fast_path.end_driven(),
            End::Panicked | End::Tombstone | End::Cancelled => self.count(end, Counts::Driver),
            // These have been counted.
            End::Counted | End::CountedPanic => {}
        }
    }

    /// Begins with a job for the run queue with this number, and tells of a panic.
    fn begin(self: &Arc<Self>, run_queue: usize, job: W::Job) -> Begin {
        let mut begun = None;
        let end = self.hooks().run(self.name(), W::origin(&job), || {
            match W::begin(self, run_queue, job) {
                Begin::Ended(end) => end,
                Begin::Cell(cell) => {
                    begun = Some(cell);
                    End::Counted
                }
            }
        });
        begun.map_or(Begin::Ended(end), Begin::Cell)
    }
}

impl<W: Drives> Drop for Driver<W> {
    fn drop(&mut self) {
        if !self.gone && !self.begun.drop_unnoticed() {
            self.lose();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
