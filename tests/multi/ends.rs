//! The shards of a `Multi` together: figures, size, and ends with every shard's own error.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{self, Census, Door, block_on, hold_workers, join, poll_once};
use formic::{Balance, Multi, Pool, PrestartError, ReopenError, ResizeError};

fn numbers<'a, E: 'a>(errors: impl IntoIterator<Item = &'a (usize, E)>) -> Vec<usize> {
    errors.into_iter().map(|(shard, _)| *shard).collect()
}

fn shards(count: usize) -> Multi<Pool> {
    Multi::new(count, Balance::RoundRobin, || Pool::new(2))
}

#[test]
fn the_figures_are_the_sums_of_the_shards() {
    let (multi, door) = (shards(3), Door::new());
    hold_workers(multi.shard(0).unwrap(), &door, 2);
    hold_workers(multi.shard(2).unwrap(), &door, 1);
    door.await_waiting(3);
    multi.shard(0).unwrap().submit(|| ()).unwrap();
    let stats = multi.stats();
    assert_eq!((stats.accepted, stats.busy, stats.queued), (4, 3, 1));
    assert_eq!((stats.capacity, stats.workers), (6, 3));
    assert!(stats.adds_up());
    door.open();
    multi.drain().unwrap();
    assert_eq!((multi.stats().completed, multi.stats().workers), (4, 0));
}

#[test]
fn unlimited_shards_together_are_unlimited() {
    let make = || Pool::builder().unlimited().build();
    let multi = Multi::try_new(2, Balance::RoundRobin, make).unwrap();
    assert_eq!(multi.stats().capacity, usize::MAX);
    assert_eq!(multi.spawn(|| 3).unwrap().join().unwrap(), 3);
}

#[test]
fn the_figures_add_up_while_everything_moves() {
    let multi = Multi::new(2, Balance::PowerOfTwo, || Pool::new(2));
    let producers: Vec<_> = (0..2)
        .map(|_| {
            let multi = multi.clone();
            std::thread::spawn(move || (0..5_000).for_each(|_| multi.submit(|| ()).unwrap()))
        })
        .collect();
    while producers.iter().any(|producer| !producer.is_finished()) {
        assert!(multi.stats().adds_up());
    }
    producers.into_iter().for_each(join);
    multi.wait_idle().unwrap();
    assert_eq!(multi.stats().completed, 10_000);
}

#[test]
fn a_capacity_that_one_shard_cannot_have_changes_none() {
    let mut minimum = [0, 3, 0, 4].into_iter();
    let make = || Pool::builder().workers(minimum.next().unwrap()..=8).build();
    let multi = Multi::try_new(4, Balance::RoundRobin, make).unwrap();
    let errors = multi.resize(2).unwrap_err();
    assert_eq!((errors.len(), numbers(&errors)), (2, vec![1, 3]));
    let text =
        "shard 1: resize: 2 is below the minimum 3; shard 3: resize: 2 is below the minimum 4";
    assert_eq!(errors.to_string(), text);
    let first = errors.into_iter().next().unwrap();
    assert_eq!(first, (1, ResizeError::BelowMinimum { workers: 2, minimum: 3 }));
    assert_eq!(multi.stats().capacity, 32, "nothing has changed");
    multi.resize(4).unwrap();
    assert_eq!(multi.stats().capacity, 16);
    multi.shard(0).unwrap().resize(1).unwrap();
    assert_eq!(multi.stats().capacity, 13);
}

#[test]
fn workers_are_started_ahead_in_every_shard_that_can() {
    let multi = shards(3);
    multi.shard(1).unwrap().drain().unwrap();
    let errors = multi.prestart(2).unwrap_err();
    assert!(matches!(errors.iter().next(), Some((1, PrestartError::Closed))));
    assert_eq!((errors.len(), multi.stats().workers), (1, 4));
    let errors = multi.prestart(3).unwrap_err();
    assert_eq!(numbers(&errors), [0, 1, 2]);
}

#[test]
fn drain_waits_for_every_shard_and_joins_its_threads() {
    let census = Census::default();
    let make = || Pool::builder().workers(2).on_worker_start(census.hook()).build();
    let multi = Multi::try_new(3, Balance::RoundRobin, make).unwrap();
    for round in 1..=20 {
        (0..30).for_each(|_| multi.submit(|| ()).unwrap());
        multi.drain().unwrap();
        assert_eq!((census.count(), multi.stats().completed), (0, 30 * round));
        multi.reopen().unwrap();
    }
}

