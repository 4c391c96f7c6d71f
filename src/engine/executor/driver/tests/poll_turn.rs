//! What a driver counts, how long it works at a time, and whom it helps.

use std::sync::OnceLock;

use super::*;

#[test]
fn each_poll_is_counted() {
    let engine = engine(1, 10);
    let mut driver = driver(&engine);
    let own = push(&engine, 5);
    assert_eq!(turn(&mut driver), Turn::Sleep);
    assert_eq!((own.load(Ordering::Relaxed), driver.poll_stats().polls()), (5, 5));
    push(&engine, usize::MAX);
    assert_eq!(short_turn(&mut driver), Turn::Yield);
    assert_eq!(driver.poll_stats().polls(), 6);
}

#[test]
fn a_watchdog_comes_when_many_polls_in_a_row_were_short() {
    let engine = engine(2, 1);
    let mut driver = driver(&engine);
    let watched = || engine.work().executor().watched.load(Ordering::Relaxed);
    driver.note_turn(SHORT_POLLS - 1, true);
    driver.note_turn(1, false);
    driver.note_turn(SHORT_POLLS - 1, true);
    assert!(!watched(), "long ones were among them");
    // While the lock is held, a watchdog does not get further than its first look.
    let scheduler = engine.lock();
    driver.note_turn(1, true);
    assert!(watched());
    drop(scheduler);
}

#[test]
fn a_driver_that_is_called_back_is_up() {
    let (own, up) = (Arc::new(OnceLock::<Arc<Engine<ByHand>>>::new()), Arc::new(Mutex::new(None)));
    let (its, seen) = (Arc::clone(&own), Arc::clone(&up));
    let mut settings = settings(1);
    settings.hooks.on_worker_stop = Some(Arc::new(move |_| {
        if seen.lock().unwrap().is_some() {
            return;
        }
        let (engine, seen) = (Arc::clone(its.get().unwrap()), Arc::clone(&seen));
        // No other driver takes the task.
        its.get().unwrap().lock().queue.push(cell(move |_| {
            *seen.lock().unwrap() = Some(engine.work().executor().run_queues()[0].up());
            Poll::Ready(())
        }));
    }));
    let engine = engine_with(Executor::new(1, DriverThreads::Own), settings);
    assert!(own.set(Arc::clone(&engine)).is_ok());
    let mut driver = driver(&engine);
    engine.close();
    assert_eq!(turn(&mut driver), Turn::Leave);
    assert_eq!(*up.lock().unwrap(), Some(1));
}

#[test]
#[cfg(feature = "tokio")]
fn what_is_polled_knows_of_the_last_stride_whether_polls_are_short() {
    use crate::engine::context::polls_are_short;

    let engine = engine(1, 10);
    let mut driver = driver(&engine);
    let (owner, seen) = (Arc::clone(&driver.owner), Arc::new(Mutex::new(Vec::new())));
    let (its, mut polls) = (Arc::clone(&seen), 0);
    let future = cell(move |context| {
        polls += 1;
        if polls == 1 {
            // So short that what this driver will find does not make it long.
            owner.executor.poll_stats[0].note(1, Duration::from_nanos(1));
        }
        its.lock().unwrap().push(polls_are_short());
        if polls == STRIDE as usize + 1 {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    engine.lock().queue.push(future);
    driver.time = Duration::MAX;
    assert_eq!(turn(&mut driver), Turn::Sleep);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().position(|short| *short), Some(STRIDE as usize));
}
