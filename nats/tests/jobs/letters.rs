//! Dead letters that are hard to store.

use std::time::Duration;

use formic::FnPool;
use formic_nats::async_nats::HeaderMap;
use formic_nats::{Consumer, Dead, JetStream, Job, PublishError};

use crate::common::{Server, patiently, quick, until};
use crate::proxy::Proxy;

fn failing() -> FnPool<u64, Result<(), &'static str>> {
    FnPool::new(2, |_| Err("it always fails"))
}

/// The server adds headers to a job that it delays. They would let it refuse the letter.
#[tokio::test]
async fn a_delayed_job_becomes_a_dead_letter() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let delayed = source.jobs().publish(Job::new("1").after(Duration::from_secs(1))).await;
    if matches!(delayed, Err(PublishError::DelayUnsupported)) {
        return; // this server does not delay
    }
    delayed.unwrap();
    let consumer = quick(Consumer::new(failing(), &source)).attempts(1);
    let stats = consumer.run_until(source.empty()).await.unwrap().stats;
    assert_eq!(stats.dead, 1);
    assert_eq!(source.dead().list(1).await.unwrap()[0].reason(), "it always fails");
}

/// Headers by which a publisher tells the server what to expect are not true for the letter.
#[tokio::test]
async fn headers_for_the_server_are_not_in_the_letter() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let job = Job::new("1").header("Nats-Expected-Stream", "jobs").header("Colour", "red");
    source.jobs().publish(job).await.unwrap();
    let consumer = quick(Consumer::new(failing(), &source)).attempts(1);
    assert_eq!(consumer.run_until(source.empty()).await.unwrap().stats.dead, 1);
    let letter = source.dead().list(1).await.unwrap().remove(0);
    assert_eq!(
        (letter.header("Nats-Expected-Stream"), letter.header("Colour")),
        (None, Some("red"))
    );
}

#[tokio::test]
async fn headers_count_for_the_size_of_a_job() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let refused = source.jobs().publish(Job::new(vec![0; 2 << 20])).await.unwrap_err();
    let PublishError::TooLarge { max, .. } = refused else { panic!("{refused}") };
    let job = Job::new(vec![b'x'; max - 100]).header("Note", "n".repeat(10_000));
    let refused = source.jobs().publish(job).await.unwrap_err();
    assert!(matches!(refused, PublishError::TooLarge { .. }), "{refused}");
}

/// Another publisher has used all of the server's limit, so that the letter with its headers is above it.
#[tokio::test]
async fn the_payload_of_a_letter_that_is_too_large_is_cut() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let (client, mut headers) = (server.client().await, HeaderMap::new());
    headers.insert("Colour", "red");
    let size = client.max_payload() - 100;
    let context = server.context().await;
    let stored = context.publish_with_headers("jobs.job", headers, vec![b'x'; size].into()).await;
    stored.unwrap().await.unwrap();
    let consumer = quick(Consumer::new(failing(), &source)).attempts(1);
    assert_eq!(consumer.run_until(source.empty()).await.unwrap().stats.dead, 1);
    let letter = source.dead().list(1).await.unwrap().remove(0);
    assert!(letter.reason().starts_with("the payload does not decode"), "{}", letter.reason());
    assert_eq!((letter.cut_from(), letter.header("Colour")), (Some(size), Some("red")));
    assert!(letter.payload().len() < size && letter.payload().len() > size / 2);
    // A part of a job is not published as a job.
    assert_eq!(source.dead().replay(10).await.unwrap(), 0);
    assert_eq!(source.dead().len().await.unwrap(), 1);
}

/// Without a stream for dead letters nothing is lost, and no more is fetched than there are places.
#[tokio::test]
async fn letters_that_cannot_be_stored_stop_the_pulls() {
    let Some(server) = Server::start() else { return };
    let source = server.stream("jobs").await;
    let jobs = (0..20_u64).map(|number| Job::new(number.to_string()));
    source.jobs().publish_all(jobs).await.unwrap();
    let context = server.context().await;
    let config = context.get_stream("jobs-dead").await.unwrap().cached_info().config.clone();
    context.delete_stream("jobs-dead").await.unwrap();
    let consumer = quick(Consumer::new(failing(), &source)).attempts(1);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("two letters", async || monitor.stats().settling >= 2).await;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(10)).await; // time to do the wrong thing
        let stats = monitor.stats();
        assert!(stats.delivered <= 4 && stats.settling <= 4, "{stats:?}");
    }
    context.create_stream(config).await.unwrap();
    patiently(source.empty()).await;
    assert_eq!(Dead::new(&source).len().await.unwrap(), 20);
    monitor.stop();
    assert!(run.await.unwrap().unwrap().is_clean());
}

/// Only letters that are not stored count: a server that was killed may not confirm the end of a message before it has
/// delivered it again, and for that it has to be asked.
#[tokio::test]
async fn letters_that_are_stored_stop_no_pull() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(&server).await;
    let source = JetStream::connect(&proxy.url(), "jobs").await.unwrap();
    let consumer = quick(Consumer::new(FnPool::new(1, |_: u64| Err::<(), _>("no")), &source));
    let consumer = consumer.attempts(1);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the first pull", async || monitor.stats().pulls > 0).await;
    proxy.withhold_confirmations(true);
    for number in 1..=3 {
        source.jobs().send(&number).await.unwrap();
        until("its delivery", async || monitor.stats().delivered >= number).await;
        until("its letter", async || source.dead().len().await.unwrap() == number).await;
    }
    assert_eq!((monitor.stats().dead, monitor.stats().settling), (0, 3));
    proxy.withhold_confirmations(false);
    until("the confirmations", async || monitor.stats().dead == 3).await;
    monitor.stop();
    assert!(run.await.unwrap().unwrap().is_clean());
}

/// The numbers of a stream start again when it is made again, and the server still remembers the ids of the letters.
#[tokio::test]
async fn a_stream_that_was_made_again_loses_no_letter() {
    let Some(server) = Server::start() else { return };
    for round in 1..=2 {
        let source = server.stream("jobs").await;
        source.jobs().send(&1).await.unwrap();
        let consumer = quick(Consumer::new(failing(), &source)).attempts(1);
        assert_eq!(consumer.run_until(source.empty()).await.unwrap().stats.dead, 1);
        assert_eq!(source.dead().len().await.unwrap(), round);
        server.context().await.delete_stream("jobs").await.unwrap();
    }
}
