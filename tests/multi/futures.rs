//! Shards that are pools of futures: which one gets a future, and what becomes of one that is refused.

use std::future::pending;
use std::panic::Location;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::common::{self, PATIENCE, eventually, poll_once};
use formic::{AsyncFnPool, AsyncPool, Balance, JoinHandle, Multi, Refused, Shard, WhenFull};
use tokio::sync::Semaphore;

const EVERY_BALANCE: [Balance; 3] =
    [Balance::RoundRobin, Balance::LeastLoaded, Balance::PowerOfTwo];

/// Shards with one future in flight each, and so many places in the queue.
fn built(shards: usize, queue: usize, when_full: WhenFull, balance: Balance) -> Multi<AsyncPool> {
    let make = || AsyncPool::builder().workers(1).queue(queue).when_full(when_full).build();
    Multi::try_new(shards, balance, make).expect("the settings are sound")
}

fn accepted<P: Shard>(multi: &Multi<P>) -> Vec<u64> {
    multi.shards().iter().map(|shard| shard.stats().accepted).collect()
}

/// Takes a place in each of these shards, until it is let go.
fn hold(multi: &Multi<AsyncPool>, shards: &[usize]) -> Vec<JoinHandle<()>> {
    let hold = |shard: &usize| multi.shards()[*shard].try_spawn(pending()).expect("a place");
    shards.iter().map(hold).collect()
}

fn let_go(held: &[JoinHandle<()>]) {
    assert!(held.iter().all(JoinHandle::cancel), "they were running or queued");
}

#[tokio::test]
async fn shards_take_turns_and_the_totals_are_theirs() {
    let multi = built(3, 100, WhenFull::Wait, Balance::RoundRobin);
    for _ in 0..15 {
        multi.submit(async {}).await.unwrap();
        multi.try_submit(tokio::task::yield_now()).unwrap();
    }
    assert_eq!(accepted(&multi), [10, 10, 10]);
    multi.wait_idle().await.unwrap();
    assert_eq!(multi.stats().completed, 30);
    multi.drain().await.unwrap();
    assert_eq!(multi.submit(async {}).await.unwrap_err().reason(), Refused::Closed);
    multi.reopen().unwrap();
    assert_eq!(multi.spawn(async { 7 }).await.unwrap().await.unwrap(), 7);
}

#[tokio::test]
async fn a_call_that_is_not_awaited_does_nothing() {
    let multi = built(2, 1, WhenFull::Wait, Balance::RoundRobin);
    drop(multi.submit(async {}));
    drop(multi.spawn(async {}));
    assert_eq!(accepted(&multi), [0, 0]);
    multi.submit(async {}).await.unwrap();
    assert_eq!(accepted(&multi), [1, 0], "no turn was taken");
}

#[tokio::test]
async fn a_future_falls_over_from_a_full_shard_to_the_least_loaded() {
    let multi = built(3, 1, WhenFull::Wait, Balance::RoundRobin);
    let held = hold(&multi, &[0, 0, 1]);
    multi.submit(pending()).await.unwrap();
    assert_eq!(accepted(&multi), [2, 1, 1], "shard 0 had its turn and no place");
    assert_eq!(multi.stats().refused, 0, "the future was not refused");
    let_go(&held);
}

#[tokio::test]
async fn a_future_that_every_shard_refuses_comes_back() {
    for balance in EVERY_BALANCE {
        let multi = built(2, 0, WhenFull::Refuse, balance);
        let held = hold(&multi, &[0, 1]);
        let token = Arc::new(());
        let task = || {
            let token = Arc::clone(&token);
            async move { drop(token) }
        };
        let error = multi.try_submit(task()).unwrap_err();
        assert_eq!((error.reason(), Arc::strong_count(&token)), (Refused::Full, 2));
        error.into_task().await;
        let error = multi.submit(task()).await.unwrap_err();
        assert_eq!((error.reason(), Arc::strong_count(&token)), (Refused::Full, 2));
        error.into_task().await;
        assert_eq!(multi.spawn(async { 1 }).await.unwrap_err().into_task().await, 1);
        assert_eq!(multi.try_spawn(async { 2 }).unwrap_err().into_task().await, 2);
        assert_eq!(multi.stats().refused, 4, "{balance:?}: each future once");
        let_go(&held);
        multi.drain().await.unwrap();
    }
}

