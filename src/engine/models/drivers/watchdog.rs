//! As few drivers poll as share no lock, until the watchdog has all of them help.

use super::*;

/// A pool of two drivers that share a run queue. Each has begun with a future that waits for its event. One
/// is to be enough. Both were woken by the same waker, and sleep.
fn one_of_two(waker: &Waker) -> (Pool, [Driver<Futures>; 2], [Event; 2]) {
    let pool = pool(2, Start::ByHand, settings(2, 8));
    let mut drivers = drivers(&pool);
    let events = [Event::default(), Event::default()];
    for (driver, event) in drivers.iter_mut().zip(&events) {
        submit(&pool, event.clone());
        assert_eq!(turn_with(driver, waker), Turn::Sleep);
    }
    pool.set_shared(false);
    (pool, drivers, events)
}

fn turn_with(driver: &mut Driver<Futures>, waker: &Waker) -> Turn {
    driver.turn(&Context::from_waker(waker), || ())
}

#[test]
fn a_single_driver_serves_all() {
    explore_up_to(2, || {
        let (pool, drivers, events) = one_of_two(Waker::noop());
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
            let waker = Waker::from(Arc::new(Alarm::default()));
            let (pool, [mut first, mut second], events) = one_of_two(&waker);
            // Both of them are up then.
            let executor = pool.work().executor();
            (0..2).for_each(|driver| drop(executor.rise(driver, &waker)));
            events.iter().take(ready).for_each(Event::happen);
            let its = waker.clone();
            let other = thread::spawn(move || {
                assert_eq!(turn_with(&mut second, &its), Turn::Sleep);
                second
            });
            assert_eq!(turn_with(&mut first, &waker), Turn::Sleep);
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
        let alarm = Arc::new(Alarm::default());
        executor.rise(0, Waker::noop());
        wakes::add(&executor, bare(event.clone()));
        assert_eq!(wakes::poll_ready(&executor, 0), 0);
        executor.rise(1, &Waker::from(Arc::clone(&alarm)));
        executor.set_shared(false);
        // From here on the first driver is in a poll that takes long.
        event.happen();
        let its = Arc::clone(&executor);
        let watchdog = thread::spawn(move || its.set_shared(true));
        let sleeps = executor.sleep(1);
        watchdog.join().unwrap();
        assert!(!sleeps || *alarm.rings.lock().unwrap(), "the other one is called");
    });
}
