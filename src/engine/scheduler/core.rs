//! The scheduler: the queue and its workers, and every decision about them, under one lock.
//!
//! Decide inside, act outside: what a decision asks for (wake this thread, start a worker) is
//! returned as [`Actions`] and carried out after the lock is free.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

pub(crate) use crate::engine::actions::Actions;
use crate::engine::queue::fast_path::FastPath;
use crate::engine::queue::{ClaimedBlock, Queue};
use crate::engine::scheduler::accounting::{Accounting, End};
use crate::engine::scheduler::gate::Gate;
use crate::engine::scheduler::growth::ByLoad;
use crate::engine::scheduler::lend::Lending;
use crate::engine::scheduler::ready::Lack;
use crate::engine::scheduler::task_times::TaskTimes;
use crate::engine::scheduler::worker_table::{WorkerState, WorkerTable};
use crate::engine::spin::cores;
use crate::engine::sync::Arc as Shared;
use crate::engine::wait::Waiter;
use crate::engine::wait_list::WaitList;
use crate::error::Refused;

/// What the lock guards. The invariants are numbered in the engine's README.
pub(crate) struct Scheduler<J> {
    pub(crate) queue: Queue<J>,
    pub(crate) gate: Gate<J>,
    pub(crate) worker_table: WorkerTable,
    pub(crate) task_times: TaskTimes,
    /// One driver that is up takes all tasks, and a watchdog watches it.
    pub(crate) single_driver: bool,
    pub(crate) limits: Limits,
    pub(crate) worker_kind: WorkerKind,
    /// Workers that can be of use for tasks that never block.
    pub(crate) cores: usize,
    pub(crate) phase: Phase,
    pub(crate) accounting: Accounting,
    /// The places of tasks that wait for others.
    pub(crate) lending: Lending<J>,
    /// Those who wait for each [`Ended`](super::ends::Ended).
    pub(crate) awaiting_ends: [WaitList<Arc<Waiter>>; 2],
    /// Woken each time that the pool is closed.
    pub(crate) close_listeners: WaitList<Waker>,
    /// How many tasks had been taken when the monitor worker looked last.
    pub(crate) seen: u64,
    pub(crate) no_start_before: Option<Instant>,
    /// How many workers are still to go because the load is low.
    pub(crate) retiring: usize,
}

/// Whether the pool accepts tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    /// It was closed, and can be opened again.
    Closed,
    /// The runtime of its drivers has shut down: it is closed for good.
    RuntimeGone,
}

/// The settings that may change; see `Builder` for what each one means.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Limits {
    pub(crate) capacity: usize,
    pub(crate) minimum: usize,
    pub(crate) queue: usize,
    pub(crate) waiters: usize,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) growth: Option<ByLoad>,
    pub(crate) preallocate: bool,
}

/// What the workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerKind {
    /// Threads, each with one task at a time: as many as tasks may run.
    Threads,
    #[cfg_attr(
        not(any(feature = "tokio", test)),
        expect(dead_code, reason = "for pools of futures")
    )]
    /// So many drivers, each with any number of tasks.
    Drivers(usize),
}

impl Limits {
    /// How many tasks may be queued and running.
    pub(crate) fn places(&self) -> usize {
        self.queue.saturating_add(self.capacity)
    }
}

/// What a worker did since it last asked.
pub(crate) enum Report<J> {
    /// It has come into being.
    Arrive(Waker),
    /// It ran tasks, more than one only from the fast path. The last one has not been counted as ended if `last` is
    /// there.
    Run { claimed: Option<ClaimedBlock<J>>, tasks: u64, last: Option<End>, nanos: u64 },
    /// It rested, and woke up by a call or by itself.
    Rest,
}

/// What a worker is to do next.
pub(crate) enum Order<J> {
    /// Run this, and with a claimed block go on with what is on the fast path.
    Run(J, Option<ClaimedBlock<J>>),
    /// Park until it is called, or until this time.
    Rest(Option<Instant>),
    /// Make the state, or ask whether the worker is ready, and say what it lacks.
    GetReady,
    Leave,
}

