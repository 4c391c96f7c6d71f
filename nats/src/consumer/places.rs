//! Places and pulls: what the pool and the source are asked for.

use std::time::Duration;

use formic::{Refused, Stats};
use tokio::time::sleep;

use super::lane::{Lane, LaneState};
use super::run::{Loop, Permits, Stage};
use crate::error::ConsumeError;
use crate::handlers::Handlers;
use crate::monitor::count;

/// How long the consumer waits before it looks again whether other submitters have left it a worker. The pool does not
/// tell. Short beside a job that is worth a network, and long beside the microsecond that a look takes.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What other submitters have in the pool.
#[derive(Default)]
pub(super) struct Others {
    /// The tasks of this consumer that the pool has accepted.
    pub(super) mine: u64,
    /// The tasks of others that it had accepted when it was last seen without any task.
    ended: Option<u64>,
}

impl Others {
    /// An estimate. It is exact while others submit nothing: a task of this consumer may have an outcome while the pool
    /// still counts it.
    fn pending(&mut self, stats: &Stats, running: usize) -> usize {
        let (theirs, pending) =
            (stats.accepted.saturating_sub(self.mine), stats.queued + stats.busy);
        if pending == 0 {
            self.ended = Some(theirs);
        }
        if self.ended == Some(theirs) { 0 } else { pending.saturating_sub(running) }
    }
}

impl<P: Handlers> Loop<P> {
    /// Asks idle lanes for the messages that there is room for.
    pub(super) fn pull(&mut self) {
        let asked: usize = self.lanes.iter().map(Lane::asked).sum();
        let room = self.held.len() + self.consumer.settings.ahead;
        let mut wanted = room.saturating_sub(asked + self.waiting.len());
        if self.is_stalled() {
            wanted = 0;
        }
        for _ in 0..self.lanes.len() {
            if wanted == 0 {
                break;
            }
            let number = self.next_lane;
            self.next_lane = (number + 1) % self.lanes.len();
            if self.is_idle(&self.lanes[number]) {
                let asked = wanted.min(self.most_per_pull);
                wanted -= asked;
                let lane = &mut self.lanes[number];
                lane.state = LaneState::Asked(asked);
                count(&self.consumer.counters.pulls);
                if let Some(pulls) = &lane.pulls {
                    // If the lane is gone, it has said why.
                    pulls.send(asked).ok();
                }
            }
        }
    }

    /// Whether the lane could use a pull. A partition that has a message here delivers no other. One whose answer is not
    /// confirmed does not count: the server may have forgotten that it delivered the message, and then it confirms nothing before
    /// it was asked to deliver it again.
    fn is_idle(&self, lane: &Lane) -> bool {
        lane.state == LaneState::Idle && (self.most_per_pull > 1 || lane.unanswered == 0)
    }

    /// Whether the source has a pull that it has not served yet. The pull of a partition does not count: the source delivers nothing
    /// of a partition before the message that is out is answered.
    pub(super) fn is_pull_unserved(&self) -> bool {
        let is_unserved = |lane: &Lane| matches!(lane.state, LaneState::Asked(_));
        self.most_per_pull > 1 && self.lanes.iter().any(is_unserved)
    }

    /// Whether dead letters cannot be stored. Each message that would be fetched might become one more of them.
    fn is_stalled(&self) -> bool {
        self.known.letters() >= self.places()
    }

    /// The most messages that run here at a time.
    fn places(&self) -> usize {
        let settings = &self.consumer.settings;
        self.consumer.pool.control().capacity().min(settings.most)
    }

    /// Asks the pool for the places that messages could use.
    pub(super) fn admit(&mut self) {
        if self.admission.is_some() || self.is_stalled() {
            return;
        }
        let mine = self.running.len() + self.held.len();
        let idle = self.lanes.iter().filter(|lane| self.is_idle(lane)).count();
        let usable = idle.saturating_mul(self.most_per_pull).saturating_add(self.waiting.len());
        let room = self.places().saturating_sub(mine).min(usable);
        if room == 0 {
            return;
        }
        // A place in the queue of a pool that others keep full, at most: they cannot keep the consumer out for ever.
        let wanted = room.min(self.left_by_others().max(usize::from(mine == 0)));
        self.admission = Some(match wanted {
            0 => Box::pin(look_again::<P>()),
            wanted => Box::pin(self.consumer.pool.admit(wanted)),
        });
    }

    /// The workers of the pool that nothing of this consumer or of others is for. A place in the queue is not one of them: a
    /// message would wait in it, also while another process is idle.
    fn left_by_others(&mut self) -> usize {
        let stats = self.consumer.pool.control().stats();
        let others = self.others.pending(&stats, self.running.len());
        let mine = self.running.len() + self.held.len();
        stats.capacity.saturating_sub(others).saturating_sub(mine)
    }

    pub(super) fn admitted(&mut self, permits: Permits<P>) {
        self.admission = None;
        match permits {
            Ok(permits) => self.held.extend(permits),
            // Others wait for places as well.
            Err(Refused::Full) => self.admission = Some(Box::pin(look_again::<P>())),
            Err(reason) if self.stage == Stage::Open => self.fail(ConsumeError::Pool(reason)),
            Err(_) => {
                let waiting = std::mem::take(&mut self.waiting);
                self.give_back(waiting);
            }
        }
    }
}

async fn look_again<P: Handlers>() -> Permits<P> {
    sleep(LOOK_AGAIN).await;
    Ok(Vec::new())
}
