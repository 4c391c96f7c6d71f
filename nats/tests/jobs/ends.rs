//! Stop, drain, deadlines, signals.

use std::future::pending;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use formic::{AsyncFnPool, FnPool};
use formic_nats::{Consumer, Job, Jobs, Memory, Source};

use crate::common::{Log, Server, Worker, empty, patiently, quick, send_signal, until, wait_for};

#[tokio::test]
async fn what_has_not_started_is_given_back_and_what_runs_is_waited_for() {
    let source = Memory::new();
    for number in 0..5 {
        source.jobs().send(&number).await.unwrap();
    }
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(1, move |_: u64| {
        door.lock().unwrap().recv().ok();
    });
    let consumer = quick(Consumer::new(pool, &source)).ahead(10);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("all of them", async || monitor.stats().delivered == 5).await;
    monitor.stop();
    until("four of them back", async || monitor.stats().returned == 4).await;
    assert!(!run.is_finished());
    open.send(()).unwrap();
    let summary = run.await.unwrap().unwrap();
    assert!(summary.is_clean());
    assert_eq!((summary.stats.done, source.len()), (1, 4));
}

/// To give a message back costs it an attempt, because sources count deliveries. A message that has no other attempt is
/// handled instead.
async fn a_last_attempt_is_not_given_back(source: Source) {
    for number in 0..5 {
        Jobs::new(&source).send(&number).await.unwrap();
    }
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(1, move |_: u64| {
        door.lock().unwrap().recv().ok();
    });
    let consumer = quick(Consumer::new(pool, &source)).attempts(1).ahead(10);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("all of them", async || monitor.stats().delivered == 5).await;
    monitor.stop();
    drop(open);
    let summary = run.await.unwrap().unwrap();
    assert!(summary.is_clean());
    assert_eq!((summary.stats.done, summary.stats.returned, summary.stats.dead), (5, 0, 0));
    empty(source).await;
}

#[tokio::test]
async fn a_last_attempt_is_not_given_back_to_memory() {
    a_last_attempt_is_not_given_back(Memory::new().into()).await;
}

#[tokio::test]
async fn a_last_attempt_is_not_given_back_to_a_server() {
    let Some(server) = Server::start() else { return };
    a_last_attempt_is_not_given_back(server.stream("jobs").await.into()).await;
}

/// Consumers that stop in the middle of their pulls. A message that the server had sent and that was not given back would
/// wait for longer than the test.
#[tokio::test]
async fn a_stop_gives_back_what_is_on_its_way() {
    const JOBS: u64 = 3_000;
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let jobs = (0..JOBS).map(|number| Job::new(number.to_string()));
    source.jobs().publish_all(jobs).await.unwrap();
    let consumer = || {
        let consumer = quick(Consumer::new(FnPool::new(16, |_: u64| ()), &source)).ahead(64);
        consumer.attempts(1_000).ack_wait(Duration::from_secs(3_600))
    };
    let mut done = 0;
    for round in 1..=20 {
        let consumer = consumer();
        let monitor = consumer.monitor();
        let busy = async move {
            while monitor.stats().done < 5 * round % 40 {
                tokio::task::yield_now().await;
            }
        };
        let summary = consumer.run_until(busy).await.unwrap();
        assert!(summary.is_clean(), "{summary:?}");
        done += summary.stats.done;
    }
    let consumer = consumer();
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the end", async || monitor.stats().done + done >= JOBS).await;
    monitor.stop();
    assert_eq!(run.await.unwrap().unwrap().stats.done + done, JOBS);
}

#[tokio::test]
async fn a_future_is_dropped_at_the_deadline_and_its_message_given_back() {
    let source = Memory::new();
    source.jobs().send(&1).await.unwrap();
    let pool = AsyncFnPool::new(1, |_: u64| pending::<()>());
    let consumer = quick(Consumer::new(pool, &source)).grace(Duration::from_millis(20));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the handler", async || monitor.stats().running == 1).await;
    monitor.stop();
    let summary = run.await.unwrap().unwrap();
    assert_eq!((summary.left, summary.stats.returned, source.len()), (0, 1, 1));
}

#[tokio::test]
async fn a_thread_that_does_not_stop_is_left_behind_and_said_so() {
    let source = Memory::new();
    source.jobs().send(&1).await.unwrap();
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(1, move |_: u64| {
        door.lock().unwrap().recv().ok();
    });
    let consumer = quick(Consumer::new(pool, &source)).grace(Duration::ZERO);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the handler", async || monitor.stats().running == 1).await;
    monitor.stop();
    let summary = run.await.unwrap().unwrap();
    assert!(summary.left == 1 && !summary.is_clean());
    drop(open);
}

#[tokio::test]
async fn a_dropped_run_stops_the_consumer() {
    let source = Memory::new();
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| ()), &source));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    run.abort();
    drop(run.await);
    until("the stop", async || {
        source.jobs().send(&1).await.unwrap();
        let delivered = monitor.stats().delivered;
        tokio::task::yield_now().await;
        source.len() > 3 && monitor.stats().delivered == delivered
    })
    .await;
}

#[tokio::test]
async fn a_dropped_run_gives_back_what_has_not_started() {
    let source = Memory::new();
    for number in 0..3_u64 {
        source.jobs().send(&number).await.unwrap();
    }
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(1, move |_: u64| {
        door.lock().unwrap().recv().ok();
    });
    // What is not given back would come again when the test is long over.
    let consumer = quick(Consumer::new(pool, &source)).ahead(10);
    let consumer = consumer.ack_wait(Duration::from_secs(3_600));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("all of them", async || monitor.stats().delivered == 3).await;
    run.abort();
    drop(run.await);
    drop(open);
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| ()), &source));
    consumer.run_until(source.empty()).await.unwrap();
    assert_eq!(monitor.stats().returned, 2);
}

/// Drain under load: a process that gets SIGTERM in the middle finishes what it has started, and nothing is handled twice.
#[tokio::test]
async fn a_process_that_is_terminated_drains() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let jobs = (0..1000_u64).map(|number| Job::new(number.to_string()));
    source.jobs().publish_all(jobs).await.unwrap();
    let log = Log::new();
    let mut first = Worker::start(&server, "jobs", "many:2", &log);
    wait_for("a part of the work", || (log.counts("end ").len() > 200).then_some(()));
    send_signal(&first.child, "-TERM");
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    let (started, ended) = (log.counts("start "), log.counts("end "));
    assert_eq!(started, ended);
    assert!(started.len() < 1000, "it was to be stopped in the middle");

    let second = Worker::start(&server, "jobs", "many:0", &log);
    patiently(source.empty()).await;
    let ended = log.counts("end ");
    assert!(ended.len() == 1000 && ended.values().all(|times| *times == 1));
    drop(second);
}