impl<J> Scheduler<J> {
    pub(crate) fn new(
        fast_path: Shared<FastPath>,
        limits: Limits,
        worker_kind: WorkerKind,
    ) -> Self {
        let mut scheduler = Scheduler {
            queue: Queue::new(fast_path),
            gate: Gate::new(),
            worker_table: WorkerTable::default(),
            task_times: TaskTimes::default(),
            single_driver: false,
            limits,
            worker_kind,
            cores: cores(),
            phase: Phase::Open,
            accounting: Accounting::default(),
            lending: Lending::default(),
            awaiting_ends: Default::default(),
            close_listeners: WaitList::default(),
            seen: 0,
            no_start_before: None,
            retiring: 0,
        };
        scheduler.apply_limits();
        scheduler
    }

    /// Makes the room that was asked for, and shows what may be read without the lock.
    pub(crate) fn apply_limits(&mut self) {
        if self.limits.preallocate {
            self.queue.reserve(self.limits.places());
            self.worker_table.reserve(self.limits.capacity);
        }
        self.show_limits();
    }

    pub(crate) fn show_limits(&self) {
        let open = usize::from(!self.is_closed());
        let (places, capacity) = (self.limits.places(), self.limits.capacity);
        self.queue.fast_path.show_places(open * places, open * capacity);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Why a pool that is closed refuses a task.
    pub(crate) fn refusal(&self) -> Refused {
        match self.phase {
            Phase::Open | Phase::Closed => Refused::Closed,
            Phase::RuntimeGone => Refused::RuntimeGone,
        }
    }

    /// A worker reports, and is told what to do next.
    pub(crate) fn next(&mut self, me: usize, report: Report<J>, actions: &mut Actions) -> Order<J> {
        if matches!(report, Report::Rest) && self.worker_table.worker_state(me) == WorkerState::Idle
        {
            return self.woke_alone(me, actions);
        }
        let arrived = matches!(report, Report::Arrive(_));
        let ended = matches!(report, Report::Run { .. });
        self.note(me, report);
        if arrived {
            self.call_last_to_go(actions);
        }
        self.serve_waiters(actions);
        if ended {
            self.shrink_by_load(actions);
        }
        self.decide(me, actions)
    }

    fn note(&mut self, me: usize, report: Report<J>) {
        match report {
            Report::Arrive(waker) => self.worker_table.worker(me).waker = Some(waker),
            Report::Run { claimed, tasks, last, nanos } => {
                if let Some(claimed) = claimed {
                    self.queue.give_back(claimed);
                }
                let alone = self.worker_table.count(WorkerState::Engaged) == 1;
                self.task_times.note(tasks, nanos, alone);
                if let Some(end) = last {
                    self.end(end);
                }
            }
            Report::Rest => {}
        }
        self.worker_table.set(me, WorkerState::Asking);
    }

    pub(crate) fn decide(&mut self, me: usize, actions: &mut Actions) -> Order<J> {
        if self.startable_when_lent() == 0 && (self.is_surplus() || self.retires()) {
            let next = self.leave(me);
            // A queued task may have counted on this worker.
            self.call_for_help(actions);
            return next;
        }
        if let Some(next) = self.take(me, actions) {
            // While tasks were short, no worker was called for those that came.
            self.call_for_help(actions);
            return next;
        }
        if self.is_closed() && self.queue.queued() == 0 && self.may_go(0) {
            let next = self.leave(me);
            self.call_last_to_go(actions);
            return next;
        }
        if let Lack::Time(pause) = self.worker_table.worker(me).lack {
            return self.decline(me, pause, actions);
        }
        self.first_rest(me)
    }

    /// Gives a worker work, if there is some and a place for it.
    fn take(&mut self, me: usize, actions: &mut Actions) -> Option<Order<J>> {
        if self.worker_table.worker(me).lack != Lack::Nothing && !self.only_tombstones() {
            return self.ask_first(me);
        }
        let (job, claimed) = match self.take_queued() {
            Some(taken) => taken,
            None => (self.take_awaited(actions)?, None),
        };
        self.worker_table.engage(me);
        Some(Order::Run(job, claimed))
    }

    /// Takes a task, and the fast path with it unless each worker must ask before its next task.
    fn take_queued(&mut self) -> Option<(J, Option<ClaimedBlock<J>>)> {
        if self.queue.queued() == 0 || self.free_places() == 0 {
            return None;
        }
        if self.needs_attention() {
            return Some((self.queue.pop()?, None));
        }
        if self.is_covered() {
            return None;
        }
        // A block may be spent by the others in between; then the next one has the next task.
        while self.queue.queued() > 0 {
            if let Some((job, claimed)) = self.queue.open() {
                return Some((job, Some(claimed)));
            }
        }
        None
    }
}
