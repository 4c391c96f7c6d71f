//! Compares a pool with its model.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use formic::{Control, Stats};

use super::{Hold, System};
use crate::kind::Kind;
use crate::model::places::Id;
use crate::model::shard::{Counts, Figures, Shard};
use crate::model::{Model, Runs, Slot};
use crate::runner::Difference;
use crate::task::Controller;

type Comparison = Result<(), Difference>;

impl<K: Kind> System<K> {
    pub(super) fn compare(&mut self, model: &Model) -> Comparison {
        compare_starts(&model.starts, &self.log.starts())?;
        for (shard, control) in model.shards.iter().zip(self.pool.controls()) {
            compare_figures(shard, control, model.traits.runs)?;
        }
        let (stats, closed) = self.pool.total();
        let total = model.shards.iter().map(Shard::figures).reduce(Figures::and);
        Difference::between("all figures", total, Some(figures(&stats, closed)))?;
        Difference::between("reported panics", &model.reported, &self.log.panics())?;
        for (id, slot) in &model.slots {
            self.compare_thread(*id, slot)?;
            self.compare_slot(*id, slot)?;
        }
        Ok(())
    }

    /// Takes the answer of a thread that has returned.
    fn compare_thread(&mut self, id: Id, slot: &Slot) -> Comparison {
        let Hold::Thread(thread) = &self.item(id).hold else { return Ok(()) };
        let answer = slot.thread_answer();
        let what = format!("the thread of request {id} has returned");
        Difference::between(&what, answer.is_some(), thread.is_finished())?;
        if let Some(answer) = answer {
            let reply = self.take_thread(id).join().expect("a call does not panic");
            assert_eq!(
                answer,
                self.receive(id, reply),
                "the answers to the thread of request {id}"
            );
        }
        Ok(())
    }

    fn take_thread(&mut self, id: Id) -> thread::JoinHandle<crate::kind::Reply> {
        match std::mem::replace(&mut self.item(id).hold, Hold::Nothing) {
            Hold::Thread(thread) => thread,
            _ => unreachable!("request {id} has no thread"),
        }
    }

    fn compare_slot(&mut self, id: Id, slot: &Slot) -> Comparison {
        let item = self.item(id);
        let alive = item.controller.as_ref().is_some_and(Controller::is_alive);
        Difference::between(&format!("task {id} exists"), slot.has_task(), alive)?;
        if let Hold::Handle(handle) = &item.hold {
            let what = format!("the handle of task {id} is finished");
            Difference::between(&what, slot.has_ended(), handle.is_finished())?;
        }
        if slot.is_woken() {
            let what = format!("the future of request {id} was woken");
            Difference::between(&what, true, item.flag.is_woken())?;
        }
        Ok(())
    }

    /// Nothing is left after a drain.
    pub(super) fn check_end(&self) {
        for control in self.pool.controls() {
            let stats = control.stats();
            assert!(stats.adds_up(), "{stats:?}");
            assert_eq!((stats.queued, stats.busy, stats.workers, stats.waiting), (0, 0, 0, 0));
        }
        let starts = self.log.starts();
        let unique: BTreeSet<&Id> = starts.iter().collect();
        assert_eq!(unique.len(), starts.len(), "a task started twice: {starts:?}");
        for (id, item) in &self.items {
            let alive = item.controller.as_ref().is_some_and(Controller::is_alive);
            assert!(!alive, "task {id} was not dropped");
        }
    }
}

/// Compares the order in which tasks started. Only the tasks that one step starts may begin in any order.
fn compare_starts(steps: &[BTreeSet<Id>], starts: &[Id]) -> Comparison {
    let mut left = starts.iter();
    for step in steps {
        let started: BTreeSet<Id> = left.by_ref().take(step.len()).copied().collect();
        if !started.is_subset(step) {
            let text = format!("tasks {started:?} started in place of {step:?}: {starts:?}");
            return Err(Difference::Permanent(text));
        }
        Difference::between("tasks started", step, &started)?;
    }
    match left.next() {
        Some(id) => Err(Difference::Permanent(format!("task {id} must not have started"))),
        None => Ok(()),
    }
}

fn compare_figures(shard: &Shard, control: &Control, runs: Runs) -> Comparison {
    let stats = control.stats();
    if !stats.adds_up() {
        return Err(Difference::Permanent(format!("the figures do not add up: {stats:?}")));
    }
    Difference::between("figures", shard.figures(), figures(&stats, control.is_closed()))?;
    if runs == Runs::Futures && shard.places.closed && shard.is_over() {
        // The figures do not show the drivers, so the test asks whether the last one has left.
        let drained = control.blocking_drain_timeout(Duration::ZERO).is_ok();
        Difference::between("the pool is at its end", true, drained)?;
    }
    let workers = shard.workers(runs);
    if !workers.contains(&stats.workers) {
        return Err(Difference::Transient(format!("{} workers, not {workers:?}", stats.workers)));
    }
    let idle = if runs == Runs::Futures { 0 } else { stats.workers - stats.busy };
    Difference::between("idle workers", idle, stats.idle)
}

fn figures(stats: &Stats, closed: bool) -> Figures {
    let counts = Counts {
        accepted: stats.accepted,
        completed: stats.completed,
        panicked: stats.panicked,
        cancelled: stats.cancelled,
        refused: stats.refused,
    };
    let Stats { queued, busy, capacity, waiting, .. } = *stats;
    Figures { counts, queued, busy, capacity, waiting, closed }
}
