//! What both sources promise. Each test runs on memory and on a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use formic::{AsyncFnPool, FnPool};
use formic_nats::{
    Consumer, Dead, JetStream, Job, Jobs, Memory, Message, PublishError, Source, Verdict,
};

use crate::common::{Server, empty, quick, until};

/// The number of partitions of each source.
const PARTITIONS: usize = 4;

macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod memory {
            use super::*;
            $(
                #[tokio::test]
                async fn $name() {
                    let ordered = Memory::builder().partitions(PARTITIONS).build();
                    super::$name(Memory::new().into(), ordered.into()).await;
                }
            )*
        }

        mod server {
            use super::*;
            $(
                #[tokio::test]
                async fn $name() {
                    let Some(server) = Server::start() else { return };
                    let source = server.stream("plain").await;
                    let ordered = server.open(JetStream::builder("ordered").partitions(PARTITIONS)).await;
                    super::$name(source.into(), ordered.into()).await;
                }
            )*
        }
    };
}

on_both!(
    each_message_is_handled_once,
    async_handlers_are_fed,
    a_failed_message_is_tried_again,
    a_message_that_is_tried_again_shows_in_the_lag,
    the_last_panic_makes_a_dead_letter_that_can_be_replayed,
    a_payload_that_does_not_decode_is_dead_at_once,
    a_hopeless_message_is_dead_at_once,
    a_decoder_that_panics_makes_a_dead_letter,
    an_answer_that_panics_costs_one_message,
    the_longest_delays_are_accepted,
    an_id_is_stored_once,
    a_long_handler_runs_once,
    a_handler_that_blocks_its_runtime_runs_once,
    messages_of_one_key_are_handled_in_order,
    a_key_needs_partitions,
    what_the_publisher_says_reaches_the_handler,
    a_delayed_job_comes_later,
    a_large_payload_is_refused,
);

async fn each_message_is_handled_once(source: Source, _ordered: Source) {
    let stored = Jobs::new(&source).publish_all((0..500).map(|n| Job::new(n.to_string()))).await;
    assert_eq!(stored.unwrap(), 500);
    let seen = Arc::new(Mutex::new(HashMap::<u64, u64>::new()));
    let noted = Arc::clone(&seen);
    let pool = FnPool::new(8, move |number: u64| {
        *noted.lock().unwrap().entry(number).or_default() += 1;
    });
    let consumer = quick(Consumer::new(pool.clone(), &source));
    let monitor = consumer.monitor();
    let summary = consumer.run_until(empty(source.clone())).await.unwrap();
    assert!(summary.is_clean());
    assert_eq!((summary.stats.done, summary.stats.delivered, summary.stats.running), (500, 500, 0));
    assert!(seen.lock().unwrap().values().all(|runs| *runs == 1));
    assert!(monitor.lag().await.unwrap().is_empty());
    assert_eq!(pool.stats().completed, 500); // the pool's own figures go on
}

async fn async_handlers_are_fed(source: Source, _ordered: Source) {
    Jobs::new(&source).publish_all((0..200).map(|n| Job::new(n.to_string()))).await.unwrap();
    let sum = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&sum);
    let pool = AsyncFnPool::new(16, move |number: u64| {
        let total = Arc::clone(&total);
        async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            total.fetch_add(number, Relaxed);
        }
    });
    let summary = quick(Consumer::new(pool, &source)).run_until(empty(source.clone())).await;
    assert_eq!(summary.unwrap().stats.done, 200);
    assert_eq!(sum.load(Relaxed), 199 * 200 / 2);
}

async fn a_failed_message_is_tried_again(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&0).await.unwrap();
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&attempts);
    let pool = FnPool::new(2, move |attempt: u64| {
        noted.lock().unwrap().push(attempt);
        if attempt < 3 { Err("not yet") } else { Ok(()) }
    });
    let decode = |message: &Message| Ok::<_, String>(message.attempt());
    let consumer = quick(Consumer::with_decoder(pool, &source, decode));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!(*attempts.lock().unwrap(), [1, 2, 3]);
    assert_eq!((stats.done, stats.retried, stats.redelivered, stats.dead), (1, 2, 2, 0));
}

