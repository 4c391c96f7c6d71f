//! The driver: takes tasks from the line and polls their futures until they end.
//!
//! It knows nothing of the runtime that runs it: that calls [`Driver::turn`], and calls it again when
//! the driver is woken.

use std::sync::Arc;
use std::task::Context;

use super::cell::{self, Polled, Runnable};
use super::crew::Acts;
use super::drive::{Has, Refill};
use super::list::{Board, List};
use super::run::{Counts, End};
use super::sync::atomic::{AtomicU8, Ordering};
use super::worker::{Kind, enter};
use super::{Engine, Work};
use crate::error::TaskPanic;

/// After so many polls a driver asks the line for more tasks and tells which have ended.
const POLLS_PER_REFILL: usize = 32;
/// After so many it lets the runtime do what it has to do.
const POLLS_PER_TURN: usize = 128;
/// It takes so many tasks at a time.
const TASKS_PER_REFILL: usize = 64;

/// The work of drivers.
pub(crate) trait Drives: Work {
    fn board(&self) -> &Arc<Board>;

    /// Makes a cell of a job for the driver with this list. May panic.
    fn begin(engine: &Arc<Engine<Self>>, list: &Arc<List>, job: Self::Job) -> Begin;
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
    me: usize,
    list: Arc<List>,
    jobs: Vec<W::Job>,
    fresh: Vec<Arc<dyn Runnable>>,
    begun: Begun,
    /// The crew does not know how it is woken.
    unknown: bool,
    gone: bool,
}

/// Whether a driver has begun to work. One that is dropped before is told to whoever started it, who
/// may hold the engine's lock.
#[derive(Clone)]
pub(crate) struct Begun(Arc<AtomicU8>);

const STARTING: u8 = 0;
const STARTED: u8 = 1;
const DROPPED: u8 = 2;

impl Begun {
    /// Whoever started the driver relies on it from now on. False if it is no more.
    #[must_use]
    pub(crate) fn rely(&self) -> bool {
        let was = self.0.compare_exchange(STARTING, STARTED, Ordering::AcqRel, Ordering::Acquire);
        was != Err(DROPPED)
    }

