//! Tasks come from everywhere, while shards are closed, opened and resized by themselves: each task
//! runs once, or comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{self, Random};
use formic::{Balance, Multi, Pool, WhenFull};

const SHARDS: u64 = 3;

/// What the tasks and their submitters have seen.
#[derive(Default)]
struct Seen {
    accepted: AtomicU64,
    back: AtomicU64,
    ran: AtomicU64,
}

impl Seen {
    fn note<T, E>(&self, outcome: &Result<T, E>) {
        let count = if outcome.is_ok() { &self.accepted } else { &self.back };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

fn task(seen: &Arc<Seen>) -> impl FnOnce() + Send + 'static {
    let seen = Arc::clone(seen);
    move || {
        seen.ran.fetch_add(1, Ordering::Relaxed);
    }
}

/// A task that submits another one to the shards it runs in.
fn nested(multi: &Multi<Pool>, seen: &Arc<Seen>) -> impl FnOnce() + Send + 'static {
    let (multi, seen) = (multi.clone(), Arc::clone(seen));
    move || {
        seen.note(&multi.submit(task(&seen)));
        seen.ran.fetch_add(1, Ordering::Relaxed);
    }
}

fn produce(multi: &Multi<Pool>, seen: &Arc<Seen>, mut random: Random) {
    for _ in 0..2_000 {
        match random.below(5) {
            0 => seen.note(&multi.try_submit(task(seen))),
            1 => seen.note(&multi.spawn(task(seen))),
            2 => seen.note(&multi.try_spawn(task(seen))),
            3 => seen.note(&multi.submit(nested(multi, seen))),
            _ => seen.note(&multi.submit(task(seen))),
        }
    }
}

fn meddle(multi: &Multi<Pool>, random: &mut Random) {
    let shard = &multi.shards()[random.below(SHARDS) as usize];
    match random.below(3) {
        0 => {
            shard.drain().expect("this is no task");
            shard.reopen().expect("it was drained, and nobody else opens it");
        }
        1 => shard.resize(1 + random.below(3) as usize).expect("a sound capacity"),
        _ => assert!(multi.stats().adds_up()),
    }
}

fn round(random: &mut Random) {
    let balance = [Balance::RoundRobin, Balance::LeastLoaded, Balance::PowerOfTwo];
    let balance = balance[random.below(3) as usize];
    let policy = [WhenFull::Wait, WhenFull::Refuse][random.below(2) as usize];
    let queue = random.below(8) as usize;
    println!("{balance:?}, {policy:?}, queue of {queue}");
    let make = || Pool::builder().workers(2).queue(queue).when_full(policy).build();
    let multi = Multi::try_new(SHARDS as usize, balance, make).expect("the settings are sound");
    let (seen, over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
    let producers: Vec<_> = (0..3)
        .map(|_| {
            let (multi, seen, random) = (multi.clone(), Arc::clone(&seen), Random(random.next()));
            std::thread::spawn(move || produce(&multi, &seen, random))
        })
        .collect();
    let meddler = {
        let (multi, over, mut random) = (multi.clone(), Arc::clone(&over), Random(random.next()));
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                meddle(&multi, &mut random);
            }
        })
    };
    producers.into_iter().for_each(common::join);
    over.store(true, Ordering::Relaxed);
    common::join(meddler);
    multi.wait_idle().expect("this is no task");
    multi.drain().expect("this is no task");
    let stats = multi.stats();
    let [accepted, back, ran] =
        [&seen.accepted, &seen.back, &seen.ran].map(|count| count.load(Ordering::Relaxed));
    assert_eq!((ran, stats.completed, stats.accepted), (accepted, accepted, accepted));
    assert_eq!(stats.refused, back, "each refused task is counted once");
    assert!(stats.adds_up());
}

#[test]
fn each_task_runs_once_or_comes_back_whatever_happens_to_the_shards() {
    let mut random = Random(common::seed("each_task_runs_once_or_comes_back"));
    let end = Instant::now() + common::stress_time(Duration::from_millis(500));
    loop {
        round(&mut random);
        if Instant::now() > end {
            break;
        }
    }
}
