//! Several pools, used as one: which shard gets a task, and what becomes of one that is refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common::{self, Door, PATIENCE, eventually, hold_workers, join};
use formic::{Balance, FnPool, Multi, Pool, Refused, Shard, WhenFull};

const EVERY_BALANCE: [Balance; 3] =
    [Balance::RoundRobin, Balance::LeastLoaded, Balance::PowerOfTwo];

/// Shards with one worker each, and so many places in the queue.
fn narrow(shards: usize, queue: usize, balance: Balance) -> Multi<Pool> {
    built(shards, queue, WhenFull::Wait, balance)
}

fn built(shards: usize, queue: usize, when_full: WhenFull, balance: Balance) -> Multi<Pool> {
    let make = || Pool::builder().workers(1).queue(queue).when_full(when_full).build();
    Multi::try_new(shards, balance, make).expect("the settings are sound")
}

fn accepted<P: Shard>(multi: &Multi<P>) -> Vec<u64> {
    multi.shards().iter().map(|shard| shard.stats().accepted).collect()
}

/// Which shard `next` returns.
fn number_of_next(multi: &Multi<Pool>) -> usize {
    let next = multi.next();
    multi.shards().iter().position(|shard| std::ptr::eq(shard, next)).expect("it is a shard")
}

#[test]
fn no_shards_are_refused() {
    for balance in EVERY_BALANCE {
        let error = Multi::try_new(0, balance, || Pool::builder().build()).unwrap_err();
        assert_eq!(error.setting(), Some("shards"));
        assert_eq!(error.to_string(), "shards: 0 shards cannot run anything");
    }
}

#[test]
#[should_panic(expected = "shards: 0 shards cannot run anything")]
fn new_panics_without_shards() {
    drop(Multi::new(0, Balance::RoundRobin, || Pool::new(1)));
}

#[test]
fn the_error_of_a_shard_that_cannot_be_built_is_told() {
    let mut workers = [2, 1, 0].into_iter();
    let make = || Pool::builder().workers(workers.next().unwrap()).build();
    let error = Multi::try_new(4, Balance::RoundRobin, make).unwrap_err();
    assert_eq!(error.setting(), Some("workers"));
}

#[test]
fn a_shard_that_is_not_there_is_an_error() {
    let multi = Multi::new(3, Balance::RoundRobin, || Pool::new(1));
    assert!(multi.shard(2).is_ok());
    for index in [3, usize::MAX] {
        let error = multi.shard(index).unwrap_err();
        assert_eq!((error.index(), error.shards()), (index, 3));
    }
}

#[test]
fn round_robin_gives_each_shard_its_turn() {
    let multi = narrow(3, 100, Balance::RoundRobin);
    let turns: Vec<usize> = (0..6).map(|_| number_of_next(&multi)).collect();
    assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
    for _ in 0..30 {
        multi.submit(|| ()).unwrap();
    }
    assert_eq!(accepted(&multi), [10, 10, 10]);
}

#[test]
fn producers_share_the_turns() {
    let multi = Multi::new(4, Balance::RoundRobin, || Pool::new(1));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..250).for_each(|_| multi.submit(|| ()).unwrap()));
        }
    });
    assert_eq!(accepted(&multi), [250; 4]);
}

#[test]
fn the_least_loaded_shard_is_the_one_with_the_fewest_tasks_queued_and_running() {
    let (multi, door) = (narrow(3, 100, Balance::LeastLoaded), Door::new());
    hold_workers(multi.shard(0).unwrap(), &door, 1);
    hold_workers(multi.shard(2).unwrap(), &door, 1);
    door.await_waiting(2);
    multi.shard(2).unwrap().submit(|| ()).unwrap();
    // Now 1, 0 and 2. Running alone would be 1, 0 and 1.
    for (expected, note) in [(1, "it has none"), (0, "the first with one"), (1, "one, still")] {
        let before = accepted(&multi)[expected];
        let door = door.clone();
        multi.submit(move || door.wait()).unwrap();
        assert_eq!(accepted(&multi)[expected], before + 1, "{note}: {:?}", accepted(&multi));
    }
    assert_eq!(number_of_next(&multi), 0, "all have two");
    door.open();
    multi.drain().unwrap();
}