async fn a_message_that_is_tried_again_shows_in_the_lag(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&0).await.unwrap();
    let (open, door) = mpsc::channel::<()>();
    let door = Mutex::new(door);
    let pool = FnPool::new(1, move |attempt: u64| {
        if attempt == 1 {
            return Err("not yet");
        }
        door.lock().unwrap().recv().ok();
        Ok(())
    });
    let decode = |message: &Message| Ok::<_, String>(message.attempt());
    let consumer = quick(Consumer::with_decoder(pool, &source, decode));
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run_until(empty(source.clone())));
    until("the second attempt", async || monitor.stats().redelivered == 1).await;
    let lag = monitor.lag().await.unwrap();
    assert_eq!((lag.waiting, lag.unacknowledged, lag.redelivered), (0, 1, 1));
    drop(open);
    assert_eq!(run.await.unwrap().unwrap().stats.done, 1);
    assert!(monitor.lag().await.unwrap().is_empty());
}

async fn the_last_panic_makes_a_dead_letter_that_can_be_replayed(source: Source, _: Source) {
    let jobs = Jobs::new(&source);
    jobs.publish(Job::new("7").id("seven").header("Colour", "red")).await.unwrap();
    let is_fixed = Arc::new(AtomicBool::new(false));
    let fixed = Arc::clone(&is_fixed);
    let pool = FnPool::new(1, move |number: u64| {
        assert!(fixed.load(Relaxed), "{number}\nis broken");
    });
    let line = line!() - 2;
    let consumer = quick(Consumer::new(pool.clone(), &source));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.done, stats.retried, stats.dead), (0, 2, 1));

    let dead = Dead::new(&source);
    assert_eq!(dead.len().await.unwrap(), 1);
    let letter = dead.list(10).await.unwrap().remove(0);
    assert_eq!(letter.reason(), "the handler panicked: 7 is broken"); // one line
    assert_eq!((letter.attempts(), letter.payload()), (3, &b"7"[..]));
    assert_eq!(letter.header("Colour"), Some("red"));
    let panicked_at = letter.panicked_at().unwrap();
    assert!(panicked_at.contains(&format!("contract.rs:{line}")), "{panicked_at}");
    assert!(letter.first_seen().starts_with("20"), "{}", letter.first_seen());

    is_fixed.store(true, Relaxed);
    assert_eq!(dead.replay(10).await.unwrap(), 1);
    let stats = quick(Consumer::new(pool, &source)).run_until(empty(source.clone())).await;
    assert_eq!(stats.unwrap().stats.done, 1);
    assert_eq!(dead.len().await.unwrap(), 0);
}

async fn a_payload_that_does_not_decode_is_dead_at_once(source: Source, _ordered: Source) {
    Jobs::new(&source).send("not a number").await.unwrap();
    let pool = FnPool::new(1, |_: u64| -> () { panic!("it is never called") });
    let consumer = quick(Consumer::new(pool, &source));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.delivered, stats.dead, stats.retried), (1, 1, 0));
    let letter = Dead::new(&source).list(1).await.unwrap().remove(0);
    assert!(letter.reason().starts_with("the payload does not decode: "), "{}", letter.reason());
    assert_eq!(letter.attempts(), 1);
}

async fn a_hopeless_message_is_dead_at_once(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&1).await.unwrap();
    let pool = FnPool::new(1, |_: u64| Verdict::Dead("no such account".into()));
    let consumer = quick(Consumer::new(pool, &source));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.delivered, stats.dead), (1, 1));
    assert_eq!(Dead::new(&source).list(1).await.unwrap()[0].reason(), "no such account");
}

