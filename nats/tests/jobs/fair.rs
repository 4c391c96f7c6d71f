//! Places and shares: what is fetched can start.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use formic::FnPool;
use formic_nats::{Consumer, Jobs, Memory, Source};

use crate::common::{Log, Server, Worker, patiently, quick, send_signal, until, wait_for};

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

/// A pool that others keep busy: its queue has room, and the messages would wait there.
#[tokio::test]
async fn no_more_is_fetched_than_the_workers_that_others_leave() {
    let source = Memory::new();
    for number in 0..10_u64 {
        source.jobs().send(&number).await.unwrap();
    }
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::builder().workers(4).queue(100);
    let pool = pool
        .build(move |number: u64| {
            if number >= 100 {
                door.lock().unwrap().recv().ok();
            }
        })
        .unwrap();
    for number in 100..108 {
        pool.submit(number).unwrap();
    }
    let consumer = quick(Consumer::new(pool, &source));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    // One message waits in the queue, so that others cannot keep the consumer out for ever.
    until("one message", async || monitor.stats().delivered == 1).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(10)).await; // time to do the wrong thing
        assert_eq!(monitor.stats().delivered, 1);
    }
    drop(open);
    until("the end", async || monitor.stats().done == 10).await;
    monitor.stop();
    assert!(run.await.unwrap().unwrap().is_clean());
}

/// The server stands still until the pulls are given up, and then has both those and the new ones.
#[tokio::test]
async fn a_pull_that_was_given_up_fetches_nothing() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(4, move |_: u64| {
        door.lock().unwrap().recv().ok();
    });
    let consumer = quick(Consumer::new(pool, &source)).expiry(Duration::from_secs(30));
    let consumer = consumer.ack_wait(Duration::from_secs(600));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    server.signal("-STOP");
    until("a second pull", async || monitor.stats().pulls > 1).await;
    server.signal("-CONT");
    let publisher = server.stream("jobs").await; // a connection of its own, which the server has answered
    for number in 0..20 {
        publisher.jobs().send(&number).await.unwrap();
    }
    until("four messages", async || monitor.stats().delivered >= 4).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(10)).await; // time to do the wrong thing
        assert_eq!(monitor.stats().delivered, 4);
    }
    drop(open);
    until("the end", async || monitor.stats().done == 20).await;
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
    for number in 0..16 {
        source.jobs().send(&number).await.unwrap();
    }
    patiently(source.empty()).await;
    let lines = log.lines();
    let pids = workers.each_ref().map(|worker| worker.child.id().to_string());
    let starts = |pid: &String| {
        let of = |line: &&String| line.starts_with("start") && line.ends_with(pid.as_str());
        lines.iter().filter(of).count()
    };
    let shares = pids.each_ref().map(starts);
    assert_eq!(shares[0] + shares[1], 16);
    // Two places each. A process that had hoarded jobs would have most of them.
    assert!(shares[0].abs_diff(shares[1]) <= 4, "{shares:?}");
    drop(workers);
}

/// The one process is stopped in the middle of its jobs. It holds those that run, and no other: all others are handled by the
/// process that is left, although the first one never comes back.
#[tokio::test]
async fn no_job_sits_in_one_process_while_the_other_is_idle() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let log = Log::new();
    let workers = [0, 1].map(|_| Worker::start(&server, "jobs", "sleep:400", &log));
    wait_for("both workers", || (log.counts("ready ").len() == 2).then_some(()));
    for number in 0..12 {
        source.jobs().send(&number).await.unwrap();
    }
    let frozen = workers[0].child.id().to_string();
    let runs_there = |lines: &[String]| {
        let of = |beginning: &str| {
            let of = |line: &&String| line.starts_with(beginning) && line.ends_with(&frozen);
            lines.iter().filter(of).count()
        };
        of("start ") - of("end ")
    };
    wait_for("two jobs there", || (runs_there(&log.lines()) == 2).then_some(()));
    send_signal(&workers[0].child, "-STOP");
    // The jobs of the stopped process come again after `ack_wait`. Until then only two are missing.
    wait_for("the others", || {
        let lines = log.lines();
        let ended = log.counts("end ").len();
        (ended + runs_there(&lines) >= 12).then_some(())
    });
    let redelivered = log.counts("start ").values().filter(|starts| **starts > 1).count();
    assert!(redelivered <= 2, "{redelivered} jobs had sat in the process that was stopped");
    drop(workers);
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
    patiently(source.empty()).await;
    let took_part = |worker: &Worker| {
        let pid = worker.child.id().to_string();
        log.lines().iter().any(|line| line.starts_with("start") && line.ends_with(&pid))
    };
    assert!(workers.iter().all(took_part), "one process had all partitions");
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
