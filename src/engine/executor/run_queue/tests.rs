mod each;
mod one;

use std::task::Poll;

use super::*;
use crate::engine::executor::cell::{self, Cell, Polled, TaskFuture};
use crate::engine::executor::polling::Polls;
use crate::engine::scheduler::accounting::End;
use crate::engine::tests::stubs::{Bell, engine, future};
use crate::on_cancel::Cancels;

/// A pool whose tasks stand on the run queues.
fn pool() -> Arc<dyn Lender> {
    engine(1, 1)
}

/// A future that waits for ever.
fn waits() -> impl TaskFuture {
    future(|_| Poll::Pending)
}

/// Three drivers that are up.
struct Trial {
    executor: Executor,
    bells: Vec<Arc<Bell>>,
}

impl Trial {
    fn new() -> Self {
        Trial::on(Executor::new(3))
    }

    fn on(executor: Executor) -> Self {
        let bells = (0..3).map(|_| Arc::default()).collect();
        assert_eq!(executor.drivers(), 3);
        let trial = Trial { executor, bells };
        (0..3).for_each(|driver| assert!(trial.rise(driver), "its waker is news"));
        trial
    }

    fn run_queue(&self, driver: usize) -> &Arc<RunQueue> {
        self.executor.run_queue(driver)
    }

    fn rise(&self, driver: usize) -> bool {
        self.run_queue(driver).rise(&Waker::from(Arc::clone(&self.bells[driver])))
    }

    fn sleep(&self, driver: usize) -> bool {
        self.run_queue(driver).sleep(&self.executor)
    }

    /// Gives a driver new cells.
    fn add(&self, driver: usize, count: usize) {
        let mut cells: Vec<Arc<dyn Runnable>> =
            (0..count).map(|_| Cell::new(waits()) as _).collect();
        self.run_queue(driver).add(&mut cells);
    }

    /// Polls everything that is ready for a driver.
    fn poll_all(&self, driver: usize) -> usize {
        let mut polls = 0;
        while let Some(cell) = self.run_queue(driver).next(None) {
            assert_eq!(cell::poll(&cell, &Cancels::default(), |_| End::Panicked), Polled::Waits);
            polls += 1;
        }
        polls
    }

    /// How often each driver was woken.
    fn rung(&self) -> [usize; 3] {
        [0, 1, 2].map(|driver| self.bells[driver].rung())
    }
}

#[test]
fn a_driver_takes_from_all_others() {
    let trial = Trial::new();
    for home in 0..3 {
        assert_eq!(trial.run_queue(home).number(), home);
        for other in (0..3).filter(|other| *other != home) {
            trial.add(home, 1);
            assert!(trial.executor.steal(home).is_none(), "what is its own is not stolen");
            assert!(trial.executor.steal(other).is_some());
        }
    }
}

#[test]
fn a_driver_tells_once_how_it_is_woken() {
    let trial = Trial::new();
    assert!(!trial.rise(0), "that is known");
    assert!(trial.run_queue(0).rise(Waker::noop()));
}

#[test]
fn a_driver_sleeps_unless_something_is_ready() {
    let trial = Trial::new();
    trial.add(0, 1);
    assert!(!trial.sleep(0) && !trial.sleep(1), "a new one is ready");
    assert!(!trial.run_queue(2).others_sleep());
    assert_eq!(trial.poll_all(0), 1);
    trial.run_queue(0).push_ready(0);
    assert!(!trial.sleep(0) && !trial.sleep(1), "one was woken");
    assert!(!trial.run_queue(2).others_sleep());
    trial.run_queue(0).next(None);
    assert!(trial.sleep(1) && trial.run_queue(2).others_sleep());
    assert!(!trial.rise(1) && !trial.run_queue(2).others_sleep());
}

#[test]
fn a_driver_that_sleeps_is_woken_by_its_own() {
    let trial = Trial::new();
    trial.add(1, 1);
    assert_eq!(trial.poll_all(1), 1);
    assert!(trial.sleep(0) && trial.sleep(1));
    trial.run_queue(1).push_ready(0);
    assert_eq!(trial.rung(), [0, 1, 0]);
    trial.run_queue(1).push_ready(0);
    assert_eq!(trial.rung(), [1, 1, 0], "it is up, so another one is called to help");
}

#[test]
fn one_at_a_time_is_called_to_help() {
    let trial = Trial::new();
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.add(0, 1);
    assert_eq!(trial.rung(), [0, 0, 0], "the driver polls the only one itself");
    trial.run_queue(0).next(None);
    trial.add(0, 2);
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0], "the first one still searches");
    trial.run_queue(0).stop_searching();
    assert_eq!(trial.rung(), [0, 1, 0], "nobody had called this one");
    trial.run_queue(1).stop_searching();
    assert_eq!(trial.rung(), [0, 1, 1]);
}

#[test]
fn a_driver_that_was_called_worker_kind_the_search_on_when_it_may_not_sleep() {
    let trial = Trial::new();
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0]);
    assert!(!trial.sleep(1));
    assert_eq!(trial.rung(), [0, 1, 1]);
}

#[test]
fn a_driver_that_was_not_called_has_no_search_to_hand_on() {
    let trial = Trial::new();
    assert!(trial.sleep(2));
    trial.add(0, 1);
    assert!(!trial.sleep(1));
    assert_eq!(trial.rung(), [0, 0, 0]);
}

