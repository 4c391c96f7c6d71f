//! Processes and servers that die, or stand still.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use formic::FnPool;
use formic_nats::async_nats::jetstream;
use formic_nats::{Consumer, Dead, JetStream, Job};
use futures_util::StreamExt;

use crate::common::{Log, Server, Worker, patiently, quick, send_signal, until, wait_for};

#[tokio::test]
async fn the_messages_of_a_killed_process_are_handled_by_another() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let log = Log::new();
    let mut first = Worker::start(&server, "jobs", "sleep:60000", &log);
    for number in 0..2_u64 {
        source.jobs().send(&number).await.unwrap();
    }
    wait_for("both handlers", || (log.counts("start ").len() == 2).then_some(()));
    first.kill();
    let second = Worker::start(&server, "jobs", "sleep:0", &log);
    patiently(source.empty()).await;
    assert_eq!(log.counts("end "), HashMap::from([("0".into(), 1), ("1".into(), 1)]));
    assert_eq!(log.counts("start "), HashMap::from([("0".into(), 2), ("1".into(), 2)]));
    drop(second);
}

#[tokio::test]
async fn a_server_that_is_killed_and_restarted_loses_nothing() {
    let Some(mut server) = Server::start() else { return };
    if !server.redelivers_after_a_kill().await {
        return;
    }
    let source = server.stream("jobs").await;
    let jobs = (0..600_u64).map(|number| Job::new(number.to_string()));
    source.jobs().publish_all(jobs).await.unwrap();
    let runs = Arc::new(Mutex::new(HashMap::<u64, u64>::new()));
    let noted = Arc::clone(&runs);
    let pool = FnPool::new(4, move |number: u64| {
        thread::sleep(Duration::from_millis(2));
        *noted.lock().unwrap().entry(number).or_default() += 1;
    });
    let consumer = quick(Consumer::new(pool, &source));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("a part of the work", async || monitor.stats().done > 100).await;
    server.kill();
    server.launch();
    patiently(source.empty()).await;
    monitor.stop();
    let summary = run.await.unwrap().unwrap();
    assert!(summary.is_clean(), "{summary:?}");
    let runs = runs.lock().unwrap();
    assert_eq!(runs.len(), 600);
    // The server stores an acknowledgement after it has confirmed it, so that a kill may undo those of the last moment.
    let twice = runs.values().filter(|runs| **runs > 1).count();
    println!("{twice} of 600 messages were handled twice");
    assert!(runs.values().all(|runs| *runs <= 2), "{runs:?}");
}

/// A server that was killed may have forgotten which messages it had delivered. It does not confirm their answers before it
/// has delivered them again, so this process has to ask for them.
#[tokio::test]
async fn partitions_go_on_after_the_server_was_killed() {
    const JOBS: u64 = 400;
    let Some(mut server) = Server::start() else { return };
    if !server.redelivers_after_a_kill().await {
        return;
    }
    let source = server.open(JetStream::builder("jobs").partitions(4)).await;
    let jobs = (0..JOBS).map(|number| Job::new(number.to_string()).key((number % 16).to_string()));
    source.jobs().publish_all(jobs).await.unwrap();
    let pool = FnPool::new(8, |_: u64| thread::sleep(Duration::from_millis(2)));
    let consumer = quick(Consumer::new(pool, &source)).attempts(100);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    for part in 1..=3 {
        until("a part of the work", async || monitor.stats().done > part * JOBS / 5).await;
        server.kill();
        server.launch();
    }
    until("the end", async || monitor.lag().await.is_ok_and(|lag| lag.is_empty())).await;
    monitor.stop();
    let summary = run.await.unwrap().unwrap();
    assert!(summary.is_clean(), "{summary:?}");
}

#[tokio::test]
async fn a_server_that_stands_still_for_longer_than_ack_wait_causes_no_second_run() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let (begun, has_begun) = mpsc::channel();
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(4, move |number: u64| {
        begun.send(number).unwrap();
        if number == 0 {
            {
                door.lock().unwrap().recv().ok();
            };
        }
    });
    let consumer = quick(Consumer::new(pool, &source)).ack_wait(Duration::from_millis(500));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    source.jobs().send(&0).await.unwrap();
    let (has_begun, first) =
        tokio::task::spawn_blocking(move || (has_begun.recv().unwrap(), has_begun))
            .await
            .map(|(first, receiver)| (receiver, first))
            .unwrap();
    assert_eq!(first, 0);
    server.signal("-STOP");
    tokio::time::sleep(Duration::from_millis(1500)).await; // this is the failure, not an order of events
    server.signal("-CONT");
    until("a later job", async || source.jobs().publish(Job::new("1").id("1")).await.is_ok()).await;
    until("its end", async || monitor.stats().done == 1).await;
    open.send(()).unwrap();
    patiently(source.empty()).await;
    monitor.stop();
    let stats = run.await.unwrap().unwrap().stats;
    assert_eq!(stats.done, 2);
    assert_eq!(has_begun.try_iter().collect::<Vec<_>>(), [1]); // and not 0 again
}

