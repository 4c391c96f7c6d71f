//! Several workers that get into each other's way.

use super::Trial;
use crate::engine::scheduler::core::{Order, Report};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::task::run::End;

/// So many samples are enough to judge by.
const ENOUGH: usize = 8;

/// A worker reports a task that took so long, one from the fast path or another.
fn report(trial: &mut Trial, me: usize, on_fast_path: bool, nanos: u64) {
    if !on_fast_path {
        trial.scheduler.worker_table.set(me, WorkerState::Engaged);
        trial.ask(me, Report::Run { end: None, nanos });
        return;
    }
    trial.scheduler.queue.push(0);
    let Order::Drive(0, claimed) = trial.ask(me, Report::Look { found: true }) else {
        panic!("there was a task")
    };
    trial.ask(me, Report::Drive { claimed, tasks: 1, last: Some(End::Completed), nanos });
}

#[test]
fn what_a_task_takes_several_workers_is_compared_with_what_it_takes_one() {
    for on_fast_path in [true, false] {
        let useful = |nanos| {
            let mut trial = Trial::new(3, 0);
            let me = trial.scheduler.worker_table.add(WorkerState::Called);
            report(&mut trial, me, on_fast_path, 1_000);
            trial.scheduler.worker_table.add(WorkerState::Engaged);
            (0..ENOUGH).for_each(|_| report(&mut trial, me, on_fast_path, nanos));
            trial.scheduler.task_times.useful(8)
        };
        assert_eq!((useful(1_790), useful(1_810)), (8, 1));
    }
}

#[test]
fn the_monitoring_worker_tries_after_a_while_whether_it_is_of_use_now() {
    let (mut trial, _, mut claimed, second) = Trial::with_monitor();
    (0..ENOUGH).for_each(|_| trial.scheduler.task_times.note(1, 2_000, 2));
    (0..200).for_each(|job| assert_eq!(trial.submit(job), 0));
    let mut looks = 0..1_000;
    let helps = looks.position(|job| {
        trial.submit(job);
        assert!(claimed.next(&trial.fast_path, true).is_ok(), "the line moves");
        matches!(trial.ask(second, Report::Rest { expired: false }), Order::Drive(..))
    });
    assert_eq!(helps, Some(63), "it has looked 64 times");
}
