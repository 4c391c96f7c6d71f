//! Each driver has a thread and a run queue of its own.

use super::*;

/// Two such drivers. The first one has polled a future that waits for the event. Each is rung for by its alarm.
fn apart() -> (Arc<Executor>, [Arc<Alarm>; 2], Event) {
    let (executor, event) = (Executor::new(2, DriverThreads::Own), Event::default());
    (0..2).for_each(|driver| executor.rise(driver));
    wakes::add(&executor, bare(event.clone()));
    assert_eq!(wakes::poll_ready(&executor, 0), 0);
    (executor, Default::default(), event)
}

fn rings(alarm: &Alarm) -> bool {
    *alarm.rings.lock().unwrap()
}

#[test]
fn a_driver_apart_is_woken_for_its_own() {
    explore(|| {
        let (executor, [own, other], event) = apart();
        executor.set_single(true);
        assert!(wakes::sleep(&executor, 1, &other), "it has nothing");
        let waker = thread::spawn(move || event.happen());
        let sleeps = wakes::sleep(&executor, 0, &own);
        waker.join().unwrap();
        assert!(!sleeps || rings(&own), "no other driver would poll it");
        assert!(!rings(&other));
    });
}

#[test]
fn a_driver_apart_that_is_stuck_is_helped_by_one_that_goes_to_sleep() {
    explore(|| {
        let (executor, [_, helper], event) = apart();
        executor.set_single(true);
        // From here on the first driver is in a poll that takes long.
        event.happen();
        let its = Arc::clone(&executor);
        let watchdog = thread::spawn(move || its.set_single(false));
        let sleeps = wakes::sleep(&executor, 1, &helper);
        watchdog.join().unwrap();
        assert!(!sleeps || rings(&helper), "it is to help");
    });
}

#[test]
fn a_driver_apart_that_goes_to_sleep_helps_one_that_is_stuck() {
    explore(|| {
        let (executor, [_, helper], event) = apart();
        // From here on the first driver is in a poll that takes long.
        let waker = thread::spawn(move || event.happen());
        let sleeps = wakes::sleep(&executor, 1, &helper);
        waker.join().unwrap();
        assert!(!sleeps || rings(&helper), "it is to help");
    });
}
