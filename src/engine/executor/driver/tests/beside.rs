//! Futures that begin beside others.

use std::sync::Mutex;

use super::*;
use crate::engine::context::Lender;
use crate::engine::context::current_waits;
use crate::engine::executor::polling::forget_waits;
use crate::engine::waits::Waits;

/// An engine with a driver, and with so many tasks that are driven and queued.
fn at_work(capacity: usize, driven: usize, queued: usize) -> (Arc<Engine<ByHand>>, Driver<ByHand>) {
    let engine = engine(1, capacity);
    let driver = driver(&engine);
    engine.fast_path.begin_driven(driven);
    (0..queued).for_each(|_| drop(push(&engine, 1)));
    (engine, driver)
}

fn driven_and_queued(engine: &Engine<ByHand>) -> (usize, usize) {
    let scheduler = engine.lock();
    (scheduler.queue.fast_path.driven(), scheduler.queue.queued())
}

/// What came of looking for the next one.
/// So many futures that wait are begun with, beside what the driver polls. How many that were.
fn begin_beside(driver: &Driver<ByHand>, most: usize) -> Option<usize> {
    let _polls = Polls::cells_of(&driver.owner, driver.me);
    driver.engine.begin_beside(most, || Cell::new(future(|_| Poll::Pending)))
}

#[test]
fn as_many_begin_beside_another_as_there_are_places() {
    let (engine, mut driver) = at_work(100, 0, 0);
    let accepted = || engine.stats().accepted;
    assert_eq!((begin_beside(&driver, 40), accepted()), (Some(40), 40));
    assert_eq!(driven_and_queued(&engine), (40, 0));
    while turn(&mut driver) == Turn::Yield {}
    assert_eq!(driver.poll_stats().polls(), 40, "each was polled once");
    assert_eq!((begin_beside(&driver, 99), accepted()), (Some(60), 100));
    assert_eq!((begin_beside(&driver, 1), accepted()), (Some(0), 100));
    engine.resize(|limits| limits.capacity = 200);
    assert_eq!(begin_beside(&driver, 1), Some(1));
    engine.close();
    assert_eq!(begin_beside(&driver, 1), Some(0), "nothing begins in a closed pool");
}

#[test]
fn nobody_begins_before_those_in_the_line() {
    let (engine, mut driver) = at_work(9, 1, 1);
    assert_eq!(begin_beside(&driver, 3), None);
    assert_eq!(driven_and_queued(&engine), (1, 1));
    assert_eq!(turn(&mut driver), Turn::Sleep);
    assert_eq!(begin_beside(&driver, 3), Some(3));
}

#[test]
fn only_a_driver_of_the_pool_begins_with_more() {
    let (engine, _driver) = at_work(9, 1, 0);
    let cell = || -> Arc<dyn Runnable> { unreachable!("nobody would poll it") };
    assert_eq!(engine.begin_beside(3, cell), None, "no driver polls here");
    let (_, others) = at_work(9, 1, 0);
    let _polls = Polls::cells_of(&others.owner, others.me);
    assert_eq!(engine.begin_beside(3, cell), None, "one of another pool does");
    assert_eq!(driven_and_queued(&engine), (1, 0));
}

#[test]
fn all_drivers_are_there_when_one_begins_with_more() {
    let engine = engine(3, 10);
    let first = driver(&engine);
    assert_eq!(engine.lock().worker_table.workers(), 1);
    assert_eq!(begin_beside(&first, 0), Some(0));
    assert_eq!(engine.lock().worker_table.workers(), 1, "there is nothing to help with");
    assert_eq!(begin_beside(&first, 2), Some(2));
    assert_eq!(engine.lock().worker_table.workers(), 3);
}

#[test]
fn a_cell_knows_what_it_waits_for_on_every_driver() {
    let engine = engine(2, 2);
    let (mut helper, mut first) = (driver(&engine), driver(&engine));
    let waits: [Arc<Mutex<Vec<Arc<Waits>>>>; 2] = Default::default();
    for waits in &waits {
        let (waits, mut polls) = (Arc::clone(waits), 0);
        let future = future(move |context| {
            let note = || waits.lock().unwrap().extend(current_waits());
            note();
            polls += 1;
            if polls == 2 {
                forget_waits();
                note();
                return Poll::Ready(End::Completed);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        engine.lock().queue.push(Cell::new(future));
    }
    assert_eq!(short_turn(&mut first, 2), Turn::Yield);
    let pool: Arc<dyn Lender> = Arc::clone(&engine) as _;
    let known: Vec<_> =
        (0..2).map(|index| first.executor().run_queues()[0].waits(index, &pool)).collect();
    assert_eq!(turn(&mut helper), Turn::Sleep);
    for (waits, known) in waits.iter().zip(&known) {
        let waits = waits.lock().unwrap();
        let [first, again, next] = &waits[..] else { panic!("it asked three times") };
        assert!(Arc::ptr_eq(first, known) && Arc::ptr_eq(again, known));
        assert!(!Arc::ptr_eq(next, known), "it has forgotten them");
    }
}

#[test]
fn a_cell_forgets_handles_that_it_polled_in_an_earlier_turn() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    let waits: Arc<Mutex<Vec<Arc<Waits>>>> = Arc::default();
    let (seen, mut polls) = (Arc::clone(&waits), 0);
    let future = future(move |context| {
        polls += 1;
        if polls == 2 {
            forget_waits();
        }
        seen.lock().unwrap().extend(current_waits());
        if polls == 2 {
            return Poll::Ready(End::Completed);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    engine.lock().queue.push(Cell::new(future));
    assert_eq!(short_turn(&mut driver, 1), Turn::Yield);
    assert_eq!(short_turn(&mut driver, 10), Turn::Sleep);
    let waits = waits.lock().unwrap();
    let [first, second] = &waits[..] else { panic!("it asked twice") };
    assert!(!Arc::ptr_eq(first, second));
}