async fn a_decoder_that_panics_makes_a_dead_letter(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&1).await.unwrap();
    Jobs::new(&source).send(&2).await.unwrap();
    let decode = |message: &Message| -> Result<u64, String> {
        assert_eq!(message.payload(), b"2", "the decoder is broken");
        Ok(2)
    };
    let consumer = quick(Consumer::with_decoder(FnPool::new(1, |_: u64| ()), &source, decode));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.done, stats.dead, stats.retried), (1, 1, 0));
    let letter = Dead::new(&source).list(1).await.unwrap().remove(0);
    assert_eq!(letter.reason(), "the payload does not decode: the decoder panicked");
}

/// An error that cannot be shown.
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("it cannot be shown")
    }
}

async fn an_answer_that_panics_costs_one_message(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&1).await.unwrap();
    Jobs::new(&source).send(&2).await.unwrap();
    let pool = FnPool::new(1, |number: u64| if number == 1 { Err(Broken) } else { Ok(()) });
    let consumer = quick(Consumer::new(pool, &source)).attempts(2);
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.done, stats.retried, stats.dead), (1, 1, 1));
    let letter = Dead::new(&source).list(1).await.unwrap().remove(0);
    assert_eq!(letter.reason(), "the answer of the handler panicked");
}

async fn the_longest_delays_are_accepted(source: Source, _ordered: Source) {
    let jobs = Jobs::new(&source);
    let delayed = jobs.publish(Job::new("1").after(Duration::MAX)).await;
    assert!(matches!(delayed, Ok(_) | Err(PublishError::DelayUnsupported)), "{delayed:?}");
    jobs.send(&2).await.unwrap();
    let pool = FnPool::new(1, |_: u64| Verdict::RetryAfter("later".into(), Duration::MAX));
    let consumer = quick(Consumer::new(pool, &source)).grace(Duration::MAX);
    let monitor = consumer.monitor();
    let run = tokio::spawn(consumer.run());
    until("the retry", async || monitor.stats().retried == 1).await;
    monitor.stop();
    assert!(run.await.unwrap().unwrap().is_clean());
    assert_eq!((monitor.stats().delivered, monitor.stats().dead), (1, 0));
}

async fn an_id_is_stored_once(source: Source, _ordered: Source) {
    let jobs = Jobs::new(&source);
    let first = jobs.publish(Job::new("1").id("one")).await.unwrap();
    let second = jobs.publish(Job::new("1").id("one")).await.unwrap();
    assert!(!first.is_duplicate() && second.is_duplicate());
    assert_eq!(first.sequence(), second.sequence());
    let pool = FnPool::new(1, |_: u64| ());
    let summary = quick(Consumer::new(pool, &source)).run_until(empty(source.clone())).await;
    assert_eq!(summary.unwrap().stats.delivered, 1);
}

async fn a_long_handler_runs_once(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&1).await.unwrap();
    let pool = FnPool::new(2, |_: u64| thread::sleep(Duration::from_millis(2500)));
    let consumer = quick(Consumer::new(pool, &source)).ack_wait(Duration::from_secs(1));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.done, stats.delivered), (1, 1));
}

/// The test's runtime has one thread, which the handler keeps to itself.
async fn a_handler_that_blocks_its_runtime_runs_once(source: Source, _ordered: Source) {
    Jobs::new(&source).send(&1).await.unwrap();
    let pool = AsyncFnPool::new(2, |_: u64| async {
        thread::sleep(Duration::from_millis(2500));
    });
    let consumer = quick(Consumer::new(pool, &source)).ack_wait(Duration::from_secs(1));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.done, stats.delivered), (1, 1));
}

