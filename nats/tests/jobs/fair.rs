//! Places and shares: what is fetched can start.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use formic::FnPool;
use formic_nats::{Consumer, Jobs, Memory, Source};

use crate::common::{Log, Server, Worker, quick, until, wait_for};

/// Publishes ten, and blocks both workers of a pool that could queue a hundred more.
async fn never_more_than_the_free_workers_are_fetched(source: Source) {
    let jobs = Jobs::new(&source);
    for number in 0..10 {
        jobs.send(&number).await.unwrap();
    }
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::builder().workers(2).queue(100);
    let pool = pool
        .build(move |_: u64| {
            door.lock().unwrap().recv().ok();
        })
        .unwrap();
    let consumer = quick(Consumer::new(pool.clone(), &source));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    for step in 0..9 {
        until("both handlers", async || monitor.stats().delivered == step + 2).await;
        let lag = monitor.lag().await.unwrap();
        assert_eq!(lag.waiting, 8 - step, "{lag:?}");
        // A message that was just given to a free worker counts as queued until the worker has taken it.
        let stats = pool.stats();
        assert!(stats.queued + stats.busy <= 2, "{stats:?}");
        open.send(()).unwrap();
    }
    drop(open);
    until("the end", async || monitor.lag().await.unwrap().is_empty()).await;
    monitor.stop();
    assert_eq!(run.await.unwrap().unwrap().stats.done, 10);
}

#[tokio::test]
async fn never_more_than_the_free_workers_are_fetched_from_memory() {
    never_more_than_the_free_workers_are_fetched(Memory::new().into()).await;
}

#[tokio::test]
async fn never_more_than_the_free_workers_are_fetched_from_a_server() {
    let Some(server) = Server::start() else { return };
    never_more_than_the_free_workers_are_fetched(server.stream("jobs").await.into()).await;
}

#[tokio::test]
async fn places_that_are_not_used_go_back_to_the_pool() {
    let pool = FnPool::builder().workers(1).queue(0).build(|_: u64| ()).unwrap();
    let consumer = Consumer::new(pool.clone(), Memory::new()).expiry(Duration::from_millis(50));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    let other = pool.clone();
    // The consumer holds the only place, with nothing to put in it, until its pull is over.
    tokio::task::spawn_blocking(move || other.call(1).unwrap()).await.unwrap();
    monitor.stop();
    assert!(run.await.unwrap().unwrap().is_clean());
}

#[tokio::test]
async fn two_processes_share_long_jobs() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let log = Log::new();
    let workers = [0, 1].map(|_| Worker::start(&server, "jobs", "sleep:300", &log));
    wait_for("both workers", || (log.counts("ready ").len() == 2).then_some(()));
    let monitor = Consumer::new(FnPool::new(1, |_: u64| ()), &source).monitor();
    // Both have a pull open once the server knows two consumers' pulls; the first jobs show it.
    for number in 0..16 {
        source.jobs().send(&number).await.unwrap();
    }
    until("the end", async || monitor.lag().await.is_ok_and(|lag| lag.is_empty())).await;
    let lines = log.lines();
    let pids = workers.each_ref().map(|worker| worker.child.id().to_string());
    let share = |pid: &String| {
        lines
            .iter()
            .filter(|line| line.starts_with("start") && line.ends_with(pid.as_str()))
            .count()
    };
    let shares = pids.each_ref().map(share);
    assert_eq!(shares[0] + shares[1], 16);
    // Two places each. A process that had hoarded jobs would have most of them.
    assert!(shares[0].abs_diff(shares[1]) <= 4, "{shares:?}");
}

#[tokio::test]
async fn partitions_are_shared_by_processes_and_kept_in_order() {
    let Some(server) = Server::start() else { return };
    let partitions = formic_nats::JetStream::builder("jobs").partitions(4);
    let source = server.open(partitions).await;
    let log = Log::new();
    let workers = [0, 1].map(|_| Worker::start(&server, "jobs", "sleep:5/4", &log));
    wait_for("both workers", || (log.counts("ready ").len() == 2).then_some(()));
    for number in 0..60_u64 {
        let job = formic_nats::Job::new(number.to_string()).key((number % 4).to_string());
        source.jobs().publish(job).await.unwrap();
    }
    source.empty().await;
    let mut last = [None; 4];
    let mut running = [false; 4];
    for line in log.lines() {
        let mut words = line.split(' ');
        let (event, number) = (words.next().unwrap(), words.next().unwrap());
        let number: u64 = number.parse().unwrap();
        let key = usize::try_from(number % 4).unwrap();
        match event {
            "start" => {
                assert!(!running[key], "{line}");
                assert!(last[key].is_none_or(|last| last < number), "{line}");
                (running[key], last[key]) = (true, Some(number));
            }
            "end" => running[key] = false,
            _ => {}
        }
    }
    drop(workers);
}