#[test]
fn a_drain_that_is_out_of_time_tells_what_is_left_in_which_shard() {
    let (multi, door) = (shards(4), Door::new());
    hold_workers(multi.shard(1).unwrap(), &door, 2);
    hold_workers(multi.shard(3).unwrap(), &door, 1);
    door.await_waiting(3);
    multi.shard(1).unwrap().submit(|| ()).unwrap();
    let errors = multi.drain_timeout(Duration::from_millis(5)).unwrap_err();
    let left: Vec<_> =
        errors.into_iter().map(|(shard, left)| (shard, left.running(), left.queued())).collect();
    assert_eq!(left, [(1, 2, 1), (3, 1, 0)]);
    assert!(multi.is_closed());
    let errors = multi.reopen().unwrap_err();
    assert_eq!(numbers(&errors), [1, 3], "the others had come to their end");
    assert!(errors.iter().all(|(_, error)| matches!(error, ReopenError::StillRunning(_))));
    door.open();
    multi.drain().unwrap();
    multi.reopen().unwrap();
    assert!(multi.reopen().unwrap_err().iter().all(|(_, e)| matches!(e, ReopenError::Open)));
}

#[test]
fn one_shard_that_holds_out_keeps_none_of_the_others_from_ending() {
    let (multi, door) = (shards(3), Door::new());
    multi.prestart(2).unwrap();
    hold_workers(multi.shard(0).unwrap(), &door, 1);
    let drainer = {
        let multi = multi.clone();
        std::thread::spawn(move || multi.drain())
    };
    // The drain stands at shard 0, and the others end all the same.
    common::eventually("the others end", || {
        multi.shards()[1..].iter().all(|shard| shard.is_closed() && shard.workers() == 0)
    });
    assert!(!drainer.is_finished());
    door.open();
    join(drainer).unwrap();
}

#[test]
fn a_task_cannot_wait_for_the_shards_it_runs_in_and_closes_none() {
    let multi = shards(2);
    for number in 0..2 {
        let inner = multi.clone();
        let task = move || {
            let outcomes = [
                inner.wait_idle(),
                inner.drain(),
                inner.drain_timeout(Duration::from_secs(1000)),
                block_on(inner.wait_idle_async()),
                block_on(inner.drain_async()),
            ];
            let of = |errors: formic::ShardErrors<formic::StillRunning>| {
                let each = errors.into_iter().map(|(shard, left)| (shard, left.is_from_inside()));
                each.collect::<Vec<_>>()
            };
            outcomes.map(|outcome| of(outcome.unwrap_err()))
        };
        let told = multi.shard(number).unwrap().spawn(task).unwrap().join().unwrap();
        assert!(told.iter().all(|errors| *errors == [(number, true)]), "{told:?}");
        assert!(multi.shards().iter().all(|shard| !shard.is_closed()));
    }
}

#[test]
fn wait_idle_waits_for_tasks_that_wander_from_shard_to_shard() {
    fn wander(multi: &Multi<Pool>, left: usize, ran: &Arc<AtomicUsize>) {
        let (next, counter) = (multi.clone(), Arc::clone(ran));
        let task = move || {
            if left > 0 {
                wander(&next, left - 1, &counter);
            }
            counter.fetch_add(1, Ordering::Relaxed);
        };
        multi.submit(task).unwrap();
    }
    let multi = Multi::new(3, Balance::RoundRobin, || Pool::new(1));
    let ran = Arc::new(AtomicUsize::new(0));
    for round in 1..=200 {
        wander(&multi, 19, &ran);
        if round % 2 == 0 {
            multi.wait_idle().unwrap();
        } else {
            block_on(multi.wait_idle_async()).unwrap();
        }
        assert_eq!(ran.load(Ordering::Relaxed), 20 * round);
    }
}

#[test]
fn a_drain_that_is_a_future_closes_all_at_once_and_waits_for_all() {
    let (multi, door) = (shards(3), Door::new());
    hold_workers(multi.shard(2).unwrap(), &door, 1);
    let mut drain = Box::pin(multi.drain_async());
    assert!(!multi.is_closed(), "not before it is polled");
    assert!(poll_once(drain.as_mut()).is_pending());
    assert!(multi.is_closed());
    door.open();
    block_on(drain).unwrap();
    assert_eq!(multi.stats().workers, 0);
}

#[test]
fn discard_drops_what_no_shard_has_started() {
    let (multi, door) = (shards(2), Door::new());
    multi.shards().iter().for_each(|shard| hold_workers(shard, &door, 2));
    door.await_waiting(4);
    (0..10).for_each(|_| multi.submit(|| ()).unwrap());
    assert_eq!(multi.discard(), 10);
    door.open();
    multi.drain().unwrap();
    assert_eq!((multi.stats().cancelled, multi.stats().completed), (10, 4));
}