#[tokio::test]
async fn a_submitter_waits_at_the_least_loaded_shard_and_may_give_up() {
    let multi = built(2, 1, WhenFull::Wait, Balance::RoundRobin);
    let (first, second) = (&multi.shards()[0], &multi.shards()[1]);
    first.resize(2).unwrap();
    let held = hold(&multi, &[0, 0, 0, 1, 1]);
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    {
        let mut given_up = pin!(multi.submit(async move { drop(kept) }));
        assert!(poll_once(given_up.as_mut()).is_pending());
        assert_eq!((first.waiting(), second.waiting()), (0, 1), "three here, two there");
    }
    assert_eq!((second.waiting(), Arc::strong_count(&token)), (0, 1), "its future is dropped");
    let mut waits = pin!(multi.spawn(async { "entered" }));
    assert!(poll_once(waits.as_mut()).is_pending());
    assert_eq!((first.waiting(), second.waiting()), (0, 1));
    let_go(&held);
    assert_eq!(waits.await.unwrap().await.unwrap(), "entered");
    multi.drain().await.unwrap();
    assert_eq!((accepted(&multi), multi.stats().refused), (vec![3, 3], 0));
}

#[tokio::test]
async fn close_sends_a_waiting_submitter_away_with_its_future() {
    let multi = built(2, 0, WhenFull::Wait, Balance::LeastLoaded);
    let held = hold(&multi, &[0, 1]);
    let mut waits = pin!(multi.spawn(async { 5 }));
    assert!(poll_once(waits.as_mut()).is_pending());
    multi.close();
    let error = waits.await.unwrap_err();
    assert_eq!(error.reason(), Refused::Closed);
    assert_eq!(error.into_task().await, 5);
    let_go(&held);
    multi.drain().await.unwrap();
}

