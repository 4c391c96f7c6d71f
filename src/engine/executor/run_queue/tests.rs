use std::future::{Pending, pending};
use std::panic::Location;
use std::sync::Weak;
use std::task::Waker;

use super::*;
use crate::engine::executor::cell::{Cell, FreeList};
use crate::engine::executor::{DriverThreads, Executor};
use crate::engine::scheduler::accounting::End;
use crate::engine::tests::stubs::{Bell, run};

/// A future that waits for ever.
type Waits = Pending<()>;

fn waits() -> Arc<Cell<Waits>> {
    Cell::new(pending(), Location::caller())
}

/// As before, in a cell that is used again.
fn waits_again(free_list: &Arc<FreeList<Waits>>) -> Arc<Cell<Waits>> {
    Cell::from_free_list(free_list, pending(), Location::caller())
}

/// Three drivers that are up.
struct Trial {
    executor: Arc<Executor>,
    owners: Vec<Arc<Owner>>,
    bells: Vec<Arc<Bell>>,
}

impl Trial {
    fn new(threads: DriverThreads) -> Self {
        let executor = Executor::new(3, threads);
        let owner = |driver| Owner::of(&executor, driver);
        let owners = (0..3).map(owner).collect();
        let trial = Trial { executor, owners, bells: (0..3).map(|_| Arc::default()).collect() };
        (0..3).for_each(|driver| trial.executor.rise(driver));
        trial
    }

    fn run_queue(&self, driver: usize) -> &RunQueue {
        self.executor.own(driver)
    }

    /// Lets these drivers sleep.
    #[track_caller]
    fn sleep<const COUNT: usize>(&self, drivers: [usize; COUNT]) {
        drivers.into_iter().for_each(|driver| assert!(self.goes_to_sleep(driver)));
    }

    fn goes_to_sleep(&self, driver: usize) -> bool {
        self.executor.sleep(driver, &Waker::from(Arc::clone(&self.bells[driver])))
    }

    /// Whether a driver may sleep. It is up again after that.
    fn sleeps(&self, driver: usize) -> bool {
        let sleeps = self.goes_to_sleep(driver);
        self.executor.rise(driver);
        assert!(!self.executor.is_notified(driver));
        sleeps
    }

    /// Gives a driver new cells.
    fn add(&self, driver: usize, count: usize) {
        let mut cells: Vec<Arc<dyn Runnable>> = (0..count).map(|_| waits() as _).collect();
        self.executor.add(&self.owners[driver], &mut cells);
    }

    /// Takes what a driver takes next.
    fn next(&self, driver: usize) -> Option<Arc<dyn Runnable>> {
        self.executor.next(driver, false)
    }

    /// A notified driver looks for something ready.
    fn look(&self, driver: usize) -> Option<Arc<dyn Runnable>> {
        self.executor.rise(driver);
        self.next(driver)
    }

    /// Polls everything that is ready for a driver.
    fn poll_all(&self, driver: usize) -> usize {
        let polled = std::iter::from_fn(|| self.next(driver)).map(run);
        polled.inspect(|polled| assert_eq!(*polled, None)).count()
    }

    fn remove(&self, cell: Arc<dyn Runnable>) {
        self.executor.remove(&mut vec![cell]);
    }

    /// How often each driver was woken.
    fn rung(&self) -> [usize; 3] {
        [0, 1, 2].map(|driver| self.bells[driver].rung())
    }
}

#[test]
fn a_driver_sleeps_unless_something_is_ready() {
    for threads in [DriverThreads::Shared, DriverThreads::Own] {
        let trial = Trial::new(threads);
        trial.add(0, 1);
        assert!(!trial.sleeps(0) && !trial.sleeps(1), "a new one is ready");
        assert_eq!(trial.poll_all(1), 1);
        trial.executor.push_ready(0, 0);
        assert!(!trial.sleeps(0) && !trial.sleeps(1), "one was woken");
        assert!(!trial.executor.others_sleep() && trial.next(0).is_some());
        trial.sleep([1]);
        assert!(trial.executor.others_sleep());
        trial.executor.rise(1);
        assert!(!trial.executor.others_sleep());
    }
}

#[test]
fn one_driver_is_notified_at_a_time_and_notifies_the_next_when_it_has_found_something() {
    let trial = Trial::new(DriverThreads::Shared);
    trial.sleep([1, 2]);
    trial.add(0, 1);
    assert_eq!(trial.rung(), [0, 0, 0], "the driver polls the only one itself");
    trial.add(0, 1);
    trial.add(0, 1);
    assert_eq!(trial.rung(), [0, 1, 0], "that one has not looked yet");
    assert!(trial.look(1).is_some());
    assert_eq!(trial.rung(), [0, 1, 1]);
    assert_eq!(trial.poll_all(0), 2);
    assert!(trial.look(2).is_none());
    trial.sleep([1, 2]);
    trial.executor.push_ready(0, 0);
    assert_eq!(trial.rung(), [0, 2, 1], "no search is left over");
}

