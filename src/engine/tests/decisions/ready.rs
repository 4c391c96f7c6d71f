//! Decisions about workers that lack something before they may be given a task.

use std::time::Duration;

use super::*;
use crate::engine::scheduler::ready::Lack;

impl Trial {
    /// A worker reports that lacks something.
    fn ask_lacking(&mut self, me: usize, lack: Lack) -> (Order<u32>, Actions) {
        let mut actions = Actions::default();
        self.scheduler.worker_table.worker(me).lack = lack;
        let report = Report::Rest;
        let next = self.scheduler.next(me, report, &mut actions);
        (next, actions)
    }

    fn called(&mut self) -> usize {
        self.scheduler.worker_table.add(WorkerState::Called)
    }
}

const PAUSE: Lack = Lack::Time(Duration::from_millis(7));

#[test]
fn a_worker_is_asked_only_if_there_is_a_task() {
    let mut trial = Trial::new(1, 0);
    let me = trial.called();
    let (next, _) = trial.ask_lacking(me, Lack::Answer);
    assert!(matches!(next, Order::Rest(_)), "there is no task");
    trial.submit(1);
    let (next, actions) = trial.ask_lacking(me, Lack::Answer);
    assert!(matches!(next, Order::GetReady) && actions.start.is_empty());
    assert_eq!(trial.scheduler.worker_table.worker_state(me), WorkerState::Asking);
    let (next, _) = trial.ask_lacking(me, Lack::Nothing);
    assert!(matches!(next, Order::Run(1, Some(_))));
}

#[test]
fn a_worker_that_declines_is_not_counted_on_and_another_one_is_started() {
    let mut trial = Trial::new(2, 0);
    let me = trial.called();
    trial.submit(1);
    drop(trial.ask_lacking(me, Lack::Answer));
    let (next, actions) = trial.ask_lacking(me, PAUSE);
    assert!(matches!(next, Order::Rest(Some(_))));
    assert_eq!(trial.scheduler.worker_table.worker_state(me), WorkerState::Unready);
    assert_eq!(actions.start.len(), 1);
}

#[test]
fn while_a_worker_makes_its_state_an_idle_one_is_called_and_none_is_started() {
    let mut trial = Trial::new(3, 0);
    let me = trial.called();
    trial.submit(1);
    let (next, actions) = trial.ask_lacking(me, Lack::State);
    assert!(matches!(next, Order::GetReady) && actions.start.is_empty());
    assert_eq!(trial.scheduler.stats().unready, 1);
    assert_eq!(trial.submit(2), 1, "the next task needs another worker");

    let mut trial = Trial::new(3, 0);
    let (idle, me) = (trial.called(), trial.called());
    trial.scheduler.worker_table.worker(idle).waker = Some(this_thread());
    trial.scheduler.worker_table.push_idle(idle);
    trial.scheduler.queue.push(1);
    let (_, actions) = trial.ask_lacking(me, Lack::State);
    assert_eq!((actions.call.len(), actions.start.len()), (1, 0));
}

#[test]
fn a_worker_that_declined_is_called_after_the_others() {
    let mut trial = Trial::new(2, 0);
    let (well, sick) = (trial.called(), trial.called());
    for me in [well, sick] {
        trial.scheduler.worker_table.worker(me).waker = Some(this_thread());
    }
    trial.scheduler.worker_table.push_idle(well);
    let (next, _) = trial.ask_lacking(sick, PAUSE);
    assert!(matches!(next, Order::Rest(_)));
    let (next, _) = trial.ask_lacking(sick, Lack::Answer);
    assert!(matches!(next, Order::Rest(_)));
    assert!(trial.scheduler.worker_table.call_newest().is_some());
    assert_eq!(trial.scheduler.worker_table.worker_state(well), WorkerState::Called);
}

#[test]
fn a_tombstone_that_another_worker_passes_over_stands_for_no_other_task() {
    let mut trial = Trial::new(3, 0);
    (1..=2).for_each(|job| trial.scheduler.queue.push(job));
    trial.scheduler.accounting.note_cancel();
    let (_, next) = trial.arrive();
    // The first is the tombstone. It is still counted as one, and the second is a task.
    let Order::Run(1, Some(_claimed)) = next else { panic!("there are two") };
    assert!(!trial.scheduler.only_tombstones());
    trial.scheduler.accounting.note_cancel();
    assert!(trial.scheduler.only_tombstones());
    let me = trial.called();
    let (next, _) = trial.ask_lacking(me, Lack::State);
    assert!(matches!(next, Order::Run(2, None) | Order::Run(2, Some(_))), "to pass it over");
}
