//! Confirmations that are late, connections that are cut, and messages that come again.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use formic::FnPool;
use formic_nats::async_nats::ConnectOptions;
use formic_nats::{ConsumeError, Consumer, JetStream, Job, Message, Verdict};

use crate::common::{Server, patiently, quick, until};
use crate::proxy::Proxy;

/// The server has taken the negative acknowledgement, and delivers the message again before the consumer has heard of that.
#[tokio::test]
async fn a_redelivery_overtakes_the_confirmation_of_its_retry() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(&server).await;
    let source = JetStream::connect(&proxy.url(), "jobs").await.unwrap();
    let (begun, has_begun) = mpsc::channel();
    let pool = FnPool::new(2, move |attempt: u64| {
        begun.send(attempt).unwrap();
        match attempt {
            1 => Verdict::RetryAfter("again".into(), Duration::ZERO),
            _ => Verdict::Done,
        }
    });
    let decode = |message: &Message| Ok::<_, String>(message.attempt());
    // What is not handled at once would be handled when the test is long over.
    let consumer = quick(Consumer::with_decoder(pool, &source, decode)).attempts(2);
    let consumer = consumer.ack_wait(Duration::from_secs(600));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    proxy.withhold_confirmations(true);
    source.jobs().send(&1).await.unwrap();
    until("the second attempt", async || monitor.stats().redelivered == 1).await;
    until("its start", async || has_begun.try_iter().any(|attempt| attempt == 2)).await;
    proxy.withhold_confirmations(false);
    patiently(source.empty()).await;
    monitor.stop();
    let summary = run.await.unwrap().unwrap();
    assert!(summary.is_clean(), "{summary:?}");
    assert_eq!((summary.stats.retried, summary.stats.done, summary.stats.dead), (1, 1, 0));
}

#[tokio::test]
async fn an_answer_is_sent_until_it_is_confirmed() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(&server).await;
    let source = JetStream::connect(&proxy.url(), "jobs").await.unwrap();
    let consumer = quick(Consumer::new(FnPool::new(2, |_: u64| ()), &source));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    proxy.withhold_confirmations(true);
    source.jobs().send(&1).await.unwrap();
    until("an answer", async || monitor.stats().settling == 1).await;
    patiently(source.empty()).await; // the server has it, and the consumer does not know that
    assert_eq!((monitor.stats().done, monitor.stats().settling), (0, 1));
    proxy.withhold_confirmations(false);
    until("the confirmation", async || monitor.stats().done == 1).await;
    monitor.stop();
    assert!(run.await.unwrap().unwrap().is_clean());
    assert_eq!(monitor.stats().settling, 0);
}

/// The server stays, and each connection is cut again and again.
#[tokio::test]
async fn a_connection_that_is_cut_loses_nothing() {
    const JOBS: u64 = 400;
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(&server).await;
    let jobs = server.stream("jobs").await.jobs();
    jobs.publish_all((0..JOBS).map(|number| Job::new(number.to_string()))).await.unwrap();
    let source = JetStream::connect(&proxy.url(), "jobs").await.unwrap();
    let runs = Arc::new(Mutex::new(vec![0; JOBS as usize]));
    let noted = Arc::clone(&runs);
    let pool = FnPool::new(4, move |number: usize| {
        thread::sleep(Duration::from_millis(2));
        noted.lock().unwrap()[number] += 1;
    });
    let consumer = quick(Consumer::new(pool, &source)).attempts(100);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    for part in 1..=4 {
        until("a part of the work", async || monitor.stats().done >= part * JOBS / 5).await;
        proxy.cut();
    }
    until("the end", async || monitor.stats().done >= JOBS).await;
    monitor.stop();
    let summary = run.await.unwrap().unwrap();
    assert!(summary.is_clean(), "{summary:?}");
    // The server kept its state, and each answer was sent until it was confirmed. So none ran twice.
    assert!(runs.lock().unwrap().iter().all(|runs| *runs == 1), "{runs:?}");
}

#[tokio::test]
async fn a_connection_that_is_closed_for_good_ends_the_consumer() {
    let Some(mut server) = Server::start() else { return };
    let options = ConnectOptions::new().max_reconnects(1);
    let source = JetStream::builder("jobs").connect_with(&server.url(), options).await.unwrap();
    // The end does not wait for answers that no connection can carry.
    let pool = FnPool::new(2, |_: u64| ());
    let consumer = quick(Consumer::new(pool, &source)).grace(Duration::from_secs(3600));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    server.kill();
    let error = run.await.unwrap().unwrap_err();
    assert!(matches!(error, ConsumeError::Disconnected), "{error}");
}

/// Every worker and every core computes for longer than `ack_wait`. The signs of life come all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn handlers_that_use_every_core_run_once() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let workers = 2 * thread::available_parallelism().unwrap().get();
    let runs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let pool = FnPool::new(workers, move |number: u64| {
        counted.fetch_add(1, Relaxed);
        let begin = Instant::now();
        let mut sum = number;
        while begin.elapsed() < Duration::from_millis(3500) {
            sum = std::hint::black_box(sum.rotate_left(5) ^ 0x9e37);
        }
    });
    let jobs = workers as u64;
    for number in 0..jobs {
        source.jobs().send(&number).await.unwrap();
    }
    let consumer = quick(Consumer::new(pool, &source)).ack_wait(Duration::from_secs(1));
    let stats = consumer.run_until(source.empty()).await.unwrap().stats;
    assert_eq!((stats.done, stats.delivered, runs.load(Relaxed)), (jobs, jobs, jobs));
}
