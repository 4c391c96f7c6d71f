//! Idle workers: how long they rest, when they go, and the one that parks for a moment.

use std::time::Duration;

use crate::engine::queue::block::{Block, CELLS};
use crate::engine::scheduler::core::{Actions, Order, Rest, Scheduler};
use crate::engine::scheduler::worker_table::WorkerState;

/// The monitor worker looks at the queue after this, and then after up to [`MONITOR_PARK_LONGEST`].
const MONITOR_PARK_FIRST: Duration = Duration::from_micros(200);
const MONITOR_PARK_LONGEST: Duration = Duration::from_millis(1);

/// If the queue has grown by more than so many blocks meanwhile, it prepares some for what is to come.
const GROWING: usize = 4;
/// The most bytes of blocks that are prepared at once.
const PREPARED: usize = 1 << 20;

/// What the monitor worker saw last.
#[derive(Debug, Default)]
pub(crate) struct MonitorPark {
    published: u64,
    queued: usize,
    rest: Duration,
}

impl<J> Scheduler<J> {
    /// Whether a worker that found nothing looks around before it goes idle. Not while others
    /// work off short tasks: they look themselves.
    pub(crate) fn should_look(&mut self) -> bool {
        let covered =
            self.task_times.is_short() && self.worker_table.count(WorkerState::Engaged) > 0;
        let room = self.worker_table.count(WorkerState::Looking) < self.limits.lookers;
        !covered && !self.is_closed() && room && self.limits.cores > 1 && self.spin.is_due()
    }

    pub(crate) fn first_rest(&mut self, me: usize) -> Rest {
        let others_at_work = self.worker_table.count(WorkerState::Engaged) > 0;
        if self.task_times.is_short() && others_at_work && self.worker_table.monitor().is_none() {
            self.worker_table.set_monitor(me);
            self.monitor_park = MonitorPark {
                published: self.queue.published(),
                queued: self.queue.queued(),
                rest: MONITOR_PARK_FIRST,
            };
            return Rest::For(MONITOR_PARK_FIRST);
        }
        self.rest()
    }

    fn rest(&self) -> Rest {
        if self.limits.keep_alive.is_some() { Rest::UntilExpired } else { Rest::UntilCalled }
    }

    /// An idle worker woke up without having been called.
    pub(crate) fn woke_alone(
        &mut self,
        me: usize,
        expired: bool,
        actions: &mut Actions,
    ) -> Order<J> {
        let queued = self.queue.queued();
        if queued > 0 && self.is_needed(me, queued) {
            self.worker_table.remove_idle(me);
            return self.decide(me, true, actions);
        }
        if expired && queued == 0 {
            return self.expire(me);
        }
        self.next_rest(me, queued)
    }

    /// An idle worker's time is over: it goes, unless it is one of the minimum.
    fn expire(&mut self, me: usize) -> Order<J> {
        self.worker_table.forget_monitor(me);
        let (staying, minimum) = (self.worker_table.staying(), self.limits.minimum);
        if staying + self.worker_table.count(WorkerState::Starting) <= minimum {
            return Order::Rest(Rest::UntilCalled);
        }
        // A thread that is being started may fail, and then this one would be missed.
        if staying <= minimum || !self.can_spare_one() {
            return Order::Rest(Rest::Anew);
        }
        self.worker_table.remove_idle(me);
        self.leave(me)
    }

    /// Whether an idle worker that finds tasks in the queue should take part.
    fn is_needed(&mut self, me: usize, queued: usize) -> bool {
        if self.worker_table.monitor() != Some(me) || !self.task_times.is_short() {
            return true;
        }
        let taken = self.queue.published() - queued as u64;
        if taken <= self.monitor_park.published - self.monitor_park.queued as u64 {
            self.task_times.stalled();
            self.queue.seal();
            return true;
        }
        self.worker_table.count(WorkerState::Engaged) < self.task_times.useful(self.limits.cores)
            && self.task_times.is_behind(queued)
    }

    /// The monitor worker goes on dozing while tasks come in. It has a core for itself, so if the queue grows
    /// it spares those at work the wait for memory.
    fn next_rest(&mut self, me: usize, queued: usize) -> Order<J> {
        let published = self.queue.published();
        if self.worker_table.monitor() != Some(me)
            || (published == self.monitor_park.published && queued == 0)
        {
            self.worker_table.forget_monitor(me);
            self.queue.drop_surplus();
            return Order::Rest(self.rest());
        }
        let growth = queued.saturating_sub(self.monitor_park.queued) / CELLS;
        if growth > GROWING {
            self.monitor_park = MonitorPark { published, queued, rest: MONITOR_PARK_FIRST };
            let most = PREPARED / size_of::<Block<J>>().max(1);
            let missing = (2 * growth).min(most).saturating_sub(self.queue.spare());
            return match missing.min(most / 2) {
                0 => Order::Rest(self.after_preparing()),
                blocks => Order::Prepare(blocks),
            };
        }
        self.queue.drop_surplus();
        let rest = (self.monitor_park.rest * 2).min(MONITOR_PARK_LONGEST);
        self.monitor_park = MonitorPark { published, queued, rest };
        Order::Rest(Rest::For(rest))
    }

    /// The monitor worker looks again soon, because the queue grows.
    pub(crate) fn after_preparing(&self) -> Rest {
        Rest::For(MONITOR_PARK_FIRST / 2)
    }
}
