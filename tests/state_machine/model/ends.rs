//! Size and ends of the pools in the model: resize, discard, close, drain, reopen, and the waits for an end.

use formic::Refused;

use super::places::Id;
use super::{Answer, By, Model, Reopening, Slot, Stage, Verb, cancelled};

impl Model {
    /// The numbers of the shards that a step concerns.
    fn concerned(&self, shard: Option<usize>) -> Vec<usize> {
        shard.map_or_else(|| (0..self.shards.len()).collect(), |shard| vec![shard])
    }

    pub(super) fn resize(&mut self, shard: Option<usize>, capacity: usize) -> Answer {
        for number in self.concerned(shard) {
            self.shards[number].resize(capacity);
        }
        Answer::Nothing
    }

    pub(super) fn discard(&mut self, shard: Option<usize>) -> Answer {
        let mut count = 0;
        for number in self.concerned(shard) {
            for id in self.shards[number].discard() {
                self.slot(id).stage = cancelled();
                count += 1;
            }
        }
        Answer::Discarded(count)
    }

    /// Drops what is queued and running futures, and asks running closures to stop.
    pub(super) fn cancel_all(&mut self, shard: Option<usize>) -> Answer {
        let Answer::Discarded(queued) = self.discard(shard) else {
            unreachable!("it says how many it has dropped")
        };
        let concerned = self.concerned(shard);
        let tasks = concerned.into_iter().flat_map(|number| self.shards[number].running_tasks());
        let tasks: Vec<Id> = tasks.collect();
        for id in &tasks {
            self.cancel(*id);
        }
        Answer::Stopped { queued, running: tasks.len() }
    }

    pub(super) fn set_queue(&mut self, shard: Option<usize>, tasks: usize) -> Answer {
        for number in self.concerned(shard) {
            self.shards[number].set_queue(tasks);
        }
        Answer::Nothing
    }

    pub(super) fn set_waiters(&mut self, shard: Option<usize>, submitters: usize) -> Answer {
        for number in self.concerned(shard) {
            self.shards[number].waiters_limit = Some(submitters);
        }
        Answer::Nothing
    }

    pub(super) fn close(&mut self, shard: Option<usize>) -> Answer {
        for number in self.concerned(shard) {
            for id in self.shards[number].places.close() {
                self.dismiss(id);
            }
        }
        Answer::Nothing
    }

    /// Sends a waiter away. A thread returns at once; a future tells it when it is polled.
    fn dismiss(&mut self, id: Id) {
        if self.slots[&id].by == By::Future {
            self.slot(id).stage = Stage::Dismissed;
            return;
        }
        self.slot(id).stage = Stage::Refused(Refused::Closed);
        let shard = self.slots[&id].shard;
        self.shards[shard].counts.refused += 1;
    }

    pub(super) fn drain_now(&mut self, shard: Option<usize>) -> Answer {
        self.close(shard);
        let left = self.concerned(shard).into_iter().map(|number| self.shards[number].left());
        Answer::Left(left.collect())
    }

    pub(super) fn reopen(&mut self, shard: Option<usize>) -> Answer {
        let mut reopened = Vec::new();
        for number in self.concerned(shard) {
            let shard = &mut self.shards[number];
            reopened.push(match () {
                () if !shard.places.closed => Reopening::WasOpen,
                () if !shard.is_over() => Reopening::Left(shard.left()),
                () => {
                    shard.places.closed = false;
                    Reopening::Opened
                }
            });
        }
        Answer::Reopened(reopened)
    }

    // ---- Waits for an end -----------------------------------------------------------------------

    /// A future that waits for an end is polled for the first time.
    pub(super) fn await_end(&mut self, id: Id, verb: Verb) -> Answer {
        if verb == Verb::Drain {
            self.close(None);
        }
        let mut slot = Slot::new(0, By::Future, verb);
        let ended = self.has_ended(verb);
        slot.stage = if ended { Stage::Gone } else { Stage::Waiting };
        self.slots.insert(id, slot);
        if ended { Answer::Nothing } else { Answer::Pending }
    }

    fn has_ended(&self, verb: Verb) -> bool {
        self.shards.iter().all(|shard| {
            let left = shard.left();
            match verb {
                Verb::WaitIdle => left.running + left.queued == 0,
                _ => shard.places.closed && shard.is_over(),
            }
        })
    }

    /// Ends the waits whose end has come.
    pub(super) fn settle_ends(&mut self) {
        for verb in [Verb::WaitIdle, Verb::Drain] {
            if self.has_ended(verb) {
                let waiting = |slot: &&mut Slot| slot.verb == verb && slot.stage == Stage::Waiting;
                for slot in self.slots.values_mut().filter(waiting) {
                    slot.stage = Stage::Granted;
                }
            }
        }
    }
}
