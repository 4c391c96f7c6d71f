//! What goes on in the place of a task that has completed.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;

use super::*;
use crate::engine::Ended;
use crate::engine::context::current_waits;
use crate::engine::executor::polling::forget_waits;
use crate::engine::scheduler::lend::Lender;
use crate::engine::task::waits::Waits;

/// An engine with a driver, and with so many tasks that are driven and queued.
fn at_work(capacity: usize, driven: usize, queued: usize) -> (Arc<Engine<ByHand>>, Driver<ByHand>) {
    let engine = engine(1, capacity);
    let driver = driver(&engine);
    engine.lane.begin_driven(driven);
    (0..queued).for_each(|_| drop(push(&engine, 1)));
    (engine, driver)
}

fn driven_and_queued(engine: &Engine<ByHand>) -> (usize, usize) {
    let crew = engine.lock();
    (crew.line.driven(), crew.line.queued())
}

/// What came of looking for the next one.
fn next(engine: &Arc<Engine<ByHand>>, driver: &Driver<ByHand>) -> Option<End> {
    engine.next_in_place(&driver.list).err()
}

#[test]
fn what_nobody_waits_for_is_counted_by_its_driver() {
    let (engine, driver) = at_work(2, 2, 0);
    assert_eq!(next(&engine, &driver), Some(End::Completed));
    assert_eq!(driven_and_queued(&engine), (2, 0), "nothing is counted yet");
}

#[test]
fn whoever_waits_for_the_end_is_told_by_the_last_task() {
    let (engine, driver) = at_work(2, 2, 0);
    let mut end = pin!(engine.until(Ended::Tasks));
    let mut context = Context::from_waker(Waker::noop());
    assert!(end.as_mut().poll(&mut context).is_pending());
    assert_eq!(next(&engine, &driver), Some(End::Counted));
    assert!(end.as_mut().poll(&mut context).is_pending(), "there is one left");
    assert_eq!(next(&engine, &driver), Some(End::Counted));
    assert_eq!(driven_and_queued(&engine), (0, 0));
    assert!(end.as_mut().poll(&mut context).is_ready());
}

#[test]
fn whoever_waits_for_a_place_gets_that_of_what_has_ended() {
    let (engine, driver) = at_work(1, 1, 100);
    engine.lock().limits.queue = 0;
    let mut entering = pin!(engine.admit_async());
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..100 {
        assert!(entering.as_mut().poll(&mut context).is_pending(), "others are before it");
        assert_eq!(next(&engine, &driver), None);
    }
    assert!(entering.as_mut().poll(&mut context).is_pending());
    assert_eq!(next(&engine, &driver), Some(End::Counted));
    assert!(entering.as_mut().poll(&mut context).is_ready());
}

#[test]
fn a_waiting_submitter_is_let_in_at_once() {
    for sleeps in [true, false] {
        let engine = engine(2, 1);
        let (first, mut second) = (driver(&engine), driver(&engine));
        if sleeps {
            assert_eq!(turn(&mut second), Turn::Sleep);
        }
        engine.lane.begin_driven(1);
        (0..100).for_each(|_| drop(push(&engine, 1)));
        let mut entering = pin!(engine.admit_async());
        let mut context = Context::from_waker(Waker::noop());
        assert!(entering.as_mut().poll(&mut context).is_pending());
        assert_eq!(next(&engine, &first), None);
        assert!(entering.as_mut().poll(&mut context).is_ready(), "one place is free");
    }
}

#[test]
fn the_next_one_has_the_place_of_what_has_ended() {
    let (engine, driver) = at_work(2, 2, 3);
    for left in [2, 1, 0] {
        assert_eq!(next(&engine, &driver), None);
        assert_eq!(driven_and_queued(&engine), (2, left));
    }
    assert_eq!(next(&engine, &driver), Some(End::Completed));
}

#[test]
fn a_place_that_a_smaller_pool_has_not_is_given_to_nobody() {
    let (engine, driver) = at_work(3, 3, 3);
    engine.resize(1);
    assert_eq!(next(&engine, &driver), Some(End::Counted));
    assert_eq!(next(&engine, &driver), Some(End::Counted));
    assert_eq!(driven_and_queued(&engine), (1, 3));
    assert_eq!(next(&engine, &driver), None);
    assert_eq!(driven_and_queued(&engine), (1, 2));
}

#[test]
fn others_that_sleep_are_called_for_what_is_left() {
    for (queued, rung) in [(2, 1), (1, 0)] {
        let engine = engine(2, 2);
        let (first, mut second) = (driver(&engine), driver(&engine));
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        assert_eq!(second.turn(&Context::from_waker(&waker), || ()), Turn::Sleep);
        engine.lock().roster.set(first.me, Duty::Engaged);
        engine.lane.begin_driven(1);
        (0..queued).for_each(|_| drop(push(&engine, 1)));
        assert_eq!(next(&engine, &first), None);
        assert_eq!(bell.rung(), rung, "{queued} were queued");
    }
}

