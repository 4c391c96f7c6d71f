//! One driver that is up is enough: who is up, who steps back, and who is woken then.

use super::*;

impl Trial {
    fn up(&self) -> usize {
        self.executor.others.up.load(Ordering::Relaxed)
    }

    fn sleeping(&self) -> usize {
        self.executor.others.sleeping.load(Ordering::Relaxed)
    }

    fn step_back(&self, driver: usize) -> bool {
        self.run_queue(driver).step_back(&self.executor)
    }
}

#[test]
fn it_is_known_how_many_are_up() {
    let trial = Trial::new();
    assert_eq!((trial.up(), trial.rise(0), trial.up()), (3, false, 3), "each counts once");
    assert!(trial.sleep(0) && trial.sleep(1));
    assert_eq!((trial.up(), trial.executor.is_up()), (1, true));
    trial.run_queue(1).push_ready(0);
    assert_eq!((trial.rung(), trial.up()), ([0, 1, 0], 2), "whoever is woken is up");
    trial.add(2, 2);
    assert_eq!((trial.rung(), trial.up()), ([1, 1, 0], 3), "and whoever is called to help");
    (0..2).for_each(|_| trial.run_queue(1).leave());
    assert_eq!(trial.up(), 2);
    trial.run_queue(2).take_all();
    assert_eq!((trial.up(), trial.executor.is_up()), (1, true));
    trial.run_queue(0).clear();
    assert_eq!((trial.up(), trial.executor.is_up()), (0, false));
    assert!(trial.rise(0), "it is another driver now");
    assert_eq!(trial.up(), 1);
}

#[test]
fn a_driver_that_leaves_worker_kind_the_search_on() {
    let trial = Trial::new();
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0]);
    trial.run_queue(1).leave();
    assert_eq!(trial.rung(), [0, 1, 1]);
}

#[test]
fn the_first_driver_goes_on() {
    let trial = Trial::new();
    trial.executor.set_one(true);
    let spare = |trial: &Trial| [0, 1, 2].map(|driver| trial.run_queue(driver).is_spare());
    assert_eq!(spare(&trial), [false, true, true]);
    assert!(trial.step_back(1) && trial.step_back(2));
    assert_eq!(spare(&trial), [false; 3], "it is the only one that is up");
}

#[test]
fn drivers_step_back_until_one_is_left() {
    let trial = Trial::new();
    assert!(!trial.run_queue(1).is_spare(), "everybody helps");
    trial.executor.set_one(true);
    trial.add(0, 2);
    for driver in [1, 2] {
        assert!(trial.run_queue(driver).is_spare() && trial.step_back(driver));
        assert_eq!((trial.up(), trial.sleeping()), (3 - driver, driver));
    }
    assert!(!trial.run_queue(0).is_spare() && !trial.run_queue(0).others_sleep());
    assert!(!trial.step_back(0), "nobody else is up, and something is ready");
    assert_eq!((trial.up(), trial.sleeping()), (1, 2));
    assert_eq!(trial.poll_all(0), 2);
    assert!(trial.step_back(0));
    assert_eq!((trial.up(), trial.rung()), (0, [0, 0, 0]));
}

#[test]
fn nobody_is_woken_while_one_is_enough_and_up() {
    let trial = Trial::new();
    trial.executor.set_one(true);
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.add(0, 2);
    assert_eq!(trial.poll_all(0), 2);
    trial.run_queue(0).push_ready(0);
    trial.run_queue(1).push_ready(0);
    assert_eq!(trial.rung(), [0, 0, 0]);
    assert_eq!(trial.poll_all(0), 1);
    trial.run_queue(1).next(None);
    assert!(trial.sleep(0));
    trial.run_queue(1).push_ready(0);
    assert_eq!(trial.rung(), [0, 1, 0], "nobody was up");
    trial.run_queue(2).push_ready(0);
    assert_eq!(trial.rung(), [0, 1, 0], "now there is one");
}

#[test]
fn those_that_are_needed_are_woken_when_everybody_helps_again() {
    let trial = Trial::new();
    trial.executor.set_one(true);
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.run_queue(2).push_ready(0);
    assert!(!trial.run_queue(0).others_sleep(), "nobody that would have to help");
    trial.executor.set_one(true);
    assert_eq!(trial.rung(), [0, 0, 0]);
    trial.executor.set_one(false);
    assert_eq!(trial.rung(), [0, 0, 1], "the others have nothing that is ready");
    assert!(trial.run_queue(0).others_sleep());
}

#[test]
fn a_driver_that_was_called_and_steps_back_does_not_search() {
    let trial = Trial::new();
    assert!(trial.sleep(1));
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0]);
    trial.executor.set_one(true);
    assert!(trial.step_back(1));
    trial.executor.set_one(false);
    assert_eq!(trial.rung(), [0, 2, 0], "it is called anew");
}

#[test]
fn a_driver_does_not_step_back_when_everybody_is_to_help() {
    let trial = Trial::new();
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0]);
    assert!(!trial.step_back(1), "something is ready");
    assert_eq!((trial.rung(), trial.up()), ([0, 1, 1], 3), "the search is handed on");
    assert!(!trial.step_back(0), "also if it is its own");
}

#[test]
fn a_driver_that_was_not_called_and_may_not_step_back_calls_nobody() {
    let trial = Trial::new();
    assert!(trial.sleep(2));
    trial.add(0, 1);
    assert!(!trial.step_back(1));
    assert_eq!(trial.rung(), [0, 0, 0]);
}

#[test]
fn a_executor_is_for_one_if_there_is_one_or_one_is_enough() {
    let (single, trial) = (Executor::new(1), Trial::new());
    assert!(single.is_for_one() && !trial.executor.is_for_one());
    trial.executor.set_one(true);
    assert!(trial.executor.is_for_one());
}

#[test]
fn what_is_left_of_a_cell_is_kept_until_it_is_freed() {
    let trial = Trial::new();
    let (run_queue, deferred_frees) = (trial.run_queue(0), &trial.executor.others.deferred_frees);
    trial.add(0, 3);
    let cells: Vec<_> = std::iter::from_fn(|| run_queue.next(None)).collect();
    let left: Vec<_> = cells.iter().map(Arc::downgrade).collect();
    let [_, second, _] = &cells[..] else { panic!("there are three") };
    run_queue.next(Some(0));
    run_queue.remove(second);
    run_queue.retire(2);
    drop(cells);
    assert!(left.iter().all(|cell| cell.strong_count() == 1));
    assert!(trial.sleep(0) && !trial.rise(0));
    assert!(left.iter().all(|cell| cell.strong_count() == 1), "so few are not worth it");
    deferred_frees.free();
    assert!(left.iter().all(|cell| cell.strong_count() == 0));
}

#[test]
fn a_driver_without_futures_frees_what_is_left_before_it_sleeps() {
    let trial = Trial::new();
    let run_queue = trial.run_queue(0);
    trial.add(0, 100);
    let left: Vec<_> =
        std::iter::from_fn(|| run_queue.next(None)).map(|cell| Arc::downgrade(&cell)).collect();
    (0..99).for_each(|index| run_queue.retire(index));
    assert!(trial.sleep(0) && !trial.rise(0));
    assert!(left.iter().all(|cell| cell.strong_count() == 1), "it has more to do");
    run_queue.retire(99);
    assert!(trial.sleep(0));
    assert!(left.iter().all(|cell| cell.strong_count() == 0));
}
