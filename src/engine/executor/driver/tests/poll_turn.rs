//! What a driver counts, how long it works at a time, and whom it helps.

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
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    driver.executor().rise(driver.me, None);
    engine.lock().worker_table.set(driver.me, WorkerState::Leaving);
    push(&engine, 1);
    assert!(!driver.leave(), "nobody else takes the task");
    assert!(engine.work().executor().run_queues()[0].up() > 0);
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