/// So many futures that wait are begun with, beside what the driver polls. How many that were.
fn begin_beside(driver: &Driver<ByHand>, most: usize) -> Option<usize> {
    let _polls = Polls::cells_of(driver.engine.work().board(), driver.me);
    driver.engine.begin_beside(driver.me, most, |_| Cell::new(errand(|_| Poll::Pending)))
}

#[test]
fn as_many_begin_beside_another_as_there_are_places() {
    let (engine, mut driver) = at_work(100, 0, 0);
    let accepted = || engine.stats().accepted;
    assert_eq!((begin_beside(&driver, 40), accepted()), (Some(40), 40));
    assert_eq!(driven_and_queued(&engine), (40, 0));
    while turn(&mut driver) == Turn::Yield {}
    assert!(driver.list.tempo.has_not_moved(&mut 40), "each was polled once");
    assert_eq!((begin_beside(&driver, 99), accepted()), (Some(60), 100));
    assert_eq!((begin_beside(&driver, 1), accepted()), (Some(0), 100));
    engine.resize(200);
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
    let cell = |_| -> Arc<dyn Runnable> { unreachable!("nobody would poll it") };
    assert_eq!(engine.begin_beside(0, 3, cell), None, "no driver polls here");
    let (_, others) = at_work(9, 1, 0);
    let _polls = Polls::cells_of(others.engine.work().board(), others.me);
    assert_eq!(engine.begin_beside(0, 3, cell), None, "one of another pool does");
    assert_eq!(driven_and_queued(&engine), (1, 0));
}

#[test]
fn all_drivers_are_there_when_one_begins_with_more() {
    let engine = engine(3, 10);
    let first = driver(&engine);
    assert_eq!(engine.lock().roster.workers(), 1);
    assert_eq!(begin_beside(&first, 0), Some(0));
    assert_eq!(engine.lock().roster.workers(), 1, "there is nothing to help with");
    assert_eq!(begin_beside(&first, 2), Some(2));
    assert_eq!(engine.lock().roster.workers(), 3);
}

#[test]
fn more_begin_with_another_driver_if_it_is_there_to_stay() {
    for (duty, stays) in [
        (Duty::Idle, true),
        (Duty::Called, true),
        (Duty::Engaged, true),
        (Duty::Starting, false),
        (Duty::Leaving, false),
        (Duty::Vacant, false),
    ] {
        let engine = engine(2, 9);
        let (first, mut second) = (driver(&engine), driver(&engine));
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        assert_eq!(second.turn(&Context::from_waker(&waker), || ()), Turn::Sleep);
        if duty != Duty::Idle {
            engine.lock().roster.remove_idle(second.me);
            engine.lock().roster.set(second.me, duty);
        }
        let _polls = Polls::cells_of(engine.work().board(), first.me);
        let begin = |most| {
            let mut with = Vec::new();
            let begun = engine.begin_beside(second.me, most, |driver| {
                with.push(driver);
                Cell::new(errand(|_| Poll::Pending)) as _
            });
            assert_eq!(begun, Some(with.len()));
            with
        };
        assert_eq!((begin(0), bell.rung()), (vec![], 0), "nobody is woken for nothing");
        let (whose, rung) = if stays { (second.me, 1) } else { (first.me, 0) };
        assert_eq!(begin(1), [whose], "{duty:?}");
        assert_eq!((bell.rung(), engine.lane.driven()), (rung, 1));
        let cells = [&first, &second].map(|driver| driver.list.has_ready());
        assert_eq!(cells, [!stays, stays]);
        // Dropped as it was: the roster knows better than this test.
        engine.lock().roster.set(second.me, Duty::Engaged);
    }
}

#[test]
fn only_a_driver_goes_on_in_place() {
    let (engine, _driver) = at_work(1, 1, 1);
    assert_eq!(engine.go_on(Ok::<_, Arc<dyn Runnable>>).err(), Some(End::Completed));
    assert_eq!(driven_and_queued(&engine), (1, 1));
}

