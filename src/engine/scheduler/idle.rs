//! Idle workers: how long they rest, when they go, and the one that parks for a moment.

use std::time::{Duration, Instant};

use crate::engine::scheduler::core::{Actions, Order, Scheduler};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::now;

/// How long the monitor worker parks. A task that blocks is noticed after twice this time, and a thousand wake-ups a
/// second cost less than one per cent of a core.
const MONITOR_PARK: Duration = Duration::from_millis(1);

impl<J> Scheduler<J> {
    /// A worker goes idle. While others work off short tasks, one idle worker monitors them.
    pub(crate) fn first_rest(&mut self, me: usize) -> Order<J> {
        self.worker_table.push_idle(me);
        if self.short_at_work() > 0 && self.worker_table.monitor.is_none() {
            self.worker_table.monitor = Some(me);
            return self.monitor();
        }
        Order::Rest(self.expires_at(me))
    }

    /// The monitor worker remembers what it sees, and parks for a moment.
    fn monitor(&mut self) -> Order<J> {
        self.seen = self.queue.taken();
        Order::Rest(now().checked_add(MONITOR_PARK))
    }

    /// When an idle worker has been idle for too long. A time that the clock cannot tell is never reached.
    fn expires_at(&mut self, me: usize) -> Option<Instant> {
        let idle_since = *self.worker_table.worker(me).idle_since.get_or_insert_with(now);
        idle_since.checked_add(self.limits.keep_alive?)
    }

    /// An idle worker woke up without having been called.
    pub(crate) fn woke_alone(&mut self, me: usize, actions: &mut Actions) -> Order<J> {
        let queued = self.queue.queued();
        if queued > 0 && self.is_needed(me) {
            self.worker_table.remove_idle(me);
            return self.decide(me, actions);
        }
        // In a model the clock stands still, and every time is over when it is asked for.
        let is_over = |time| cfg!(loom) || time <= now();
        if queued == 0 && self.expires_at(me).is_some_and(is_over) {
            return self.expire(me);
        }
        if self.worker_table.monitor == Some(me) && self.queue.taken() > self.seen {
            return self.monitor();
        }
        self.worker_table.forget_monitor(me);
        Order::Rest(self.expires_at(me))
    }

    /// An idle worker's time is over: it goes, unless it is one of the minimum.
    fn expire(&mut self, me: usize) -> Order<J> {
        self.worker_table.forget_monitor(me);
        if self.may_go(self.limits.minimum) {
            self.worker_table.remove_idle(me);
            return self.leave(me);
        }
        if self.worker_table.remaining() <= self.limits.minimum {
            return Order::Rest(None);
        }
        // It is asked again when a thread that is being started is here, or a permit is used.
        self.worker_table.worker(me).idle_since = None;
        Order::Rest(self.expires_at(me))
    }

    /// Whether an idle worker that finds tasks in the queue should take part. The monitor worker leaves short tasks to
    /// those at work, unless the queue stands still, or another core is free for them.
    fn is_needed(&mut self, me: usize) -> bool {
        if self.worker_table.monitor != Some(me) || !self.task_times.is_short() {
            return true;
        }
        if self.queue.taken() <= self.seen {
            self.task_times.stalled();
            self.queue.fast_path.seal();
            return true;
        }
        self.worker_table.count(WorkerState::Engaged) < self.task_times.useful(self.cores)
    }

    /// Whether one of the workers that stay may go, and `least` stay. Only those count whose thread exists: one that is
    /// being started may fail.
    pub(crate) fn may_go(&self, least: usize) -> bool {
        let others = self.worker_table.staying().saturating_sub(1);
        others >= least && (others > 0 || !self.is_relied_on())
    }

    /// Whether the last worker must stay: the task of a permit must not meet an empty scheduler, and a submitter that
    /// relies on a thread which is being started has been told that there is a worker.
    fn is_relied_on(&self) -> bool {
        self.gate.permits > 0 || self.worker_table.count(WorkerState::Starting) > 0
    }

    /// Whether the worker at the lock is one of those above the capacity.
    pub(crate) fn is_surplus(&self) -> bool {
        self.worker_table.remaining() > self.most_workers() && self.may_go(1)
    }

    pub(crate) fn leave(&mut self, me: usize) -> Order<J> {
        self.worker_table.set(me, WorkerState::Leaving);
        self.retiring = self.retiring.saturating_sub(1);
        Order::Leave
    }

    /// A leaving worker has told the hook. True if it must work on, because something came into the
    /// queue that no other worker may take.
    pub(crate) fn calls_back(&mut self, me: usize) -> bool {
        let (queued, alone) = (self.queue.queued() > 0, self.worker_table.staying() == 0);
        // By load, a worker that goes is not needed for a task as long as another one is here.
        let has_place =
            self.limits.growth.is_none() && self.worker_table.remaining() < self.most_workers();
        let needed = alone && (queued || self.is_relied_on())
            || queued && has_place
            || self.startable_when_lent() > 0;
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
}