#[tokio::test]
async fn a_closed_shard_is_passed_over() {
    for balance in EVERY_BALANCE {
        let multi = built(3, 100, WhenFull::Wait, balance);
        multi.shards()[0].drain().await.unwrap();
        for _ in 0..30 {
            multi.submit(async {}).await.unwrap();
        }
        multi.wait_idle().await.unwrap();
        let seen = accepted(&multi);
        assert_eq!((seen[0], seen.iter().sum::<u64>()), (0, 30), "{balance:?}");
        assert_eq!(multi.stats().refused, 0, "{balance:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_submits_to_its_own_shards_without_waiting_however_full_they_are() {
    for balance in EVERY_BALANCE {
        let multi = built(2, 0, WhenFull::Wait, balance);
        let door = Arc::new(Semaphore::new(0));
        // Both run before either submits; then each would wait for the other for ever.
        let mut parents = Vec::new();
        for shard in multi.shards() {
            let (own, door) = (multi.clone(), Arc::clone(&door));
            let parent = async move {
                drop(door.acquire().await.unwrap());
                let mut sum = 0;
                for number in 0..10 {
                    own.submit(async {}).await.unwrap();
                    sum += own.spawn(async move { number }).await.unwrap().await.unwrap();
                }
                sum
            };
            parents.push(shard.spawn(parent).await.unwrap());
        }
        door.add_permits(1);
        for parent in parents {
            let sum = tokio::time::timeout(PATIENCE, parent).await.expect("nobody waits for ever");
            assert_eq!(sum.unwrap(), 45);
        }
        multi.drain().await.unwrap();
        assert_eq!((multi.stats().completed, multi.stats().refused), (42, 0), "{balance:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_future_runs_once_and_never_more_than_the_shards_together_allow() {
    for balance in EVERY_BALANCE {
        let make = || AsyncPool::builder().workers(2).queue(1).build();
        let multi = Multi::try_new(3, balance, make).unwrap();
        let counts = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let producers: Vec<_> = (0..4)
            .map(|_| tokio::spawn(produce(multi.clone(), Arc::clone(&counts), 250)))
            .collect();
        for producer in producers {
            producer.await.unwrap();
        }
        multi.drain().await.unwrap();
        let [running, most, ran] = &*counts;
        assert_eq!((running.load(Ordering::SeqCst), ran.load(Ordering::SeqCst)), (0, 2000));
        assert!(most.load(Ordering::SeqCst) <= 6, "{balance:?}: {most:?} at once");
        let stats = multi.stats();
        assert_eq!((stats.completed, stats.refused, stats.waiting), (2000, 0, 0), "{balance:?}");
    }
}

/// Submits and spawns futures that count themselves: running, the most at once, and all.
async fn produce(multi: Multi<AsyncPool>, counts: Arc<[AtomicUsize; 3]>, rounds: usize) {
    let task = || {
        let counts = Arc::clone(&counts);
        async move {
            let [running, most, ran] = &*counts;
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            ran.fetch_add(1, Ordering::SeqCst);
            running.fetch_sub(1, Ordering::SeqCst);
        }
    };
    for _ in 0..rounds {
        multi.submit(task()).await.expect("the shards are open");
        drop(multi.spawn(task()).await.expect("the shards are open"));
    }
}

#[tokio::test]
async fn arguments_fall_over_wait_and_come_back() {
    let door = Arc::new(Semaphore::new(0));
    let make = || {
        let door = Arc::clone(&door);
        AsyncFnPool::builder().workers(1).queue(0).build(move |number: u32| {
            let door = Arc::clone(&door);
            async move {
                drop(door.acquire().await);
                number + 1
            }
        })
    };
    let multi = Multi::try_new(2, Balance::RoundRobin, make).unwrap();
    let one = multi.shards()[0].try_spawn(1).unwrap();
    let two = multi.spawn(2).await.unwrap();
    assert_eq!(accepted(&multi), [1, 1], "shard 0 had its turn and no place");
    let error = multi.try_submit(3).unwrap_err();
    assert_eq!((error.reason(), error.into_task()), (Refused::Full, 3));
    assert_eq!(multi.try_spawn(4).unwrap_err().into_task(), 4);
    assert_eq!(multi.stats().refused, 2, "each argument once");
    let mut three = pin!(multi.submit(3));
    assert!(poll_once(three.as_mut()).is_pending());
    door.add_permits(1);
    three.await.unwrap();
    assert_eq!((one.await.unwrap(), two.await.unwrap()), (2, 3));
    assert_eq!(multi.spawn(4).await.unwrap().await.unwrap(), 5);
    multi.drain().await.unwrap();
    assert_eq!(multi.submit(6).await.unwrap_err().into_task(), 6);
}

#[test]
fn a_thread_waits_for_a_place_in_one_of_the_shards() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let make = || {
        let builder = AsyncPool::builder().workers(1).queue(0);
        builder.runtime(runtime.handle().clone()).build()
    };
    let multi = Multi::try_new(2, Balance::RoundRobin, make).unwrap();
    let held = hold(&multi, &[0, 1]);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let multi = &multi;
        let sends = async move { sender.send("ran").unwrap() };
        let submitter = scope.spawn(move || multi.blocking_submit(sends).map_err(|_| ()));
        eventually("it waits", || multi.stats().waiting == 1);
        let_go(&held);
        submitter.join().unwrap().unwrap();
    });
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok("ran"));
    common::block_on(multi.drain()).unwrap();
    assert_eq!(multi.stats().workers, 0);
}