#[test]
fn a_shard_with_a_full_queue_is_never_the_least_loaded() {
    let (multi, door) = (narrow(2, 1, Balance::LeastLoaded), Door::new());
    let (small, large) = (multi.shard(0).unwrap(), multi.shard(1).unwrap());
    large.resize(10).unwrap();
    hold_workers(small, &door, 1);
    small.submit(|| ()).unwrap();
    hold_workers(large, &door, 5);
    // Two tasks fill the small one, and five do not fill the large one.
    assert_eq!(number_of_next(&multi), 1);
    small.resize(10).unwrap();
    assert_eq!(number_of_next(&multi), 0, "it has more places now");
    door.open();
    multi.drain().unwrap();
}

#[test]
fn of_two_shards_the_power_of_two_is_the_less_loaded_one() {
    let (multi, door) = (narrow(2, 100, Balance::PowerOfTwo), Door::new());
    hold_workers(multi.shard(0).unwrap(), &door, 1);
    assert!((0..100).all(|_| number_of_next(&multi) == 1));
    door.open();
    multi.drain().unwrap();
}

#[test]
fn the_power_of_two_reaches_every_shard_but_the_most_loaded() {
    let (multi, door) = (narrow(5, 100, Balance::PowerOfTwo), Door::new());
    hold_workers(multi.shard(3).unwrap(), &door, 1);
    let mut seen = [0; 5];
    (0..1000).for_each(|_| seen[number_of_next(&multi)] += 1);
    assert_eq!(seen[3], 0, "each pair has a better one");
    assert!([0, 1, 2, 4].iter().all(|shard| seen[*shard] > 0), "{seen:?}");
    door.open();
    multi.drain().unwrap();
}

#[test]
fn a_single_shard_takes_everything() {
    for balance in EVERY_BALANCE {
        let multi = Multi::new(1, balance, || Pool::new(2));
        let handles: Vec<_> = (0..50).map(|n| multi.spawn(move || n).unwrap()).collect();
        let sum: i32 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
        assert_eq!(sum, 1225);
    }
}

#[test]
fn a_task_falls_over_from_a_full_shard_to_the_least_loaded() {
    let (multi, door) = (narrow(3, 1, Balance::RoundRobin), Door::new());
    hold_workers(multi.shard(0).unwrap(), &door, 1);
    multi.shard(0).unwrap().submit(|| ()).unwrap();
    hold_workers(multi.shard(1).unwrap(), &door, 1);
    assert_eq!(accepted(&multi), [2, 1, 0]);
    multi.submit(|| ()).unwrap();
    assert_eq!(accepted(&multi), [2, 1, 1], "shard 0 had its turn and no place");
    assert_eq!(multi.stats().refused, 0, "the task was not refused");
    door.open();
    multi.drain().unwrap();
}

#[test]
fn a_place_that_a_permit_holds_is_passed_over_as_well() {
    for balance in EVERY_BALANCE {
        let multi = narrow(2, 0, balance);
        let permit = multi.shard(0).unwrap().admit().unwrap();
        let handle = multi.try_spawn(|| std::thread::current().id()).unwrap();
        handle.join().unwrap();
        assert_eq!(accepted(&multi), [0, 1], "{balance:?}");
        drop(permit);
    }
}

#[test]
fn a_task_that_every_shard_refuses_comes_back() {
    for balance in EVERY_BALANCE {
        let (multi, door) = (built(2, 0, WhenFull::Refuse, balance), Door::new());
        multi.shards().iter().for_each(|shard| hold_workers(shard, &door, 1));
        door.await_waiting(2);
        let (token, kept) = (Arc::new(()), Arc::new(()));
        let task = |token: &Arc<()>| {
            let token = Arc::clone(token);
            move || drop(token)
        };
        let error = multi.try_submit(task(&token)).unwrap_err();
        assert_eq!((error.reason(), Arc::strong_count(&token)), (Refused::Full, 2));
        error.into_task()();
        let error = multi.submit(task(&kept)).unwrap_err();
        assert_eq!((error.reason(), Arc::strong_count(&kept)), (Refused::Full, 2));
        assert_eq!(multi.spawn(|| 1).unwrap_err().into_task()(), 1);
        assert_eq!(multi.try_spawn(|| 2).unwrap_err().into_task()(), 2);
        assert_eq!(multi.stats().refused, 4, "each task once");
        door.open();
        multi.drain().unwrap();
    }
}