#[test]
fn a_notified_driver_that_leaves_has_another_look() {
    let trial = Trial::new(DriverThreads::Shared);
    trial.sleep([1, 2]);
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0]);
    trial.executor.leave(1);
    assert_eq!(trial.rung(), [0, 1, 1]);
}

#[test]
fn drivers_apart_are_woken_for_their_own_first() {
    let trial = Trial::new(DriverThreads::Own);
    trial.add(1, 1);
    assert_eq!(trial.poll_all(1), 1);
    trial.sleep([0, 1]);
    trial.executor.push_ready(1, 0);
    assert_eq!(trial.rung(), [0, 1, 0]);
    trial.executor.push_ready(1, 0);
    assert_eq!(trial.rung(), [0, 1, 0], "it has not looked yet");
    assert!(trial.look(1).is_some());
    assert_eq!(trial.rung(), [1, 1, 0], "it polls one, and another driver helps");
    assert!(trial.look(0).is_some());
}

#[test]
fn a_driver_apart_takes_from_the_others() {
    let trial = Trial::new(DriverThreads::Own);
    let next = |driver, own_last| {
        let cell = trial.executor.next(driver, own_last)?;
        cell.header().owner().map(|owner| owner.run_queue)
    };
    (0..3).for_each(|driver| trial.add(driver, 3));
    for (own_last, queues) in [(false, [0, 1, 2]), (true, [1, 2, 0])] {
        assert_eq!([0, 1, 2].map(|driver| next(driver, own_last)), queues.map(Some));
    }
    assert_eq!([0; 3].map(|driver| next(driver, false)), [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_single_driver_apart_leaves_the_others_alone() {
    let trial = Trial::new(DriverThreads::Own);
    trial.executor.set_single(true);
    trial.add(0, 2);
    trial.sleep([1, 2]);
    assert!(trial.next(1).is_none() && !trial.executor.others_sleep());
    trial.executor.push_ready(0, 0);
    trial.executor.push_ready(2, 0);
    trial.executor.push_ready(1, 0);
    assert_eq!(trial.rung(), [0, 1, 1], "the first one is up");
    assert!(trial.look(1).is_none() && trial.look(2).is_none(), "they are not there any more");
    trial.sleep([1, 2]);
    trial.executor.set_single(false);
    assert_eq!(trial.rung(), [0, 2, 1], "now it may be helped");
    assert!(trial.look(1).is_some());
}

#[test]
fn a_single_driver_polls_all() {
    let trial = Trial::new(DriverThreads::Shared);
    trial.executor.set_single(true);
    trial.add(0, 3);
    assert!([0, 1, 2].iter().all(|driver| trial.executor.is_spare(*driver)));
    trial.sleep([1, 2]);
    assert!(!trial.executor.is_spare(0) && !trial.sleeps(0), "no other one is up");
    trial.executor.push_ready(0, 0);
    assert_eq!(trial.rung(), [0, 0, 0]);
    assert_eq!(trial.poll_all(0), 4);
    trial.sleep([0]);
    trial.executor.push_ready(0, 0);
    trial.executor.push_ready(0, 1);
    assert_eq!(trial.rung(), [1, 0, 0]);
    trial.executor.set_single(false);
    assert_eq!(trial.rung(), [1, 0, 0], "one was notified, and calls the next");
    assert!(trial.look(0).is_some());
    assert_eq!(trial.rung(), [1, 1, 0]);
}

#[test]
fn a_driver_is_called_when_the_single_one_may_be_stuck() {
    let trial = Trial::new(DriverThreads::Shared);
    trial.executor.set_single(true);
    trial.sleep([1, 2]);
    trial.executor.set_single(false);
    assert_eq!(trial.rung(), [0, 1, 0], "also if nothing is ready: for the sake of timers");
}

#[test]
fn a_place_is_used_again() {
    let trial = Trial::new(DriverThreads::Shared);
    let run_queue = trial.run_queue(0);
    trial.add(0, 2);
    let [first, second] = [0, 1].map(|_| trial.next(0).expect("it is ready"));
    assert_eq!((first.header().index(), second.header().index()), (0, 1));
    trial.remove(Arc::clone(&first));
    trial.add(0, 1);
    assert_eq!(trial.next(0).expect("it is ready").header().index(), 0);
    trial.remove(first);
    assert!(lock(&run_queue.state).cells[0].is_some(), "the place is another's");
    trial.remove(second);
    assert!(lock(&run_queue.state).cells[1].is_none());
}

#[test]
fn an_empty_run_queue_gives_its_memory_back_if_it_was_long() {
    for (count, kept) in [(KEPT_CELLS, KEPT_CELLS), (KEPT_CELLS + 1, 0)] {
        let trial = Trial::new(DriverThreads::Own);
        trial.add(0, count);
        assert_eq!(trial.poll_all(0), count);
        let length = || lock(&trial.run_queue(0).state).cells.len();
        assert_eq!(length(), count, "they wait");
        trial.run_queue(0).cells().into_iter().for_each(|cell| trial.remove(cell));
        assert_eq!(length(), kept);
    }
}

#[test]
fn nothing_is_left_of_a_driver_that_is_lost() {
    let trial = Trial::new(DriverThreads::Own);
    trial.add(0, 2);
    assert_eq!(trial.executor.lose(0).len(), 2);
    assert!(trial.next(0).is_none() && trial.executor.lose(1).is_empty());
}

#[test]
fn all_that_wait_are_woken() {
    let trial = Trial::new(DriverThreads::Own);
    trial.executor.set_single(true);
    (0..3).for_each(|driver| trial.add(driver, 2));
    (0..3).for_each(|driver| assert_eq!(trial.poll_all(driver), 2));
    trial.executor.wake_all();
    (0..3).for_each(|driver| assert_eq!(trial.poll_all(driver), 2));
}

#[test]
fn a_cell_that_is_over_is_not_woken() {
    let trial = Trial::new(DriverThreads::Shared);
    trial.add(0, 1);
    let cell = trial.next(0).expect("it is ready");
    assert_eq!(run(Arc::clone(&cell)), None);
    assert_eq!(cell.abandon(), End::Cancelled);
    cell.header().wake();
    assert!(!trial.run_queue(0).has_ready());
}

#[test]
fn a_cell_that_leaves_goes_back_to_its_free_list() {
    let (trial, free_list) = (Trial::new(DriverThreads::Shared), Arc::default());
    trial.executor.add(&trial.owners[0], &mut vec![waits_again(&free_list)]);
    let cell = trial.next(0).expect("it is ready");
    assert!(lock(&free_list).is_empty());
    trial.remove(cell);
    assert_eq!(lock(&free_list).len(), 1);
}

#[test]
fn a_cell_whose_waker_is_kept_is_not_used_again() {
    let (trial, free_list) = (Trial::new(DriverThreads::Shared), Arc::default());
    let cell = waits_again(&free_list);
    trial.executor.add(&trial.owners[0], &mut vec![Arc::clone(&cell) as _]);
    let waker = Waker::from(cell);
    trial.remove(trial.next(0).expect("it is ready"));
    assert!(lock(&free_list).is_empty(), "it would wake the next future");
    drop(waker);
}

#[test]
fn a_cell_that_has_ended_and_is_lost_is_not_used_again() {
    let (trial, free_list) = (Trial::new(DriverThreads::Shared), Arc::default());
    trial.executor.add(&trial.owners[0], &mut vec![waits_again(&free_list)]);
    let cell = trial.next(0).expect("it is ready");
    assert_eq!(cell.abandon(), End::Cancelled);
    let lost = trial.executor.lose(1);
    trial.remove(cell);
    assert!(lock(&free_list).is_empty(), "the thread that has lost it may give it up only now");
    assert_eq!(lost.len(), 1);
}

#[test]
fn a_cell_that_leaves_is_kept_until_its_driver_sleeps_or_goes() {
    for gone in [false, true] {
        let trial = Trial::new(DriverThreads::Shared);
        trial.add(0, 32);
        let cells: Vec<_> = std::iter::from_fn(|| trial.next(0)).collect();
        let left: Vec<_> = cells.iter().map(Arc::downgrade).collect();
        cells.into_iter().for_each(|cell| trial.remove(cell));
        assert!(left.iter().all(|cell| cell.strong_count() == 1));
        match gone {
            false => trial.sleep([0]),
            true => trial.executor.leave(0),
        }
        let kept = left.iter().filter(|cell| cell.strong_count() > 0).count();
        assert_eq!(kept, 0);
    }
}

#[test]
fn a_waker_may_be_kept_or_used_up() {
    let (trial, cell) = (Trial::new(DriverThreads::Shared), waits());
    trial.executor.add(&trial.owners[0], &mut vec![Arc::clone(&cell) as _]);
    assert_eq!(trial.poll_all(0), 1);
    Waker::from(cell).wake();
    assert_eq!(trial.poll_all(0), 1);
    trial.executor.wake_all();
    assert_eq!(trial.poll_all(0), 1);
}

fn kept(deferred_frees: &DeferredFrees, count: usize) -> Vec<Weak<dyn Runnable>> {
    let keep = |_| {
        let cell: Arc<dyn Runnable> = waits();
        let weak = Arc::downgrade(&cell);
        deferred_frees.keep(std::iter::once(cell));
        weak
    };
    (0..count).map(keep).collect()
}

fn left(cells: &[Weak<dyn Runnable>]) -> usize {
    cells.iter().filter(|cell| cell.strong_count() > 0).count()
}

#[test]
fn a_submitter_frees_what_is_worth_it() {
    let deferred_frees = DeferredFrees::default();
    let few = kept(&deferred_frees, SOME_FREES - 1);
    deferred_frees.free_some();
    assert_eq!(left(&few), SOME_FREES - 1);
    let more = kept(&deferred_frees, 1);
    deferred_frees.free_some();
    assert_eq!(left(&few) + left(&more), 0);
}

#[test]
fn not_more_than_so_many_are_kept() {
    let deferred_frees = DeferredFrees::default();
    let cells = kept(&deferred_frees, MOST_FREES + 10);
    assert_eq!(left(&cells), 9);
    deferred_frees.free();
    assert_eq!(left(&cells), 0);
}