#[test]
fn a_place_is_used_again_and_has_polled_no_handle() {
    let trial = Trial::new();
    let run_queue = trial.run_queue(0);
    trial.add(0, 2);
    let waits = run_queue.waits(0, &pool());
    assert!(Arc::ptr_eq(&waits, &run_queue.waits(0, &pool())));
    let first = run_queue.next(None).expect("it is ready");
    assert_eq!(first.header().index(), 0);
    let second = run_queue.next(Some(0)).expect("it is ready");
    assert_eq!(second.header().index(), 1);
    trial.add(0, 1);
    assert_eq!(run_queue.next(None).expect("it is ready").header().index(), 0);
    assert!(!Arc::ptr_eq(&waits, &run_queue.waits(0, &pool())));
    run_queue.remove(&first);
    assert!(lock(&run_queue.state).cells[0].is_some(), "the place is another's");
    run_queue.remove(&second);
    assert!(lock(&run_queue.state).cells[1].is_none());
}

#[test]
fn what_each_cell_waits_for_is_forgotten_by_itself() {
    let trial = Trial::new();
    let run_queue = trial.run_queue(0);
    assert!(run_queue.forget_waits(0).is_none(), "there is none");
    let waits = [0, 1].map(|index| run_queue.waits(index, &pool()));
    for (index, its) in (0..).zip(&waits) {
        assert!(
            run_queue.forget_waits(index).is_some_and(|forgotten| Arc::ptr_eq(&forgotten, its))
        );
        assert!(run_queue.forget_waits(index).is_none());
    }
    assert!(!Arc::ptr_eq(&waits[1], &run_queue.waits(1, &pool())));
}

#[test]
fn an_empty_run_queue_gives_its_memory_back_if_it_was_long() {
    for (count, kept) in [(1024, 1024), (1025, 0)] {
        let trial = Trial::new();
        trial.add(0, count);
        assert_eq!(trial.poll_all(0), count);
        assert!(trial.sleep(0) && !trial.rise(0));
        assert_eq!(lock(&trial.run_queue(0).state).cells.len(), count, "they wait");
        (0..count).for_each(|index| drop(trial.run_queue(0).next(Some(index as u32))));
        assert!(trial.sleep(0));
        assert_eq!(lock(&trial.run_queue(0).state).cells.len(), kept);
    }
}

#[test]
fn nothing_is_left_of_a_driver_that_is_gone() {
    let trial = Trial::new();
    trial.add(0, 2);
    trial.run_queue(0).clear();
    assert!(trial.run_queue(0).next(None).is_none());
    trial.add(0, 2);
    assert!(trial.rise(0), "the new one is woken by something else");
    assert_eq!(trial.run_queue(0).take_all().len(), 2);
    assert!(trial.run_queue(0).take_all().is_empty());
}

#[test]
fn all_that_wait_are_woken() {
    let trial = Trial::new();
    (0..3).for_each(|driver| trial.add(driver, 2));
    (0..3).for_each(|driver| assert_eq!(trial.poll_all(driver), 2));
    trial.executor.wake_all();
    (0..3).for_each(|driver| assert_eq!(trial.poll_all(driver), 2));
}

#[test]
fn a_cell_that_is_over_is_not_woken() {
    let trial = Trial::new();
    trial.add(0, 1);
    let cell = trial.run_queue(0).next(None).expect("it is ready");
    assert_eq!(cell::poll(&cell, &Cancels::default(), |_| End::Panicked), Polled::Waits);
    assert_eq!(cell::abandon(&cell), End::Cancelled);
    cell.header().wake();
    assert!(lock(&trial.run_queue(0).wake_queue).woken.is_empty());
}

#[test]
fn a_cell_that_leaves_goes_back_to_its_free_list() {
    let (trial, free_list) = (Trial::new(), Arc::default());
    trial.run_queue(0).add(&mut vec![Cell::from_free_list(&free_list, waits())]);
    drop(trial.run_queue(0).next(None));
    assert!(lock(&free_list).is_empty());
    drop(trial.run_queue(0).next(Some(0)));
    assert_eq!(lock(&free_list).len(), 1);
}

#[test]
fn a_cell_that_ends_away_from_its_driver_is_not_kept_for_it() {
    for (driver, one, kept) in [(0, true, 1), (1, true, 0), (1, false, 1)] {
        let (executor, free_list) = (Arc::new(Executor::new(2)), Arc::default());
        let ends = future(|_| Poll::Ready(End::Completed));
        executor.run_queue(0).add(&mut vec![Cell::from_free_list(&free_list, ends)]);
        executor.set_one(one);
        let _polls = Polls::cells_of(&executor, driver);
        let cell = executor.run_queue(0).next(None).expect("it is ready");
        assert_eq!(
            cell::poll(&cell, &Cancels::default(), |_| End::Panicked),
            Polled::Ended(End::Completed)
        );
        executor.run_queue(0).remove(&cell);
        assert_eq!(lock(&free_list).len(), kept, "by driver {driver}, one: {one}");
    }
}

#[test]
fn a_waker_may_be_kept_or_used_up() {
    let (trial, cell) = (Trial::new(), Cell::new(waits()));
    trial.run_queue(0).add(&mut vec![Arc::clone(&cell) as _]);
    assert_eq!(trial.poll_all(0), 1);
    Waker::from(cell).wake();
    assert_eq!(trial.poll_all(0), 1);
    trial.executor.wake_all();
    assert_eq!(trial.poll_all(0), 1);
}