    fn drop_unnoticed(&self) -> bool {
        self.0.compare_exchange(STARTING, DROPPED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl<W: Drives> Driver<W> {
    pub(crate) fn new(engine: &Arc<Engine<W>>, me: usize) -> (Self, Begun) {
        let list = Arc::clone(engine.work.board().list(me));
        list.clear();
        let begun = Begun(Arc::new(AtomicU8::new(STARTING)));
        let driver = Driver {
            engine: Arc::clone(engine),
            me,
            list,
            jobs: Vec::new(),
            fresh: Vec::new(),
            begun: begun.clone(),
            unknown: true,
            gone: false,
        };
        (driver, begun)
    }

    /// Works for a while. `may_go_on` is asked after each poll.
    pub(crate) fn turn(
        &mut self,
        context: &Context<'_>,
        mut may_go_on: impl FnMut() -> bool,
    ) -> Turn {
        // Whoever started it and dies now is not there to be told.
        let _ = self.begun.rely();
        let engine = Arc::clone(&self.engine);
        let _inside = enter(&engine, Kind::Task);
        self.unknown |= self.list.rise(context.waker());
        let (mut polls, mut ended) = (0, None);
        self.refill(context, Has::Ready);
        loop {
            let Some(cell) = self.next(ended.take()) else {
                match self.rest(context) {
                    Some(turn) => return turn,
                    None => continue,
                }
            };
            ended = self.poll(&cell);
            polls += 1;
            if polls % POLLS_PER_REFILL == 0 {
                self.refill(context, Has::Ready);
            }
            if polls >= POLLS_PER_TURN || !may_go_on() {
                if ended.is_some() {
                    self.list.remove(&cell);
                }
                return Turn::Yield;
            }
        }
    }

    /// Nothing is ready: takes new tasks, or sleeps, or leaves. None if there is something to do.
    fn rest(&mut self, context: &Context<'_>) -> Option<Turn> {
        match self.refill(context, Has::Waiting) {
            Refill::Leave if self.leave() => return Some(Turn::Leave),
            Refill::Idle if self.list.sleep(self.engine.work.board()) => return Some(Turn::Sleep),
            Refill::Took => return None,
            _ => {}
        }
        // Something has come meanwhile, so it is not idle.
        self.refill(context, Has::Ready);
        None
    }

    fn next(&self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        let next =
            self.list.next(ended).or_else(|| self.engine.work.board().steal(self.list.number()))?;
        self.list.stop_searching();
        Some(next)
    }

    /// Polls a cell. If it has ended and is one of its own, it has still to leave the list.
    fn poll(&mut self, cell: &Arc<dyn Runnable>) -> Option<u32> {
        let polled = cell::poll(cell, |poll| {
            poll().unwrap_or_else(|panic| {
                let panic = TaskPanic::new(panic.payload, self.engine.name(), panic.origin);
                Some(self.engine.hooks().tell_panic(panic))
            })
        });
        let header = cell.header();
        match polled {
            Polled::Waits => None,
            Polled::Again => {
                if let Some(home) = header.home() {
                    home.push_ready(header.index());
                }
                None
            }
            Polled::Ended(end) => {
                self.note(end);
                self.retire(cell)
            }
        }
    }

    /// Counts a task as ended.
    fn note(&self, end: End) {
        match end {
            End::Completed => {
                self.engine.lane.end_driven();
                self.serve_if_stuck();
            }
            End::Panicked | End::Ghost | End::Cancelled => self.engine.count(end, Counts::Driver),
            // These have been counted.
            End::Counted | End::CountedPanic => {}
        }
    }

    /// This driver comes to the lock soon, if the next future does not keep it from that. If somebody
    /// waits for the place that is free now, and nobody else is up to give it to him, it does so at once.
    fn serve_if_stuck(&self) {
        let lane = &self.engine.lane;
        let is_wanted = || lane.hurry() || lane.tally().queued(lane.published()) > 0;
        if self.list.others_sleep() && is_wanted() {
            let mut acts = Acts::default();
            let mut crew = self.engine.lock();
            crew.serve_waiters(&mut acts);
            crew.call_for_help(&mut acts);
            drop(crew);
            self.engine.perform(acts);
        }
    }

    fn retire(&self, cell: &Arc<dyn Runnable>) -> Option<u32> {
        let header = cell.header();
        let (home, index) = (header.home()?, header.index());
        let own = Arc::ptr_eq(home, &self.list);
        if !own {
            home.remove(cell);
        }
        own.then_some(index)
    }

    fn refill(&mut self, context: &Context<'_>, has: Has) -> Refill {
        let mut acts = Acts::default();
        let mut crew = self.engine.lock();
        if std::mem::take(&mut self.unknown) {
            crew.roster.introduce(self.me, context.waker().clone());
        }
        let room = (TASKS_PER_REFILL, &mut self.jobs);
        let refill = crew.refill(self.me, has, room, &mut acts);
        drop(crew);
        self.engine.perform(acts);
        self.begin_all();
        refill
    }

    fn begin_all(&mut self) {
        let mut jobs = std::mem::take(&mut self.jobs);
        for job in jobs.drain(..) {
            self.begin(job);
        }
        self.jobs = jobs;
        if !self.fresh.is_empty() {
            self.list.add(&mut self.fresh);
        }
    }

    fn begin(&mut self, job: W::Job) {
        let (engine, list, fresh) = (&self.engine, &self.list, &mut self.fresh);
        let mut began = false;
        let end = engine.hooks().run(engine.name(), W::origin(&job), || {
            match W::begin(engine, list, job) {
                Begin::Ended(end) => end,
                Begin::Cell(cell) => {
                    fresh.push(cell);
                    began = true;
                    End::Counted
                }
            }
        });
        if !began {
            self.note(end);
        }
    }

    /// The driver's last step, unless it is needed after all.
    fn leave(&mut self) -> bool {
        let mut acts = Acts::default();
        let mut crew = self.engine.lock();
        self.gone = !crew.calls_back(self.me);
        if self.gone {
            crew.let_go(self.me, &mut acts);
        }
        drop(crew);
        self.list.stop_searching();
        self.engine.perform(acts);
        self.gone
    }

    /// Whatever ran the driver is no more: so are its tasks.
    fn lose(&mut self) {
        // First of all nobody is let in any more.
        self.engine.close();
        for cell in self.list.take_all() {
            if cell::abandon(&cell) == End::Cancelled {
                self.engine.count(End::Cancelled, Counts::Driver);
            }
        }
        let mut acts = Acts::default();
        let mut crew = self.engine.lock();
        let jobs = crew.lose(self.me, &mut acts);
        self.engine.drop_lost(crew, jobs, acts);
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
