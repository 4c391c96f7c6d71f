//! Idle workers: how long they rest, when they go, and the one that dozes.

use std::time::Duration;

use crate::engine::queue::block::{Block, CELLS};
use crate::engine::scheduler::crew::{Acts, Crew, Next, Rest};
use crate::engine::scheduler::roster::Duty;

/// The dozing worker looks at the line after this, and then after up to [`DOZE_MOST`].
const DOZE_FIRST: Duration = Duration::from_micros(200);
const DOZE_MOST: Duration = Duration::from_millis(1);

/// If the line has grown by more than so many blocks meanwhile, it prepares some for what is to come.
const GROWING: usize = 4;
/// .. of so many bytes at most.
const PREPARED: usize = 1 << 20;

/// What the dozing worker saw last.
#[derive(Debug, Default)]
pub(crate) struct Doze {
    published: u64,
    queued: usize,
    rest: Duration,
}

impl<J> Crew<J> {
    pub(crate) fn first_rest(&mut self, me: usize) -> Rest {
        let others_at_work = self.roster.count(Duty::Engaged) > 0;
        if self.pace.is_short() && others_at_work && self.roster.dozer().is_none() {
            self.roster.set_dozer(me);
            self.doze = Doze {
                published: self.line.published(),
                queued: self.line.queued(),
                rest: DOZE_FIRST,
            };
            return Rest::For(DOZE_FIRST);
        }
        self.rest()
    }

    fn rest(&self) -> Rest {
        if self.limits.expires { Rest::UntilExpired } else { Rest::UntilCalled }
    }

    /// An idle worker woke up without having been called.
    pub(crate) fn woke_alone(&mut self, me: usize, expired: bool, acts: &mut Acts) -> Next<J> {
        let queued = self.line.queued();
        if queued > 0 && self.is_needed(me, queued) {
            self.roster.remove_idle(me);
            return self.decide(me, true, acts);
        }
        if expired && queued == 0 {
            return self.expire(me);
        }
        self.next_rest(me, queued)
    }

    /// An idle worker's time is over: it goes, unless it is one of the minimum.
    fn expire(&mut self, me: usize) -> Next<J> {
        self.roster.forget_dozer(me);
        let (staying, minimum) = (self.roster.staying(), self.limits.minimum);
        if staying + self.roster.count(Duty::Starting) <= minimum {
            return Next::Rest(Rest::UntilCalled);
        }
        // A thread that is being started may fail, and then this one would be missed.
        if staying <= minimum || !self.can_spare_one() {
            return Next::Rest(Rest::Anew);
        }
        self.roster.remove_idle(me);
        self.leave(me)
    }

    /// Whether an idle worker that finds tasks in the line should take part.
    fn is_needed(&mut self, me: usize, queued: usize) -> bool {
        if self.roster.dozer() != Some(me) || !self.pace.is_short() {
            return true;
        }
        let taken = self.line.published() - queued as u64;
        if taken <= self.doze.published - self.doze.queued as u64 {
            self.pace.stalled();
            self.line.seal();
            return true;
        }
        self.pace.age();
        self.roster.count(Duty::Engaged) < self.pace.useful(self.limits.cores)
            && self.pace.is_behind(queued)
    }

    /// The dozing worker goes on dozing while tasks come in. It has a core for itself, so if the line grows
    /// it spares those at work the wait for memory.
    fn next_rest(&mut self, me: usize, queued: usize) -> Next<J> {
        let published = self.line.published();
        if self.roster.dozer() != Some(me) || (published == self.doze.published && queued == 0) {
            self.roster.forget_dozer(me);
            self.line.drop_surplus();
            return Next::Rest(self.rest());
        }
        let growth = queued.saturating_sub(self.doze.queued) / CELLS;
        if growth > GROWING {
            self.doze = Doze { published, queued, rest: DOZE_FIRST };
            let most = PREPARED / size_of::<Block<J>>().max(1);
            let missing = (2 * growth).min(most).saturating_sub(self.line.spare());
            return match missing.min(most / 2) {
                0 => Next::Rest(self.after_preparing()),
                blocks => Next::Prepare(blocks),
            };
        }
        self.line.drop_surplus();
        let rest = (self.doze.rest * 2).min(DOZE_MOST);
        self.doze = Doze { published, queued, rest };
        Next::Rest(Rest::For(rest))
    }

    /// The dozing worker looks again soon, because the line grows.
    pub(crate) fn after_preparing(&self) -> Rest {
        Rest::For(DOZE_FIRST / 2)
    }
}