/// A message that kills its process each time: it has as many attempts as any other, and then is a dead letter.
/// Another process handles its messages. Its own answers to them come late, and it works on.
#[tokio::test]
async fn a_process_that_stands_still_for_longer_than_ack_wait_works_on() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let log = Log::new();
    // Its two places are taken, so no pull of its is open that the server could deliver the messages to again.
    let mut first = Worker::start(&server, "jobs", "long:1000", &log);
    for number in 0..2 {
        source.jobs().send(&number).await.unwrap();
    }
    wait_for("both starts", || (log.counts("start ").len() == 2).then_some(()));
    send_signal(&first.child, "-STOP");
    assert!(log.counts("end ").is_empty(), "it was stopped too late");
    let second = Worker::start(&server, "jobs", "long:1000", &log);
    patiently(source.empty()).await;
    drop(second);
    assert_eq!(log.counts("end ").len(), 2);

    send_signal(&first.child, "-CONT");
    for number in 2..4 {
        source.jobs().send(&number).await.unwrap();
    }
    patiently(source.empty()).await;
    send_signal(&first.child, "-TERM");
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    let ended = log.counts("end ");
    assert_eq!(ended.len(), 4);
    assert!(ended.iter().all(|(number, times)| {
        let most = if number == "0" || number == "1" { 2 } else { 1 };
        *times <= most
    }));
}

#[tokio::test]
async fn a_message_that_kills_its_process_becomes_a_dead_letter() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    for number in [13_u64, 1, 2] {
        source.jobs().send(&number).await.unwrap();
    }
    let log = Log::new();
    let dead = Dead::new(&source);
    let mut worker = Worker::start(&server, "jobs", "abort:0", &log);
    until("the dead letter", async || {
        if worker.child.try_wait().unwrap().is_some() {
            worker = Worker::start(&server, "jobs", "abort:0", &log); // as a supervisor does
        }
        dead.len().await.unwrap() == 1
    })
    .await;
    patiently(source.empty()).await;
    assert_eq!(log.counts("start ")["13"], 3);
    let letter = dead.list(1).await.unwrap().remove(0);
    assert_eq!(letter.reason(), "none of 3 attempts was answered");
    let ended = log.counts("end ");
    assert!(ended.contains_key("1") && ended.contains_key("2"));
}

/// The server's note about a message that it gave up may be lost. The next consumer looks for such messages when it starts.
#[tokio::test]
async fn a_message_whose_note_is_lost_becomes_a_dead_letter() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    give_up_a_message(&server, &source).await;
    let context = server.context().await;
    until("the note", async || {
        let notes = context.get_stream("jobs-lost").await.unwrap();
        notes.cached_info().state.messages == 1
    })
    .await;
    context.get_stream("jobs-lost").await.unwrap().purge().await.unwrap();
    source.jobs().send(&8).await.unwrap(); // this one is not lost
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| ()), &source)).attempts(1);
    let stats = consumer.run_until(source.empty()).await.unwrap().stats;
    assert_eq!((stats.done, stats.dead), (1, 1));
    let letter = source.dead().list(1).await.unwrap().remove(0);
    assert_eq!(letter.reason(), "the server delivers it no more");
    assert_eq!(letter.payload(), b"7");
}

/// The net under that: the server gave up the message while no process was there to hear of it.
#[tokio::test]
async fn a_message_that_the_server_gave_up_becomes_a_dead_letter() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    give_up_a_message(&server, &source).await;
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| ()), &source)).attempts(1);
    let monitor = consumer.monitor();
    consumer.run_until(source.empty()).await.unwrap();
    assert_eq!((monitor.stats().delivered, monitor.stats().dead), (0, 1));
    let letter = Dead::new(&source).list(1).await.unwrap().remove(0);
    assert_eq!(letter.reason(), "none of 2 deliveries was answered");
    assert_eq!((letter.payload(), letter.attempts()), (&b"7"[..], 2));
}

/// Publishes a message, and has the server deliver it once more than its attempts.
async fn give_up_a_message(server: &Server, source: &JetStream) {
    // It makes the consumer on the server, whose limit is one delivery more than the attempts.
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| ()), source)).attempts(1);
    consumer.run_until(async {}).await.unwrap();
    source.jobs().publish(Job::new("7").id("seven")).await.unwrap();
    let stream = server.context().await.get_stream("jobs").await.unwrap();
    let raw: jetstream::consumer::PullConsumer = stream.get_consumer("workers").await.unwrap();
    for _ in 0..2 {
        let mut batch = raw.fetch().max_messages(1).messages().await.unwrap();
        let message = match batch.next().await {
            Some(message) => message.unwrap(),
            None => {
                raw.batch().max_messages(1).messages().await.unwrap().next().await.unwrap().unwrap()
            }
        };
        message.ack_with(jetstream::AckKind::Nak(None)).await.unwrap();
    }
    let pull = raw.batch().max_messages(1).expires(Duration::from_secs(1));
    assert!(pull.messages().await.unwrap().next().await.is_none(), "there is no third delivery");
}
