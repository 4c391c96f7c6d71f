//! The scheduler: the queue and its workers, and every decision about them, under one lock.
//!
//! Decide inside, act outside: what a decision asks for (wake this thread, start a worker) is
//! returned as [`Actions`] and carried out after the lock is free.

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::engine::queue::block::Blocks;
use crate::engine::queue::fast_path::MOST_BUSY;
use crate::engine::queue::{ClaimedBlock, Queue};
use crate::engine::scheduler::accounting::{Accounting, End};
pub(crate) use crate::engine::scheduler::actions::Actions;
use crate::engine::scheduler::gate::Gate;
use crate::engine::scheduler::growth::ByLoad;
use crate::engine::scheduler::idle::MonitorPark;
use crate::engine::scheduler::lend::Lending;
use crate::engine::scheduler::ready::Lack;
use crate::engine::scheduler::task_times::TaskTimes;
use crate::engine::scheduler::worker_table::{WorkerState, WorkerTable};
use crate::engine::spin::Spin;
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
    pub(crate) phase: Phase,
    pub(crate) accounting: Accounting,
    /// The places of tasks that wait for others.
    pub(crate) lending: Lending<J>,
    /// Waiting until no task is left, and until no worker is left.
    pub(crate) idlers: WaitList<Arc<Waiter>>,
    pub(crate) drainers: WaitList<Arc<Waiter>>,
    /// Told when the pool is closed.
    pub(crate) close_listeners: WaitList<Weak<dyn CloseListener>>,
    /// Whether workers spin before they go idle.
    pub(crate) spin: Spin,
    pub(crate) monitor_park: MonitorPark,
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

/// Is told when a pool is closed, after the lock is free.
pub(crate) trait CloseListener: Send + Sync {
    fn pool_closed(&self);
}

/// The settings that may change.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) capacity: usize,
    pub(crate) minimum: usize,
    /// Tasks that may wait for a worker.
    pub(crate) queue: usize,
    /// Workers that may look around at once. One core's worth is kept for the others.
    pub(crate) lookers: usize,
    /// Workers that can be of use for tasks that never block.
    pub(crate) cores: usize,
    /// How long an idle worker stays.
    pub(crate) keep_alive: Option<Duration>,
    /// How many workers there are by load, or one for each task.
    pub(crate) growth: Option<ByLoad>,
    pub(crate) worker_kind: WorkerKind,
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
    /// How many tasks may run.
    pub(crate) fn most_running(&self) -> usize {
        match self.worker_kind {
            WorkerKind::Threads => self.capacity.min(MOST_BUSY),
            WorkerKind::Drivers(_) => self.capacity,
        }
    }

    /// How many workers there may be while no task waits for another.
    pub(crate) fn most_workers(&self) -> usize {
        match self.worker_kind {
            WorkerKind::Threads => self.most_running(),
            WorkerKind::Drivers(drivers) => drivers,
        }
    }
}

/// What a worker did since it last asked.
pub(crate) enum Report<J> {
    /// It has come into being.
    Arrive(Waker),
    /// It ran one task.
    /// `end` is there unless it has been counted.
    Run { end: Option<End>, nanos: u64 },
    /// It ran tasks from the fast path; the last one has not been counted as ended if `last` is there.
    Drive { claimed: ClaimedBlock<J>, tasks: u64, last: Option<End>, nanos: u64 },
    /// It looked around.
    Look { found: bool },
    /// It rested, and woke up by a call or by itself.
    Rest { expired: bool },
    /// It made blocks for the queue.
    Prepare(Blocks<J>),
}

/// What a worker is to do next.
pub(crate) enum Order<J> {
    Run(J),
    /// Run this, and then go on with what is on the fast path.
    Drive(J, ClaimedBlock<J>),
    /// Spin until more than `published` tasks were published.
    Look {
        published: u64,
    },
    Rest(Rest),
    /// Make the state, or ask whether the worker is ready, and say what it lacks.
    GetReady,
    /// Make so many blocks for the queue.
    Prepare(usize),
    Leave,
}

/// How long an idle worker rests if it is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    UntilCalled,
    UntilExpired,
    /// Until it expires, counted from now.
    Anew,
    /// For a moment: to expire can wait so long.
    For(Duration),
}

impl<J> Scheduler<J> {
    pub(crate) fn new(queue: Queue<J>, limits: Limits, waiters: usize) -> Self {
        Scheduler {
            queue,
            gate: Gate::new(waiters),
            worker_table: WorkerTable::default(),
            task_times: TaskTimes::new(),
            single_driver: false,
            limits,
            phase: Phase::Open,
            accounting: Accounting::default(),
            lending: Lending::default(),
            idlers: WaitList::default(),
            drainers: WaitList::default(),
            close_listeners: WaitList::default(),
            spin: Spin::new(),
            monitor_park: MonitorPark::default(),
            no_start_before: None,
            retiring: 0,
        }
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
        let looked = matches!(report, Report::Look { .. });
        let report = match report {
            Report::Prepare(blocks) => {
                self.queue.add_spare(blocks);
                if self.worker_table.worker_state(me) == WorkerState::Idle {
                    return Order::Rest(self.after_preparing());
                }
                Report::Rest { expired: false }
            }
            report => report,
        };
        if let Report::Rest { expired } = report
            && self.worker_table.worker_state(me) == WorkerState::Idle
        {
            return self.woke_alone(me, expired, actions);
        }
        let arrived = matches!(report, Report::Arrive(_));
        let ended = matches!(report, Report::Run { .. } | Report::Drive { .. });
        self.note(me, report);
        if arrived {
            self.call_last_to_go(actions);
        }
        self.serve_waiters(actions);
        if ended {
            self.shrink_by_load(actions);
        }
        self.decide(me, looked, actions)
    }