async fn messages_of_one_key_are_handled_in_order(_plain: Source, source: Source) {
    const KEYS: u64 = 6;
    let jobs = Jobs::new(&source);
    for number in 0..20 * KEYS {
        let key = (number % KEYS).to_string();
        jobs.publish(Job::new(number.to_string()).key(key)).await.unwrap();
    }
    let seen = Arc::new(Mutex::new(vec![Vec::new(); usize::try_from(KEYS).unwrap()]));
    let (noted, running) = (Arc::clone(&seen), [const { AtomicBool::new(false) }; KEYS as usize]);
    let pool = FnPool::new(8, move |(number, attempt): (u64, u64)| {
        let key = usize::try_from(number % KEYS).unwrap();
        assert!(!running[key].swap(true, Relaxed), "two messages of one key at a time");
        thread::yield_now();
        running[key].store(false, Relaxed);
        if number % 17 == 0 && attempt == 1 {
            return Err("those behind it have to wait");
        }
        noted.lock().unwrap()[key].push(number);
        Ok(())
    });
    let decode = |message: &Message| {
        let number = std::str::from_utf8(message.payload()).unwrap().parse::<u64>();
        number.map(|number| (number, message.attempt()))
    };
    let consumer = quick(Consumer::with_decoder(pool, &source, decode));
    let stats = consumer.run_until(empty(source.clone())).await.unwrap().stats;
    assert_eq!((stats.done, stats.dead), (20 * KEYS, 0));
    for numbers in seen.lock().unwrap().iter() {
        assert!(numbers.is_sorted() && numbers.len() == 20, "{numbers:?}");
    }
}

async fn a_key_needs_partitions(plain: Source, ordered: Source) {
    let refused = Jobs::new(&plain).publish(Job::new("1").key("a")).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoPartitions));
    Jobs::new(&ordered).publish(Job::new("1").key("a")).await.unwrap();
    Jobs::new(&ordered).publish(Job::new("1")).await.unwrap();
}

async fn what_the_publisher_says_reaches_the_handler(_plain: Source, source: Source) {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let job = Job::new("x").id("i").key("k").trace(trace).header("Colour", "red");
    Jobs::new(&source).publish(job).await.unwrap();
    let (sender, receiver) = mpsc::channel();
    let pool = FnPool::new(1, move |message: Message| sender.send(message).unwrap());
    let decode = |message: &Message| Ok::<_, String>(message.clone());
    let consumer = quick(Consumer::with_decoder(pool, &source, decode));
    consumer.run_until(empty(source.clone())).await.unwrap();
    let message = receiver.recv().unwrap();
    assert_eq!((message.id(), message.key(), message.trace()), (Some("i"), Some("k"), Some(trace)));
    assert_eq!((message.header("colour"), message.payload()), (None, &b"x"[..]));
    assert_eq!(message.header("Colour"), Some("red"));
    let refused = Jobs::new(&source).publish(Job::new("x").header("a", "two\nlines")).await;
    assert!(matches!(refused, Err(PublishError::Header(name)) if name == "a"));
}

async fn a_delayed_job_comes_later(source: Source, _ordered: Source) {
    let jobs = Jobs::new(&source);
    let published = jobs.publish(Job::new("1").after(Duration::from_secs(2))).await;
    if let Source::JetStream(stream) = &source
        && stream.server_version().starts_with("2.9.")
    {
        return assert!(matches!(published, Err(PublishError::DelayUnsupported)));
    }
    published.unwrap();
    jobs.publish(Job::new("2")).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let pool = FnPool::new(1, move |number: u64| noted.lock().unwrap().push(number));
    let summary = quick(Consumer::new(pool, &source)).run_until(empty(source.clone())).await;
    assert!(summary.unwrap().is_clean());
    assert_eq!(*seen.lock().unwrap(), [2, 1]);
}

async fn a_large_payload_is_refused(source: Source, _ordered: Source) {
    let refused = Jobs::new(&source).publish(Job::new(vec![0; 2 << 20])).await.unwrap_err();
    assert!(matches!(refused, PublishError::TooLarge { size, max } if size > max), "{refused}");
    // The largest that is accepted fits among the dead letters, too.
    let PublishError::TooLarge { max, .. } = refused else { return };
    Jobs::new(&source).publish(Job::new(vec![b'x'; max])).await.unwrap();
    let pool = FnPool::new(1, |_: u64| ());
    let summary = quick(Consumer::new(pool, &source)).run_until(empty(source.clone())).await;
    assert_eq!(summary.unwrap().stats.dead, 1);
    assert_eq!(Dead::new(&source).list(1).await.unwrap()[0].payload().len(), max);
}
