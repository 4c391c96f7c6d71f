//! Calls: who is woken or started for the tasks in the queue, and how many.

use super::Trial;
use crate::engine::scheduler::core::{Actions, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::wait::this_thread;

/// How many workers are called for all that is in the queue.
fn call_all(trial: &mut Trial) -> usize {
    let mut actions = Actions::default();
    trial.scheduler.call_for_help(&mut actions);
    actions.call.len() + actions.start.len()
}

/// A scheduler with one idle worker.
fn with_idle(capacity: usize) -> Trial {
    let mut trial = Trial::new(capacity, 0);
    let me = trial.scheduler.worker_table.add(WorkerState::Called);
    trial.scheduler.worker_table.worker(me).waker = Some(this_thread());
    trial.scheduler.worker_table.push_idle(me);
    trial
}

/// A scheduler of two drivers that may drive one task. One of them is idle, the other has this state.
fn drivers(other: WorkerState) -> Trial {
    let mut trial = with_idle(1);
    trial.scheduler.worker_kind = WorkerKind::Drivers(2);
    trial.scheduler.worker_table.add(other);
    trial
}

#[test]
fn a_larger_capacity_calls_a_worker_for_each_task_in_the_line() {
    let called = |tasks: u32| {
        let mut trial = with_idle(4);
        trial.scheduler.worker_table.add(WorkerState::Engaged);
        trial.scheduler.queue.push(0);
        trial.scheduler.queue.pop();
        (0..tasks).for_each(|job| trial.scheduler.queue.push(job));
        call_all(&mut trial)
    };
    assert_eq!((called(0), called(2), called(9)), (0, 2, 3));
}

#[test]
fn an_idle_worker_is_not_called_above_the_capacity() {
    let mut trial = with_idle(2);
    trial.scheduler.worker_table.add(WorkerState::Engaged);
    trial.scheduler.worker_table.add(WorkerState::Called);
    (0..3).for_each(|job| trial.scheduler.queue.push(job));
    assert_eq!((trial.submit(3), call_all(&mut trial)), (0, 0));
}

#[test]
fn no_driver_is_called_for_a_task_that_may_not_begin() {
    let mut trial = drivers(WorkerState::Engaged);
    trial.scheduler.queue.fast_path.begin_driven(1);
    assert_eq!((trial.submit(0), call_all(&mut trial)), (0, 0));
    trial.scheduler.queue.fast_path.end_driven();
    assert_eq!(trial.submit(1), 1);
}

#[test]
fn one_driver_on_its_way_is_enough() {
    let mut trial = drivers(WorkerState::Called);
    assert_eq!((trial.submit(0), trial.submit(1), call_all(&mut trial)), (0, 0, 0));
    let mut trial = drivers(WorkerState::Engaged);
    (0..2).for_each(|job| trial.scheduler.queue.push(job));
    assert_eq!(call_all(&mut trial), 1);
}
