use super::*;

/// Two drivers of a pool that is left to one, and what wakes the first. It has a future that is always ready.
fn left_to_one() -> (Driver<ByHand>, Driver<ByHand>, Arc<Bell>) {
    let engine = engine(2, 9);
    let (mut first, mut second) = (driver(&engine), driver(&engine));
    assert_eq!(turn(&mut second), Turn::Sleep);
    let bell = Arc::new(Bell::default());
    push(&engine, usize::MAX);
    first.times = AT_ONCE;
    assert_eq!(
        first.turn(&Context::from_waker(&Waker::from(Arc::clone(&bell))), || ()),
        Turn::Yield
    );
    engine.let_one_drive(true);
    assert_eq!(turn(&mut second), Turn::Sleep, "one is enough");
    (first, second, bell)
}

fn long_ago() -> Instant {
    now() - Duration::from_secs(1)
}

#[test]
fn a_driver_alone_goes_on_and_yields_after_a_while() {
    let (mut first, second, _) = left_to_one();
    assert_eq!(first.drivers(), 2);
    assert_eq!(first.instead_of_yielding(now() + Duration::from_secs(9)), None);
    assert_eq!(first.instead_of_yielding(long_ago()), Some(Turn::Yield));
    drop(second);
    assert_eq!(first.drivers(), 1);
}

#[test]
fn a_driver_alone_sleeps_where_timers_wake_it() {
    let (mut first, _second, bell) = left_to_one();
    first.list.push_ready(7);
    let soon = now() + Duration::from_secs(9);
    assert_eq!(first.instead_of_yielding(soon), Some(Turn::Sleep), "it was woken from elsewhere");
    first.list.push_ready(7);
    assert_eq!(bell.rung(), 1);
    assert_eq!(
        first.turn(&Context::from_waker(&Waker::from(Arc::clone(&bell))), || ()),
        Turn::Yield
    );
    assert_eq!(first.instead_of_yielding(soon), None, "it has moved just now");
    assert_eq!(
        first.instead_of_yielding(long_ago()),
        Some(Turn::Sleep),
        "that is where timers are"
    );
}

#[test]
fn a_driver_that_is_not_alone_yields() {
    let (mut first, _second, _) = left_to_one();
    first.engine.let_one_drive(false);
    first.list.push_ready(7);
    assert_eq!(first.instead_of_yielding(long_ago()), Some(Turn::Yield));
    let soon = now() + Duration::from_secs(9);
    assert_eq!(first.instead_of_yielding(soon), Some(Turn::Yield));
}