#[test]
fn a_submitter_waits_for_the_least_loaded_when_all_are_full() {
    let (multi, door) = (narrow(2, 1, Balance::RoundRobin), Door::new());
    let (first, second) = (multi.shard(0).unwrap(), multi.shard(1).unwrap());
    first.resize(2).unwrap();
    hold_workers(first, &door, 2);
    first.submit(|| ()).unwrap();
    hold_workers(second, &door, 1);
    second.submit(|| ()).unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let submitter = {
        let (multi, ran) = (multi.clone(), Arc::clone(&ran));
        std::thread::spawn(move || {
            let task = move || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            multi.submit(task).map_err(|error| error.reason())
        })
    };
    eventually("it waits", || multi.stats().waiting == 1);
    assert_eq!((first.waiting(), second.waiting()), (0, 1), "three tasks here, two there");
    door.open();
    join(submitter).unwrap();
    multi.drain().unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), multi.stats().refused), (1, 0));
}

#[test]
fn the_caller_runs_what_every_shard_is_too_full_for() {
    let (multi, door) = (built(2, 0, WhenFull::CallerRuns, Balance::RoundRobin), Door::new());
    multi.shards().iter().for_each(|shard| hold_workers(shard, &door, 1));
    door.await_waiting(2);
    let handle = multi.spawn(|| std::thread::current().id()).unwrap();
    assert_eq!(handle.join().unwrap(), std::thread::current().id());
    door.open();
    multi.drain().unwrap();
}

#[test]
fn a_closed_shard_is_passed_over_until_it_is_open_again() {
    for balance in EVERY_BALANCE {
        let multi = narrow(3, 1000, balance);
        multi.shard(0).unwrap().drain().unwrap();
        (0..60).for_each(|_| multi.submit(|| ()).unwrap());
        multi.wait_idle().unwrap();
        let seen = accepted(&multi);
        assert_eq!((seen[0], seen.iter().sum::<u64>()), (0, 60), "{balance:?}");
        assert_eq!(multi.stats().refused, 0, "{balance:?}");
        multi.shard(0).unwrap().reopen().unwrap();
        eventually("the first shard serves again", || {
            multi.submit(|| ()).unwrap();
            accepted(&multi)[0] > 0
        });
        multi.drain().unwrap();
        assert_eq!(multi.submit(|| ()).unwrap_err().reason(), Refused::Closed);
    }
}

#[test]
fn a_shard_that_is_full_is_waited_for_if_the_others_are_closed() {
    let (multi, door) = (narrow(2, 0, Balance::RoundRobin), Door::new());
    multi.shard(1).unwrap().close();
    hold_workers(multi.shard(0).unwrap(), &door, 1);
    let submitter = {
        let multi = multi.clone();
        std::thread::spawn(move || multi.submit(|| ()).map_err(|error| error.reason()))
    };
    eventually("it waits", || multi.shard(0).unwrap().waiting() == 1);
    door.open();
    join(submitter).unwrap();
    multi.drain().unwrap();
}

#[test]
fn a_task_submits_to_its_own_shards_without_waiting_however_full_they_are() {
    for balance in EVERY_BALANCE {
        let (multi, door, done) = (narrow(2, 0, balance), Door::new(), mpsc::channel());
        // Both workers hold until both run; then each submits to shards that are full, where each
        // would wait for the other for ever.
        for shard in multi.shards() {
            let (multi, door, done) = (multi.clone(), door.clone(), done.0.clone());
            let task = move || {
                door.wait();
                for number in 0..10 {
                    let done = done.clone();
                    multi.submit(move || done.send(number).unwrap()).unwrap();
                }
                let sum: i32 =
                    (0..10).map(|n| multi.spawn(move || n).unwrap().join().unwrap()).sum();
                assert_eq!(sum, 45);
                done.send(100).unwrap();
            };
            shard.submit(task).unwrap();
        }
        door.await_waiting(2);
        door.open();
        let all = (0..22).map(|_| done.1.recv_timeout(PATIENCE).expect("nobody hangs"));
        assert_eq!(all.sum::<i32>(), 290, "{balance:?}");
        multi.drain().unwrap();
        assert_eq!((multi.stats().panicked, multi.stats().refused), (0, 0), "{balance:?}");
    }
}

