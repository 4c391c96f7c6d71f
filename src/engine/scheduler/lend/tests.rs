//! What is lent, and to whom.

use super::*;
use crate::engine::queue::fast_path::FastPath;
use crate::engine::scheduler::core::Limits;
use crate::engine::sync::Arc as Shared;

/// A queued task that another one waits for.
struct Task;

impl Queued<u32> for Task {
    fn claim(self: Arc<Self>) -> Result<u32, Arc<dyn Release>> {
        Ok(7)
    }

    fn is_awaited(&self) -> bool {
        true
    }
}

/// A scheduler with a capacity of one, whose worker runs a task from the fast path. Another task is queued.
fn scheduler() -> Scheduler<u32> {
    let limits = Limits { capacity: 1, queue: 8, ..Limits::default() };
    let mut scheduler =
        Scheduler::new(Shared::new(FastPath::default()), limits, WorkerKind::Threads);
    scheduler.worker_table.add(WorkerState::Engaged);
    (1..=2).for_each(|job| scheduler.queue.push(job));
    assert!(scheduler.queue.open().is_some());
    scheduler
}

#[test]
fn the_fast_path_is_sealed_when_a_task_resumes_whose_place_is_in_use() {
    let (mut scheduler, mut actions) = (scheduler(), Actions::default());
    scheduler.begin_wait(&mut actions);
    scheduler.end_wait(&mut actions);
    assert!(!scheduler.queue.fast_path.tally().is_sealed(), "its place was not used");
    scheduler.begin_wait(&mut actions);
    scheduler.admit_guest(false, || Some(())).expect("a place is lent");
    scheduler.end_wait(&mut actions);
    assert!(scheduler.queue.fast_path.tally().is_sealed() && scheduler.is_over_capacity());
    scheduler.end_out_of_turn(End::Completed, Counts::Guest { within: false }, &mut actions);
    assert!(!scheduler.is_over_capacity());
}

#[test]
fn a_lent_place_is_lent_again_when_its_task_has_ended() {
    let (mut scheduler, mut actions) = (scheduler(), Actions::default());
    let tasks = [Arc::new(Task), Arc::new(Task)];
    for task in &tasks {
        let task: Weak<dyn Queued<u32>> = Arc::downgrade(task) as _;
        scheduler.note_awaited(task, &mut actions);
    }
    assert_eq!(scheduler.take_awaited(&mut actions), None, "no place is lent");
    scheduler.begin_wait(&mut actions);
    assert_eq!(scheduler.take_awaited(&mut actions), Some(7));
    let me = scheduler.worker_table.add(WorkerState::Engaged);
    assert_eq!(scheduler.take_awaited(&mut actions), None, "one at a time");
    scheduler.worker_table.set(me, WorkerState::Asking);
    scheduler.end_out_of_turn(End::Completed, Counts::Claimed, &mut actions);
    assert_eq!(scheduler.take_awaited(&mut actions), Some(7));
}

#[test]
fn a_task_in_a_lent_place_whose_owner_has_ended_can_wait_for_another() {
    let (mut scheduler, mut actions) = (scheduler(), Actions::default());
    let task = Arc::new(Task);
    let listed: Weak<dyn Queued<u32>> = Arc::downgrade(&task) as _;
    scheduler.note_awaited(listed, &mut actions);
    // The one that runs has a lent place, and nothing lends it any more.
    scheduler.accounting.note_out_of_turn();
    assert_eq!(scheduler.take_awaited(&mut actions), None, "it runs");
    scheduler.begin_wait(&mut actions);
    assert_eq!(scheduler.take_awaited(&mut actions), Some(7));
}
