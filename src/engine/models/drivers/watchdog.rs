//! One driver does it all, and the others sleep until the watchdog has them help.

use super::*;

/// A pool of two drivers, each of which has begun with a future that waits for its event, and sleeps.
/// One driver is to be enough. All of them are woken by the same waker.
fn one_of_two(waker: &Waker) -> (Pool, [Driver<Futures>; 2], [Event; 2]) {
    let pool = pool(2, Start::ByHand, settings(2, 8));
    let mut drivers = drivers(&pool);
    let events = [Event::default(), Event::default()];
    for (driver, event) in drivers.iter_mut().zip(&events) {
        submit(&pool, event.clone());
        assert_eq!(turn_with(driver, waker), Turn::Sleep);
    }
    pool.let_one_drive(true);
    (pool, drivers, events)
}

fn turn_with(driver: &mut Driver<Futures>, waker: &Waker) -> Turn {
    driver.turn(&Context::from_waker(waker), || ())
}

/// Has all tasks end, and then the drivers.
fn end(pool: &Pool, runtime: Vec<thread::JoinHandle<()>>) {
    block_on(pool.until(Ended::Tasks)).unwrap();
    drain(pool);
    runtime.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(ended(pool), (2, 0));
}

#[test]
fn a_driver_that_is_up_serves_every_run_queue() {
    explore_up_to(2, || {
        let (pool, drivers, events) = one_of_two(Waker::noop());
        let runtime =
            drivers.map(|driver| thread::spawn(move || turn_until_it_leaves(driver))).into();
        events.iter().for_each(Event::happen);
        end(&pool, runtime);
    });
}

#[test]
fn of_two_that_step_back_at_once_one_goes_on() {
    // Something is ready on both lists, or on one of them.
    for ready in [2, 1] {
        explore_up_to(2, move || {
            let waker = Waker::from(Arc::new(Alarm::default()));
            let (pool, [mut first, mut second], events) = one_of_two(&waker);
            // Both of them are up then.
            pool.let_one_drive(false);
            events.iter().take(ready).for_each(Event::happen);
            pool.work().executor().run_queue(1).rise(&waker);
            pool.let_one_drive(true);
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
fn all_drivers_help_when_the_one_is_stuck() {
    explore(|| {
        let (executor, event) = (Executor::new(2), Event::default());
        let alarm = Arc::new(Alarm::default());
        let Job::Bare(cell) = bare(event.clone()) else { unreachable!("it has no handle") };
        let (stuck, helper) =
            (Arc::clone(executor.run_queue(0)), Arc::clone(executor.run_queue(1)));
        stuck.rise(Waker::noop());
        stuck.add(&mut vec![cell]);
        assert_eq!(wakes::poll_ready(&stuck), 0);
        helper.rise(&Waker::from(Arc::clone(&alarm)));
        assert!(helper.sleep(&executor));
        executor.set_one(true);
        // From here on the first driver is in a poll that takes long.
        let waker = thread::spawn(move || event.happen());
        executor.set_one(false);
        waker.join().unwrap();
        assert!(*alarm.rings.lock().unwrap(), "the other one is called");
    });
}