    fn note(&mut self, me: usize, report: Report<J>) {
        match report {
            Report::Arrive(waker) => self.worker_table.introduce(me, waker),
            Report::Run { end, nanos } => {
                if let Some(end) = end {
                    self.end(end);
                }
                self.task_times.note(1, nanos);
            }
            Report::Drive { claimed, tasks, last, nanos } => {
                self.queue.give_back(claimed);
                self.task_times.note(tasks, nanos);
                if let Some(end) = last {
                    self.end(end);
                }
            }
            Report::Look { found } => self.spin.note(found),
            Report::Rest { .. } | Report::Prepare(_) => {}
        }
        self.worker_table.set(me, WorkerState::Asking);
    }

    pub(crate) fn decide(&mut self, me: usize, looked: bool, actions: &mut Actions) -> Order<J> {
        if self.startable_when_lent() == 0 && (self.is_surplus() || self.retires()) {
            let next = self.leave(me);
            // A queued task may have counted on this worker.
            self.call_for_help(actions);
            return next;
        }
        if let Some(next) = self.take(me, actions) {
            // Two, so that their number doubles: while tasks were short, no worker was called for the tasks
            // that came, and if those turn out to be long all of them are behind.
            self.call_for_help(actions);
            self.call_for_help(actions);
            self.call_for_awaited(actions);
            return next;
        }
        if self.is_closed() && self.queue.queued() == 0 && self.can_spare_one() {
            let next = self.leave(me);
            self.call_last_to_go(actions);
            return next;
        }
        if let Lack::Time(pause) = self.worker_table.lack(me) {
            return self.decline(me, pause, actions);
        }
        if !looked && self.should_look() {
            self.worker_table.set(me, WorkerState::Looking);
            return Order::Look { published: self.queue.published() };
        }
        self.worker_table.push_idle(me);
        Order::Rest(self.first_rest(me))
    }

    /// Gives a worker work, if there is some and a place for it.
    fn take(&mut self, me: usize, actions: &mut Actions) -> Option<Order<J>> {
        if self.worker_table.lack(me) != Lack::Nothing && !self.only_tombstones() {
            return self.ask_first(me);
        }
        let next = self.take_queued().or_else(|| self.take_awaited(actions).map(Order::Run))?;
        self.worker_table.set_declined(me, false);
        self.worker_table.set(me, WorkerState::Engaged);
        Some(next)
    }

    fn take_queued(&mut self) -> Option<Order<J>> {
        if self.queue.queued() == 0 || self.free_places() == 0 {
            return None;
        }
        if self.needs_attention() {
            return self.queue.pop().map(Order::Run);
        }
        if self.is_covered() {
            return None;
        }
        self.open().map(|(job, claimed)| Order::Drive(job, claimed))
    }

    /// Takes a task and the fast path with it.
    fn open(&mut self) -> Option<(J, ClaimedBlock<J>)> {
        // A block may be spent by the others in between; then the next one has the next task.
        while self.queue.queued() > 0 {
            let taken = self.queue.open();
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Whether each worker must come to the lock before each task.
    pub(crate) fn needs_attention(&self) -> bool {
        self.waiters_are_eager() || self.is_over_capacity()
    }

    pub(crate) fn leave(&mut self, me: usize) -> Order<J> {
        self.worker_table.set(me, WorkerState::Leaving);
        self.retiring = self.retiring.saturating_sub(1);
        Order::Leave
    }

    /// More workers than the capacity allows. The last one stays: see [`Scheduler::can_spare_one`].
    fn is_surplus(&self) -> bool {
        let staying = self.worker_table.staying();
        staying + self.worker_table.count(WorkerState::Starting) > self.most_workers()
            && staying > 1
    }

    /// Whether a worker may go although it is perhaps the last. The last one stays while a permit
    /// is out, whose task must not meet an empty scheduler, and while a thread is being started, because
    /// a submitter that relies on that thread has been told that there is a worker.
    pub(crate) fn can_spare_one(&self) -> bool {
        self.worker_table.staying() > 1
            || (self.gate.permits() == 0 && self.worker_table.count(WorkerState::Starting) == 0)
    }

    /// A leaving worker has told the hook. True if it must work on, because something came into the
    /// queue that no other worker may take.
    pub(crate) fn calls_back(&mut self, me: usize) -> bool {
        let staying = self.worker_table.staying();
        let wanted = self.queue.queued() > 0 || !self.can_spare_leaver();
        // By load, a worker that goes is not needed for a task as long as another one is here.
        let allowed = self.limits.growth.is_none()
            && staying + self.worker_table.count(WorkerState::Starting) < self.most_workers();
        let needed = wanted && (allowed || staying == 0) || self.startable_when_lent() > 0;
        if needed {
            self.worker_table.set(me, WorkerState::Asking);
        }
        needed
    }

    /// A leaving worker that was not called back is gone.
    pub(crate) fn let_go(&mut self, me: usize, actions: &mut Actions) {
        self.worker_table.remove(me);
        self.gate.shut();
        self.serve_waiters(actions);
    }

    /// As [`Scheduler::can_spare_one`], for a worker that no longer counts as staying.
    fn can_spare_leaver(&self) -> bool {
        self.worker_table.staying() > 0
            || (self.gate.permits() == 0 && self.worker_table.count(WorkerState::Starting) == 0)
    }
}
