//! As few drivers poll as share no lock, until the watchdog has all of them help.

use super::*;

/// A pool of two drivers that share a run queue. Each has begun with a future that waits for its event. One
/// is to be enough. Both sleep.
fn one_of_two() -> (Pool, [Turned; 2], [Event; 2]) {
    let pool = pool(2, Start::ByHand, settings(2, 8));
    let mut drivers = drivers(&pool);
    let events = [Event::default(), Event::default()];
    for (driver, event) in drivers.iter_mut().zip(&events) {
        submit(&pool, event.clone());
        assert_eq!(turn(driver), Turn::Sleep);
    }
    pool.set_single(true);
    (pool, drivers, events)
}

#[test]
fn a_single_driver_serves_all() {
    explore_up_to(2, || {
        let (pool, drivers, events) = one_of_two();
        let runtime = drivers.map(|driver| thread::spawn(move || turn_until_it_leaves(driver)));
        events.iter().for_each(Event::happen);
        block_on(pool.until(Ended::Tasks)).unwrap();
        drain(&pool);
        runtime.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ended(&pool), (2, 0));
    });
}

#[test]
fn of_two_spare_drivers_one_goes_on() {
    for ready in [2, 1] {
        explore_up_to(2, move || {
            let (pool, [mut first, mut second], events) = one_of_two();
            // Both of them are up then.
            let executor = pool.work().executor();
            (0..2).for_each(|driver| executor.rise(driver));
            events.iter().take(ready).for_each(Event::happen);
            let other = thread::spawn(move || {
                assert_eq!(turn(&mut second), Turn::Sleep);
                second
            });
            assert_eq!(turn(&mut first), Turn::Sleep);
            let second = other.join().unwrap();
            let left = "nothing ready is left when both of them sleep";
            assert_eq!(ended(&pool), (ready as u64, 0), "{left}");
            drop((first, second));
        });
    }
}

#[test]
fn a_driver_helps_when_the_single_one_is_stuck() {
    explore(|| {
        let (executor, event) = (Executor::new(2, DriverThreads::Shared), Event::default());
        executor.rise(0);
        wakes::add(&executor, bare(event.clone()));
        assert_eq!(wakes::poll_ready(&executor, 0), 0);
        executor.rise(1);
        let alarm = Arc::new(Alarm::default());
        executor.set_single(true);
        // From here on the first driver is in a poll that takes long.
        event.happen();
        let its = Arc::clone(&executor);
        let watchdog = thread::spawn(move || its.set_single(false));
        let sleeps = wakes::sleep(&executor, 1, &alarm);
        watchdog.join().unwrap();
        assert!(!sleeps || *alarm.rings.lock().unwrap(), "the other one is called");
    });
}