#[tokio::test]
async fn a_panic_is_told_with_the_line_that_submitted_to_the_shards() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let make = || {
        let lines = Arc::clone(&lines);
        let note = move |panic: &formic::TaskPanic| {
            lines.lock().unwrap().push(panic.submitted_at().map(Location::line));
        };
        AsyncPool::builder().workers(1).queue(0).on_panic(note).build()
    };
    let multi = Multi::try_new(2, Balance::RoundRobin, make).unwrap();
    let held = hold(&multi, &[0]);
    let (_, here) = (multi.submit(async { panic!("as it should") }).await.unwrap(), line!());
    multi.shards()[1].wait_idle().await.unwrap();
    assert_eq!(*lines.lock().unwrap(), [Some(here)]);
    let_go(&held);
}

/// As the test of the same name for closures: `y` awaits `x`, whose shard is closed, while `x` submits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_future_whose_own_shard_is_closed_does_not_wait_at_another() {
    for balance in EVERY_BALANCE {
        let multi = built(2, 1, WhenFull::Wait, balance);
        let (go, came) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (inside, first) = (multi.clone(), multi.clone());
        let (its_go, its_came) = (Arc::clone(&go), Arc::clone(&came));
        let y = multi.shards()[0].try_spawn(async move {
            let x = first.shards()[1].try_spawn(async move {
                its_came.add_permits(1);
                its_go.acquire().await.unwrap().forget();
                inside.submit(async {}).await.map_err(|error| error.reason())
            });
            x.unwrap().await.unwrap()
        });
        came.acquire().await.unwrap().forget();
        multi.shards()[0].try_submit(async {}).unwrap();
        multi.shards()[1].close();
        go.add_permits(1);
        let outcome = tokio::time::timeout(PATIENCE, y.unwrap()).await.expect("it does not hang");
        assert_eq!(outcome.unwrap(), Ok(()));
        multi.drain().await.unwrap();
        assert_eq!(accepted(&multi).iter().sum::<u64>(), 4);
    }
}

#[tokio::test]
async fn a_drain_that_is_out_of_time_tells_what_is_left_in_which_shard() {
    let multi = built(3, 1, WhenFull::Wait, Balance::RoundRobin);
    let held = hold(&multi, &[1, 1]);
    multi.shards()[2].submit(async {}).await.unwrap();
    let errors = multi.drain_timeout(Duration::from_millis(5)).await.unwrap_err();
    let left: Vec<_> =
        errors.into_iter().map(|(shard, left)| (shard, left.running(), left.queued())).collect();
    assert_eq!((left, multi.is_closed()), (vec![(1, 1, 1)], true));
    let_go(&held);
    multi.drain_timeout(PATIENCE).await.unwrap();
    multi.reopen().unwrap();
    assert_eq!(multi.stats().cancelled, 2);
}

#[tokio::test]
async fn shards_of_a_function_are_drained_in_time_or_tell_what_is_left() {
    let make = || AsyncFnPool::new(1, |()| pending::<()>());
    let multi = Multi::new(2, Balance::RoundRobin, make);
    let endless = multi.spawn(()).await.unwrap();
    let errors = multi.drain_timeout(Duration::from_millis(5)).await.unwrap_err();
    assert_eq!((errors.len(), errors.iter().next().unwrap().0), (1, 0));
    assert!(endless.cancel());
    multi.wait_idle().await.unwrap();
    multi.drain().await.unwrap();
}

#[tokio::test]
async fn a_future_cannot_wait_for_the_shards_it_runs_in_and_closes_none() {
    let multi = built(2, 0, WhenFull::Wait, Balance::RoundRobin);
    for number in 0..2 {
        let inner = multi.clone();
        let refused = multi.shards()[number].spawn(async move {
            let waits =
                [inner.wait_idle().await, inner.drain().await, inner.drain_timeout(PATIENCE).await];
            let of = |errors: formic::ShardErrors<formic::StillRunning>| {
                let each = errors.into_iter().map(|(shard, left)| (shard, left.is_from_inside()));
                each.collect::<Vec<_>>()
            };
            waits.map(|outcome| of(outcome.unwrap_err()))
        });
        let refused = refused.await.unwrap().await.unwrap();
        assert!(refused.iter().all(|errors| *errors == [(number, true)]), "{refused:?}");
        assert!(multi.shards().iter().all(|shard| !shard.is_closed()));
    }
}
