//! Each failure has its outcome.

use std::sync::mpsc;
use std::time::Duration;

use formic::FnPool;
use formic_nats::{
    ConnectError, ConsumeError, Consumer, JetStream, Job, Memory, Monitor, PublishError,
};

use crate::common::{Server, quick, until};

/// Waits until the consumer has a pull open, so that a failure meets it at work.
async fn is_pulling(monitor: &Monitor) {
    until("the first pull", async || monitor.stats().pulls > 0).await;
}

#[tokio::test]
async fn no_server_is_an_error_of_connect() {
    // No server listens on this port: it was free, and is not reused while the listener is being closed.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = JetStream::connect(&format!("nats://127.0.0.1:{port}"), "jobs").await.unwrap_err();
    assert!(matches!(error, ConnectError::Connect(_)), "{error}");
}

#[tokio::test]
async fn a_full_stream_refuses_the_next_job() {
    let Some(server) = Server::start() else { return };
    let limited = JetStream::builder("few").max_messages(2);
    let jobs = server.open(limited).await.jobs();
    for number in 0..2 {
        jobs.send(&number).await.unwrap();
    }
    let error = jobs.send(&2).await.unwrap_err();
    assert!(matches!(error, PublishError::Full), "{error}");
    let limited = JetStream::builder("small").max_bytes(4096);
    let jobs = server.open(limited).await.jobs();
    let error = jobs.publish(Job::new(vec![0; 10_000])).await.unwrap_err();
    assert!(matches!(error, PublishError::Full), "{error}");
    let late = jobs.publish(Job::new("x").after(Duration::from_secs(1))).await.unwrap_err();
    assert!(matches!(late, PublishError::DelayUnsupported), "{late}");
}

#[tokio::test]
async fn a_deleted_stream_refuses_jobs_and_ends_the_consumer() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| ()), &source));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    is_pulling(&monitor).await;
    let context = server.context().await;
    context.delete_stream("jobs").await.unwrap();
    let error = run.await.unwrap().unwrap_err();
    assert!(matches!(error, ConsumeError::StreamDeleted), "{error}");
    let error = source.jobs().send(&1).await.unwrap_err();
    assert!(matches!(error, PublishError::NoStream), "{error}");
}

#[tokio::test]
async fn a_deleted_consumer_ends_the_consumer_after_its_handlers() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    source.jobs().send(&1).await.unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (open, door) = mpsc::channel::<()>();
    let door = std::sync::Mutex::new(door);
    let pool = FnPool::new(2, move |number: u64| {
        begun.send(number).unwrap();
        {
            door.lock().unwrap().recv().ok();
        };
    });
    let consumer = quick(Consumer::new(pool.clone(), &source)).grace(Duration::from_secs(3_600));
    let run = tokio::spawn(consumer.run());
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    let context = server.context().await;
    context.delete_consumer_from_stream("workers", "jobs").await.unwrap();
    open.send(()).unwrap();
    // An answer to a consumer that is gone is not waited for.
    let error = run.await.unwrap().unwrap_err();
    assert!(matches!(error, ConsumeError::ConsumerDeleted), "{error}");
    assert_eq!(pool.stats().completed, 1);
    // The next consumer gets the message again: its acknowledgement found no consumer.
    let summary = quick(Consumer::new(FnPool::new(1, |_: u64| ()), &source));
    let stats = summary.run_until(source.empty()).await.unwrap().stats;
    assert_eq!(stats.done, 1);
}

#[tokio::test]
async fn a_job_that_no_server_confirms_says_so() {
    let Some(mut server) = Server::start() else { return };
    let jobs = server.stream("jobs").await.jobs();
    server.kill();
    let error = jobs.publish(Job::new("1").id("one")).await.unwrap_err();
    assert!(matches!(error, PublishError::Unconfirmed), "{error}");
    server.launch();
    until("the server", async || jobs.publish(Job::new("1").id("one")).await.is_ok()).await;
}

#[tokio::test]
async fn a_closed_pool_ends_the_consumer() {
    let pool = FnPool::new(1, |_: u64| ());
    let consumer = Consumer::new(pool.clone(), Memory::new());
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.expiry(Duration::from_millis(20)).run());
    is_pulling(&monitor).await;
    pool.close();
    let error = run.await.unwrap().unwrap_err();
    assert!(matches!(error, ConsumeError::Pool(formic::Refused::Closed)), "{error}");
}

/// A job in a partition that no consumer asks for would be lost.
#[tokio::test]
async fn another_number_of_partitions_is_refused() {
    let Some(server) = Server::start() else { return };
    for (number, name) in [(0, "none"), (4, "four")] {
        server.open(JetStream::builder(name).partitions(number)).await;
        server.open(JetStream::builder(name).partitions(number)).await;
        for asked in [0, 2, 4, 8].into_iter().filter(|asked| *asked != number) {
            let builder = JetStream::builder(name).partitions(asked);
            let error = builder.connect(&server.url()).await.unwrap_err();
            assert!(
                matches!(error, ConnectError::Partitions { stream, asked: other } if (stream, other) == (number, asked)),
                "{error}"
            );
        }
    }
}
