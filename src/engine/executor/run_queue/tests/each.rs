//! Each driver has a thread of its own, and polls what is on its own run queue.

use super::*;

/// Three such drivers, which are up.
fn apart() -> Trial {
    let trial = Trial::on(Executor::apart(3));
    trial.executor.set_one(true);
    trial
}

#[test]
fn nobody_is_woken_for_what_is_on_the_run_queue_of_another() {
    let trial = apart();
    assert!(trial.sleep(1) && trial.sleep(2));
    trial.add(0, 2);
    trial.run_queue(0).push_ready(0);
    assert_eq!(trial.rung(), [0, 0, 0], "its driver is up");
    trial.run_queue(2).push_ready(0);
    assert_eq!(trial.rung(), [0, 0, 1], "its driver slept");
    trial.run_queue(2).push_ready(1);
    assert_eq!(trial.rung(), [0, 0, 1]);
}

#[test]
fn a_driver_sleeps_whatever_the_others_have() {
    let trial = apart();
    trial.add(0, 1);
    assert!(!trial.sleep(0) && trial.sleep(1));
    trial.executor.set_one(false);
    assert_eq!(trial.rung(), [0, 1, 0], "until everybody helps");
    assert!(!trial.rise(1) && !trial.sleep(1));
}

#[test]
fn everybody_helps_until_each_is_told_to_stay_apart() {
    let trial = Trial::on(Executor::apart(3));
    assert!(!trial.run_queue(0).is_each_for_itself());
    assert!(trial.sleep(1) && trial.run_queue(0).others_sleep());
    trial.add(0, 2);
    assert_eq!(trial.rung(), [0, 1, 0]);
    trial.executor.set_one(true);
    assert!(trial.run_queue(0).is_each_for_itself());
    assert!(!Trial::new().run_queue(0).is_each_for_itself(), "others share a runtime");
}

#[test]
fn nobody_steps_back_or_is_away() {
    let trial = apart();
    trial.add(0, 1);
    assert!((0..3).all(|driver| !trial.run_queue(driver).is_spare()));
    assert!(!trial.run_queue(0).is_for_one());
    assert!(trial.sleep(1) && !trial.run_queue(0).others_sleep(), "nobody that would have to help");
    assert!(trial.executor.is_for_one(), "each is alone with its timers");
}