#[test]
fn a_cell_goes_on_where_it_is_at_home_or_everybody_helps() {
    for (polled_by, one, goes_on) in [(0, true, true), (1, true, false), (1, false, true)] {
        let engine = engine(2, 2);
        let mut drivers = [driver(&engine), driver(&engine)];
        let (its, went_on) = (Arc::clone(&engine), Arc::new(AtomicUsize::new(0)));
        let (seen, mut polls) = (Arc::clone(&went_on), 0);
        let future = errand(move |context| {
            polls += 1;
            if polls == 1 {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            push(&its, 1);
            let next = its.go_on(Ok::<_, Arc<dyn Runnable>>);
            seen.store(1 + usize::from(next.is_ok()), Ordering::Relaxed);
            Poll::Ready(next.err().unwrap_or(End::Counted))
        });
        engine.lock().line.push(Cell::new(future));
        assert_eq!(short_turn(&mut drivers[0], 1), Turn::Yield);
        engine.work.board().set_one(one);
        let _ = short_turn(&mut drivers[polled_by], 1);
        let went_on = went_on.load(Ordering::Relaxed);
        assert_eq!(went_on, 1 + usize::from(goes_on), "polled by {polled_by}, one: {one}");
    }
}

#[test]
fn what_a_cell_cannot_go_on_with_is_begun_beside_it() {
    let engine = engine(2, 1);
    let (mut home, mut helper) = (driver(&engine), driver(&engine));
    let (its, mut polls) = (Arc::clone(&engine), 0);
    let future = errand(move |context| {
        polls += 1;
        if polls == 1 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(its.go_on(Err::<(), _>).expect_err("it does not fit"))
    });
    engine.lock().line.push(Cell::new(future));
    assert_eq!(short_turn(&mut home, 1), Turn::Yield);
    let next = push(&engine, 2);
    assert_eq!(short_turn(&mut helper, 2), Turn::Yield);
    assert_eq!((next.load(Ordering::Relaxed), driven_and_queued(&engine)), (1, (1, 0)));
    assert!(home.list.take_all().is_empty(), "the helper has it");
    assert_eq!(short_turn(&mut helper, 10), Turn::Sleep);
    assert_eq!((next.load(Ordering::Relaxed), driven_and_queued(&engine)), (2, (0, 0)));
}

#[test]
fn somebody_is_called_to_help_with_what_is_begun_beside_a_cell() {
    let engine = engine(2, 1);
    let (mut first, mut second) = (driver(&engine), driver(&engine));
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    assert_eq!(second.turn(&Context::from_waker(&waker), || ()), Turn::Sleep);
    let its = Arc::clone(&engine);
    let future = errand(move |_| {
        push(&its, 1);
        assert_eq!((bell.rung(), its.go_on(Err::<(), _>)), (0, Err(End::Counted)));
        assert_eq!(bell.rung(), 1, "this poll may take long");
        Poll::Ready(End::Counted)
    });
    engine.lock().line.push(Cell::new(future));
    assert_eq!(short_turn(&mut first, 1), Turn::Yield);
    assert_eq!(driven_and_queued(&engine), (1, 0), "nothing has panicked");
}

#[test]
fn a_cell_knows_what_it_waits_for_on_every_driver() {
    let engine = engine(2, 2);
    let (mut helper, mut home) = (driver(&engine), driver(&engine));
    let waits: [Arc<Mutex<Vec<Arc<Waits>>>>; 2] = Default::default();
    for waits in &waits {
        let (waits, mut polls) = (Arc::clone(waits), 0);
        let future = errand(move |context| {
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
        engine.lock().line.push(Cell::new(future));
    }
    assert_eq!(short_turn(&mut home, 2), Turn::Yield);
    let pool: Arc<dyn Lender> = Arc::clone(&engine) as _;
    let at_home: Vec<_> = (0..2).map(|index| home.list.waits(index, &pool)).collect();
    assert_eq!(turn(&mut helper), Turn::Sleep);
    for (waits, at_home) in waits.iter().zip(&at_home) {
        let waits = waits.lock().unwrap();
        let [first, again, next] = &waits[..] else { panic!("it asked three times") };
        assert!(Arc::ptr_eq(first, at_home) && Arc::ptr_eq(again, at_home));
        assert!(!Arc::ptr_eq(next, at_home), "it has forgotten them");
    }
}

#[test]
fn a_cell_forgets_handles_that_it_polled_in_an_earlier_turn() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    let waits: Arc<Mutex<Vec<Arc<Waits>>>> = Arc::default();
    let (seen, mut polls) = (Arc::clone(&waits), 0);
    let future = errand(move |context| {
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
    engine.lock().line.push(Cell::new(future));
    assert_eq!(short_turn(&mut driver, 1), Turn::Yield);
    assert_eq!(short_turn(&mut driver, 10), Turn::Sleep);
    let waits = waits.lock().unwrap();
    let [first, second] = &waits[..] else { panic!("it asked twice") };
    assert!(!Arc::ptr_eq(first, second));
}

#[test]
fn what_goes_on_in_place_has_polled_no_handle() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    let waits: Arc<Mutex<Vec<Arc<Waits>>>> = Arc::default();
    let (its, seen) = (Arc::clone(&engine), Arc::clone(&waits));
    let future = errand(move |_| {
        let note = || seen.lock().unwrap().extend(current_waits());
        (0..2).for_each(|_| note());
        let went_on = its.go_on(|job| {
            drop(job);
            Ok(())
        });
        assert_eq!(went_on, Ok(()));
        note();
        Poll::Ready(End::Completed)
    });
    engine.lock().line.push(Cell::new(future));
    push(&engine, 1);
    assert_eq!(turn(&mut driver), Turn::Sleep);
    let waits = waits.lock().unwrap();
    let [first, again, next] = &waits[..] else { panic!("it asked three times") };
    assert!(Arc::ptr_eq(first, again) && !Arc::ptr_eq(first, next));
}