#[test]
fn an_argument_falls_over_and_comes_back_too() {
    let door = Door::new();
    let make = || {
        let door = door.clone();
        FnPool::builder().workers(1).queue(0).when_full(WhenFull::Refuse).build(move |n: u32| {
            door.wait();
            n + 1
        })
    };
    let multi = Multi::try_new(2, Balance::LeastLoaded, make).unwrap();
    let held: Vec<_> = (0..2).map(|n| multi.spawn(n).unwrap()).collect();
    door.await_waiting(2);
    assert_eq!(accepted(&multi), [1, 1]);
    assert_eq!(multi.submit(7).unwrap_err().into_task(), 7);
    assert_eq!(multi.try_submit(8).unwrap_err().into_task(), 8);
    assert_eq!(multi.spawn(9).unwrap_err().into_task(), 9);
    assert_eq!(multi.try_spawn(10).unwrap_err().reason(), Refused::Full);
    door.open();
    let results: Vec<u32> = held.into_iter().map(|handle| handle.join().unwrap()).collect();
    assert_eq!(results, [1, 2]);
    multi.drain().unwrap();
}

#[test]
fn a_panic_names_the_line_that_submitted_to_the_multi() {
    common::hush_quiet_threads();
    let make = || Pool::builder().workers(1).name("quiet").build();
    let multi = Multi::try_new(2, Balance::RoundRobin, make).unwrap();
    // The first turn falls over to the second shard, the next one does not.
    multi.shard(0).unwrap().close();
    for _ in 0..2 {
        let line = line!() + 1;
        let error = multi.spawn(|| panic!("on purpose")).unwrap().join().unwrap_err();
        let location = error.into_panic().unwrap().submitted_at().unwrap();
        assert_eq!((location.file(), location.line()), (file!(), line));
    }
}

#[test]
fn the_last_handle_closes_and_what_was_accepted_still_runs() {
    let (multi, door) = (narrow(2, 10, Balance::RoundRobin), Door::new());
    let shards: Vec<Pool> = multi.shards().to_vec();
    let (sender, ran) = mpsc::channel();
    for number in 0..10 {
        let (door, sender) = (door.clone(), sender.clone());
        let task = move || {
            door.wait();
            sender.send(number).unwrap();
        };
        multi.submit(task).unwrap();
    }
    drop(multi.clone());
    assert!(!multi.is_closed(), "there is another handle");
    drop(multi);
    assert!(shards.iter().all(|shard| !shard.is_closed()), "these are handles, too");
    drop((shards, sender));
    door.open();
    assert_eq!(ran.iter().sum::<i32>(), 45);
}

/// `y` of the first shard joins `x` of the second, which is closed. The first shard is full when `x` submits:
/// if `x` waited there, it would wait for `y`, and `y` for it.
#[test]
fn a_task_whose_own_shard_is_closed_does_not_wait_at_another() {
    for balance in EVERY_BALANCE {
        let multi = narrow(2, 1, balance);
        let (door, inside, (tell, told)) = (Door::new(), multi.clone(), mpsc::channel());
        let at_door = door.clone();
        let x = multi.shards()[1].spawn(move || {
            at_door.wait();
            tell.send(inside.submit(|| ()).map_err(|error| error.reason())).unwrap();
        });
        // It runs on its own shard, so the one that joins it can only wait.
        door.await_waiting(1);
        let y = multi.shards()[0].spawn(move || x.unwrap().join().unwrap());
        eventually("y runs", || multi.shards()[0].busy() == 1);
        multi.shards()[0].submit(|| ()).unwrap();
        assert_eq!(multi.shards()[0].stats().queued, 1, "it is full");
        assert!(multi.shards()[1].drain_timeout(Duration::ZERO).is_err());
        door.open();
        assert_eq!(told.recv_timeout(PATIENCE), Ok(Ok(())));
        y.unwrap().join().unwrap();
        multi.drain().unwrap();
        assert_eq!(accepted(&multi).iter().sum::<u64>(), 4);
    }
}

#[test]
fn a_task_whose_own_shard_is_closed_is_refused_as_the_others_were_built_to() {
    let multi = built(2, 0, WhenFull::Refuse, Balance::RoundRobin);
    let (door, inside) = (Door::new(), multi.clone());
    let at_door = door.clone();
    let task = multi.shards()[1].spawn(move || {
        at_door.wait();
        inside.submit(|| ()).unwrap_err().reason()
    });
    door.await_waiting(1);
    let other = Door::new();
    hold_workers(&multi.shards()[0], &other, 1);
    multi.shards()[1].close();
    door.open();
    assert_eq!(task.unwrap().join().unwrap(), Refused::Full);
    other.open();
    multi.drain().unwrap();
}
